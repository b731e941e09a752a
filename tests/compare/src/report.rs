//! The printed tables: medians of all repetitions, their comparison, and the bar beside each.

use std::path::Path;
use std::thread;

use crate::Measured;
use crate::beside::Beside;
use crate::definitions::Shape;
use crate::figures::{Figure, Table, file_system};
use crate::xav::Observed;

const MIB: f64 = 1024.0 * 1024.0;

/// Tables in Markdown.
pub(crate) fn text(dir: &Path, measured: &Measured) -> String {
    let n_cores = thread::available_parallelism().map_or(1, usize::from);
    let runs = measured.flushes.len();
    let mut text = format!(
        "\n{n_cores} cores, state on {}, median of {runs} runs (least to greatest in brackets)\n\n",
        file_system(dir)
    );
    text.push_str(&speed(measured).text());
    text.push('\n');
    text.push_str(&flushes(measured).text());
    if !measured.xav[Shape::Flat as usize].is_empty() {
        text.push('\n');
        text.push_str(&usage(measured).text());
    }
    if !measured.beside[Shape::Flat as usize].is_empty() {
        text.push('\n');
        text.push_str(&beside(measured).text());
    }
    text
}

/// Compares the two commits: the cost of the change between them.
fn beside(measured: &Measured) -> Beside {
    let mut table = Beside::new();
    for shape in Shape::ALL {
        let of = |value: &dyn Fn(&Observed) -> f64| {
            [&measured.beside, &measured.xav]
                .map(|runs| runs[shape as usize].iter().map(value).collect())
        };
        table.speed(shape, of(&|run| run.wall_seconds));
        if shape == Shape::Flat {
            let n = shape.n_activities() as f64;
            let cpu = of(&|run| run.cpu_seconds() / n * 1e6);
            table.row("CPU an activity beside its own: µs", cpu, 0, "");
            let memory = of(&|run| run.memory_managers() / MIB);
            table.row("peak memory of `xav run`: MiB", memory, 1, "");
        }
    }
    table
}

fn speed(measured: &Measured) -> Table<5> {
    let mut table = Table::new(["measure", "plain loop", "xav run", "compared", "bar"]);
    for shape in Shape::ALL {
        match shape {
            Shape::One => one(measured, &mut table),
            Shape::Flat => rate(measured, shape, "≥ 0.6", &mut table),
            Shape::Layers => rate(measured, shape, "≥ 0.5", &mut table),
            Shape::Chain => hop(measured, &mut table),
            Shape::Items => items(measured, &mut table),
        }
    }
    let n = Shape::Flat.n_activities() as f64;
    let mut own = |name: &str, value: &dyn Fn(&Observed) -> f64, digits: usize, bar: &str| {
        let figure = Figure::of(measured.xav[Shape::Flat as usize].iter().map(value));
        table.row([
            name.into(),
            "".into(),
            figure.text(digits),
            "".into(),
            bar.into(),
        ]);
    };
    own(
        "CPU an activity beside its own: µs",
        &|run| run.cpu_seconds() / n * 1e6,
        0,
        "≤ 150",
    );
    own(
        "peak memory of `xav run`: MiB",
        &|run| run.memory_managers() / MIB,
        1,
        "",
    );
    own(
        "peak memory of the executor: MiB",
        &|run| run.memory_executor() / MIB,
        1,
        "",
    );
    table
}

fn one(measured: &Measured, table: &mut Table<5>) {
    let plain = measured.plain[Shape::One as usize].iter();
    let plain = Figure::of(plain.map(|seconds| seconds * 1e3)).text(2);
    let xav = start(measured).times(1e3).text(1);
    table.row(["one activity: ms".into(), plain, xav, "".into(), "".into()]);
}

fn rate(measured: &Measured, shape: Shape, bar: &str, table: &mut Table<5>) {
    let n = shape.n_activities() as f64;
    let plain = Figure::of(
        measured.plain[shape as usize]
            .iter()
            .map(|seconds| n / seconds),
    );
    let whole = Figure::of(
        measured.xav[shape as usize]
            .iter()
            .map(|run| n / run.wall_seconds),
    );
    let inner = Figure::of(without_start(measured, shape).map(|seconds| n / seconds));
    let compared =
        |xav: &Figure| format_known(xav.median / plain.median, |ratio| format!("{ratio:.2}"));
    let name = format!("{}: activities/s", shape.name());
    table.row([
        name,
        plain.text(0),
        whole.text(0),
        compared(&whole),
        bar.into(),
    ]);
    table.row([
        "the same, start excluded".into(),
        "".into(),
        inner.text(0),
        compared(&inner),
        "".into(),
    ]);
}

/// Items of a for-each beside as many activities that the definition writes out: their rates in the same
/// repetition.
fn items(measured: &Measured, table: &mut Table<5>) {
    rate(measured, Shape::Items, "", table);
    let [flat, items] = [Shape::Flat, Shape::Items].map(|shape| &measured.xav[shape as usize]);
    let ratios = flat.iter().zip(items);
    let ratio = Figure::of(ratios.map(|(flat, items)| flat.wall_seconds / items.wall_seconds));
    table.row([
        "the same, by the rate of independent ones".into(),
        "".into(),
        "".into(),
        ratio.text(2),
        "≥ 0.9".into(),
    ]);
}

fn hop(measured: &Measured, table: &mut Table<5>) {
    let shape = Shape::Chain;
    let n = shape.n_activities() as f64 / 1e3;
    let plain = Figure::of(
        measured.plain[shape as usize]
            .iter()
            .map(|seconds| seconds / n),
    );
    let whole = Figure::of(
        measured.xav[shape as usize]
            .iter()
            .map(|run| run.wall_seconds / n),
    );
    let inner = Figure::of(without_start(measured, shape).map(|seconds| seconds / n));
    let flush =
        Figure::of(measured.flushes.iter().map(|flushes| flushes.commit_micros)).median / 1e3;
    let compared =
        |xav: &Figure| format_known(xav.median - plain.median, |over| format!("loop {over:+.2}"));
    let bar = format!(
        "≤ loop + 2 flushes + 0.3 = {:.2}",
        plain.median + 2.0 * flush + 0.3
    );
    let name = format!("{}: ms a hop", shape.name());
    table.row([name, plain.text(2), whole.text(2), compared(&whole), bar]);
    table.row([
        "the same, start excluded".into(),
        "".into(),
        inner.text(2),
        compared(&inner),
        "".into(),
    ]);
}

fn flushes(measured: &Measured) -> Table<2> {
    let mut table = Table::new(["durable flush of 160 bytes", "µs"]);
    let append = Figure::of(measured.flushes.iter().map(|flushes| flushes.append_micros));
    let commit = Figure::of(measured.flushes.iter().map(|flushes| flushes.commit_micros));
    table.row(["append and fdatasync".into(), append.text(0)]);
    table.row(["commit of the journal".into(), commit.text(0)]);
    table
}

/// Two ways to know the same, so that neither has to be trusted alone.
fn usage(measured: &Measured) -> Table<3> {
    let mut table = Table::new(["of the flat run", "seen from outside", "as xav reports"]);
    let flat = &measured.xav[Shape::Flat as usize];
    let known =
        |value: &dyn Fn(&Observed) -> Option<f64>| Figure::of(flat.iter().filter_map(value));
    let cpu_managers = [
        known(&|run| run.seen.cpu_managers).text(2),
        known(&|run| run.told.cpu_managers).text(2),
    ];
    let cpu_executor = [
        known(&|run| run.seen.cpu_executor).text(2),
        known(&|run| run.told.cpu_executor).text(2),
    ];
    let memory_managers = [
        known(&|run| run.seen.memory_managers)
            .times(1.0 / MIB)
            .text(1),
        known(&|run| run.told.memory_managers)
            .times(1.0 / MIB)
            .text(1),
    ];
    let memory_executor = [
        known(&|run| run.seen.memory_executor)
            .times(1.0 / MIB)
            .text(1),
        known(&|run| run.told.memory_executor)
            .times(1.0 / MIB)
            .text(1),
    ];
    for (name, [seen, told]) in [
        ("CPU of the managers: s", cpu_managers),
        ("CPU of the executor: s", cpu_executor),
        ("peak memory of the managers: MiB", memory_managers),
        ("peak memory of the executor: MiB", memory_executor),
    ] {
        table.row([name.into(), seen, told]);
    }
    table
}

/// Seconds that `xav run` takes with one activity: what starting and ending cost.
fn start(measured: &Measured) -> Figure {
    Figure::of(
        measured.xav[Shape::One as usize]
            .iter()
            .map(|run| run.wall_seconds),
    )
}

/// Seconds of each run beyond those of a run with one activity.
fn without_start(measured: &Measured, shape: Shape) -> impl Iterator<Item = f64> {
    let start = start(measured).median;
    let beyond = measured.xav[shape as usize]
        .iter()
        .map(move |run| run.wall_seconds - start);
    beyond.filter(|&seconds| seconds > 0.0)
}

fn format_known(value: f64, format: impl Fn(f64) -> String) -> String {
    if value.is_nan() {
        String::new()
    } else {
        format(value)
    }
}

//! The measurements of a grid as tables, each beside its bar.

use std::path::Path;
use std::thread;

use super::world::{AT_REST, ROLES, RunCost};
use super::{MANY, Measured, Options};
use crate::beside::Beside;
use crate::definitions::Shape;
use crate::figures::{Figure, Table, file_system};

const MIB: f64 = 1024.0 * 1024.0;

/// Tables in Markdown.
pub(super) fn text(options: &Options, dir: &Path, measured: &Measured) -> String {
    let (slots, runs) = (options.slots, options.place.runs);
    let mut text = format!(
        "\n{} cores, state on {}, two machines of {slots} slots each, median of {runs} runs (least to greatest \
         in brackets)\n",
        thread::available_parallelism().map_or(1, usize::from),
        file_system(dir)
    );
    if !measured.flushes.is_empty() {
        for table in [
            speed(measured).text(),
            cpu(measured).text(),
            disk(measured).text(),
        ] {
            text.push('\n');
            text.push_str(&table);
        }
    }
    if !measured.beside[Shape::Flat as usize].is_empty() {
        text.push('\n');
        text.push_str(&beside(measured).text());
    }
    if !measured.memory.is_empty() {
        text.push('\n');
        text.push_str(&memory(measured).text());
    }
    if !measured.back.is_empty() {
        text.push('\n');
        text.push_str(&back(measured).text());
    }
    text
}

/// Compares the two commits: the cost of the change between them.
fn beside(measured: &Measured) -> Beside {
    let mut table = Beside::new();
    for shape in Shape::ALL {
        let of = |value: &dyn Fn(&RunCost) -> f64| {
            [&measured.beside, &measured.grid]
                .map(|runs| runs[shape as usize].iter().map(value).collect())
        };
        table.speed(shape, of(&|run| run.wall_seconds));
        let n = shape.n_activities() as f64;
        let cpu = of(&|run| run.cpu_seconds.iter().sum::<f64>() / n * 1e6);
        table.row(&format!("{}: CPU µs an activity", shape.name()), cpu, 0, "");
        let bytes = of(&|run| run.disk_bytes / n);
        table.row(
            &format!("{}: bytes on the disk an activity", shape.name()),
            bytes,
            0,
            "",
        );
    }
    table
}

fn speed(measured: &Measured) -> Table<5> {
    let mut table = Table::new(["measure", "plain loop", "grid", "compared", "bar"]);
    let one = Shape::One as usize;
    table.row([
        "one activity: ms".into(),
        plain(measured, Shape::One).times(1e3).text(2),
        wall(measured, Shape::One).times(1e3).text(1),
        "".into(),
        "".into(),
    ]);
    let start = Figure::of(measured.grid[one].iter().map(|run| run.wall_seconds)).median;
    for (shape, bar) in [(Shape::Flat, "≥ 0.5"), (Shape::Layers, "≥ 0.4")] {
        let n = shape.n_activities() as f64;
        let plain = Figure::of(measured.plain[shape as usize].iter().map(|s| n / s));
        let runs = &measured.grid[shape as usize];
        let whole = Figure::of(runs.iter().map(|run| n / run.wall_seconds));
        let inner = Figure::of(runs.iter().map(|run| n / (run.wall_seconds - start)));
        let ratio = |figure: Figure| format!("{:.2}", figure.median / plain.median);
        table.row([
            format!("{}: activities/s", shape.name()),
            plain.text(0),
            whole.text(0),
            ratio(whole),
            bar.into(),
        ]);
        table.row([
            "the same, start excluded".into(),
            "".into(),
            inner.text(0),
            ratio(inner),
            "".into(),
        ]);
    }
    let hops = 1e3 / Shape::Chain.n_activities() as f64;
    let plain = plain(measured, Shape::Chain).times(hops);
    let chain = &measured.grid[Shape::Chain as usize];
    let whole = wall(measured, Shape::Chain).times(hops);
    let inner = Figure::of(chain.iter().map(|run| (run.wall_seconds - start) * hops));
    let flush = flush_millis(measured);
    let over = |figure: Figure| format!("loop {:+.2}", figure.median - plain.median);
    table.row([
        format!("{}: ms a hop", Shape::Chain.name()),
        plain.text(2),
        whole.text(2),
        over(whole),
        format!(
            "≤ loop + 2 flushes + 0.6 = {:.2}",
            plain.median + 2.0 * flush + 0.6
        ),
    ]);
    table.row([
        "the same, start excluded".into(),
        "".into(),
        inner.text(2),
        over(inner),
        "".into(),
    ]);
    table.row([
        "commit of the journal: ms".into(),
        "".into(),
        format!("{flush:.2}"),
        "".into(),
        "".into(),
    ]);
    table
}

fn flush_millis(measured: &Measured) -> f64 {
    Figure::of(measured.flushes.iter().map(|flushes| flushes.commit_micros)).median / 1e3
}

fn plain(measured: &Measured, shape: Shape) -> Figure {
    Figure::of(measured.plain[shape as usize].iter().copied())
}

fn wall(measured: &Measured, shape: Shape) -> Figure {
    let runs = measured.grid[shape as usize].iter();
    Figure::of(runs.map(|run| run.wall_seconds))
}

fn cpu(measured: &Measured) -> Table<4> {
    let mut table = Table::new([
        "CPU an activity: µs",
        "10,000 independent",
        "chain of 500",
        "10 layers of 100",
    ]);
    let of = |shape: Shape, value: &dyn Fn(&RunCost) -> f64| {
        let n = shape.n_activities() as f64;
        let runs = measured.grid[shape as usize].iter();
        Figure::of(runs.map(|run| value(run) / n * 1e6)).text(0)
    };
    let mut row = |name: &str, value: &dyn Fn(&RunCost) -> f64| {
        let cells = [Shape::Flat, Shape::Chain, Shape::Layers].map(|shape| of(shape, value));
        let [flat, chain, layers] = cells;
        table.row([name.into(), flat, chain, layers]);
    };
    for (index, role) in ROLES.iter().enumerate() {
        row(role, &move |run| run.cpu_seconds[index]);
    }
    row("together", &|run| run.cpu_seconds.iter().sum());
    table
}

/// The writes of all programs, and of whatever else the machine does meanwhile.
fn disk(measured: &Measured) -> Table<3> {
    let mut table = Table::new(["written to the disk an activity: bytes", "", "bar"]);
    for (shape, bar) in [
        (Shape::Flat, "≤ 800"),
        (Shape::Chain, ""),
        (Shape::Layers, ""),
    ] {
        let n = shape.n_activities() as f64;
        let runs = measured.grid[shape as usize].iter();
        let bytes = Figure::of(runs.map(|run| run.disk_bytes / n)).text(0);
        table.row([shape.name(), bytes, bar.into()]);
    }
    table
}

fn memory(measured: &Measured) -> Table<5> {
    let after = format!("after {MANY} activities");
    let later = format!("{} s later", AT_REST.as_secs());
    let mut table = Table::new(["memory: MiB", "idle", &after, &later, "bar"]);
    for (index, role) in ROLES.iter().enumerate() {
        let of = |when: usize| {
            let values = measured.memory.iter().map(|memory| memory[when][index]);
            Figure::of(values.map(|bytes| bytes / MIB)).text(1)
        };
        let bar = "idle ≤ 20, later ≤ 40".into();
        table.row([(*role).into(), of(0), of(1), of(2), bar]);
    }
    table
}

fn back(measured: &Measured) -> Table<3> {
    let mut table = Table::new(["with 10,000 unfinished activities: s", "", "bar"]);
    let back = &measured.back;
    let mut row = |name: &str, values: &dyn Fn(&super::Back) -> f64, bar: &str| {
        let figure = Figure::of(back.iter().map(values));
        table.row([name.into(), figure.text(2), bar.into()]);
    };
    row(
        "start of a killed process manager to the first command",
        &|back| back.process_seconds,
        "≤ 1",
    );
    row(
        "start of a killed group manager to the first command of what waited for it",
        &|back| back.group_seconds,
        "≤ 1",
    );
    row(
        "longest time without a start while the group manager was killed and came back",
        &|back| back.gap_seconds,
        "≤ 1",
    );
    table
}

//! `cargo run --release -p schedule --example quality` prints how long the schedules of all
//! algorithms are beside HEFT's: on the recorded workflows of the data pack that XAVANTES_DATA
//! names, there also with a long budget and with parts of xavantes left out, and on the structured
//! graphs of the papers' experiments, direct and through controllers. Words choose among the
//! tables: `recorded`, `long`, `parts`, `structured`. With `--write FILE` they also take the place
//! of what stands between their marks in that file (docs/schedulers.md). All take some twenty
//! minutes, most of them the budgets of xavantes. Numbers are seconds of budget that take the place
//! of the default ones.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::unwrap_used, reason = "the data pack is known to be sound")]

#[path = "../tests/support/mod.rs"]
mod support;

use std::fmt::Write as _;

use schedule::Part;
use schedule::platform::{MessageCost, ReferenceNetwork, paper, reference};
use schedule::structured::{SIZES, Shape, Structured};
use schedule::{
    Dag, Placing, Problem, Schedule, SchedulerKind, Tree, Xavantes, bound, check, check_copied,
    check_through_controllers, through_controllers,
};

const CELLS: [(u32, &str); 5] = [
    (8, "lan"),
    (64, "lan"),
    (512, "lan"),
    (64, "ccr1"),
    (64, "ccr10"),
];
/// The tables; words as arguments ask for some of them only.
const PARTS: [&str; 4] = ["recorded", "long", "parts", "structured"];
/// Schedules that differ by less than this part are a tie.
const TIE: f64 = 1e-3;
/// Seconds of budget of xavantes on the graphs of the papers.
const PAPER_BUDGET: f64 = 0.1;
/// Seconds of the long budget.
const LONG_BUDGET: f64 = 5.0;
/// Seconds of budget where parts are left out: four rows are counted.
const PARTS_BUDGET: f64 = 0.1;
/// Parts of the search that are measured on recorded workflows by leaving them out.
const LEFT_OUT: [(&str, Part); 3] = [
    ("without the portfolio", Part::Portfolio),
    ("without the search", Part::Search),
    ("with one cycle instead of three", Part::Cycles),
];
/// Columns of the table of structured graphs.
const COLUMNS: usize = 9;
/// Algorithms above this product of edges and machines are left out: they would take hours.
const SEARCHES_MAX: usize = 1_500_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let budget: Option<f64> = arguments.iter().find_map(|argument| argument.parse().ok());
    let wanted = |part: &str| {
        let named = |part: &str| arguments.iter().any(|argument| argument == part);
        named(part) || !PARTS.into_iter().any(named)
    };
    let mut parts = Vec::new();
    if let Some(folder) = support::workflows() {
        type Table = fn(&mut String, &[Cell], Option<f64>);
        let tables: [Table; 3] = [recorded, long, left_out];
        let mut cells = None;
        for (part, table) in PARTS.into_iter().zip(tables) {
            if wanted(part) {
                let mut text = String::new();
                let cells = cells.get_or_insert_with(|| read(&folder));
                table(&mut text, cells, budget);
                parts.push((part, text));
            }
        }
    }
    if wanted(PARTS[3]) {
        let mut text = String::new();
        structured(&mut text, budget.unwrap_or(PAPER_BUDGET));
        parts.push((PARTS[3], text));
    }
    for (part, text) in parts {
        println!("{text}");
        if let Some(place) = arguments.iter().position(|argument| argument == "--write") {
            let path = &arguments[place + 1];
            let old = std::fs::read_to_string(path).unwrap();
            let (begin, end) = (
                format!("<!-- {part}: begin -->"),
                format!("<!-- {part}: end -->"),
            );
            let (before, rest) = old.split_once(&begin).unwrap();
            let (_, after) = rest.split_once(&end).unwrap();
            std::fs::write(path, format!("{before}{begin}\n{text}\n{end}{after}")).unwrap();
        }
    }
}

/// The recorded workflows on one reference platform, each with the makespan of HEFT.
type Cell = Vec<(Problem, f64)>;

fn read(folder: &std::path::Path) -> Vec<Cell> {
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    files.sort();
    let graphs: Vec<Dag> = files.iter().map(|path| support::read(path)).collect();
    let cell = |&(hosts, net): &(u32, &str)| {
        let network = ReferenceNetwork::named(net).unwrap();
        let problems = graphs.iter().map(|dag| {
            let platform = reference(hosts, network, dag).unwrap();
            let problem = Problem::new(dag.clone(), &platform).unwrap();
            let heft = SchedulerKind::Heft.scheduler().schedule(&problem).unwrap();
            (problem, heft.makespan())
        });
        problems.collect()
    };
    CELLS.iter().map(cell).collect()
}

fn head(text: &mut String, title: &str) {
    write!(text, "\n{title}\n\n| |").unwrap();
    for (hosts, net) in CELLS {
        write!(text, " {hosts} {net} |").unwrap();
    }
    writeln!(text, "\n|---|--:|--:|--:|--:|--:|").unwrap();
}

fn ours(text: &mut String, name: &str, cells: &[Cell], xavantes: Xavantes) {
    line(text, name, cells, |problem, heft| {
        let schedule = xavantes.run(problem).unwrap().schedule;
        check(problem, &schedule).unwrap();
        Some(schedule.makespan() / heft)
    });
}

fn within(budget: Option<f64>) -> Xavantes {
    budget.map_or(Xavantes::new(), Xavantes::within)
}

/// The recorded workflows with a long budget.
fn long(text: &mut String, cells: &[Cell], budget: Option<f64>) {
    let budget = budget.unwrap_or(LONG_BUDGET);
    let title = format!("The same with a budget of {budget} s");
    head(text, &title);
    ours(text, "xavantes", cells, Xavantes::within(budget));
}

/// The recorded workflows with parts of xavantes left out.
fn left_out(text: &mut String, cells: &[Cell], budget: Option<f64>) {
    let budget = budget.unwrap_or(PARTS_BUDGET);
    let title = format!("The same with a budget of {budget} s and with a part left out");
    head(text, &title);
    let xavantes = Xavantes::within(budget);
    ours(text, "xavantes", cells, xavantes);
    for (name, part) in LEFT_OUT {
        ours(text, name, cells, xavantes.without(part));
    }
}

/// The recorded workflows on reference platforms, in direct mode.
fn recorded(text: &mut String, cells: &[Cell], budget: Option<f64>) {
    let n = cells[0].len();
    let title = format!(
        "{n} recorded workflows, direct: geometric mean of makespan / HEFT's, worst ratio, wins against HEFT \
         (more than 0.1 % shorter); workflows left out"
    );
    head(text, &title);
    line(text, "HEFT / bound", cells, |problem, heft| {
        Some(heft / bound(problem))
    });
    ours(text, "xavantes", cells, within(budget));
    for kind in SchedulerKind::ALL {
        if kind == SchedulerKind::Xavantes || kind == SchedulerKind::Heft {
            continue;
        }
        let scheduler = kind.scheduler();
        line(text, scheduler.name(), cells, |problem, heft| {
            let searches = problem.dag().n_edges() * problem.hosts().len();
            let exact = matches!(kind, SchedulerKind::Pch | SchedulerKind::Best);
            let dear = matches!(kind, SchedulerKind::Lookahead) && searches > SEARCHES_MAX
                || exact && problem.hosts().len() > 64;
            if dear {
                return None;
            }
            let schedule = scheduler.schedule(problem).ok()?;
            check(problem, &schedule).unwrap();
            Some(schedule.makespan() / heft)
        });
    }
}

fn line(
    text: &mut String,
    name: &str,
    cells: &[Cell],
    ratio: impl Fn(&Problem, f64) -> Option<f64>,
) {
    write!(text, "| {name} |").unwrap();
    for cell in cells {
        let ratios = cell.iter().map(|(problem, heft)| ratio(problem, *heft));
        let ratios: Vec<f64> = ratios.flatten().collect();
        if ratios.is_empty() {
            write!(text, " |").unwrap();
            continue;
        }
        let worst = ratios.iter().copied().fold(0.0, f64::max);
        let wins = ratios.iter().filter(|&&ratio| ratio < 1.0 - TIE).count();
        let missing = match cell.len() - ratios.len() {
            0 => String::new(),
            n => format!("; -{n}"),
        };
        let mean = geometric(&ratios);
        write!(text, " {mean:.3}, {worst:.2}, {wins}{missing} |").unwrap();
    }
    writeln!(text).unwrap();
}

/// Structured graphs on random groups, direct and through controllers.
fn structured(text: &mut String, budget: f64) {
    writeln!(
        text,
        "\nThe papers' fifteen structured graphs (wide) on random groups, budget of xavantes {budget} s: geometric means. \
         \"three\" is the best of PCH, HEFT-B and CPOP, in direct mode or through controllers that are placed by the \
         paper's rule; the last three columns are beside xavantes in direct mode\n"
    )
    .unwrap();
    writeln!(
        text,
        "| groups, messages | direct: PCH / HEFT | PCH fast / exact | xavantes / three | with copies / three | bound / three \
         | through: xavantes / three | xavantes / its direct | no moves of controllers | direct search, controllers \
         placed after |"
    )
    .unwrap();
    writeln!(text, "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|").unwrap();
    let mut all = vec![Vec::new(); COLUMNS];
    for groups in [2, 5, 10, 25] {
        for (messages, name) in [
            (MessageCost::Low, "low"),
            (MessageCost::Medium, "medium"),
            (MessageCost::High, "high"),
        ] {
            let mut columns = vec![Vec::new(); COLUMNS];
            for (size, seed) in SIZES.into_iter().zip(0u64..) {
                let structured = Structured::new(size, Shape::WIDE, 100 + seed);
                let ratios = one(&structured, groups, messages, seed, budget);
                for (column, ratio) in columns.iter_mut().zip(ratios) {
                    column.push(ratio);
                }
            }
            row(text, &format!("{groups}, {name}"), &columns);
            for (all, column) in all.iter_mut().zip(columns) {
                all.extend(column);
            }
        }
    }
    row(text, "all", &all);
}

fn row(text: &mut String, name: &str, columns: &[Vec<f64>]) {
    write!(text, "| {name} |").unwrap();
    for column in columns {
        write!(text, " {:.3} |", geometric(column)).unwrap();
    }
    writeln!(text).unwrap();
}

fn one(
    structured: &Structured,
    groups: u32,
    messages: MessageCost,
    seed: u64,
    budget: f64,
) -> [f64; COLUMNS] {
    let dag = structured.graph(messages, 31 * seed + 1);
    let platform = paper(groups, 17 * seed + u64::from(groups), 1.0).unwrap();
    let problem = Problem::new(dag, &platform).unwrap();
    let tree = Tree::new(&problem, &structured.parents, &structured.controllers).unwrap();
    let by = |kind: SchedulerKind| kind.scheduler().schedule(&problem).unwrap();
    let [pch, heft, cpop, fast] = [
        SchedulerKind::Pch,
        SchedulerKind::HeftB,
        SchedulerKind::Cpop,
        SchedulerKind::PchFast,
    ]
    .map(by);
    let through = |schedule: &Schedule, placing| {
        let controlled = through_controllers(&problem, &tree, schedule, placing);
        controlled.schedule.makespan()
    };
    let three = [&pch, &heft, &cpop];
    let least = |makespans: [f64; 3]| makespans.into_iter().fold(f64::INFINITY, f64::min);
    let direct_three = least(three.map(Schedule::makespan));
    let through_three = least(three.map(|schedule| through(schedule, Placing::Paper)));
    let xavantes = Xavantes::within(budget);
    let direct = xavantes.run(&problem).unwrap().schedule;
    check(&problem, &direct).unwrap();
    let controlled = xavantes.run_through(&problem, &tree).unwrap().controlled;
    check_through_controllers(&problem, &tree, &controlled).unwrap();
    let stay = xavantes.without(Part::ControllerMoves);
    let stays = stay.run_through(&problem, &tree).unwrap().controlled;
    check_through_controllers(&problem, &tree, &stays).unwrap();
    let copied = xavantes.run_with_copies(&problem, |_| true).unwrap().copied;
    check_copied(&problem, &copied).unwrap();
    [
        pch.makespan() / heft.makespan(),
        fast.makespan() / pch.makespan(),
        direct.makespan() / direct_three,
        copied.makespan() / direct_three,
        bound(&problem) / direct_three,
        controlled.schedule.makespan() / through_three,
        controlled.schedule.makespan() / direct.makespan(),
        stays.schedule.makespan() / direct.makespan(),
        through(&direct, Placing::LeastTraffic) / direct.makespan(),
    ]
}

fn geometric(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp()
}

//! `cargo run --release -p experiments --example harm -- [SEED [REPETITIONS [GROUPS [NAMES]]]]` compares
//! variants of our own policy with those of the paper under eight kinds of load, in both modes of messages:
//! how much of the best one's gain each has, and how often it harms. The last row is a plan that
//! knows the powers to come and the links.
//!
//! NAMES are the beginnings of the names of variants, with commas; without them all are compared.
//! Every number of repetitions is 15 executions of each policy, load and mode. The measured loads are
//! read where XAVANTES_DATA says, and left out without it.
#![expect(clippy::print_stdout, reason = "a program for people")]

#[path = "support/measured.rs"]
mod measured;

use std::sync::Arc;

use experiments::graphs::{GRAPHS, Graphs};
use experiments::ideal::{Conditions, Execution, Powers, execute_under};
use experiments::knowing;
use experiments::loads::Load;
use experiments::seeds::{Purpose, seed};
use experiments::study::{Setting as Drawn, Study};
use experiments::traces::Traces;
use forecast::Method;
use schedule::platform::paper_with;
use schedule::rounds::{Learning, Margin, Messages, Policy, RESTARTS, Restarts, Scope, Setting};
use schedule::{Placing, Problem, Tree, critical_path_time};

/// No run here takes that long.
const HORIZON: f64 = 1e9;
/// The policies of the paper come first: the fixed one, rounds and adaptive.
const PAPER: usize = 3;

fn policies() -> Vec<(&'static str, Policy)> {
    let own = Policy::xavantes();
    let with = |learning| Policy { learning, ..own };
    let fitted = |mean_weights| with(Learning::Fitted { mean_weights });
    let pooled = Learning::Pooled { mean_weights: 3.0 };
    let damped = Learning::Damped { mean_weights: 3.0 };
    let (gain_least, wider_gain_least, wider_later_least) = (None, None, None);
    let scope = Scope::Machine;
    let judges_overdue = false;
    let threshold = 0.0;
    let splits_cpu = false;
    let links = |link_change_least| Policy {
        link_change_least,
        ..own
    };
    let forecast = |method, margin| {
        with(Learning::Forecast {
            method,
            mean_weights: 3.0,
            margin,
        })
    };
    let stopping = |restarts| Policy { restarts, ..own };
    let with_gain = |gain_least| {
        stopping(Some(Restarts {
            gain_least,
            ..RESTARTS
        }))
    };
    let with_overrun = |overrun| {
        stopping(Some(Restarts {
            overrun,
            ..RESTARTS
        }))
    };
    let however_late = stopping(Some(Restarts {
        later_least: 0.0,
        ..RESTARTS
    }));
    let at_most = |times_max| {
        stopping(Some(Restarts {
            times_max,
            ..RESTARTS
        }))
    };
    vec![
        ("fixed", Policy::fixed()),
        ("4 rounds", Policy::rounds(4)),
        ("adaptive", Policy::adaptive()),
        ("xavantes", own),
        ("k = 1", fitted(1.0)),
        ("k = 2", fitted(2.0)),
        ("k = 4", fitted(4.0)),
        ("not fitted", with(pooled)),
        ("towards nominal", with(damped)),
        ("last round only", with(Learning::LastRound)),
        ("every plan kept", Policy { gain_least, ..own }),
        (
            "wider plans alike",
            Policy {
                wider_gain_least,
                ..own
            },
        ),
        (
            "wider plans always",
            Policy {
                wider_later_least,
                ..own
            },
        ),
        ("slow machine only", Policy { scope, ..own }),
        (
            "overdue not judged",
            Policy {
                judges_overdue,
                ..own
            },
        ),
        ("threshold 0", Policy { threshold, ..own }),
        ("no CPU times", Policy { splits_cpu, ..own }),
        ("no transfers", links(None)),
        ("links from 50 %", links(Some(0.5))),
        ("links from 100 %", links(Some(1.0))),
        ("forecast last", forecast(Method::Last, Margin::None)),
        ("forecast mean", forecast(Method::Mean, Margin::None)),
        ("forecast median", forecast(Method::Median, Margin::None)),
        ("forecast es", forecast(Method::Es, Margin::None)),
        (
            "forecast xavantes",
            forecast(Method::Xavantes, Margin::None),
        ),
        ("9 in 10 mean", forecast(Method::Mean, Margin::NineInTen)),
        ("9 in 10 es", forecast(Method::Es, Margin::NineInTen)),
        (
            "9 in 10 xavantes",
            forecast(Method::Xavantes, Margin::NineInTen),
        ),
        ("nothing stopped", stopping(None)),
        ("stopped for 6 %", with_gain(0.06)),
        ("stopped later", with_overrun(0.5)),
        ("stopped sooner", with_overrun(2.0)),
        ("stopped once", at_most(1)),
        ("stopped however late", however_late),
    ]
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u32>());
    let mut number = |default: u32| arguments.next().and_then(Result::ok).unwrap_or(default);
    let (study_seed, repetitions, groups) = (number(1), number(4), number(10));
    let mut policies = policies();
    if let Some(names) = std::env::args().nth(4) {
        let is_named = |name: &str| names.split(',').any(|start| name.starts_with(start));
        let paper = policies[..PAPER].to_vec();
        policies.retain(|&(name, _)| is_named(name));
        policies.splice(..0, paper);
    }
    let traces = measured::traces();
    for setting in settings() {
        let Some(load) = setting.load else { continue };
        if load == Load::Planetlab && traces.is_empty() {
            println!("SKIPPED: the measured loads, without XAVANTES_DATA");
            continue;
        }
        for through in [false, true] {
            let mut table = Table::new(policies.len() + 1);
            let graphs = Graphs::drawn(setting.width, study_seed.into(), setting.trees);
            for repetition in 0..repetitions {
                for graph in 0..GRAPHS {
                    let place = [groups.into(), u64::from(repetition), graph as u64];
                    let place = (u64::from(study_seed), &place[..]);
                    let drawn = Instance::draw(setting, load, &traces, &graphs, place);
                    table.add(drawn.run(&policies, through));
                }
            }
            let mode = if through { "controllers" } else { "direct" };
            let name = setting.name;
            println!("\n{name}, {mode}, {groups} groups, seed {study_seed}");
            table.print(&policies);
        }
    }
}

/// The loads that policies are compared under: those of studies, and some that one rule each is for.
fn settings() -> Vec<Drawn> {
    let studies = [
        Study::Lasting,
        Study::Spread,
        Study::Planetlab,
        Study::Independent,
        Study::OnOff,
    ];
    let others = [
        ("stalling", Load::Stalling),
        ("mixed", Load::Mixed),
        ("slow-links", Load::SlowLinks),
    ];
    let others = others.map(|(name, load)| Drawn {
        name,
        load: Some(load),
        ..Study::OnOff.settings()[0]
    });
    let studies = studies.into_iter().flat_map(Study::settings);
    studies.chain(others).collect()
}

struct Instance {
    problem: Problem,
    tree: Tree,
    powers: Powers,
    speeds: Vec<f64>,
    links: Vec<f64>,
}

impl Instance {
    fn draw(
        setting: Drawn,
        load: Load,
        traces: &Traces,
        graphs: &Graphs,
        (study, place): (u64, &[u64]),
    ) -> Instance {
        let of = |purpose| seed(study, purpose, place);
        let structured = &graphs.trees[place[2] as usize];
        let dag = structured.graph(setting.messages, of(Purpose::Costs));
        let platform = paper_with(place[0] as u32, of(Purpose::Machines), 1.0, setting.between);
        let problem = Problem::new(dag, &platform.expect("some groups")).expect("a problem");
        let tree = Tree::new(&problem, &structured.parents, &structured.controllers);
        let tree = tree.expect("a tree");
        let sizes = (structured.controllers.len(), problem.hosts().len());
        let powers = load.powers(sizes.0, sizes.1, traces, of(Purpose::Load));
        Instance {
            problem,
            tree,
            powers: powers.expect("powers"),
            speeds: load.speeds(sizes.1, of(Purpose::Load)),
            links: load.links(sizes.1, of(Purpose::Load)),
        }
    }

    /// By policy: the length relative to the critical path, and how many plans were kept.
    fn run(self, policies: &[(&str, Policy)], through: bool) -> Vec<(f64, f64)> {
        let critical = critical_path_time(&self.problem);
        let messages = match through {
            true => Messages::Controllers(self.tree, Placing::Paper),
            false => Messages::Direct,
        };
        let setting = Arc::new(Setting::new(self.problem, messages).expect("a plan"));
        let conditions = Conditions {
            powers: &self.powers,
            speeds: &self.speeds,
            links: &self.links,
        };
        let run = |policy| {
            let run = execute_under(&setting, policy, &conditions, HORIZON);
            let run: Execution = run.expect("it ends");
            (run.makespan / critical, run.reschedules() as f64)
        };
        let mut results: Vec<(f64, f64)> = policies.iter().map(|(_, policy)| run(policy)).collect();
        let oracle = knowing::makespan(&setting, &conditions).expect("a plan");
        results.push(((oracle / critical).min(results[0].0), 0.0));
        results
    }
}

struct Table {
    runs: Vec<Vec<(f64, f64)>>,
}

impl Table {
    fn new(n_policies: usize) -> Table {
        Table {
            runs: vec![Vec::new(); n_policies],
        }
    }

    fn add(&mut self, results: Vec<(f64, f64)>) {
        for (runs, result) in self.runs.iter_mut().zip(results) {
            runs.push(result);
        }
    }

    fn print(&self, policies: &[(&str, Policy)]) {
        let mean = |place: usize| {
            let runs = &self.runs[place];
            runs.iter().map(|run| run.0).sum::<f64>() / runs.len() as f64
        };
        let fixed = mean(0);
        let names = policies.iter().map(|&(name, _)| name);
        let names = names.chain(["knowing the load"]);
        let best = (0..PAPER).map(mean).fold(f64::INFINITY, f64::min);
        println!(
            "{:20} {:>7} {:>8} {:>9} {:>7} {:>7} {:>6}",
            "", "SLR", "to fixed", "of gain", "better", "harmed", "plans"
        );
        for (place, name) in names.enumerate() {
            let runs = &self.runs[place];
            let part = |test: &dyn Fn(f64) -> bool| {
                let ratios = runs
                    .iter()
                    .zip(&self.runs[0])
                    .map(|(run, none)| run.0 / none.0);
                100.0 * ratios.filter(|&ratio| test(ratio)).count() as f64 / runs.len() as f64
            };
            let slr = mean(place);
            let of_gain = match best < fixed {
                true => format!("{:.0} %", 100.0 * (fixed - slr) / (fixed - best)),
                false => "-".to_owned(),
            };
            println!(
                "{name:20} {slr:7.3} {:+7.2} % {of_gain:>9} {:5.0} % {:5.1} % {:6.1}",
                100.0 * (slr / fixed - 1.0),
                part(&|ratio| ratio < 0.99),
                part(&|ratio| ratio > 1.01),
                runs.iter().map(|run| run.1).sum::<f64>() / runs.len() as f64,
            );
        }
    }
}

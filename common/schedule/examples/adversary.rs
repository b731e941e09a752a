//! `cargo run --release -p schedule --example adversary -- 60` looks for small problems on which
//! xavantes is worse than another scheduler here, or much worse than a long search, for so many
//! seconds (as PISA does: Coleman, Krishnamachari). It changes works, data, edges and powers at
//! random and keeps what makes the ratio larger. Exit status 1 if xavantes was more than 1 % above
//! any other scheduler.
#![expect(clippy::print_stdout, reason = "a program for people")]
#![expect(clippy::disallowed_methods, reason = "it ends after a time")]

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use model::{Bytes, GroupId, Network, NetworkLink, Platform, Resource, ResourceId};
use schedule::random::Random;
use schedule::{Dag, Problem, Scheduler, SchedulerKind, Task, Xavantes, check};

/// Seconds of budget: enough that all members are asked on problems of this size.
const BUDGET: f64 = 0.02;
const BUDGET_LONG: f64 = 0.4;
/// Steps of a climb before it begins again elsewhere.
const CLIMB: u32 = 60;
const TASKS_MAX: usize = 14;

#[derive(Clone)]
struct Instance {
    works: Vec<f64>,
    edges: BTreeMap<(u32, u32), f64>,
    powers: Vec<f64>,
}

fn main() -> ExitCode {
    let seconds = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(30));
    let mut random = Random::new(1);
    let mut worst = (0.0, "", Instance::random(&mut random));
    let mut n_instances = 0u64;
    let mut longest_ratio = 0.0f64;
    while Instant::now() < end {
        let mut here = Instance::random(&mut random);
        let mut ratio = here.ratio();
        for _ in 0..CLIMB {
            if Instant::now() >= end {
                break;
            }
            let mut other = here.clone();
            other.change(&mut random);
            let found = other.ratio();
            n_instances += 1;
            if found.0 >= ratio.0 {
                (here, ratio) = (other, found);
            }
        }
        if ratio.0 > worst.0 {
            worst = (ratio.0, ratio.1, here.clone());
        }
        longest_ratio = longest_ratio.max(here.ratio_to_long());
    }
    println!(
        "{n_instances} problems; worst ratio to another scheduler {:.4} ({})",
        worst.0, worst.1
    );
    println!(
        "worst ratio to a search of {BUDGET_LONG} s, of the last of each climb: {longest_ratio:.4}"
    );
    if worst.0 > 1.01 {
        let Instance {
            works,
            edges,
            powers,
        } = worst.2;
        println!("works {works:?}, edges {edges:?}, powers {powers:?}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

impl Instance {
    fn random(random: &mut Random) -> Instance {
        let n = 3 + random.below(TASKS_MAX - 3);
        let mut instance = Instance {
            works: (0..n).map(|_| 10.0 * random.unit()).collect(),
            edges: BTreeMap::new(),
            powers: (0..2 + random.below(5))
                .map(|_| 0.2 + 3.0 * random.unit())
                .collect(),
        };
        for _ in 0..2 * n {
            instance.add_edge(random);
        }
        instance
    }

    fn add_edge(&mut self, random: &mut Random) {
        let n = self.works.len();
        let (a, b) = (random.below(n) as u32, random.below(n) as u32);
        if a != b {
            let data = 30.0 * random.unit();
            self.edges.insert((a.min(b), a.max(b)), data);
        }
    }

    fn change(&mut self, random: &mut Random) {
        match random.below(4) {
            0 => {
                let task = random.below(self.works.len());
                self.works[task] = 20.0 * random.unit() * random.unit();
            }
            1 => self.add_edge(random),
            2 => {
                let keys: Vec<_> = self.edges.keys().copied().collect();
                if !keys.is_empty() {
                    self.edges.remove(&keys[random.below(keys.len())]);
                }
            }
            _ => {
                let host = random.below(self.powers.len());
                self.powers[host] = 0.1 + 5.0 * random.unit() * random.unit();
            }
        }
    }

    fn problem(&self) -> Problem {
        let tasks: Vec<Task> = (self.works.iter())
            .map(|&work| Task { work, cores: 1 })
            .collect();
        let edges: Vec<_> = (self.edges.iter())
            .map(|(&(from, to), &data)| (from, to, data))
            .collect();
        let machines = self.powers.iter().zip(0u32..).map(|(&power, id)| Resource {
            id: ResourceId::new(GroupId::new((id / 2).into()), id),
            name: format!("m{id}"),
            power,
            slots: 1,
            memory: Bytes::ZERO,
            labels: BTreeMap::new(),
        });
        let link = |bandwidth| NetworkLink {
            bandwidth,
            latency: 0.0,
        };
        let mut network = Network::uniform(link(1.0));
        network.inside = link(5.0);
        let platform = Platform::new(machines.collect(), network).expect("powers above 0");
        let dag = Dag::new(&tasks, &edges).expect("edges go up");
        Problem::new(dag, &platform).expect("small numbers")
    }

    /// Makespan of xavantes / the shortest of all others, and whose that is.
    fn ratio(&self) -> (f64, &'static str) {
        let problem = self.problem();
        let ours = makespan(&problem, &Xavantes::within(BUDGET));
        let others = SchedulerKind::ALL
            .into_iter()
            .filter(|&kind| kind != SchedulerKind::Xavantes)
            .map(SchedulerKind::scheduler);
        let best = others
            .map(|other| (makespan(&problem, other), other.name()))
            .min_by(|one, other| one.0.total_cmp(&other.0));
        best.map_or((1.0, ""), |(best, name)| (ours / best.max(1e-12), name))
    }

    fn ratio_to_long(&self) -> f64 {
        let problem = self.problem();
        let ours = makespan(&problem, &Xavantes::within(BUDGET));
        ours / makespan(&problem, &Xavantes::within(BUDGET_LONG)).max(1e-12)
    }
}

fn makespan(problem: &Problem, scheduler: &dyn Scheduler) -> f64 {
    let schedule = scheduler.schedule(problem).expect("everything fits");
    check(problem, &schedule).expect("a valid schedule");
    schedule.makespan()
}

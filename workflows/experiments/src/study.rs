//! The studies: what each compares, under which settings, and which numbers it keeps of an instance.

use schedule::platform::MessageCost;

use crate::graphs::Width;
use crate::loads::Load;

/// An experiment of the paper, or one on what its results rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Study {
    /// PCH, HEFT and CPOP by groups, with and without controllers.
    Static,
    /// The same at the groups of published numbers, so that many repetitions cost little.
    Published,
    /// The same where links between groups are slower.
    Bandwidth,
    /// The same with other trees: what their draw matters.
    Trees,
    /// Rescheduling where machines lose power for a whole run.
    Lasting,
    /// The same with high communication.
    LastingHigh,
    /// The same where more machines lose less, and tasks vary more.
    Spread,
    /// Rescheduling under the load of measured machines.
    Planetlab,
    /// Rescheduling where each task has a power of its own.
    Independent,
    /// Rescheduling where loads come and go.
    OnOff,
    /// Rescheduling on machines that are shared as a thesis measured it.
    TimeShared,
    /// Rescheduling where machines nearly stand still for a time.
    Stalling,
    /// Rescheduling where some machines are slow themselves, and loads come and go on all.
    Mixed,
    /// Rescheduling where the links of some machines are slow.
    SlowLinks,
}

/// One setting of a study: how its instances are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The name in tables and files.
    pub name: &'static str,
    /// The width of graphs.
    pub width: Width,
    /// The cost of messages.
    pub messages: MessageCost,
    /// Bandwidth between groups / inside.
    pub between: f64,
    /// The number of the set of fifteen trees.
    pub trees: u64,
    /// The parts of the machines that others take; nothing in static studies.
    pub load: Option<Load>,
}

/// The figure of each instance: a time in time units, or a number of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name in files.
    pub name: &'static str,
    /// The name in legends and tables.
    pub title: &'static str,
}

const fn column(name: &'static str, title: &'static str) -> Column {
    Column { name, title }
}

/// The column of the time of the critical path on the best machine, without messages.
pub const CRITICAL: usize = 0;
/// The column of the time of all tasks on the best machine.
pub const SEQUENTIAL: usize = 1;
/// The first column of a makespan.
pub const FIRST: usize = 2;

/// Columns of the static studies.
pub mod plans {
    use super::{Column, FIRST, column};

    /// PCH in direct mode.
    pub const PCH: usize = FIRST;
    /// HEFT in direct mode.
    pub const HEFT: usize = FIRST + 1;
    /// CPOP in direct mode.
    pub const CPOP: usize = FIRST + 2;
    /// PCH through controllers.
    pub const PCH_THROUGH: usize = FIRST + 3;
    /// HEFT through controllers.
    pub const HEFT_THROUGH: usize = FIRST + 4;
    /// CPOP through controllers.
    pub const CPOP_THROUGH: usize = FIRST + 5;
    /// PCH through controllers that are placed for the least traffic.
    pub const PCH_NEAR: usize = FIRST + 6;
    /// All of them.
    pub const COLUMNS: [Column; 9] = [
        column("critical", "critical path"),
        column("sequential", "all on one machine"),
        column("pch", "PCH"),
        column("heft", "HEFT"),
        column("cpop", "CPOP"),
        column("pch_through", "PCH, controllers"),
        column("heft_through", "HEFT, controllers"),
        column("cpop_through", "CPOP, controllers"),
        column("pch_near", "PCH, near controllers"),
    ];
}

/// Columns of the studies of rescheduling.
pub mod runs {
    use super::{Column, FIRST, column};

    /// No reschedule.
    pub const NONE: usize = FIRST;
    /// Algorithm 5 with two to four rounds: [`rounds`].
    const ROUNDS: usize = FIRST + 1;
    /// Algorithm 6.
    pub const ADAPTIVE: usize = FIRST + 4;
    /// Our own rule.
    pub const OWN: usize = FIRST + 5;
    /// A plan made with the powers to come and the links as they are.
    pub const KNOWING: usize = FIRST + 6;
    /// The first column of how often plans were made again, for rounds 2 to 4, adaptive and own.
    pub const PLANS: usize = FIRST + 7;
    /// The numbers of rounds that are compared.
    pub const T: [usize; 3] = [2, 3, 4];
    /// The policies that plan again, in the order of their columns.
    pub const POLICIES: usize = 5;
    /// All of them.
    pub const COLUMNS: [Column; 14] = [
        column("critical", "critical path"),
        column("sequential", "all on one machine"),
        column("none", "no reschedule"),
        column("rounds_2", "2 rounds"),
        column("rounds_3", "3 rounds"),
        column("rounds_4", "4 rounds"),
        column("adaptive", "adaptive"),
        column("own", "xavantes"),
        column("knowing", "plan knowing the load"),
        column("plans_rounds_2", "plans of 2 rounds"),
        column("plans_rounds_3", "plans of 3 rounds"),
        column("plans_rounds_4", "plans of 4 rounds"),
        column("plans_adaptive", "plans of adaptive"),
        column("plans_own", "plans of xavantes"),
    ];

    /// The column of Algorithm 5 with a number of rounds among [`T`].
    pub fn rounds(t: usize) -> usize {
        ROUNDS + t - T[0]
    }
}

/// The names of the settings of the study of trees, by cost of messages: ten sets of trees each.
const SETS: [[&str; 10]; 3] = [
    ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10"],
    [
        "high-1", "high-2", "high-3", "high-4", "high-5", "high-6", "high-7", "high-8", "high-9",
        "high-10",
    ],
    [
        "low-1", "low-2", "low-3", "low-4", "low-5", "low-6", "low-7", "low-8", "low-9", "low-10",
    ],
];

impl Study {
    /// All of them, in the order in which `all` runs them.
    pub const ALL: [Study; 14] = [
        Study::Static,
        Study::Published,
        Study::Bandwidth,
        Study::Trees,
        Study::Lasting,
        Study::LastingHigh,
        Study::Spread,
        Study::Planetlab,
        Study::Independent,
        Study::OnOff,
        Study::TimeShared,
        Study::Stalling,
        Study::Mixed,
        Study::SlowLinks,
    ];

    /// The name that users give.
    pub fn name(self) -> &'static str {
        match self {
            Study::Static => "static",
            Study::Published => "published",
            Study::Bandwidth => "bandwidth",
            Study::Trees => "trees",
            Study::Lasting => "lasting",
            Study::LastingHigh => "lasting-high",
            Study::Spread => "spread",
            Study::Planetlab => "planetlab",
            Study::Independent => "independent",
            Study::OnOff => "on-off",
            Study::TimeShared => "time-shared",
            Study::Stalling => "stalling",
            Study::Mixed => "mixed",
            Study::SlowLinks => "slow-links",
        }
    }

    /// The study of a name.
    pub fn named(name: &str) -> Option<Study> {
        Study::ALL.into_iter().find(|study| study.name() == name)
    }

    /// Its comparison, in a line.
    pub fn about(self) -> &'static str {
        match self {
            Study::Static => {
                "PCH, HEFT and CPOP by number of groups, with and without controllers; low, medium and high communication"
            }
            Study::Published => {
                "PCH, HEFT and CPOP at the numbers of groups that published means are for, with and without controllers"
            }
            Study::Bandwidth => {
                "PCH, HEFT and CPOP where links between groups have a half to a tenth of the bandwidth inside"
            }
            Study::Trees => {
                "PCH, HEFT and CPOP at 10 groups with ten other draws of the fifteen trees; medium, high and low communication"
            }
            Study::Lasting => {
                "rescheduling while a fifth of the machines lose 30 to 90 % of their power for the whole run"
            }
            Study::LastingHigh => "lasting, with high communication",
            Study::Spread => {
                "rescheduling while half of the machines lose up to 90 %, and each activity up to 30 %"
            }
            Study::Planetlab => {
                "rescheduling under the measured load of PlanetLab's machines (needs XAVANTES_DATA)"
            }
            Study::Independent => {
                "rescheduling where each activity gets 40 to 100 % of the power, whatever came before"
            }
            Study::TimeShared => {
                "rescheduling on machines shared with others: levels, bursts and peaks as Dobber measured them"
            }
            Study::OnOff => "rescheduling while loads come and go, for 3000 time units in the mean",
            Study::Stalling => {
                "rescheduling while machines have all power for 12,000 time units in the mean, and a twentieth for 6,000"
            }
            Study::Mixed => {
                "rescheduling where a fifth of the machines are slow themselves, and loads come and go on all"
            }
            Study::SlowLinks => {
                "rescheduling where the links of a fifth of the machines have 5 to 50 % of their bandwidth"
            }
        }
    }

    /// True if it needs the measured loads.
    pub fn needs_traces(self) -> bool {
        let mut settings = self.settings().into_iter();
        settings.any(|setting| setting.load == Some(Load::Planetlab))
    }

    /// True if it compares plans, false if it compares runs.
    pub fn is_static(self) -> bool {
        self.settings().iter().all(|setting| setting.load.is_none())
    }

    /// Its settings; section 9 of the digest.
    pub fn settings(self) -> Vec<Setting> {
        let plans = |name, messages, between| Setting {
            name,
            width: Width::Wide,
            messages,
            between,
            trees: 0,
            load: None,
        };
        let runs = |width, messages, between, load| {
            vec![Setting {
                name: self.name(),
                width,
                messages,
                between,
                trees: 0,
                load: Some(load),
            }]
        };
        let (medium, high) = (MessageCost::Medium, MessageCost::High);
        match self {
            Study::Static | Study::Published => vec![
                plans("low", MessageCost::Low, 0.5),
                plans("medium", medium, 0.5),
                plans("high", high, 0.5),
            ],
            Study::Bandwidth => vec![
                plans("0.5", medium, 0.5),
                plans("0.2", medium, 0.2),
                plans("0.18", medium, 0.18),
                plans("0.16", medium, 0.16),
                plans("0.1", medium, 0.1),
            ],
            Study::Trees => {
                let names = [medium, high, MessageCost::Low].into_iter().zip(SETS);
                let settings = names.flat_map(|(messages, names)| {
                    let sets = names.into_iter().zip(1..);
                    sets.map(move |(name, trees)| Setting {
                        trees,
                        ..plans(name, messages, 0.5)
                    })
                });
                settings.collect()
            }
            Study::Lasting => runs(Width::Narrow, medium, 0.2, Load::Lasting),
            Study::LastingHigh => runs(Width::Narrow, high, 0.2, Load::Lasting),
            Study::Spread => runs(Width::Middle, medium, 0.5, Load::Spread),
            Study::Planetlab => runs(Width::Middle, medium, 0.5, Load::Planetlab),
            Study::Independent => runs(Width::Middle, medium, 0.5, Load::Independent),
            Study::TimeShared => runs(Width::Middle, medium, 0.5, Load::TimeShared),
            Study::OnOff => runs(Width::Middle, medium, 0.5, Load::OnOff),
            Study::Stalling => runs(Width::Middle, medium, 0.5, Load::Stalling),
            Study::Mixed => runs(Width::Middle, medium, 0.5, Load::Mixed),
            Study::SlowLinks => runs(Width::Middle, medium, 0.5, Load::SlowLinks),
        }
    }

    /// The numbers of groups that it compares.
    pub fn groups(self) -> Vec<u32> {
        match self {
            Study::Static => (2..=25).collect(),
            Study::Published => vec![2, 5, 10, 25],
            Study::Bandwidth => vec![2, 3, 4, 5, 6, 8, 10, 15, 20, 25],
            Study::Trees => vec![10],
            Study::Lasting
            | Study::LastingHigh
            | Study::Spread
            | Study::Planetlab
            | Study::Independent
            | Study::OnOff
            | Study::TimeShared
            | Study::Stalling
            | Study::Mixed
            | Study::SlowLinks => vec![2, 5, 10, 15, 20, 25],
        }
    }

    /// Its figures of each instance.
    pub fn columns(self) -> &'static [Column] {
        if self.is_static() {
            &plans::COLUMNS
        } else {
            &runs::COLUMNS
        }
    }
}

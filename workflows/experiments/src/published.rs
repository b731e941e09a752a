//! The published numbers beside those found here: the paper's, and those of an earlier replication in
//! another language (section 9 of the digest), which drew other graphs of the same kind.

use crate::figures::{Figure, Kind, slr, speedup};
use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::{Study, plans, runs};

/// Some numbers of one kind at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Their meaning, with the names of the series.
    pub what: String,
    /// The paper's, where its text has them.
    pub paper: Vec<f64>,
    /// The replication's.
    pub replication: Vec<f64>,
    /// Those found here.
    pub here: Vec<Estimate>,
    /// The digits behind the point that are shown.
    pub decimals: usize,
}

impl Row {
    /// The largest deviation of a mean here from the replication's, as a part of that; nothing for
    /// counts and differences, of which small ones deviate by chance by large parts.
    pub fn deviation(&self) -> Option<f64> {
        if self.decimals < 2 {
            return None;
        }
        let parts = self.replication.iter().zip(&self.here);
        let parts = parts.filter(|&(reference, _)| reference.abs() >= 1.0);
        parts
            .map(|(reference, here)| here.mean / reference - 1.0)
            .max_by(|one, other| one.abs().total_cmp(&other.abs()))
    }
}

/// The rows of a study whose numbers of groups the experiment has.
pub fn rows(results: &Results) -> Vec<Row> {
    let study = results.design().study;
    match study {
        Study::Static | Study::Published => plan_rows(results),
        Study::Bandwidth | Study::Trees | Study::Stalling | Study::Mixed | Study::SlowLinks => {
            Vec::new()
        }
        Study::Lasting
        | Study::LastingHigh
        | Study::Spread
        | Study::Planetlab
        | Study::Independent
        | Study::OnOff
        | Study::TimeShared => run_rows(results, &RunNumbers::of(study)),
    }
}

/// The replication's numbers at one setting and number of groups: PCH, HEFT and CPOP each.
struct PlanNumbers {
    setting: &'static str,
    groups: u32,
    slr: [f64; 3],
    speedup: [f64; 3],
    slr_through: [f64; 3],
    speedup_through: [f64; 3],
    /// Of so many schedules, how often each is the best.
    schedules: f64,
    best: [f64; 3],
    best_through: [f64; 3],
}

const PLANS: [PlanNumbers; 6] = [
    PlanNumbers {
        setting: "medium",
        groups: 2,
        slr: [2.069, 2.113, 2.191],
        speedup: [2.69, 2.64, 2.54],
        slr_through: [2.360, 2.932, 2.713],
        speedup_through: [2.38, 1.91, 2.07],
        schedules: 1_500.0,
        best: [1_131.0, 318.0, 17.0],
        best_through: [1_159.0, 114.0, 194.0],
    },
    PlanNumbers {
        setting: "medium",
        groups: 5,
        slr: [1.630, 1.689, 1.708],
        speedup: [3.40, 3.28, 3.25],
        slr_through: [2.075, 2.704, 2.375],
        speedup_through: [2.69, 2.09, 2.33],
        schedules: 1_500.0,
        best: [1_130.0, 212.0, 111.0],
        best_through: [1_070.0, 86.0, 314.0],
    },
    PlanNumbers {
        setting: "medium",
        groups: 10,
        slr: [1.605, 1.669, 1.665],
        speedup: [3.47, 3.33, 3.35],
        slr_through: [1.907, 2.556, 2.292],
        speedup_through: [2.94, 2.23, 2.42],
        schedules: 1_500.0,
        best: [1_032.0, 177.0, 215.0],
        best_through: [1_156.0, 89.0, 194.0],
    },
    PlanNumbers {
        setting: "medium",
        groups: 25,
        slr: [1.603, 1.668, 1.664],
        speedup: [3.47, 3.33, 3.35],
        slr_through: [1.818, 2.518, 2.173],
        speedup_through: [3.06, 2.26, 2.55],
        schedules: 1_500.0,
        best: [1_039.0, 190.0, 212.0],
        best_through: [1_194.0, 70.0, 190.0],
    },
    PlanNumbers {
        setting: "high",
        groups: 10,
        slr: [1.979, 2.092, 2.073],
        speedup: [2.79, 2.64, 2.69],
        slr_through: [2.247, 3.435, 2.694],
        speedup_through: [2.47, 1.70, 2.09],
        schedules: 1_500.0,
        best: [1_149.0, 82.0, 251.0],
        best_through: [1_256.0, 34.0, 198.0],
    },
    PlanNumbers {
        setting: "low",
        groups: 10,
        slr: [1.223, 1.221, 1.228],
        speedup: [4.56, 4.59, 4.55],
        slr_through: [1.460, 1.693, 1.557],
        speedup_through: [3.77, 3.29, 3.51],
        schedules: 450.0,
        best: [135.0, 153.0, 107.0],
        best_through: [250.0, 42.0, 95.0],
    },
];

const DIRECT: [usize; 3] = [plans::PCH, plans::HEFT, plans::CPOP];
const THROUGH: [usize; 3] = [plans::PCH_THROUGH, plans::HEFT_THROUGH, plans::CPOP_THROUGH];

/// The replication's means of a figure at one setting and number of groups: PCH, HEFT and CPOP.
pub(crate) struct Means {
    /// The figure and the mode.
    pub(crate) what: &'static str,
    pub(crate) kind: Kind,
    pub(crate) columns: [usize; 3],
    pub(crate) replication: [f64; 3],
    /// The digits behind the point that are shown.
    pub(crate) decimals: usize,
}

impl PlanNumbers {
    fn means(&self) -> [Means; 4] {
        let means = |what, kind, columns, replication, decimals| Means {
            what,
            kind,
            columns,
            replication,
            decimals,
        };
        [
            means("SLR, direct", Kind::Slr, DIRECT, self.slr, 3),
            means("speedup, direct", Kind::Speedup, DIRECT, self.speedup, 2),
            means("SLR, controllers", Kind::Slr, THROUGH, self.slr_through, 3),
            means(
                "speedup, controllers",
                Kind::Speedup,
                THROUGH,
                self.speedup_through,
                2,
            ),
        ]
    }
}

/// The published means at a setting and number of groups; none where nothing is published.
pub(crate) fn means_at(setting: &str, groups: u32) -> Vec<Means> {
    let here = PLANS.iter();
    let here = here.filter(|numbers| numbers.setting == setting && numbers.groups == groups);
    here.flat_map(PlanNumbers::means).collect()
}

fn plan_rows(results: &Results) -> Vec<Row> {
    let settings = results.design().study.settings();
    let mut rows = Vec::new();
    for numbers in &PLANS {
        let setting = settings.iter().position(|s| s.name == numbers.setting);
        let Some(setting) = setting else { continue };
        if !results.design().groups.contains(&numbers.groups) {
            continue;
        }
        let percent = |counts: [f64; 3]| counts.map(|count| 100.0 * count / numbers.schedules);
        let best = |what, columns, counts| Means {
            what,
            kind: Kind::Best,
            columns,
            replication: percent(counts),
            decimals: 1,
        };
        let [slr, speedup, slr_through, speedup_through] = numbers.means();
        for Means {
            what,
            kind,
            columns,
            replication: published,
            decimals,
        } in [
            slr,
            speedup,
            best("best, direct, %", DIRECT, numbers.best),
            slr_through,
            speedup_through,
            best("best, controllers, %", THROUGH, numbers.best_through),
        ] {
            let here = columns.map(|column| {
                let figure = Figure { kind, column };
                figure.estimate(results, setting, numbers.groups)
            });
            rows.push(Row {
                what: format!(
                    "{}, {} groups: {what}: PCH, HEFT, CPOP",
                    numbers.setting, numbers.groups
                ),
                paper: Vec::new(),
                replication: published.to_vec(),
                here: here.to_vec(),
                decimals,
            });
        }
    }
    rows
}

/// The published numbers of a study of rescheduling at 10 groups.
#[derive(Default)]
struct RunNumbers {
    /// Mean SLR without reschedule minus with T rounds, for T = 2, 3, 4.
    paper_slr: &'static [f64],
    slr: [f64; 3],
    /// Mean speedup with T rounds minus without.
    paper_speedup: &'static [f64],
    speedup: [f64; 3],
    /// Runs of 15,000 in which T rounds are shorter, minus those in which no reschedule is.
    paper_best: &'static [f64],
    best: [f64; 3],
    /// Runs of 15,000 in which none, rounds and adaptive are best, for T = 2 and 4.
    best_of_three: Option<[[f64; 3]; 2]>,
    /// Mean speedup without reschedule.
    speedup_none: Option<f64>,
    /// Mean SLR of no reschedule, 4 rounds, adaptive, our own rule.
    slr_of: Option<[f64; 4]>,
    /// Percent of runs that 4 rounds, adaptive and our own rule make better, and worse.
    changed: Option<([f64; 3], [f64; 3])>,
}

impl RunNumbers {
    fn of(study: Study) -> RunNumbers {
        let paper = RunNumbers {
            paper_slr: &[0.33, 0.69, 0.93],
            paper_speedup: &[0.06, 0.13, 0.18],
            paper_best: &[2_381.0, 4_158.0, 4_993.0],
            ..RunNumbers::default()
        };
        match study {
            Study::Static
            | Study::Published
            | Study::Bandwidth
            | Study::Trees
            | Study::TimeShared
            | Study::Stalling
            | Study::Mixed
            | Study::SlowLinks => RunNumbers::default(),
            Study::Lasting => RunNumbers {
                slr: [0.36, 0.60, 0.70],
                speedup: [0.05, 0.10, 0.13],
                best: [4_830.0, 5_955.0, 6_005.0],
                best_of_three: Some([[265.0, 525.0, 7_530.0], [465.0, 2_050.0, 5_770.0]]),
                speedup_none: Some(1.29),
                slr_of: Some([3.195, 2.521, 2.402, 2.371]),
                changed: Some(([44.0, 54.0, 48.0], [4.0, 12.0, 1.0])),
                ..paper
            },
            Study::Spread => RunNumbers {
                slr: [0.44, 0.68, 0.78],
                speedup: [0.05, 0.10, 0.13],
                best: [4_870.0, 5_160.0, 4_860.0],
                best_of_three: Some([[1_460.0, 1_740.0, 8_960.0], [2_520.0, 3_270.0, 6_970.0]]),
                speedup_none: Some(1.21),
                ..paper
            },
            Study::Planetlab => RunNumbers {
                slr: [0.13, 0.20, 0.22],
                speedup: [0.02, 0.04, 0.05],
                best: [2_075.0, 3_000.0, 2_750.0],
                best_of_three: Some([[750.0, 1_025.0, 4_550.0], [1_900.0, 1_950.0, 2_625.0]]),
                slr_of: Some([2.236, 2.135, 2.116, 2.062]),
                changed: Some(([34.0, 33.0, 40.0], [17.0, 23.0, 1.0])),
                ..paper
            },
            Study::LastingHigh => RunNumbers {
                slr: [0.31, 0.54, 0.63],
                speedup: [0.02, 0.06, 0.08],
                paper_best: &[2_317.0, 4_624.0, 5_493.0],
                best: [3_500.0, 4_815.0, 4_800.0],
                best_of_three: Some([[385.0, 500.0, 6_620.0], [555.0, 2_095.0, 4_840.0]]),
                speedup_none: Some(1.16),
                ..RunNumbers::default()
            },
            Study::Independent => RunNumbers {
                slr: [-0.05, -0.10, -0.24],
                speedup: [-0.03, -0.07, -0.14],
                best: [-2_750.0, -4_750.0, -7_800.0],
                best_of_three: Some([[5_000.0, 2_600.0, 1_850.0], [8_900.0, 1_900.0, 1_600.0]]),
                slr_of: Some([2.707, 2.895, 3.045, 2.670]),
                changed: Some(([18.0, 14.0, 43.0], [71.0, 80.0, 35.0])),
                ..RunNumbers::default()
            },
            Study::OnOff => RunNumbers {
                slr: [-0.08, -0.17, -0.24],
                speedup: [-0.05, -0.09, -0.14],
                best: [-3_500.0, -5_700.0, -7_600.0],
                best_of_three: Some([[5_050.0, 1_800.0, 2_000.0], [8_900.0, 1_800.0, 1_700.0]]),
                slr_of: Some([2.513, 2.689, 2.864, 2.534]),
                changed: Some(([21.0, 18.0, 32.0], [63.0, 70.0, 43.0])),
                ..RunNumbers::default()
            },
        }
    }
}

/// The number of groups of the published numbers.
pub const GROUPS: u32 = 10;
/// The schedules of a point of the paper.
const SCHEDULES: f64 = 15_000.0;

fn run_rows(results: &Results, published: &RunNumbers) -> Vec<Row> {
    if !results.design().groups.contains(&GROUPS) {
        return Vec::new();
    }
    let mean = |kind, column| Figure { kind, column }.estimate(results, 0, GROUPS);
    let minus = |one: Figure, other: Figure| one.minus(other, results, 0, GROUPS);
    let each_t = |of: &dyn Fn(usize) -> Estimate| runs::T.map(of).to_vec();
    let per_cent = SCHEDULES / 100.0;
    let row = |what: &str, paper: &[f64], replication: &[f64], here, decimals| Row {
        what: what.to_owned(),
        paper: paper.to_vec(),
        replication: replication.to_vec(),
        here,
        decimals,
    };
    if published.slr == [0.0; 3] {
        return Vec::new();
    }
    let mut rows = vec![
        row(
            "SLR without reschedule - with 2, 3, 4 rounds",
            published.paper_slr,
            &published.slr,
            each_t(&|t| minus(slr(runs::NONE), slr(runs::rounds(t)))),
            2,
        ),
        row(
            "speedup with 2, 3, 4 rounds - without reschedule",
            published.paper_speedup,
            &published.speedup,
            each_t(&|t| minus(speedup(runs::rounds(t)), speedup(runs::NONE))),
            2,
        ),
        row(
            "best of 15,000 with 2, 3, 4 rounds - without reschedule",
            published.paper_best,
            &published.best,
            each_t(&|t| {
                let of = |column| Figure {
                    kind: Kind::BestOfTwo(t),
                    column,
                };
                minus(of(runs::rounds(t)), of(runs::NONE)).times(per_cent)
            }),
            0,
        ),
    ];
    if let Some(counts) = published.best_of_three {
        for (t, counts) in [2, 4].into_iter().zip(counts) {
            let columns = [runs::NONE, runs::rounds(t), runs::ADAPTIVE];
            let here = columns.map(|column| mean(Kind::BestOfThree(t), column).times(per_cent));
            let what = format!("best of 15,000: none, {t} rounds, adaptive");
            rows.push(row(&what, &[], &counts, here.to_vec(), 0));
        }
    }
    if let Some(number) = published.speedup_none {
        let here = vec![mean(Kind::Speedup, runs::NONE)];
        rows.push(row("speedup without reschedule", &[], &[number], here, 2));
    }
    if let Some(numbers) = published.slr_of {
        let columns = [runs::NONE, runs::rounds(4), runs::ADAPTIVE, runs::OWN];
        let here = columns.map(|column| mean(Kind::Slr, column)).to_vec();
        let what = "SLR: none, 4 rounds, adaptive, xavantes";
        rows.push(row(what, &[], &numbers, here, 3));
    }
    if let Some((better, worse)) = published.changed {
        let columns = [runs::rounds(4), runs::ADAPTIVE, runs::OWN];
        for (word, kind, numbers) in [
            ("better", Kind::Better, better),
            ("worse", Kind::Worse, worse),
        ] {
            let here = columns.map(|column| mean(kind, column)).to_vec();
            let what = format!("{word} than none, %: 4 rounds, adaptive, xavantes");
            rows.push(row(&what, &[], &numbers, here, 1));
        }
    }
    rows
}

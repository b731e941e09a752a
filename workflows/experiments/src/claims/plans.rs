//! The claims on plans: PCH beside HEFT and CPOP.

use super::{Claim, Verdict, above, all, below, independent, shown, with_interval};
use crate::families::spreads;
use crate::figures::{Figure, Kind, slr};
use crate::published::{Row, rows};
use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::plans;

const DIRECT: [usize; 3] = [plans::PCH, plans::HEFT, plans::CPOP];
const THROUGH: [usize; 3] = [plans::PCH_THROUGH, plans::HEFT_THROUGH, plans::CPOP_THROUGH];
/// The part by which a schedule is longer at most that is like another one.
const ALIKE: f64 = 0.06;
/// The part by which a schedule is shorter at most that is not better.
const NO_BETTER: f64 = 0.005;
/// The part by which means of other trees differ at most.
const AGREES: f64 = 0.08;
/// The groups above which the paper's PCH through controllers beats CPOP without.
const MANY: u32 = 5;
/// The sets of trees at each cost of messages.
const SETS: f64 = 10.0;
/// Student's quantile of 99 % at nine degrees of freedom: the deviations between ten sets within which one more is.
const DEVIATIONS: f64 = 3.250;

/// The part by which one column is longer than another in the mean over instances.
fn longer(results: &Results, setting: usize, groups: u32, one: usize, other: usize) -> Estimate {
    results.estimate(setting, groups, |instance| {
        instance[one] / instance[other] - 1.0
    })
}

/// The number of groups nearest to one.
fn nearest(results: &Results, groups: u32) -> u32 {
    let of = |other: &&u32| other.abs_diff(groups);
    let nearest = results.design().groups.iter().min_by_key(of);
    nearest.copied().unwrap_or(groups)
}

fn setting(results: &Results, name: &str) -> usize {
    let settings = results.design().study.settings();
    settings.iter().position(|s| s.name == name).unwrap_or(0)
}

fn percent(part: f64) -> String {
    shown(100.0 * part, 1)
}

fn signed(part: f64) -> String {
    format!("{:+.1}", 100.0 * part)
}

pub(super) fn of_static(results: &Results) -> Vec<Claim> {
    vec![
        beats_through(results),
        like_heft(results),
        grows_with_communication(results),
        low_communication(results),
        controllers_cost(results),
        beats_cpop_without(results, "medium", false),
        near_controllers(results),
        agrees(results),
    ]
}

/// Each number of groups of the experiment.
fn points(results: &Results) -> impl Iterator<Item = u32> + Clone + '_ {
    results.design().groups.iter().copied()
}

fn beats_through(results: &Results) -> Claim {
    let settings = 0..results.design().study.settings().len();
    let mut largest = f64::NEG_INFINITY;
    let mut verdict = Verdict::Holds;
    for setting in settings {
        for groups in points(results) {
            for other in [plans::HEFT_THROUGH, plans::CPOP_THROUGH] {
                let difference =
                    slr(plans::PCH_THROUGH).minus(slr(other), results, setting, groups);
                verdict = verdict.and(below(difference, 0.0));
                largest = largest.max(difference.mean);
            }
        }
    }
    Claim {
        text: "With controllers PCH beats HEFT and CPOP for any number of groups.",
        replication: "yes, with ties broken by the end of the cluster",
        here: format!(
            "SLR lower than that of both at every point; the least advantage is {}",
            shown(-largest, 3)
        ),
        verdict,
        reproduces: true,
        because: "rests on the rule for ties between machines: with the first one found, CPOP draws level at 25 groups",
    }
}

fn like_heft(results: &Results) -> Claim {
    let medium = setting(results, "medium");
    let of = |groups| longer(results, medium, groups, plans::PCH, plans::HEFT);
    let (first, last) = ends(results);
    let alike = points(results).map(|groups| {
        let part = of(groups);
        above(part, -ALIKE).and(below(part, 0.0))
    });
    let growth = results_difference(results, medium, first, last);
    Claim {
        text: "Without controllers PCH is like HEFT, and better with more groups.",
        replication: "yes: 2.1 % better at 2 groups, 3.8 % at 10, 3.9 % at 25",
        here: format!(
            "{} % shorter than HEFT's at {first} groups, {} % at {last}",
            percent(-of(first).mean),
            percent(-of(last).mean)
        ),
        verdict: all(alike).and(growth),
        reproduces: true,
        because: "",
    }
}

/// The verdict on PCH's advantage over HEFT: at the last number of groups is above that at the first; the
/// two points are independent.
fn results_difference(results: &Results, setting: usize, first: u32, last: u32) -> Verdict {
    if first == last {
        return Verdict::Open;
    }
    let of = |groups| longer(results, setting, groups, plans::PCH, plans::HEFT);
    below(independent(of(last), of(first)), 0.0)
}

fn ends(results: &Results) -> (u32, u32) {
    let groups = &results.design().groups;
    let first = groups.first().copied().unwrap_or(0);
    (first, groups.last().copied().unwrap_or(0))
}

fn grows_with_communication(results: &Results) -> Claim {
    let groups = nearest(results, 10);
    let levels = ["low", "medium", "high"].map(|name| setting(results, name));
    let direct = levels.map(|s| longer(results, s, groups, plans::PCH, plans::HEFT));
    let through =
        levels.map(|s| longer(results, s, groups, plans::PCH_THROUGH, plans::HEFT_THROUGH));
    let falls = |parts: [Estimate; 3]| {
        below(independent(parts[1], parts[0]), 0.0).and(below(independent(parts[2], parts[1]), 0.0))
    };
    let list = |parts: [Estimate; 3]| parts.map(|part| percent(-part.mean)).join(", ");
    Claim {
        text: "The more communication, the larger is PCH's advantage.",
        replication: "yes: at 10 groups 3.8 % (medium), 5.4 % (high) direct; 25 %, 35 % with controllers",
        here: format!(
            "shorter than HEFT at {groups} groups, low, medium, high: {} % direct, {} % with controllers",
            list(direct),
            list(through)
        ),
        verdict: falls(direct).and(falls(through)),
        reproduces: true,
        because: "",
    }
}

/// Over all numbers of groups, since the differences are small at each.
fn low_communication(results: &Results) -> Claim {
    let low = setting(results, "low");
    let all_points = |one: usize, other: usize| {
        let each: Vec<Estimate> = points(results)
            .map(|groups| longer(results, low, groups, one, other))
            .collect();
        let n = each.len() as f64;
        Estimate {
            n: each.iter().map(|e| e.n).min().unwrap_or(0),
            mean: each.iter().map(|e| e.mean).sum::<f64>() / n,
            half_width: each
                .iter()
                .map(|e| e.half_width.powi(2))
                .sum::<f64>()
                .sqrt()
                / n,
        }
    };
    let heft = all_points(plans::PCH, plans::HEFT);
    let cpop = all_points(plans::PCH, plans::CPOP);
    let through = [plans::HEFT_THROUGH, plans::CPOP_THROUGH]
        .map(|other| all_points(plans::PCH_THROUGH, other));
    Claim {
        text: "With low communication PCH is best with controllers, and without them only better than CPOP.",
        replication: "yes",
        here: format!(
            "makespan beside HEFT's, CPOP's over all groups: {}, {} % direct; {}, {} % with controllers",
            signed(heft.mean),
            signed(cpop.mean),
            signed(through[0].mean),
            signed(through[1].mean)
        ),
        verdict: all(through.map(|part| below(part, 0.0)))
            .and(below(cpop, 0.0))
            .and(above(heft, -NO_BETTER)),
        reproduces: true,
        because: "the paper does not say what low communication is; here 100 to 500 time units",
    }
}

fn controllers_cost(results: &Results) -> Claim {
    let groups = nearest(results, 10);
    let medium = setting(results, "medium");
    let of = |place: usize, groups| longer(results, medium, groups, THROUGH[place], DIRECT[place]);
    let verdicts = points(results).flat_map(|g| (0..3).map(move |place| (place, g)));
    let costs = [0, 1, 2].map(|place| percent(of(place, groups).mean));
    Claim {
        text: "Results with controllers are worse than without.",
        replication: "yes, where messages take every controller between two activities",
        here: format!(
            "PCH, HEFT, CPOP are {} % longer with controllers at {groups} groups",
            costs.join(", ")
        ),
        verdict: all(verdicts.map(|(place, g)| above(of(place, g), 0.0))),
        reproduces: true,
        because: "rests on the paper's placing of controllers from below; see the last claim",
    }
}

fn beats_cpop_without(results: &Results, name: &'static str, reproduces: bool) -> Claim {
    let at = setting(results, name);
    let of = |groups| longer(results, at, groups, plans::PCH_THROUGH, plans::CPOP);
    let many: Vec<u32> = points(results).filter(|&groups| groups > MANY).collect();
    let ratio = |groups| signed(of(groups).mean);
    let shown_at = many.iter().copied().min_by_key(|g| g.abs_diff(10));
    let verdict = match many.is_empty() {
        true => Verdict::Open,
        false => all(many.iter().map(|&groups| below(of(groups), 0.0))),
    };
    Claim {
        text: match name {
            "0.2" => "The same with a bandwidth between groups of 0.2 of that inside.",
            "0.18" => "The same with 0.18.",
            "0.16" => "The same with 0.16.",
            "0.1" => "The same with 0.1.",
            _ => {
                "With more than 5 groups PCH with controllers beats CPOP without (bandwidth between groups 0.5 of that inside)."
            }
        },
        replication: match name {
            "0.2" => "nearly",
            "0.18" => "yes, from 4 groups on",
            "0.16" => "yes, from 3 groups on",
            "0.1" => "yes, always",
            _ => "no (SLR 1.91 against 1.67 at 10 groups)",
        },
        here: match shown_at {
            Some(groups) => format!(
                "makespan beside CPOP's at {groups} groups: {} %",
                ratio(groups)
            ),
            None => "no such point".to_owned(),
        },
        verdict,
        reproduces,
        because: if reproduces {
            ""
        } else {
            "rests on the ratio of bandwidths, which the paper does not give"
        },
    }
}

fn near_controllers(results: &Results) -> Claim {
    let mut most = 0.0f64;
    let mut verdict = Verdict::Holds;
    for setting in 0..results.design().study.settings().len() {
        for groups in points(results) {
            let part = longer(results, setting, groups, plans::PCH_NEAR, plans::PCH);
            most = most.max(part.mean);
            // A part that is always 0 has an interval of nothing.
            verdict = verdict.and(below(part, 0.01));
        }
    }
    Claim {
        text: "Ours: with controllers placed for the least traffic, PCH with controllers is within 1 % of PCH without.",
        replication: "yes: the same",
        here: format!("{} % longer at most", percent(most)),
        verdict,
        reproduces: true,
        because: "so the cost of controllers is that of the paper's placing of them",
    }
}

/// The means beside the replication's, which other trees move by some percent.
fn agrees(results: &Results) -> Claim {
    let rows: Vec<Row> = rows(results)
        .into_iter()
        .filter(|row| row.deviation().is_some())
        .collect();
    let pairs = rows
        .iter()
        .flat_map(|row| row.replication.iter().zip(&row.here));
    let verdicts = pairs.map(|(reference, here)| {
        let off = here.times(1.0 / reference);
        above(off, 1.0 - AGREES).and(below(off, 1.0 + AGREES))
    });
    let most = rows
        .iter()
        .filter_map(Row::deviation)
        .max_by(|one, other| one.abs().total_cmp(&other.abs()));
    Claim {
        text: "Ours: mean SLR and speedup are within 8 % of the replication's, whose trees were others.",
        replication: "",
        here: match most {
            Some(part) => format!("{} % at most", signed(part)),
            None => "no such point".to_owned(),
        },
        verdict: match most {
            Some(_) => all(verdicts),
            None => Verdict::Open,
        },
        reproduces: true,
        because: "",
    }
}

/// At the points of published means; the study of trees tells how far these rest on the draw of the trees.
pub(super) fn of_published(results: &Results) -> Vec<Claim> {
    of_static(results)
}

pub(super) fn of_bandwidth(results: &Results) -> Vec<Claim> {
    vec![
        beats_cpop_without(results, "0.5", false),
        beats_cpop_without(results, "0.2", false),
        beats_cpop_without(results, "0.18", true),
        beats_cpop_without(results, "0.16", true),
        beats_cpop_without(results, "0.1", true),
    ]
}

/// The replication's means beside those of other sets of trees: a mean that is off by some percent is explained where
/// these differ as much among themselves.
fn among_sets(results: &Results) -> Claim {
    let spreads = spreads(results);
    let farthest = spreads.iter().map(|spread| spread.distance().abs());
    let farthest = farthest.fold(0.0, f64::max);
    let deviations = spreads.iter().map(|spread| spread.deviation / spread.mean);
    let least = deviations.clone().fold(f64::INFINITY, f64::min);
    let most = deviations.fold(0.0, f64::max);
    let limit = DEVIATIONS * (1.0 + 1.0 / SETS).sqrt();
    Claim {
        text: "Ours: the replication's means are like those of one more set of trees.",
        replication: "",
        here: format!(
            "means of ten sets deviate by {} to {} % from each other; the replication's by {} deviations at most, {} are expected of 99 in 100",
            percent(least),
            percent(most),
            shown(farthest, 1),
            shown(limit, 1)
        ),
        verdict: match spreads.is_empty() {
            true => Verdict::Open,
            false if farthest <= limit => Verdict::Holds,
            false => Verdict::Fails,
        },
        reproduces: true,
        because: "",
    }
}

pub(super) fn of_trees(results: &Results) -> Vec<Claim> {
    let groups = nearest(results, 10);
    // Those of medium communication come first.
    let sets = 0..10;
    let slr_of = |column: usize, set: usize| {
        let figure = Figure {
            kind: Kind::Slr,
            column,
        };
        figure.estimate(results, set, groups).mean
    };
    let range = |column: usize| {
        let each = || sets.clone().map(|set| slr_of(column, set));
        let least = each().fold(f64::INFINITY, f64::min);
        let most = each().fold(f64::NEG_INFINITY, f64::max);
        format!("{}..{}", shown(least, 3), shown(most, 3))
    };
    let parts: Vec<Estimate> = sets
        .clone()
        .flat_map(|set| {
            let pairs = [
                (plans::PCH, plans::HEFT),
                (plans::PCH_THROUGH, plans::HEFT_THROUGH),
                (plans::PCH_THROUGH, plans::CPOP_THROUGH),
            ];
            pairs.map(|(one, other)| longer(results, set, groups, one, other))
        })
        .collect();
    let mean = Estimate::of(
        &parts
            .iter()
            .step_by(3)
            .map(|part| part.mean)
            .collect::<Vec<_>>(),
    );
    vec![
        among_sets(results),
        Claim {
            text: "Ours: the order of the algorithms does not rest on the draw of the trees.",
            replication: "",
            here: format!(
                "SLR of PCH {}, HEFT {}; with controllers PCH {}, HEFT {}, CPOP {}; PCH is {} % shorter than HEFT",
                range(plans::PCH),
                range(plans::HEFT),
                range(plans::PCH_THROUGH),
                range(plans::HEFT_THROUGH),
                range(plans::CPOP_THROUGH),
                with_interval(mean.times(-100.0), 1)
            ),
            verdict: all(parts.into_iter().map(|part| below(part, 0.0))),
            reproduces: true,
            because: "absolute numbers do: those of the tables are compared within the ranges given here",
        },
    ]
}

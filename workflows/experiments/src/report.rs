//! Reports of an experiment: tables for programs (CSV, JSON) and for people (Markdown), and
//! charts.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use crate::claims::{Claim, claims};
use crate::design::Design;
use crate::families::{Spread, family, spreads};
use crate::figures::{Figure, Kind};
use crate::plot::{Chart, Curve};
use crate::published::{GROUPS, Row, rows};
use crate::results::Results;
use crate::statistics::Estimate;
use crate::study::{Column, FIRST, Study, plans, runs};

/// The names of the columns of [`csv`].
const HEADER: &str = "setting,groups,figure,series,repetitions,mean,low,high";

/// Every figure at every point, a row each: the mean and its interval at 95 % confidence. An
/// interval of one repetition is left out.
pub fn csv(results: &Results) -> String {
    let mut text = format!("{HEADER}\n");
    for Entry {
        setting,
        groups,
        figure,
        series,
        estimate,
    } in entries(results)
    {
        let kind = figure.kind.name();
        let _ = write!(
            text,
            "{setting},{groups},{kind},{},{},{}",
            series.name, estimate.n, estimate.mean
        );
        let _ = match estimate.half_width.is_finite() {
            true => writeln!(text, ",{},{}", estimate.low(), estimate.high()),
            false => writeln!(text, ",,"),
        };
    }
    text
}

/// The same with the published numbers and the claims.
pub fn json(results: &Results) -> Json {
    let interval = |estimate: &Estimate| {
        let bound = |value: f64| value.is_finite().then_some(value);
        json!({
            "repetitions": estimate.n,
            "mean": bound(estimate.mean),
            "low": bound(estimate.low()),
            "high": bound(estimate.high()),
        })
    };
    let figures: Vec<Json> = entries(results)
        .map(|entry| {
            json!({
                "setting": entry.setting,
                "groups": entry.groups,
                "figure": entry.figure.kind.name(),
                "series": entry.series.name,
                "estimate": interval(&entry.estimate),
            })
        })
        .collect();
    let numbers: Vec<Json> = rows(results)
        .iter()
        .map(|row| {
            json!({
                "what": row.what,
                "paper": row.paper,
                "replication": row.replication,
                "here": row.here.iter().map(interval).collect::<Vec<_>>(),
            })
        })
        .collect();
    let claims: Vec<Json> = claims(results)
        .iter()
        .map(|claim| {
            json!({
                "claim": claim.text,
                "replication": claim.replication,
                "here": claim.here,
                "verdict": claim.verdict.word(),
                "checked": claim.reproduces,
                "because": claim.because,
            })
        })
        .collect();
    let is_of_trees = results.design().study == Study::Trees;
    let spreads = if is_of_trees {
        spreads(results)
    } else {
        Vec::new()
    };
    let spreads: Vec<Json> = spreads.iter().map(spread_json).collect();
    let Design {
        study,
        seed,
        repetitions,
        groups,
        ..
    } = results.design();
    json!({
        "experiment": study.name(),
        "about": study.about(),
        "seed": seed,
        "repetitions": repetitions,
        "groups": groups,
        "figures": figures,
        "numbers": numbers,
        "spreads": spreads,
        "claims": claims,
    })
}

fn spread_json(spread: &Spread) -> Json {
    json!({
        "what": spread.what,
        "replication": spread.replication,
        "mean": spread.mean,
        "deviation": spread.deviation,
        "least": spread.range.0,
        "most": spread.range.1,
        "percent_of_variance_by_family": spread.of_family,
    })
}

/// The claims and the published numbers as tables, and where the charts are.
pub fn markdown(results: &Results, folder: &str) -> String {
    let Design {
        study,
        seed,
        repetitions,
        ..
    } = results.design();
    let mut text = format!(
        "`{}`: {}. Seed {seed}, {repetitions} repetitions of 15 graphs at each point; ± and bands are 95 % confidence.\n\n",
        study.name(),
        study.about()
    );
    text += &claims_table(&claims(results));
    let rows = rows(results);
    if !rows.is_empty() {
        text.push('\n');
        text += &numbers_table(&rows);
    }
    if !study.is_static() {
        text.push('\n');
        text += &policies_table(results);
    }
    if *study == Study::Trees {
        text.push('\n');
        text += &spreads_table(&spreads(results));
    }
    for (name, chart) in charts(results) {
        let _ = write!(text, "\n![{}]({folder}{name})\n", chart.title);
    }
    text
}

fn claims_table(claims: &[Claim]) -> String {
    let mut text = "| claim | replication | here | holds |\n|---|---|---|---|\n".to_owned();
    for claim in claims {
        let because = match claim.because {
            "" => String::new(),
            because => format!("; {because}"),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {}{because} | {} |",
            claim.text,
            claim.replication,
            claim.here,
            claim.verdict.word()
        );
    }
    text
}

fn numbers_table(rows: &[Row]) -> String {
    let mut text =
        "| numbers | paper | replication | here | most off |\n|---|---|---|---|--:|\n".to_owned();
    for row in rows {
        let list = |numbers: &[f64]| {
            let shown = numbers
                .iter()
                .map(|number| format!("{number:.0$}", row.decimals));
            shown.collect::<Vec<_>>().join(", ")
        };
        let here: Vec<String> = row
            .here
            .iter()
            .map(|estimate| {
                let mean = format!("{:.1$}", estimate.mean, row.decimals);
                match estimate.half_width.is_finite() {
                    true => format!("{mean} ± {:.1$}", estimate.half_width, row.decimals),
                    false => mean,
                }
            })
            .collect();
        let off = row.deviation();
        let off = off.map_or(String::new(), |part| format!("{:+.1} %", 100.0 * part));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {off} |",
            row.what,
            list(&row.paper),
            list(&row.replication),
            here.join(", ")
        );
    }
    text
}

/// The published means beside those of ten draws of the trees, and the sizes of graphs that the spread comes from.
fn spreads_table(spreads: &[Spread]) -> String {
    let families: Vec<String> = (0..4).map(family).collect();
    let mut text = format!(
        "| at {GROUPS} groups | replication | ten sets of trees | least, most | off | off, deviations | variance by activities of the graphs, %: {} |\n|---|--:|--:|--:|--:|--:|--:|\n",
        families.join(", ")
    );
    for spread in spreads {
        let number = |value: f64| format!("{value:.0$}", spread.decimals);
        let (least, most) = spread.range;
        let families = spread.of_family.map(|part| format!("{part:.0}"));
        let _ = writeln!(
            text,
            "| {} | {} | {} ± {} | {}, {} | {:+.1} % | {:+.1} | {} |",
            spread.what,
            number(spread.replication),
            number(spread.mean),
            number(spread.deviation),
            number(least),
            number(most),
            100.0 * (spread.mean / spread.replication - 1.0),
            -spread.distance(),
            families.join(", ")
        );
    }
    text
}

/// Each policy at ten groups, or the first number of them where ten is not among them.
fn policies_table(results: &Results) -> String {
    let all = &results.design().groups;
    let ten = all.iter().find(|&&groups| groups == GROUPS);
    let groups = ten.or(all.first()).copied().unwrap_or(GROUPS);
    let mean = |kind, column| Figure { kind, column }.estimate(results, 0, groups).mean;
    let mut text = format!(
        "| at {groups} groups | SLR | speedup | better than none, % | worse, % | by more than 1 %, % | plans a run |\n|---|--:|--:|--:|--:|--:|--:|\n"
    );
    for column in FIRST..runs::PLANS {
        let title = runs::COLUMNS[column].title;
        let (slr, speedup) = (mean(Kind::Slr, column), mean(Kind::Speedup, column));
        let _ = write!(text, "| {title} | {slr:.3} | {speedup:.2} |");
        let _ = match column {
            runs::NONE | runs::KNOWING => writeln!(text, " | | | |"),
            _ => writeln!(
                text,
                " {:.1} | {:.1} | {:.1} | {:.2} |",
                mean(Kind::Better, column),
                mean(Kind::Worse, column),
                mean(Kind::Harmed, column),
                mean(Kind::Plans, column)
            ),
        };
    }
    text
}

/// The charts by the names of their files; none of an experiment with one number of groups.
pub fn charts(results: &Results) -> Vec<(String, Chart)> {
    let study = results.design().study;
    if results.design().groups.len() < 2 {
        return Vec::new();
    }
    match study {
        Study::Static => {
            let settings = study.settings();
            let settings = settings.iter().enumerate();
            settings
                .flat_map(|(setting, of)| plan_charts(results, setting, of.name))
                .collect()
        }
        Study::Bandwidth => vec![bandwidth_chart(results)],
        // Few points, whose curves are those of the study of plans.
        Study::Published | Study::Trees => Vec::new(),
        Study::Lasting
        | Study::LastingHigh
        | Study::Spread
        | Study::Planetlab
        | Study::Independent
        | Study::OnOff
        | Study::TimeShared
        | Study::Stalling
        | Study::Mixed
        | Study::SlowLinks => run_charts(results),
    }
}

/// The distance of the styles of two curves of a policy in one chart.
const BESIDE_FOUR: usize = 5;
const GROUPS_AXIS: &str = "number of groups (of 1 to 5 machines)";
const SLR_AXIS: &str = "mean SLR (makespan / critical path)";
const SPEEDUP_AXIS: &str = "mean speedup (one machine's time / makespan)";
const BEST_AXIS: &str = "strictly best schedules (%)";

fn plan_charts(results: &Results, setting: usize, name: &str) -> Vec<(String, Chart)> {
    // The paper's six curves; the seventh, with controllers placed well, lies on PCH's own.
    let columns: Vec<usize> = (FIRST..plans::PCH_NEAR).collect();
    [
        ("slr", Kind::Slr, SLR_AXIS),
        ("speedup", Kind::Speedup, SPEEDUP_AXIS),
        ("best", Kind::Best, BEST_AXIS),
    ]
    .into_iter()
    .map(|(file, kind, y)| {
        let what = match kind {
            Kind::Slr => "Schedule length ratio",
            Kind::Speedup => "Speedup",
            Kind::Best
            | Kind::BestOfTwo(_)
            | Kind::BestOfThree(_)
            | Kind::Better
            | Kind::Worse
            | Kind::Harmed
            | Kind::Plans
            | Kind::PchThroughToCpop => "Best schedules, each mode by itself",
        };
        let curves = columns.iter().map(|&column| {
            let title = plans::COLUMNS[column].title;
            curve(results, setting, Figure { kind, column }, title)
        });
        let chart = Chart {
            title: format!("{what}, {name} communication"),
            x: GROUPS_AXIS.to_owned(),
            y: y.to_owned(),
            curves: curves.collect(),
        };
        (format!("static-{name}-{file}.svg"), chart)
    })
    .collect()
}

fn bandwidth_chart(results: &Results) -> (String, Chart) {
    let figure = Figure {
        kind: Kind::PchThroughToCpop,
        column: plans::PCH_THROUGH,
    };
    let settings = results.design().study.settings();
    let curves = settings.iter().enumerate().map(|(setting, of)| {
        let name = format!("bandwidth ratio {}", of.name);
        Curve {
            style: setting,
            ..curve(results, setting, figure, &name)
        }
    });
    let chart = Chart {
        title: "PCH with controllers beside CPOP without, by bandwidth between groups / inside"
            .to_owned(),
        x: GROUPS_AXIS.to_owned(),
        y: "makespan of PCH / that of CPOP (%)".to_owned(),
        curves: curves.collect(),
    };
    ("bandwidth-pch-cpop.svg".to_owned(), chart)
}

fn run_charts(results: &Results) -> Vec<(String, Chart)> {
    let name = results.design().study.name();
    let columns = || FIRST..runs::PLANS;
    let of = |kind, column: usize| {
        let title = runs::COLUMNS[column].title;
        curve(results, 0, Figure { kind, column }, title)
    };
    let chart = |title: &str, y: &str, curves: Vec<Curve>| Chart {
        title: format!("{title}, study {name}"),
        x: GROUPS_AXIS.to_owned(),
        y: y.to_owned(),
        curves,
    };
    let policies = || FIRST + 1..=FIRST + runs::POLICIES;
    let best = [2, 4].into_iter().flat_map(|t| {
        let kind = Kind::BestOfThree(t);
        [runs::NONE, runs::rounds(t), runs::ADAPTIVE].map(|column| {
            let title = match column {
                runs::NONE => format!("none, beside {t} rounds"),
                runs::ADAPTIVE => format!("adaptive, beside {t} rounds"),
                _ => format!("{t} rounds"),
            };
            let curve = curve(results, 0, Figure { kind, column }, &title);
            // Beside four rounds the same two policies are drawn a second time.
            let style = match t {
                4 if column != runs::rounds(t) => curve.style + BESIDE_FOUR,
                _ => curve.style,
            };
            Curve { style, ..curve }
        })
    });
    vec![
        (
            format!("{name}-slr.svg"),
            chart(
                "Schedule length ratio",
                SLR_AXIS,
                columns().map(|column| of(Kind::Slr, column)).collect(),
            ),
        ),
        (
            format!("{name}-speedup.svg"),
            chart(
                "Speedup",
                SPEEDUP_AXIS,
                columns().map(|column| of(Kind::Speedup, column)).collect(),
            ),
        ),
        (
            format!("{name}-best.svg"),
            chart("Best runs of three", BEST_AXIS, best.collect()),
        ),
        (
            format!("{name}-worse.svg"),
            chart(
                "Runs that rescheduling makes longer",
                "runs longer than without reschedule (%)",
                policies().map(|column| of(Kind::Worse, column)).collect(),
            ),
        ),
    ]
}

/// The curve of a figure; those of one column look the same in all charts.
fn curve(results: &Results, setting: usize, figure: Figure, name: &str) -> Curve {
    let groups = results.design().groups.iter();
    let points = groups.map(|&groups| {
        let estimate = figure.estimate(results, setting, groups);
        (f64::from(groups), estimate)
    });
    Curve {
        name: name.to_owned(),
        style: figure.column - FIRST,
        points: points.collect(),
    }
}

struct Entry {
    setting: &'static str,
    groups: u32,
    figure: Figure,
    series: Column,
    estimate: Estimate,
}

fn entries(results: &Results) -> impl Iterator<Item = Entry> + '_ {
    let study = results.design().study;
    let settings = study.settings().into_iter().enumerate();
    settings.flat_map(move |(setting, of)| {
        let groups = results.design().groups.iter();
        groups.flat_map(move |&groups| {
            let figures = Figure::all(study).into_iter();
            figures.map(move |figure| Entry {
                setting: of.name,
                groups,
                figure,
                series: study.columns()[figure.column],
                estimate: figure.estimate(results, setting, groups),
            })
        })
    })
}

#[cfg(test)]
mod tests;

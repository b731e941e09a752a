use super::*;
use crate::design::Design;
use crate::study::{FIRST, plans, runs};

/// Results that a rule makes up: by setting, groups, repetition and column.
fn planted(study: Study, rule: impl Fn(usize, u32, u32, usize) -> f64) -> Results {
    let design = Design::new(study, 1, 4, vec![2, 10, 25]).unwrap();
    let mut results = Results::none(design.clone());
    let n_columns = study.columns().len();
    for number in 0..design.n_units() {
        let unit = design.unit(number);
        let values: Vec<f64> = (0..design.values_of_unit())
            .map(|place| {
                rule(
                    unit.setting,
                    unit.groups,
                    unit.repetition,
                    place % n_columns,
                )
            })
            .collect();
        assert!(results.add(&Results::line(unit, &values)));
    }
    results
}

fn broken(results: &Results) -> Vec<&'static str> {
    let claims = claims(results).into_iter();
    claims
        .filter(Claim::is_broken)
        .map(|claim| claim.text)
        .collect()
}

/// Plans as the paper describes them; a little noise of repetitions.
fn as_published(setting: usize, groups: u32, repetition: u32, column: usize) -> f64 {
    let advantage = 30.0 * setting as f64 + f64::from(groups);
    let makespan = match column {
        plans::PCH => 2_000.0,
        plans::HEFT if setting == 0 => 1_990.0,
        plans::HEFT => 2_000.0 + advantage,
        plans::CPOP => 2_050.0,
        plans::PCH_THROUGH => 2_300.0,
        plans::HEFT_THROUGH => 2_500.0 + advantage,
        plans::CPOP_THROUGH => 2_400.0,
        plans::PCH_NEAR => 2_000.0,
        _ => 1_000.0,
    };
    makespan + f64::from(repetition % 2)
}

#[test]
fn published_results_break_no_claim() {
    let results = planted(Study::Static, as_published);
    // The order is as published; the numbers are not.
    let broken = broken(&results);
    assert_eq!(broken.len(), 1);
    assert!(broken[0].contains("within 8 %"));
    let claims = claims(&results);
    let failed: Vec<_> = claims
        .iter()
        .filter(|claim| claim.verdict != Verdict::Holds && !claim.is_broken())
        .collect();
    // PCH with controllers does not beat CPOP without.
    assert_eq!(failed.len(), 1, "{failed:#?}");
    assert!(!failed[0].reproduces);
}

#[test]
fn each_planted_contradiction_is_found() {
    let with = |column: usize, makespan: f64| {
        planted(Study::Static, move |setting, groups, repetition, own| {
            let usual = as_published(setting, groups, repetition, own);
            if own == column && groups == 10 {
                makespan + f64::from(repetition % 2)
            } else {
                usual
            }
        })
    };
    assert!(broken(&with(plans::CPOP_THROUGH, 2_200.0))[0].contains("With controllers PCH beats"));
    assert!(broken(&with(plans::HEFT, 1_800.0))[0].contains("is like HEFT"));
    assert!(broken(&with(plans::PCH_NEAR, 2_100.0))[0].contains("Ours"));
    let cheap = broken(&with(plans::HEFT_THROUGH, 1_900.0));
    assert!(
        cheap.iter().any(|text| text.contains("worse than without")),
        "{cheap:?}"
    );
}

#[test]
fn few_repetitions_leave_claims_open() {
    let design = Design::new(Study::Static, 1, 1, vec![2, 25]).unwrap();
    let mut results = Results::none(design.clone());
    for number in 0..design.n_units() {
        let values = vec![1_000.0; design.values_of_unit()];
        assert!(results.add(&Results::line(design.unit(number), &values)));
    }
    assert!(
        claims(&results)
            .iter()
            .all(|claim| claim.verdict == Verdict::Open)
    );
}

/// Runs under load that lasts: `gain` is what each policy saves, in steps of 50.
fn lasting(gain: f64) -> impl Fn(usize, u32, u32, usize) -> f64 {
    move |_, _, repetition, column| {
        let makespan = match column {
            runs::NONE => 3_000.0,
            runs::ADAPTIVE => 3_000.0 - 5.0 * gain,
            runs::OWN => 3_000.0 - 6.0 * gain,
            runs::KNOWING => 2_000.0,
            column if column < FIRST => 1_000.0,
            column if column >= runs::PLANS => return 1.0,
            // Two to four rounds.
            column => 3_000.0 - gain * (column - FIRST + 1) as f64,
        };
        makespan + f64::from(repetition % 2)
    }
}

#[test]
fn rescheduling_that_gains_holds_and_that_harms_is_found() {
    let gains = planted(Study::Lasting, lasting(50.0));
    assert_eq!(broken(&gains), [""; 0]);
    let harms = broken(&planted(Study::Lasting, lasting(-50.0)));
    assert!(harms.len() >= 4, "{harms:?}");
    // Under load that changes quickly the same harm is what is known.
    let known = broken(&planted(Study::OnOff, lasting(-50.0)));
    assert!(
        known.iter().all(|text| text.starts_with("Ours")),
        "{known:?}"
    );
}

/// Runs by column: no reschedule, four rounds, adaptive and our own; a thousandth of noise.
fn lengths([none, four, adaptive, own]: [f64; 4]) -> impl Fn(usize, u32, u32, usize) -> f64 {
    move |_, _, repetition, column| {
        let makespan = match column {
            runs::NONE => none,
            runs::ADAPTIVE => adaptive,
            runs::OWN => own,
            column if column < FIRST => 1_000.0,
            column if column >= runs::PLANS => return 1.0,
            _ => four,
        };
        makespan + f64::from(repetition % 2)
    }
}

#[test]
fn our_own_rule_is_judged_against_each_other_policy() {
    let judged = |study, makespans| broken(&planted(study, lengths(makespans)));
    for study in [Study::Stalling, Study::Mixed] {
        let sound = [3_000.0, 3_200.0, 3_300.0, 2_800.0];
        assert_eq!(judged(study, sound), [""; 0]);
        let found = judged(study, [3_000.0, 3_200.0, 3_300.0, 3_100.0]);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("below that without reschedule"));
        assert!(found[1].contains("few of its runs"));
        let found = judged(study, [3_000.0, 2_700.0, 3_300.0, 2_800.0]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("four rounds"));
        let found = judged(study, [3_000.0, 3_200.0, 2_700.0, 2_800.0]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("adaptive rounds"));
    }
}

#[test]
fn policies_that_learn_nothing_of_links_are_no_measure_of_harm() {
    let even = [3_000.0, 3_000.0, 3_000.0, 2_800.0];
    let results = planted(Study::SlowLinks, lengths(even));
    let claims = claims(&results);
    assert!(claims.iter().all(|claim| claim.verdict == Verdict::Holds));
    assert!(claims.iter().all(|claim| claim.replication.is_empty()));
    assert!(!claims.iter().any(|claim| claim.text.contains("fewer runs")));
}

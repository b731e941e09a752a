//! Known claims about the schedulers and policies still hold, on a few repetitions.
#![expect(
    clippy::unwrap_used,
    reason = "a test whose instances are known to be sound"
)]

use experiments::claims::{Claim, Verdict, claims};
use experiments::design::Design;
use experiments::instance::Source;
use experiments::results::Results;
use experiments::study::Study;
use experiments::traces::Traces;

fn results(study: Study, repetitions: u32, groups: &[u32]) -> Results {
    let design = Design::new(study, 1, repetitions, groups.to_vec()).unwrap();
    let source = Source::new(design.clone(), Traces::default());
    let mut results = Results::none(design.clone());
    for number in 0..design.n_units() {
        let unit = design.unit(number);
        let values = source.results(unit).unwrap();
        assert!(results.add(&Results::line(unit, &values)));
    }
    results
}

#[test]
fn no_claim_on_plans_is_broken() {
    for study in [Study::Static, Study::Bandwidth, Study::Trees] {
        // Thirty settings are compared at ten groups alone.
        let is_of_trees = study == Study::Trees;
        let groups = if is_of_trees { &[10][..] } else { &[2, 10, 25] };
        let claims = claims(&results(study, 8, groups));
        let broken: Vec<_> = claims.iter().filter(|claim| claim.is_broken()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
        // So many repetitions are enough to see that some hold.
        let holds = |claim: &&Claim| claim.verdict == Verdict::Holds;
        assert!(claims.iter().any(|claim| holds(&claim)), "{claims:#?}");
    }
}

#[test]
fn no_claim_on_rescheduling_is_broken() {
    for study in [
        Study::Lasting,
        Study::LastingHigh,
        Study::Spread,
        Study::Independent,
        Study::OnOff,
        Study::TimeShared,
        Study::Stalling,
        Study::Mixed,
        Study::SlowLinks,
    ] {
        let claims = claims(&results(study, 8, &[10]));
        let broken: Vec<_> = claims.iter().filter(|claim| claim.is_broken()).collect();
        assert!(broken.is_empty(), "{broken:#?}");
        let holds = |claim: &&Claim| claim.verdict == Verdict::Holds;
        assert!(claims.iter().any(|claim| holds(&claim)), "{claims:#?}");
    }
}

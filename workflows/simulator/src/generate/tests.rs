//! Generated processes are good definitions, and the same seed gives the same one.

use super::*;

#[test]
fn a_thousand_generated_processes_pass_the_checks_of_definitions() {
    let mut n_links = 0;
    let mut n_inputs = 0;
    let (mut n_conditions, mut n_choices) = (0, 0);
    for seed in 0..1_000 {
        let generated = process(&mut Random::new(seed), SubmitKey(seed), &Options::default());
        let definition = match generated.submit.draft.check() {
            Ok(definition) => definition,
            Err(problems) => panic!("seed {seed}: {problems:?}"),
        };
        let n_activities = definition.activities().len();
        assert!(
            (5..=40).contains(&n_activities),
            "seed {seed}: {n_activities}"
        );
        for node in definition.nodes() {
            if let NodeKind::If {
                conditions,
                children,
            } = &node.kind
            {
                n_conditions += conditions.len();
                n_choices += 1;
                assert!(conditions.len() <= children.len(), "seed {seed}");
            }
        }
        n_links += definition.links().len();
        n_inputs += definition
            .activities()
            .iter()
            .filter_map(|&id| definition.activity(id))
            .flat_map(|activity| &activity.inputs)
            .filter(|staged| matches!(staged.source, Source::Output { .. }))
            .count();
    }
    assert!(n_links > 1_000, "{n_links} links");
    assert!(n_inputs > 1_000, "{n_inputs} inputs");
    assert!(n_choices > 300, "{n_choices} ifs");
    assert!(n_conditions > n_choices, "{n_conditions} conditions");
}

#[test]
fn the_same_seed_gives_the_same_process() {
    let draft = |seed| process(&mut Random::new(seed), SubmitKey(1), &Options::default()).submit;
    assert_eq!(draft(7), draft(7));
    assert_ne!(draft(7), draft(8));
}

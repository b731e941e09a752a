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

/// Returns true if a node is a controller with bodies.
fn has_bodies(node: &Node) -> bool {
    matches!(node.kind, NodeKind::ForEach(_) | NodeKind::Repeat(_))
}

#[test]
fn bodies_of_all_kinds_are_in_each_other_and_pass_the_checks_of_definitions() {
    let mut found = BTreeMap::new();
    let mut n_picks = 0;
    for seed in 0..3_000 {
        let mut random = Random::new(seed);
        let generated = process(&mut random, SubmitKey(seed), &Options::default());
        let Some(folded) = bodies::fold(&mut random, &generated) else {
            continue;
        };
        let submitted = folded.submitted.submit.draft.check();
        let submitted = submitted.unwrap_or_else(|problems| panic!("seed {seed}: {problems:?}"));
        n_picks += usize::from(submitted.draft().picks.is_some());
        for (index, node) in submitted.nodes().enumerate() {
            let mut around = submitted.enclosing(NodeId(index as u32));
            let kind = |node: &Node| match &node.kind {
                NodeKind::ForEach(_) => "each",
                NodeKind::Repeat(_) => "loop",
                NodeKind::If { .. } => "if",
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => "",
            };
            if let Some(around) = around.next()
                && (has_bodies(node) || kind(node) == "if")
            {
                let pair = (kind(submitted.node(around.each)), kind(node));
                *found.entry(pair).or_insert(0) += 1;
            }
        }
    }
    assert!(
        n_picks > 100,
        "{n_picks} lists whose items read from each other"
    );
    let all = ["each", "loop"];
    for pair in all
        .iter()
        .flat_map(|&outer| ["each", "loop", "if"].map(|inner| (outer, inner)))
    {
        let n_found = found.get(&pair).copied().unwrap_or(0);
        assert!(n_found > 10, "{pair:?}: {n_found} of {found:?}");
    }
}

#[test]
fn a_process_that_is_run_again_has_another_list_now_and_then() {
    let (mut n_same, mut n_other) = (0, 0);
    for seed in 0..300 {
        let mut generated = process(&mut Random::new(seed), SubmitKey(seed), &Options::default());
        let list = |generated: &Generated| {
            let folded = bodies::fold(&mut Random::new(seed), generated)?;
            let mut nodes = folded.submitted.submit.draft.nodes.into_iter();
            nodes.find_map(|node| match node.kind {
                NodeKind::ForEach(each) => Some(each.items),
                NodeKind::Repeat(_)
                | NodeKind::If { .. }
                | NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => None,
            })
        };
        let first = list(&generated);
        generated.submit.base = Some(SubmitKey(seed).process());
        match first == list(&generated) {
            true => n_same += 1,
            false => n_other += 1,
        }
    }
    assert!(
        n_same > 50 && n_other > 50,
        "{n_same} same, {n_other} other"
    );
}

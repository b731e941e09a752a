use super::*;

fn numbers(changed: &Changed) -> Vec<u32> {
    changed.0.iter().copied().collect()
}

fn entry(activity: u32, slot: u32) -> Entry {
    Entry {
        activity: ActivityId(activity),
        resource: model::ResourceId::local(0),
        slot,
        start: model::Span(1),
        finish: model::Span(2),
    }
}

#[test]
fn a_node_changes_the_chapter_that_it_is_in() {
    let mut changed = Changed::default();
    changed.add_node(0);
    changed.add_node(NODES - 1);
    assert_eq!(numbers(&changed), [0]);
    changed.add_nodes(2 * NODES - 1, 3 * NODES + 1);
    assert_eq!(numbers(&changed), [0, 2, 4, 6]);
    changed.add_nodes(9 * NODES, 9 * NODES);
    changed.add_expansion(EXPANSIONS);
    assert_eq!(numbers(&changed), [0, 2, 3, 4, 6]);
}

#[test]
fn another_plan_changes_the_chapters_of_the_entries_that_differ() {
    let far = |chapter: usize| (chapter * NODES) as u32;
    let before: Vec<Entry> = (0..5).map(|chapter| entry(far(chapter), 0)).collect();
    let mut after = before.clone();
    after[1].slot = 1;
    after.remove(3);
    after.push(entry(far(7), 0));
    let mut changed = Changed::default();
    changed.add_entries(&before, &before);
    assert!(changed.0.is_empty());
    changed.add_entries(&before, &after);
    assert_eq!(numbers(&changed), [2, 6, 14]);
}

#[test]
fn the_last_loop_is_in_the_head_until_something_else_expands() {
    let each = Expanded::default();
    let repeat = Expanded {
        iterations: Some(crate::record::Iterations::default()),
        ..Expanded::default()
    };
    assert_eq!(n_sealed(&[]), 0);
    assert_eq!(n_sealed(std::slice::from_ref(&each)), 1);
    assert_eq!(n_sealed(&[each.clone(), repeat.clone()]), 1);
    assert_eq!(n_sealed(&[repeat, each]), 2);
}

use super::*;
use crate::report::fixtures::{compiled, untouched};

fn graph_of(steps: &str) -> Graph {
    let definition = compiled(&format!("xavantes: 1\nname: g\nbody:\n{steps}"));
    let status = untouched(&definition);
    let groups = vec![0; status.activities.len()];
    Graph::of(&status, &definition, &groups)
}

/// Each step with its activities and what it waits for.
fn told(graph: &Graph) -> Vec<String> {
    let one = |step: &Step| {
        let before = members(step.before).map(|one| graph.steps[one].label.as_str());
        let before: Vec<&str> = before.collect();
        format!("{} {}: {}", step.label, step.counts.all, before.join(" "))
    };
    graph.steps.iter().map(one).collect()
}

/// So many activities side by side, each with a number.
fn numbered(name: &str, n: usize) -> String {
    let one = |n| format!("        - {{ activity: {name}-{n}, run: [a] }}\n");
    let all: String = (0..n).map(one).collect();
    format!("    - parallel:\n{all}")
}

#[test]
fn each_activity_of_a_few_is_a_step() {
    let graph = graph_of(&format!(
        "  sequence:\n    - {{ activity: a, run: [a] }}\n{}    - {{ activity: z, run: [a] }}\n",
        numbered("b", 2)
    ));
    assert_eq!(graph.fold, Fold::Activity);
    assert_eq!(
        told(&graph),
        ["a 1: ", "b-0 1: a", "b-1 1: a", "z 1: b-0 b-1"]
    );
    assert_eq!(graph.of, [Some(0), Some(1), Some(2), Some(3)]);
}

#[test]
fn many_whose_names_differ_in_a_number_are_one_step_also_across_a_barrier() {
    let graph = graph_of(&format!(
        "  sequence:\n{}{}",
        numbered("cut", 40),
        numbered("sew", 50)
    ));
    assert_eq!(graph.fold, Fold::Name);
    assert_eq!(told(&graph), ["cut 40: ", "sew 50: cut"]);
}

#[test]
fn names_that_are_too_many_are_folded_by_controllers_and_one_step_is_no_graph() {
    let letters = |n: usize| ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"][n];
    let many = |name: &str| {
        let one = |n: usize| {
            let name = format!("{name}-{}{}", letters(n / 10), letters(n % 10));
            format!("          - {{ activity: {name}, run: [a] }}\n")
        };
        let all: String = (0..40).map(one).collect();
        format!("    - name: {name}\n      parallel:\n{all}")
    };
    let graph = graph_of(&format!("  sequence:\n{}{}", many("left"), many("right")));
    assert_eq!(graph.fold, Fold::Controller);
    assert_eq!(told(&graph), ["left 40: ", "right 40: left"]);
    assert!(!graph_of(&format!("  sequence:\n{}", numbered("a", 30))).is_shown());
    assert!(!graph_of("  activity: a\n  run: [a]\n").is_shown());
}

#[test]
fn lines_that_follow_from_others_are_left_out_where_there_are_too_many() {
    // Each waits for all before it.
    let chain = |n: usize| -> Vec<Step> {
        let step = |place: usize| Step {
            label: format!("s{place}"),
            group: 0,
            counts: Counts::default(),
            first: place,
            before: (1 << place) - 1,
        };
        (0..n).map(step).collect()
    };
    let mut steps = chain(60);
    reduce(&mut steps);
    let before: Vec<u64> = steps.iter().map(|step| step.before).collect();
    let expected: Vec<u64> = (0..60)
        .map(|n| if n == 0 { 0 } else { 1 << (n - 1) })
        .collect();
    assert_eq!(before, expected);
}

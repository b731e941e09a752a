use super::super::fixtures::{compiled, definition, status, untouched};
use super::*;

#[test]
fn each_controller_counts_what_is_below_it() {
    let mut status = status();
    status.activities[3].phase = ActivityPhase::Faulted;
    status.activities[4].phase = ActivityPhase::Skipped;
    let tree = tree(&status, &definition());
    let told: Vec<String> = tree
        .shown
        .iter()
        .map(|one| {
            let Counts {
                all,
                completed,
                faulted,
                running,
                skipped,
            } = one.counts;
            let label = &one.label;
            format!(
                "{}{label} {completed}+{faulted}+{running}+{skipped}/{all}",
                "  ".repeat(one.depth)
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "fork 3+1+0+1/5",
            "  parallel 2+1+0+0/3",
            "    left 2+0+0+0/2",
            "    right 0+1+0+0/1"
        ]
    );
    assert_eq!(tree.n_hidden, 0);
}

#[test]
fn paths_begin_below_the_process() {
    let definition = definition();
    let tree = tree(&status(), &definition);
    assert_eq!(tree.paths, ["", "", "parallel/left", "parallel/right"]);
    let a1 = definition.activities()[2];
    let path = tree.path_of(&definition, a1);
    assert_eq!(tree.paths[path], "parallel/left");
}

#[test]
fn of_very_many_controllers_the_nearest_are_shown() {
    let steps: String = (0..SHOWN_MAX * 2)
        .map(|n| format!("    - sequence:\n        - {{ activity: a{n}, run: [a] }}\n"))
        .collect();
    let definition = compiled(&format!(
        "xavantes: 1\nname: many\nbody:\n  parallel:\n{steps}"
    ));
    let tree = tree(&untouched(&definition), &definition);
    assert_eq!(tree.shown.len(), SHOWN_MAX);
    assert_eq!(tree.n_hidden, SHOWN_MAX + 1);
    assert_eq!(tree.shown[0].counts.all, SHOWN_MAX * 2);
}

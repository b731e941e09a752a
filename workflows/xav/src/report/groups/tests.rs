use super::super::fixtures::{compiled, definition};
use super::*;

fn flat(names: &[&str]) -> Definition {
    let steps: String = names
        .iter()
        .map(|name| format!("    - {{ activity: {name}, run: [a] }}\n"))
        .collect();
    compiled(&format!(
        "xavantes: 1\nname: flat\nbody:\n  parallel:\n{steps}"
    ))
}

fn grouped(definition: &Definition) -> Groups {
    group(definition, definition.activities())
}

#[test]
fn named_controllers_are_the_groups() {
    let groups = grouped(&definition());
    assert_eq!(groups.by, By::Controller);
    assert_eq!(groups.labels, ["fork", "left", "right"]);
    assert_eq!(groups.of, [0, 1, 1, 2, 0]);
}

#[test]
fn too_many_controllers_are_joined_in_those_around_them() {
    let branch = |name: &str| -> String {
        let inner: String = (0..5)
            .map(|n| format!("            - name: {name}{n}\n              sequence:\n                - {{ activity: {name}-a{n}, run: [a] }}\n"))
            .collect();
        format!("        - name: {name}\n          parallel:\n{inner}")
    };
    let text = format!(
        "xavantes: 1\nname: deep\nbody:\n  sequence:\n    - parallel:\n{}{}",
        branch("x"),
        branch("y")
    );
    let groups = grouped(&compiled(&text));
    assert_eq!(groups.labels, ["x", "y"]);
    assert_eq!(groups.of, [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
}

#[test]
fn where_no_controller_has_a_name_those_of_activities_are_taken_without_numbers() {
    let groups = grouped(&flat(&["fit_ID01", "fit_ID02", "merge", "fit-3"]));
    assert_eq!(groups.by, By::Name);
    assert_eq!(groups.labels, ["fit", "merge"]);
    assert_eq!(groups.of, [0, 0, 1, 0]);
}

#[test]
fn the_smallest_of_too_many_groups_share_one() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "i1", "j", "j1"];
    let groups = grouped(&flat(&names));
    assert_eq!(
        groups.labels,
        ["a", "b", "c", "d", "e", "f", "i", "j", "others"]
    );
    assert!(groups.has_others);
    assert_eq!(groups.of, [0, 1, 2, 3, 4, 5, 8, 8, 6, 6, 7, 7]);
}

#[test]
fn a_name_loses_its_number_but_never_all() {
    let stems = [
        "mProject_ID0000012",
        "work-3-17",
        "x7",
        "42",
        "chr1.part2",
        "align",
    ]
    .map(stem);
    assert_eq!(stems, ["mProject", "work", "x", "42", "chr1.part", "align"]);
}

//! A process manager of several that is gone: whoever asks hears soon what the others know, and who
//! did not answer.

use super::world::World;

const PROCESS: &str = "\
xavantes: 1
name: short
body: { activity: one, run: ['true'] }
";

#[test]
fn one_process_manager_of_two_that_is_gone_is_named_and_hides_only_what_it_has() {
    let mut world = World::new(2, 1);
    let ana = world.user("ana");
    let file = world.sandbox.file("short.yaml", PROCESS);
    let submit = |world: &World| {
        let done = world.sandbox.xav(&["submit", &file, "--grid", &ana]);
        let done = done.expect(0);
        (done.stdout.trim_end().to_owned(), done.stderr)
    };
    // The first manager takes what is submitted; without it, the second does.
    let (hidden, said) = submit(&world);
    assert!(!said.contains("could not reach"), "{said}");
    world.end_process_manager(0);
    let (known, said) = submit(&world);
    // It is not waited for as long as where nobody else answers.
    let gone = "could not reach pm pm1 at ";
    let soon = " within 2.0s";
    assert!(said.contains(gone) && said.contains(soon), "{said}");

    let sandbox = &world.sandbox;
    let with = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--grid", &ana]);
        sandbox.xav(&all)
    };
    // Whoever only looks waits even less, once the others have answered.
    let list = with(&["list", "--json"]).expect(0).says(gone);
    assert!(!list.stderr.contains(soon), "{}", list.stderr);
    let listed: serde_json::Value = serde_json::from_str(&list.stdout).unwrap();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["process"], known.as_str());
    assert_eq!(listed[0]["process_manager"], "pm2");

    // A process of another manager is found by its whole ID and by the beginning of it.
    with(&["status", &known]).expect(0);
    with(&["status", &known[..12]]).expect(0).says(gone);
    // The absent manager may have the ID: `xav` neither denies that nor takes another process for it.
    for command in ["status", "watch", "cancel", "results", "why", "logs"] {
        for id in [&hidden, &hidden[..12]] {
            let done = with(&[command, id]).expect(1);
            let may = format!("it may have the process {id}; those that answer do not");
            done.says(gone).says(soon).says(&may);
        }
    }
    with(&["cancel"])
        .expect(1)
        .says(gone)
        .says("name the one you mean");

    world.end_process_manager(1);
    let with = world.sandbox.xav(&["list", "--grid", &ana]).expect(1);
    with.says(gone).says("could not reach pm pm2 at ");
}

//! Two process managers on the machines of one group.

use super::freeze::{runs, staying};
use super::until_it_is;
use super::world::World;
use crate::sandbox::Sandbox;
use crate::wait;

/// Activities that stay until their gates are opened, on half of the slots.
const STAYING: [&str; 2] = ["a", "b"];

/// Processes of the busy process manager that have not ended, at any time: more than there are slots.
const WAITING: usize = 8;

/// Seconds that their commands take, between which the slots are never free together.
const TIMES: [&str; 4] = ["0.3", "0.4", "0.5", "0.7"];

/// All slots of the only machine at once.
const WHOLE: &str = "\
xavantes: 1
name: whole
body: { activity: one, run: ['true'], cores: 2 }
";

/// Wider than what is left beside them.
const WIDE: &str = "\
xavantes: 1
name: wide
body:
  parallel:
    - { activity: one, run: ['true'] }
    - { activity: two, run: ['true'] }
    - { activity: three, run: ['true'] }
";

#[test]
fn each_of_two_process_managers_plans_on_what_the_other_leaves() {
    let world = World::new(2, 2);
    let sandbox = &world.sandbox;
    let (ana, ben) = (world.user_of(0, "ana"), world.user_of(1, "ben"));
    let submit = |file: &str, user: &str| {
        let done = sandbox.xav(&["submit", file, "--grid", user]).expect(0);
        done.stdout.trim_end().to_owned()
    };
    let wide = sandbox.file("wide.yaml", WIDE);
    let held = submit(&staying(sandbox, &STAYING), &ana);
    wait::until("half of the slots to be in use", || {
        (runs(sandbox).len() == STAYING.len()).then_some(())
    });

    // Both go on beside what is held, one after another and by turns.
    for _ in 0..2 {
        for user in [&ben, &ana] {
            let id = submit(&wide, user);
            let status = until_it_is(&world, user, &id, "completed");
            let activities = status["activity_list"].as_array().unwrap();
            let is_first = |one: &serde_json::Value| one["attempts"].as_array().unwrap().len() == 1;
            assert!(activities.iter().all(is_first), "{status:#}");
        }
    }
    let eve = world.admin("eve");
    let list = sandbox.json(&["list", "--json", "--grid", &eve]);
    let managers = list.as_array().unwrap().iter();
    let managers: std::collections::BTreeSet<&str> = managers
        .map(|one| one["process_manager"].as_str().unwrap())
        .collect();
    assert_eq!(managers, ["pm1", "pm2"].into());

    for name in STAYING {
        sandbox.file(&format!("lives/gate-{name}"), "");
    }
    until_it_is(&world, &ana, &held, "completed");
}

/// Submits processes until as many wait or run as there shall be; `n` counts all of them.
fn keep_busy(sandbox: &Sandbox, files: &[String], user: &str, n: &mut usize) {
    let list = sandbox.json(&["list", "--json", "--grid", user]);
    let processes = list.as_array().unwrap().iter();
    let n_ended = processes.filter(|one| one["state"] == "completed").count();
    while *n - n_ended < WAITING {
        let file = &files[*n % files.len()];
        sandbox.xav(&["submit", file, "--grid", user]).expect(0);
        *n += 1;
    }
}

#[test]
fn a_busy_process_manager_does_not_keep_the_process_of_another_waiting_for_ever() {
    let world = World::new(2, 1);
    let sandbox = &world.sandbox;
    let (ana, ben) = (world.user_of(0, "ana"), world.user_of(1, "ben"));
    let files = TIMES.map(|seconds| {
        let text = format!(
            "xavantes: 1\nname: small\nbody: {{ activity: one, run: [sleep, '{seconds}'] }}\n"
        );
        sandbox.file(&format!("small-{seconds}.yaml"), text)
    });
    let whole = sandbox.file("whole.yaml", WHOLE);
    let mut n = 0;
    keep_busy(sandbox, &files, &ana, &mut n);
    wait::until("the slots to be in use", || {
        let list = sandbox.json(&["list", "--json", "--grid", &ana]);
        let ended = |one: &serde_json::Value| one["state"] == "completed";
        list.as_array().unwrap().iter().any(ended).then_some(())
    });
    let submitted = sandbox.xav(&["submit", &whole, "--grid", &ben]).expect(0);
    let id = submitted.stdout.trim_end();
    // The others never end: without slots that are kept for it, it would wait until the test gives up.
    wait::until("the process of the other manager to end", || {
        keep_busy(sandbox, &files, &ana, &mut n);
        let status = sandbox.json(&["status", id, "--json", "--grid", &ben]);
        (status["state"] == "completed").then_some(())
    });
}

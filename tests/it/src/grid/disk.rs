//! A machine of a grid whose disk is full: what does not fit is a fault that says so, and everything
//! else goes on.

use std::fs;

use super::until_it_is;
use super::world::World;

/// MiB of the disk.
const DISK: u32 = 24;

/// One activity whose output does not fit beside itself, after one whose output does.
const LARGE: &str = "\
xavantes: 1
name: large
outputs: { a: small.a }
body:
  sequence:
    - { activity: small, run: { shell: 'echo small > a' }, outputs: { a: a } }
    - { activity: large, run: { shell: 'head -c 16000000 /dev/zero > b' }, outputs: { b: b } }
";

const SMALL: &str = "\
xavantes: 1
name: small
variables: { word: string }
outputs: { word: \"${ word }\" }
body: { activity: small, run: [echo, fits], stdout: { into: word, as: text } }
";

#[test]
fn a_full_disk_of_a_machine_is_told_and_costs_nothing_that_was_recorded() {
    let Some(world) = World::on_small_disks(1, DISK) else {
        return;
    };
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let large = sandbox.file("large.yaml", LARGE);
    let submit = ["submit", &large, "--grid", &ana];
    let id = sandbox.xav(&submit).expect(0).stdout.trim_end().to_owned();
    let status = until_it_is(&world, &ana, &id, "faulted");
    let fault = &status["faults"][0];
    assert_eq!(fault["activity"], "large");
    assert_eq!(fault["fault"], "disk-full", "{status}");
    assert_eq!(fault["exit_code"], 0);
    let told = fault["message"].as_str().unwrap();
    assert!(told.contains("the disk is full"), "{told}");
    assert_eq!(status["activity_list"][0]["state"], "completed");

    // The directory of what failed is kept, so the disk is as full as before; with what a user
    // removes there, the same daemon has room again.
    let directory = fault["directory"].as_str().unwrap();
    fs::remove_file(format!("{directory}/b")).unwrap();
    let small = sandbox.file("small.yaml", SMALL);
    let run = sandbox.xav(&["run", &small, "--grid", &ana]).expect(0);
    assert_eq!(run.stdout, "word: fits\n");
    // What was recorded before is there: it is not run again, and its file is given.
    let mended = LARGE.replace("16000000", "1000000");
    let mended = sandbox.file("mended.yaml", mended);
    let rerun = ["rerun", &id, "--file", &mended, "--grid", &ana, "--json"];
    let again = sandbox.json(&rerun);
    assert_eq!(again["state"], "completed", "{again}");
    assert_eq!(again["activities"]["reused"], 1, "{again}");
    let second = again["process"].as_str().unwrap();
    let results = ["results", second, "--grid", &ana, "--to", "out"];
    sandbox.xav(&results).expect(0);
    let a = fs::read_to_string(sandbox.path("out/a")).unwrap();
    assert_eq!(a, "small\n");
}

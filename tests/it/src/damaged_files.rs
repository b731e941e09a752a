//! Files in a store that are damaged or gone: nobody is given them, and they are made again, or the
//! fault says why they cannot be.

use std::fs;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::Signal;

use crate::blocked_process;
use crate::sandbox::Sandbox;

/// The blobs of a store.
pub(crate) fn blobs(store: &Path) -> Vec<PathBuf> {
    let shards = fs::read_dir(store.join("blobs")).unwrap();
    let shards = shards.map(|shard| shard.unwrap().path());
    let blobs = shards.flat_map(|shard| fs::read_dir(shard).unwrap());
    blobs.map(|blob| blob.unwrap().path()).collect()
}

/// Changes a bit in the middle of each blob that has these words in it; how many those are.
pub(crate) fn flip_bits(store: &Path, words: &str) -> usize {
    let mut n_flipped = 0;
    for blob in blobs(store) {
        let content = fs::read(&blob).unwrap();
        if !String::from_utf8_lossy(&content).contains(words) {
            continue;
        }
        let middle = content.len() / 2;
        fs::set_permissions(&blob, fs::Permissions::from_mode(0o644)).unwrap();
        let file = fs::File::options().write(true).open(&blob).unwrap();
        let byte = [content[middle] ^ 1];
        file.write_all_at(&byte, middle as u64).unwrap();
        fs::set_permissions(&blob, fs::Permissions::from_mode(0o444)).unwrap();
        n_flipped += 1;
    }
    n_flipped
}

/// `make` writes a file from what it is given, `hold` waits for a gate, `use` copies the file. Both
/// files are outputs.
pub(crate) fn definition(sandbox: &Sandbox) -> String {
    let log = sandbox.path("log").display().to_string();
    let gate = sandbox.path("gate").display().to_string();
    let text = format!(
        "\
xavantes: 1
name: damaged
inputs: {{ given: file }}
outputs: {{ made: make.made, used: use.used }}
body:
  sequence:
    - activity: make
      run: {{ shell: 'echo make >> {log}; echo made of $(cat given) > made' }}
      inputs: {{ given: inputs.given }}
      outputs: {{ made: made }}
    - activity: hold
      run: {{ shell: 'echo hold >> {log}; while [ ! -e {gate} ]; do sleep 0.01; done' }}
    - activity: use
      run: {{ shell: 'echo use >> {log}; cat made > used; cat given >> used' }}
      inputs: {{ made: make.made, given: inputs.given }}
      outputs: {{ used: used }}
"
    );
    sandbox.file("damaged.yaml", text)
}

const USED: &str = "made of flour\nflour\n";

struct Scene {
    sandbox: Sandbox,
    run: Vec<String>,
}

impl Scene {
    fn new() -> Scene {
        let sandbox = Sandbox::new();
        let file = definition(&sandbox);
        let given = format!("given={}", sandbox.file("given", "flour\n"));
        let run = ["run", &file, "-i", &given, "--state", "s"];
        let run = run.map(str::to_owned).into();
        Scene { sandbox, run }
    }

    fn run(&self) -> Vec<&str> {
        self.run.iter().map(String::as_str).collect()
    }

    fn store(&self) -> PathBuf {
        self.sandbox.path("s/am/blobs")
    }

    #[track_caller]
    fn has_used(&self) {
        let to = ["results", "--state", "s", "--to", "out"];
        self.sandbox.xav(&to).expect(0);
        let used = fs::read_to_string(self.sandbox.path("out/used")).unwrap();
        assert_eq!(used, USED);
        let made = fs::read_to_string(self.sandbox.path("out/made")).unwrap();
        assert_eq!(made, "made of flour\n");
    }

    fn log(&self) -> Vec<String> {
        self.sandbox.lines("log")
    }
}

#[test]
fn a_flipped_bit_between_two_activities_reaches_nobody() {
    let scene = Scene::new();
    let run = scene.sandbox.start(&scene.run());
    scene.sandbox.wait_for_lines("log", 2);
    assert_eq!(flip_bits(&scene.store(), "made of"), 1);
    blocked_process::open(&scene.sandbox);
    run.end().expect(0);
    assert_eq!(scene.log(), ["make", "hold", "make", "use"]);
    scene.has_used();
}

#[test]
fn a_run_whose_store_was_emptied_goes_on() {
    let scene = Scene::new();
    let run = scene.sandbox.start(&scene.run());
    scene.sandbox.wait_for_lines("log", 2);
    run.signal(Signal::INT);
    run.end().expect(130);
    for blob in blobs(&scene.store()) {
        let is_given = fs::read(&blob).unwrap() == b"flour\n";
        if !is_given {
            fs::remove_file(blob).unwrap();
        }
    }
    blocked_process::open(&scene.sandbox);
    scene.sandbox.xav(&["resume", "--state", "s"]).expect(0);
    assert_eq!(scene.log(), ["make", "hold", "hold", "make", "use"]);
    scene.has_used();
}

#[test]
fn a_fault_names_the_input_that_is_damaged() {
    let scene = Scene::new();
    let run = scene.sandbox.start(&scene.run());
    scene.sandbox.wait_for_lines("log", 2);
    assert_eq!(flip_bits(&scene.store(), "flour"), 2);
    blocked_process::open(&scene.sandbox);
    let failed = run.end().expect(1);
    failed.says("the input `given` of the process is damaged or gone");
    assert_eq!(scene.log().first().unwrap(), "make");
    assert!(!scene.log().contains(&"use".to_owned()));
}

#[test]
fn a_damaged_output_is_not_handed_over_and_a_rerun_makes_it_again() {
    let scene = Scene::new();
    blocked_process::open(&scene.sandbox);
    scene.sandbox.xav(&scene.run()).expect(0);
    assert_eq!(flip_bits(&scene.store(), "made of"), 2);
    let to = ["results", "--state", "s", "--to", "out"];
    let refused = scene.sandbox.xav(&to).expect(1);
    refused.says("damaged or gone").says("xav rerun ");
    scene.sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    assert_eq!(scene.log(), ["make", "hold", "use", "make", "use"]);
    scene.has_used();
    // The outcomes of undamaged files are reused.
    let again = scene.sandbox.xav(&["rerun", "--state", "s"]).expect(0);
    again.says("3 recorded outcomes stand");
}

#[test]
fn an_output_that_is_damaged_while_a_run_is_interrupted_is_made_again() {
    let scene = Scene::new();
    let file = fs::read_to_string(scene.sandbox.path("damaged.yaml")).unwrap();
    // Nobody but the user takes what was made.
    let file = file.replace("made: make.made, given", "given");
    let file = file.replace("cat made > used", "echo made of flour > used");
    scene.sandbox.file("damaged.yaml", file);
    let run = scene.sandbox.start(&scene.run());
    scene.sandbox.wait_for_lines("log", 2);
    run.signal(Signal::INT);
    run.end().expect(130);
    assert_eq!(flip_bits(&scene.store(), "made of"), 1);
    blocked_process::open(&scene.sandbox);
    scene.sandbox.xav(&["resume", "--state", "s"]).expect(0);
    scene.has_used();
    assert_eq!(scene.log().iter().filter(|one| *one == "make").count(), 2);
}

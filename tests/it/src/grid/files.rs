//! Files that go to a grid's machines with a process, and come from there as its outputs.

use std::fs;

use serde_json::Value;

use super::world::World;
use crate::sandbox::{Sandbox, root};

fn sample(name: &str) -> String {
    let path = root().join("workflows/samples").join(name);
    path.to_str().unwrap().to_owned()
}

/// True if no file of a transfer is left.
fn nothing_is_left(sandbox: &Sandbox) -> bool {
    let transfers = sandbox.path("data/xavantes/transfers");
    fs::read_dir(transfers).is_ok_and(|entries| entries.count() == 0)
}

#[test]
fn primes_are_counted_in_a_grid() {
    let world = World::new(1, 1);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let primes = sample("primes/primes.yaml");
    let run = ["run", &primes, "-i", "limit=20000", "--grid", &ana];
    let done = sandbox.xav(&run).expect(0);
    assert_eq!(done.stdout, "count: 2262\n");
    done.says("primes completed in ").says("9 activities, CPU ");
    assert!(nothing_is_left(sandbox));
    let again = ["rerun", "-i", "limit=30000", "--grid", &ana, "--quiet"];
    let again = sandbox.xav(&again).expect(0);
    assert_eq!(again.stdout, "count: 3245\n");
}

#[test]
fn words_are_counted_by_two_machines_as_by_this_one() {
    let world = World::new(1, 2);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let words = sample("wordcount/wordcount.yaml");
    let here = sandbox.json(&["run", &words, "--json", "--embedded"]);
    let there = sandbox.json(&["run", &words, "--json", "--grid", &ana]);
    let path = |run: &Value| run["outputs"]["table"]["path"].as_str().unwrap().to_owned();
    let (of_here, of_there) = (path(&here), path(&there));
    assert!(of_there.starts_with(sandbox.path("data/xavantes/results").to_str().unwrap()));
    let table = fs::read_to_string(&of_there).unwrap();
    assert_eq!(table, fs::read_to_string(&of_here).unwrap());
    for output in ["words", "different", "frequent", "times"] {
        assert_eq!(here["outputs"][output], there["outputs"][output]);
    }
    // A result that was deleted is fetched again.
    let id = there["process"].as_str().unwrap();
    let to = sandbox.path("taken");
    let to = to.to_str().unwrap();
    let taken = sandbox
        .xav(&["results", id, "--grid", &ana, "--to", to])
        .expect(0);
    taken.shows(&format!("table: {to}/table.txt\n"));
    assert_eq!(
        fs::read_to_string(format!("{to}/table.txt")).unwrap(),
        table
    );
    fs::remove_file(&of_there).unwrap();
    let again = sandbox.xav(&["results", id, "--grid", &ana]).expect(0);
    again.shows(&format!("table: {of_there}\n"));
    assert_eq!(fs::read_to_string(&of_there).unwrap(), table);
    sandbox.xav(&["forget", id, "--grid", &ana]).expect(0);
    assert!(!sandbox.path("data/xavantes/results").join(id).exists());
    assert!(nothing_is_left(sandbox));
}

#[test]
fn files_and_directories_are_given_and_fetched_and_serve_again() {
    let world = World::new(1, 2);
    let (sandbox, ana) = (&world.sandbox, world.user("ana"));
    let file = sandbox.file(
        "copy.yaml",
        "\
xavantes: 1
name: copy
inputs:
  one: file
  several: directory
  word: string
outputs:
  all: join.all
  one: join.one
body:
  sequence:
    - activity: join
      run: { shell: \"mkdir -p all/deep; cp -r several/. all/deep; cp one.txt all/; wc -c < one.txt > all/size\" }
      inputs: { one.txt: inputs.one, several/: inputs.several }
      outputs: { all: all/, one: all/one.txt }
    - activity: say
      run: [echo, \"${inputs.word}\"]
",
    );
    let long = "0123456789abcdef\n".repeat(100_000);
    let one = format!("one={}", sandbox.file("one.txt", &long));
    fs::create_dir_all(sandbox.path("several/inner")).unwrap();
    sandbox.file("several/a.txt", "a");
    sandbox.file("several/inner/b.txt", "b");
    let several = format!("several={}", sandbox.path("several").display());
    let submit = [
        "submit", &file, "-i", &one, "-i", &several, "-i", "word=x", "--grid", &ana,
    ];
    let id = sandbox.xav(&submit).expect(0).stdout.trim_end().to_owned();
    sandbox.xav(&["watch", &id, "--grid", &ana]).expect(0);
    let to = sandbox.path("out");
    let all = |to: &std::path::Path| {
        let read = |name: &str| fs::read_to_string(to.join("all").join(name)).unwrap();
        assert!(read("one.txt") == long);
        assert_eq!(
            (read("deep/a.txt"), read("deep/inner/b.txt")),
            ("a".into(), "b".into())
        );
        assert_eq!(read("size").trim(), long.len().to_string());
    };
    let results = ["results", &id, "--grid", &ana, "--to", to.to_str().unwrap()];
    sandbox.xav(&results).expect(0);
    all(&to);
    // Another word changes nothing for the activity that has the files, and they are not given again.
    fs::remove_dir_all(sandbox.path("several")).unwrap();
    let mut rerun = vec!["rerun", &id, "-i", "word=y", "--grid", &ana, "--json"];
    let refused = sandbox.xav(&rerun).expect(2);
    refused.says("input `several`: could not look at ");
    rerun.push("--same-files");
    let again = sandbox.xav(&rerun).expect(0).stdout;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["state"], "completed");
    assert_eq!(again["activities"]["reused"], 1);
    let path = again["outputs"]["all"]["path"].as_str().unwrap();
    all(std::path::Path::new(path).parent().unwrap());
    // A file that has changed on this machine is given again, and one that is the same is not read for that.
    fs::create_dir_all(sandbox.path("several/inner")).unwrap();
    sandbox.file("several/a.txt", "a");
    sandbox.file("several/inner/b.txt", "b");
    let same = sandbox.xav(&["rerun", "--grid", &ana]).expect(0);
    same.says("none of 2 runs; 2 stand");
    sandbox.file("one.txt", "another");
    let line = "1 of 2 runs: 1 changed input; 1 stands";
    let dry = ["rerun", "--grid", &ana, "--dry-run"];
    sandbox.xav(&dry).expect(0).shows(line);
    sandbox.xav(&["rerun", "--grid", &ana]).expect(0).says(line);
    let taken = sandbox.path("taken");
    let results = ["results", "--grid", &ana, "--to", taken.to_str().unwrap()];
    sandbox.xav(&results).expect(0);
    let one = fs::read_to_string(taken.join("all/one.txt")).unwrap();
    assert_eq!(one, "another");
}

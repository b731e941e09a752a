//! `publish` in docs/language.md, as a user sees it: the files in the project.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::readme_grid::ReadmeGrid;
use crate::sandbox::Sandbox;

const PROCESS: &str = r#"
xavantes: 1
name: letters
inputs:
  texts: { type: list of file, default: 'data/*.txt' }
  to: { type: string, default: up }
outputs: { all: merge.all, parts: "upper[*].out", n: "${ size(inputs.texts) }" }
publish: { all: results/all.txt, parts: results/parts }
keep-intermediates: false
body:
  sequence:
    - for-each:
        item: text
        index: i
        in: ${ inputs.texts }
        do:
          activity: upper
          run: { shell: "tr a-z A-Z < in.txt > out.txt; mkdir d; echo ${ i } > d/n" }
          inputs: { in.txt: text }
          outputs: { out: out.txt, d: d/ }
          publish: { out: "results/${ inputs.to }/${ stem(text) }.txt", d: "results/dirs/${ i }/" }
    - activity: merge
      run: { shell: "cat parts/* > all.txt" }
      inputs: { parts/: "upper[*].out" }
      outputs: { all: all.txt }
"#;

/// A project in a directory of its own.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path("project/data")).unwrap();
    for letter in ["a", "b"] {
        sandbox.file(&format!("project/data/{letter}.txt"), letter);
    }
    sandbox.file("project/p.yaml", PROCESS);
    sandbox
}

/// All files below a directory, with what is in them.
fn files(directory: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

fn results(sandbox: &Sandbox) -> BTreeMap<String, String> {
    files(&sandbox.path("project/results"))
}

fn named<const N: usize>(files: [(&str, &str); N]) -> BTreeMap<String, String> {
    files
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into()
}

const RUN: [&str; 2] = ["run", "project/p.yaml"];

#[test]
fn results_lie_in_the_project_and_a_rerun_lays_what_has_changed() {
    let sandbox = project();
    let place = |name: &str| sandbox.path(&format!("project/results/{name}"));
    let done = sandbox.xav(&RUN).expect(0);
    let expected = named([
        ("all.txt", "AB"),
        ("dirs/0/n", "0\n"),
        ("dirs/1/n", "1\n"),
        ("parts/0.txt", "A"),
        ("parts/1.txt", "B"),
        ("up/a.txt", "A"),
        ("up/b.txt", "B"),
    ]);
    assert_eq!(results(&sandbox), expected);
    let shown = done
        .shows("project/results/all.txt")
        .says("published 7 results in ");
    assert!(shown.stdout.contains("n: 2\n"));
    sandbox
        .xav(&["results"])
        .expect(0)
        .shows("project/results/all.txt\n")
        .shows("project/results/parts\n");
    // What is there with the same content is left alone, and all else is laid anew.
    let inode = |name: &str| {
        use std::os::unix::fs::MetadataExt;
        fs::metadata(place(name)).unwrap().ino()
    };
    let before = inode("up/a.txt");
    fs::remove_file(place("dirs/0/n")).unwrap();
    fs::write(place("own.txt"), "mine").unwrap();
    sandbox.file("project/data/b.txt", "c");
    sandbox
        .xav(&["results", "--published"])
        .expect(0)
        .shows("results/dirs/0 (has changed since)")
        .shows("upper[1].out: ");
    sandbox
        .xav(&["rerun"])
        .expect(0)
        .says("; 3 were there already");
    assert_eq!(inode("up/a.txt"), before);
    let mut expected = expected;
    expected.extend(named([
        ("all.txt", "AC"),
        ("own.txt", "mine"),
        ("parts/1.txt", "C"),
        ("up/b.txt", "C"),
    ]));
    assert_eq!(results(&sandbox), expected);
    // A result is the user's own: what is written to it changes nothing of what is kept.
    fs::write(place("all.txt"), "spoilt").unwrap();
    sandbox.xav(&["results", "--publish"]).expect(0);
    assert_eq!(results(&sandbox), expected);
}

#[test]
fn what_would_lie_elsewhere_is_a_fault_that_loses_no_result() {
    let sandbox = project();
    fs::create_dir(sandbox.path("outside")).unwrap();
    fs::create_dir_all(sandbox.path("project/inside")).unwrap();
    fs::create_dir(sandbox.path("project/results")).unwrap();
    symlink(
        sandbox.path("outside"),
        sandbox.path("project/results/dirs"),
    )
    .unwrap();
    symlink("../inside", sandbox.path("project/results/up")).unwrap();
    fs::create_dir(sandbox.path("project/results/all.txt")).unwrap();
    let done = sandbox
        .xav(&RUN)
        .expect(1)
        .says("could not publish upper[0].d: `results/dirs/0` leads out of ")
        .says("could not publish all: `results/all.txt` is a directory, and a file is published")
        .says("--publish lays them again");
    assert_eq!(files(&sandbox.path("outside")), named([]));
    // A link that stays inside is followed.
    let inside = files(&sandbox.path("project/inside"));
    assert_eq!(inside, named([("a.txt", "A"), ("b.txt", "B")]));
    // The output that could not be published is where those of other processes are.
    let all = done
        .stdout
        .lines()
        .find_map(|line| line.strip_prefix("all: "));
    assert_eq!(fs::read_to_string(all.unwrap()).unwrap(), "AB");
    fs::remove_dir(sandbox.path("project/results/all.txt")).unwrap();
    fs::remove_file(sandbox.path("project/results/dirs")).unwrap();
    sandbox.xav(&["results", "--publish"]).expect(0);
    assert_eq!(results(&sandbox)["dirs/1/n"], "1\n");
    assert_eq!(results(&sandbox)["all.txt"], "AB");
}

#[test]
fn a_path_made_of_values_leads_nowhere_else_and_replaces_nothing_that_was_given() {
    let sandbox = project();
    let run = |to: &str| {
        let to = format!("to={to}");
        sandbox.xav(&[&RUN[..], &["--input", &to]].concat())
    };
    run("../../outside")
        .expect(1)
        .says("could not publish upper[0].out: a path that leaves the directory: `results/../../outside/a.txt`");
    assert!(!sandbox.path("outside").exists());
    // `results/../data` would be the inputs; a link to them is another way there.
    fs::create_dir_all(sandbox.path("project/results")).unwrap();
    symlink("../data", sandbox.path("project/results/given")).unwrap();
    run("given").expect(1).says(
        "`results/given/a.txt` is a file that the process was given: publish under another path",
    );
    assert_eq!(
        fs::read_to_string(sandbox.path("project/data/a.txt")).unwrap(),
        "a"
    );
    let document = sandbox.json(&["results", "--published", "--json"]);
    assert_eq!(document["published"].as_array().unwrap().len(), 7);
}

#[test]
fn the_definition_itself_is_not_replaced_by_a_file_or_a_directory() {
    let sandbox = Sandbox::new();
    let text = "xavantes: 1\nname: own\ninputs: { file: string, directory: string }\nbody:\n  activity: a\n  \
                run: { shell: 'echo x > o; mkdir d; echo y > d/own.yaml' }\n  outputs: { o: o, d: d/ }\n  \
                publish: { o: \"${ inputs.file }\", d: \"${ inputs.directory }\" }\n";
    fs::create_dir(sandbox.path("project")).unwrap();
    sandbox.file("project/own.yaml", text);
    let run = |file: &str, directory: &str| {
        let inputs = [format!("file={file}"), format!("directory={directory}")];
        sandbox.xav(&[
            "run",
            "project/own.yaml",
            "-i",
            &inputs[0],
            "-i",
            &inputs[1],
        ])
    };
    run("own.yaml", "d")
        .expect(1)
        .says("`own.yaml` is a file that the process was given: publish under another path");
    let below = run("o", ".");
    assert_eq!(below.status, Some(1), "{below:?}");
    assert_eq!(
        fs::read_to_string(sandbox.path("project/own.yaml")).unwrap(),
        text
    );
    run("o", "d").expect(0);
    assert_eq!(
        fs::read_to_string(sandbox.path("project/d/own.yaml")).unwrap(),
        "y\n"
    );
}

#[test]
fn two_items_of_one_path_are_told_and_neither_is_laid() {
    let sandbox = project();
    fs::create_dir(sandbox.path("project/more")).unwrap();
    sandbox.file("project/more/a.txt", "x");
    let texts = ["texts=project/data/a.txt", "texts=project/more/a.txt"];
    let done = sandbox.xav(&[
        "run",
        "project/p.yaml",
        "--input",
        texts[0],
        "--input",
        texts[1],
    ]);
    done.expect(1).says(
        "could not publish upper[0].out: `results/up/a.txt` is the path of upper[1].out too, and neither was laid there",
    );
    assert_eq!(results(&sandbox).get("up/a.txt"), None);
    assert_eq!(results(&sandbox)["all.txt"], "AX");
}

#[test]
fn outputs_are_written_where_the_command_line_says_too() {
    let sandbox = project();
    let to = sandbox.path("there").display().to_string();
    sandbox
        .xav(&[&RUN[..], &["--to", "there"]].concat())
        .expect(0)
        .shows("there/all.txt\n");
    let there = named([
        ("all.txt", "AB"),
        ("parts/0.txt", "A"),
        ("parts/1.txt", "B"),
    ]);
    assert_eq!(files(Path::new(&to)), there);
    assert_eq!(results(&sandbox)["all.txt"], "AB");
}

#[test]
fn a_grid_gives_what_is_published() {
    let grid = ReadmeGrid::start(1, 2).unwrap();
    let sandbox = project();
    let directory = grid.grid();
    let options = ["--grid", directory.to_str().unwrap()];
    sandbox
        .xav(&[&RUN[..], &options].concat())
        .expect(0)
        .says("published 7 results in ");
    assert_eq!(results(&sandbox).len(), 7);
    fs::remove_dir_all(sandbox.path("project/results")).unwrap();
    sandbox
        .xav(&[&["results", "--publish"], &options[..]].concat())
        .expect(0);
    assert_eq!(results(&sandbox)["up/b.txt"], "B");
}

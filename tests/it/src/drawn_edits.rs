//! A dry run agrees with the run after it, whatever was edited before.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::sandbox::Sandbox;

const DEFINITION: &str = "\
xavantes: 1
name: edits
inputs:
  texts: { type: list of file, default: 'texts/*.txt' }
  table: { type: file, default: table.csv }
  n: { type: int, default: 1 }
files: [common.sh]
variables: { lines: int, word: string, twice: int }
outputs:
  all: merge.all
  folded: 'fold[size(inputs.texts) - 1].all'
  word: ${ word }
body:
  sequence:
    - for-each:
        item: text
        key: ${ stem(text) }
        in: ${ inputs.texts }
        variables: { own: string }
        do:
          - activity: sort
            run: [sh, sort.sh, in.txt]
            uses: [sort.sh]
            inputs: { in.txt: text }
            outputs: { sorted: out.txt }
            stdout: { into: own }
          - activity: tag
            run: { shell: 'echo ${ own } > tag.txt' }
            outputs: { tag: tag.txt }
    - for-each:
        item: k
        in: ${ range(size(inputs.texts)) }
        do:
          activity: fold
          run: { shell: 'sort -u own.txt before.txt > all.txt' }
          inputs:
            own.txt: 'sort[k].sorted'
            before.txt: { if: '${ k == 0 }', then: 'sort[0].sorted', else: 'fold[k - 1].all' }
          outputs: { all: all.txt }
    - parallel:
        - activity: merge
          run: { shell: 'cat parts/* > all.txt; wc -l < all.txt' }
          inputs: { parts/: 'sort[*].sorted' }
          outputs: { all: all.txt }
          stdout: { into: lines, as: int }
        - activity: rows
          run: { shell: 'wc -l < table.csv > rows.txt' }
          inputs: { table.csv: inputs.table }
          outputs: { rows: rows.txt }
        - activity: param
          run: [sh, param.sh, '${ inputs.n }']
          uses: [param.sh]
          outputs: { p: p.txt }
    - activity: both
      run: { shell: 'cat r.txt p.txt > b.txt' }
      inputs: { r.txt: rows.rows, p.txt: param.p }
      outputs: { b: b.txt }
    - assign: { twice: '${ 2 * lines }' }
    - name: size
      if: ${ twice > 12 }
      then: { activity: many, run: [echo, many], stdout: { into: word } }
      else: { activity: few, run: [echo, few], stdout: { into: word } }
    - activity: last
      run: { shell: 'echo ${ word } $N; cat b.txt' }
      env: { N: '${ inputs.n }' }
      inputs: { b.txt: both.b }
";

/// Numbers that look drawn (xorshift), the same in each run.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Edits something, and returns what was edited and the options of the rerun.
fn edit(sandbox: &Sandbox, drawn: &mut Drawn) -> (String, Vec<String>) {
    let text = |name: &str| fs::read_to_string(sandbox.path(name)).unwrap();
    let data = format!("texts/{}.txt", drawn.below(4));
    let plain = |what: &str| (what.to_owned(), Vec::new());
    let with_file = |what: &str| {
        let file = sandbox.path("edits.yaml").display().to_string();
        (what.to_owned(), vec!["--file".to_owned(), file])
    };
    match drawn.below(13) {
        0 => {
            sandbox.file(&data, format!("{}\n", drawn.below(9)));
            plain("a text")
        }
        1 if sandbox.path(&data).exists() && data != "texts/0.txt" => {
            fs::remove_file(sandbox.path(&data)).unwrap();
            plain("a text less")
        }
        2 if sandbox.path(&data).exists() => {
            sandbox.file(&data, format!("{}1\n2\n", text(&data)));
            plain("a longer text")
        }
        3 => {
            sandbox.file(
                "table.csv",
                format!("{}{}\n", text("table.csv"), drawn.below(9)),
            );
            plain("a row more")
        }
        4 => {
            // As many rows: what reads them makes the same again.
            sandbox.file("table.csv", text("table.csv").replace('1', "2"));
            plain("another row")
        }
        5 => {
            sandbox.file("sort.sh", format!("{}# more\n", text("sort.sh")));
            plain("a comment in a script of the body")
        }
        6 => {
            sandbox.file("param.sh", format!("{}# more\n", text("param.sh")));
            plain("a comment in a script of one")
        }
        7 => {
            sandbox.file("common.sh", format!("{}# more\n", text("common.sh")));
            plain("a script of all")
        }
        8 => {
            let n = drawn.below(3);
            let option = vec!["--input".to_owned(), format!("n={n}")];
            ("a parameter".to_owned(), option)
        }
        9 => {
            let other = text("edits.yaml").replace("cat r.txt p.txt", "cat  r.txt p.txt");
            sandbox.file("edits.yaml", other);
            with_file("a command that makes the same")
        }
        10 => {
            let is_first = text("edits.yaml").contains("wc -l < table.csv");
            let (from, to) = match is_first {
                true => ("wc -l < table.csv", "wc -c < table.csv"),
                false => ("wc -c < table.csv", "wc -l < table.csv"),
            };
            sandbox.file("edits.yaml", text("edits.yaml").replace(from, to));
            with_file("a command that makes something else")
        }
        11 => {
            // It fails, or is mended.
            let bad = "exit 3\n";
            let script = text("param.sh");
            let other = match script.strip_prefix(bad) {
                Some(good) => good.to_owned(),
                None => format!("{bad}{script}"),
            };
            sandbox.file("param.sh", other);
            plain("a script that fails, or its correction")
        }
        _ => {
            for name in ["table.csv", "sort.sh", "common.sh"] {
                sandbox.file(name, text(name));
            }
            plain("nothing but times")
        }
    }
}

/// All files below a directory, with their contents, without the list of its processes, which whoever reads
/// it writes for the next one.
fn contents(directory: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            contents(&path, found);
        } else if kind.is_file() && entry.file_name() != "summary" {
            let bytes = fs::read(&path).unwrap();
            found.insert(path, bytes);
        }
    }
}

/// The activities of a status, by name.
fn by_name(status: &Value) -> BTreeMap<String, Value> {
    let list = status["activity_list"].as_array().unwrap().iter();
    list.map(|one| (one["activity"].as_str().unwrap().to_owned(), one.clone()))
        .collect()
}

/// What a dry run foresees of an activity, and what became of it.
fn agree(name: &str, forecast: &Value, before: &Value, after: &Value) -> Result<(), String> {
    let (base, status) = (by_name(before), by_name(after));
    let word = forecast["forecast"].as_str().unwrap();
    let Some(found) = status.get(name) else {
        return match word {
            "unknown" => Ok(()),
            _ => Err(format!("{name} is not there: {forecast}")),
        };
    };
    let has_run = found["attempts"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    let stands = !found["reused"].is_null();
    let state = found["state"].as_str().unwrap();
    let is_cut = after["state"] == "faulted" && ["skipped", "stopped"].contains(&state);
    let is_right = match word {
        "stands" => stands || is_cut,
        "runs" | "lost" => has_run || is_cut,
        "skipped" => state == "skipped",
        "depends" => {
            let makers = forecast["on"].as_array().unwrap().iter();
            let mut makers = makers.map(|maker| maker.as_str().unwrap());
            let made_again = makers.all(|maker| {
                let made =
                    |of: &BTreeMap<String, Value>| of.get(maker).map(|one| one["outputs"].clone());
                made(&base) == made(&status)
            });
            has_run || is_cut || stands && made_again
        }
        "unknown" => true,
        _ => false,
    };
    match is_right {
        true => Ok(()),
        false => Err(format!("{name} was to be {forecast}, and is {found}")),
    }
}

fn edits(n_edits: u64, seed: u64) {
    let sandbox = Sandbox::new();
    let mut drawn = Drawn(seed);
    fs::create_dir(sandbox.path("texts")).unwrap();
    for name in ["0", "1", "2"] {
        sandbox.file(&format!("texts/{name}.txt"), "2\n1\n");
    }
    sandbox.file("table.csv", "1\n2\n");
    sandbox.file("common.sh", "");
    sandbox.file("sort.sh", "sort $1 > out.txt; cksum < out.txt\n");
    sandbox.file("param.sh", "echo $1 > p.txt\n");
    let file = sandbox.file("edits.yaml", DEFINITION);
    let state = sandbox.path("state").display().to_string();
    sandbox.xav(&["run", &file, "--state", &state]).expect(0);
    let mut n_foreseen = BTreeMap::<String, u64>::new();
    for number in 0..n_edits {
        let (what, options) = edit(&sandbox, &mut drawn);
        let base = sandbox.json(&["status", "--state", &state, "--json"]);
        let mut arguments = vec!["rerun", "--state", &state, "--json"];
        arguments.extend(options.iter().map(String::as_str));
        let mut held = BTreeMap::new();
        contents(&sandbox.path("state"), &mut held);
        let mut dry = arguments.clone();
        dry.push("--dry-run");
        let foreseen = sandbox.json(&dry);
        let mut left = BTreeMap::new();
        contents(&sandbox.path("state"), &mut left);
        assert_eq!(
            held, left,
            "edit {number}, {what}: a dry run has changed files"
        );
        sandbox.json(&arguments);
        let status = sandbox.json(&["status", "--state", &state, "--json"]);
        let list = foreseen["activity_list"].as_array();
        let list = list.unwrap_or_else(|| panic!("edit {number}, {what}: {foreseen}"));
        for forecast in list {
            let name = forecast["activity"].as_str().unwrap();
            let word = forecast["forecast"].as_str().unwrap();
            *n_foreseen.entry(word.to_owned()).or_default() += 1;
            if let Err(wrong) = agree(name, forecast, &base, &status) {
                panic!("edit {number} of seed {seed}, {what}: {wrong}\n{foreseen:#}");
            }
        }
    }
    // They were not all of one kind.
    for word in ["stands", "runs", "depends", "unknown"] {
        assert!(
            n_foreseen.get(word).is_some_and(|&n| n > n_edits / 4),
            "{n_foreseen:?}"
        );
    }
}

/// Edits after which the two are compared: so many that the journals go on in their stores. `XAVANTES_EDITS` says another
/// number.
const EDITS: u64 = 200;

#[test]
fn a_dry_run_agrees_with_the_rerun_after_drawn_edits() {
    let wanted = std::env::var("XAVANTES_EDITS").ok();
    let n_edits = wanted.and_then(|n| n.parse().ok()).unwrap_or(EDITS);
    edits(n_edits, 0x5eed);
}

mod bad;
mod order;

use std::collections::BTreeSet;
use std::io::Write;

use model::{Definition, NodeId, NodeKind, Span};
use serde_json::{Value, json};

use super::structure::{Shape, structure};
use super::*;

/// A task: its id, parents, input files and output files.
type Told<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

/// A recording of 1.5 in which every file has 100 bytes.
fn recording(tasks: &[Told<'_>]) -> Value {
    let mut files: BTreeSet<&str> = BTreeSet::new();
    for (.., inputs, outputs) in tasks {
        files.extend(inputs.iter().chain(*outputs).copied());
    }
    let specified: Vec<Value> = tasks
        .iter()
        .map(|(id, parents, inputs, outputs)| {
            json!({ "id": id, "name": "any", "parents": parents, "children": [],
                    "inputFiles": inputs, "outputFiles": outputs })
        })
        .collect();
    let executed: Vec<Value> = tasks
        .iter()
        .map(|(id, ..)| json!({ "id": id, "runtimeInSeconds": 2.5 }))
        .collect();
    let files: Vec<Value> = files
        .iter()
        .map(|id| json!({ "id": id, "sizeInBytes": 100 }))
        .collect();
    json!({ "name": "Test 1", "schemaVersion": "1.5", "workflow": {
        "specification": { "tasks": specified, "files": files },
        "execution": { "tasks": executed } } })
}

fn import_json(json: &Value) -> Result<Imported, ImportError> {
    import(json.to_string().as_bytes(), &Options::default())
}

fn imported(json: &Value) -> (Imported, Definition) {
    let imported = import_json(json).unwrap();
    let definition = imported.draft.clone().check().unwrap();
    (imported, definition)
}

fn error(json: &Value) -> String {
    import_json(json).unwrap_err().to_string()
}

/// The tree with the names of activities, sequences as `[ ]`, parallels as `{ }`, links behind.
fn shown(definition: &Definition, id: NodeId) -> String {
    let node = definition.node(id);
    let children: Vec<String> = node
        .children()
        .iter()
        .map(|child| shown(definition, *child))
        .collect();
    match &node.kind {
        NodeKind::Sequence(_) => format!("[{}]", children.join(" ")),
        NodeKind::Parallel { links, .. } => {
            let name = |id: NodeId| &definition.node(id).name;
            let links = links
                .iter()
                .map(|link| format!(" {}>{}", name(link.from), name(link.to)));
            format!("{{{}{}}}", children.join(" "), links.collect::<String>())
        }
        NodeKind::If { .. } | NodeKind::ForEach(_) | NodeKind::Repeat(_) => {
            format!("<{}>", children.join(" "))
        }
        NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => node.name.clone(),
    }
}

fn words(definition: &Definition, name: &str) -> String {
    let mut ids = definition.activities().iter();
    let id = ids
        .find(|id| definition.node(id.node()).name == name)
        .unwrap();
    match &definition.activity(*id).unwrap().command {
        model::Command::List(words) => words
            .iter()
            .map(|word| word.0.as_str())
            .collect::<Vec<_>>()
            .join(" "),
        model::Command::Shell(line) => line.0.clone(),
    }
}

//   split --> left  --> join
//        \--> right --/
#[test]
fn a_fork_becomes_a_tree_whose_commands_read_and_write_what_was_recorded() {
    let (imported, definition) = imported(&recording(&[
        ("split", &[], &["in.dat"], &["a.dat", "b.dat"]),
        ("left", &["split"], &["a.dat"], &["a.out"]),
        ("right", &["split"], &["b.dat", "table"], &["b.out"]),
        ("join", &["left", "right"], &["a.out", "b.out"], &["all"]),
    ]));
    assert_eq!(definition.name(), "test-1");
    assert_eq!(shown(&definition, NodeId(0)), "[split {left right} join]");
    assert_eq!(imported.warnings, Vec::<String>::new());
    assert_eq!(
        (imported.n_activities, imported.n_edges, imported.n_links),
        (4, 4, 0)
    );
    assert_eq!((imported.n_files, imported.written_bytes), (7, 700));
    assert_eq!(imported.cpu, Span::from_secs(10));
    assert_eq!(
        words(&definition, "split"),
        "xav tool burn --name=split --cpu=2.5s --threads=1 \
         --source in.dat=100 --write a.dat=100 b.dat=100"
    );
    assert_eq!(
        words(&definition, "right"),
        "xav tool burn --name=right --cpu=2.5s --threads=1 \
         --source table=100 --read b.dat --write b.out=100"
    );
    let join = definition
        .activity(*definition.activities().last().unwrap())
        .unwrap();
    let staged: Vec<&str> = join
        .inputs
        .iter()
        .map(|staged| staged.path.as_str())
        .collect();
    assert_eq!(staged, ["a.out", "b.out"]);
    assert_eq!(join.outputs[0].name, "all");
    assert_eq!((join.cores, join.work.unwrap().0), (1, 2_500_000));
}

//   a --> c     b --> d    with a --> d: the letter N
#[test]
fn what_is_not_series_parallel_is_linked_and_the_rest_is_structured() {
    let (imported, definition) = imported(&recording(&[
        ("first", &[], &[], &[]),
        ("a", &["first"], &[], &[]),
        ("b", &["first"], &[], &[]),
        ("c", &["a"], &[], &[]),
        ("d", &["a", "b"], &[], &[]),
        ("last", &["c", "d"], &[], &[]),
        ("aside", &[], &[], &[]),
    ]));
    assert_eq!(
        shown(&definition, NodeId(0)),
        "{[first {a b c d a>c a>d b>d} last] aside}"
    );
    assert_eq!(imported.n_links, 3);
    assert_eq!(
        imported.warnings,
        ["7 edges carry no file (the first: `first` to `a`): no bytes flow, only the order holds"]
    );
}

#[test]
fn time_and_data_are_scaled() {
    let mut json = recording(&[
        ("one", &[], &["in"], &["mid"]),
        ("two", &["one"], &["mid"], &["out"]),
    ]);
    json["workflow"]["execution"]["tasks"][1]["avgCPU"] = 250.0.into();
    json["workflow"]["specification"]["files"][0]["sizeInBytes"] = 0.into();
    let options = Options {
        cpu_total: Some(Span::from_secs(7)),
        data_scale: 0.026,
        record: Some("/tmp/burn.log".to_owned()),
        ..Options::default()
    };
    let imported = import(json.to_string().as_bytes(), &options).unwrap();
    assert_eq!(imported.cpu, Span::from_secs(7));
    assert!((imported.time_scale - 0.8).abs() < 1e-12);
    let definition = imported.draft.check().unwrap();
    assert_eq!(
        words(&definition, "one"),
        "xav tool burn --name=one --cpu=2s --threads=1 --record=/tmp/burn.log \
         --source in=0 --write mid=3"
    );
    assert_eq!(
        words(&definition, "two"),
        "xav tool burn --name=two --cpu=5s --threads=3 --record=/tmp/burn.log \
         --read mid --write out=3"
    );
    for (time_scale, data_scale) in [(-1.0, 1.0), (f64::NAN, 1.0), (1.0, f64::INFINITY)] {
        let options = Options {
            time_scale,
            data_scale,
            ..Options::default()
        };
        let error = import(json.to_string().as_bytes(), &options).unwrap_err();
        assert!(matches!(error, ImportError::Scale { .. }), "{error}");
    }
}

#[test]
fn oddities_are_settled_and_counted() {
    let mut json = recording(&[
        ("p", &[], &[], &["x", "y"]),
        ("q", &["p"], &["y"], &["x", "y", "z"]),
        ("r", &["q"], &["x", "z", "z"], &["w"]),
        ("s", &["r"], &["w", "own"], &["own"]),
    ]);
    let runs = json["workflow"]["execution"]["tasks"]
        .as_array_mut()
        .unwrap();
    runs[1]["runtimeInSeconds"] = Value::Null;
    runs.remove(0);
    runs.push(json!({ "id": "r", "runtimeInSeconds": 9.0 }));
    runs.push(json!({ "id": "nobody", "runtimeInSeconds": 9.0 }));
    json["schemaVersion"] = "1.9".into();
    let files = json["workflow"]["specification"]["files"]
        .as_array_mut()
        .unwrap();
    files.retain(|file| file["id"] != "w");
    files.push(json!({ "id": "x", "sizeInBytes": 7 }));
    let (imported, definition) = imported(&json);
    assert_eq!(
        imported.warnings,
        [
            "a version that is not known (`1.9`): read as 1.6",
            "2 tasks without a runtime (the first: `p`): no CPU time is used for it",
            "an execution of a task that is not specified (`nobody`): left out",
            "a second execution of one task (`r`): the first counts",
            "a file flows where there is no edge (`x`, read by `r`): no edge is added, and the reader \
         makes the file itself",
            "2 further producers of files that have one (the first: `x`, `q`): a file belongs to the \
         first task listed, the others do not write it",
            "a task reads a file that it writes (`own`, `s`): the file is only written",
            "a task lists a file twice (`z`, `r`): it counts once",
            "a file without a size (`w`): taken as empty",
            "a file has two sizes (`x`): the first counts",
        ]
    );
    assert_eq!(
        words(&definition, "q"),
        "xav tool burn --name=q --cpu=0s --threads=1 --read y --write z=100"
    );
    assert_eq!(
        words(&definition, "r"),
        "xav tool burn --name=r --cpu=2.5s --threads=1 --source x=100 --read z --write w=0"
    );
    assert_eq!(
        words(&definition, "s"),
        "xav tool burn --name=s --cpu=2.5s --threads=1 --read w --write own=100"
    );
    let work: Vec<u64> = definition
        .activities()
        .iter()
        .map(|id| definition.activity(*id).unwrap().work.unwrap().0)
        .collect();
    assert_eq!(work, [1, 1, 2_500_000, 2_500_000]);
}

#[test]
fn ids_become_safe_unique_names_and_stay_what_contents_follow_from() {
    let (_, definition) = imported(&recording(&[
        (
            "a:b.c",
            &[],
            &["../../etc/passwd", "/x/y.txt"],
            &["x_y.txt", "-r", "..", "$${n}=${HOME}"],
        ),
        ("a.b.c", &["a:b.c"], &["-r"], &[]),
        ("inputs", &["a.b.c"], &[], &[]),
        ("-é \n", &["inputs"], &[], &[]),
    ]));
    let names: Vec<&str> = definition
        .activities()
        .iter()
        .map(|id| definition.node(id.node()).name.as_str())
        .collect();
    assert_eq!(names, ["a_b_c", "a_b_c-2", "inputs-2", "_-___"]);
    let id = definition.activities()[0];
    let burn = Burn::of_command(&definition.activity(id).unwrap().command).unwrap();
    let files: Vec<(&str, &str)> = burn
        .sources
        .iter()
        .chain(&burn.writes)
        .map(|file| (file.path.as_str(), file.seed.as_str()))
        .collect();
    assert_eq!(
        files,
        [
            ("_.._.._etc_passwd", "../../etc/passwd"),
            ("x_y.txt", "/x/y.txt"),
            ("x_y.txt-2", "x_y.txt"),
            ("_-r", "-r"),
            ("_..", ".."),
            ("___n____HOME_", "$${n}=${HOME}"),
        ]
    );
    assert!(words(&definition, "a_b_c").contains("___n____HOME_=100=$$${n}=$${HOME}"));
    assert!(words(&definition, "_-___").contains("--name=-é \n"));
    let outputs = &definition.activity(id).unwrap().outputs;
    assert_eq!(outputs[0].name, "x_y_txt-2");
}

#[test]
fn the_form_of_1_4_is_read() {
    let text = include_bytes!("../../testdata/older.json");
    let imported = import(text, &Options::default()).unwrap();
    assert_eq!(
        imported.warnings,
        [
            "a task without a runtime (`archive_ID0000006`): no CPU time is used for it",
            "an edge carries no file (`compare_ID0000004` to `notify_ID0000005`): no bytes flow, \
         only the order holds",
        ]
    );
    let definition = imported.draft.check().unwrap();
    assert_eq!(
        shown(&definition, NodeId(0)),
        "[fetch_ID0000001 {level_ID0000002 level_ID0000003} compare_ID0000004 \
         {notify_ID0000005 archive_ID0000006}]"
    );
    assert_eq!(
        words(&definition, "level_ID0000002"),
        "xav tool burn --name=level_ID0000002 --cpu=18s --threads=2 --read north.dat \
         --write north.level=4000"
    );
    assert_eq!(
        words(&definition, "fetch_ID0000001"),
        "xav tool burn --name=fetch_ID0000001 --cpu=2s --threads=1 --source gauges.csv=900 \
         --write north.dat=120000 south.dat=80000"
    );
}

#[test]
fn gzip_and_plain_json_are_the_same() {
    let json = recording(&[("a", &[], &[], &["f"]), ("b", &["a"], &["f"], &[])]).to_string();
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(json.as_bytes()).unwrap();
    let packed = packer.finish().unwrap();
    let plain = import(json.as_bytes(), &Options::default()).unwrap();
    let unpacked = import(&packed, &Options::default()).unwrap();
    assert_eq!(plain.draft, unpacked.draft);
    assert!(recognises(&packed) && recognises(json.as_bytes()));
    for cut in [3, 12, packed.len() / 2, packed.len() - 9, packed.len() - 1] {
        let error = import(&packed[..cut], &Options::default()).unwrap_err();
        assert!(
            matches!(error, ImportError::TruncatedGzip),
            "{cut}: {error}"
        );
    }
    let mut damaged = packed.clone();
    let checksum = damaged.len() - 6;
    damaged[checksum] ^= 0xff;
    let error = import(&damaged, &Options::default()).unwrap_err();
    assert!(matches!(error, ImportError::Gzip(_)), "{error}");
    for cut in [1, 20, json.len() / 2, json.len() - 1] {
        let error = import(&json.as_bytes()[..cut], &Options::default()).unwrap_err();
        assert!(
            matches!(error, ImportError::Truncated { .. }),
            "{cut}: {error}"
        );
    }
}

#[test]
fn recordings_are_told_from_definitions() {
    for (text, expected) in [
        (r#"{"name": "x", "workflow": {"#, true),
        (
            r#"{"description": {"a": [1]}, "schemaVersion": "1.5""#,
            true,
        ),
        ("\u{feff} {\"schemaVersion\": 1}", true),
        (r#"{"xavantes": 1, "workflow": 1}"#, false),
        (r#"{"name": "x"}"#, false),
        ("xavantes: 1\nname: workflow", false),
        ("", false),
        ("[]", false),
    ] {
        assert_eq!(recognises(text.as_bytes()), expected, "{text}");
    }
}

#[test]
fn a_long_chain_is_one_sequence_and_a_wide_fork_two_levels() {
    let chain: Vec<(u32, u32)> = (1..100_000).map(|task| (task - 1, task)).collect();
    let Shape::Sequence(parts) = structure(100_000, &chain) else {
        panic!("a sequence")
    };
    assert_eq!(parts.len(), 100_000);
    let fork: Vec<(u32, u32)> = (1..50_000).map(|task| (0, task)).collect();
    let Shape::Sequence(parts) = structure(50_000, &fork) else {
        panic!("a sequence")
    };
    let [Shape::Task(0), Shape::Parallel(leaves)] = &parts[..] else {
        panic!("a fork")
    };
    assert_eq!(leaves.len(), 49_999);
}

#[test]
fn what_is_nested_deeper_than_a_definition_may_be_is_linked() {
    // Each task begins a fork of a leaf and all the rest, joined again at the end.
    let n = 300u32;
    let mut tasks = Vec::new();
    for level in 0..n {
        let before = if level == 0 {
            vec![]
        } else {
            vec![format!("in{}", level - 1)]
        };
        tasks.push((format!("in{level}"), before.clone()));
        tasks.push((format!("leaf{level}"), vec![format!("in{level}")]));
    }
    for level in (0..n).rev() {
        let inner = if level + 1 == n {
            format!("in{level}")
        } else {
            format!("out{}", level + 1)
        };
        tasks.push((format!("out{level}"), vec![format!("leaf{level}"), inner]));
    }
    let tasks: Vec<Value> = tasks
        .iter()
        .map(|(id, parents)| json!({ "id": id, "parents": parents }))
        .collect();
    let json =
        json!({ "schemaVersion": "1.6", "workflow": { "specification": { "tasks": tasks } } });
    let (imported, definition) = imported(&json);
    assert!(imported.n_links > 0);
    assert_eq!(definition.activities().len(), 900);
}

#[test]
fn a_command_line_that_is_no_burn_says_why() {
    for (arguments, expected) in [
        (vec!["--nmae=x"], "unknown argument `--nmae=x`"),
        (vec!["loose"], "unknown argument `loose`"),
        (vec!["--cpu"], "`--cpu` without a value"),
        (
            vec!["--cpu", "soon"],
            "`--cpu=soon` is not a duration such as 0.25s",
        ),
        (
            vec!["--threads=0"],
            "`--threads=0` is not a whole number from 1",
        ),
        (
            vec!["--write", "a"],
            "`a` is not PATH=BYTES or PATH=BYTES=SEED",
        ),
        (
            vec!["--write", "a=b=c"],
            "`a=b=c` is not PATH=BYTES or PATH=BYTES=SEED",
        ),
        (
            vec!["--read", "../a"],
            "`../a` is not a file name in the working directory",
        ),
        (
            vec!["--source", "a/b=1"],
            "`a/b` is not a file name in the working directory",
        ),
    ] {
        assert_eq!(Burn::parse(arguments).unwrap_err().to_string(), expected);
    }
}

#[test]
fn the_sample_is_partly_structured_and_has_no_oddities() {
    let text = include_bytes!("../../../samples/recorded/recorded.json");
    let options = Options {
        cpu_total: Some(Span::from_secs(2)),
        data_scale: 0.01,
        ..Options::default()
    };
    let imported = import(text, &options).unwrap();
    assert_eq!(imported.warnings, Vec::<String>::new());
    assert!(imported.cpu.0.abs_diff(2_000_000) < 16);
    let definition = imported.draft.check().unwrap();
    assert_eq!(definition.activities().len(), 16);
    let tree = shown(&definition, NodeId(0));
    assert!(
        tree.ends_with("blend_ID0000013 {preview_ID0000014 cut_tiles_ID0000015} report_ID0000016]"),
        "{tree}"
    );
}

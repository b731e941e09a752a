use std::cell::Cell;

use super::*;

fn declared() -> Vec<Input> {
    let of = |name: &str, kind: Type| Input {
        name: name.to_owned(),
        kind,
        default: None,
        minimum: None,
        maximum: None,
    };
    vec![
        of("file", Type::File),
        of("files", Type::List(Box::new(Type::File))),
        of("json", Type::Json),
        of("text", Type::Text),
    ]
}

#[test]
fn paths_are_kept_from_where_they_were_given_and_patterns_stay_patterns() {
    let present = Path::new("/a [1]");
    let files = Type::List(Box::new(Type::File));
    for (kind, text, kept) in [
        (&Type::File, "b.txt", Some("/a [1]/b.txt")),
        (&Type::File, "/c", Some("/c")),
        (&files, "d/*.txt", Some("/a [[]1]/d/*.txt")),
        (&files, "/d/*.txt", Some("/d/*.txt")),
        (&files, r#"["b", "/c"]"#, Some(r#"["/a [1]/b","/c"]"#)),
        (&Type::Json, "@e.json", Some("@/a [1]/e.json")),
        (&Type::Json, "{}", None),
        (&Type::Text, "b.txt", None),
    ] {
        assert_eq!(absolute(kind, text, present).as_deref(), kept, "{text}");
    }
}

#[test]
fn an_input_that_is_given_anew_is_the_one_that_is_kept() {
    let arguments = |texts: &[&str]| {
        texts
            .iter()
            .map(|one| (*one).to_owned())
            .collect::<Vec<_>>()
    };
    let mut sources = Sources::default();
    sources.give(
        &arguments(&["file=/a", "files=/b", "files=/c", "text=d"]),
        &declared(),
    );
    let all = ["file=/a", "files=/b", "files=/c"];
    assert_eq!(sources.arguments_without(&[]), all);
    assert_eq!(
        sources.arguments_without(&arguments(&["files=/x"])),
        ["file=/a"]
    );
    sources.give(&arguments(&["files=/x"]), &declared());
    assert_eq!(sources.arguments_without(&[]), ["file=/a", "files=/x"]);
}

/// Takes a file, and returns what is known then and true if it was read.
fn take(known: &Sources, path: &Path, is_there: bool) -> (Sources, bool) {
    let is_read = Cell::new(false);
    let mut add = |path: &Path, _: bool| {
        is_read.set(true);
        activity_blobs::identify_file(path).map_err(|error| Failure::because(&error))
    };
    let has = |_| is_there;
    let mut intake = Intake::new(known, &has, &mut add);
    let taking = Taking {
        place: path,
        opened: path,
        is_directory: false,
    };
    let artifact = intake.take(taking).unwrap();
    assert_eq!(artifact, activity_blobs::identify_file(path).unwrap());
    let sources = intake.sources();
    (sources, is_read.get())
}

/// As if a file had been taken an hour after its last change.
fn later(sources: &Sources) -> Sources {
    let mut json = serde_json::to_value(sources).unwrap();
    for known in json["files"].as_object_mut().unwrap().values_mut() {
        let at = &mut known["stamp"]["at"];
        *at = (at.as_i64().unwrap() + 3_600_000_000_000).into();
    }
    serde_json::from_value(json).unwrap()
}

#[test]
fn only_a_file_that_has_certainly_not_changed_is_not_read() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, "one").unwrap();
    let (known, is_read) = take(&Sources::default(), &path, true);
    assert!(is_read);
    // It was changed just before it was read, so another change may have had the same time.
    let (_, is_read) = take(&known, &path, true);
    assert!(is_read);
    let known = later(&known);
    let (again, is_read) = take(&known, &path, true);
    assert!(!is_read);
    assert_eq!(again, known);
    // The store does not have it any more.
    assert!(take(&known, &path, false).1);
    fs::write(&path, "two").unwrap();
    assert!(take(&known, &path, true).1);
}

#[test]
fn what_is_written_is_read_and_what_is_torn_is_not() {
    let dir = tempfile::TempDir::new().unwrap();
    let process = model::SubmitKey(7).process();
    assert_eq!(Sources::read(dir.path(), process), None);
    Sources::default().write(dir.path(), process).unwrap();
    assert_eq!(Sources::read(dir.path(), process), None, "nothing is known");
    let file = dir.path().join("x.yaml");
    fs::write(&file, "x").unwrap();
    let arguments = ["file=/a".to_owned()];
    let sources = Sources::of(&file, dir.path(), &arguments, &declared());
    sources.write(dir.path(), process).unwrap();
    assert_eq!(Sources::read(dir.path(), process), Some(sources.clone()));
    let path = path(dir.path(), process);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(Sources::read(dir.path(), process), None);
    Sources::remove(dir.path(), process);
    assert!(!path.exists());
}

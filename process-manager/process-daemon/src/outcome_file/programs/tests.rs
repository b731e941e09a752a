use tempfile::TempDir;

use super::*;

/// Long after these tests.
const LATE: Wall = Wall(1 << 52);

fn write(path: &Path, text: &str, mode: u32) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn programs_among_words_are_found_and_a_replaced_or_hidden_one_is_another() {
    let dir = TempDir::new().unwrap();
    let places = ["first", "second"].map(|name| dir.path().join(name));
    for place in &places {
        fs::create_dir(place).unwrap();
    }
    let all = std::env::join_paths(&places).unwrap();
    let own = places[1].join("tool");
    write(&own, "1", 0o755);
    write(&places[1].join("data"), "1", 0o644);
    let path = own.to_str().unwrap();
    let words = ["data", "none", "tool", path, "second/tool"].map(str::to_owned);
    let found = Programs::in_places(&all)
        .named(words.to_vec(), LATE)
        .unwrap();
    let names: Vec<&str> = found.iter().map(|program| program.name.as_str()).collect();
    assert_eq!(names, ["tool", path]);
    assert!(Programs::in_places(&all).are_same(&found));
    // It changed after the start of the command.
    assert_eq!(
        Programs::in_places(&all).named(words.to_vec(), Wall(1)),
        None
    );

    // Another one of the same size takes its place.
    write(&dir.path().join("next"), "2", 0o755);
    fs::rename(dir.path().join("next"), &own).unwrap();
    assert!(!Programs::in_places(&all).are_same(&found));
    let found = Programs::in_places(&all)
        .named(words.to_vec(), LATE)
        .unwrap();
    assert!(Programs::in_places(&all).are_same(&found));
    // Another program of that name, found before it.
    write(&places[0].join("tool"), "2", 0o755);
    assert!(!Programs::in_places(&all).are_same(&found));
    fs::remove_file(places[0].join("tool")).unwrap();
    assert!(Programs::in_places(&all).are_same(&found));
    fs::remove_file(&own).unwrap();
    assert!(!Programs::in_places(&all).are_same(&found));
}

#[test]
fn a_program_of_a_far_future_has_changed() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("tool");
    write(&path, "1", 0o755);
    // Later than a number of nanoseconds can tell, where the file system has such times.
    let far = std::time::UNIX_EPOCH + std::time::Duration::new(9_300_000_000, 500_000_000);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(far).unwrap();
    let words = vec![path.to_str().unwrap().to_owned()];
    let mut programs = Programs::in_places(dir.path().as_os_str());
    let found = programs.named(words, LATE).unwrap();
    assert!(programs.are_same(&found));
}

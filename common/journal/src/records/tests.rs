use tempfile::TempDir;

use super::*;

fn change(key: &str, value: &str) -> Change {
    (key.as_bytes().to_vec(), Some(value.as_bytes().to_vec()))
}

fn record(key: &str, value: &str) -> Record {
    (key.as_bytes().to_vec(), value.as_bytes().to_vec())
}

/// A closed repository of 500 records.
fn filled() -> TempDir {
    let dir = TempDir::new().unwrap();
    let (mut records, ..) = Records::open(dir.path()).unwrap();
    let changes: Vec<Change> = (0..500)
        .map(|i| change(&format!("machine {i}"), &"load ".repeat(20)))
        .collect();
    records.keep(&changes).unwrap();
    dir
}

#[test]
fn the_newest_value_of_each_key_comes_back() {
    let dir = TempDir::new().unwrap();
    let (mut records, found, opened) = Records::open(dir.path()).unwrap();
    assert!(found.is_empty());
    assert_eq!(
        opened,
        RecordsOpened {
            created: true,
            set_aside: None
        }
    );
    records
        .keep(&[
            change("b", "1"),
            change("a", "2"),
            change("sentinel", "mine"),
        ])
        .unwrap();
    records
        .keep(&[
            change("b", "3"),
            (b"a".to_vec(), None),
            change("", "empty key"),
        ])
        .unwrap();
    drop(records);
    let (_, found, opened) = Records::open(dir.path()).unwrap();
    assert_eq!(opened, RecordsOpened::default());
    assert_eq!(
        found,
        [
            record("", "empty key"),
            record("b", "3"),
            record("sentinel", "mine")
        ]
    );
}

#[test]
fn a_long_record_is_refused() {
    let dir = TempDir::new().unwrap();
    let (mut records, ..) = Records::open(dir.path()).unwrap();
    let error = records
        .keep(&[(vec![0; 96], Some(vec![0; 4001]))])
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not keep a record of 4097 bytes: the limit is 4096"
    );
    records.keep(&[(vec![0; 96], Some(vec![0; 4000]))]).unwrap();
}

#[test]
fn a_repository_in_use_is_an_error_and_is_not_set_aside() {
    let dir = TempDir::new().unwrap();
    let first = Records::open(dir.path()).unwrap();
    let Err(error) = Records::open(dir.path()) else {
        panic!("it is in use")
    };
    assert!(
        error.to_string().contains("is in use by process"),
        "{error}"
    );
    drop(first);
    assert_eq!(
        Records::open(dir.path()).unwrap().2,
        RecordsOpened::default()
    );
}

/// Damages a repository, opens it, and expects an empty one beside the old one.
fn set_aside_after(damage: impl FnOnce(&Path)) -> String {
    let dir = filled();
    damage(dir.path());
    let (mut records, found, opened) = Records::open(dir.path()).unwrap();
    assert!(found.is_empty() && opened.created);
    let aside = opened.set_aside.unwrap();
    assert!(aside.path.is_dir());
    records.keep(&[change("again", "reported")]).unwrap();
    drop(records);
    let (_, found, opened) = Records::open(dir.path()).unwrap();
    assert_eq!((found.len(), opened), (1, RecordsOpened::default()));
    aside.reason
}

#[test]
fn garbage_is_set_aside() {
    set_aside_after(|dir| fs::write(dir.join("store/db"), [0xa5; 1 << 20]).unwrap());
    set_aside_after(|dir| fs::write(dir.join("store/conf"), "garbage and more of it").unwrap());
    set_aside_after(|dir| {
        fs::remove_dir_all(dir.join("store")).unwrap();
        fs::write(dir.join("store"), "a file").unwrap();
        fs::remove_file(dir.join("store")).unwrap();
        fs::create_dir(dir.join("store")).unwrap();
    });
}

#[test]
fn a_store_that_opens_empty_is_set_aside() {
    let reason = set_aside_after(|dir| {
        fs::write(dir.join("store/db"), "").unwrap();
        for entry in fs::read_dir(dir.join("store")).unwrap() {
            let path = entry.unwrap().path();
            if path
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with("snap.")
            {
                fs::remove_file(path).unwrap();
            }
        }
    });
    assert_eq!(reason, "its sentinel is missing or another's");
}

#[test]
fn an_unfinished_creation_is_set_aside() {
    let reason = set_aside_after(|dir| fs::remove_file(dir.join("marker")).unwrap());
    assert_eq!(reason, "its creation was not finished");
}

#[test]
fn flipped_bytes_give_the_records_or_an_empty_repository() {
    let dir = filled();
    let whole = fs::read(dir.path().join("store/db")).unwrap();
    let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
    for case in 0..40 {
        let victim = filled();
        let path = victim.path().join("store/db");
        let mut bytes = fs::read(&path).unwrap();
        if case % 4 == 0 {
            bytes.truncate(bytes.len() * case / 40);
        } else {
            let at = used[used.len() * case / 40].min(bytes.len() - 1);
            bytes[at] ^= 0x11;
        }
        fs::write(&path, bytes).unwrap();
        let (_, found, opened) = Records::open(victim.path()).unwrap();
        assert!(
            found
                .iter()
                .all(|(_, value)| value == "load ".repeat(20).as_bytes())
        );
        assert_eq!(opened.created, opened.set_aside.is_some());
        assert!(found.is_empty() || opened.set_aside.is_none());
    }
}

#[test]
fn few_stores_are_kept_aside() {
    let dir = filled();
    for _ in 0..6 {
        fs::remove_file(dir.path().join("marker")).unwrap();
        Records::open(dir.path()).unwrap();
    }
    assert_eq!(
        RecordFiles { dir: dir.path() }.numbers_aside().len(),
        SET_ASIDE_MAX
    );
}

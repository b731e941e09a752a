use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

fn file() -> (TempDir, SharedFile) {
    let directory = TempDir::new().unwrap();
    let file = SharedFile::new(directory.path().join("deep/history"));
    (directory, file)
}

fn bodies(content: &Content) -> Vec<String> {
    let added = content.added.iter();
    let text = |body: &Vec<u8>| String::from_utf8_lossy(body).into_owned();
    content.section.iter().chain(added).map(text).collect()
}

/// All that is there of a group in one section.
fn join(all: Vec<(u64, Content)>) -> Vec<(u64, Vec<u8>)> {
    let joined = all.into_iter();
    let joined = joined.map(|(group, content)| (group, bodies(&content).concat().into_bytes()));
    joined.collect()
}

#[test]
fn what_two_programs_add_is_all_there_before_and_after_a_compaction() {
    let (_directory, one) = file();
    let other = one.clone();
    assert_eq!(one.read(1).unwrap(), Content::default());
    assert!(one.add(1, b"a").unwrap());
    assert!(other.add(2, b"b").unwrap());
    assert!(one.add(1, b"c").unwrap());
    assert_eq!(bodies(&other.read(1).unwrap()), ["a", "c"]);
    assert!(one.compact(join).unwrap());
    assert_eq!(one.added_bytes().unwrap(), 0);
    assert!(other.add(1, b"d").unwrap());
    assert_eq!(bodies(&one.read(1).unwrap()), ["ac", "d"]);
    assert_eq!(bodies(&one.read(2).unwrap()), ["b"]);
    assert_eq!(one.read(3).unwrap(), Content::default());
    assert!(one.add(9, &vec![0; BODY_BYTES_MAX + 1]).is_err());
}

#[test]
fn nothing_is_added_during_a_compaction_and_it_waits_for_nobody() {
    let (_directory, one) = file();
    one.add(1, b"a").unwrap();
    let other = one.clone();
    let done = one.compact(|all| {
        assert!(!other.add(1, b"lost").unwrap());
        assert!(!other.compact(join).unwrap());
        join(all)
    });
    assert!(done.unwrap());
    assert_eq!(bodies(&one.read(1).unwrap()), ["a"]);
}

#[test]
fn damaged_records_are_passed_over_and_those_after_them_are_read() {
    let (_directory, one) = file();
    for body in ["first", "second", "third"] {
        one.add(1, body.as_bytes()).unwrap();
    }
    let whole = fs::read(&one.path).unwrap();
    let each = whole.len() / 3;
    let mut torn = whole.clone();
    torn.truncate(whole.len() - 3);
    fs::write(&one.path, &torn).unwrap();
    one.add(1, b"later").unwrap();
    assert_eq!(bodies(&one.read(1).unwrap()), ["first", "second", "later"]);
    let mut flipped = whole.clone();
    flipped[each + 21] ^= 1;
    fs::write(&one.path, &flipped).unwrap();
    assert_eq!(bodies(&one.read(1).unwrap()).first().unwrap(), "first");
    assert_eq!(bodies(&one.read(1).unwrap()).last().unwrap(), "third");
}

#[test]
fn a_damaged_section_is_none_and_the_others_are_read() {
    let (_directory, one) = file();
    one.add(1, b"one").unwrap();
    one.add(2, b"two").unwrap();
    one.compact(join).unwrap();
    let mut bytes = fs::read(&one.path).unwrap();
    bytes[HEADER_BYTES] ^= 1;
    fs::write(&one.path, &bytes).unwrap();
    assert_eq!(one.read(1).unwrap().section, None);
    assert_eq!(bodies(&one.read(2).unwrap()), ["two"]);
    bytes[9] ^= 1;
    fs::write(&one.path, &bytes).unwrap();
    assert_eq!(one.read(2).unwrap(), Content::default());
}

proptest! {
    #[test]
    fn any_file_is_read_without_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (_directory, one) = file();
        one.add(1, b"a").unwrap();
        let mut whole = MAGIC.to_vec();
        whole.extend_from_slice(&bytes);
        for content in [&bytes, &whole] {
            fs::write(&one.path, content).unwrap();
            one.read(1).unwrap();
            one.read_all().unwrap();
        }
    }
}

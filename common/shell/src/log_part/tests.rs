use std::path::PathBuf;

use super::*;

fn log(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("log");
    std::fs::write(&path, text).unwrap();
    (dir, path)
}

fn wanted(lines: u32, from: Option<u64>) -> LogRequest {
    LogRequest { lines, from }
}

#[test]
fn the_last_lines_of_a_log_are_told() {
    let (_dir, path) = log(b"one\ntwo\nthree\nhal");
    let told = |lines| {
        let LogPart { text, end, trouble } = log_part(&path, &wanted(lines, None));
        assert_eq!((end, trouble), (14, None));
        text
    };
    assert_eq!(told(2), "two\nthree\n");
    assert_eq!(told(3), "one\ntwo\nthree\n");
    assert_eq!(told(u32::MAX), "one\ntwo\nthree\n");
    assert_eq!(told(0), "");
}

#[test]
fn lines_are_read_from_an_offset_on() {
    let (_dir, path) = log(b"one\ntwo\nthree\nhal");
    let told = |from| log_part(&path, &wanted(0, Some(from)));
    assert_eq!((told(4).text.as_str(), told(4).end), ("two\nthree\n", 14));
    assert_eq!((told(14).text.as_str(), told(14).end), ("", 14));
    // A log shorter than the bytes already read is another log.
    assert_eq!(
        (told(99).text.as_str(), told(99).end),
        ("one\ntwo\nthree\n", 14)
    );
}

#[test]
fn no_line_is_missed_where_the_log_was_put_aside() {
    let (dir, path) = log(b"three\n");
    std::fs::write(dir.path().join("log.1"), b"one\nand a half\ntwo\n").unwrap();
    let last = |lines| log_part(&path, &wanted(lines, None)).text;
    assert_eq!(last(1), "three\n");
    assert_eq!(last(2), "two\nthree\n");
    assert_eq!(last(9), "one\nand a half\ntwo\nthree\n");
    // A reader of the first two lines goes on with those that follow them.
    let told = |from| log_part(&path, &wanted(0, Some(from)));
    assert_eq!((told(15).text.as_str(), told(15).end), ("two\n", 0));
    assert_eq!((told(0).text.as_str(), told(0).end), ("three\n", 6));
    // A reader of the whole rotated log goes on with the new one.
    assert_eq!((told(19).text.as_str(), told(19).end), ("three\n", 6));
}

#[test]
fn of_a_long_log_some_bytes_are_read_at_once_and_whole_lines_told() {
    let line = "a line of twenty byt\n";
    let n_lines = 2 * usize::try_from(LOG_BYTES_MAX).unwrap() / line.len();
    let (_dir, path) = log(line.repeat(n_lines).as_bytes());
    let end = log_part(&path, &wanted(u32::MAX, None));
    assert!(end.text.starts_with(line) && end.text.ends_with(line));
    assert!(end.text.len() as u64 <= LOG_BYTES_MAX);
    assert_eq!(end.end, (n_lines * line.len()) as u64);
    let start = log_part(&path, &wanted(0, Some(0)));
    assert_eq!(start.end, start.text.len() as u64);
    assert_eq!(start.end, LOG_BYTES_MAX / 21 * 21);
    // A line that is too long for one answer does not stop the reader.
    let (_dir, path) = log(&[0xff; 1 << 20]);
    let part = log_part(&path, &wanted(0, Some(0)));
    assert_eq!(part.end, LOG_BYTES_MAX);
    let sent = wire::encode(&wire::admin::Request::Written(part));
    assert!(sent.len() <= wire::admin::MEMBER_ASK_BYTES_MAX);
}

#[test]
fn a_log_that_is_not_there_is_told_as_that() {
    let (dir, _path) = log(b"");
    let part = log_part(&dir.path().join("none"), &wanted(1, None));
    assert!(part.trouble.unwrap().starts_with("could not read its log"));
}

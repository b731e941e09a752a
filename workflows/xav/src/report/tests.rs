use std::os::unix::fs::symlink;

use super::*;

#[test]
fn a_page_is_written_whole_in_place_of_what_was_there() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("run.html");
    for text in ["first", "second"] {
        write(&path, text).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let link = dir.path().join("link.html");
    symlink("run.html", &link).unwrap();
    write(&link, "third").unwrap();
    assert!(link.is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "third");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
}

#[test]
fn what_is_no_file_is_not_replaced() {
    let dir = tempfile::TempDir::new().unwrap();
    assert!(write(dir.path(), "text").is_err());
    write(Path::new("/dev/null"), "text").unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    assert!(write(&dir.path().join("none/run.html"), "text").is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn each_page_has_a_number_of_its_own() {
    let (one, other) = (draw_nonce().unwrap(), draw_nonce().unwrap());
    assert_ne!(one, other);
    assert_eq!(one.len(), 32);
}

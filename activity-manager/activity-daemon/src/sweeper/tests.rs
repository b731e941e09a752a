use tempfile::TempDir;

use super::*;

#[test]
fn directories_go_with_what_is_in_them_and_nothing_else_goes() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().join("work");
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for name in ["p/1.1", "p/2.1/deep", "p/3.1"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("p/2.1/deep/file"), "x").unwrap();
    fs::create_dir_all(dir.path().join("precious")).unwrap();
    let mut sweeper = Sweeper::start(root.clone()).unwrap();
    for path in [
        "p/1.1",
        "p/2.1",
        "p/gone",
        "p",
        "../precious",
        "p/../../precious",
    ] {
        sweeper.remove(Mono(1), text(&root.join(path)));
    }
    assert_eq!(sweeper.next_wakeup(), Some(Mono(1) + WAIT));
    drop(sweeper);
    let left: Vec<_> = fs::read_dir(root.join("p"))
        .unwrap()
        .map(|e| e.unwrap().file_name())
        .collect();
    assert_eq!(left, ["3.1"]);
    assert!(dir.path().join("precious").is_dir());
}

#[test]
fn a_full_batch_does_not_wait() {
    let dir = TempDir::new().unwrap();
    let mut sweeper = Sweeper::start(dir.path().to_owned()).unwrap();
    for number in 0..BATCH {
        let path = dir.path().join(format!("p/{number}"));
        fs::create_dir_all(&path).unwrap();
        sweeper.remove(Mono(1), path.to_str().unwrap().to_owned());
    }
    assert_eq!(sweeper.next_wakeup(), None);
    drop(sweeper);
    assert_eq!(fs::read_dir(dir.path().join("p")).unwrap().count(), 0);
}

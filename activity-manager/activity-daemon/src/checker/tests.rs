use std::fs;

use model::Span;
use tempfile::TempDir;

use super::*;

#[test]
fn damaged_missing_and_sound_files_are_reported() {
    let dir = TempDir::new().unwrap();
    let blobs = Store::open(&dir.path().join("blobs")).unwrap();
    fs::create_dir(dir.path().join("tree")).unwrap();
    for name in ["a", "b"] {
        fs::write(dir.path().join("tree").join(name), name).unwrap();
    }
    let sound = blobs.add_bytes(b"sound").unwrap();
    let damaged = blobs.add_bytes(b"damaged").unwrap();
    let tree = blobs.add_tree(&dir.path().join("tree")).unwrap();
    let of_tree = blobs.add_bytes(b"b").unwrap();
    blobs.flush().unwrap();
    let path = |artifact: Artifact| {
        let name = artifact.hash.to_string();
        dir.path().join("blobs/blobs").join(&name[..2]).join(name)
    };
    fs::remove_file(path(damaged)).unwrap();
    fs::write(path(damaged), "changed").unwrap();
    fs::remove_file(path(of_tree)).unwrap();
    let (inbox, mut receiver) = shell::inbox();
    let checker = Checker::start(&blobs, &inbox, None, None).unwrap();
    let all = [
        (vec![sound], true),
        (vec![sound, damaged], false),
        (vec![tree], false),
    ];
    for (activity, (artifacts, is_sound)) in (1..).zip(all) {
        let copied = Copied {
            process: ProcessId(1),
            activity: ActivityId(activity),
            artifacts,
        };
        checker.check(ToCheck {
            to: 7,
            copied: copied.clone(),
            sources: Vec::new(),
        });
        let checked = Checked { copied, is_sound };
        let told = receiver.next_within(Span::from_secs(20));
        assert_eq!(told, Some(Input::Checked { to: 7, checked }));
    }
}

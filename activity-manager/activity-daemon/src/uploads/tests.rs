use model::ProcessId;
use tempfile::TempDir;

use super::*;

const ANA: &str = "xav://grid/group/user/ana";
const BEN: &str = "xav://grid/group/user/ben";

fn of(process: u64) -> Belongs {
    Belongs {
        process: ProcessId(process),
        artifact: Hash([1; 32]),
    }
}

#[test]
fn a_user_has_room_for_so_much_and_others_have_theirs() {
    let uploads = Uploads::new(Bytes(100));
    let first = uploads.admit(ANA, Hash([1; 32]), 60, of(1)).unwrap();
    let refused = uploads.admit(ANA, Hash([2; 32]), 50, of(1)).unwrap_err();
    let Refusal::Unclaimed { bytes_max: 100, .. } = refused else {
        panic!("{refused}")
    };
    uploads
        .admit(BEN, Hash([2; 32]), 50, of(2))
        .unwrap()
        .has_come();
    // An aborted upload takes no room.
    drop(first);
    let second = uploads.admit(ANA, Hash([2; 32]), 50, of(1)).unwrap();
    second.has_come();
    uploads.admit(ANA, Hash([3; 32]), 51, of(1)).unwrap_err();
    uploads.admit(ANA, Hash([3; 32]), 50, of(1)).unwrap();
}

#[test]
fn a_file_that_comes_several_times_at_once_takes_its_room_each_time() {
    let uploads = Uploads::new(Bytes(100));
    let first = uploads.admit(ANA, Hash([1; 32]), 60, of(1)).unwrap();
    uploads.admit(ANA, Hash([1; 32]), 60, of(1)).unwrap_err();
    let second = uploads.admit(ANA, Hash([1; 32]), 40, of(1)).unwrap();
    // The end of one releases no room of the other.
    drop(second);
    uploads.admit(ANA, Hash([2; 32]), 41, of(1)).unwrap_err();
    first.has_come();
    uploads.admit(ANA, Hash([2; 32]), 41, of(1)).unwrap_err();
    // What is there may come again.
    drop(uploads.admit(ANA, Hash([1; 32]), 60, of(1)).unwrap());
    uploads.admit(ANA, Hash([2; 32]), 41, of(1)).unwrap_err();
    uploads.admit(ANA, Hash([2; 32]), 40, of(1)).unwrap();
}

#[test]
fn unused_uploads_are_removed_and_used_ones_are_not_counted() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("blobs")).unwrap();
    let named = store.add_bytes(b"named").unwrap().hash;
    let forgotten = store.add_bytes(b"forgotten").unwrap().hash;
    store.flush().unwrap();
    let uploads = Uploads::new(Bytes(100));
    uploads.admit(ANA, named, 60, of(1)).unwrap().has_come();
    uploads.admit(ANA, forgotten, 40, of(2)).unwrap().has_come();
    // No process manager answers.
    for _ in 0..10 {
        uploads.look(&store, |_| None);
    }
    uploads.admit(ANA, Hash([9; 32]), 1, of(1)).unwrap_err();
    for look in 1..=NOES {
        assert!(store.contains(forgotten), "{look}");
        uploads.look(&store, |access| Some(access.process == ProcessId(1)));
    }
    assert!(store.contains(named));
    assert!(!store.contains(forgotten));
    uploads.admit(ANA, Hash([9; 32]), 100, of(1)).unwrap();
}

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

/// Uploads of at most a hundred bytes of each user, and their store.
fn uploads() -> (Uploads, Store, TempDir) {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("blobs")).unwrap();
    (Uploads::new(store.clone(), Bytes(100)), store, dir)
}

/// Adds a file durably, of which its user says that it has so many bytes.
fn upload(uploads: &Uploads, content: &str, bytes: u64, of: Belongs) -> Hash {
    let store = &uploads.0.store;
    let hash = store.add_bytes(content.as_bytes()).unwrap().hash;
    store.flush().unwrap();
    uploads.admit(ANA, hash, bytes, of).unwrap().has_come();
    hash
}

/// Tells a user who gives a file that it is here.
fn give_again(uploads: &Uploads, user: &str, hash: Hash, of: Belongs) {
    uploads.0.store.open_sound(hash).unwrap();
    uploads.admit(user, hash, 10, of).unwrap().was_here();
}

#[test]
fn a_user_has_room_for_so_much_and_others_have_theirs() {
    let (uploads, _, _dir) = uploads();
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
    let (uploads, _, _dir) = uploads();
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
    let (uploads, store, _dir) = uploads();
    let named = upload(&uploads, "named", 60, of(1));
    let forgotten = upload(&uploads, "forgotten", 40, of(2));
    // No process manager answers.
    for _ in 0..10 {
        uploads.look(|_| None);
    }
    uploads.admit(ANA, Hash([9; 32]), 1, of(1)).unwrap_err();
    for look in 1..=NOES {
        assert!(store.contains(forgotten), "{look}");
        uploads.look(|access| Some(access.process == ProcessId(1)));
    }
    assert!(store.contains(named));
    assert!(!store.contains(forgotten));
    uploads.admit(ANA, Hash([9; 32]), 100, of(1)).unwrap();
}

#[test]
fn a_file_that_a_later_process_of_any_user_was_given_stays() {
    let (uploads, store, _dir) = uploads();
    let own = upload(&uploads, "own", 10, of(1));
    let of_others = upload(&uploads, "of others", 10, of(1));
    for _ in 1..NOES {
        uploads.look(|_| Some(false));
    }
    give_again(&uploads, ANA, own, of(2));
    give_again(&uploads, BEN, of_others, of(3));
    uploads.look(|access| Some(access.process != ProcessId(1)));
    assert!(store.contains(own) && store.contains(of_others));
}

#[test]
fn a_file_that_is_uploaded_for_one_process_and_announced_for_another_goes_if_neither_comes() {
    let (uploads, store, _dir) = uploads();
    let was_here = store.add_bytes(b"was here").unwrap().hash;
    store.flush().unwrap();
    let file = upload(&uploads, "file", 90, of(1));
    uploads.look(|_| Some(false));
    uploads.admit(ANA, file, 90, of(2)).unwrap().was_here();
    give_again(&uploads, ANA, was_here, of(2));
    // It takes its room once.
    uploads.admit(ANA, Hash([9; 32]), 1, of(2)).unwrap_err();
    for look in 1..=NOES {
        assert!(store.contains(file), "{look}");
        uploads.look(|_| Some(false));
    }
    assert!(!store.contains(file));
    // Nobody has uploaded that one.
    assert!(store.contains(was_here));
    assert!(uploads.lock().is_empty());
}

#[test]
fn files_of_a_submitted_process_are_not_evicted_before_it_is_forgotten() {
    let (uploads, store, _dir) = uploads();
    let evict = || store.evict(Bytes(0)).unwrap().n_blobs;
    let file = upload(&uploads, "file", 10, of(1));
    assert_eq!(evict(), 0, "it is about to be submitted");
    for _ in 0..10 {
        uploads.look(|_| Some(false));
        uploads.look(|_| Some(true));
        uploads.look(|_| None);
    }
    assert_eq!(evict(), 0);
    for look in 1..=NOES {
        assert!(!uploads.lock().is_empty(), "{look}");
        uploads.look(|_| Some(false));
    }
    assert!(uploads.lock().is_empty());
    assert!(store.contains(file), "a process has had it");
    assert_eq!(evict(), 1);
}

#[test]
fn files_of_the_latest_processes_are_pinned_where_there_are_too_many() {
    let (uploads, store, _dir) = uploads();
    let content = |byte: char| byte.to_string().repeat(40);
    let files = ['a', 'b', 'c'].map(content);
    let mut process = 0;
    let files = files.map(|content| {
        process += 1;
        let file = upload(&uploads, &content, 40, of(process));
        uploads.look(|_| Some(true));
        file
    });
    store.evict(Bytes(0)).unwrap();
    assert_eq!(files.map(|file| store.contains(file)), [false, true, true]);
}

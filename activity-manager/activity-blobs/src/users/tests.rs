use model::Bytes;
use tempfile::TempDir;

use super::*;

const PROCESS: u64 = 1;

fn maker(activity: u32, number: u32) -> User {
    User {
        owner: PROCESS,
        maker: Some((activity, number)),
    }
}

fn reader(owner: u64) -> User {
    User { owner, maker: None }
}

/// A store with a blob that was made by an attempt of activity 3.
fn made() -> (TempDir, Store, Artifact) {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let artifact = store.inner.keep(b"an intermediate").unwrap();
    store.note_user(maker(3, 1), &[artifact]);
    store.pin(PROCESS, &[artifact]).unwrap();
    store.flush().unwrap();
    (dir, store, artifact)
}

fn discard(store: &Store, activity: u32, number: u32, artifact: Artifact) -> Dropped {
    let moment = store.moment();
    store
        .drop_made(PROCESS, (activity, number), &[artifact], moment)
        .unwrap()
}

#[test]
fn what_only_its_maker_and_readers_have_is_deleted_with_its_pin() {
    let (_dir, store, artifact) = made();
    store.note_user(reader(PROCESS), &[artifact]);
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert_eq!(store.size(), Bytes::ZERO);
    assert_eq!(store.pinned([PROCESS]), Bytes::ZERO);
    // A repeat finds nothing to do.
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
}

#[test]
fn the_same_content_of_another_activity_or_a_later_attempt_stays() {
    let (_dir, store, artifact) = made();
    store.note_user(maker(4, 1), &[artifact]);
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert!(store.contains(artifact.hash));
    store.note_user(maker(3, 2), &[artifact]);
    assert_eq!(discard(&store, 4, 1, artifact), Dropped::Done);
    // A late message about the first attempt.
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert!(store.contains(artifact.hash));
    assert_eq!(discard(&store, 3, 2, artifact), Dropped::Done);
    assert!(!store.contains(artifact.hash));
}

#[test]
fn of_two_owners_with_the_same_content_the_second_one_to_let_it_go_deletes_it() {
    let (_dir, store, artifact) = made();
    let other = |activity| User {
        owner: 2,
        maker: Some((activity, 1)),
    };
    let discard_of_other = || {
        let moment = store.moment();
        let dropped = store.drop_made(2, (3, 1), &[artifact], moment);
        assert_eq!(dropped.unwrap(), Dropped::Done);
    };
    store.note_user(other(3), &[artifact]);
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert!(store.contains(artifact.hash));
    // Somebody who gets it again has it.
    store.note_user(reader(PROCESS), &[artifact]);
    discard_of_other();
    assert!(store.contains(artifact.hash));
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert!(!store.contains(artifact.hash));
}

#[test]
fn what_others_have_stays() {
    let others: [fn(&Store, Artifact); 5] = [
        |store, artifact| store.share(&[artifact]),
        |store, artifact| store.note_user(reader(2), &[artifact]),
        |store, artifact| store.pin(2, &[artifact]).unwrap(),
        |store, _| {
            store.add_bytes(b"an intermediate").unwrap();
        },
        |store, artifact| {
            let directory = crate::Item {
                path: "a".to_owned(),
                content: crate::Content::File(artifact),
            };
            let listing = crate::Listing::new(vec![directory]).unwrap();
            let directory = store.add_listing(&listing).unwrap();
            store.share(&[directory]);
        },
    ];
    for other in others {
        let (_dir, store, artifact) = made();
        other(&store, artifact);
        assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
        assert!(store.contains(artifact.hash));
    }
}

#[test]
fn what_is_used_at_the_same_time_stays_for_now() {
    let (_dir, store, artifact) = made();
    let moment = store.moment();
    store.inner.used(&[artifact.hash]);
    let drop_made = |moment| store.drop_made(PROCESS, (3, 1), &[artifact], moment);
    assert_eq!(drop_made(moment).unwrap(), Dropped::Held);
    let hold = store.hold();
    store.inner.used(&[artifact.hash]);
    assert_eq!(drop_made(store.moment()).unwrap(), Dropped::Held);
    drop(hold);
    assert_eq!(drop_made(store.moment()).unwrap(), Dropped::Done);
    assert!(!store.contains(artifact.hash));
}

#[test]
fn what_an_earlier_run_of_the_store_has_left_stays() {
    let (dir, store, artifact) = made();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    store.note_user(maker(3, 1), &[artifact]);
    assert_eq!(discard(&store, 3, 1, artifact), Dropped::Done);
    assert!(store.contains(artifact.hash));
}

#[test]
fn a_directory_goes_with_its_files_but_for_those_that_another_one_has() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(dir.path()).unwrap();
    let file = |text: &[u8]| store.inner.keep(text).unwrap();
    let (both, own, other) = (file(b"both"), file(b"own"), file(b"other"));
    let directory = |files: [Artifact; 2]| {
        let items = ["a", "b"].into_iter().zip(files);
        let items = items.map(|(path, file)| crate::Item {
            path: path.to_owned(),
            content: crate::Content::File(file),
        });
        let listing = crate::Listing::new(items.collect()).unwrap();
        let name = std::path::Path::new("a listing");
        store.add_named_listing(&listing, name).unwrap()
    };
    let (first, second) = (directory([both, own]), directory([both, other]));
    store.note_user(maker(3, 1), &[first]);
    store.note_user(maker(4, 1), &[second]);
    assert_eq!(discard(&store, 3, 1, first), Dropped::Done);
    let is_here = [first, both, own, second, other].map(|one| store.contains(one.hash));
    assert_eq!(is_here, [false, true, false, true, true]);
    assert_eq!(discard(&store, 4, 1, second), Dropped::Done);
    assert_eq!(store.n_blobs(), 0);
}

use std::fs;
use std::thread;

use activity_core::Input;
use model::{Artifact, Bytes, Identity, ProcessId, Span};
use tempfile::TempDir;
use wire::bulk::Belongs;

use super::*;

/// A store with a directory of a user's process, and its depot.
struct Scene {
    dir: TempDir,
    store: Store,
    gate: Gate,
    depot: StoreDepot,
    tree: Artifact,
}

impl Scene {
    fn new() -> Scene {
        let dir = TempDir::new().unwrap();
        let store = Store::open(&dir.path().join("blobs")).unwrap();
        let tree = dir.path().join("tree");
        fs::create_dir(&tree).unwrap();
        for name in ["a", "b"] {
            fs::write(tree.join(name), name).unwrap();
        }
        let tree = store.add_tree(&tree).unwrap();
        store.flush().unwrap();
        let gate = Gate::default();
        let users = Users {
            gate: gate.clone(),
            uploads: Uploads::new(store.clone(), Bytes(1_000)),
        };
        let depot = StoreDepot::with_users(store.clone(), Keeping::Durably, users);
        Scene {
            dir,
            store,
            gate,
            depot,
            tree,
        }
    }

    /// Removes the listing. The store finds that out when it reads it.
    fn lose_listing(&self) {
        let name = self.tree.hash.to_string();
        let blobs = self.dir.path().join("blobs/blobs");
        fs::remove_file(blobs.join(&name[..2]).join(name)).unwrap();
    }

    /// Returns true if a user is given the blob with this content as a part of the directory.
    fn is_given(&self, content: &str) -> bool {
        let hash = self.store.add_bytes(content.as_bytes()).unwrap().hash;
        let asked = Asked {
            peer: Identity::new("grid", "group", Role::User, "ana").unwrap(),
            hash,
            of: Some(Belongs {
                process: ProcessId(1),
                artifact: self.tree.hash,
            }),
        };
        self.depot.open_for(&asked).unwrap().is_some()
    }
}

#[test]
fn a_listing_is_not_read_for_a_user_who_may_not_have_it() {
    let scene = Scene::new();
    scene.lose_listing();
    // The gate can ask nobody yet and refuses everybody.
    assert!(!scene.is_given("a"));
    assert!(scene.store.contains(scene.tree.hash));
    // A reader finds out that it is lost.
    assert!(scene.store.listing(scene.tree.hash).is_err());
    assert!(!scene.store.contains(scene.tree.hash));
}

#[test]
fn the_files_of_an_own_directory_are_given_and_its_listing_is_read_once() {
    let scene = Scene::new();
    let (inbox, mut receiver) = shell::inbox();
    scene.gate.open(&inbox);
    let gate = scene.gate.clone();
    thread::scope(|scope| {
        scope.spawn(move || {
            let asked = receiver.next_within(Span::from_secs(20));
            let Some(Input::Access { number, access }) = asked else {
                panic!("{asked:?}")
            };
            assert_eq!(access.user, "xav://grid/group/user/ana");
            gate.answer(number, true);
        });
        assert!(scene.is_given("a"));
    });
    scene.lose_listing();
    assert!(scene.is_given("b"));
    assert!(!scene.is_given("another"));
    assert!(scene.store.contains(scene.tree.hash));
}

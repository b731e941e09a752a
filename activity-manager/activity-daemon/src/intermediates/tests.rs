use model::AttemptId;
use tempfile::TempDir;

use super::*;

const DISCARDING: ProcessId = ProcessId(1);
const OTHER: ProcessId = ProcessId(2);

fn attempt(process: ProcessId, activity: u32) -> AttemptId {
    AttemptId {
        process,
        activity: ActivityId(activity),
        number: 1,
    }
}

/// An output as it is collected.
fn output(store: &Store, dir: &TempDir, text: &str) -> Artifact {
    let place = dir.path().join("work");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("out"), text).unwrap();
    let wanted = [model::Produced {
        name: "out".to_owned(),
        path: "out".to_owned(),
    }];
    let collected = store.collect(&place, &wanted).unwrap();
    store.flush().unwrap();
    collected[0]
}

fn discard(files: &Intermediates, activity: u32, artifact: Artifact) -> bool {
    files.discard(&ToDiscard {
        to: 0,
        discard: Discard {
            made_by: attempt(DISCARDING, activity),
            artifacts: vec![artifact],
        },
        moment: files.store().moment(),
    })
}

#[test]
fn only_what_processes_that_discard_files_have_alone_is_deleted() {
    let dir = TempDir::new().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let files = Intermediates::new(store.clone());
    files.note(DISCARDING);
    let names = ["own", "given", "other's", "copy", "other's copy"];
    let [own, given, others, copy, others_copy] = names.map(|name| output(&store, &dir, name));
    for (activity, artifact) in (0..).zip([own, given, others]) {
        files.made(attempt(DISCARDING, activity), &[artifact]);
    }
    files.given(DISCARDING, &[given]);
    files.given(OTHER, &[others]);
    files.copied(DISCARDING, (ActivityId(3), Some(1)), &[copy]);
    files.copied(OTHER, (ActivityId(3), None), &[others_copy]);
    for (activity, artifact) in (0..).zip([own, given, others, copy, others_copy]) {
        assert!(discard(&files, activity.min(3), artifact));
    }
    let is_here = [own, given, others, copy, others_copy].map(|one| store.contains(one.hash));
    assert_eq!(is_here, [false, false, true, false, true]);
    // Its grant has ended: nobody knows any more that it discards files.
    files.release(DISCARDING);
    let late = output(&store, &dir, "late");
    files.made(attempt(DISCARDING, 9), &[late]);
    assert!(discard(&files, 9, late));
    assert!(store.contains(late.hash));
}

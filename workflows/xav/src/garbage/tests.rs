use std::fs;

use model::{ArtifactKind, Hash};

use super::*;

fn kept(processes: &[u64], artifacts: Vec<Artifact>) -> Kept {
    let processes: BTreeSet<ProcessId> = processes.iter().copied().map(ProcessId).collect();
    Kept {
        logged: processes.clone(),
        processes,
        artifacts,
    }
}

#[test]
fn what_nobody_refers_to_goes_and_the_rest_stays() {
    let dir = tempfile::TempDir::new().unwrap();
    let machine = dir.path().join("am");
    let store = activity_blobs::Store::open(&machine.join("blobs")).unwrap();
    let add = |name: &str| {
        let path = dir.path().join(name);
        fs::write(&path, name).unwrap();
        store.add_file(&path).unwrap()
    };
    let (wanted, unwanted) = (add("wanted"), add("unwanted"));
    drop(store);
    let (stays, goes) = (ProcessId(1), ProcessId(2));
    let paths = [stays, goes].map(|process| {
        let paths = [
            machine.join(format!("work/{process}/3")),
            machine.join(format!("executor/log/{process}-a1-1.stdout")),
            dir.path().join(format!("results/{process}/x")),
        ];
        for path in &paths {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        paths
    });
    let segment = machine.join("executor/log/segment-1");
    fs::write(&segment, "all").unwrap();
    mark(dir.path()).unwrap();

    collect(dir.path(), &kept(&[1], vec![wanted])).unwrap();

    assert!(paths[0].iter().all(|path| path.exists()), "{paths:?}");
    assert!(!paths[1].iter().any(|path| path.exists()), "{paths:?}");
    assert!(segment.exists());
    assert!(!dir.path().join("garbage").exists());
    let store = activity_blobs::Store::open(&machine.join("blobs")).unwrap();
    assert!(store.contains(wanted.hash));
    assert!(!store.contains(unwanted.hash));
}

#[test]
fn results_of_the_process_that_a_directory_was_made_for_go_with_it() {
    let dir = tempfile::TempDir::new().unwrap();
    let directory = dir.path().join(ProcessId(1).to_string());
    let of_other = directory.join(format!("results/{}", ProcessId(2)));
    fs::create_dir_all(&of_other).unwrap();
    let own = directory.join("results/table.txt");
    fs::write(&own, "table").unwrap();
    assert_eq!(
        results_left(&directory, &kept(&[1, 2], Vec::new())),
        [] as [PathBuf; 0]
    );
    assert!(own.exists());
    results_left(&directory, &kept(&[2], Vec::new()))
        .iter()
        .for_each(|path| remove(path));
    assert!(!own.exists() && of_other.exists());
}

#[test]
fn files_in_values_are_found_at_any_depth() {
    let artifact = |byte| Artifact {
        kind: ArtifactKind::File,
        hash: Hash([byte; 32]),
        bytes: Bytes(1),
    };
    let inner = vec![
        ("a".to_owned(), Value::from(artifact(1))),
        ("b".to_owned(), Value::Text("x".to_owned())),
    ];
    let value = Value::List(vec![
        Value::Map(inner.into_iter().collect()),
        Value::from(artifact(2)),
    ]);
    let mut found = Vec::new();
    artifacts_of(&value, &mut found);
    assert_eq!(found, [artifact(1), artifact(2)]);
}

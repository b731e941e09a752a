use history::{Observed, SizeClass};
use journal::RecordsCommitter;
use model::{Span, Wall, Work};
use process_core::ClientId;
use shell::InputReceiver;
use tempfile::TempDir;

use super::*;

fn key(owner: &str, definition: &str) -> Key {
    Key {
        owner: owner.to_owned(),
        definition: definition.to_owned(),
        activity: "project".to_owned(),
        class: SizeClass(0),
    }
}

fn seen(run: u32) -> Seen {
    let at = Wall(u64::from(run));
    Seen::Attempt(Observed::completed(run, at, Work::from_secs(2)))
}

fn open(directory: &Path) -> (Own, Vec<(Key, Record)>, InputReceiver<Input>) {
    let (inbox, receiver) = shell::inbox();
    let (own, known) = Own::open(directory, &inbox).unwrap();
    (own, known, receiver)
}

/// The names of what a start finds.
fn known(directory: &Path) -> Vec<(String, String)> {
    let (_, known, _) = open(directory);
    let names = known
        .into_iter()
        .map(|(key, _)| (key.owner, key.definition));
    names.collect()
}

fn names(all: &[(&str, &str)]) -> Vec<(String, String)> {
    let all = all.iter();
    all.map(|(owner, definition)| ((*owner).to_owned(), (*definition).to_owned()))
        .collect()
}

/// Forgets what a definition of `ana` took, and returns the answer.
fn forget(own: &mut Own, receiver: &mut InputReceiver<Input>) -> Result<(), String> {
    let request = ForgetRequest {
        client: ClientId(1),
        number: 2,
        n_forgotten: 1,
        owner: "ana".to_owned(),
        definition: Some("p".to_owned()),
    };
    assert!(own.forget(Box::new(request.clone())).is_ok());
    let Some(Input::HistoryForgotten(told, result)) = receiver.next_within(Span::from_secs(60))
    else {
        panic!("nobody is told");
    };
    assert_eq!(*told, request);
    result
}

#[test]
fn what_is_kept_is_known_after_a_restart_and_what_is_forgotten_is_not() {
    let directory = TempDir::new().unwrap();
    let (mut own, before, _) = open(directory.path());
    assert_eq!(before, []);
    for (owner, definition) in [("ana", "p"), ("ana", "q"), ("bob", "p")] {
        for run in 0..3 {
            own.keep(&key(owner, definition), &seen(run));
        }
    }
    drop(own);
    let (_, all, _) = open(directory.path());
    let counts = all
        .iter()
        .map(|(_, record)| record.template().unwrap().n_completed());
    assert_eq!(counts.collect::<Vec<_>>(), [3, 3, 3]);
    let (mut own, _, mut receiver) = open(directory.path());
    // Attempts that wait to be written are forgotten as well.
    own.keep(&key("ana", "p"), &seen(4));
    own.keep(&key("bob", "p"), &seen(4));
    assert_eq!(forget(&mut own, &mut receiver), Ok(()));
    // It is durable already, and so is what stays: nothing that comes later is needed.
    let file = HistoryFile::new(directory.path().join(FILE));
    let now = file.all().unwrap();
    assert!(!now.knows("ana", "p"));
    let of_bob = now.of_owner("bob", None);
    assert_eq!(of_bob[0].1.template().unwrap().n_completed(), 4);
    drop(own);
    let left = names(&[("ana", "q"), ("bob", "p")]);
    assert_eq!(known(directory.path()), left);
}

#[test]
fn records_of_earlier_releases_are_taken_over_once() {
    let directory = TempDir::new().unwrap();
    let earlier = directory.path().join(EARLIER);
    let keep = |owner: &str| {
        let (records, _, _) = Records::open(&earlier).unwrap();
        let committer = RecordsCommitter::start(records, |error| panic!("{error}")).unwrap();
        let mut store = history::Store::default();
        let key = key(owner, "p");
        let (record, _) = store.take(&key, &seen(1));
        let value = record.unwrap().encode();
        committer.keep(key.encode(), Some(value)).unwrap();
    };
    keep("ana");
    assert_eq!(known(directory.path()), names(&[("ana", "p")]));
    assert!(!earlier.exists());
    // A start that was killed between the file and the removal of the records.
    keep("bob");
    assert_eq!(known(directory.path()), names(&[("ana", "p")]));
    assert!(!earlier.exists());
}

#[test]
fn much_that_was_added_is_compacted_by_the_next_start() {
    let directory = TempDir::new().unwrap();
    let file = HistoryFile::new(directory.path().join(FILE));
    let mut batch = Batch::new("ana", "p");
    for run in 0..10_000 {
        batch.take(&key("ana", "p"), &seen(run));
    }
    while file.added_bytes().unwrap() < COMPACTED_FROM {
        file.add(&batch).unwrap();
    }
    let all = file.all().unwrap();
    assert_eq!(known(directory.path()), names(&[("ana", "p")]));
    assert_eq!(file.added_bytes().unwrap(), 0);
    let compacted = file.all().unwrap();
    assert_eq!(compacted.of_owner("ana", None), all.of_owner("ana", None));
}

#[test]
fn a_file_that_cannot_be_used_hinders_nothing_and_whoever_forgets_is_told() {
    let directory = TempDir::new().unwrap();
    std::fs::create_dir(directory.path().join(FILE)).unwrap();
    let (mut own, known, mut receiver) = open(directory.path());
    assert_eq!(known, []);
    own.keep(&key("ana", "q"), &seen(1));
    let told = forget(&mut own, &mut receiver).unwrap_err();
    assert!(told.starts_with("what is forgotten may be known"), "{told}");
}

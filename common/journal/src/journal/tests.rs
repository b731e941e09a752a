use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::directory::FORMAT;
use crate::layout::{Kind, RowKey};
use crate::tail::TAIL_FILE;

mod chapters;
mod damage;
mod reading;

/// Bytes of a record that takes several rows, even of a long record.
const BIG_BYTES: usize = 1_100_000;

/// Bytes that cannot be packed.
fn drawn(seed: u8, n_bytes: usize) -> Vec<u8> {
    let mut state = u32::from(seed);
    let draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(draw).take(n_bytes).collect()
}

/// The expected content: streams in the order of their founding.
#[derive(Clone, Debug, Default)]
struct Model(Vec<History>);

impl Model {
    fn apply(&mut self, batch: &Batch) {
        for (stream, event) in &batch.events {
            match self.0.iter_mut().find(|history| history.stream == *stream) {
                Some(history) => history.tail.push(event.clone()),
                None => self.0.push(History {
                    stream: stream.clone(),
                    founding: event.clone(),
                    snapshot: None,
                    chapters: BTreeMap::new(),
                    tail: Vec::new(),
                }),
            }
        }
        for (stream, snapshot) in &batch.snapshots {
            let history = self
                .0
                .iter_mut()
                .find(|history| history.stream == *stream)
                .unwrap();
            history.snapshot = Some(snapshot.clone());
            history.tail.clear();
        }
        for (stream, number, chapter) in &batch.chapters {
            let mut histories = self.0.iter_mut();
            let history = histories.find(|history| history.stream == *stream);
            history.unwrap().chapters.insert(*number, chapter.clone());
        }
        self.0
            .retain(|history| !batch.forgotten.contains(&history.stream));
    }
}

fn key(name: &str) -> StreamKey {
    StreamKey(name.as_bytes().to_vec())
}

fn options() -> Options {
    Options::new("0.1.0")
}

fn open(dir: &Path) -> (Journal, Vec<History>, Opened) {
    Journal::open(dir, &options()).unwrap()
}

fn refusal(dir: &Path) -> String {
    let Err(error) = Journal::open(dir, &options()) else {
        panic!("it should be refused")
    };
    error.to_string()
}

fn events(number: u64, events: &[(&str, &[u8])]) -> Batch {
    let events = events
        .iter()
        .map(|(stream, event)| (key(stream), event.to_vec()))
        .collect();
    Batch {
        number,
        events,
        ..Batch::default()
    }
}

fn snapshot(stream: &str, bytes: &[u8]) -> Batch {
    Batch {
        snapshots: vec![(key(stream), bytes.to_vec())],
        ..Batch::default()
    }
}

#[test]
fn a_stream_is_its_founding_event_its_snapshot_and_its_tail() {
    let dir = TempDir::new().unwrap();
    let (mut journal, histories, opened) = open(dir.path());
    assert!(histories.is_empty() && opened.created && !opened.unclean);
    journal
        .commit(&[events(1, &[("p", b"founding"), ("p", b"covered")])])
        .unwrap();
    journal
        .commit(&[snapshot("p", b"state"), events(3, &[("p", b"tail")])])
        .unwrap();
    journal.close().unwrap();

    let (histories, opened) = open_read(dir.path()).unwrap();
    let expected = History {
        stream: key("p"),
        founding: b"founding".to_vec(),
        snapshot: Some(b"state".to_vec()),
        chapters: BTreeMap::new(),
        tail: vec![b"tail".to_vec()],
    };
    assert_eq!(histories, [expected]);
    assert!(
        !opened.created && !opened.unclean && !opened.tail_cut,
        "{opened:?}"
    );
    assert_eq!(
        (opened.n_commits, opened.n_streams, opened.n_events),
        (2, 1, 2)
    );
    assert_eq!(opened.written_by.as_deref(), Some("0.1.0"));
}

#[test]
fn a_big_founding_event_comes_back() {
    let dir = TempDir::new().unwrap();
    let big: Vec<u8> = (0..(9_u32 << 20)).map(|i| (i % 251) as u8).collect();
    let (mut journal, ..) = open(dir.path());
    journal
        .commit(&[events(1, &[("p", &big), ("p", b"small"), ("p", &big)])])
        .unwrap();
    journal.close().unwrap();
    let (_journal, histories, _) = open(dir.path());
    assert!(histories[0].founding == big && histories[0].tail == [b"small".to_vec(), big]);
}

#[test]
fn a_file_that_is_mostly_free_is_compacted() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    for number in 0..20 {
        journal
            .commit(&[events(number, &[("p", &drawn(1, 1 << 20))])])
            .unwrap();
    }
    journal.commit(&[events(20, &[("q", b"kept")])]).unwrap();
    journal
        .commit(&[Batch {
            forgotten: vec![key("p")],
            ..Batch::default()
        }])
        .unwrap();
    // As after a kill: closing in order would shrink the file.
    let copy = TempDir::new().unwrap();
    damage::copy_directory(dir.path(), copy.path());
    let (journal, histories, opened) = open(copy.path());
    assert!(
        opened.compacted && opened.file_bytes < 4 << 20,
        "{opened:?}"
    );
    assert_eq!((histories.len(), journal.n_streams()), (1, 1));
    drop(journal);
    assert_eq!(open(copy.path()).1, histories);
}

#[test]
fn invalid_batches_are_refused_and_end_the_journal() {
    let long = vec![0; MESSAGE_BYTES_MAX + 1];
    let cases = [
        (
            events(1, &[("p", &long)]),
            "could not journal 134217729 bytes at once for stream `p`",
        ),
        (snapshot("p", b"state"), "it has no founding event"),
        (
            events(1, &[(&"k".repeat(65), b"x")]),
            "its key is longer than 64 bytes",
        ),
    ];
    for (batch, message) in cases {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        let error = journal.commit(&[batch]).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
        let error = journal.commit(&[events(2, &[("q", b"x")])]).unwrap_err();
        assert!(matches!(error, CommitError::AfterFailure));
        drop(journal);
        assert!(open(dir.path()).1.is_empty());
    }
}

#[test]
fn a_directory_in_use_is_refused_with_the_process() {
    let dir = TempDir::new().unwrap();
    let journal = open(dir.path());
    let message = format!(
        "{} is in use by process {}",
        dir.path().display(),
        std::process::id()
    );
    assert_eq!(refusal(dir.path()), message);
    assert_eq!(open_read(dir.path()).unwrap_err().to_string(), message);
    drop(journal);
    open(dir.path());
}

#[test]
fn a_later_format_is_refused_before_the_store_is_touched() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.settle(&[], 0).unwrap();
    drop(journal);
    let before = fs::read(dir.path().join(STORE_FILE)).unwrap();
    let version = format!("journal format {}\nwritten by xavantes 9.7.1\n", FORMAT + 1);
    fs::write(dir.path().join("version"), version).unwrap();
    assert_eq!(
        refusal(dir.path()),
        format!(
            "{} was written by xavantes 9.7.1 (journal format {}), this program reads up to {FORMAT}",
            dir.path().display(),
            FORMAT + 1
        )
    );
    assert!(fs::read(dir.path().join(STORE_FILE)).unwrap() == before);
}

#[test]
fn a_missing_or_damaged_version_is_refused() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"kept")])]).unwrap();
    drop(journal);
    fs::write(dir.path().join("version"), "garbage").unwrap();
    assert!(refusal(dir.path()).contains("it is damaged"));
    fs::write(dir.path().join("version"), "").unwrap();
    assert!(refusal(dir.path()).contains("it is missing or empty"));
    fs::remove_file(dir.path().join("version")).unwrap();
    assert!(refusal(dir.path()).contains("it is missing"));
    fs::write(
        dir.path().join("version"),
        format!("journal format {FORMAT}\nwritten by xavantes 0.1.0\n"),
    )
    .unwrap();
    assert!(!open(dir.path()).2.unclean, "a refused start is no crash");
}

#[test]
fn a_journal_without_commits_is_begun_again_if_a_power_cut_took_its_version() {
    let dir = TempDir::new().unwrap();
    drop(open(dir.path()));
    let version = dir.path().join("version");
    fs::remove_file(&version).unwrap();
    assert!(!may_have_commits(dir.path()));
    drop(open(dir.path()));
    // Its name may be there, and its content not.
    let whole = fs::read(&version).unwrap();
    for left in [vec![], vec![0; whole.len()]] {
        fs::write(&version, left).unwrap();
        assert!(open(dir.path()).2.created);
        assert_eq!(fs::read(&version).unwrap(), whole);
    }
    // Or be there in memory alone, so all is written anew before the first commit, and never after it.
    let file = || fs::metadata(&version).unwrap().ino();
    let before = file();
    let (mut journal, histories, opened) = open(dir.path());
    assert!(opened.created && histories.is_empty());
    assert_ne!(file(), before);
    journal.commit(&[events(1, &[("p", b"kept")])]).unwrap();
    drop(journal);
    assert!(may_have_commits(dir.path()));
    let before = file();
    assert_eq!(open(dir.path()).1.len(), 1);
    assert_eq!(file(), before);
}

#[test]
fn the_version_file_names_the_last_writer() {
    let dir = TempDir::new().unwrap();
    drop(open(dir.path()));
    let (_, _, opened) = Journal::open(dir.path(), &Options::new("0.2.0")).unwrap();
    assert_eq!(opened.written_by.as_deref(), Some("0.1.0"));
    let (_, opened) = open_read(dir.path()).unwrap();
    assert_eq!(opened.written_by.as_deref(), Some("0.2.0"));
}

#[test]
fn an_earlier_format_is_refused_before_the_store_is_touched() {
    let dir = TempDir::new().unwrap();
    drop(open(dir.path()));
    let version = dir.path().join("version");
    fs::write(&version, "journal format 3\nwritten by xavantes 0.1.0\n").unwrap();
    let said = refusal(dir.path());
    assert!(said.contains("reads formats from 4 on"), "{said}");
    let after = fs::read_to_string(&version).unwrap();
    assert!(after.starts_with("journal format 3"), "{after}");
}

#[test]
fn a_full_tail_moves_to_the_store_in_bulk() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    let event = drawn(5, 3000);
    let n_commits = 3 * TAIL_BYTES as u64 / 3000;
    let mut n_settled = 0;
    for number in 0..n_commits {
        journal.commit(&[events(number, &[("p", &event)])]).unwrap();
        n_settled += u32::from(journal.tail.is_empty());
    }
    assert!((2..=4).contains(&n_settled), "{n_settled}");
    let tail = fs::metadata(dir.path().join(TAIL_FILE)).unwrap();
    assert_eq!(tail.len(), TAIL_BYTES as u64);
    let killed = TempDir::new().unwrap();
    damage::copy_directory(dir.path(), killed.path());
    let (histories, opened) = open_read(killed.path()).unwrap();
    assert_eq!((opened.n_commits, opened.n_events), (n_commits, n_commits));
    assert!(histories[0].tail.iter().all(|kept| kept == &event));
}

#[test]
fn a_creation_that_was_cut_off_begins_again() {
    let dir = TempDir::new().unwrap();
    fs::write(
        dir.path().join("version"),
        format!("journal format {FORMAT}\nwritten by xavantes 0.1.0\n"),
    )
    .unwrap();
    fs::write(dir.path().join("events.draft"), "half a store").unwrap();
    assert!(open(dir.path()).2.created);
}

#[test]
fn there_is_a_store_once_there_was_more_than_the_tail_holds() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    journal.close().unwrap();
    assert!(!dir.path().join(STORE_FILE).exists());
    let (mut journal, histories, opened) = open(dir.path());
    assert_eq!((histories.len(), opened.file_bytes), (1, 0));
    assert!(!opened.created && !opened.unclean);
    let filling = drawn(7, TAIL_BYTES - 20);
    journal.commit(&[events(2, &[("p", &filling)])]).unwrap();
    journal.close().unwrap();
    assert!(dir.path().join(STORE_FILE).exists());
    let (_, histories, opened) = open(dir.path());
    assert_eq!(histories[0].tail, [filling]);
    assert!(opened.file_bytes > 0);
}

#[test]
fn a_store_that_was_deleted_is_told() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    journal.settle(&[], 1).unwrap();
    journal.commit(&[events(2, &[("p", b"event")])]).unwrap();
    drop(journal);
    fs::remove_file(dir.path().join(STORE_FILE)).unwrap();
    assert!(refusal(dir.path()).starts_with("commit 1 in"));
    fs::remove_file(dir.path().join(TAIL_FILE)).unwrap();
    assert!(refusal(dir.path()).contains("ends at commit 0, and commit 2 had been acknowledged"));
    assert!(matches!(
        open_read(&dir.path().join("none")),
        Err(OpenError::Missing { .. })
    ));
}

#[test]
fn a_full_disk_ends_the_journal_and_loses_nothing() {
    let dir = TempDir::new().unwrap();
    let Some(disk) = SmallDisk::mount(dir.path()) else {
        return;
    };
    let (mut journal, ..) = open(disk.0);
    let mut n_durable = 0;
    let error = loop {
        match journal.commit(&[events(n_durable, &[("p", &drawn(7, 100_000))])]) {
            Ok(()) => n_durable += 1,
            Err(error) => break error,
        }
    };
    let CommitError::Store(source) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(source.io().unwrap().kind(), std::io::ErrorKind::StorageFull);
    drop(journal);
    // A copy elsewhere, because opening for writing needs space as well.
    let copy = TempDir::new().unwrap();
    damage::copy_directory(disk.0, copy.path());
    let (_, histories, opened) = open(copy.path());
    assert!(
        opened.unclean && opened.n_events >= n_durable && n_durable > 5,
        "{opened:?}"
    );
    assert!(
        histories[0]
            .tail
            .iter()
            .all(|event| *event == drawn(7, 100_000))
    );
    let again = Journal::open(disk.0, &options());
    assert!(again.is_ok() || again.is_err_and(|error| matches!(error, OpenError::Store { .. })));
}

#[test]
fn commits_on_a_full_disk_use_the_reserve() {
    const RESERVE: u64 = 24 << 20;
    let dir = TempDir::new().unwrap();
    let Some(disk) = SmallDisk::of(dir.path(), 80) else {
        return;
    };
    let with_reserve = Options {
        reserve_bytes: RESERVE,
        ..options()
    };
    let length = || fs::metadata(disk.0.join("reserve")).unwrap().len();
    let (mut journal, ..) = Journal::open(disk.0, &with_reserve).unwrap();
    assert_eq!(length(), RESERVE);
    assert!(crate::room(disk.0, RESERVE).unwrap() > 50 << 20);
    fill(disk.0);
    assert_eq!(crate::room(disk.0, RESERVE).unwrap(), 0);
    // More than the tail holds, several times.
    let mut n_durable = 0;
    while n_durable < 30 {
        let event = events(n_durable, &[("p", &drawn(7, 100_000))]);
        journal.commit(&[event]).unwrap();
        n_durable += 1;
    }
    assert!(length() < RESERVE, "{}", length());
    // Released space is taken back.
    assert_eq!(crate::room(disk.0, RESERVE).unwrap(), 0);
    drop(journal);
    let (mut journal, histories, _) = Journal::open(disk.0, &with_reserve).unwrap();
    assert_eq!(histories[0].tail.len() as u64 + 1, n_durable);
    assert!(length() < RESERVE);
    fs::remove_file(disk.0.join("ballast")).unwrap();
    let event = events(n_durable, &[("p", b"room")]);
    journal.commit(&[event]).unwrap();
    assert_eq!(length(), RESERVE);
    // Beyond the reserve, the journal fails and loses nothing.
    fill(disk.0);
    let error = loop {
        n_durable += 1;
        match journal.commit(&[events(n_durable, &[("p", &drawn(7, 400_000))])]) {
            Ok(()) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(error, CommitError::Store(_)), "{error:?}");
    drop(journal);
    fs::remove_file(disk.0.join("ballast")).unwrap();
    let (_, histories, _) = Journal::open(disk.0, &with_reserve).unwrap();
    assert!(histories[0].tail.len() as u64 + 1 >= n_durable);
}

/// Writes a file until no byte more fits.
fn fill(dir: &Path) {
    let path = dir.join("ballast");
    let mut file = fs::OpenOptions::new();
    let mut file = file.append(true).create(true).open(path).unwrap();
    for bytes in [1 << 20, 4096, 1] {
        while std::io::Write::write_all(&mut file, &vec![1; bytes]).is_ok() {}
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test that needs mount and umount"
)]
fn command(name: &str) -> std::process::Command {
    std::process::Command::new(name)
}

/// A file system of 8 MiB, if the test may mount one.
struct SmallDisk<'d>(&'d Path);

impl SmallDisk<'_> {
    /// Mounts one of 8 MiB.
    fn mount(dir: &Path) -> Option<SmallDisk<'_>> {
        SmallDisk::of(dir, 8)
    }

    fn of(dir: &Path, mebibytes: u32) -> Option<SmallDisk<'_>> {
        let size = format!("size={mebibytes}m");
        let mounted = command("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(dir)
            .stderr(std::process::Stdio::null())
            .status();
        if mounted.is_ok_and(|status| status.success()) {
            return Some(SmallDisk(dir));
        }
        use std::io::Write;
        writeln!(
            std::io::stderr(),
            "SKIPPED: a full disk, since no tmpfs can be mounted"
        )
        .unwrap();
        None
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = command("umount").arg("-l").arg(self.0).status();
    }
}

/// A step of a batch; the test leaves out snapshots of unknown streams.
#[derive(Clone, Debug)]
enum Step {
    Event(u8, Vec<u8>),
    Big(u8),
    Snapshot(u8, Vec<u8>),
    /// A snapshot with a chapter, perhaps one of many parts.
    Chapter(u8, u32, bool),
    Forget(u8),
    EndOfBatch,
    Commit,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let bytes = || prop::collection::vec(any::<u8>(), 0..40);
    let stream = 0_u8..4;
    let step = prop_oneof![
        12 => (stream.clone(), bytes()).prop_map(|(stream, event)| Step::Event(stream, event)),
        1 => stream.clone().prop_map(Step::Big),
        2 => (stream.clone(), bytes()).prop_map(|(stream, bytes)| Step::Snapshot(stream, bytes)),
        3 => (stream.clone(), 0_u32..3, any::<bool>())
            .prop_map(|(stream, number, is_big)| Step::Chapter(stream, number, is_big)),
        1 => stream.prop_map(Step::Forget),
        5 => Just(Step::EndOfBatch),
        3 => Just(Step::Commit),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]
    #[test]
    fn replay_gives_what_was_committed(steps in steps()) {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        let (mut model, mut batches, mut batch) = (Model::default(), Vec::new(), Batch::default());
        // The streams once the present batch is applied.
        let close = |batch: &mut Batch, batches: &mut Vec<Batch>, model: &mut Model| {
            let mut known = model.clone();
            known.apply(&Batch { events: batch.events.clone(), ..Batch::default() });
            batch.snapshots.retain(|(stream, _)| known.0.iter().any(|h| h.stream == *stream));
            batch.chapters.retain(|(stream, ..)| known.0.iter().any(|h| h.stream == *stream));
            model.apply(batch);
            batches.push(std::mem::take(batch));
        };
        for step in steps.into_iter().chain([Step::Reopen]) {
            match step {
                Step::Event(stream, event) => batch.events.push((StreamKey(vec![stream]), event)),
                Step::Big(stream) => {
                    batch.events.push((StreamKey(vec![stream]), drawn(stream, BIG_BYTES / 2)));
                }
                Step::Snapshot(stream, bytes) => {
                    batch.snapshots.push((StreamKey(vec![stream]), bytes));
                }
                Step::Chapter(stream, number, is_big) => {
                    let len = if is_big { BIG_BYTES } else { 9 };
                    let (stream, number) = (StreamKey(vec![stream]), number);
                    let bytes = drawn(batch.events.len() as u8, len);
                    batch.snapshots.push((stream.clone(), vec![1]));
                    batch.chapters.push((stream, number, bytes));
                }
                Step::Forget(stream) => batch.forgotten.push(StreamKey(vec![stream])),
                Step::EndOfBatch => close(&mut batch, &mut batches, &mut model),
                Step::Commit | Step::Reopen => {
                    close(&mut batch, &mut batches, &mut model);
                    journal.commit(&batches).unwrap();
                    batches.clear();
                    if matches!(step, Step::Reopen) {
                        drop(journal);
                        let histories;
                        (journal, histories, _) = open(dir.path());
                        prop_assert_eq!(&histories, &model.0);
                    }
                }
            }
        }
    }
}

#[test]
fn a_damaged_stream_can_be_removed() {
    // The tail's content when the program is killed: of this and the other stream, or of this
    // alone.
    remove_beside(&[("p", b"three"), ("q", b"two")], 2);
    remove_beside(&[("p", b"three")], 1);
}

fn remove_beside(in_tail: &[(&str, &[u8])], n_left: usize) {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal
        .commit(&[events(1, &[("p", b"founding"), ("q", b"founding")])])
        .unwrap();
    journal
        .commit(&[events(2, &[("p", b"one"), ("q", b"one"), ("p", b"two")])])
        .unwrap();
    journal.settle(&[], 2).unwrap();
    journal.commit(&[events(3, in_tail)]).unwrap();
    let killed = TempDir::new().unwrap();
    damage::copy_directory(dir.path(), killed.path());
    drop(journal);
    let dir = killed;
    damage::alter_row(
        dir.path(),
        RowKey {
            stream_id: 0,
            kind: Kind::Chunk,
            number: 1,
            part: 0,
        },
    );

    let Err(OpenError::Damaged(damage)) = Journal::open(dir.path(), &options()) else {
        panic!()
    };
    assert_eq!(
        damage.to_string(),
        format!(
            "event 1 of stream `p` in {} is damaged (wrong checksum): \
             restore the directory from a copy, or remove this stream (number 0)",
            dir.path().join(STORE_FILE).display()
        )
    );
    assert_eq!(
        remove_stream(dir.path(), damage.stream_id.unwrap()).unwrap(),
        2
    );
    let (mut journal, histories, opened) = open(dir.path());
    assert_eq!((histories.len(), opened.n_commits), (1, 3));
    assert_eq!(
        (&histories[0].stream, histories[0].tail.len()),
        (&key("q"), n_left)
    );
    journal.commit(&[events(4, &[("q", b"last")])]).unwrap();
    drop(journal);
    assert_eq!(open(dir.path()).1[0].tail.len(), n_left + 1);
}

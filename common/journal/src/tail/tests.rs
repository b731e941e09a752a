use std::fs;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Bytes of a change beside its stream's key and its own bytes, without the number of a chapter.
const CHANGE_BYTES: usize = 6;

fn key(name: &str) -> StreamKey {
    StreamKey(name.as_bytes().to_vec())
}

fn open(dir: &Path) -> Tail {
    let mut found = Tail::read(dir, 0).unwrap();
    let mut unflushed = Unflushed::default();
    found.tail.open(dir, &mut unflushed).unwrap();
    unflushed.flush().unwrap();
    found.tail
}

/// Appends one event as the commit of that number.
fn append(tail: &mut Tail, number: u64, event: &[u8]) -> bool {
    let stream = key("stream");
    let changes = [(&stream, What::Event(event))];
    tail.append(number, changes.into_iter()).unwrap()
}

/// Bytes that cannot be packed.
fn drawn(n_bytes: usize) -> Vec<u8> {
    let mut state = 7_u32;
    let draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    std::iter::repeat_with(draw).take(n_bytes).collect()
}

/// The events of the commits after the given one, and true if an unfinished one was cut off.
fn events(dir: &Path, n_stored: u64) -> Result<(Vec<Vec<u8>>, u64, bool), String> {
    let found = match Tail::read(dir, n_stored) {
        Ok(found) => found,
        Err(TailError::Damage(place, what)) => return Err(format!("{place} {what}")),
        Err(TailError::Directory(error)) => return Err(error.to_string()),
    };
    let payloads = found.tail.payloads().unwrap();
    let events = changes(&payloads)
        .unwrap()
        .into_iter()
        .map(|(_, what)| what.bytes().to_vec())
        .collect();
    Ok((events, found.n_commits, found.is_cut))
}

#[test]
fn frames_come_back_in_their_order() {
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    let (p, q) = (key("p"), key("q"));
    let first = [
        (&p, What::Found(b"founding")),
        (&q, What::Event(b"")),
        (&p, What::Snapshot(b"state")),
        (&p, What::Chapter(9, b"nine")),
    ];
    assert!(tail.append(1, first.into_iter()).unwrap());
    assert!(tail.append(2, std::iter::empty()).unwrap());
    assert!(tail.append(3, [(&q, What::Forget)].into_iter()).unwrap());
    let found = Tail::read(dir.path(), 0).unwrap();
    assert_eq!((found.n_commits, found.is_cut), (3, false));
    let expected = [
        (p.clone(), What::Found(b"founding")),
        (q.clone(), What::Event(b"")),
        (p.clone(), What::Snapshot(b"state")),
        (p, What::Chapter(9, b"nine")),
        (q, What::Forget),
    ];
    let payloads = found.tail.payloads().unwrap();
    assert_eq!(changes(&payloads).unwrap(), expected);
    assert_eq!(tail.payloads().unwrap(), payloads);
}

#[test]
fn a_commit_of_much_alike_takes_fewer_bytes() {
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    let stream = key("a process");
    let events: Vec<Vec<u8>> = (0..40_u8)
        .map(|n| [b"an activity has ended ".as_slice(), &[n]].concat())
        .collect();
    let commit = events.iter().map(|event| (&stream, What::Event(event)));
    let plain: usize = commit
        .clone()
        .map(|(stream, what)| CHANGE_BYTES + stream.0.len() + what.len())
        .sum();
    assert!(append(&mut tail, 1, b"before"));
    let start = tail.bytes();
    assert!(tail.append(2, commit).unwrap());
    let taken = tail.bytes() - start;
    assert!(taken < plain / 3, "{taken} of {plain}");
    assert!(append(&mut tail, 3, b"after"));
    let mut expected = vec![b"before".to_vec()];
    expected.extend(events);
    expected.push(b"after".to_vec());
    assert_eq!(self::events(dir.path(), 0).unwrap(), (expected, 3, false));
}

#[test]
fn a_frame_of_the_earlier_form_is_read() {
    let dir = TempDir::new().unwrap();
    let stream = key("stream");
    let event = vec![7; 400];
    let mut frame = vec![0; HEAD_BYTES];
    append_change(&mut frame, (&stream, What::Event(&event)));
    seal(&mut frame, 1, Secret::default());
    fs::write(dir.path().join(TAIL_FILE), &frame).unwrap();
    assert_eq!(
        events(dir.path(), 0).unwrap(),
        (vec![event.clone()], 1, false)
    );
    let mut tail = open(dir.path());
    assert!(append(&mut tail, 2, &event));
    assert_eq!(
        events(dir.path(), 0).unwrap(),
        (vec![event.clone(), event], 2, false)
    );
}

#[test]
fn commits_that_do_not_fit_are_not_written() {
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    let half = drawn(TAIL_BYTES / 2);
    assert!(append(&mut tail, 1, &half));
    let before = fs::read(dir.path().join(TAIL_FILE)).unwrap();
    assert!(!append(&mut tail, 2, &half));
    assert!(fs::read(dir.path().join(TAIL_FILE)).unwrap() == before);
    assert!(append(&mut tail, 2, b"small"));
    let exactly = TAIL_BYTES - 3 * HEAD_BYTES - CHANGE_BYTES - "stream".len();
    tail.clear();
    assert!(append(&mut tail, 3, b""));
    assert!(!append(&mut tail, 4, &drawn(exactly)));
    let exactly = exactly - CHANGE_BYTES - "stream".len();
    assert!(append(&mut tail, 4, &drawn(exactly)));
    assert_eq!(tail.bytes(), TAIL_BYTES);
    assert_eq!(events(dir.path(), 2).unwrap().1, 4);
    assert!(!tail.append(5, std::iter::empty()).unwrap());
    let file = fs::metadata(dir.path().join(TAIL_FILE)).unwrap();
    assert_eq!(file.len(), TAIL_BYTES as u64);
}

#[test]
fn a_power_cut_at_any_byte_leaves_all_earlier_commits() {
    // Before the cut there may be zeros, or longer or shorter frames of an earlier round: in each
    // case `three` is being written.
    for earlier in [0, 9, 200] {
        let dir = TempDir::new().unwrap();
        let mut tail = open(dir.path());
        let path = dir.path().join(TAIL_FILE);
        for number in 1..=10 * u64::from(earlier > 0) {
            assert!(append(&mut tail, number, &vec![b'x'; earlier]));
        }
        let n_stored = 10 * u64::from(earlier > 0);
        tail.clear();
        assert!(append(&mut tail, n_stored + 1, b"one"));
        assert!(append(&mut tail, n_stored + 2, b"two two"));
        // Everything that was ever written; the rest is zeros.
        let read = || fs::read(&path).unwrap()[..4096].to_vec();
        let before = read();
        let start = tail.bytes();
        assert!(append(&mut tail, n_stored + 3, b"three three three"));
        let after = read();
        let end = tail.bytes();
        let mut n_told = 0;
        for at in start..=end {
            let mut cut = before.clone();
            cut[start..at].copy_from_slice(&after[start..at]);
            fs::write(&path, &cut).unwrap();
            let (events, n_commits, is_cut) = events(dir.path(), n_stored).unwrap();
            let n_events = if at == end { 3 } else { 2 };
            assert_eq!(n_commits, n_stored + n_events, "at {at}");
            assert_eq!(events.len() as u64, n_events);
            n_told += u32::from(is_cut);
            // A cut file as well: its length may not have reached the disk.
            fs::write(&path, &cut[..at]).unwrap();
            assert_eq!(self::events(dir.path(), n_stored).unwrap().0, events);
        }
        assert!(n_told > 16, "{n_told}");
    }
}

#[test]
fn a_commit_after_one_that_was_cut_takes_its_place() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(TAIL_FILE);
    let mut tail = open(dir.path());
    assert!(append(&mut tail, 1, b"one"));
    assert!(append(&mut tail, 2, &drawn(300)));
    let mut bytes = fs::read(&path).unwrap();
    bytes[200] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(
        events(dir.path(), 0).unwrap(),
        (vec![b"one".to_vec()], 1, true)
    );

    let mut tail = open(dir.path());
    assert!(append(&mut tail, 2, b"another"));
    assert_eq!(
        events(dir.path(), 0).unwrap(),
        (vec![b"one".to_vec(), b"another".to_vec()], 2, false)
    );
}

#[test]
fn commits_in_the_store_are_skipped() {
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    for number in 1..=3 {
        assert!(append(&mut tail, number, b"event"));
    }
    assert_eq!(events(dir.path(), 3).unwrap(), (vec![], 3, false));
    // The next round begins over the first one's frames.
    tail.clear();
    assert!(append(&mut tail, 4, b"fourth"));
    assert_eq!(events(dir.path(), 3).unwrap().0, [b"fourth".to_vec()]);
    assert_eq!(
        events(dir.path(), 2).unwrap_err(),
        "commit 3 is damaged or missing"
    );
    assert_eq!(
        events(dir.path(), 0).unwrap_err(),
        "one of the commits 1 to 3 is damaged or missing"
    );
}

#[test]
fn damage_before_the_last_commit_is_told() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(TAIL_FILE);
    let mut tail = open(dir.path());
    let mut ends = Vec::new();
    for number in 1..=4 {
        assert!(append(&mut tail, number, &[number as u8; 20]));
        ends.push(tail.bytes());
    }
    let whole = fs::read(&path).unwrap()[..4096].to_vec();
    for at in 0..ends[3] {
        for bit in [0, 3, 7] {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            fs::write(&path, bytes).unwrap();
            let number = ends.partition_point(|end| *end <= at) as u64 + 1;
            if at < HEAD_BYTES {
                assert_eq!(
                    events(dir.path(), 0).unwrap_err(),
                    "the beginning of the file is damaged"
                );
            } else if number < 4 {
                assert_eq!(
                    events(dir.path(), 0).unwrap_err(),
                    format!("commit {number} is damaged or missing")
                );
            } else {
                // As if it was never finished: the acknowledgement is stored elsewhere.
                assert_eq!(events(dir.path(), 0).unwrap().1, 3);
            }
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..300),
        number in 0..3_u64,
        sealed in any::<bool>(),
    ) {
        let dir = TempDir::new().unwrap();
        if sealed && bytes.len() > HEAD_BYTES {
            // A correct checksum over an invalid frame.
            seal(&mut bytes, number + 1, Secret::default());
        }
        fs::write(dir.path().join(TAIL_FILE), &bytes).unwrap();
        if let Ok(found) = Tail::read(dir.path(), number) {
            let _ = found.tail.payloads().as_deref().map(changes);
        }
    }
}

#[test]
fn a_new_file_is_small_and_grows_once() {
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    let bytes = || fs::metadata(dir.path().join(TAIL_FILE)).unwrap().len();
    let third = drawn(TAIL_FIRST_BYTES / 3);
    assert!(append(&mut tail, 1, &third));
    assert!(append(&mut tail, 2, &third));
    assert_eq!(bytes(), TAIL_FIRST_BYTES as u64);
    assert!(append(&mut tail, 3, &third));
    assert_eq!(bytes(), TAIL_BYTES as u64);
    assert_eq!(events(dir.path(), 0).unwrap().1, 3);
    // It stays so: another program begins with it.
    let mut tail = open(dir.path());
    let number = events(dir.path(), 0).unwrap().1 + 1;
    assert!(append(&mut tail, number, &drawn(TAIL_BYTES / 2)));
    assert_eq!(events(dir.path(), 0).unwrap().1, 4);
    assert_eq!(bytes(), TAIL_BYTES as u64);
}

#[test]
fn no_text_in_an_event_is_taken_for_a_frame() {
    let forged: Vec<u8> = (1..200)
        .flat_map(|number| {
            let mut frame = [0; HEAD_BYTES];
            seal(&mut frame, number, Secret::default());
            [drawn(1000).as_slice(), &frame].concat()
        })
        .collect();
    let dir = TempDir::new().unwrap();
    let mut tail = open(dir.path());
    assert!(append(&mut tail, 1, &forged));
    assert!(append(&mut tail, 2, b"two"));
    // The text is among the remains now.
    tail.clear();
    assert!(append(&mut tail, 3, b"three"));
    assert_eq!(
        events(dir.path(), 2).unwrap(),
        (vec![b"three".to_vec()], 3, false)
    );
    // Nor is it where the commit that has it was never finished.
    let path = dir.path().join(TAIL_FILE);
    assert!(append(&mut tail, 4, &forged));
    let mut bytes = fs::read(&path).unwrap();
    bytes[tail.bytes() - 1] ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(
        events(dir.path(), 2).unwrap(),
        (vec![b"three".to_vec()], 3, true)
    );
}

#[test]
fn a_file_of_an_earlier_format_gets_a_head_with_its_next_round() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join(TAIL_FILE);
    let stream = key("stream");
    let mut file = Vec::new();
    for number in 1..=30 {
        let mut frame = vec![0; HEAD_BYTES];
        append_change(&mut frame, (&stream, What::Event(&[9; 70])));
        seal(&mut frame, number, Secret::default());
        file.extend(frame);
    }
    fs::write(&path, &file).unwrap();
    let mut tail = open(dir.path());
    tail.clear();
    let before = fs::read(&path).unwrap();
    assert!(append(&mut tail, 31, &drawn(2 * SECTOR_BYTES)));
    let after = fs::read(&path).unwrap();
    assert_eq!(events(dir.path(), 30).unwrap().1, 31);
    // Of a power cut in between some sectors are there, in any order.
    let n_sectors = tail.bytes().div_ceil(SECTOR_BYTES);
    for written in 0..1 << n_sectors {
        let mut bytes = before.clone();
        for sector in (0..n_sectors).filter(|sector| written & (1 << sector) != 0) {
            let range = sector * SECTOR_BYTES..(sector + 1) * SECTOR_BYTES;
            bytes[range.clone()].copy_from_slice(&after[range]);
        }
        fs::write(&path, &bytes).unwrap();
        let is_all = written + 1 == 1 << n_sectors;
        let n_commits = events(dir.path(), 30).unwrap().1;
        assert_eq!(n_commits, 30 + u64::from(is_all), "{written:b}");
    }
}

//! A process that commits in a loop is killed at any moment: no acknowledged commit is lost.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use journal::{Batch, Committer, Journal, Options, Report, StreamKey, open_read};
use tempfile::TempDir;

/// Tells the child that the test has started it, in its working directory.
const START_FILE: &str = "started-by-the-test";

const N_KILLS: u64 = 20;

/// Event `n` of the journal, of a length that depends on it: long enough that the tail is full
/// after some fifty commits, and some kills happen while the store is written.
fn event(n: u64) -> Vec<u8> {
    let mut bytes = n.to_be_bytes().to_vec();
    bytes.resize(8 + (n * 7919 % 7000) as usize, n as u8);
    bytes
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the child is this test itself")]
fn nothing_acknowledged_is_lost_by_kills() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join(START_FILE), "").unwrap();
    let state = dir.path().join("state");
    let mut n_events = 0;
    for kill in 0..N_KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_commits_until_it_is_killed", "--nocapture"])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut acknowledged = n_events;
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for _ in 0..3 + kill * 13 % 29 {
            acknowledged = next_number(&mut lines).expect("the child goes on until it is killed");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        // Acknowledgements before its death count as well.
        while let Some(number) = next_number(&mut lines) {
            acknowledged = number;
        }
        assert!(acknowledged > n_events, "the child came no further");

        let (histories, opened) = open_read(&state).unwrap();
        assert!(opened.unclean, "{opened:?}");
        let tail = &histories[0].tail;
        let covered = histories[0]
            .snapshot
            .as_ref()
            .map_or(1, |snapshot| number(snapshot) + 1);
        n_events = covered + tail.len() as u64;
        assert!(
            n_events >= acknowledged,
            "{acknowledged} acknowledged, {n_events} there"
        );
        assert_eq!(histories[0].founding, event(0));
        for (n, bytes) in (covered..).zip(tail) {
            assert_eq!(*bytes, event(n));
        }
    }
}

fn number(bytes: &[u8]) -> u64 {
    u64::from_be_bytes(bytes[..8].try_into().expect("a slice of 8 bytes"))
}

/// The next acknowledged number, ignoring the test harness's output; none at the end.
fn next_number(lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Option<u64> {
    lines.find_map(|line| {
        line.ok()?
            .strip_prefix("ack ")?
            .strip_suffix(" .")?
            .parse()
            .ok()
    })
}

#[test]
fn child_commits_until_it_is_killed() {
    let dir = std::env::current_dir().unwrap();
    if !dir.join(START_FILE).exists() {
        return;
    }
    let options = Options::new("0.1.0");
    let (journal, histories, _) = Journal::open(&dir.join("state"), &options).unwrap();
    let mut n = histories.first().map_or(0, |history| {
        let covered = history
            .snapshot
            .as_ref()
            .map_or(1, |snapshot| number(snapshot) + 1);
        covered + history.tail.len() as u64
    });
    let stream = StreamKey(b"process".to_vec());
    let committer = Committer::start(journal, |report| {
        let Report::Flushed(n) = report else { return };
        writeln!(std::io::stdout(), "ack {n} .").unwrap();
    })
    .unwrap();
    // Ends with the process, which the other side kills.
    loop {
        let mut batch = Batch::default();
        for _ in 0..=n % 5 {
            batch.events.push((stream.clone(), event(n)));
            n += 1;
        }
        if n % 31 == 0 {
            batch
                .snapshots
                .push((stream.clone(), (n - 1).to_be_bytes().to_vec()));
        }
        batch.number = n;
        if committer.commit(batch).is_err() {
            return;
        }
    }
}

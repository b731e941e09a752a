use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;

use model::{Artifact, Produced};
use tempfile::TempDir;

use super::*;

const MIB: u64 = 1 << 20;

/// A store with quotas of 8 MiB for users and 3 MiB for attempts.
struct Bench {
    dir: TempDir,
    store: Store,
    quotas: Quotas,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("blobs")).unwrap();
        let limits = QuotaLimits {
            attempt: Some(Bytes(3 * MIB)),
            user: Bytes(8 * MIB),
            file: Bytes(64 * MIB),
        };
        let users = ProcessUsers::default();
        for (process, user) in [(1, "ana"), (2, "ana"), (3, "bo")] {
            users.note(ProcessId(process), user);
        }
        let quotas = Quotas::new(store.clone(), limits, users);
        Bench { dir, store, quotas }
    }

    /// The outputs of an attempt of a process, as workers store them.
    fn leave(&self, process: u64, name: &str) -> Result<Vec<Artifact>, Trouble> {
        let output = Produced {
            name: "out".to_owned(),
            path: name.to_owned(),
        };
        let room = self.quotas.room(ProcessId(process));
        let owners = BTreeSet::new();
        let collected =
            self.store
                .collect_within(&owners, room.limits(), self.dir.path(), &[output]);
        let artifacts = collected.map_err(|error| room.trouble(&error).unwrap())?;
        self.store.pin(process, &artifacts).unwrap();
        Ok(artifacts)
    }

    fn file(&self, name: &str, bytes: u64) {
        let mut state = bytes;
        let noise: Vec<u8> = (0..bytes)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        fs::write(self.dir.path().join(name), noise).unwrap();
    }
}

#[test]
fn an_attempt_leaves_no_more_than_one_may_and_is_told_whose_bound_that_is() {
    let bench = Bench::new();
    bench.file("fits", 2 * MIB);
    bench.leave(1, "fits").unwrap();
    bench.file("large", 4 * MIB);
    let refused = bench.leave(1, "large").unwrap_err();
    assert_eq!(refused.name, FaultName::TooLarge);
    assert_eq!(
        refused.message,
        "output `out` does not fit: `large` takes 4.0 MiB. The outputs of one attempt take at most \
         3.0 MiB on this machine (`output-gibibytes-max` in its am.toml)"
    );
    // The files of a directory count together.
    fs::create_dir(bench.dir.path().join("many")).unwrap();
    for number in 1..=4 {
        bench.file(&format!("many/{number}"), MIB - number);
    }
    let refused = bench.leave(1, "many/").unwrap_err().message;
    assert!(
        refused.contains("does not fit: `4` takes 1.0 MiB"),
        "{refused}"
    );
}

#[test]
fn a_hole_takes_no_room() {
    let bench = Bench::new();
    let path = bench.dir.path().join("hole");
    File::create(&path).unwrap().set_len(64 * MIB).unwrap();
    let artifacts = bench.leave(1, "hole").unwrap();
    assert_eq!(artifacts[0].bytes, Bytes(64 * MIB));
    assert!(bench.store.pinned([1]) < Bytes(MIB));
}

#[test]
fn a_file_whose_holes_make_it_longer_than_others_take_is_refused_before_it_is_read() {
    let bench = Bench::new();
    let path = bench.dir.path().join("hole");
    let file = File::create(&path).unwrap();
    // To hash it would take hours.
    file.set_len(8 << 40).unwrap();
    let refused = bench.leave(1, "hole").unwrap_err();
    assert_eq!(refused.name, FaultName::TooLarge);
    assert_eq!(
        refused.message,
        "output `out` is too long: the length of `hole` is 8.0 TiB, with its holes, and that of a file is at \
         most 64.0 MiB on this machine (`file-gibibytes-max` in its am.toml)"
    );
    // So is one in a directory.
    fs::create_dir(bench.dir.path().join("many")).unwrap();
    fs::rename(path, bench.dir.path().join("many/hole")).unwrap();
    assert_eq!(
        bench.leave(1, "many/").unwrap_err().name,
        FaultName::TooLarge
    );
}

#[test]
fn the_processes_of_a_user_share_what_the_user_may_have_until_they_end() {
    let bench = Bench::new();
    for number in 1..=3 {
        let name = format!("part{number}");
        bench.file(&name, 2 * MIB + number);
        bench.leave(number % 2 + 1, &name).unwrap();
    }
    bench.file("more", 2 * MIB);
    let refused = bench.leave(1, "more").unwrap_err();
    assert_eq!(refused.name, FaultName::DiskFull);
    assert!(
        refused.message.contains(
            "The live processes of ana have 6.0 MiB of files on this machine, and may have 8.0 MiB"
        ),
        "{}",
        refused.message
    );
    // Other users have their own quota, and an ended process does not count.
    bench.leave(3, "more").unwrap();
    bench.store.unpin(2);
    bench.quotas.users.release(ProcessId(2));
    bench.leave(1, "more").unwrap();
}

#[test]
fn inputs_beyond_what_a_user_may_have_are_refused() {
    let bench = Bench::new();
    bench.file("input", 5 * MIB);
    let input = bench
        .store
        .add_file(&bench.dir.path().join(Path::new("input")))
        .unwrap();
    bench.store.pin(1, &[input]).unwrap();
    assert_eq!(bench.quotas.refuse_inputs(ProcessId(1)), Ok(()));
    // A missing file counts by its length.
    let wanted = Artifact {
        hash: model::Hash([7; 32]),
        bytes: Bytes(4 * MIB),
        ..input
    };
    bench.store.pin(2, &[wanted, input]).unwrap();
    let trouble = bench.quotas.refuse_inputs(ProcessId(2)).unwrap_err();
    assert_eq!(trouble.name, FaultName::DiskFull);
    assert!(
        trouble
            .message
            .starts_with("the inputs do not fit. The live processes of ana have")
    );
    assert_eq!(bench.quotas.refuse_inputs(ProcessId(3)), Ok(()));
    assert_eq!(bench.quotas.refuse_inputs(ProcessId(9)), Ok(()));
}

#[test]
fn processes_of_which_nobody_knows_the_user_are_bounded_as_attempts() {
    let bench = Bench::new();
    assert_eq!(bench.quotas.room(ProcessId(9)).left, Bytes(3 * MIB));
}

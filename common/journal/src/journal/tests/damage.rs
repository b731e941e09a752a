//! Files that were cut, torn and altered: exactly the acknowledged commits are returned, or an
//! error.

use redb::ReadableTable;

use super::*;

/// Moves the tail into the store, as the journal does when it is full.
fn settle(journal: &mut Journal) {
    journal.settle(&[], journal.n_commits).unwrap();
}

/// Opens the directory, which must be refused with a remedy, or return the content of `model`.
fn opens_or_refuses(dir: &Path, model: &Model, case: &str) -> bool {
    match Journal::open(dir, &options()) {
        Ok((_, histories, _)) => {
            assert_eq!(histories, model.0, "{case}");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("restore"), "{case}: {error}");
            false
        }
    }
}

pub(super) fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Changes one byte of a row through the store, whose own checksums are correct afterwards.
pub(super) fn alter_row(dir: &Path, key: RowKey) {
    let store = Database::open(dir.join(STORE_FILE)).unwrap();
    let transaction = store.begin_write().unwrap();
    {
        let mut records = transaction.open_table(RECORDS).unwrap();
        let mut value = records
            .get(&key.to_bytes())
            .unwrap()
            .unwrap()
            .value()
            .to_vec();
        *value.last_mut().unwrap() ^= 0x10;
        records.insert(&key.to_bytes(), value.as_slice()).unwrap();
    }
    transaction.commit().unwrap();
}

fn remove_row(dir: &Path, key: RowKey) {
    let store = Database::open(dir.join(STORE_FILE)).unwrap();
    let transaction = store.begin_write().unwrap();
    let removed = transaction
        .open_table(RECORDS)
        .unwrap()
        .remove(&key.to_bytes())
        .unwrap()
        .is_some();
    assert!(removed);
    transaction.commit().unwrap();
}

/// A small random generator, so that a case is identified by its number.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }
}

/// Random commits of mixed kinds.
fn drawn_batch(draw: &mut Draw, model: &Model) -> Batch {
    let mut batch = Batch::default();
    for _ in 0..=draw.below(12) {
        let stream = StreamKey(vec![b'a' + draw.below(5) as u8]);
        let length = if draw.below(10) == 0 {
            9000
        } else {
            draw.below(300)
        };
        batch
            .events
            .push((stream, vec![draw.below(256) as u8; length]));
    }
    if let Some(history) = model.0.first().filter(|_| draw.below(3) == 0) {
        batch
            .snapshots
            .push((history.stream.clone(), vec![7; draw.below(2000)]));
    }
    if let Some(history) = model.0.last().filter(|_| draw.below(8) == 0) {
        batch.forgotten.push(history.stream.clone());
    }
    batch
}

#[test]
fn lost_rows_are_found() {
    let row = |kind, number| RowKey {
        stream_id: 0,
        kind,
        number,
        part: 0,
    };
    for (lost, message) in [
        (
            row(Kind::Founding, 0),
            "the founding event of stream number 0",
        ),
        (row(Kind::Chunk, 1), "event 1 of stream `p`"),
        (row(Kind::Chunk, 2), "the set of records"),
    ] {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        for number in 0..3 {
            journal
                .commit(&[events(number, &[("p", b"event")])])
                .unwrap();
            settle(&mut journal);
        }
        drop(journal);
        remove_row(dir.path(), lost);
        let refusal = refusal(dir.path());
        assert!(refusal.starts_with(message), "{refusal}");
    }
}

#[test]
fn flipped_bits_and_cut_files_are_never_served() {
    for (closed, altered) in [(true, STORE_FILE), (false, STORE_FILE), (false, TAIL_FILE)] {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        let (mut model, mut draw) = (Model::default(), Draw(if closed { 1 } else { 2 }));
        for number in 0..25 {
            let batch = drawn_batch(&mut draw, &model);
            model.apply(&batch);
            journal.commit(&[batch]).unwrap();
            if number % 8 == 3 {
                settle(&mut journal);
            }
        }
        let copy = TempDir::new().unwrap();
        if closed {
            drop(journal);
            copy_directory(dir.path(), copy.path());
        } else {
            copy_directory(dir.path(), copy.path());
            drop(journal);
        }
        let whole = fs::read(copy.path().join(altered)).unwrap();
        let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
        let (mut n_sound, mut n_refused) = (0, 0);
        for case in 0..150 {
            let mut bytes = whole.clone();
            match case % 6 {
                // The beginning, which is most critical; then anywhere in use.
                0 => bytes[draw.below(512)] ^= 1 << draw.below(8),
                1..=3 => bytes[used[draw.below(used.len())]] ^= 1 << draw.below(8),
                4 => {
                    let page = used[draw.below(used.len())] / 4096 * 4096;
                    bytes[page..page + 4096].fill(0);
                }
                _ => bytes.truncate(draw.below(whole.len())),
            }
            let victim = TempDir::new().unwrap();
            copy_directory(copy.path(), victim.path());
            fs::write(victim.path().join(altered), bytes).unwrap();
            if opens_or_refuses(victim.path(), &model, &format!("{altered} case {case}")) {
                n_sound += 1;
            } else {
                n_refused += 1;
            }
        }
        assert!(
            n_sound > 0 && n_refused > 0,
            "{altered}: {n_sound} sound, {n_refused} refused"
        );
    }
}

/// The file during a write: any of the changed pages may have reached the disk.
fn torn(draw: &mut Draw, before: &[u8], after: &[u8]) -> Vec<u8> {
    // The store shrinks its file only after the flush, so a shorter file is never torn; a greater
    // length is durable before anything is written.
    let mut torn = after.to_vec();
    torn.resize(after.len().max(before.len()), 0);
    let mut before = before.to_vec();
    before.resize(torn.len(), 0);
    let one_in = if draw.below(2) == 0 { 4 } else { 1000 };
    let pages = torn.chunks_mut(4096).zip(before.chunks(4096));
    for (page, old) in pages.filter(|(page, old)| *page != *old) {
        if draw.below(one_in) == 0 {
            page.copy_from_slice(old);
        }
    }
    torn
}

#[test]
fn an_unfinished_commit_is_cut_off_whole() {
    // The machine stops while commit k + 1 is written to the store, because it is large. The
    // acknowledged k is there, or k + 1.
    let mut draw = Draw(3);
    let (mut n_before, mut n_after, mut n_told) = (0, 0, 0);
    for _ in 0..12 {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        settle(&mut journal);
        let mut model = Model::default();
        let n_commits = draw.below(10);
        for number in 0..n_commits {
            let batch = drawn_batch(&mut draw, &model);
            model.apply(&batch);
            journal.commit(&[batch]).unwrap();
            if number == n_commits / 2 {
                settle(&mut journal);
            }
        }
        let acknowledged = TempDir::new().unwrap();
        copy_directory(dir.path(), acknowledged.path());
        let before = fs::read(dir.path().join(STORE_FILE)).unwrap();
        let mut batch = drawn_batch(&mut draw, &model);
        batch.events.push((key("big"), vec![9; TAIL_BYTES]));
        let mut model_after = model.clone();
        model_after.apply(&batch);
        journal.commit(&[batch]).unwrap();
        let after = fs::read(dir.path().join(STORE_FILE)).unwrap();
        for _ in 0..8 {
            let victim = TempDir::new().unwrap();
            copy_directory(acknowledged.path(), victim.path());
            let torn = torn(&mut draw, &before, &after);
            fs::write(victim.path().join(STORE_FILE), torn).unwrap();
            let (_, histories, opened) = open(victim.path());
            assert!(opened.unclean);
            n_told += u32::from(opened.tail_cut);
            if histories == model_after.0 {
                n_after += 1;
            } else {
                assert_eq!(histories, model.0);
                n_before += 1;
            }
        }
    }
    assert!(
        n_before > 0 && n_after > 0 && n_told > 0,
        "{n_before}, {n_after}, {n_told}"
    );
}

#[test]
fn a_crash_on_the_way_from_the_tail_to_the_store_loses_nothing() {
    // The machine stops while the tail is moved into the store, after that, or while the first
    // commit after it is written over the beginning of the tail.
    let mut draw = Draw(4);
    for _ in 0..4 {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        settle(&mut journal);
        let mut model = Model::default();
        for _ in 0..=draw.below(12) {
            let batch = drawn_batch(&mut draw, &model);
            model.apply(&batch);
            journal.commit(&[batch]).unwrap();
        }
        let full = TempDir::new().unwrap();
        copy_directory(dir.path(), full.path());
        let before = fs::read(dir.path().join(STORE_FILE)).unwrap();
        settle(&mut journal);
        let after = fs::read(dir.path().join(STORE_FILE)).unwrap();
        for _ in 0..6 {
            let victim = TempDir::new().unwrap();
            copy_directory(full.path(), victim.path());
            let torn = torn(&mut draw, &before, &after);
            fs::write(victim.path().join(STORE_FILE), torn).unwrap();
            assert_eq!(open(victim.path()).1, model.0);
        }

        let settled = TempDir::new().unwrap();
        copy_directory(dir.path(), settled.path());
        assert_eq!(open(settled.path()).1, model.0);
        let settled = TempDir::new().unwrap();
        copy_directory(dir.path(), settled.path());
        let before = fs::read(dir.path().join(TAIL_FILE)).unwrap();
        let batch = drawn_batch(&mut draw, &model);
        let mut model_after = model.clone();
        model_after.apply(&batch);
        journal.commit(&[batch]).unwrap();
        let after = fs::read(dir.path().join(TAIL_FILE)).unwrap();
        let end = (0..after.len()).rfind(|at| after[*at] != before[*at]);
        let end = end.unwrap() + 1;
        // At every byte of the beginning, then at some.
        for at in (0..40).chain((0..10).map(|_| draw.below(end))) {
            let mut torn = before.clone();
            torn[..at.min(end)].copy_from_slice(&after[..at.min(end)]);
            fs::write(settled.path().join(TAIL_FILE), &torn).unwrap();
            let (histories, _) = open_read(settled.path()).unwrap();
            let is_after = at >= end;
            let expected = if is_after { &model_after } else { &model };
            assert_eq!(histories, expected.0, "{at} of {end}");
        }
    }
}

#[test]
fn a_crash_while_the_store_is_made_loses_nothing() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    let (mut model, mut draw) = (Model::default(), Draw(5));
    for _ in 0..10 {
        let batch = drawn_batch(&mut draw, &model);
        model.apply(&batch);
        journal.commit(&[batch]).unwrap();
    }
    drop(journal);
    // Before it has its name, and after that with no content.
    fs::write(dir.path().join("events.draft"), "half a store").unwrap();
    assert_eq!(open(dir.path()).1, model.0);
    drop(create_store(dir.path(), 1 << 20).unwrap());
    let (mut journal, histories, _) = open(dir.path());
    assert_eq!(histories, model.0);
    settle(&mut journal);
    drop(journal);
    assert_eq!(open(dir.path()).1, model.0);
}

#[test]
fn altered_small_files_are_no_danger() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    drop(journal);
    for name in ["acknowledged", "lock"] {
        for garbage in [&b""[..], b"garbage", &[0xff; 200]] {
            fs::write(dir.path().join(name), garbage).unwrap();
            assert_eq!(open(dir.path()).1.len(), 1, "{name}");
        }
    }
}

#[test]
fn a_store_older_than_what_was_acknowledged_is_refused() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    settle(&mut journal);
    let older = fs::read(dir.path().join(STORE_FILE)).unwrap();
    journal
        .commit(&[events(2, &[("p", b"acknowledged")])])
        .unwrap();
    drop(journal);
    fs::write(dir.path().join(STORE_FILE), &older).unwrap();
    // The tail has commits that the store lacks, even after it was closed.
    assert_eq!(open(dir.path()).1[0].tail.len(), 1);

    let (mut journal, ..) = open(dir.path());
    settle(&mut journal);
    journal.commit(&[events(3, &[("p", b"third")])]).unwrap();
    drop(journal);
    fs::write(dir.path().join(STORE_FILE), &older).unwrap();
    let tail = dir.path().join(TAIL_FILE);
    assert_eq!(
        refusal(dir.path()),
        format!(
            "commit 2 in {} is damaged or missing: restore the directory from a copy, \
             or remove this file to go on without what it holds",
            tail.display()
        )
    );
    fs::remove_file(tail).unwrap();
    assert!(refusal(dir.path()).contains("ends at commit 1, and commit 3 had been acknowledged"));
    fs::remove_file(dir.path().join("acknowledged")).unwrap();
    assert_eq!(open(dir.path()).1[0].tail.len(), 0);
}

#[test]
fn a_lost_or_older_tail_is_refused() {
    let dir = TempDir::new().unwrap();
    let (mut journal, ..) = open(dir.path());
    journal.commit(&[events(1, &[("p", b"founding")])]).unwrap();
    let older = fs::read(dir.path().join(TAIL_FILE)).unwrap();
    journal.commit(&[events(2, &[("p", b"second")])]).unwrap();
    let copy = TempDir::new().unwrap();
    copy_directory(dir.path(), copy.path());
    fs::write(copy.path().join(TAIL_FILE), older).unwrap();
    assert!(refusal(copy.path()).contains("ends at commit 1, and commit 2 had been acknowledged"));
    fs::remove_file(copy.path().join(TAIL_FILE)).unwrap();
    assert!(refusal(copy.path()).contains("ends at commit 0, and commit 2 had been acknowledged"));
}

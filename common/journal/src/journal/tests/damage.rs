//! Files that were cut, torn and altered: what is given back is exactly what was acknowledged, or
//! an error.

use redb::ReadableTable;

use super::*;

pub(super) fn copy_directory(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Changes one byte of a row through the store, whose own checksums are right afterwards.
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

/// A small generator, so that a case is known by its number.
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

/// Commits of a mixed kind, drawn.
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
        }
        drop(journal);
        remove_row(dir.path(), lost);
        let refusal = refusal(dir.path());
        assert!(refusal.starts_with(message), "{refusal}");
    }
}

#[test]
fn flipped_bits_and_cut_files_are_never_served() {
    for closed in [true, false] {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        let (mut model, mut draw) = (Model::default(), Draw(if closed { 1 } else { 2 }));
        for _ in 0..25 {
            let batch = drawn_batch(&mut draw, &model);
            model.apply(&batch);
            journal.commit(&[batch]).unwrap();
        }
        let copy = TempDir::new().unwrap();
        if closed {
            drop(journal);
            copy_directory(dir.path(), copy.path());
        } else {
            copy_directory(dir.path(), copy.path());
            drop(journal);
        }
        let whole = fs::read(copy.path().join(STORE_FILE)).unwrap();
        let used: Vec<usize> = (0..whole.len()).filter(|at| whole[*at] != 0).collect();
        let (mut n_sound, mut n_refused) = (0, 0);
        for case in 0..150 {
            let mut bytes = whole.clone();
            match case % 6 {
                // The header, which is most delicate; then anywhere in use.
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
            fs::write(victim.path().join(STORE_FILE), bytes).unwrap();
            match Journal::open(victim.path(), &options()) {
                Ok((_, histories, _)) => {
                    assert_eq!(histories, model.0, "case {case}");
                    n_sound += 1;
                }
                Err(error) => {
                    assert!(
                        error.to_string().contains("restore"),
                        "case {case}: {error}"
                    );
                    n_refused += 1;
                }
            }
        }
        assert!(
            n_sound > 0 && n_refused > 0,
            "{n_sound} sound, {n_refused} refused"
        );
    }
}

#[test]
fn an_unfinished_commit_is_cut_off_whole() {
    // The machine stops while commit k + 1 is written: of the pages that differ from those after
    // commit k, any may have reached the disk. What was acknowledged, k, is there, or k + 1.
    let mut draw = Draw(3);
    let (mut n_before, mut n_after, mut n_told) = (0, 0, 0);
    for _ in 0..12 {
        let dir = TempDir::new().unwrap();
        let (mut journal, ..) = open(dir.path());
        let mut model = Model::default();
        for _ in 0..draw.below(10) {
            let batch = drawn_batch(&mut draw, &model);
            model.apply(&batch);
            journal.commit(&[batch]).unwrap();
        }
        let acknowledged = TempDir::new().unwrap();
        copy_directory(dir.path(), acknowledged.path());
        let before = fs::read(dir.path().join(STORE_FILE)).unwrap();
        let batch = drawn_batch(&mut draw, &model);
        let mut model_after = model.clone();
        model_after.apply(&batch);
        journal.commit(&[batch]).unwrap();
        let after = fs::read(dir.path().join(STORE_FILE)).unwrap();
        for _ in 0..8 {
            // The store shrinks its file only after the flush, and grows it before: a shorter file
            // is never torn, and a longer one may not have its length yet.
            let mut torn = after.clone();
            if after.len() < before.len() {
                torn.extend_from_slice(&before[after.len()..]);
            } else if draw.below(4) == 0 {
                torn.truncate(before.len());
            }
            let pages = torn.chunks_mut(4096).zip(before.chunks(4096));
            for (page, old) in pages.filter(|(page, old)| *page != *old) {
                if draw.below(4) == 0 {
                    page.copy_from_slice(old);
                }
            }
            let victim = TempDir::new().unwrap();
            copy_directory(acknowledged.path(), victim.path());
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
    let older = fs::read(dir.path().join(STORE_FILE)).unwrap();
    journal
        .commit(&[events(2, &[("p", b"acknowledged")])])
        .unwrap();
    drop(journal);
    fs::write(dir.path().join(STORE_FILE), older).unwrap();
    assert!(refusal(dir.path()).contains("ends at commit 1, and commit 2 had been acknowledged"));
    fs::remove_file(dir.path().join("acknowledged")).unwrap();
    assert_eq!(open(dir.path()).1[0].tail.len(), 0);
}

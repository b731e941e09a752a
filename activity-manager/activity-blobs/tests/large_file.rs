//! A large file takes little memory to copy. Alone in its program, because memory is measured.

use std::fs;
use std::io::Write;

use activity_blobs::{Placement, Store, Verified};
use model::Bytes;

const FILE_BYTES: usize = 64 << 20;
const MEMORY_BYTES_MAX: u64 = 8 << 20;

#[test]
fn a_large_file_passes_through_little_memory() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("store")).unwrap();
    let source = dir.path().join("source");
    let mut file = fs::File::create(&source).unwrap();
    let mut expected = blake3::Hasher::new();
    let mut chunk = vec![0; 1 << 20];
    for n in 0..FILE_BYTES / chunk.len() {
        chunk.fill(n as u8);
        expected.update(&chunk);
        file.write_all(&chunk).unwrap();
    }
    let before = peak_memory_bytes();

    let artifact = store.add_file(&source).unwrap();
    store.flush().unwrap();
    assert_eq!(artifact.bytes, Bytes(FILE_BYTES as u64));
    assert_eq!(&artifact.hash.0, expected.finalize().as_bytes());
    assert_eq!(store.verify(artifact.hash).unwrap(), Verified::Sound);
    store
        .place(artifact, dir.path(), "placed", Placement::Copy)
        .unwrap();
    assert_eq!(
        store.add_file(&dir.path().join("placed")).unwrap(),
        artifact
    );
    assert_eq!(store.n_blobs(), 1);

    let grown = peak_memory_bytes() - before;
    assert!(grown < MEMORY_BYTES_MAX, "{grown} bytes");
}

fn peak_memory_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux tells of each process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.expect("the peak is told in kB") << 10
}

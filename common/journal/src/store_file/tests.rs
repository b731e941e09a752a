use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// A change of a file, or a look at it.
#[derive(Clone, Debug)]
enum Action {
    Write(u64, Vec<u8>),
    Length(u64),
    Read(u64, usize),
}

fn action() -> impl Strategy<Value = Action> {
    let place = 0..20_000_u64;
    let bytes = (any::<u8>(), 0..9_000_usize).prop_map(|(byte, n)| vec![byte; n]);
    prop_oneof![
        (place.clone(), bytes).prop_map(|(offset, bytes)| Action::Write(offset, bytes)),
        place.clone().prop_map(Action::Length),
        (place, 0..9_000_usize).prop_map(|(offset, n)| Action::Read(offset, n)),
    ]
}

proptest! {
    #[test]
    fn a_reader_sees_its_own_changes_and_the_file_stays(actions in prop::collection::vec(action(), 1..20)) {
        let dir = TempDir::new().unwrap();
        let (path, changed) = (dir.path().join("read"), dir.path().join("changed"));
        let content: Vec<u8> = (0..10_000_u32).map(|n| (n % 251) as u8 + 1).collect();
        for path in [&path, &changed] {
            std::fs::write(path, &content).unwrap();
        }
        let reader = ReadFile::open(&path).unwrap();
        let writer = StoreFile::open(&changed).unwrap();
        for action in actions {
            match action {
                Action::Write(offset, bytes) if !bytes.is_empty() => {
                    reader.write(offset, &bytes).unwrap();
                    writer.write(offset, &bytes).unwrap();
                }
                Action::Length(bytes) => {
                    reader.set_len(bytes).unwrap();
                    writer.set_len(bytes).unwrap();
                }
                Action::Read(offset, n) if n > 0 => {
                    let (mut seen, mut wanted) = (vec![7; n], vec![7; n]);
                    let is_there = writer.read(offset, &mut wanted).is_ok();
                    prop_assert_eq!(reader.read(offset, &mut seen).is_ok(), is_there);
                    prop_assert!(!is_there || seen == wanted);
                }
                Action::Write(..) | Action::Read(..) => {}
            }
            prop_assert_eq!(reader.len().unwrap(), writer.len().unwrap());
        }
        prop_assert!(std::fs::read(&path).unwrap() == content);
    }
}

#[test]
fn an_empty_file_is_no_store() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("empty");
    std::fs::write(&path, "").unwrap();
    assert_eq!(
        ReadFile::open(&path).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
    assert_eq!(
        StoreFile::open(&path).unwrap_err().kind(),
        io::ErrorKind::InvalidData
    );
}

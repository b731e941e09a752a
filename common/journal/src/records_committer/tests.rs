use tempfile::TempDir;

use super::*;

#[test]
fn the_last_records_are_there_after_close() {
    let dir = TempDir::new().unwrap();
    let (records, ..) = Records::open(dir.path()).unwrap();
    let committer = RecordsCommitter::start(records, |error| panic!("{error}")).unwrap();
    for value in 0..1000_u32 {
        let key = (value % 10).to_be_bytes().to_vec();
        committer
            .keep(key, Some(value.to_be_bytes().to_vec()))
            .unwrap();
    }
    committer.keep(0_u32.to_be_bytes().to_vec(), None).unwrap();
    let error = committer.keep(vec![0; 5000], None).unwrap_err();
    assert!(matches!(
        error,
        RecordsRefused::Unfit(RecordsError::TooLong { bytes: 5000 })
    ));
    committer.close();
    let (_, found, _) = Records::open(dir.path()).unwrap();
    let expected: Vec<_> = (1..10_u32)
        .map(|key| {
            (
                key.to_be_bytes().to_vec(),
                (990 + key).to_be_bytes().to_vec(),
            )
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn one_write_is_bounded_and_takes_all_in_the_end() {
    let mut waiting: BTreeMap<_, _> = (0..600_u32)
        .map(|key| (key.to_be_bytes().to_vec(), Some(vec![0; 100])))
        .collect();
    let lengths: Vec<usize> =
        std::iter::from_fn(|| Some(take_changes(&mut waiting).len()).filter(|n| *n > 0)).collect();
    assert_eq!(lengths, [256, 256, 88]);
}

use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn row_keys_sort_as_streams_are_replayed(
        a in (any::<u64>(), 0_u8..3, any::<u64>(), any::<u32>()),
        b in (any::<u64>(), 0_u8..3, any::<u64>(), any::<u32>()),
    ) {
        let key = |(stream_id, kind, number, part): (u64, u8, u64, u32)| RowKey {
            stream_id,
            kind: Kind::from_byte(kind).unwrap(),
            number,
            part,
        };
        prop_assert_eq!(a.cmp(&b), key(a).to_bytes().cmp(&key(b).to_bytes()));
        prop_assert_eq!(RowKey::from_bytes(&key(a).to_bytes()), Some(key(a)));
    }

    #[test]
    fn a_chunk_gives_back_its_events(
        events in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..20),
    ) {
        let mut draft = Draft::new(0);
        events.iter().for_each(|event| draft.push_event(event));
        let (bytes, crc) = draft.seal(&StreamKey(b"p".to_vec()), Kind::Chunk, 7);
        prop_assert_eq!(read_head(&bytes), Some((crc, bytes.len() - HEAD_BYTES)));
        prop_assert_eq!(read_chunk(&bytes[HEAD_BYTES..]), Some(events));
    }

    #[test]
    fn garbage_is_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = read_head(&bytes);
        let _ = read_chunk(&bytes);
        let _ = read_founding(&bytes);
        let _ = Totals::from_bytes(&bytes);
    }
}

#[test]
fn a_checksum_depends_on_the_place() {
    let p = StreamKey(b"p".to_vec());
    let crcs = [
        checksum(&p, Kind::Chunk, 1, b"x"),
        checksum(&p, Kind::Chunk, 2, b"x"),
        checksum(&p, Kind::Snapshot, 1, b"x"),
        checksum(&StreamKey(b"q".to_vec()), Kind::Chunk, 1, b"x"),
    ];
    for (i, a) in crcs.iter().enumerate() {
        assert!(crcs[i + 1..].iter().all(|b| a != b));
    }
}

#[test]
fn totals_come_back_or_are_refused() {
    let totals = Totals {
        n_commits: 3,
        n_records: 2,
        crc_sum: u64::MAX,
    };
    let mut bytes = totals.to_bytes();
    assert_eq!(Totals::from_bytes(&bytes), Some(totals));
    bytes[5] ^= 1;
    assert_eq!(Totals::from_bytes(&bytes), None);
}

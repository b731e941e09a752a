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
        let head = read_head(&bytes).unwrap();
        prop_assert_eq!((head.crc, head.length), (crc, bytes.len() - HEAD_BYTES));
        let payload = head.form.read(&bytes[HEAD_BYTES..]).unwrap();
        prop_assert_eq!(read_chunk(&payload), Some(events));
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
        checksum(&p, (Kind::Chunk, Form::Plain), 1, b"x"),
        checksum(&p, (Kind::Chunk, Form::Plain), 2, b"x"),
        checksum(&p, (Kind::Chunk, Form::Packed), 1, b"x"),
        checksum(&p, (Kind::Snapshot, Form::Plain), 1, b"x"),
        checksum(
            &StreamKey(b"q".to_vec()),
            (Kind::Chunk, Form::Plain),
            1,
            b"x",
        ),
    ];
    for (i, a) in crcs.iter().enumerate() {
        assert!(crcs[i + 1..].iter().all(|b| a != b));
    }
}

#[test]
fn records_of_much_alike_are_packed() {
    let p = StreamKey(b"p".to_vec());
    let event = |n: u8| [b"an event of a process ".as_slice(), &[n; 10]].concat();
    let mut draft = Draft::new(0);
    (0..100).for_each(|n| draft.push_event(&event(n)));
    let drafted = draft.len();
    let (bytes, crc) = draft.seal(&p, Kind::Chunk, 7);
    assert!(bytes.len() < drafted / 2, "{} of {drafted}", bytes.len());
    let head = read_head(&bytes).unwrap();
    assert_eq!(head.form, Form::Packed);
    let payload = &bytes[HEAD_BYTES..];
    assert_eq!(checksum(&p, (Kind::Chunk, head.form), 7, payload), crc);
    let events = read_chunk(&head.form.read(payload).unwrap()).unwrap();
    assert_eq!(events.len(), 100);
    assert_eq!(events[7], event(7));
    assert_eq!(head.form.read(&payload[..payload.len() / 2]), None);
}

#[test]
fn a_founding_event_is_read_in_both_forms() {
    let p = StreamKey(b"p".to_vec());
    for (event, form) in [(vec![7; 20], Form::Plain), (vec![7; 2_000], Form::Packed)] {
        let (bytes, _) = Draft::founding(&p, &event).seal(&p, Kind::Founding, 0);
        let head = read_head(&bytes).unwrap();
        assert_eq!(head.form, form);
        let payload = head.form.read(&bytes[HEAD_BYTES..]).unwrap();
        assert_eq!(read_founding(&payload), Some((p.clone(), event.as_slice())));
    }
}

#[test]
fn parts_waste_little_of_the_pages_that_the_store_takes() {
    // The bytes that are cut, and the pages of 4 KiB that hold a part with its key and some bytes of a page's head.
    let taken = |bytes: usize| {
        let pages = (bytes + ROW_KEY_BYTES + 64)
            .div_ceil(4096)
            .next_power_of_two();
        pages * 4096
    };
    for record in [20_000, 131_000, 140_000, 270_000, 1_000_000, 5_000_000] {
        let part = part_bytes(record);
        let all: usize = (record / part) * taken(part) + taken(record % part);
        assert!(
            all < record + record / 8 + 16_384,
            "{record} bytes take {all}"
        );
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

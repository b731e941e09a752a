use super::*;

fn take(intake: &mut Intake<u64>, n_inputs_max: usize, until: Until) -> (bool, Vec<u64>) {
    let mut inputs = Vec::new();
    let is_open = intake.take(
        &Wish {
            n_inputs_max,
            until,
        },
        &mut inputs,
        &mut None,
    );
    (is_open, inputs)
}

#[test]
fn inputs_come_in_order_and_no_more_than_wished_for() {
    let (inbox, mut intake) = inbox();
    inbox.send_all(0..5).unwrap();
    assert_eq!(
        take(&mut intake, 3, Until::Something),
        (true, vec![0, 1, 2])
    );
    assert_eq!(take(&mut intake, 3, Until::Something), (true, vec![3, 4]));
    assert_eq!(take(&mut intake, 3, Until::Awake), (true, vec![]));
    assert_eq!(
        take(&mut intake, 3, Until::At(clock::mono())),
        (true, vec![])
    );
}

#[test]
fn a_full_queue_refuses_and_a_reader_waits_for_room() {
    const N: u64 = 3 * INBOX_INPUTS_MAX as u64;
    let (inbox, mut intake) = inbox();
    let theirs = inbox.clone();
    let reader = std::thread::spawn(move || theirs.send_all(0..N));
    let mut inputs = Vec::new();
    while inputs.len() < N as usize {
        inputs.extend(take(&mut intake, 100, Until::Something).1);
    }
    assert!(inputs.into_iter().eq(0..N));
    reader.join().unwrap().unwrap();
    inbox.send_all(0..INBOX_INPUTS_MAX as u64).unwrap();
    assert_eq!(inbox.try_send(7), Err(Refused::Full));
}

#[test]
fn bytes_are_bounded_but_for_a_single_message() {
    let (inbox, mut intake) = inbox();
    let open: Opener<u64> = Arc::new(|bytes| Some(bytes.len() as u64));
    // Zeroed pages that are never touched cost no memory.
    inbox.offer(vec![0; INBOX_BYTES_MAX + 1], &open).unwrap();
    assert_eq!(inbox.offer(vec![0], &open), Err(Refused::Full));
    assert_eq!(
        take(&mut intake, 9, Until::Something).1,
        [INBOX_BYTES_MAX as u64 + 1]
    );
    inbox.offer(vec![0; 2], &open).unwrap();
    assert_eq!(take(&mut intake, 9, Until::Something).1, [2]);
}

#[test]
fn nothing_is_taken_after_the_end() {
    let (inbox, intake) = inbox();
    inbox.send_all(0..3).unwrap();
    drop(intake);
    assert_eq!(inbox.try_send(1), Err(Refused::Closed));
    assert_eq!(inbox.send_all([1]), Err(Refused::Closed));
    inbox.tell(1);
    assert!(!inbox.is_open());
}

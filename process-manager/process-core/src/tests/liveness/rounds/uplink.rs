//! Machines that send slowly and receive as fast as others.

use model::{Bytes, ResourceId, Span};
use wire::attempt::{Fetched, FromActivity};

use super::{Play, gathers};
use crate::record::Cause;

#[test]
fn a_machine_that_sends_slowly_gets_more_that_reads_what_it_has() {
    let mut play = Play::among(3, gathers(30), 1_000, |_, _| 1.0);
    let come = |play: &mut Play, to: u32, from: u32, millis: u64| {
        let fetched = Fetched {
            from: ResourceId::local(from),
            bytes: Bytes(20_000_000),
            took: Span::from_millis(millis),
        };
        play.stage.hear(to, FromActivity::Fetched(vec![fetched]));
    };
    play.until_the_end(2);
    let mut made = play.ended.values().copied();
    let slow = made.next().unwrap();
    let others: Vec<u32> = (0..3).filter(|&machine| machine != slow).collect();
    let [one, other] = others[..] else {
        panic!("{others:?}");
    };
    for step in 0..30 {
        come(&mut play, slow, one, 160);
        come(&mut play, other, one, 160);
        come(&mut play, one, other, 160);
        if step % 25 == 0 {
            come(&mut play, one, slow, 20_000);
            come(&mut play, other, slow, 20_000);
        }
        play.step();
    }
    play.until_the_end(32);
    let known = play.process();
    let why = known.moves().next().expect("something has moved");
    assert_eq!((why.resource.number, why.cause), (slow, Cause::Link));
    assert!(why.per_mille < 50 && why.n_moved > 0, "{why:?}");
    let there = play.ended.values().filter(|&&machine| machine == slow);
    assert!(there.count() > 12, "{:?}", play.ended);
}

//! Activities that take longer than whoever wrote them has said, on whatever machine.

use model::{Draft, Expression, ForEach, NodeKind, Span, Work};

use super::Play;
use crate::tests::bench::{controller, draft, edit, ids, leaf};

const SECOND: Work = Work(1_000_000);

/// For so many items each, at most so many at a time, an activity of this name that is said to take a second.
fn eaches(all: &[(&str, u32, Option<u32>)]) -> Draft {
    let eaches: Vec<u32> = (0..all.len() as u32).map(|place| 1 + 2 * place).collect();
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&eaches),
        links: Vec::new(),
    })];
    for (&each, &(name, n, at_most)) in eaches.iter().zip(all) {
        nodes.push(controller(NodeKind::ForEach(Box::new(ForEach {
            item: "item".to_owned(),
            index: None,
            items: Expression(format!("range({n})")),
            key: None,
            at_most,
            complete_when: None,
            children: ids(&[each + 1]),
        }))));
        let mut node = leaf(name);
        edit(&mut node, |activity| activity.work = Some(SECOND));
        nodes.push(node);
    }
    draft(nodes)
}

#[test]
fn an_activity_that_takes_longer_everywhere_moves_nothing() {
    for longer in [3.0, 0.3] {
        for n_longer in [1, 2] {
            let all = [("long", 12, Some(n_longer)), ("short", 60, None)];
            let mut play = Play::among(3, eaches(&all), 1_000, |_, _| 1.0);
            play.longer.insert("long".to_owned(), longer);
            play.until_the_end(72);
            assert_eq!(play.process().n_moves(), 0, "{longer} {n_longer}");
        }
    }
}

#[test]
fn a_machine_that_becomes_slow_is_noticed_beside_an_estimate_that_is_wrong() {
    for since in [0, 8] {
        let slow = move |machine: u32, at: Span| match machine == 0 && at >= Span::from_secs(since)
        {
            true => 0.2,
            false => 1.0,
        };
        let all = [("long", 12, Some(2)), ("short", 60, None)];
        let mut play = Play::among(3, eaches(&all), 1_000, slow);
        play.longer.insert("long".to_owned(), 3.0);
        let took = play.until_the_end(72);
        let known = play.process();
        let slow = known.moves().filter(|why| why.resource.number == 0);
        assert!(slow.count() > 0, "{since}");
        // 96 s of work, at two fifths of the power of three machines and more.
        assert!(took < 60.0, "{since}: {took}");
    }
}

#[test]
fn a_machine_that_is_slow_at_all_that_runs_is_noticed() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.2 } else { 1.0 };
    for longer in [1.0, 3.0] {
        let mut play = Play::among(3, eaches(&[("one", 40, None)]), 1_000, slow);
        play.longer.insert("one".to_owned(), longer);
        let took = play.until_the_end(40);
        assert!(play.process().n_moves() > 0, "{longer}");
        assert!(took < 1.35 * longer * 40.0 / 2.2, "{longer}: {took}");
    }
}

#[test]
fn the_first_item_that_stands_still_is_noticed() {
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(14));
    let mut play = Play::among(2, eaches(&[("one", 12, None)]), 1_000, stalls);
    let took = play.until_the_end(12);
    assert!(took < 15.5, "{took}");
}

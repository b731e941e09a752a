use proptest::prelude::*;

use super::*;
use crate::report::controllers::Counts;

fn steps(before: &[u64]) -> Vec<Step> {
    let step = |(first, &before): (usize, &u64)| Step {
        label: first.to_string(),
        group: 0,
        counts: Counts::default(),
        first,
        before,
    };
    before.iter().enumerate().map(step).collect()
}

#[test]
fn steps_lie_below_what_they_wait_for_and_long_lines_pass_layers() {
    //   0 ──▶ 1 ──▶ 2
    //   └───────────▲
    let layout = layout(&steps(&[0, 0b1, 0b11]));
    let tops: Vec<usize> = layout.corners.iter().map(|corner| corner.1).collect();
    assert_eq!(tops, [MARGIN, MARGIN + 84, MARGIN + 168]);
    let passed = layout
        .lines
        .iter()
        .map(|line| line.by.as_ref().map(Vec::len));
    let passed: Vec<Option<usize>> = passed.collect();
    assert_eq!(passed, [Some(0), Some(1), Some(0)]);
    assert_eq!(layout.tall, 2 * MARGIN + 2 * 84 + TALL);
}

#[test]
fn a_round_begins_with_the_step_that_began_first_and_one_line_leads_back() {
    // 0 waits for 2 of the round before.
    let layout = layout(&steps(&[0b100, 0b1, 0b10]));
    let back: Vec<(usize, usize)> = (layout.lines.iter())
        .filter(|line| line.by.is_none())
        .map(|line| (line.from, line.to))
        .collect();
    assert_eq!(back, [(2, 0)]);
    assert!(layout.corners[0].1 < layout.corners[1].1);
}

proptest! {
    #[test]
    fn nothing_overlaps_and_all_lines_are_there(before in prop::collection::vec(any::<u64>(), 2..14)) {
        let n = before.len();
        let before: Vec<u64> = before.iter().map(|one| one & (one >> 9) & ((1 << n) - 1)).collect();
        let steps = steps(&before);
        let layout = layout(&steps);
        for (place, one) in layout.corners.iter().enumerate() {
            prop_assert!(one.0 + WIDE <= layout.wide && one.1 + TALL <= layout.tall);
            for other in &layout.corners[place + 1..] {
                prop_assert!(one.0.abs_diff(other.0) >= WIDE || one.1.abs_diff(other.1) >= TALL);
            }
        }
        let n_lines: usize = (0..n).map(|to| members(before[to] & !(1 << to)).count()).sum();
        prop_assert_eq!(layout.lines.len(), n_lines);
        for line in &layout.lines {
            let is_below = layout.corners[line.from].1 < layout.corners[line.to].1;
            prop_assert!(is_below || line.by.is_none());
        }
    }
}

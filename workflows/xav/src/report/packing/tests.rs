use super::*;

fn interval(start: u64, end: u64, n_slots: u32, wanted: Option<u32>) -> Interval {
    Interval {
        start: start * 1_000_000,
        end: end * 1_000_000,
        n_slots,
        wanted,
    }
}

//   slot 0  |a 0-4      |c 4-6|
//   slot 1  |b 0-2|  d 3-7      |
#[test]
fn the_plans_slot_is_taken_where_it_is_free() {
    let intervals = [
        interval(0, 4, 1, Some(0)),
        interval(0, 2, 1, Some(1)),
        interval(4, 6, 1, Some(1)),
        interval(3, 7, 1, Some(0)),
    ];
    let packed = pack(&intervals, 2);
    assert_eq!(packed.slots, [[0], [1], [0], [1]]);
    assert_eq!(packed.n_slots, 2);
}

#[test]
fn as_many_slots_come_out_as_were_held_at_the_same_time() {
    let intervals = [
        interval(0, 5, 1, None),
        interval(1, 5, 1, None),
        interval(2, 5, 1, None),
        interval(5, 6, 1, None),
    ];
    let packed = pack(&intervals, 1);
    assert_eq!(packed.slots, [[0], [1], [2], [0]]);
    assert_eq!(packed.n_slots, 3);
}

#[test]
fn clocks_that_differ_a_little_make_no_further_slot() {
    let mut late = interval(0, 5, 1, None);
    late.end += 300;
    let packed = pack(&[late, interval(5, 6, 1, None)], 1);
    assert_eq!(packed.n_slots, 1);
    late.end += OVERLAP_MAX;
    let packed = pack(&[late, interval(5, 6, 1, None)], 1);
    assert_eq!(packed.n_slots, 2);
}

#[test]
fn an_attempt_of_several_slots_lies_on_neighbours_where_it_can() {
    let intervals = [
        interval(0, 9, 1, Some(1)),
        interval(1, 4, 2, None),
        interval(4, 8, 3, None),
    ];
    let packed = pack(&intervals, 4);
    assert_eq!(packed.slots, [vec![1], vec![2, 3], vec![0, 2, 3]]);
}

//   slot 0  |a 0-4    |     |d 6-8|    d needs both: c freed the second one
//   slot 1  |b 0-2|c 2----6 |d 6-8|
#[test]
fn who_made_the_last_wanted_slot_free_is_known() {
    let intervals = [
        interval(0, 4, 1, None),
        interval(0, 2, 1, None),
        interval(2, 6, 1, None),
        interval(6, 8, 2, None),
    ];
    let packed = pack(&intervals, 2);
    assert_eq!(packed.freed_by, [None, None, Some(1), Some(2)]);
    // A slot that was never used waits for nobody.
    assert_eq!(pack(&intervals[..3], 3).freed_by, [None, None, None]);
}

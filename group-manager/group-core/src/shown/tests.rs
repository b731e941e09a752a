use super::*;

const SLOTS: u32 = 4;

fn at(seconds: u64) -> Wall {
    Wall(1_000_000_000_000 + seconds * 1_000_000)
}

fn told(all: &[(u32, u32)]) -> ShownPower {
    let mut shown = ShownPower::default();
    for &(from, per_mille) in all {
        shown.tell(Some(from), per_mille, (SLOTS, at(0)));
    }
    shown
}

fn load(others: f64, others_expected: f64) -> Load {
    Load {
        cores: SLOTS,
        others: Some(others),
        others_expected: Some(others_expected),
    }
}

#[test]
fn the_median_of_process_managers_counts() {
    let median = |all: &[(u32, u32)]| told(all).per_mille(SLOTS, at(0));
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[(1, 400)]), Some(400));
    assert_eq!(median(&[(1, 400), (2, 900), (3, 500)]), Some(500));
    // A manager that errs does not change it, whatever it tells.
    assert_eq!(median(&[(1, 0), (2, 1_000), (3, 1_000)]), None);
    // The last word of each counts.
    assert_eq!(median(&[(1, 400), (1, 1_000)]), None);
}

#[test]
fn words_of_long_ago_do_not_hold_up_those_of_now() {
    let mut shown = told(&[(1, 1_000), (2, 1_000)]);
    shown.tell(Some(3), 400, (SLOTS, at(60)));
    assert_eq!(shown.per_mille(SLOTS, at(60)), None);
    // Of these, nobody has seen the machine for a while but the third.
    shown.tell(Some(3), 400, (SLOTS, at(700)));
    assert_eq!(shown.per_mille(SLOTS, at(700)), Some(400));
}

#[test]
fn small_differences_and_impossible_powers_are_not_told() {
    let one = |per_mille| told(&[(1, per_mille)]).per_mille(SLOTS, at(0));
    assert_eq!([one(950), one(1_040)], [None, None]);
    assert_eq!([one(713), one(1_260)], [Some(700), Some(1_250)]);
    assert_eq!([one(0), one(u32::MAX)], [Some(50), Some(2_000)]);
}

#[test]
fn what_was_told_fades() {
    let shown = told(&[(1, 250)]);
    let after = |seconds| shown.per_mille(SLOTS, at(seconds));
    assert_eq!(after(60), Some(250));
    // The square root of a quarter, after half an hour.
    assert_eq!(after(1_800), Some(500));
    assert_eq!(after(3_600), Some(700));
    assert_eq!(after(10_800), None);
    // A clock that went back changes nothing.
    assert_eq!(shown.per_mille(SLOTS, Wall(0)), Some(250));
}

#[test]
fn as_much_slowness_as_load_explains_ends_with_the_load() {
    // Others had half of the machine, and it ran at 40 %: its own power is 80 %.
    let mut shown = ShownPower::default();
    shown.set_load(load(2.0, 2.0));
    shown.tell(Some(1), 400, (SLOTS, at(0)));
    assert_eq!(shown.per_mille(SLOTS, at(0)), Some(400));
    shown.set_load(load(2.0, 1.0));
    assert_eq!(shown.per_mille(SLOTS, at(0)), Some(600));
    shown.set_load(load(0.0, 0.0));
    assert_eq!(shown.per_mille(SLOTS, at(0)), Some(800));
    // Load alone says nothing: nobody has seen that it slows anything.
    shown.set_load(load(4.0, 4.0));
    assert_eq!(shown.per_mille(SLOTS, at(0)), Some(400));
    let mut unseen = ShownPower::default();
    unseen.set_load(load(4.0, 4.0));
    assert_eq!(unseen.per_mille(SLOTS, at(0)), None);
}

#[test]
fn the_memory_of_an_earlier_epoch_ends_with_the_first_word() {
    let mut shown = ShownPower::default();
    shown.tell(None, 300, (SLOTS, at(0)));
    assert_eq!(shown.per_mille(SLOTS, at(0)), Some(300));
    shown.tell(Some(1), 1_000, (SLOTS, at(1)));
    assert_eq!(shown.per_mille(SLOTS, at(1)), None);
}

#[test]
fn the_oldest_words_make_room() {
    let mut shown = ShownPower::default();
    for from in 0..2 * TELLERS_MAX as u32 {
        shown.tell(Some(from), 500, (SLOTS, at(u64::from(from))));
    }
    assert_eq!(shown.told.len(), TELLERS_MAX);
    assert!(!shown.told.contains_key(&Some(0)));
}

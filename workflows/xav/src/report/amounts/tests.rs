use super::*;

#[test]
fn thousands_stand_apart() {
    let told = [0, 999, 1_000, 10_000, 1_234_567].map(grouped);
    assert_eq!(told, ["0", "999", "1,000", "10,000", "1,234,567"]);
}

#[test]
fn one_is_not_many() {
    let told = [1, 2_000].map(|n| counted_as(n, "activity", "activities"));
    assert_eq!(told, ["1 activity", "2,000 activities"]);
}

#[test]
fn a_part_is_never_more_than_all() {
    assert_eq!([0.0, 0.714, 1.02].map(percent), ["0 %", "71 %", "100 %"]);
}

use super::{by_priority, less};

#[test]
fn rounding_is_no_difference() {
    assert!(!less(0.1 + 0.2, 0.3));
    assert!(!less(0.3, 0.1 + 0.2));
    assert!(less(1.0, 1.000_001));
    assert!(!less(1e12, 1e12 + 100.0));
    assert!(less(1.0, f64::INFINITY));
    assert!(!less(f64::INFINITY, f64::INFINITY));
}

#[test]
fn equal_priorities_keep_the_order_of_positions() {
    assert_eq!(by_priority(&[0.3, 0.1 + 0.2, 5.0, 0.1]), [2, 0, 1, 3]);
}

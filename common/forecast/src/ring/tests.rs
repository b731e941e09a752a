use super::*;

#[test]
fn the_oldest_value_falls_out() {
    let mut ring = Ring::new(3);
    assert_eq!(
        [1, 2, 3, 4, 5].map(|value| ring.push(value)),
        [None, None, None, Some(1), Some(2)]
    );
    assert_eq!(ring.iter().collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(
        [0, 1, 2, 3].map(|back| ring.back(back)),
        [Some(5), Some(4), Some(3), None]
    );
}

#[test]
fn memory_grows_with_the_values_and_stops_at_the_capacity() {
    let mut ring = Ring::new(500);
    assert_eq!(ring.heap_bytes(), 0);
    ring.push(0.0);
    assert_eq!(ring.heap_bytes(), 64);
    for value in 0..10_000 {
        ring.push(f64::from(value));
    }
    assert_eq!(ring.heap_bytes(), 4000);
}

#[test]
fn a_stored_ring_goes_on_where_it_was() {
    let mut ring = Ring::new(4);
    for value in 0..6 {
        ring.push(value);
    }
    let stored = serde_json::to_string(&ring).unwrap();
    assert_eq!(stored, r#"{"capacity":4,"values":[2,3,4,5]}"#);
    let mut again: Ring<i32> = serde_json::from_str(&stored).unwrap();
    assert_eq!(again.push(6), ring.push(6));
    assert_eq!(again.iter().collect::<Vec<_>>(), [3, 4, 5, 6]);
}

#[test]
fn a_stored_ring_with_too_many_values_is_refused() {
    let broken = serde_json::from_str::<Ring<i32>>(r#"{"capacity":2,"values":[1,2,3]}"#);
    assert!(
        broken
            .unwrap_err()
            .to_string()
            .contains("a window of 2 values has 3 of them")
    );
    assert!(serde_json::from_str::<Ring<i32>>(r#"{"capacity":0,"values":[]}"#).is_err());
}

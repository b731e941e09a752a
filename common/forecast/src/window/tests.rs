use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn the_sorted_values_are_those_of_the_ring(values in prop::collection::vec(-5i32..5, 1..60), capacity in 1usize..9) {
        let mut window = Window::new(capacity);
        for (at, &value) in values.iter().enumerate() {
            window.push(f64::from(value));
            let mut newest: Vec<f64> = values[(at + 1).saturating_sub(capacity)..=at].iter().map(|&value| f64::from(value)).collect();
            newest.sort_by(f64::total_cmp);
            prop_assert_eq!(window.sorted(), newest.as_slice());
        }
    }
}

#[test]
fn the_median_of_an_even_number_is_the_mean_of_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[1.0, 3.0]), Some(2.0));
    assert_eq!(median(&[1.0, 3.0, 9.0]), Some(3.0));
}

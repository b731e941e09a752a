//! The numbers of Dobber's thesis and its digest: every group about forecasts and statistics.

#[path = "support/vectors.rs"]
mod vectors;

const DOBBER: &str = include_str!("vectors/dobber.txt");

#[test]
fn every_vector_holds() {
    let report = vectors::check(DOBBER);
    assert!(
        report.differences.is_empty(),
        "{}",
        report.differences.join("\n")
    );
    assert_eq!(
        report.groups,
        [
            "V00", "V01-V06", "V07", "V08", "V09", "V10", "V11", "S1", "S2"
        ]
    );
    assert!(report.n_numbers > 700, "{}", report.n_numbers);
}

/// A checker that finds nothing wrong with anything would be worth nothing.
#[test]
fn a_wrong_digit_is_found_in_every_group() {
    // Without the simulations, which take seconds.
    let (short, _) = DOBBER.split_once("\nV12 ").unwrap();
    for (right, wrong) in [
        ("E220A8397B1DCDAF", "E220A8397B1DCDAE"),
        ("11.769231", "11.769232"),
        ("5.772833", "5.772843"),
        ("0.866667", "0.866668"),
        ("B    0.871323", "M    0.871323"),
        ("= 40.000000", "= 40.000001"),
        ("0.436202", "0.436203"),
        ("[1.000000, 0.400000", "[1.000000, 0.400001"),
    ] {
        assert!(short.contains(right), "{right}");
        let report = vectors::check(&short.replacen(right, wrong, 1));
        assert_eq!(
            report.differences.len(),
            1,
            "{wrong}: {:?}",
            report.differences
        );
    }
}

/// Vectors of other series than ours are worked out from their own inputs.
#[test]
fn inputs_are_read_from_the_file() {
    let (short, _) = DOBBER.split_once("\nV12 ").unwrap();
    assert!(vectors::check(short).differences.is_empty());
    let other = short.replacen("SHORT = [10.0, 12.0", "SHORT = [10.0, 13.0", 1);
    assert!(!vectors::check(&other).differences.is_empty());
    assert!(!vectors::check("nothing").differences.is_empty());
}

use super::super::figures::Report;
use super::super::fixtures::{LOOK, definition, status};
use super::*;

//   110-120, 130-135 and so on: nothing, one or two slots are in use
#[test]
fn the_line_says_how_many_slots_are_in_use() {
    let report = Report::of(&status(), &definition(), LOOK);
    let used = &report.machines[0].usage;
    let line: Vec<(u64, f64)> = used.line.iter().map(|(at, n)| (at / 1_000, *n)).collect();
    assert_eq!(
        line,
        [
            (0, 0.0),
            (10, 1.0),
            (120, 0.0),
            (130, 1.0),
            (135, 2.0),
            (340, 1.0),
            (345, 2.0),
            (400, 1.0),
            (410, 2.0),
            (700, 1.0),
            (800, 0.0),
            (810, 1.0),
            (900, 0.0)
        ]
    );
    assert_eq!(used.busy, Span::from_millis(110 + 670 + 90));
    assert_eq!(used.n_attempts, 6);
    assert_eq!(used.peak_memory, Bytes(3 << 20));
    assert!((used.utilisation - 0.71).abs() < 1e-9);
}

#[test]
fn a_long_line_becomes_means_and_keeps_its_area() {
    let steps: Vec<(u64, i64)> = (0..3_000)
        .flat_map(|n| [(n * 10_000, 1), (n * 10_000 + 7_000, 0)])
        .collect();
    let until = 30_000_000;
    for n_means in [7, 500, 2_000] {
        let means = means(&steps, until, n_means);
        assert_eq!(means.len(), n_means);
        let width = until as f64 / n_means as f64;
        let area: f64 = means.iter().map(|(_, n)| n * width).sum();
        assert!((area - 21_000_000.0).abs() < 1.0, "{area}");
        assert!(means.iter().all(|(_, n)| (0.0..=1.000_001).contains(n)));
    }
}

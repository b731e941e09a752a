use super::*;
use crate::design::Design;
use crate::study::{CRITICAL, SEQUENTIAL, Study};

/// Makespans are 1000, and longer by a hundredth for each number of the set at one graph.
fn planted(graph: usize) -> Results {
    let design = Design::new(Study::Trees, 1, 2, vec![10]).unwrap();
    let n_columns = design.study.columns().len();
    let mut results = Results::none(design.clone());
    for number in 0..design.n_units() {
        let unit = design.unit(number);
        let value = |place: usize| match place % n_columns {
            CRITICAL => 500.0,
            SEQUENTIAL => 3_000.0,
            _ if place / n_columns == graph => 1_000.0 + 10.0 * (unit.setting % SETS) as f64,
            _ => 1_000.0,
        };
        let values: Vec<f64> = (0..design.values_of_unit()).map(value).collect();
        assert!(results.add(&Results::line(unit, &values)));
    }
    results
}

#[test]
fn the_spread_of_sets_is_that_of_the_graph_that_differs() {
    for (graph, of_family) in [
        (2, [100.0, 0.0, 0.0, 0.0]),
        (9, [0.0, 0.0, 100.0, 0.0]),
        (14, [0.0, 0.0, 0.0, 100.0]),
    ] {
        let spreads = spreads(&planted(graph));
        // Three costs, SLR and speedup in both modes, three algorithms.
        assert_eq!(spreads.len(), 3 * 4 * 3);
        let first = &spreads[0];
        assert_eq!(first.what, "medium: SLR, direct: PCH");
        assert_eq!(first.replication, 1.605);
        // SLR 2, and 0 to 0.18 more at one of fifteen graphs: 0.09 in the mean.
        assert!((first.mean - (2.0 + 0.09 / 15.0)).abs() < 1e-9);
        assert!((first.range.0 - 2.0).abs() < 1e-9);
        assert!((first.range.1 - (2.0 + 0.18 / 15.0)).abs() < 1e-9);
        // The variance of 0 to 9 is 55 / 6.
        let deviation = 0.02 / 15.0 * (55.0f64 / 6.0).sqrt();
        assert!((first.deviation - deviation).abs() < 1e-9);
        let distance = (1.605 - first.mean) / deviation;
        assert!((first.distance() / distance - 1.0).abs() < 1e-9);
        assert!(spreads.iter().all(|spread| {
            let parts = spread.of_family.iter().zip(of_family);
            parts
                .into_iter()
                .all(|(here, wanted)| (here - wanted).abs() < 1e-6)
        }));
    }
}

#[test]
fn other_numbers_of_groups_have_no_published_means() {
    let design = Design::new(Study::Trees, 1, 1, vec![3]).unwrap();
    assert!(spreads(&Results::none(design)).is_empty());
    let sizes = (family(0), family(3));
    assert_eq!(sizes, ("7 to 23".to_owned(), "71 to 82".to_owned()));
}

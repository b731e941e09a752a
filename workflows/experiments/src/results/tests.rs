use proptest::prelude::*;

use super::*;

/// Three repetitions of a study whose numbers are their places.
fn written() -> (Design, String) {
    let design = Design::new(Study::Lasting, 7, 3, vec![2, 5]).unwrap();
    let mut text = Results::heading(&design);
    for number in 0..design.n_units() {
        let values: Vec<f64> = (0..design.values_of_unit())
            .map(|place| number as f64 + place as f64 / 1_000.0)
            .collect();
        text += &Results::line(design.unit(number), &values);
    }
    (design, text)
}

#[test]
fn what_was_written_is_read() {
    let (design, text) = written();
    let read = Results::read(&design, text.as_bytes()).unwrap();
    assert_eq!(read.whole_bytes, text.len());
    assert!(read.results.is_complete());
    // Units 1, 3 and 5 are those of five groups.
    let first = read.results.estimate(0, 5, |instance| instance[0].floor());
    assert_eq!((first.n, first.mean), (3, 3.0));
    assert!((first.half_width - 4.303 * 2.0 / 3f64.sqrt()).abs() < 1e-9);
    // The first repetitions of more.
    let fewer = Design {
        repetitions: 1,
        ..design.clone()
    };
    let read = Results::read(&fewer, text.as_bytes()).unwrap();
    assert_eq!(read.results.n_units(), 2);
    let more = Design {
        repetitions: 9,
        ..design
    };
    let read = Results::read(&more, text.as_bytes()).unwrap();
    assert!(!read.results.is_complete());
    assert_eq!(read.results.n_units(), 6);
    assert_eq!(Results::whole(text.as_bytes()).unwrap().n_units(), 6);
    let cut = &text.as_bytes()[..text.len() - 1];
    assert_eq!(Results::whole(cut).unwrap().n_units(), 4);
    assert_eq!(Results::whole(b"something else\n"), None);
}

#[test]
fn results_of_another_experiment_are_refused() {
    let (design, text) = written();
    for other in [
        Design {
            seed: 8,
            ..design.clone()
        },
        Design {
            groups: vec![2],
            ..design.clone()
        },
        Design {
            study: Study::Spread,
            ..design.clone()
        },
    ] {
        let error = Results::read(&other, text.as_bytes()).unwrap_err();
        assert!(matches!(error, ResultsError::Other { .. }), "{error}");
    }
}

#[test]
fn a_damaged_or_missing_line_is_named() {
    let (design, text) = written();
    let damaged = text.replacen(" 2.003", " 2.004", 1);
    let error = Results::read(&design, damaged.as_bytes()).unwrap_err();
    assert_eq!(error, ResultsError::Damaged { line: 4 });
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.remove(3);
    let error = Results::read(&design, lines.concat().as_bytes()).unwrap_err();
    assert_eq!(error, ResultsError::Order { line: 4 });
}

#[test]
fn a_line_of_something_else_is_no_beginning() {
    let (design, text) = written();
    for of_something_else in ["my notes\n", "my notes", "\n"] {
        let error = Results::read(&design, of_something_else.as_bytes()).unwrap_err();
        assert!(matches!(error, ResultsError::Other { .. }), "{error:?}");
    }
    let begun = &text.as_bytes()[..10];
    assert_eq!(Results::read(&design, begun).unwrap().whole_bytes, 0);
}

proptest! {
    #[test]
    fn a_text_that_was_cut_goes_on_where_it_was(share in 0.0f64..1.0) {
        let (design, text) = written();
        let cut = (share * text.len() as f64) as usize;
        let read = Results::read(&design, &text.as_bytes()[..cut]).unwrap();
        let mut again = text[..read.whole_bytes].to_owned();
        if again.is_empty() {
            again += &Results::heading(&design);
        }
        let full = Results::read(&design, text.as_bytes()).unwrap().results;
        let per_unit = design.values_of_unit();
        for number in read.results.n_units()..design.n_units() {
            let from = number as usize * per_unit;
            again += &Results::line(design.unit(number), &full.values[from..from + per_unit]);
        }
        prop_assert_eq!(again, text);
    }
}

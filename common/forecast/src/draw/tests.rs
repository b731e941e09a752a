use super::*;

fn picture(values: &[Option<f64>]) -> Picture {
    Picture {
        title: "a <b>".to_owned(),
        first: 10,
        curves: vec![Curve {
            name: "x & y".to_owned(),
            values: values.to_vec(),
        }],
    }
}

#[test]
fn a_gap_breaks_the_curve() {
    let svg = picture(&[Some(1.0), Some(2.0), None, Some(3.0)]).svg();
    assert!(svg.contains("M70.0 290.0L363.3 165.0M950.0 40.0"), "{svg}");
    assert!(svg.contains("a &lt;b&gt;") && svg.contains("x &amp; y"));
    assert!(svg.contains(">13</text>"));
}

#[test]
fn a_terminal_shows_the_least_and_the_largest_value() {
    let shown = picture(&[Some(0.0), Some(1.0), Some(2.0), Some(3.0)]).terminal(10, 1);
    assert_eq!(shown, "3 ⡠⠊\n");
    let constant = picture(&[Some(5.0); 4]).terminal(10, 2);
    assert!(
        constant.contains("5.5") && constant.contains("4.5"),
        "{constant}"
    );
}

#[test]
fn nothing_can_be_drawn_too() {
    assert!(picture(&[]).svg().starts_with("<svg"));
    assert!(!picture(&[None]).terminal(0, 0).is_empty());
    let mut none = picture(&[]);
    none.curves.clear();
    assert!(!none.terminal(80, 5).is_empty());
}

#[test]
fn numbers_have_four_digits() {
    let shown = [0.0, 0.1234567, 12.5, 123.456, 72_500.4, 1e12, -0.5].map(number);
    assert_eq!(
        shown,
        ["0", "0.123", "12.5", "123.5", "72500", "1.000e12", "-0.5"]
    );
}

use super::*;

fn labels(given: &[(&str, &str)]) -> BTreeMap<String, String> {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    given.iter().map(owned).collect()
}

#[test]
fn labels_that_activities_can_ask_for_are_taken() {
    let longest = ("n".repeat(NAME_BYTES_MAX), "v".repeat(VALUE_BYTES_MAX));
    let mut given = labels(&[("gpu", "a100"), ("site", "Lab 2, grün"), ("_x-1", "=")]);
    given.extend([longest]);
    assert_eq!(approve(&given), Ok(()));
    assert_eq!(approve(&BTreeMap::new()), Ok(()));
}

#[test]
fn names_that_no_activity_can_ask_for_are_refused() {
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    for name in ["", "-gpu", "a b", "a.b", "gerät", "a\nb", &long] {
        let refused = approve(&labels(&[(name, "x")]));
        assert_eq!(refused, Err(LabelsError::Name(name.to_owned())));
    }
}

#[test]
fn what_a_machine_tells_itself_cannot_be_given() {
    for name in ["os", "arch", "hostname"] {
        let refused = approve(&labels(&[(name, "x")]));
        assert_eq!(refused, Err(LabelsError::Reserved(name.to_owned())));
    }
}

#[test]
fn values_without_text_or_with_control_characters_are_refused() {
    let long = "v".repeat(VALUE_BYTES_MAX + 1);
    for value in ["", "a\nb", "\u{1b}[2J", &long] {
        let refused = approve(&labels(&[("gpu", value)]));
        assert_eq!(refused, Err(LabelsError::Value("gpu".to_owned())));
    }
}

#[test]
fn more_labels_than_a_group_manager_takes_are_refused() {
    let numbered = |n: usize, value: &str| -> BTreeMap<String, String> {
        let one = |index| (format!("label-{index}"), value.to_owned());
        (0..n).map(one).collect()
    };
    let many = numbered(LABELS_MAX + 1, "x");
    assert_eq!(approve(&many), Err(LabelsError::TooMany(LABELS_MAX + 1)));
    assert_eq!(approve(&numbered(LABELS_MAX, "x")), Ok(()));
    let long = numbered(LABELS_MAX, &"v".repeat(200));
    let refused = approve(&long).unwrap_err();
    assert!(matches!(refused, LabelsError::TooLong(bytes) if bytes > LABELS_BYTES_MAX));
}

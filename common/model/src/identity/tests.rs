use super::*;

#[test]
fn an_identity_is_read_as_it_is_written() {
    for role in Role::ALL {
        let identity = Identity::new("g", "lab-1", role, "node_7.example").unwrap();
        let text = identity.to_string();
        assert_eq!(text, format!("xav://g/lab-1/{role}/node_7.example"));
        assert_eq!(text.parse::<Identity>().unwrap(), identity);
    }
}

#[test]
fn what_is_no_identity_is_told_by_what_is_wrong() {
    let long = format!("xav://g/g/am/{}", "n".repeat(64));
    for (text, wanted) in [
        (
            "http://g/g/am/n",
            "\"http://g/g/am/n\" is not of the form xav://grid/group/role/name",
        ),
        (
            "xav://g/g/am",
            "\"xav://g/g/am\" is not of the form xav://grid/group/role/name",
        ),
        (
            "xav://g/g/am/n/x",
            "\"xav://g/g/am/n/x\" is not of the form xav://grid/group/role/name",
        ),
        (
            "xav://g/g/boss/n",
            "there is no role \"boss\": roles are gm, pm, am, user and admin",
        ),
        ("xav://g//am/n", "the group cannot be \"\""),
        ("xav://G/g/am/n", "the grid cannot be \"G\""),
        ("xav://g/g/am/-n", "the name cannot be \"-n\""),
        ("xav://g/g/am/n\u{e9}", "the name cannot be"),
        (&long, "the name cannot be"),
    ] {
        let error = text.parse::<Identity>().unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text}: {error}");
    }
}

#[test]
fn the_second_holder_of_a_name_is_somebody_else() {
    let first = Identity::new("g", "lab", Role::User, "ana").unwrap();
    let second = first.clone().of_holder(2);
    assert_eq!(second.to_string(), "xav://g/lab/user/ana~2");
    assert_eq!(second.to_string().parse::<Identity>().unwrap(), second);
    assert_ne!(first, second);
    assert!(first.has_name_of(&second));
    assert_eq!((second.name(), second.label()), ("ana", "ana~2".to_owned()));
    for wrong in [
        "ana~", "ana~1", "ana~0", "ana~+2", "ana~02", "ana~2~2", "~2",
    ] {
        let text = format!("xav://g/lab/user/{wrong}");
        assert!(text.parse::<Identity>().is_err(), "{wrong}");
    }
}

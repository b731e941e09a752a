use super::*;

fn member(role: Role, name: &str) -> Identity {
    Identity::new("grid", "lab", role, name).unwrap()
}

fn at(seconds: u64) -> Mono {
    Mono(0) + Span::from_secs(seconds)
}

fn wanted(lines: u32) -> LogRequest {
    LogRequest { lines, from: None }
}

fn part(text: &str) -> LogPart {
    LogPart {
        text: text.to_owned(),
        ..LogPart::default()
    }
}

/// `am1` and `pm1` are there at 0 s.
fn members() -> Members {
    let mut members = Members::default();
    for who in [member(Role::Am, "am1"), member(Role::Pm, "pm1")] {
        let wanted = members.present(&who, Presence::default(), at(0));
        assert_eq!(wanted, None);
    }
    members
}

#[test]
fn a_log_comes_with_the_next_word_of_its_daemon_and_is_told_once() {
    let mut members = members();
    let am = member(Role::Am, "am1");
    // A part that nobody requested is not stored.
    members.written(&am, part("unasked"));
    assert_eq!(members.log("am1", wanted(5), &[], at(1)), Ok(None));
    // Another request gets its turn later; other members see nothing of it.
    assert_eq!(members.log("am/am1", wanted(7), &[], at(1)), Ok(None));
    let pm = member(Role::Pm, "pm1");
    assert_eq!(members.present(&pm, Presence::default(), at(1)), None);
    assert_eq!(
        members.present(&am, Presence::default(), at(1)),
        Some(wanted(5))
    );
    members.written(&am, part("five"));
    // A repeat changes nothing, and the member is not asked again.
    members.written(&am, part("repeat"));
    assert_eq!(members.present(&am, Presence::default(), at(2)), None);
    assert_eq!(members.log("am1", wanted(7), &[], at(2)), Ok(None));
    assert_eq!(
        members.log("am1", wanted(5), &[], at(2)),
        Ok(Some(part("five")))
    );
    assert_eq!(members.log("am1", wanted(7), &[], at(2)), Ok(None));
    assert_eq!(
        members.present(&am, Presence::default(), at(3)),
        Some(wanted(7))
    );
    // An administrator who has gone does not block others for ever.
    let later = at(2) + LOG_REQUEST_TIMEOUT;
    assert_eq!(members.present(&am, Presence::default(), later), None);
    assert_eq!(members.log("am1", wanted(9), &[], later), Ok(None));
    assert_eq!(
        members.present(&am, Presence::default(), later),
        Some(wanted(9))
    );
}

#[test]
fn a_daemon_that_cannot_be_reached_or_is_not_there_is_told_as_that() {
    let mut members = members();
    let others = [(Role::Am, "am1".to_owned()), (Role::Am, "am2".to_owned())];
    let mut told = |of: &str, now| {
        let refused = members.log(of, wanted(1), &others, now).unwrap_err();
        refused.to_string()
    };
    assert_eq!(
        told("am1", at(9)),
        "am am1 cannot be reached: the last word of it came 9.0s ago"
    );
    assert_eq!(
        told("am2", at(1)),
        "am am2 cannot be reached: nothing was heard of it since the group manager has started"
    );
    assert_eq!(
        told("pm/am1", at(1)),
        "there is no daemon \"pm/am1\": there are gm, pm1, am1, am2"
    );
    let same = member(Role::Pm, "am1");
    members.present(&same, Presence::default(), at(1));
    assert_eq!(
        members
            .log("am1", wanted(1), &[], at(1))
            .unwrap_err()
            .to_string(),
        "several daemons have this name: pm/am1, am/am1"
    );
    assert_eq!(members.log("pm/am1", wanted(1), &[], at(1)), Ok(None));
}

#[test]
fn warnings_of_a_daemon_are_shown_while_it_reports() {
    let mut members = members();
    assert_eq!(members.warnings(at(1)), []);
    let full = Presence {
        trouble: Some("its disk is full".to_owned()),
        ..Presence::default()
    };
    members.present(&member(Role::Pm, "pm1"), full, at(1));
    let told = Warning {
        daemon: "pm pm1".to_owned(),
        why: "its disk is full".to_owned(),
    };
    assert_eq!(members.warnings(at(2)), [told]);
    assert_eq!(members.warnings(at(11)), []);
}

#[test]
fn pending_log_requests_are_bounded() {
    let mut members = Members::default();
    for number in 0..=LOG_REQUESTS_MAX {
        let who = member(Role::Am, &format!("am{number}"));
        members.present(&who, Presence::default(), at(0));
    }
    for number in 0..LOG_REQUESTS_MAX {
        let asked = members.log(&format!("am{number}"), wanted(1), &[], at(0));
        assert_eq!(asked, Ok(None));
    }
    let last = format!("am{LOG_REQUESTS_MAX}");
    assert!(members.log(&last, wanted(1), &[], at(0)).is_err());
    let later = at(0) + LOG_REQUEST_TIMEOUT;
    let who = member(Role::Am, &last);
    members.present(&who, Presence::default(), later);
    assert_eq!(members.log(&last, wanted(1), &[], later), Ok(None));
}

use super::*;

fn made() -> (tempfile::TempDir, StateDirectory) {
    let dir = tempfile::TempDir::new().unwrap();
    let (state, made) = StateDirectory::open_or_make(&dir.path().join("s")).unwrap();
    assert!(made.is_some());
    (dir, state)
}

#[test]
fn a_directory_is_made_once_and_opened_again() {
    let (_dir, state) = made();
    let (again, made) = StateDirectory::open_or_make(state.path()).unwrap();
    assert!(made.is_none());
    assert_eq!(again.path(), state.path());
    assert_eq!(again.made(), state.made());
}

#[test]
fn what_is_no_state_directory_is_refused_and_stays_as_it_is() {
    let dir = tempfile::TempDir::new().unwrap();
    let missing = StateDirectory::open(&dir.path().join("none")).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("there is no state directory"),
        "{missing}"
    );
    fs::write(dir.path().join("mine"), "text").unwrap();
    for path in [dir.path().to_owned(), dir.path().join("mine")] {
        let error = StateDirectory::open_or_make(&path).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("is not a state directory of xav"),
            "{error}"
        );
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_directory_of_a_later_program_is_refused_by_version() {
    let (_dir, state) = made();
    let text = "xavantes state 2\nmade by xavantes 9.1.0\n";
    fs::write(state.path().join("version"), text).unwrap();
    let error = StateDirectory::open_or_make(state.path()).unwrap_err();
    let said = "was made by xavantes 9.1.0 (layout 2), this program reads up to layout 1";
    assert!(error.to_string().ends_with(said), "{error}");
}

#[test]
fn who_uses_it_is_known_by_its_lock_alone() {
    let (_dir, state) = made();
    assert_eq!(state.user().unwrap(), None);
    let held = state.hold(Use::Run).unwrap();
    let user = state.user().unwrap().unwrap();
    assert_eq!((user.pid, &user.socket), (std::process::id(), &held.socket));
    let error = state.hold(Use::Run).unwrap_err();
    assert!(
        error
            .to_string()
            .contains(&format!("in use by process {}", user.pid)),
        "{error}"
    );
    drop(held);
    assert_eq!(state.user().unwrap(), None);
    // The lock of a run that was killed.
    fs::write(state.path().join("lock"), "run 1\nsocket /x\n").unwrap();
    assert_eq!(state.user().unwrap(), None);
    drop(state.hold(Use::Run).unwrap());
}

#[test]
fn a_lock_that_is_being_written_is_nobodys() {
    assert!(Record::parse("").is_none());
    assert!(Record::parse("run 12").is_none());
    assert!(Record::parse("run 12\nsocket /a").is_none());
    assert!(Record::parse("run x\nsocket /a\n").is_none());
    let record = Record::parse("run 12\nsocket /a b\n").unwrap();
    assert_eq!((record.is_run, record.pid), (true, 12));
    assert_eq!(record.text(), "run 12\nsocket /a b\n");
}

use std::fs;

use model::Span;
use shell::identity::{Authority, Key};
use tempfile::TempDir;

use super::*;

const DAY: Span = Span::from_secs(86_400);

/// The directory of a grid's member with this role.
fn directory(role: Role) -> TempDir {
    let dir = TempDir::new().unwrap();
    let now = shell::clock::wall();
    let authority = Authority::create("grid", "lab", now, DAY).unwrap();
    let key = Key::generate().unwrap();
    let identity = Identity::new("grid", "lab", role, "ana").unwrap();
    let issued = authority.issue(&key.request().unwrap(), &identity, now, DAY);
    let place = dir.path().join("identity");
    Credentials::save(&place, &issued.unwrap().pem, &key, authority.pem()).unwrap();
    let text = "group-manager = { name = \"gm\", address = \"h:1\" }\n\
                process-managers = [{ name = \"a\", address = \"h:2\" }, { name = \"b\", address = \"h:3\" }]\n\
                identity = \"identity\"\n";
    fs::write(dir.path().join(FILE), text).unwrap();
    dir
}

#[test]
fn a_grid_is_read_from_its_users_directory_or_from_the_one_around_it() {
    let inner = directory(Role::User);
    let whole = TempDir::new().unwrap();
    std::os::unix::fs::symlink(inner.path(), whole.path().join(CLIENT)).unwrap();
    for path in [inner.path(), whole.path()] {
        assert!(Remote::is_at(path));
        let remote = Remote::open(path).unwrap();
        assert_eq!(remote.identity().to_string(), "xav://grid/lab/user/ana");
        let names: Vec<String> = remote.homes().map(|home| home.name().to_owned()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}

#[test]
fn a_managers_certificate_is_no_users() {
    let dir = directory(Role::Am);
    let failure = Remote::open(dir.path()).unwrap_err();
    assert_eq!(failure.status, status::REFUSED);
    let said = "is of xav://grid/lab/am/ana, which is no user";
    assert!(failure.message.ends_with(said), "{failure}");
    fs::remove_dir_all(dir.path().join("identity")).unwrap();
    let failure = Remote::open(dir.path()).unwrap_err();
    assert!(failure.message.contains("certificate.pem"), "{failure}");
}

#[test]
fn one_that_says_nothing_is_waited_for_until_another_one_has_answered() {
    let dir = directory(Role::User);
    let remote = Remote::open(dir.path()).unwrap();
    let homes: Vec<Home> = remote.homes().collect();
    // It goes on saying nothing for as long as this is held.
    let (_held, silence) = std::sync::mpsc::sync_channel::<()>(1);
    let mut answers = Answers::to(Span::ZERO);
    answers.ask(homes[0].clone(), move |_| {
        let _ = silence.recv();
        Ok("late")
    });
    answers.ask(homes[1].clone(), |_| Ok("here"));
    let told: Vec<String> = answers
        .map(|(home, answer)| match answer {
            Ok(word) => format!("{}: {word}", home.name()),
            Err(failure) => format!("{}: {failure}", home.name()),
        })
        .collect();
    assert_eq!(told[0], "b: here");
    assert_eq!(told[1], "a: could not reach pm a at h:2 within -");
    assert_eq!(told.len(), 2);
}

/// Far longer than any of these tests takes.
const MINUTE: Span = Span::from_secs(60);

#[test]
fn one_without_a_connection_is_given_up_soon_after_the_others_have_answered() {
    let dir = directory(Role::User);
    let remote = Remote::open(dir.path()).unwrap();
    let homes: Vec<Home> = remote.homes().collect();
    let (_held, silence) = std::sync::mpsc::sync_channel::<()>(1);
    let mut answers = Answers::soon(MINUTE, Span::ZERO);
    let late = move |_: &Home| {
        let _ = silence.recv();
        Ok(())
    };
    answers.reach_and_ask(homes[0].clone(), late, |()| Ok("late"));
    answers.reach_and_ask(homes[1].clone(), |_| Ok(()), |()| Ok("here"));
    let (home, answer) = answers.next().unwrap();
    assert_eq!((home.name(), answer.unwrap()), ("b", "here"));
    let (home, answer) = answers.next().unwrap();
    let failure = answer.unwrap_err().to_string();
    assert!(
        failure.starts_with("could not reach pm a at h:2 within "),
        "{failure}"
    );
    assert_eq!(home.name(), "a");
    assert!(answers.next().is_none());
}

#[test]
fn one_with_a_connection_is_waited_for_after_the_others_have_answered() {
    let dir = directory(Role::User);
    let remote = Remote::open(dir.path()).unwrap();
    let homes: Vec<Home> = remote.homes().collect();
    let (reached, is_reached) = std::sync::mpsc::sync_channel::<()>(1);
    let (go, may_go) = std::sync::mpsc::sync_channel::<()>(1);
    let mut answers = Answers::soon(MINUTE, Span::ZERO);
    let slow = move |()| {
        reached.send(()).unwrap();
        may_go.recv().unwrap();
        Ok("slow")
    };
    answers.reach_and_ask(homes[0].clone(), |_| Ok(()), slow);
    let after = move |_: &Home| {
        is_reached.recv().unwrap();
        Ok(())
    };
    answers.reach_and_ask(homes[1].clone(), after, |()| Ok("here"));
    let (home, answer) = answers.next().unwrap();
    assert_eq!((home.name(), answer.unwrap()), ("b", "here"));
    go.send(()).unwrap();
    let (home, answer) = answers.next().unwrap();
    assert_eq!((home.name(), answer.unwrap()), ("a", "slow"));
}

#[test]
fn all_are_waited_for_where_none_answers() {
    let dir = directory(Role::User);
    let remote = Remote::open(dir.path()).unwrap();
    let mut answers: Answers<()> = Answers::to(Span::ZERO);
    for home in remote.homes() {
        answers.ask(home, |home| {
            Err(Failure::new(format!("no {}", home.name())))
        });
    }
    let mut told: Vec<String> = answers
        .map(|(_, answer)| answer.unwrap_err().to_string())
        .collect();
    told.sort();
    assert_eq!(told, ["no a", "no b"]);
}

#[test]
fn that_none_of_several_answers_names_all_of_them() {
    let failures = ["one", "two", "three"].map(Failure::new);
    assert_eq!(several(failures.into()).to_string(), "one\n  two\n  three");
    assert_eq!(several(vec![Failure::new("one")]).to_string(), "one");
}

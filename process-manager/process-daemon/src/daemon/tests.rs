use model::{Draft, Join, Node, NodeKind, Span, SubmitKey};
use shell::ClientError;
use tempfile::TempDir;
use wire::client::{Answer, Phase, Request, Submit};

use super::*;
use crate::offline::Offline;

fn begin(dir: &TempDir) -> Handle {
    let handle = start(Config {
        directory: dir.path().join("process"),
        scheduler: SchedulerKind::default(),
        link: None,
        quota: Quota::default(),
        limits: std::collections::BTreeMap::new(),
        keep: None,
        reserve: model::Bytes::ZERO,
        lease: None,
        keeper: None,
        socket: Some(dir.path().join("s")),
        links_epoch: model::Epoch(0),
        history: HistoryPlace::Nowhere,
        outcomes: None,
        earlier: Vec::new(),
        failed: Box::new(|error| panic!("{error}")),
    });
    handle.unwrap()
}

fn submit(key: u64, name: &str) -> Request {
    let nothing = Node {
        name: String::new(),
        kind: NodeKind::Empty,
        join: Join::All,
    };
    let draft = Draft {
        name: name.to_owned(),
        nodes: vec![nothing],
        ..Draft::default()
    };
    let submit = Submit::new(SubmitKey(key), draft, "test.yaml");
    Request::Submit(Box::new(submit))
}

#[test]
fn submissions_of_a_client_are_known_to_others_and_after_the_end() {
    let dir = TempDir::new().unwrap();
    let handle = begin(&dir);
    let process = SubmitKey(5).process();
    let mut inside = handle.client().unwrap();
    assert_eq!(
        inside.ask(submit(5, "test")).unwrap(),
        Answer::Submitted(process)
    );
    let ended = inside
        .watch(process)
        .unwrap()
        .map(Result::unwrap)
        .last()
        .unwrap();
    assert_eq!(ended.phase, Phase::Completed);
    let refused = inside.ask(submit(6, "Not a name")).unwrap();
    assert!(matches!(refused, Answer::Refused(reasons) if !reasons.is_empty()));
    let mut outside = Client::connect(&dir.path().join("s")).unwrap();
    let Answer::Status(status) = outside.ask(Request::Status(process)).unwrap() else {
        panic!()
    };
    assert_eq!(
        (status.summary.phase, status.summary.name.as_str()),
        (Phase::Completed, "test")
    );
    handle.stop().unwrap();
    assert!(matches!(
        outside.ask(Request::List),
        Err(ClientError::Closed | ClientError::Io { .. })
    ));
    assert!(!dir.path().join("s").exists());

    let offline = Offline::open(&dir.path().join("process")).unwrap();
    assert_eq!(offline.status(process).as_ref(), Some(&*status));
    assert_eq!(offline.list().len(), 1);
    assert_eq!(offline.submission(process).unwrap().draft.name, "test");
    let answer = offline.answer(&Request::Status(SubmitKey(6).process()));
    assert_eq!(answer, Answer::Unknown(SubmitKey(6).process()));
    let activity = model::ActivityId(0);
    let why = |process| offline.answer(&Request::Why { process, activity });
    assert!(matches!(why(process), Answer::Refused(_)));
    let other = SubmitKey(6).process();
    assert_eq!(why(other), Answer::Unknown(other));
    let handle = begin(&dir);
    let Answer::Processes(list) = handle.client().unwrap().ask(Request::List).unwrap() else {
        panic!()
    };
    assert_eq!(list, offline.list());
    handle.stop().unwrap();
}

#[test]
fn forgotten_processes_stay_forgotten_after_a_restart() {
    let dir = TempDir::new().unwrap();
    let handle = begin(&dir);
    let mut client = handle.client().unwrap();
    let (kept, gone) = (SubmitKey(5).process(), SubmitKey(6).process());
    for key in [5, 6] {
        client.ask(submit(key, "test")).unwrap();
    }
    assert_eq!(
        client.ask(Request::Forget(gone)).unwrap(),
        Answer::Forgotten(gone)
    );
    assert_eq!(
        client.ask(Request::Forget(gone)).unwrap(),
        Answer::Unknown(gone)
    );
    handle.stop().unwrap();
    let offline = Offline::open(&dir.path().join("process")).unwrap();
    let known: Vec<_> = offline.list().iter().map(|one| one.process).collect();
    assert_eq!(known, [kept]);
    drop(offline);
    let handle = begin(&dir);
    let answer = handle.client().unwrap().ask(Request::Status(gone)).unwrap();
    assert_eq!(answer, Answer::Unknown(gone));
    handle.stop().unwrap();
}

#[test]
fn a_directory_in_use_is_told() {
    let dir = TempDir::new().unwrap();
    let handle = begin(&dir);
    let error = Offline::open(&dir.path().join("process")).err().unwrap();
    let text = format!("{error}: {}", std::error::Error::source(&error).unwrap());
    assert!(text.contains("in use"), "{text}");
    let mut client = handle.client().unwrap();
    client.set_patience(Span::from_secs(20));
    assert!(client.ask(Request::List).is_ok());
    handle.stop().unwrap();
}

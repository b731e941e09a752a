//! Clients by themselves: submissions, watchers, streams of attempts, deletion.

use history::{Key, Observed, SizeClass};
use model::{
    AttemptId, Bytes, Entry, Generation, Identity, Plan, ProcessId, ResourceId, Role, Span,
    SubmitKey, Wall, Work,
};
use wire::attempt::{Tail, ToActivity};
use wire::client::{Answer, HISTORY_RECORDS_MAX, HistoryPage, Request};

use super::{Clients, Consequence, Shown};
use crate::dispatch::{Attempts, Grid};
use crate::files::Files;
use crate::io::{Effect, ForgetRequest, Room};
use crate::limits;
use crate::machines::Machines;
use crate::machines::tests::reachable;
use crate::market::Market;
use crate::record::{Event, Phase, Planned};
use crate::submission::{Caller, ClientId, Submission};
use crate::tests::bench::{diamond, submission};
use crate::tests::paper::{Bench, ID, attempt};
use crate::timer::Timer;
use crate::{Config, Retention};

const MACHINE: ResourceId = ResourceId::local(3);
const EARLIER: ProcessId = ProcessId(6);

/// Other parts, as far as answers show them.
#[derive(Default)]
struct Others {
    machines: Machines,
    market: Market,
    files: Files,
    attempts: Attempts,
}

impl Others {
    fn shown(&self) -> Shown<'_> {
        Shown {
            grid: Grid {
                machines: &self.machines,
                market: &self.market,
                files: &self.files,
            },
            attempts: &self.attempts,
        }
    }
}

/// A manager with a process that runs.
fn bench() -> (Bench, Clients, Others) {
    let mut bench = Bench::new(Config::default());
    bench.found(diamond());
    let mut clients = Clients::default();
    clients.begin(bench.process());
    (bench, clients, Others::default())
}

fn user(name: &str) -> Caller {
    Caller::Holder(Identity::new("grid", "lab", Role::User, name).unwrap())
}

fn submit(bench: &mut Bench, clients: &mut Clients, caller: Caller) -> Option<Consequence> {
    let submission = Submission::check(caller, submission(SubmitKey(ID.0), diamond()));
    clients.on_submission(&mut bench.step(), (ClientId(1), 1), submission)
}

/// A request of this client, with the number 1.
fn ask(
    bench: &mut Bench,
    clients: &mut Clients,
    others: &Others,
    client: u64,
    request: Request,
) -> Option<Consequence> {
    let asked = (Caller::Local, request);
    let asking = (ClientId(client), 1);
    clients.on_request(&mut bench.step(), others.shown(), asking, asked)
}

/// The answers since the last call, with the clients that they are for.
fn answers(bench: &mut Bench) -> Vec<(u64, Answer)> {
    let effects = std::mem::take(&mut bench.paper.effects).into_iter();
    let answers = effects.filter_map(|effect| {
        let Effect::Answer { client, answer, .. } = effect else {
            return None;
        };
        Some((client.0, answer))
    });
    answers.collect()
}

/// The phases that clients were told of since the last call.
fn progress(bench: &mut Bench) -> Vec<(u64, wire::client::Phase)> {
    let answers = answers(bench).into_iter();
    let told = answers.map(|(client, answer)| {
        let Answer::Progress(progress) = answer else {
            panic!("no progress but {answer:?}")
        };
        (client, progress.phase)
    });
    told.collect()
}

fn refusal(bench: &mut Bench) -> String {
    match answers(bench).pop() {
        Some((_, Answer::Refused(reasons))) => reasons.join(", "),
        Some((_, Answer::NoRoom(reason))) => reason.clone(),
        other => panic!("no refusal but {other:?}"),
    }
}

fn close(bench: &mut Bench) {
    bench.record(Event::Closed {
        phase: Phase::Faulted,
        at: bench.now.wall,
        outputs: Vec::new(),
    });
}

#[test]
fn a_submission_founds_its_process_once_and_its_repeat_is_answered_alike() {
    let (mut bench, mut clients) = (Bench::new(Config::default()), Clients::default());
    let founded = submit(&mut bench, &mut clients, user("ana"));
    assert_eq!(founded, Some(Consequence::Founded(ID)));
    assert_eq!(submit(&mut bench, &mut clients, user("ana")), None);
    let submitted = (1, Answer::Submitted(ID));
    assert_eq!(answers(&mut bench), [submitted.clone(), submitted]);
    assert_eq!(submit(&mut bench, &mut clients, user("ben")), None);
    assert!(refusal(&mut bench).contains("cannot be used"));
    assert_eq!(bench.paper.events.len(), 1);
}

#[test]
fn a_submission_is_refused_where_the_disk_has_no_room_for_it() {
    let (mut bench, mut clients) = (Bench::new(Config::default()), Clients::default());
    for room in [Room::None("it is full".to_owned()), Room::UpTo(Bytes(9))] {
        clients.set_room(room);
        assert_eq!(submit(&mut bench, &mut clients, Caller::Local), None);
        assert!(refusal(&mut bench).contains("at the moment"));
    }
    assert!(bench.paper.events.is_empty());
    clients.set_room(Room::Any);
    assert!(submit(&mut bench, &mut clients, Caller::Local).is_some());
}

#[test]
fn a_process_can_resume_one_that_has_ended_alone() {
    let mut bench = Bench::new(Config::default());
    bench.id = EARLIER;
    bench.found(diamond());
    let mut clients = Clients::default();
    let resume = |bench: &mut Bench, clients: &mut Clients| {
        let mut submit = submission(SubmitKey(ID.0), diamond());
        submit.base = Some(EARLIER);
        let submission = Submission::check(Caller::Local, submit);
        clients.on_submission(&mut bench.step(), (ClientId(1), 1), submission)
    };
    assert_eq!(resume(&mut bench, &mut clients), None);
    assert!(refusal(&mut bench).contains("has not ended"));
    close(&mut bench);
    assert!(resume(&mut bench, &mut clients).is_some());
}

#[test]
fn a_process_of_another_owner_is_answered_as_one_that_is_not_there() {
    let (mut bench, mut clients) = (Bench::new(Config::default()), Clients::default());
    submit(&mut bench, &mut clients, user("ana"));
    answers(&mut bench);
    let others = Others::default();
    for request in [
        Request::Cancel(ID),
        Request::Forget(ID),
        Request::Watch(ID),
        Request::Tail(attempt(1, 1)),
    ] {
        let asked = (user("ben"), request);
        let asking = (ClientId(2), 1);
        let step = &mut bench.step();
        assert_eq!(
            clients.on_request(step, others.shown(), asking, asked),
            None
        );
        assert_eq!(answers(&mut bench), [(2, Answer::Unknown(ID))]);
    }
}

#[test]
fn a_cancellation_is_recorded_once() {
    let (mut bench, mut clients, others) = bench();
    for _ in 0..2 {
        ask(&mut bench, &mut clients, &others, 1, Request::Cancel(ID));
        assert_eq!(answers(&mut bench), [(1, Answer::Cancelling(ID))]);
    }
    let asked = |(_, event): &&(_, Event)| *event == Event::CancelAsked;
    assert_eq!(bench.paper.events.iter().filter(asked).count(), 1);
    assert!(bench.shared.marks.processes.contains(&ID));
}

#[test]
fn a_watcher_is_told_of_changes_at_most_ten_times_a_second_and_of_the_end_at_once() {
    use wire::client::Phase::{Faulted, Running};
    let (mut bench, mut clients, others) = bench();
    ask(&mut bench, &mut clients, &others, 1, Request::Watch(ID));
    assert_eq!(progress(&mut bench), [(1, Running)]);
    let notify = |bench: &mut Bench, clients: &mut Clients| {
        clients.notify_watchers(&mut bench.step(), others.shown(), ID);
        progress(bench)
    };
    let ring = |bench: &mut Bench, clients: &mut Clients| {
        clients.tell_watcher(&mut bench.step(), others.shown(), (ClientId(1), 1));
        progress(bench)
    };
    clients.touch(ID);
    assert_eq!(notify(&mut bench, &mut clients), []);
    let due = bench.shared.timers.next().unwrap();
    assert_eq!(due, bench.now.mono + limits::WATCH);
    bench.pass(limits::WATCH);
    assert_eq!(ring(&mut bench, &mut clients), [(1, Running)]);
    assert_eq!(ring(&mut bench, &mut clients), [], "nothing has changed");
    close(&mut bench);
    assert_eq!(notify(&mut bench, &mut clients), [(1, Faulted)]);
    assert_eq!(notify(&mut bench, &mut clients), [], "it watches no more");
}

#[test]
fn many_watchers_are_told_less_often_and_all_of_them_of_the_end() {
    const N: u64 = 60;
    let (mut bench, mut clients, others) = bench();
    for client in 1..=N {
        ask(
            &mut bench,
            &mut clients,
            &others,
            client,
            Request::Watch(ID),
        );
    }
    assert_eq!(progress(&mut bench).len(), 60);
    clients.touch(ID);
    clients.notify_watchers(&mut bench.step(), others.shown(), ID);
    let due = bench.shared.timers.next().unwrap();
    let interval = Span(N * 1_000_000 / limits::REPORTS_A_SECOND);
    assert_eq!(due, bench.now.mono + interval);
    for client in 1..N {
        clients.gone(&mut bench.step(), ClientId(client));
    }
    // The one that is left is told as often as one alone.
    bench.pass(limits::WATCH);
    clients.notify_watchers(&mut bench.step(), others.shown(), ID);
    assert_eq!(progress(&mut bench).len(), 1);
    close(&mut bench);
    clients.notify_watchers(&mut bench.step(), others.shown(), ID);
    assert_eq!(progress(&mut bench).len(), 1);
}

#[test]
fn a_client_that_has_gone_is_told_nothing() {
    let (mut bench, mut clients, mut others) = bench();
    bench.record(Event::Sent(
        vec![(attempt(1, 1).activity, 1, MACHINE)],
        Vec::new(),
    ));
    others.machines = reachable(&mut bench, &[MACHINE]);
    ask(&mut bench, &mut clients, &others, 1, Request::Watch(ID));
    ask(
        &mut bench,
        &mut clients,
        &others,
        2,
        Request::Tail(attempt(1, 1)),
    );
    answers(&mut bench);
    clients.gone(&mut bench.step(), ClientId(1));
    clients.gone(&mut bench.step(), ClientId(2));
    close(&mut bench);
    clients.notify_watchers(&mut bench.step(), others.shown(), ID);
    clients.on_tail(&mut bench.step(), attempt(1, 1), None);
    assert_eq!(answers(&mut bench), []);
}

#[test]
fn the_time_left_is_counted_once_for_all_watchers_until_the_count_is_old() {
    let (mut bench, mut clients, others) = bench();
    bench.plan(&[(1, MACHINE)]);
    let entry = |activity| Entry {
        activity: model::ActivityId(activity),
        resource: MACHINE,
        slot: 0,
        start: Span::from_secs(u64::from(activity)),
        finish: Span::from_secs(u64::from(activity) + 1),
    };
    let activities = bench.process().definition().activities().to_vec();
    bench.record(Event::Planned(Box::new(Planned {
        plan: Plan {
            generation: Generation(2),
            entries: activities.iter().map(|one| entry(one.0)).collect(),
            bound: Span::ZERO,
        },
        machines: Vec::new(),
        is_estimate: true,
        at: Some(bench.now.wall),
        expected: None,
        slots: None,
    })));
    // Nothing ends, so a count tells the whole plan whenever it is made.
    let whole = bench.process().state.plan.makespan();
    let told = |bench: &mut Bench, clients: &mut Clients, client: u64| {
        clients.touch(ID);
        ask(bench, clients, &others, client, Request::Watch(ID));
        match answers(bench).pop() {
            Some((to, Answer::Progress(progress))) if to == client => progress.left.unwrap(),
            other => panic!("no progress but {other:?}"),
        }
    };
    assert_eq!(told(&mut bench, &mut clients, 1), whole);
    // A millisecond for each activity.
    let serves = Span::from_millis(activities.len() as u64);
    let almost = serves.saturating_sub(Span(1));
    bench.pass(almost);
    let less = whole.saturating_sub(almost);
    assert_eq!(told(&mut bench, &mut clients, 2), less);
    assert_eq!(told(&mut bench, &mut clients, 1), less);
    bench.pass(Span(1));
    assert_eq!(told(&mut bench, &mut clients, 2), whole);
    assert_eq!(told(&mut bench, &mut clients, 1), whole);
    // Without watchers nothing is held.
    bench.pass(Span(1));
    clients.gone(&mut bench.step(), ClientId(1));
    clients.gone(&mut bench.step(), ClientId(2));
    assert_eq!(told(&mut bench, &mut clients, 3), whole);
}

fn remember(bench: &mut Bench, owner: &str, definition: &str, activity: &str) {
    let key = Key {
        owner: owner.to_owned(),
        definition: definition.to_owned(),
        activity: activity.to_owned(),
        class: SizeClass(0),
    };
    let seen = Observed::completed(1, Wall(1), Work::from_secs(2));
    bench.shared.history.observe(&key, &seen);
}

/// A page of the history of a caller.
fn page(bench: &mut Bench, caller: Caller, request: Request) -> HistoryPage {
    let asking = (ClientId(1), 1);
    let (mut clients, others) = (Clients::default(), Others::default());
    clients.on_request(&mut bench.step(), others.shown(), asking, (caller, request));
    match answers(bench).pop() {
        Some((1, Answer::History(page))) => *page,
        other => panic!("no page but {other:?}"),
    }
}

#[test]
fn what_activities_took_is_told_in_pages_to_whom_they_belong() {
    let mut bench = Bench::new(Config::default());
    let ana = "xav://grid/lab/user/ana";
    for n in 0..HISTORY_RECORDS_MAX + 5 {
        remember(&mut bench, ana, "wide", &format!("a{n:05}"));
    }
    remember(&mut bench, ana, "next", "a");
    remember(&mut bench, "", "own", "a");
    let asks = |definition: Option<&str>, after| Request::History {
        definition: definition.map(str::to_owned),
        after,
    };
    let first = page(&mut bench, user("ana"), asks(None, None));
    assert!(first.has_more);
    assert_eq!(first.records.len(), HISTORY_RECORDS_MAX);
    let last = first.records.last().unwrap().key.clone();
    let second = page(&mut bench, user("ana"), asks(None, Some(last.clone())));
    let named = |page: &HistoryPage| -> Vec<String> {
        let records = page.records.iter();
        records.map(|one| one.key.activity.clone()).collect()
    };
    let n = HISTORY_RECORDS_MAX;
    assert_eq!(named(&second)[0], format!("a{:05}", n - 1));
    assert_eq!((second.records.len(), second.has_more), (6, false));
    let one = page(&mut bench, user("ana"), asks(Some("next"), None));
    assert_eq!((named(&one), one.has_more), (vec!["a".to_owned()], false));
    let local = page(&mut bench, Caller::Local, asks(None, None));
    assert_eq!(local.records[0].key.definition, "own");
    // Nobody else is told, be that an administrator or somebody who knows the names.
    let admin = Identity::new("grid", "lab", Role::Admin, "ana").unwrap();
    for other in [user("ben"), user("an"), Caller::Holder(admin)] {
        for request in [asks(None, None), asks(Some("wide"), Some(last.clone()))] {
            assert_eq!(
                page(&mut bench, other.clone(), request),
                HistoryPage::default()
            );
        }
    }
}

#[test]
fn what_activities_took_is_forgotten_for_its_owner_alone_and_answered_once_that_is_durable() {
    let mut bench = Bench::new(Config::default());
    let ana = "xav://grid/lab/user/ana";
    remember(&mut bench, ana, "wide", "a");
    remember(&mut bench, ana, "next", "a");
    let (mut clients, others) = (Clients::default(), Others::default());
    let mut forget = |bench: &mut Bench, caller: Caller, definition: Option<&str>| {
        let request = Request::ForgetHistory(definition.map(str::to_owned));
        let asking = (ClientId(1), 1);
        clients.on_request(&mut bench.step(), others.shown(), asking, (caller, request));
        let effects = std::mem::take(&mut bench.paper.effects);
        let [Effect::Forget(request), Effect::Done(_)] = effects.as_slice() else {
            panic!("nothing is answered before it is durable: {effects:?}")
        };
        ForgetRequest::clone(request)
    };
    assert_eq!(forget(&mut bench, user("ben"), None).n_forgotten, 0);
    assert_eq!(forget(&mut bench, Caller::Local, None).n_forgotten, 0);
    let request = forget(&mut bench, user("ana"), Some("wide"));
    assert_eq!(request.n_forgotten, 1);
    // What is kept goes by the same names as what is in memory.
    assert!(request.names(ana, "wide"));
    assert!(!request.names(ana, "next") && !request.names("", "wide"));
    assert!(bench.shared.history.knows(ana, "next"));
    super::history_forgotten(&mut bench.step(), &request, Ok(()));
    assert_eq!(answers(&mut bench), [(1, Answer::HistoryForgotten(1))]);
    super::history_forgotten(
        &mut bench.step(),
        &request,
        Err("the disk is full".to_owned()),
    );
    assert!(refusal(&mut bench).contains("the disk is full"));
    // A repeat waits for the disk as well.
    assert_eq!(forget(&mut bench, user("ana"), Some("wide")).n_forgotten, 0);
    let all = forget(&mut bench, user("ana"), None);
    assert_eq!(all.n_forgotten, 1);
    assert!(all.names(ana, "anything") && !all.names("xav://grid/lab/user/ben", "wide"));
}

#[test]
fn of_what_earlier_epochs_have_kept_as_much_is_known_as_there_is_room_for() {
    let mut bench = Bench::new(Config::default());
    let most = history::TEMPLATES_MAX / 8;
    let known = (0..=most as u64).map(|n| {
        let key = Key {
            owner: "ana".to_owned(),
            definition: "wide".to_owned(),
            activity: n.to_string(),
            class: SizeClass(0),
        };
        let mut template = history::Template::default();
        template.observe(&Observed::completed(1, Wall(n), Work::from_secs(2)));
        (key, history::Record::Attempts(template))
    });
    crate::observe::know(&mut bench.step(), known.collect());
    assert!(bench.shared.history.len() <= most);
    let known = |activity| bench.shared.history.of_activity(("ana", "wide"), activity);
    assert!(known("0").is_none() && known(&most.to_string()).is_some());
}

fn tail(of: AttemptId) -> Tail {
    Tail {
        attempt: of,
        stdout_bytes: 1,
        stdout: b"a".to_vec(),
        stderr_bytes: 0,
        stderr: Vec::new(),
    }
}

#[test]
fn the_streams_of_an_attempt_are_asked_of_its_machine_for_each_client_that_waits() {
    let (mut bench, mut clients, mut others) = bench();
    let a = attempt(1, 1);
    let asks = |bench: &mut Bench, clients: &mut Clients, others: &Others, client| {
        ask(bench, clients, others, client, Request::Tail(a));
    };
    asks(&mut bench, &mut clients, &others, 1);
    assert!(refusal(&mut bench).contains("does not run"));
    bench.record(Event::Sent(vec![(a.activity, 1, MACHINE)], Vec::new()));
    asks(&mut bench, &mut clients, &others, 1);
    assert!(refusal(&mut bench).contains("cannot be reached"));
    others.machines = reachable(&mut bench, &[MACHINE]);
    asks(&mut bench, &mut clients, &others, 1);
    asks(&mut bench, &mut clients, &others, 2);
    let asked = (MACHINE, ToActivity::Tail(a));
    assert_eq!(bench.take_to_machines(), [asked.clone(), asked]);
    clients.give_up_tail(&mut bench.step(), (ClientId(2), 1));
    assert!(refusal(&mut bench).contains("has not answered"));
    let told = || Some(Box::new(tail(a)));
    clients.on_tail(&mut bench.step(), a, told());
    assert_eq!(answers(&mut bench), [(1, Answer::Tail(Box::new(tail(a))))]);
    clients.on_tail(&mut bench.step(), a, told());
    assert_eq!(answers(&mut bench), []);
}

#[test]
fn a_process_is_forgotten_once_it_has_ended_and_given_back_its_slots() {
    let (mut bench, mut clients, others) = bench();
    let forget = |bench: &mut Bench, clients: &mut Clients| {
        ask(bench, clients, &others, 1, Request::Forget(ID))
    };
    assert_eq!(forget(&mut bench, &mut clients), None);
    assert!(refusal(&mut bench).contains("has not ended"));
    close(&mut bench);
    assert_eq!(forget(&mut bench, &mut clients), None);
    assert!(refusal(&mut bench).contains("has just ended"));
    bench.record(Event::Released);
    clients.end(ID);
    let forgotten = Some(Consequence::Forgotten(ID));
    assert_eq!(forget(&mut bench, &mut clients), forgotten);
    assert_eq!(answers(&mut bench), [(1, Answer::Forgotten(ID))]);
    // A late repeat of its submission does not run it again.
    assert_eq!(submit(&mut bench, &mut clients, Caller::Local), None);
    assert!(refusal(&mut bench).contains("was forgotten"));
}

#[test]
fn a_process_is_forgotten_by_itself_when_its_time_is_over() {
    let keep = Retention {
        time: Span::from_secs(600),
        processes_max: 9,
        activities_max: 999,
    };
    let mut bench = Bench::new(Config {
        keep: Some(keep),
        ..Config::default()
    });
    let mut clients = Clients::default();
    bench.found(diamond());
    close(&mut bench);
    bench.record(Event::Released);
    clients.watch_time(&mut bench.step());
    bench.pass(Span::from_secs(599));
    assert_eq!(clients.forget_over(&mut bench.step()), []);
    bench.pass(Span::from_secs(1));
    assert_eq!(clients.forget_over(&mut bench.step()), [ID]);
    assert_eq!(clients.forget_over(&mut bench.step()), []);
    let due = bench.shared.timers.next().unwrap();
    assert_eq!(bench.shared.timers.take_due(due), Some(Timer::Forget));
}

//! Owners of processes: another owner's process is hidden.

use super::*;
use crate::Quota;

use model::{ActivityId, AttemptId, Caching, Identity, ProcessId, Role, SubmitKey};
use wire::client::{Reason, Submit};

const SECOND: SubmitKey = SubmitKey(78);

fn holder(role: Role, name: &str) -> Caller {
    Caller::Holder(Identity::new("grid", "lab", role, name).unwrap())
}

/// The immediate answer to a caller.
fn asks(bench: &mut Bench, caller: &Caller, request: Request) -> Answer {
    bench.give(Input::Request(ClientId(5), caller.clone(), 1, request));
    bench.answers.pop().unwrap()
}

fn submit(bench: &mut Bench, caller: &Caller, submit: Submit) -> Answer {
    asks(bench, caller, Request::Submit(Box::new(submit)))
}

fn listed(bench: &mut Bench, caller: &Caller) -> Vec<ProcessId> {
    let Answer::Processes(all) = asks(bench, caller, Request::List) else {
        panic!("a list is answered by a list")
    };
    all.iter().map(|one| one.process).collect()
}

/// Everything that can be asked about a process, or done to it.
fn requests(process: ProcessId) -> Vec<Request> {
    let activity = ActivityId(1);
    vec![
        Request::Status(process),
        Request::Submission(process),
        Request::Watch(process),
        Request::Why { process, activity },
        Request::WhyProcess(process),
        Request::Tail(AttemptId {
            process,
            activity,
            number: 1,
        }),
        Request::Cancel(process),
        Request::Forget(process),
    ]
}

#[test]
fn another_ones_process_is_answered_as_one_that_is_not_there() {
    let mut bench = Bench::new(|_| None);
    let (ana, ben) = (holder(Role::User, "ana"), holder(Role::User, "ben"));
    let process = KEY.process();
    let answer = submit(&mut bench, &ana, submission(KEY, diamond()));
    assert_eq!(answer, Answer::Submitted(process));
    // The same again is the same process, for its owner alone.
    let again = submit(&mut bench, &ana, submission(KEY, diamond()));
    assert_eq!(again, Answer::Submitted(process));
    let taken = submit(&mut bench, &ben, submission(KEY, diamond()));
    assert!(matches!(taken, Answer::Refused(_)), "{taken:?}");
    let missing = SubmitKey(1).process();
    // An administrator and an activity manager that share her name are not her.
    let admin = holder(Role::Admin, "ana");
    for stranger in [ben, holder(Role::Am, "ana"), holder(Role::User, "an")] {
        assert_eq!(listed(&mut bench, &stranger), []);
        for (theirs, nobodys) in requests(process).into_iter().zip(requests(missing)) {
            let answer = asks(&mut bench, &stranger, theirs.clone());
            assert_eq!(answer, Answer::Unknown(process), "{theirs:?}");
            let answer = asks(&mut bench, &stranger, nobodys);
            assert_eq!(answer, Answer::Unknown(missing));
        }
    }
    assert_eq!(bench.status().summary.phase, Phase::Running);
    for caller in [ana, admin, Caller::Local] {
        assert_eq!(listed(&mut bench, &caller), [process]);
        let Answer::Status(status) = asks(&mut bench, &caller, Request::Status(process)) else {
            panic!("it is there for {caller:?}")
        };
        let owner = status.summary.owner;
        assert_eq!(owner.as_deref(), Some("xav://grid/lab/user/ana"));
    }
}

#[test]
fn what_one_owner_ran_plans_no_process_of_another() {
    let mut bench = Bench::new(well);
    let (ana, ben) = (holder(Role::User, "ana"), holder(Role::User, "ben"));
    let mut planned = |caller: &Caller, key: SubmitKey| {
        submit(&mut bench, caller, submission(key, diamond()));
        let answer = asks(&mut bench, caller, Request::Status(key.process()));
        let Answer::Status(status) = answer else {
            panic!("it is there: {answer:?}")
        };
        (status.summary.phase, status.planned.is_some())
    };
    assert_eq!(planned(&ana, KEY), (Phase::Completed, false));
    assert_eq!(planned(&ben, SECOND), (Phase::Completed, false));
    assert_eq!(planned(&ana, SubmitKey(79)), (Phase::Completed, true));
}

#[test]
fn what_was_submitted_on_the_managers_machine_is_no_users() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    let process = KEY.process();
    assert_eq!(bench.status().summary.owner, None);
    assert_eq!(listed(&mut bench, &holder(Role::User, "ana")), []);
    assert_eq!(listed(&mut bench, &holder(Role::Admin, "eve")), [process]);
}

#[test]
fn owners_outlive_a_restart() {
    let mut bench = Bench::new(|_| None);
    let (ana, ben) = (holder(Role::User, "ana"), holder(Role::User, "ben"));
    submit(&mut bench, &ana, submission(KEY, diamond()));
    bench.restart();
    assert_eq!(listed(&mut bench, &ana), [KEY.process()]);
    assert_eq!(listed(&mut bench, &ben), []);
}

#[test]
fn outcomes_of_others_neither_stand_nor_are_told() {
    let mut draft = draft(vec![leaf("a")]);
    edit(&mut draft.nodes[0], |activity| {
        activity.cache = Caching::Always
    });
    let mut bench = Bench::new(well);
    let (ana, ben) = (holder(Role::User, "ana"), holder(Role::User, "ben"));
    submit(&mut bench, &ana, submission(KEY, draft.clone()));
    // As a base for reuse, her process is hidden from him...
    let based = Submit {
        base: Some(KEY.process()),
        ..submission(SECOND, draft.clone())
    };
    let missing = Submit {
        base: Some(SubmitKey(1).process()),
        ..based.clone()
    };
    let (Answer::Refused(theirs), Answer::Refused(nobodys)) = (
        submit(&mut bench, &ben, based),
        submit(&mut bench, &ben, missing),
    ) else {
        panic!("neither is there")
    };
    let name = |key: SubmitKey| key.process().to_string();
    let theirs = theirs[0].replace(&name(KEY), &name(SubmitKey(1)));
    assert_eq!(theirs, nobodys[0]);
    // ... and what she ran, he runs himself; she does not run it again.
    submit(&mut bench, &ben, submission(SECOND, draft.clone()));
    assert_eq!(bench.started, ["a", "a"]);
    submit(&mut bench, &ana, submission(SubmitKey(79), draft.clone()));
    submit(&mut bench, &ben, submission(SubmitKey(80), draft));
    assert_eq!(bench.started, ["a", "a"]);
}

#[test]
fn a_user_cancels_and_asks_about_their_own() {
    let mut bench = Bench::new(|_| None);
    let ana = holder(Role::User, "ana");
    let process = KEY.process();
    submit(&mut bench, &ana, submission(KEY, diamond()));
    let activity = ActivityId(4);
    let why = asks(&mut bench, &ana, Request::Why { process, activity });
    assert!(
        matches!(&why, Answer::Why(why) if matches!(why.reasons[..], [Reason::After { .. }, ..])),
        "{why:?}"
    );
    let cancelled = asks(&mut bench, &ana, Request::Cancel(process));
    assert_eq!(cancelled, Answer::Cancelling(process));
}

#[test]
fn items_do_not_take_a_user_beyond_the_quota() {
    let ana = holder(Role::User, "ana");
    for (activities_max, phase) in [(8, Phase::Running), (7, Phase::Faulted)] {
        let mut bench = Bench::new(|dispatch| match dispatch.command[0].as_str() {
            "a" => super::for_each::lines(dispatch),
            _ => None,
        });
        bench.config.quota = Quota {
            processes_max: None,
            activities_max: Some(activities_max),
        };
        bench.restart();
        // Four activities, of which two run for three items.
        let draft = super::for_each::process("found", None);
        let taken = submit(&mut bench, &ana, submission(KEY, draft));
        assert_eq!(taken, Answer::Submitted(KEY.process()));
        let known = bench.status_of(KEY);
        assert_eq!(known.summary.phase, phase, "{activities_max}");
        let message = "it would add 4 activities, ana has 4 on this process manager, and may have 7 \
                       (`user-activities-max`)";
        for fault in &known.faults {
            assert_eq!(
                (fault.name.clone(), fault.message.as_str()),
                (FaultName::TooLarge, message)
            );
        }
    }
}

#[test]
fn a_user_has_no_more_than_the_quota_allows() {
    let (ana, ben) = (holder(Role::User, "ana"), holder(Role::User, "ben"));
    let mut bench = Bench::new(|_| None);
    bench.config.quota = Quota {
        processes_max: Some(2),
        activities_max: Some(11),
    };
    bench.restart();
    let key = |number: u64| SubmitKey(100 + number);
    let give = |bench: &mut Bench, caller: &Caller, number| {
        submit(bench, caller, submission(key(number), diamond()))
    };
    let taken = |number| Answer::Submitted(key(number).process());
    let refused = |told: &str| Answer::Refused(vec![told.to_owned()]);
    assert_eq!(give(&mut bench, &ana, 1), taken(1));
    assert_eq!(give(&mut bench, &ana, 2), taken(2));
    let many = refused(
        "ana has 2 processes on this process manager that have not ended, and may have 2 \
         (`user-processes-max`): submit it when some of them have ended",
    );
    assert_eq!(give(&mut bench, &ana, 3), many);
    // What was accepted is answered as before, and others have a quota of their own, or none.
    assert_eq!(give(&mut bench, &ana, 1), taken(1));
    assert_eq!(give(&mut bench, &ben, 4), taken(4));
    for number in 5..9 {
        assert_eq!(give(&mut bench, &Caller::Local, number), taken(number));
    }
    // After a restart the processes are still there.
    bench.config.quota.processes_max = None;
    bench.restart();
    let large = refused(
        "the process has 4 activities, the other processes of ana on this process manager have 8, \
         and together they may have 11 (`user-activities-max`): submit it when some of them have \
         ended",
    );
    assert_eq!(give(&mut bench, &ana, 3), large);
    let cancelled = asks(&mut bench, &ana, Request::Cancel(key(1).process()));
    assert_eq!(cancelled, Answer::Cancelling(key(1).process()));
}

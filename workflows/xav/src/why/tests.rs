use model::{AttemptId, Fault, FaultName, ProcessId, ResourceId, Span};
use wire::client::LaterRound;

use super::*;

fn explanation(reason: Vec<Reason>, phase: ActivityPhase, recall: Option<Recall>) -> String {
    explained(reason, phase, recall, true)
}

fn explained(
    reason: Vec<Reason>,
    phase: ActivityPhase,
    recall: Option<Recall>,
    is_live: bool,
) -> String {
    let (definition, mut status) = crate::render::tests::two();
    status.summary.phase = Phase::Running;
    status.summary.base = Some(ProcessId(0));
    let explanation = Explanation {
        definition: &definition,
        status: &status,
        is_live,
        now: Wall(0),
    };
    let why = Answered {
        activity: status.activities[1].activity,
        phase,
        reasons: reason,
        recall,
        moves: Vec::new(),
        n_moves: 0,
    };
    let text = explanation.sentences(&why, None);
    assert!(explanation.document(&why)["state"].is_string());
    anstream::adapter::strip_str(&text).to_string()
}

fn fault() -> Fault {
    Fault::new(
        FaultName::ExitCode,
        "merge: exited with status 3".to_owned(),
    )
    .of(ActivityId(2))
}

#[test]
fn what_it_waits_for_is_named() {
    let after = Reason::After {
        activity: ActivityId(1),
        phase: ActivityPhase::Running,
    };
    assert_eq!(
        explanation(vec![after], ActivityPhase::Waiting, None),
        "merge waits\n  after range, which runs\n"
    );
    let queue = Reason::Queue {
        resource: ResourceId::local(1),
        n_before: 3,
        n_out: 1,
    };
    let machines = Reason::Machines("a free slot".to_owned());
    assert_eq!(
        explanation(vec![queue, machines], ActivityPhase::Ready, None),
        "merge is ready, and was not sent yet\n  \
         3 come before it on host, where 1 activity is at work\n  \
         for a free slot\n"
    );
    let items = |begun: Vec<NodeId>, n_before| {
        Reason::Items(ItemsAhead {
            each: NodeId(0),
            at_most: 2,
            begun,
            n_before,
        })
    };
    assert_eq!(
        explanation(
            vec![items(vec![NodeId(1), NodeId(2)], 3)],
            ActivityPhase::Waiting,
            None
        ),
        "merge waits\n  sequence does 2 items at a time: now range and merge, and 3 come before it\n"
    );
    assert_eq!(
        explanation(vec![items(Vec::new(), 0)], ActivityPhase::Waiting, None),
        "merge waits\n  sequence does 2 items at a time: it is the next one\n"
    );
    let passing = Reason::Passing {
        maker: ActivityId(1),
        resource: ResourceId::local(1),
    };
    assert_eq!(
        explanation(vec![passing], ActivityPhase::Ready, None),
        "merge is ready, and was not sent yet\n  \
         what range made is not on host yet, where its controller keeps it\n"
    );
    let backoff = Reason::Backoff {
        until: Wall(2_000_000),
    };
    assert_eq!(
        explanation(vec![backoff], ActivityPhase::Backoff, None),
        "merge failed, and is tried again\n  the next attempt begins in 2.0s\n"
    );
}

#[test]
fn what_was_sent_when_its_process_was_interrupted_was_at_work() {
    let interrupted = |reasons, phase| explained(reasons, phase, None, false);
    let told = interrupted(Vec::new(), ActivityPhase::Sent);
    assert!(
        told.starts_with("merge was at work; nothing runs the process at the moment"),
        "{told}"
    );
    let after = Reason::After {
        activity: ActivityId(1),
        phase: ActivityPhase::Sent,
    };
    let told = interrupted(vec![after], ActivityPhase::Waiting);
    assert!(
        told.contains("\n  after range, which was at work\n"),
        "{told}"
    );
}

#[test]
fn the_round_that_it_waits_for_is_told() {
    let round = |n_rounds, n_left: u32, n_before, awaits_plan| {
        let left = (1..=n_left.min(2)).map(ActivityId);
        let later = LaterRound {
            resource: ResourceId::local(1),
            round: 2,
            n_rounds,
            left: left.collect(),
            n_left,
            n_before,
            awaits_plan,
        };
        let text = explanation(
            vec![Reason::Round(Box::new(later))],
            ActivityPhase::Ready,
            None,
        );
        let text =
            text.strip_prefix("merge is ready, and was not sent yet\n  for a later round of ");
        text.unwrap().trim_end().to_owned()
    };
    assert_eq!(
        round(Some(4), 1, 0, false),
        "host, after round 2 of 4 with range; it is the next one"
    );
    assert_eq!(
        round(None, 5, 1, false),
        "host, after round 2 with range, merge and 3 more; 1 comes before it"
    );
    assert_eq!(
        round(Some(4), 0, 7, false),
        "host, after round 2 of 4 with nothing left; 7 come before it"
    );
    assert_eq!(
        round(Some(4), 1, 7, true),
        "host, after another plan, since round 2 of 4 took too long there; 7 come before it"
    );
}

#[test]
fn how_late_a_running_activity_is_and_what_is_not_done_about_it_is_told() {
    let late = Reason::Late(Lateness {
        resource: ResourceId::local(1),
        elapsed: Span::from_secs(14),
        expected: Span::from_secs(10),
    });
    assert_eq!(
        explanation(vec![late], ActivityPhase::Running, None),
        "merge runs\n  it has run for 14.0s on host, where 10.0s were expected; it is not \
         `repeatable`, so no second attempt is started elsewhere\n"
    );
}

#[test]
fn what_has_no_copy_is_told_with_the_reason() {
    let why = "no other machine is there that could keep it".to_owned();
    let reasons = vec![Reason::Uncopied(why)];
    assert_eq!(
        explanation(reasons, ActivityPhase::Completed, None),
        "merge completed\n  no other machine keeps a copy of what it made: no other machine is there \
         that could keep it\n"
    );
}

#[test]
fn a_fault_is_shown_as_a_run_shows_it() {
    let text = explanation(
        vec![Reason::Fault(Box::new(fault()))],
        ActivityPhase::Faulted,
        None,
    );
    assert!(
        text.starts_with("merge failed\n\nfault: activity merge: exited with status 3"),
        "{text}"
    );
    assert!(!text.contains("Mend it"), "{text}");
}

#[test]
fn why_it_was_or_was_not_run_again_is_told() {
    let attempt = AttemptId {
        process: "9abcdefgh1234".parse().unwrap(),
        activity: ActivityId(2),
        number: 2,
    };
    assert_eq!(
        explanation(
            Vec::new(),
            ActivityPhase::Completed,
            Some(Recall::Stands(attempt))
        ),
        "merge was not run: a recorded outcome stands for it\n  \
         command, environment and inputs are those of its run in process 9abcde, attempt 2\n"
    );
    let changed = |changes| {
        let text = explanation(
            Vec::new(),
            ActivityPhase::Completed,
            Some(Recall::Changed(changes)),
        );
        text.lines().nth(1).unwrap().trim().to_owned()
    };
    assert_eq!(
        changed(vec![Change::Command]),
        "since 000000 its command line changed"
    );
    assert_eq!(
        changed(vec![
            Change::Environment,
            Change::Inputs(vec!["a".into(), "b".into()]),
            Change::Outputs
        ]),
        "since 000000 its environment or stdin, its inputs a, b and what is taken out of its directory changed"
    );
    let many = (0..7).map(|n| format!("in{n}")).collect();
    assert_eq!(
        changed(vec![Change::Inputs(many)]),
        "since 000000 its inputs in0, in1, in2, in3, in4 and 2 more changed"
    );
    for (recall, words) in [
        (
            Recall::Absent,
            "process 000000 has no activity of that name",
        ),
        (
            Recall::NotCompleted(ActivityPhase::Faulted),
            "in process 000000 it failed",
        ),
        (Recall::Nothing, "no outcome of the same command"),
        (Recall::TooLong, "too long to be kept"),
    ] {
        let text = explanation(Vec::new(), ActivityPhase::Completed, Some(recall));
        assert!(text.starts_with("merge was run, and completed\n"), "{text}");
        assert!(text.contains(words), "{text}");
    }
}

#[test]
fn why_it_was_not_run_is_told() {
    let skipped = |reason| {
        let text = explanation(vec![reason], ActivityPhase::Skipped, None);
        text.strip_prefix("merge was not run, and will not\n  ")
            .unwrap()
            .trim()
            .to_owned()
    };
    let (from, to) = (NodeId(1), NodeId(2));
    assert_eq!(
        skipped(Reason::Link { from, to }),
        "the link from range to merge is false"
    );
    assert_eq!(
        skipped(Reason::Join(to)),
        "the join condition of merge is false"
    );
    assert_eq!(
        skipped(Reason::Broken(from)),
        "it depends on range, which failed"
    );
    assert_eq!(
        skipped(Reason::Ended(Phase::Cancelled)),
        "the process was cancelled before its turn"
    );
    assert_eq!(
        skipped(Reason::Ended(Phase::Faulted)),
        "a fault ended the process before its turn"
    );
}

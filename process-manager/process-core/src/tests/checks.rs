//! Files that are damaged or gone though an outcome is recorded that made them.

use super::*;
use model::{Identity, Role, SubmitKey};
use wire::attempt::{Access, FromActivity};
use wire::client::Submit;

const SECOND: SubmitKey = SubmitKey(78);

/// s(a b): both make a file, b is given that of a; both files are outputs.
fn chain() -> Draft {
    let makes = |name: &str| {
        let mut node = leaf(name);
        edit(&mut node, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "o.txt".into(),
            }];
        });
        node
    };
    let mut draft = draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2]))),
        makes("a"),
        makes("b"),
    ]);
    edit(&mut draft.nodes[2], |activity| {
        activity.inputs = vec![Staged {
            path: "i.txt".into(),
            source: of(1),
            gathers: false,
            carried: None,
        }];
    });
    draft.outputs = [("first", 1), ("second", 2)]
        .map(|(name, maker)| Output {
            name: name.into(),
            source: OutputSource::Produced(of(maker)),
        })
        .into();
    draft
}

fn of(activity: u32) -> Source {
    Source::Output {
        activity: NodeId(activity),
        output: 0,
    }
}

fn rerun() -> Submit {
    Submit {
        base: Some(KEY.process()),
        ..submission(SECOND, chain())
    }
}

/// The file made by an activity of the first process.
fn made(bench: &mut Bench, activity: usize) -> model::Hash {
    bench.status().activities[activity].outputs[0].1.hash
}

#[test]
fn an_outcome_stands_where_its_files_are_sound() {
    let mut bench = Bench::new(well);
    bench.submit(chain());
    bench.submit_as(rerun());
    assert_eq!(bench.started, ["a", "b"]);
    assert_eq!(bench.status_of(SECOND).summary.totals.reused, 2);
}

#[test]
fn an_outcome_whose_files_are_damaged_or_gone_does_not_stand() {
    for (damaged, ran) in [(0, ["a"]), (1, ["b"])] {
        let mut bench = Bench::new(well);
        bench.submit(chain());
        let damaged = made(&mut bench, damaged);
        bench.damaged.insert(damaged);
        bench.submit_as(rerun());
        bench.run();
        assert_eq!(bench.started[2..], ran);
        let status = bench.status_of(SECOND);
        assert_eq!(status.summary.phase, Phase::Completed);
        assert_eq!(status.summary.totals.reused, 1);
    }
}

#[test]
fn an_output_that_was_lost_while_the_manager_was_away_is_made_again_before_the_end() {
    let mut bench = Bench::new(|dispatch| match &dispatch.command[..] {
        [word] if word == "b" => None,
        _ => well(dispatch),
    });
    bench.submit(chain());
    let damaged = made(&mut bench, 0);
    bench.damaged.insert(damaged);
    bench.restart();
    let b = *bench.held.keys().next().unwrap();
    assert_eq!(bench.started, ["a", "b", "a"]);
    bench.end(b, End::Completed, 0, "");
    assert_eq!(bench.status().summary.phase, Phase::Completed);
    bench.restart();
    assert_eq!(bench.started, ["a", "b", "a"]);
}

#[test]
fn a_user_may_have_what_own_processes_have() {
    let mut bench = Bench::new(well);
    let user = |name: &str| Identity::new("grid", "lab", Role::User, name).unwrap();
    let (ana, ben, unknown) = (user("ana"), user("ben"), model::Hash([7; 32]));
    let submit = Request::Submit(Box::new(submission(KEY, chain())));
    let caller = Caller::Holder(ana.clone());
    bench.give(Input::Request(ClientId(5), caller, 1, submit));
    let file = made(&mut bench, 0);
    for (user, process, artifact) in [
        (&ana, KEY, file),
        (&ben, KEY, file),
        (&ana, SECOND, file),
        (&ana, KEY, unknown),
    ] {
        let access = Access {
            user: user.to_string(),
            process: process.process(),
            artifact,
        };
        let message = FromActivity::Access { number: 1, access };
        bench.give(Input::Activity(MACHINE, message));
    }
    assert_eq!(bench.allowed, [true, false, false, false]);
}

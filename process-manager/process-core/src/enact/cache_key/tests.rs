//! Changes that change a cache key, and changes that do not.

use model::{
    Activation, ActivityId, ArtifactKind, AttemptId, Bytes, Caching, Capture, Command, Produced,
    Retry, Span, SubmitKey, Template, Work,
};
use wire::attempt::Stdin;

use super::*;

fn activity() -> Activity {
    Activity {
        outputs: vec![Produced {
            name: "out".into(),
            path: "o.txt".into(),
        }],
        ..Activity::new(Command::List(vec![Template("a".into())]))
    }
}

fn input(path: &str, byte: u8) -> (String, Artifact) {
    let artifact = Artifact {
        hash: Hash([byte; 32]),
        bytes: Bytes(1),
        kind: ArtifactKind::File,
    };
    (path.to_owned(), artifact)
}

fn dispatch(activity: &Activity) -> Dispatch {
    let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let attempt = AttemptId {
        process: SubmitKey(1).process(),
        activity: ActivityId(1),
        number: 1,
    };
    Dispatch {
        env: vec![
            own(PROCESS_VARIABLE, "p"),
            own(ACTIVITY_VARIABLE, "a"),
            own(ATTEMPT_VARIABLE, "1"),
            own("X", "1"),
            own("Y", "2"),
        ],
        inputs: vec![input("i", 1), input("j", 2)],
        outputs: activity.outputs.clone(),
        cores: activity.cores,
        ..Dispatch::new(attempt, vec!["a".into(), "b".into()])
    }
}

#[test]
fn resources_and_names_are_no_part_of_it() {
    let before = activity();
    let after = Activity {
        cores: 4,
        memory: Some(Bytes(9)),
        labels: vec![("os".into(), "linux".into())],
        timeout: Some(Span(7)),
        work: Some(Work(3)),
        cache: Caching::Always,
        retry: Retry {
            attempts: 9,
            ..Retry::default()
        },
        ..before.clone()
    };
    let one = dispatch(&before);
    let mut other = dispatch(&after);
    other.attempt = AttemptId {
        process: SubmitKey(2).process(),
        activity: ActivityId(9),
        number: 5,
    };
    for (_, value) in &mut other.env[..3] {
        value.push('x');
    }
    other.memory = after.memory;
    other.timeout = after.timeout;
    other.inputs.reverse();
    other.env.reverse();
    assert_eq!(CacheKey::of(&before, &one), CacheKey::of(&after, &other));
}

#[test]
fn whatever_decides_the_outcome_changes_it_and_the_part_is_told() {
    type Edit = fn(&mut Activity, &mut Dispatch);
    let edits: [(&str, Edit); 14] = [
        ("command", |_, sent| sent.command.push("c".into())),
        ("command", |_, sent| sent.command = vec!["ab".into()]),
        ("environment", |_, sent| sent.env[3].1.push('x')),
        ("environment", |_, sent| sent.env.truncate(4)),
        ("environment", |_, sent| {
            sent.stdin = Stdin::Text("t".into())
        }),
        ("environment", |_, sent| {
            sent.stdin = Stdin::File("t".into())
        }),
        ("environment", |_, sent| {
            sent.activation = Some(Activation::Path("/opt/x".into()));
        }),
        ("", |_, sent| sent.inputs[0].1.hash = Hash([9; 32])),
        ("", |_, sent| sent.inputs[0].0.push('x')),
        ("", |_, sent| {
            sent.inputs[0].1.kind = ArtifactKind::Directory
        }),
        ("", |_, sent| sent.inputs.truncate(1)),
        ("", |activity, _| activity.outputs[0].name.push('x')),
        ("", |activity, _| activity.outputs[0].path.push('x')),
        ("", |activity, _| {
            activity.stdout = Some(Capture {
                variable: 0,
                parse: Parse::Json,
            });
        }),
    ];
    let before = CacheKey::of(&activity(), &dispatch(&activity()));
    let mut keys = std::collections::BTreeSet::from([before.key]);
    for (part, edit) in edits {
        let mut activity = activity();
        let mut sent = dispatch(&activity);
        edit(&mut activity, &mut sent);
        let after = CacheKey::of(&activity, &sent);
        assert!(keys.insert(after.key));
        assert_eq!(before.command != after.command, part == "command");
        assert_eq!(
            before.environment != after.environment,
            part == "environment"
        );
    }
    // The variable that takes a stream may be another one.
    let reading = |variable| {
        let mut activity = activity();
        activity.stdout = Some(Capture {
            variable,
            parse: Parse::Int,
        });
        CacheKey::of(&activity, &dispatch(&activity))
    };
    assert_eq!(reading(0), reading(5));
}

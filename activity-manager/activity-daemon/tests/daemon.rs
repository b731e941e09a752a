//! A whole activity manager with a real executor and real commands; the test plays the group
//! manager and the process manager. This program is its own executor, so it has a `main`.

#![expect(clippy::unwrap_used, reason = "a test, though not the usual harness's")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use activity_blobs::Placement;
use activity_daemon::{Accounts, Commands, Config, Handle};
use activity_executor::Stream;
use model::{ActivityId, AttemptId, Epoch, GrantId, ProcessId, Produced, ResourceId, Span};
use rustix::process::{Pid, Signal, kill_process};
use shell::{InputReceiver, Peers, Received};
use tempfile::TempDir;
use wire::attempt::{Dispatch, End, FromActivity, Outcome, ToActivity};
use wire::resource::{FromResource, ProcessGrant, QuestionId, ToResource};

const PATIENCE: Span = Span::from_secs(20);
const PROCESS: ProcessId = ProcessId(7);
const RESOURCE: ResourceId = ResourceId::local(4);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    if arguments
        .peek()
        .is_some_and(|first| first == activity_executor::ARGUMENT)
    {
        return activity_executor::main(arguments);
    }
    // Each has an activity manager of its own, and waits most of the time.
    thread::scope(|scope| {
        scope.spawn(commands_run_and_their_files_go_on);
        scope.spawn(a_second_epoch_finds_the_commands_of_the_first);
        scope.spawn(an_executor_that_dies_is_replaced_and_its_commands_are_lost);
        scope.spawn(an_executor_that_does_not_answer_is_told_not_lent_and_replaced);
    });
    ExitCode::SUCCESS
}

fn commands_run_and_their_files_go_on() {
    let bench = Bench::new();
    let mut grid = bench.start();
    let script = bench.dir.path().join("count.sh");
    fs::write(
        &script,
        "wc -c < text > count; echo counted; echo careful >&2",
    )
    .unwrap();
    let files = grid.handle.add_files(&[script]).unwrap();
    let first = Dispatch {
        command: words(&["sh", "-c", "printf hello > text"]),
        outputs: vec![produced("text")],
        ..dispatch(1)
    };
    let made = grid.run(first);
    assert_eq!(made.end, End::Completed);
    let second = Dispatch {
        command: words(&["sh", "count.sh"]),
        inputs: vec![
            ("text".to_owned(), made.outputs[0]),
            ("count.sh".to_owned(), files[0]),
        ],
        outputs: vec![produced("count")],
        wants_stdout: true,
        ..dispatch(2)
    };
    let counted = grid.run(second);
    assert_eq!(counted.end, End::Completed);
    assert_eq!(counted.stdout.as_deref(), Some(&b"counted\n"[..]));
    let target = bench.dir.path().join("exported");
    grid.handle
        .blobs()
        .export(counted.outputs[0], &target)
        .unwrap();
    assert_eq!(fs::read_to_string(target).unwrap().trim(), "5");
    let mut said = String::new();
    let log = counted.log.unwrap();
    let mut reader = grid
        .handle
        .open_log(counted.attempt, Stream::Stderr, &log)
        .unwrap();
    reader.read_to_string(&mut said).unwrap();
    assert_eq!(said, "careful\n");
    let missing = Dispatch {
        outputs: vec![produced("nothing")],
        ..dispatch(3)
    };
    assert!(matches!(grid.run(missing).end, End::Failed(failure)
        if failure.message.contains("there is no `nothing`")));
    let failed = grid.run(Dispatch {
        command: words(&["false"]),
        ..dispatch(4)
    });
    let End::Failed(failure) = failed.end else {
        panic!("{failed:?}")
    };
    assert!(
        fs::metadata(&failure.directory).unwrap().is_dir(),
        "a failed attempt can be looked at"
    );
    grid.stop(Commands::End);
    let left = fs::read_dir(activity_daemon::work_directory(&bench.state()))
        .unwrap()
        .flat_map(|process| fs::read_dir(process.unwrap().path()).unwrap())
        .count();
    assert_eq!(left, 2, "only failed attempts keep their directories");
}

fn a_second_epoch_finds_the_commands_of_the_first() {
    let bench = Bench::new();
    let go = bench.dir.path().join("go");
    let waiting = format!(
        "until test -e {}; do sleep 0.01; done; echo done",
        go.display()
    );
    let mut grid = bench.start();
    grid.dispatch(Dispatch {
        command: words(&["sh", "-c", &waiting]),
        wants_stdout: true,
        ..dispatch(1)
    });
    grid.started();
    grid.stop(Commands::GoOn);
    fs::write(go, "").unwrap();
    let mut grid = bench.start();
    let outcome = grid.outcome();
    assert_eq!(
        (outcome.attempt, &outcome.end),
        (dispatch(1).attempt, &End::Completed)
    );
    assert_eq!(outcome.stdout.as_deref(), Some(&b"done\n"[..]));
    grid.stop(Commands::End);
}

fn an_executor_that_dies_is_replaced_and_its_commands_are_lost() {
    let bench = Bench::new();
    let mut grid = bench.start();
    // The command kills its parent, the executor, and dies with it.
    let outcome = grid.run(Dispatch {
        command: words(&["sh", "-c", "kill -9 $PPID; sleep 600"]),
        ..dispatch(1)
    });
    assert_eq!(outcome.end, End::Lost);
    assert_eq!(grid.run(dispatch(2)).end, End::Completed);
    grid.stop(Commands::End);
}

fn an_executor_that_does_not_answer_is_told_not_lent_and_replaced() {
    let bench = Bench::new();
    let mut grid = bench.start_with(Some(wire::lease::LENGTH));
    grid.dispatch(Dispatch {
        command: words(&["sleep", "600"]),
        ..dispatch(1)
    });
    grid.started();
    let executor = grid.handle.executor_pid().unwrap();
    let executor = Pid::from_raw(executor.try_into().unwrap()).unwrap();
    assert!(!grid.handle.is_executor_silent());
    kill_process(executor, Signal::STOP).unwrap();
    grid.lends(0);
    assert!(grid.handle.is_executor_silent());
    let lost = grid.outcome();
    assert_eq!((lost.attempt, lost.end), (dispatch(1).attempt, End::Lost));
    grid.lends(2);
    assert!(!grid.handle.is_executor_silent());
    assert_ne!(
        grid.handle.executor_pid(),
        Some(executor.as_raw_nonzero().get().unsigned_abs())
    );
    assert_eq!(grid.run(dispatch(2)).end, End::Completed);
    grid.stop(Commands::End);
}

struct Bench {
    dir: TempDir,
}

/// An activity manager between two played managers.
struct Grid {
    handle: Handle,
    from_resource: InputReceiver<FromGroupSide>,
    from_activity: InputReceiver<FromProcessSide>,
    to_activity: Peers<ToActivity>,
    _to_resource: Peers<ToResource>,
    epoch: Epoch,
}

enum FromGroupSide {
    Link,
    Message(FromResource),
}

enum FromProcessSide {
    Link,
    Message(FromActivity),
}

impl Bench {
    fn new() -> Bench {
        Bench {
            dir: TempDir::new().unwrap(),
        }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn start(&self) -> Grid {
        self.start_with(None)
    }

    fn start_with(&self, lease: Option<Span>) -> Grid {
        let handle = activity_daemon::start(Config {
            directory: self.state(),
            name: "here".to_owned(),
            slots: 2,
            executor: std::env::current_exe().unwrap(),
            linger: Some(Span::from_secs(5)),
            lease,
            kill_grace: Some(Span::from_millis(100)),
            nice: None,
            stream_bytes_max: None,
            profile: None,
            containment: activity_daemon::ContainmentChoice::Best,
            limits: activity_daemon::Limits::default(),
            accounts: Accounts::default(),
            blobs: None,
            elsewhere: None,
            origins: None,
            environments: None,
            inputs: Placement::Copy,
            quotas: None,
            retention: None,
            transfers: None,
            damaged: shell::Damaged::Refused,
            failed: Box::new(|error| panic!("{error}")),
        });
        let handle = handle.unwrap();
        let (group, mut from_resource) = shell::inbox();
        let (process, from_activity) = shell::inbox();
        let (to_resource, to_activity) = (Peers::new(), Peers::new());
        let (ours, theirs) = shell::link();
        to_resource.attach(
            ours,
            &group,
            0,
            Received {
                message: |_, message| FromGroupSide::Message(message),
                up: |_| FromGroupSide::Link,
                down: |_| FromGroupSide::Link,
                lane: shell::in_turn,
            },
        );
        handle.connect_group(theirs);
        let facts = loop {
            match from_resource.next_within(PATIENCE).unwrap() {
                FromGroupSide::Message(FromResource::Register { facts, .. }) => break facts,
                FromGroupSide::Link
                | FromGroupSide::Message(FromResource::Alive | FromResource::Unused { .. }) => {}
            }
        };
        assert_eq!((facts.name.as_str(), facts.slots), ("here", 2));
        to_resource.send(0, &ToResource::Registered(RESOURCE));
        let grant = ProcessGrant {
            id: GrantId(1),
            process: PROCESS,
            slots: 2,
        };
        to_resource.send(0, &ToResource::Grants(vec![grant], QuestionId::default()));
        to_resource.wake_receivers();
        assert_eq!(handle.number(Duration::from_secs(20)), Some(RESOURCE));
        let (ours, theirs) = shell::link();
        to_activity.attach(
            ours,
            &process,
            1,
            Received {
                message: |_, message| FromProcessSide::Message(message),
                up: |_| FromProcessSide::Link,
                down: |_| FromProcessSide::Link,
                lane: shell::in_turn,
            },
        );
        handle.connect_process(0, theirs);
        let mut grid = Grid {
            handle,
            from_resource,
            from_activity,
            to_activity,
            _to_resource: to_resource,
            epoch: Epoch(0),
        };
        grid.send(&ToActivity::Attach {
            epoch: Epoch(1),
            ask: 1,
            lease: None,
        });
        while grid.epoch == Epoch(0) {
            if let FromActivity::Holding { epoch, .. } = grid.next() {
                grid.epoch = epoch;
            }
        }
        grid
    }
}

impl Grid {
    fn send(&self, message: &ToActivity) {
        self.to_activity.send(1, message);
        self.to_activity.wake_receivers();
    }

    fn next(&mut self) -> FromActivity {
        loop {
            match self
                .from_activity
                .next_within(PATIENCE)
                .expect("there was no answer")
            {
                FromProcessSide::Message(FromActivity::Renew { epoch, number }) => {
                    self.send(&ToActivity::Renewed {
                        epoch,
                        number,
                        keeps: Vec::new(),
                    });
                }
                FromProcessSide::Message(message) => return message,
                FromProcessSide::Link => {}
            }
        }
    }

    /// Waits until the group is told that so many slots are lent.
    fn lends(&mut self, slots: u32) {
        loop {
            match self.from_resource.next_within(PATIENCE).unwrap() {
                FromGroupSide::Message(FromResource::Register { facts, .. })
                    if facts.slots == slots =>
                {
                    return;
                }
                FromGroupSide::Link | FromGroupSide::Message(_) => {}
            }
        }
    }

    fn dispatch(&self, dispatch: Dispatch) {
        self.send(&ToActivity::Dispatch {
            meant_for: self.epoch,
            attempts: vec![dispatch],
            holders: Vec::new(),
            holds: None,
        });
    }

    fn started(&mut self) {
        while !matches!(self.next(), FromActivity::Started(_)) {}
    }

    fn outcome(&mut self) -> Outcome {
        loop {
            if let FromActivity::Outcomes(mut outcomes) = self.next() {
                let outcome = outcomes.remove(0);
                self.send(&ToActivity::Acknowledge(vec![outcome.attempt]));
                return outcome;
            }
        }
    }

    fn run(&mut self, wanted: Dispatch) -> Outcome {
        let attempt = wanted.attempt;
        self.dispatch(wanted);
        loop {
            // Repeats of an outcome that was acknowledged at the same moment are ignored.
            let outcome = self.outcome();
            if outcome.attempt == attempt {
                return outcome;
            }
        }
    }

    fn stop(self, commands: Commands) {
        self.handle.stop(commands).unwrap();
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn produced(path: &str) -> Produced {
    Produced {
        name: path.to_owned(),
        path: path.to_owned(),
    }
}

fn dispatch(activity: u32) -> Dispatch {
    let attempt = AttemptId {
        process: PROCESS,
        activity: ActivityId(activity),
        number: 1,
    };
    Dispatch::new(attempt, words(&["true"]))
}

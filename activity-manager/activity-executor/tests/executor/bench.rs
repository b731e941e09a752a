//! One executor in a directory of its own, and a daemon's connection to it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

use activity_executor::{
    Accounts, Connection, ContainmentChoice, Limits, Pace, Receiver, Sender, Spawn, Stream,
    log_directory, read_log, spawn,
};
use model::{ActivityId, AttemptId, ProcessId, Span};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::time::Timespec;
use tempfile::TempDir;
use wire::executor::{
    Captured, Containment, DaemonHello, Ended, ExecutorHello, FromExecutor, Held, HeldBy, PROTOCOL,
    Start, ToExecutor,
};

/// Time limit of anything in these tests. Nothing waits that long when all is well.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Bench {
    pub(crate) directory: TempDir,
    /// The started process: it ends after the executor and all processes of commands.
    pub(crate) guardian: Child,
    /// The executor itself.
    pub(crate) executor: Pid,
    ways: Ways,
    containment: Option<Containment>,
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Received messages that were not asked for yet: messages of different kinds come in any
    /// order.
    ended: BTreeMap<u32, Ended>,
    started: BTreeMap<u32, Pid>,
}

impl Bench {
    /// An executor that lingers long and is connected.
    pub(crate) fn new(cores: u32) -> Bench {
        Bench::with_linger(cores, Span::from_secs(1_000))
    }

    pub(crate) fn with_linger(cores: u32, linger: Span) -> Bench {
        let ways = Ways {
            linger,
            ..Ways::default()
        };
        Bench::begin(cores, ways)
    }

    /// One executor for each way of containment that this system permits.
    pub(crate) fn in_both_ways(cores: u32) -> [Bench; 2] {
        [ContainmentChoice::Best, ContainmentChoice::ProcessTree].map(|containment| {
            let ways = Ways {
                containment,
                ..Ways::default()
            };
            Bench::begin(cores, ways)
        })
    }

    /// An executor whose commands get shares of the time.
    pub(crate) fn slowed(cores: u32, pace: Pace) -> Bench {
        let ways = Ways {
            pace: Some(pace),
            ..Ways::default()
        };
        Bench::begin(cores, ways)
    }

    /// An executor whose commands run as other accounts.
    pub(crate) fn with_accounts(cores: u32, accounts: &Accounts) -> Bench {
        let ways = Ways {
            accounts: accounts.clone(),
            ..Ways::default()
        };
        Bench::begin(cores, ways)
    }

    pub(crate) fn begin(cores: u32, ways: Ways) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let guardian = ways.start(directory.path());
        let (mut sender, receiver) = connect(directory.path());
        sender.send(&hello(cores)).unwrap();
        let (ended, started) = (BTreeMap::new(), BTreeMap::new());
        let mut bench = Bench {
            directory,
            executor: Pid::from_child(&guardian),
            guardian,
            ways,
            containment: None,
            sender,
            receiver,
            ended,
            started,
        };
        assert_eq!(bench.held().1, []);
        bench
    }

    /// Kills the executor with -9. Its guardian ends its commands.
    pub(crate) fn kill_executor(&self) {
        kill_process(self.executor, Signal::KILL).unwrap();
    }

    /// The containment that it reports.
    pub(crate) fn held_by(&self) -> HeldBy {
        self.containment.unwrap().held_by
    }

    /// Kills its guardian with -9.
    pub(crate) fn kill_guardian(&mut self) {
        self.guardian.kill().unwrap();
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Drops the connection and makes another one. Returns the executor's hello and list.
    pub(crate) fn reconnect(&mut self, cores: u32) -> (ExecutorHello, Vec<Held>) {
        (self.sender, self.receiver) = connect(self.directory.path());
        self.sender.send(&hello(cores)).unwrap();
        self.held()
    }

    /// Another executor on the same state, when this one has ended.
    pub(crate) fn restart(&mut self, cores: u32, linger: Span) -> (ExecutorHello, Vec<Held>) {
        self.guardian.wait().unwrap();
        self.ways.linger = linger;
        self.guardian = self.ways.start(self.directory.path());
        self.reconnect(cores)
    }

    /// Another executor on the same state, in the place of one that is gone.
    pub(crate) fn start_again(&mut self, accounts: &Accounts) {
        self.ways.accounts = accounts.clone();
        self.guardian = self.ways.start(self.directory.path());
        self.reconnect(1);
    }

    /// The first messages of a connection.
    pub(crate) fn held(&mut self) -> (ExecutorHello, Vec<Held>) {
        let FromExecutor::Hello(hello) = self.next() else {
            panic!("no hello")
        };
        // The commands of a session are found by this, and a silent executor is killed by it.
        assert_eq!(self.sender.peer_pid(), Some(hello.pid));
        self.executor = Pid::from_raw(hello.pid as i32).unwrap();
        self.containment = hello.containment;
        let mut all = Vec::new();
        loop {
            match self.next() {
                FromExecutor::Held(held) => all.extend(held),
                FromExecutor::HeldEnd => return (hello, all),
                other => panic!("{other:?} before the end of what is held"),
            }
        }
    }

    /// A command line that runs in the bench's directory.
    pub(crate) fn start(&self, activity: u32, program: &[&str]) -> Start {
        Start {
            attempt: attempt(activity),
            program: program.iter().map(|&word| word.to_owned()).collect(),
            env: vec![("PATH".into(), "/usr/bin:/bin".into())],
            directory: self.path().to_str().unwrap().to_owned(),
            stdout_inline_max: 10_000,
            stderr_inline_max: 10_000,
            note: vec![activity as u8, 42],
            cores: 1,
            ..Start::default()
        }
    }

    pub(crate) fn shell(&self, activity: u32, script: &str) -> Start {
        self.start(activity, &["sh", "-c", script])
    }

    pub(crate) fn send(&mut self, message: ToExecutor) {
        self.sender.send(&message).unwrap();
    }

    pub(crate) fn next(&mut self) -> FromExecutor {
        let message = self
            .receiver
            .receive()
            .unwrap()
            .expect("the executor has closed the connection");
        match &message {
            FromExecutor::Ended(ended) => {
                let ended = ended
                    .iter()
                    .map(|one| (one.attempt.activity.0, one.clone()));
                self.ended.extend(ended);
            }
            FromExecutor::Started(started) => {
                let pid = |pid: u32| Pid::from_raw(pid as i32).unwrap();
                let started = started
                    .iter()
                    .map(|one| (one.attempt.activity.0, pid(one.pid)));
                self.started.extend(started);
            }
            _ => {}
        }
        message
    }

    /// Waits until so many attempts have ended since the last call.
    pub(crate) fn ended(&mut self, n: usize) -> BTreeMap<u32, Ended> {
        while self.ended.len() < n {
            self.next();
        }
        std::mem::take(&mut self.ended)
    }

    /// Waits until one of these attempts has ended; the first of them that has.
    pub(crate) fn end_of(&mut self, activities: &[u32]) -> Ended {
        loop {
            let mut ended = activities.iter();
            if let Some(ended) = ended.find_map(|activity| self.ended.remove(activity)) {
                return ended;
            }
            self.next();
        }
    }

    /// Runs one command to its end.
    pub(crate) fn run(&mut self, start: Start) -> Ended {
        self.send(ToExecutor::Start(vec![start]));
        self.ended(1).into_values().next().unwrap()
    }

    /// Waits until an attempt is reported to run. Returns its process id.
    pub(crate) fn started(&mut self, activity: u32) -> Pid {
        loop {
            if let Some(pid) = self.started.remove(&activity) {
                return pid;
            }
            self.next();
        }
    }

    /// Waits until a running attempt has written a line, which the tests' commands make a process
    /// id.
    pub(crate) fn written_pid(&mut self, activity: u32) -> Pid {
        pid_in(&self.written(activity, |text| text.ends_with(b"\n")))
    }

    /// Waits until a running attempt has written a text.
    pub(crate) fn until_it_writes(&mut self, activity: u32, part: &str) {
        self.written(activity, |text| {
            String::from_utf8_lossy(text).contains(part)
        });
    }

    fn written(&mut self, activity: u32, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        loop {
            self.send(ToExecutor::Tail(attempt(activity)));
            let FromExecutor::Output { written, .. } = self.next() else {
                continue;
            };
            let text = written
                .map(|written| written.stdout.inline)
                .unwrap_or_default();
            if is_enough(&text) {
                return text;
            }
        }
    }

    /// The stored part of a stream.
    pub(crate) fn log(&self, activity: u32, stream: Stream, captured: &Captured) -> Vec<u8> {
        let directory = log_directory(&self.state());
        read_log(&directory, attempt(activity), stream, captured, u64::MAX).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.sender.send(&ToExecutor::Shutdown);
        let _ = self.sender.close();
        // Its guardian ends with it.
        let _ = kill_process(self.executor, Signal::KILL);
        let _ = self.guardian.wait();
    }
}

/// The first of the users without an account for one test, by its `place` among the tests. An
/// executor kills all processes of such a user, so neither another test nor another run of these
/// tests may have the same one.
pub(crate) fn first_user(place: u32) -> u32 {
    const USERS_OF_A_RUN: u32 = 100;
    1_000_000_000 + std::process::id() * USERS_OF_A_RUN + place
}

pub(crate) fn attempt(activity: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(77),
        activity: ActivityId(activity),
        number: 1,
    }
}

pub(crate) fn hello(cores: u32) -> ToExecutor {
    ToExecutor::Hello(DaemonHello {
        protocol: PROTOCOL,
        cores,
        linger: None,
        kill_grace: None,
        pace_since: None,
    })
}

pub(crate) fn binary() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_activity-executor"))
}

/// The settings of a start.
pub(crate) struct Ways {
    pub(crate) linger: Span,
    pub(crate) pace: Option<Pace>,
    pub(crate) accounts: Accounts,
    pub(crate) containment: ContainmentChoice,
    pub(crate) limits: Limits,
}

impl Default for Ways {
    fn default() -> Ways {
        Ways {
            linger: Span::from_secs(1_000),
            pace: None,
            accounts: Accounts::default(),
            containment: ContainmentChoice::Best,
            limits: Limits::default(),
        }
    }
}

impl Ways {
    pub(crate) fn start(&self, directory: &Path) -> Child {
        spawn(&Spawn {
            binary: binary(),
            socket: &directory.join("socket"),
            state: &directory.join("state"),
            linger: Some(self.linger),
            kill_grace: Some(Span::from_millis(100)),
            stream_bytes_max: None,
            pace: self.pace.as_ref(),
            accounts: &self.accounts,
            containment: self.containment,
            limits: &self.limits,
            work: Some(&directory.join("work")),
        })
        .unwrap()
    }
}

pub(crate) fn connect(directory: &Path) -> (Sender, Receiver) {
    let (sender, receiver) = Connection::connect(&directory.join("socket"))
        .unwrap()
        .split();
    receiver.set_timeout(Some(PATIENCE)).unwrap();
    (sender, receiver)
}

pub(crate) fn pid_in(text: &[u8]) -> Pid {
    Pid::from_raw(std::str::from_utf8(text).unwrap().trim().parse().unwrap()).unwrap()
}

/// Returns true if a process lives.
pub(crate) fn lives(pid: Pid) -> bool {
    pidfd_open(pid, PidfdFlags::empty()).is_ok_and(|pidfd| {
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())).unwrap() == 0
    })
}

/// Waits for the end of any process; a missing one has ended.
pub(crate) fn wait_for_end(pid: Pid) {
    if let Ok(pidfd) = pidfd_open(pid, PidfdFlags::empty()) {
        let timeout = Timespec {
            tv_sec: PATIENCE.as_secs() as i64,
            tv_nsec: 0,
        };
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN)];
        assert_eq!(
            poll(&mut fds, Some(&timeout)).unwrap(),
            1,
            "process {pid:?} goes on"
        );
    }
}

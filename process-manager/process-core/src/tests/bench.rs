//! A process manager with a group manager and a machine that do what they should, played by hand,
//! and small definitions to give it.

pub(in crate::tests) mod play;
pub(in crate::tests) mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use machine::{Batch, Codec, Drive, History};
use model::{
    Activity, Artifact, ArtifactKind, AttemptId, Bytes, Command, Draft, Epoch, FaultName, GroupId,
    Hash, Join, Mono, Node, NodeId, NodeKind, Now, ResourceId, Span, SubmitKey, Template, Type,
    Value, Variable, Wall,
};
use wire::attempt::{Copied, Dispatch, End, Failure, FromActivity, Holder, Holds, Outcome};
use wire::client::{Answer, Request, Status, Submit};
use wire::group::{Held, Offered, Unavailable};

use self::store::Store;
use crate::record::Event;
use crate::{Caller, ClientId, Input, Stream};
use crate::{Config, ProcessManager};

pub(super) const GROUP: GroupId = GroupId::LOCAL;
pub(super) const MACHINE: ResourceId = ResourceId::local(0);
pub(super) const KEY: SubmitKey = SubmitKey(77);

const BEGINNING: Now = Now {
    mono: Mono(1),
    wall: Wall(1_000_000),
};

/// A machine's answer to an attempt: its end, its exit status and its output.
pub(super) type Script = Box<dyn FnMut(&Dispatch) -> Option<(End, i32, String)>>;

pub(super) struct Bench {
    pub(super) drive: Drive<ProcessManager>,
    pub(super) now: Now,
    pub(super) epoch: Epoch,
    pub(super) slots: u32,
    /// Machines that take no work, as the group tells.
    pub(super) unavailable: Vec<Unavailable>,
    pub(super) events: Vec<(Stream, Event)>,
    /// Snapshots of everything.
    pub(super) store: Store,
    /// The shelf of the next start.
    pub(super) shelf: Option<Arc<dyn crate::Shelf>>,
    pub(super) script: Script,
    /// The command lines in the order in which they were started.
    pub(super) started: Vec<String>,
    pub(super) held: BTreeMap<AttemptId, Dispatch>,
    /// Machines that are offered beside the one that works.
    pub(super) others: Vec<Offered>,
    /// True if those keep the copies that they are asked for.
    pub(super) keeps: bool,
    /// Answers to machines that ask if a user may have a file: true if so.
    pub(super) allowed: Vec<bool>,
    /// Files that are damaged on machines.
    pub(super) damaged: BTreeSet<model::Hash>,
    /// Copies that machines were asked to keep.
    pub(super) copies: Vec<(ResourceId, Copied)>,
    /// The sources named for each copy, and true if the copy is needed.
    pub(super) copied_from: Vec<(Vec<ResourceId>, bool)>,
    /// True if the machine's journal was lost.
    pub(super) has_forgotten: bool,
    /// The holdings of processes as the group was told last.
    pub(super) told_held: Vec<Held>,
    /// The settings that managers are started with.
    pub(super) config: Config,
    /// True if no group manager is there when managers begin.
    pub(super) is_alone: bool,
    /// Machines that say nothing.
    pub(super) silent: BTreeSet<ResourceId>,
    /// The epoch of the machines that only keep files.
    pub(super) epoch_of_others: Epoch,
    /// By machine, the processes for which it was told last to keep copies.
    pub(super) kept: BTreeMap<ResourceId, Vec<model::ProcessId>>,
    /// True if a command produces something else each time.
    pub(super) drifts: bool,
    /// Activities whose files machines were asked to delete, each with the number of commands started
    /// before.
    pub(super) discarded: Vec<(usize, u32)>,
    pub(super) discarded_files: BTreeSet<Hash>,
    /// True if machines say nothing to that.
    pub(super) discards_lost: bool,
    /// The holders of files that dispatches name.
    pub(super) holders: Vec<Holder>,
    pub(super) acknowledged: BTreeSet<AttemptId>,
    /// Attempts that were asked back where they had not started; the machine says nothing to that.
    pub(super) asked_back: Vec<AttemptId>,
    pub(super) answers: Vec<Answer>,
    pub(super) grants: u64,
    /// Claims that do not arrive from here on.
    pub(super) claims_lost: u32,
    /// Slots that were kept with each return, and true if none arrives from here on.
    pub(super) returned: Vec<u32>,
    /// What each dispatch has said of the slots that are held.
    pub(super) said_held: Vec<Option<Holds>>,
    pub(super) returns_lost: bool,
    /// The algorithms that were asked for plans, in the order in which they were.
    pub(super) planned_by: Vec<schedule::SchedulerKind>,
    /// The processes that they were for.
    pub(super) planned_for: Vec<model::ProcessId>,
    /// Changes that the audit log was told of.
    pub(super) deeds: Vec<crate::Deed>,
    /// The metrics that were asked for last.
    pub(super) measured: Option<Box<crate::Measured>>,
    is_carrying_out: bool,
}

pub(super) fn well(_: &Dispatch) -> Option<(End, i32, String)> {
    Some((End::Completed, 0, "7\n".to_owned()))
}

pub(super) fn failed(name: FaultName) -> End {
    let message = "it did not go well".to_owned();
    let (directory, stderr_tail) = ("/w".to_owned(), "oh\n".to_owned());
    End::Failed(Box::new(Failure {
        name,
        message,
        directory,
        stderr_tail,
    }))
}

impl Drop for Bench {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.store.check();
        }
    }
}

impl Bench {
    pub(super) fn new(
        script: impl FnMut(&Dispatch) -> Option<(End, i32, String)> + 'static,
    ) -> Bench {
        Bench::of(Config::default(), script)
    }

    pub(super) fn of(
        config: Config,
        script: impl FnMut(&Dispatch) -> Option<(End, i32, String)> + 'static,
    ) -> Bench {
        let now = BEGINNING;
        let drive = Drive::start(ProcessManager::new(config.clone()), Vec::new(), now);
        let mut bench = Bench {
            drive,
            now,
            epoch: Epoch(4),
            slots: 2,
            unavailable: Vec::new(),
            has_forgotten: false,
            told_held: Vec::new(),
            events: Vec::new(),
            store: Store::default(),
            shelf: None,
            script: Box::new(script),
            started: Vec::new(),
            held: BTreeMap::new(),
            others: Vec::new(),
            keeps: false,
            allowed: Vec::new(),
            damaged: BTreeSet::new(),
            copies: Vec::new(),
            copied_from: Vec::new(),
            config,
            is_alone: false,
            silent: BTreeSet::new(),
            epoch_of_others: Epoch(4),
            kept: BTreeMap::new(),
            drifts: false,
            discarded: Vec::new(),
            discarded_files: BTreeSet::new(),
            discards_lost: false,
            holders: Vec::new(),
            acknowledged: BTreeSet::new(),
            asked_back: Vec::new(),
            answers: Vec::new(),
            grants: 0,
            claims_lost: 0,
            returned: Vec::new(),
            said_held: Vec::new(),
            returns_lost: false,
            planned_by: Vec::new(),
            planned_for: Vec::new(),
            deeds: Vec::new(),
            measured: None,
            is_carrying_out: false,
        };
        bench.connect();
        bench
    }

    pub(super) fn connect(&mut self) {
        if !self.is_alone {
            self.give(Input::GroupUp(GROUP));
        }
        self.give(Input::ActivityUp(MACHINE));
        let others: Vec<ResourceId> = self.others.iter().map(|one| one.resource).collect();
        for other in others {
            self.give(Input::ActivityUp(other));
        }
    }

    /// The process manager is killed: what was recorded is all that is left.
    pub(super) fn restart(&mut self) {
        self.store.check();
        let mut histories: BTreeMap<Stream, History<ProcessManager>> = BTreeMap::new();
        for (stream, event) in &self.events {
            let mut bytes = Vec::new();
            event.encode(&mut bytes);
            let event = Event::decode(&bytes).unwrap();
            match histories.get_mut(stream) {
                Some(history) => history.tail.push(event),
                None => {
                    let (stream, founding) = (*stream, event);
                    let history = History {
                        stream,
                        founding,
                        snapshot: None,
                        chapters: Vec::new(),
                        tail: Vec::new(),
                    };
                    histories.insert(stream, history);
                }
            }
        }
        let mut machine = ProcessManager::new(self.config.clone());
        if let Some(shelf) = &self.shelf {
            machine = machine.with_shelf(Arc::clone(shelf));
        }
        self.drive = Drive::start(machine, histories.into_values().collect(), self.now);
        self.carry_out();
        self.connect();
    }

    pub(super) fn give(&mut self, input: Input) {
        self.drive.step(self.now, input);
        self.carry_out();
    }

    /// Carries out what a step has asked for. Answers that come meanwhile are carried out after it.
    pub(super) fn carry_out(&mut self) {
        if self.is_carrying_out {
            return;
        }
        self.is_carrying_out = true;
        while self.carry_out_batch() {}
        self.is_carrying_out = false;
    }

    /// Returns false if there was nothing to do.
    fn carry_out_batch(&mut self) -> bool {
        let Batch {
            number,
            events,
            forgotten,
            ..
        } = self.drive.close();
        self.store.take(&events, &forgotten);
        self.events.extend(events);
        self.events
            .retain(|(stream, _)| !forgotten.contains(stream));
        let effects = self.drive.flushed(number);
        let has_any = !effects.is_empty();
        for effect in effects {
            self.play(effect);
        }
        has_any
    }

    /// The attempt that is out of the activity of this command.
    pub(super) fn attempt_of(&self, name: &str) -> AttemptId {
        let mut held = self.held.iter();
        let found = held.find(|(_, dispatch)| dispatch.command == [name]);
        *found.expect("it was sent").0
    }

    /// The attempt that is out with this command line.
    pub(super) fn attempt_of_line(&self, line: &str) -> AttemptId {
        let mut held = self.held.iter();
        let found = held.find(|(_, dispatch)| dispatch.command.join(" ") == line);
        *found.expect("it was sent").0
    }

    pub(super) fn end(&mut self, attempt: AttemptId, end: End, code: i32, stdout: &str) {
        let Some(dispatch) = self.held.get(&attempt) else {
            return;
        };
        let mut given = made_by(dispatch);
        if self.drifts {
            given.update(&attempt.number.to_le_bytes());
        }
        let kept = Artifact {
            hash: Hash(*given.finalize().as_bytes()),
            bytes: Bytes(3),
            kind: ArtifactKind::File,
        };
        let outcome = Outcome {
            attempt,
            end,
            started: self.now.wall,
            wall: Span(5),
            cpu: Span(4),
            peak_memory: Bytes(100),
            exit_code: Some(code),
            pid: 9,
            outputs: vec![kept; dispatch.outputs.len()],
            stdout: dispatch.wants_stdout.then(|| stdout.as_bytes().to_vec()),
            stderr: None,
            log: None,
        };
        self.give(Input::Activity(
            MACHINE,
            FromActivity::Outcomes(vec![outcome]),
        ));
    }

    /// Lets time pass until nothing is due within an hour.
    pub(super) fn run(&mut self) {
        for _ in 0..1_000 {
            let Some(at) = self.drive.next_wakeup() else {
                return;
            };
            self.wake(at);
            if self.status().summary.phase.has_ended() {
                return;
            }
        }
    }

    pub(super) fn submit(&mut self, draft: Draft) {
        self.submit_as(submission(KEY, draft));
    }

    pub(super) fn submit_as(&mut self, submit: Submit) {
        self.ask(Request::Submit(Box::new(submit)));
    }

    /// It is so many seconds after the beginning.
    pub(super) fn pass_to(&mut self, seconds: u64) {
        self.pass_until(BEGINNING.mono + Span::from_secs(seconds));
    }

    /// So many seconds pass.
    pub(super) fn pass(&mut self, seconds: u64) {
        self.pass_until(self.now.mono + Span::from_secs(seconds));
    }

    fn pass_until(&mut self, until: Mono) {
        while self.now.mono < until {
            let next = self.drive.next_wakeup().unwrap_or(until);
            self.wake(next.min(until));
        }
    }

    /// Time goes on to a moment, if that is not over, and the core is woken.
    pub(super) fn wake(&mut self, at: Mono) {
        let at = at.max(self.now.mono);
        let passed = at.since(self.now.mono);
        self.now = Now {
            mono: at,
            wall: self.now.wall + passed,
        };
        self.drive.wake(self.now);
        self.carry_out();
    }

    pub(super) fn ask(&mut self, request: Request) {
        self.give(Input::Request(ClientId(1), Caller::Local, 1, request));
    }

    /// The answer to a request that is answered at once.
    pub(super) fn answer(&mut self, request: Request) -> Answer {
        self.give(Input::request(ClientId(2), Caller::Local, 1, request));
        self.answers.pop().unwrap()
    }

    /// The slots that a process holds.
    pub(super) fn slots_held(&self, key: SubmitKey) -> u32 {
        let state = self.drive.states().get(Stream::Process(key.process()));
        let process = state.and_then(|state| state.process());
        let grants = process.into_iter().flat_map(|process| process.grants());
        grants.map(|grant| grant.slots).sum()
    }

    pub(super) fn status(&mut self) -> Status {
        self.status_of(KEY)
    }

    pub(super) fn status_of(&mut self, key: SubmitKey) -> Status {
        let answer = self.answer(Request::Status(key.process()));
        let Answer::Status(status) = answer else {
            panic!("no status but {answer:?}")
        };
        *status
    }

    /// The phases of the activities of a process, in the order of their ids.
    pub(super) fn phases(&mut self, key: SubmitKey) -> Vec<&'static str> {
        let status = self.status_of(key);
        let phases = status.activities.iter().map(|one| one.phase.word());
        phases.collect()
    }

    /// The end of the process, in a line.
    pub(super) fn end_line(&mut self) -> String {
        let status = self.status();
        let variables: Vec<String> = status
            .variables
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        format!("{} {}", status.summary.phase.word(), variables.join(" "))
            .trim_end()
            .to_owned()
    }
}

/// The content of what a command makes, which follows from its line and its inputs.
pub(super) fn made_by(dispatch: &Dispatch) -> blake3::Hasher {
    let mut given = blake3::Hasher::new();
    given.update(dispatch.command.join(" ").as_bytes());
    for (path, artifact) in &dispatch.inputs {
        given.update(path.as_bytes()).update(&artifact.hash.0);
    }
    given
}

/// A file that a user brings.
pub(crate) fn artifact() -> Artifact {
    Artifact {
        hash: Hash([5; 32]),
        bytes: Bytes(5),
        kind: ArtifactKind::File,
    }
}

pub(crate) fn submission(key: SubmitKey, draft: Draft) -> Submit {
    Submit::new(key, draft, "test.yaml")
}

pub(super) fn activity(name: &str) -> Activity {
    Activity::new(Command::List(vec![Template(name.into())]))
}

pub(crate) fn leaf(name: &str) -> Node {
    let kind = NodeKind::Activity(Box::new(activity(name)));
    Node {
        name: name.into(),
        kind,
        join: Join::All,
    }
}

pub(crate) fn controller(kind: NodeKind) -> Node {
    Node {
        name: String::new(),
        kind,
        join: Join::All,
    }
}

pub(crate) fn draft(nodes: Vec<Node>) -> Draft {
    Draft {
        name: "test".into(),
        nodes,
        ..Draft::default()
    }
}

pub(crate) fn ids(numbers: &[u32]) -> Vec<NodeId> {
    numbers.iter().copied().map(NodeId).collect()
}

pub(super) fn int(name: &str, initial: Value) -> Variable {
    Variable {
        of: None,
        name: name.into(),
        kind: Type::Int,
        initial,
    }
}

pub(crate) fn edit(node: &mut Node, change: impl FnOnce(&mut Activity)) {
    if let NodeKind::Activity(activity) = &mut node.kind {
        change(activity);
    }
}

/// s(a p(b c) d)
pub(crate) fn diamond() -> Draft {
    draft(vec![
        controller(NodeKind::Sequence(ids(&[1, 2, 5]))),
        leaf("a"),
        controller(NodeKind::Parallel {
            children: ids(&[3, 4]),
            links: Vec::new(),
        }),
        leaf("b"),
        leaf("c"),
        leaf("d"),
    ])
}

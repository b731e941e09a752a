//! A client on the socket of a process manager: thousands of submissions without a program for each.

use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use std::io::Write as _;

use anyhow::{Context, Result, bail, ensure};
use model::{
    Activity, Command, Draft, Join, Node, NodeId, NodeKind, ProcessId, SubmitKey, Template,
};
use wire::client::{Answer, Phase, Request, Status, Submit, Summary};
use wire::{Envelope, MESSAGE_BYTES_MAX, frame};

/// The longest wait for an answer.
const PATIENCE: Duration = Duration::from_secs(240);

/// A connection that carries one request at a time.
pub(crate) struct Client {
    stream: UnixStream,
    n_requests: u64,
    body: Vec<u8>,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Result<Client> {
        let stream = UnixStream::connect(socket)
            .with_context(|| format!("could not connect to {}", socket.display()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Client {
            stream,
            n_requests: 0,
            body: Vec::new(),
        })
    }

    /// Submits a process with this key, and waits until it is durable.
    pub(crate) fn submit(&mut self, key: u64, draft: &Draft) -> Result<ProcessId> {
        let submit = Submit {
            key: SubmitKey(key),
            draft: draft.clone(),
            inputs: Vec::new(),
            files: Vec::new(),
            origin: "many.yaml".to_owned(),
            base: None,
            on_fault: None,
            keep: None,
            store: None,
            environment: None,
        };
        self.send(Request::Submit(Box::new(submit)))?;
        let answer = self.receive()?;
        let Answer::Submitted(process) = answer else {
            bail!("a submission was answered by {answer:?}");
        };
        Ok(process)
    }

    /// Waits until a process has ended well.
    pub(crate) fn wait(&mut self, process: ProcessId) -> Result<()> {
        self.send(Request::Watch(process))?;
        loop {
            let Answer::Progress(progress) = self.receive()? else {
                bail!("{process} cannot be watched");
            };
            match progress.phase {
                Phase::Completed => return Ok(()),
                Phase::Faulted | Phase::Cancelled => bail!("{process} has ended otherwise"),
                Phase::Running | Phase::Faulting | Phase::Cancelling => {}
            }
        }
    }

    /// Waits until an activity of a process runs.
    pub(super) fn wait_running(&mut self, process: ProcessId) -> Result<()> {
        self.send(Request::Watch(process))?;
        loop {
            let Answer::Progress(progress) = self.receive()? else {
                bail!("{process} cannot be watched");
            };
            if !progress.running.is_empty() {
                return Ok(());
            }
        }
    }

    pub(super) fn cancel(&mut self, process: ProcessId) -> Result<()> {
        self.send(Request::Cancel(process))?;
        let answer = self.receive()?;
        ensure!(
            matches!(answer, Answer::Cancelling(_) | Answer::Status(_)),
            "{process} is not cancelled: {answer:?}"
        );
        Ok(())
    }

    /// The status of a process.
    pub(crate) fn status(&mut self, process: ProcessId) -> Result<Box<Status>> {
        self.send(Request::Status(process))?;
        let Answer::Status(status) = self.receive()? else {
            bail!("{process} has no status");
        };
        Ok(status)
    }

    /// The number of attempts of the first activity of a process.
    pub(super) fn n_attempts(&mut self, process: ProcessId) -> Result<usize> {
        let status = self.status(process)?;
        let first = status.activities.first().context("it has an activity")?;
        Ok(first.attempts.len())
    }

    /// All processes.
    pub(super) fn list(&mut self) -> Result<Vec<Summary>> {
        self.send(Request::List)?;
        let answer = self.receive()?;
        let Answer::Processes(all) = answer else {
            bail!("a list was answered by {answer:?}");
        };
        Ok(all)
    }

    fn send(&mut self, request: Request) -> Result<()> {
        self.n_requests += 1;
        let envelope = Envelope {
            number: self.n_requests,
            message: Some(request),
        };
        let mut bytes = Vec::new();
        frame::append(&mut bytes, |out| out.extend(wire::encode(&envelope)));
        self.stream.write_all(&bytes).context("could not ask")
    }

    /// The next answer to the last request.
    fn receive(&mut self) -> Result<Answer> {
        loop {
            let is_whole = frame::read(&mut self.stream, MESSAGE_BYTES_MAX, &mut self.body)?;
            ensure!(is_whole, "the manager closed the connection");
            let envelope: Envelope<Answer> = wire::decode(&self.body)?;
            if envelope.number == self.n_requests {
                return envelope.message.context("an answer of another version");
            }
        }
    }
}

/// A process of activities in a row, each of which runs this command line.
pub(super) fn row(n_activities: u32, command: &[&str]) -> Draft {
    let root = NodeKind::Sequence((1..=n_activities).map(NodeId).collect());
    of_leaves(root, n_activities, command)
}

/// A process of activities side by side.
pub(crate) fn flat(n_activities: u32, command: &[&str]) -> Draft {
    let root = NodeKind::Parallel {
        children: (1..=n_activities).map(NodeId).collect(),
        links: Vec::new(),
    };
    of_leaves(root, n_activities, command)
}

/// A process of some activities side by side, and then some in a row.
pub(super) fn wide_then_row(n_wide: u32, n_row: u32, command: &[&str]) -> Draft {
    let wide = NodeKind::Parallel {
        children: (2..2 + n_wide).map(NodeId).collect(),
        links: Vec::new(),
    };
    let row = (2 + n_wide..2 + n_wide + n_row).map(NodeId);
    let root = NodeKind::Sequence(std::iter::once(NodeId(1)).chain(row).collect());
    let mut draft = of_leaves(root, n_wide + n_row, command);
    // Nodes are in the order of the tree.
    draft.nodes.insert(1, controller(wide));
    draft
}

fn of_leaves(root: NodeKind, n_activities: u32, command: &[&str]) -> Draft {
    let leaf = |number: u32| {
        let words = command.iter().map(|word| Template((*word).to_owned()));
        let activity = Activity::new(Command::List(words.collect()));
        Node {
            name: format!("a{number}"),
            kind: NodeKind::Activity(Box::new(activity)),
            join: Join::All,
        }
    };
    let leaves = (1..=n_activities).map(leaf);
    Draft {
        name: "many".to_owned(),
        nodes: std::iter::once(controller(root)).chain(leaves).collect(),
        ..Draft::default()
    }
}

fn controller(kind: NodeKind) -> Node {
    Node {
        name: String::new(),
        kind,
        join: Join::All,
    }
}

#[test]
fn rows_and_flat_processes_are_definitions() {
    let true_ = &["/bin/true"];
    for draft in [row(10, true_), flat(10, true_), wide_then_row(2, 8, true_)] {
        assert_eq!(draft.check().unwrap().activities().len(), 10);
    }
}

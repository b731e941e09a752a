//! Keeps an executor alive and connected: a thread that finds or starts one, passes on what it says,
//! and does so again when it is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use activity_core::Input;
use activity_executor::{
    Accounts, Connection, ContainmentChoice, Limits, Receiver, Sender, Share, Spawn, SpawnError,
    spawn,
};
use model::Span;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use shell::Inbox;
use thiserror::Error;
use wire::executor::{Containment, FromExecutor, HeldBy, ToExecutor};

use crate::daemon::Commands;

/// How long to wait before another executor is tried, after one could not be started or ended. It
/// doubles from the first to the second while that goes on.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// How long an executor that was told to end may take: more than killing its commands takes.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// Where the executor is, and how it is started.
pub(crate) struct ExecutorConfig {
    pub(crate) binary: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) linger: Option<Span>,
    pub(crate) kill_grace: Option<Span>,
    pub(crate) share: Option<Share>,
    pub(crate) stream_bytes_max: Option<u64>,
    pub(crate) accounts: Accounts,
    /// Where the directories of attempts are.
    pub(crate) work: PathBuf,
    pub(crate) containment: ContainmentChoice,
    pub(crate) limits: Limits,
}

/// Why there is no executor.
#[derive(Debug, Error)]
pub enum ExecutorError {
    /// None was there, and none could be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It was there, and could not be connected to.
    #[error("could not connect to the executor at {}", path.display())]
    Connect {
        /// Its socket.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// There is no thread to listen to it.
    #[error("could not start a thread for the executor")]
    Thread(#[source] io::Error),
}

/// The executor of an activity manager.
pub(crate) struct Executor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Sends to the executor that is connected at the moment.
pub(crate) struct ExecutorSender(Arc<Shared>);

struct Shared {
    sender: Mutex<Option<Sender>>,
    /// The process that is connected; 0 where it is not known.
    pid: AtomicU32,
    /// The same process, so that no other one of its number is ever killed.
    process: Mutex<Option<OwnedFd>>,
    /// How it holds what commands start; none before it has said.
    containment: Mutex<Option<Containment>>,
    phase: Mutex<Phase>,
    changed: Condvar,
    /// Attempts that the executor was given and has not spoken the last word of. Nothing rests on it
    /// but in which thread something is done.
    n_attempts: AtomicI64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The core has not started.
    Waiting,
    Serving,
    Ending(Commands),
    Ended,
}

impl Executor {
    /// Finds or starts an executor and connects. Nothing is passed on before [`Executor::begin`].
    pub(crate) fn start(
        place: ExecutorConfig,
        inbox: &Inbox<Input>,
    ) -> Result<Executor, ExecutorError> {
        let (sender, receiver) = place.connect()?;
        let shared = Arc::new(Shared {
            pid: AtomicU32::new(sender.peer_pid().unwrap_or(0)),
            process: Mutex::new(process(&sender)),
            containment: Mutex::new(None),
            sender: Mutex::new(Some(sender)),
            phase: Mutex::new(Phase::Waiting),
            changed: Condvar::new(),
            n_attempts: AtomicI64::new(0),
        });
        let theirs = Arc::clone(&shared);
        let inbox = inbox.clone();
        let thread = std::thread::Builder::new()
            .name("executor".to_owned())
            .spawn(move || {
                serve(&place, &theirs, &inbox, receiver);
                theirs.change(Phase::Ended);
            })
            .map_err(ExecutorError::Thread)?;
        Ok(Executor {
            shared,
            thread: Some(thread),
        })
    }

    /// Lets the executor's words through to the core.
    pub(crate) fn begin(&self) {
        self.shared.change(Phase::Serving);
    }

    /// The way to it.
    pub(crate) fn way(&self) -> ExecutorSender {
        ExecutorSender(Arc::clone(&self.shared))
    }

    /// The process that is the executor; none where that is not known.
    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.shared.pid.load(Ordering::Relaxed)).filter(|&pid| pid > 0)
    }

    /// How it holds what commands start; none before it has said.
    pub(crate) fn containment(&self) -> Option<Containment> {
        let told = self.shared.containment.lock();
        *told.unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the connection, and the executor with it where its commands are to end.
    pub(crate) fn stop(mut self, commands: Commands) {
        self.end(commands);
    }

    fn end(&mut self, commands: Commands) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.shared.change(Phase::Ending(commands));
        let way = ExecutorSender(Arc::clone(&self.shared));
        match commands {
            Commands::End => {
                way.send(&[ToExecutor::Shutdown]);
                // It closes the connection when its commands are gone.
                let phase = self.shared.phase();
                let waited = self
                    .shared
                    .changed
                    .wait_timeout_while(phase, END_PATIENCE, |phase| *phase != Phase::Ended);
                drop(waited);
            }
            Commands::GoOn => {}
        }
        way.close();
        let _ = thread.join();
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        self.end(Commands::GoOn);
    }
}

impl ExecutorSender {
    /// Sends messages together. They are lost where there is no executor; the core is told of that.
    pub(crate) fn send(&self, messages: &[ToExecutor]) {
        if messages.is_empty() {
            return;
        }
        let mut sender = self.0.sender();
        let Some(connected) = sender.as_mut() else {
            return;
        };
        for message in messages {
            if let ToExecutor::Start(attempts) = message {
                self.0.count(attempts.len() as i64);
            }
        }
        if let Err(error) = connected.send_all(messages) {
            tracing::warn!(%error, "the executor's connection is lost");
            // The receiving thread sees that it is closed, and goes on from there.
            let _ = connected.close();
            *sender = None;
        }
    }

    /// Kills the executor that was connected last, which does not answer. Its commands die with it.
    pub(crate) fn kill(&self) {
        let process = self.0.process.lock();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        if let Some(process) = &*process {
            let killed = pidfd_send_signal(process, Signal::KILL).is_ok();
            tracing::error!(killed, "the executor does not answer and is killed");
        }
        drop(process);
        // A receiver that waits for an executor which cannot die is to go on.
        self.close();
    }

    /// Whether the executor has nothing to do, so that nothing will come from it.
    pub(crate) fn is_idle(&self) -> bool {
        self.0.is_idle()
    }

    fn close(&self) {
        if let Some(sender) = self.0.sender().take() {
            let _ = sender.close();
        }
    }
}

impl Shared {
    fn sender(&self) -> MutexGuard<'_, Option<Sender>> {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_idle(&self) -> bool {
        self.n_attempts.load(Ordering::Relaxed) <= 0
    }

    /// Keeps what an executor says of itself, and warns once of what it cannot do.
    fn contains(&self, containment: Option<Containment>) {
        let told = self.containment.lock();
        let before = std::mem::replace(
            &mut *told.unwrap_or_else(PoisonError::into_inner),
            containment,
        );
        let Some(containment) = containment.filter(|_| before != containment) else {
            return;
        };
        match containment.held_by {
            HeldBy::Cgroup => tracing::info!(%containment, "how commands are held"),
            HeldBy::ProcessTree => tracing::warn!(
                %containment,
                "no control group may be made here: commands are held by walking their processes, \
                 which does not reach what a program starts as another user"
            ),
        }
    }

    fn count(&self, n_attempts: i64) {
        self.n_attempts.fetch_add(n_attempts, Ordering::Relaxed);
    }

    fn change(&self, to: Phase) {
        *self.phase() = to;
        self.changed.notify_all();
    }

    /// Waits until the core has started. `false` if that will not happen.
    fn wait_for_core(&self) -> bool {
        let mut phase = self.phase();
        while *phase == Phase::Waiting {
            phase = self
                .changed
                .wait(phase)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *phase == Phase::Serving
    }

    /// Waits some time. `false` if it is the end.
    fn pause(&self, pause: Duration) -> bool {
        let phase = self.phase();
        let waited = self
            .changed
            .wait_timeout_while(phase, pause, |phase| *phase == Phase::Serving);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == Phase::Serving
    }
}

impl ExecutorConfig {
    /// Connects to the executor that is there, or to one that is started.
    fn connect(&self) -> Result<(Sender, Receiver), ExecutorError> {
        if let Ok(connection) = Connection::connect(&self.socket) {
            return Ok(connection.split());
        }
        let child = spawn(&Spawn {
            binary: &self.binary,
            socket: &self.socket,
            state: &self.state,
            linger: self.linger,
            kill_grace: self.kill_grace,
            share: self.share,
            stream_bytes_max: self.stream_bytes_max,
            accounts: &self.accounts,
            work: Some(&self.work),
            limits: &self.limits,
            containment: self.containment,
        })?;
        collect(child);
        let connection = Connection::connect(&self.socket);
        connection.map(Connection::split).map_err(|source| {
            let path = self.socket.clone();
            ExecutorError::Connect { path, source }
        })
    }
}

/// The process at the other end; none where the system does not say.
fn process(sender: &Sender) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(sender.peer_pid()?).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn serve(place: &ExecutorConfig, shared: &Shared, inbox: &Inbox<Input>, mut receiver: Receiver) {
    if !shared.wait_for_core() {
        return;
    }
    let mut pause = RETRY_FIRST;
    loop {
        let has_spoken = receive_all(&mut receiver, shared, inbox);
        *shared.sender() = None;
        shared.n_attempts.store(0, Ordering::Relaxed);
        inbox.tell(Input::ExecutorDown);
        if has_spoken {
            pause = RETRY_FIRST;
        }
        receiver = loop {
            if !shared.pause(pause) {
                return;
            }
            pause = (pause * 2).min(RETRY_LAST);
            match place.connect() {
                Ok((sender, receiver)) => {
                    let pid = sender.peer_pid().unwrap_or(0);
                    shared.pid.store(pid, Ordering::Relaxed);
                    let process = process(&sender);
                    *shared
                        .process
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = process;
                    *shared.sender() = Some(sender);
                    break receiver;
                }
                Err(error) => {
                    tracing::error!(error = &error as &dyn std::error::Error, "no executor");
                }
            }
        };
    }
}

/// Passes on what the executor says until its connection ends. Whether it said anything.
fn receive_all(receiver: &mut Receiver, shared: &Shared, inbox: &Inbox<Input>) -> bool {
    let mut has_spoken = false;
    let mut inputs = Vec::new();
    loop {
        let mut received = receiver.receive();
        while let Ok(Some(message)) = received {
            match &message {
                FromExecutor::Ended(ended) => shared.count(-(ended.len() as i64)),
                FromExecutor::Retracted(attempts) | FromExecutor::Refused(attempts) => {
                    shared.count(-(attempts.len() as i64));
                }
                FromExecutor::Hello(hello) => shared.contains(hello.containment),
                FromExecutor::Held(_)
                | FromExecutor::HeldEnd
                | FromExecutor::Started(_)
                | FromExecutor::Pong(_)
                | FromExecutor::Output { .. } => {}
            }
            inputs.push(Input::Executor(message));
            received = receiver.receive_arrived();
        }
        if let Err(error) = &received {
            tracing::warn!(%error, "the executor's connection is lost");
        }
        if inputs.is_empty() {
            return has_spoken;
        }
        has_spoken = true;
        // It speaks only of what the core has handed to it. Where it has nothing left to do, what will
        // be said next comes of what the core does now, so this thread may as well do it.
        if shared.is_idle() {
            inbox.tell_inline(inputs.drain(..));
        } else {
            inbox.tell_all(inputs.drain(..));
        }
        if received.is_err() {
            return has_spoken;
        }
    }
}

/// Lets the system forget an executor when it has ended, which may be long after its connection has.
fn collect(mut child: Child) {
    let waiting = std::thread::Builder::new().name("executor's end".to_owned());
    // Without a thread, its number stays taken until this program ends.
    let _ = waiting.spawn(move || child.wait());
}

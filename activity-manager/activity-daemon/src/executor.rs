//! Keeps an executor running and connected: a thread that finds or starts one, passes on its
//! messages, and repeats that when it is gone.

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
    Accounts, Connection, ContainmentChoice, Limits, Pace, Receiver, Sender, Spawn, SpawnError,
    spawn,
};
use model::Span;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use shell::Inbox;
use thiserror::Error;
use wire::executor::{Containment, FromExecutor, HeldBy, ToExecutor};

use crate::daemon::Commands;
use crate::figures::Counts;

/// The pause before the next try to start an executor. It doubles from the first to the second
/// value while tries fail.
const RETRY_FIRST: Duration = Duration::from_millis(50);
const RETRY_LAST: Duration = Duration::from_secs(5);

/// Time for an executor to end after its shutdown message: longer than killing its commands takes.
const END_PATIENCE: Duration = Duration::from_secs(10);

/// The place of the executor, and its start settings.
pub(crate) struct ExecutorConfig {
    pub(crate) binary: PathBuf,
    pub(crate) socket: PathBuf,
    pub(crate) state: PathBuf,
    pub(crate) linger: Option<Span>,
    pub(crate) kill_grace: Option<Span>,
    pub(crate) pace: Option<Pace>,
    pub(crate) stream_bytes_max: Option<u64>,
    pub(crate) accounts: Accounts,
    /// The directory of attempts.
    pub(crate) work: PathBuf,
    pub(crate) containment: ContainmentChoice,
    pub(crate) limits: Limits,
}

/// Why there is no executor.
#[derive(Debug, Error)]
pub enum ExecutorError {
    /// None was running, and none could be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// It is running, and could not be connected.
    #[error("could not connect to the executor at {}", path.display())]
    Connect {
        /// Its socket.
        path: PathBuf,
        /// The system's error.
        #[source]
        source: io::Error,
    },
    /// The thread that listens to it could not be started.
    #[error("could not start a thread for the executor")]
    Thread(#[source] io::Error),
}

/// The executor of an activity manager.
pub(crate) struct Executor {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Sends to the currently connected executor.
pub(crate) struct ExecutorSender(Arc<Shared>);

struct Shared {
    sender: Mutex<Option<Sender>>,
    /// The process id of the connected executor; 0 if unknown.
    pid: AtomicU32,
    /// Its process descriptor, so that no other process with its number is ever killed.
    process: Mutex<Option<OwnedFd>>,
    /// Its containment; none before its hello.
    containment: Mutex<Option<Containment>>,
    phase: Mutex<Phase>,
    changed: Condvar,
    /// Attempts that the executor got and has not finished. It only decides which thread does some
    /// work.
    n_attempts: AtomicI64,
    counts: Counts,
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
        counts: Counts,
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
            counts,
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

    /// Passes the executor's messages to the core from here on.
    pub(crate) fn begin(&self) {
        self.shared.change(Phase::Serving);
    }

    /// A sender to it.
    pub(crate) fn way(&self) -> ExecutorSender {
        ExecutorSender(Arc::clone(&self.shared))
    }

    /// The process id of the executor; none if unknown.
    pub(crate) fn pid(&self) -> Option<u32> {
        Some(self.shared.pid.load(Ordering::Relaxed)).filter(|&pid| pid > 0)
    }

    /// Attempts that it has and has not finished.
    pub(crate) fn n_attempts(&self) -> u64 {
        let n = self.shared.n_attempts.load(Ordering::Relaxed);
        u64::try_from(n).unwrap_or_default()
    }

    /// Its containment; none before its hello.
    pub(crate) fn containment(&self) -> Option<Containment> {
        let told = self.shared.containment.lock();
        *told.unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the connection, and ends the executor too if its commands must end.
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
    /// Sends messages together. Without an executor they are lost; the core is told of that.
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
            // The receiving thread notices that it is closed, and goes on from there.
            let _ = connected.close();
            *sender = None;
        }
    }

    /// Kills the last connected executor, which does not answer. Its commands die with it.
    pub(crate) fn kill(&self) {
        let process = self.0.process.lock();
        let process = process.unwrap_or_else(PoisonError::into_inner);
        if let Some(process) = &*process {
            let killed = pidfd_send_signal(process, Signal::KILL).is_ok();
            tracing::error!(killed, "the executor does not answer and is killed");
        }
        drop(process);
        // A receiver must not wait for an executor that cannot be killed.
        self.close();
    }

    /// Returns true if the executor has no attempts, so that no message will come from it.
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

    /// Stores an executor's containment, and warns once of its limits.
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

    /// Waits until the core has started. Returns false if it will not.
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

    /// Waits for some time. Returns false at the end.
    fn pause(&self, pause: Duration) -> bool {
        let phase = self.phase();
        let waited = self
            .changed
            .wait_timeout_while(phase, pause, |phase| *phase == Phase::Serving);
        *waited.unwrap_or_else(PoisonError::into_inner).0 == Phase::Serving
    }
}

impl ExecutorConfig {
    /// Connects to a running executor, or to one that is started.
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
            pace: self.pace.as_ref(),
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

/// The process at the other end; none if the system does not tell.
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

/// Passes on the executor's messages until its connection ends. Returns true if there was any.
fn receive_all(receiver: &mut Receiver, shared: &Shared, inbox: &Inbox<Input>) -> bool {
    let mut has_spoken = false;
    let mut inputs = Vec::new();
    loop {
        let mut received = receiver.receive();
        while let Ok(Some(message)) = received {
            match &message {
                FromExecutor::Ended(ended) => {
                    shared.counts.ended(ended);
                    shared.count(-(ended.len() as i64));
                }
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
        // The executor reports only attempts that the core has sent to it. When it has none left,
        // its next message follows from the core's present work, so this thread can do that work.
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

/// Reaps an executor when it has ended, which may be long after its connection.
fn collect(mut child: Child) {
    let waiting = std::thread::Builder::new().name("executor's end".to_owned());
    // Without a thread, its process id stays taken until this program ends.
    let _ = waiting.spawn(move || child.wait());
}

//! The commands' part of the event loop: their start, their events, their end.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use model::{AttemptId, Mono};
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use wire::executor::{Captured, Contained as ContainedIn, ContainerKind, Ended, Kept};
use wire::executor::{NOTE_BYTES_MAX, Start};

use super::{Executor, Parts, Stuck};
use crate::account::Numbers;
use crate::capture::{Capture, Left};
use crate::clock;
use crate::container::Removal;
use crate::containment::{CommandGroups, Contained, warn};
use crate::kept;
use crate::launch::{Image, Launch, NotLaunched};
use crate::limits::IoClass;
use crate::link::Link;
use crate::pool::Pool;
use crate::prepare::{NotStarted, Whose, explain, prepare};
use crate::running::{Launched, Running, not_started};
use crate::store::Answer;
use crate::sys::{ended_child, wait};

/// Edge-triggered: a child that has not executed its program yet has copies of all descriptors, and
/// the system watches closed ones until those are gone.
const ONCE: EventFlags = EventFlags::IN.union(EventFlags::ET);

/// Bytes that podman and its monitor hold beside a command, as version 4 and 5 do.
const PODMAN_BYTES: u64 = 64 << 20;

/// Commands started before other events have their turn.
const TURN_STARTS: usize = 8;

impl Executor {
    /// Starts queued commands that fit, in order. Returns true if more would fit after this turn.
    pub(super) fn start_queued(&mut self) -> bool {
        for _ in 0..TURN_STARTS {
            if !self.parts.store.has_room() || self.link.as_ref().is_some_and(Link::is_full) {
                return false;
            }
            let (cores, free) = (self.cores, self.cores.saturating_sub(self.cores_used));
            let has_account = self.parts.pool.as_ref().is_none_or(Pool::has_free);
            if cores == 0 || !has_account {
                return false;
            }
            // A command that asks for more cores than there are is started, to fail with that
            // message.
            let fits = |start: &Start| start.cores.max(1) <= free || start.cores > cores;
            let Some(start) = self.parts.store.take_first(fits) else {
                return false;
            };
            self.start(start);
        }
        true
    }

    fn start(&mut self, mut start: Box<Start>) {
        let attempt = start.attempt;
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push((0, None));
            self.slots.len() - 1
        });
        allow_for_podman(&mut start);
        match self.launch(&start, slot) {
            Ok(running) => {
                let (generation, place) = &mut self.slots[slot];
                *generation = generation.wrapping_add(1);
                self.cores_used += running.cores;
                self.commands.insert(running.pid().as_raw_pid(), slot);
                self.parts.store.run(running.told(), slot, start.note);
                *place = Some(running);
            }
            Err(failure) => {
                if let Some(pool) = &mut self.parts.pool {
                    pool.end(attempt);
                }
                self.free.push(slot);
                if start.note.len() > NOTE_BYTES_MAX {
                    start.note.clear();
                }
                self.parts
                    .store
                    .end(not_started(*start, failure.into(), clock::wall()));
                self.tell(Answer::Ended, attempt);
            }
        }
    }

    fn launch(&mut self, start: &Start, slot: usize) -> Result<Running, NotStarted> {
        if start.cores > self.cores {
            let message = format!(
                "could not start on {} cores: there are {}",
                start.cores, self.cores
            );
            return Err(NotStarted { errno: 0, message });
        }
        if start.note.len() > NOTE_BYTES_MAX {
            let message = format!("could not take a note of {} bytes", start.note.len());
            return Err(NotStarted { errno: 0, message });
        }
        let whose = match &mut self.parts.pool {
            Some(pool) => Whose::Lent(pool.lend(start.attempt, &start.directory)),
            None => {
                let account = self.parts.accounts.of(start.user.as_deref());
                let account = account.map_err(|message| NotStarted { errno: 0, message })?;
                account.map_or(Whose::Own, Whose::Account)
            }
        };
        let container = start.container.as_ref().map(|contained| {
            self.n_containers += 1;
            let name = format!(
                "xavantes-{:016x}-{}",
                self.parts.instance, self.n_containers
            );
            (name, contained)
        });
        let name = container.as_ref().map_or("", |(name, _)| name.as_str());
        let mut prepared = prepare(start, whose, self.parts.program.as_deref(), name)?;
        let account = whose.numbers();
        let user = account.map(|account| account.user);
        let no_group = |error: io::Error| NotStarted {
            errno: error.raw_os_error().unwrap_or(0),
            message: format!("could not make a control group for the command: {error}"),
        };
        let place = self.parts.containment.place(slot, start.memory_bytes_max);
        let mut place = place.map_err(no_group)?;
        if place.collects_orphans() {
            prepared.image.environment.push(self.parts.mark.clone());
        }
        let system = |error: rustix::io::Errno| NotStarted {
            errno: error.raw_os_error(),
            message: format!("could not make a pipe: {error}"),
        };
        let (stdout, stdout_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
        let (stderr, stderr_writer) = pipe_with(PipeFlags::CLOEXEC).map_err(system)?;
        for reader in [&stdout, &stderr] {
            // Only this end is non-blocking: commands expect blocking pipes.
            rustix::io::ioctl_fionbio(reader, true).map_err(system)?;
        }
        let (started, started_mono) = (clock::wall(), clock::mono());
        let limits = &self.parts.limits;
        let container = match container {
            Some((name, contained)) if is_kept(contained, whose) => {
                self.parts
                    .kept
                    .keep(&removal(&name, contained, account))
                    .map_err(|error| NotStarted {
                        errno: error.raw_os_error().unwrap_or(0),
                        message: format!("could not note the container of the command: {error}"),
                    })?;
                Some(name)
            }
            Some(_) | None => None,
        };
        // With more cores than CPUs, commands share them as the system schedules.
        let binds = limits.binds_cores && self.cores as usize <= self.free_cpus.n();
        let n_cpus = start.cores.max(1) as usize;
        let cpus = binds.then(|| self.free_cpus.take(n_cpus)).flatten();
        let mut launch = |image: Image, place: &CommandGroups| {
            self.launcher.launch(Launch {
                image,
                stdin: prepared.stdin.as_ref().unwrap_or(&self.null).as_fd(),
                stdout: stdout_writer.as_fd(),
                stderr: stderr_writer.as_fd(),
                limits: &self.parts.of_processes,
                nice: start.nice,
                io: limits.io.map(IoClass::number),
                cpus,
                account,
                cgroup: place.cgroup(),
                joins: &place.joined(),
                collects_orphans: place.collects_orphans(),
            })
        };
        let not_created = |NotLaunched { error, .. }| NotStarted {
            errno: error.raw_os_error().unwrap_or(0),
            message: format!("could not create a process: {error}"),
        };
        let launched = match launch(prepared.image, &place) {
            Err(NotLaunched { image, .. }) if self.parts.containment.forget_removed(slot) => {
                match self.parts.containment.place(slot, start.memory_bytes_max) {
                    Ok(again) => {
                        place = again;
                        launch(*image, &place).map_err(not_created)
                    }
                    Err(error) => Err(no_group(error)),
                }
            }
            launched => launched.map_err(not_created),
        };
        match launched {
            Ok(child) => {
                let launched = Launched {
                    processes: place.with(child.pid),
                    child,
                    user,
                    cpus,
                    container,
                    stdout,
                    stderr,
                    started,
                    started_mono,
                };
                let kept_max = self.parts.stream_bytes_max;
                Ok(Running::new(start, launched, self.tempo.clone(), kept_max))
            }
            Err(failure) => {
                self.free_cpus.give_back(cpus);
                container
                    .iter()
                    .for_each(|name| self.parts.kept.forget(name));
                Err(failure)
            }
        }
    }

    /// Collects the commands whose first processes have ended.
    pub(super) fn collect(&mut self, now: Mono) {
        let mut told = [0; size_of::<libc::signalfd_siginfo>()];
        // Emptied first: whatever ends from here on is told again.
        let _ = rustix::io::read(&self.ends, &mut told);
        while let Some(pid) = ended_child(None) {
            let Some(slot) = self.commands.remove(&pid) else {
                // Whatever is no command is found first until others have collected it.
                return self.collect_one_by_one(now);
            };
            self.first_ended(slot, now);
        }
    }

    fn collect_one_by_one(&mut self, now: Mono) {
        let pids = self.commands.keys().copied();
        let ended: Vec<i32> = pids
            .filter(|&pid| ended_child(Some(pid)).is_some())
            .collect();
        for pid in ended {
            // Until its turn it stays a command: what is none is collected as a stray, and its end is lost.
            if let Some(slot) = self.commands.remove(&pid) {
                self.first_ended(slot, now);
            }
        }
    }

    pub(super) fn command_event(&mut self, token: u64) {
        let (generation, slot, part) = parts_of(token);
        let Some((current, Some(running))) = self.slots.get_mut(slot) else {
            return;
        };
        if *current != generation {
            return;
        }
        let directory = self.parts.log.directory();
        let capture = match part {
            Part::Stdout => &mut running.stdout,
            Part::Stderr => &mut running.stderr,
        };
        let left = capture.read(&mut self.scratch, directory);
        if let (Left::More, Some(pipe)) = (left, capture.pipe())
            && epoll::modify(&self.epoll, pipe, EventData::new_u64(token), ONCE).is_err()
        {
            capture.close();
        }
        if running.is_over() {
            self.finish(slot);
        }
    }

    /// The first process of a command has ended: the remaining ones are killed, then it is
    /// collected.
    fn first_ended(&mut self, slot: usize, now: Mono) {
        let Some((_, Some(running))) = self.slots.get_mut(slot) else {
            return;
        };
        if !running.processes.has_group() {
            // While it is not collected, the number of its process group is not reused.
            running.processes.signal_group(Signal::KILL);
        }
        if let Some(pool) = &self.parts.pool {
            pool.kill(running.attempt);
        }
        let waited = wait(running.pid()).ok().flatten();
        if let Some(starting) = running.starting.take() {
            if let Some(failure) = starting.failure() {
                running.fail(explain(starting.image(), &failure).into());
            }
            self.launcher.take_back(Some(starting));
        }
        running.first_ended(waited, now);
        self.end_rest(slot, now);
    }

    /// Ends the remaining processes of a command whose first process has ended. Its slot and its
    /// outcome wait for that.
    pub(super) fn end_rest(&mut self, slot: usize, now: Mono) {
        let Some((_, Some(running))) = self.slots.get_mut(slot) else {
            return;
        };
        let containment = &mut self.parts.containment;
        let is_left = {
            let is_spared = spared(&self.commands, &self.parts.kept);
            containment.end_rest(&running.processes, &is_spared)
        };
        if is_left {
            if running.rest_lives(now) {
                return;
            }
            return self.give_up(slot);
        }
        running.rest_ended(now);
        self.cores_used -= running.cores;
        self.free_cpus.give_back(running.cpus.take());
        let directory = self.parts.log.directory();
        let mut read = |capture: &mut Capture| capture.read(&mut self.scratch, directory);
        if read(&mut running.stdout) == Left::End && read(&mut running.stderr) == Left::End {
            self.finish(slot);
        }
    }

    /// Reports the outcome of a command though some of its processes are still in the kernel. Its
    /// slot stays taken until they have ended.
    fn give_up(&mut self, slot: usize) {
        let Some(running) = self.slots[slot].1.take() else {
            return;
        };
        warn(&format!(
            "something that attempt {:?} started was killed and does not end: it waits in the kernel, and \
             its slot is not used until it has ended",
            running.attempt
        ));
        let (cores, cpus) = (running.cores, running.cpus);
        let processes = self.tell_end(running);
        self.stuck.push(Stuck {
            slot,
            cores,
            cpus,
            processes,
        });
    }

    /// Frees the slots whose remaining processes have ended.
    pub(super) fn free_stuck(&mut self) {
        let is_spared = spared(&self.commands, &self.parts.kept);
        let containment = &mut self.parts.containment;
        let has_ended = |stuck: &mut Stuck| !containment.end_rest(&stuck.processes, &is_spared);
        for stuck in self.stuck.extract_if(.., has_ended) {
            self.free.push(stuck.slot);
            self.cores_used -= stuck.cores;
            self.free_cpus.give_back(stuck.cpus);
        }
    }

    pub(super) fn finish(&mut self, slot: usize) {
        let Some(running) = self.slots[slot].1.take() else {
            return;
        };
        self.free.push(slot);
        self.tell_end(running);
    }

    fn tell_end(&mut self, mut running: Running) -> Contained {
        let attempt = running.attempt;
        match running.container.take() {
            Some(name) if running.removed_container() => self.parts.kept.forget(&name),
            Some(name) => self.parts.kept.remove(name),
            None => {}
        }
        if let Some(pool) = &mut self.parts.pool {
            pool.end(attempt);
        }
        let (mut ended, processes) = running.outcome();
        ended.limit = self
            .parts
            .limits
            .met_by(&ended, || processes.was_refused_processes());
        self.parts.keep_output(&mut ended);
        self.parts.store.end(ended);
        self.tell(Answer::Ended, attempt);
        processes
    }

    pub(super) fn running(&mut self, attempt: AttemptId) -> Option<&mut Running> {
        let slot = self.parts.store.slot(attempt)?;
        self.slots.get_mut(slot)?.1.as_mut()
    }
}

impl Parts {
    /// Writes short streams to the log; long ones have files already.
    fn keep_output(&mut self, ended: &mut Ended) {
        let is_short = |captured: &Captured| captured.bytes > 0 && captured.kept == Kept::Nowhere;
        let (stdout, stderr) = (is_short(&ended.stdout), is_short(&ended.stderr));
        if !stdout && !stderr {
            return;
        }
        let kept = self.log.record(
            ended.attempt,
            if stdout { &ended.stdout.inline } else { &[] },
            if stderr { &ended.stderr.inline } else { &[] },
        );
        if stdout {
            ended.stdout.kept = kept;
        }
        if stderr {
            ended.stderr.kept = kept;
        }
    }
}

/// The event of a command's descriptor.
#[derive(Clone, Copy)]
enum Part {
    Stdout,
    Stderr,
}

/// Tells the children of the executor that are left alone: the first processes of commands, and what removes
/// containers.
fn spared(commands: &BTreeMap<i32, usize>, kept: &kept::Kept) -> impl Fn(i32) -> bool {
    move |pid| commands.contains_key(&pid) || kept.processes().any(|one| one == pid)
}

/// Allows for podman beside the command in the memory that it may take.
fn allow_for_podman(start: &mut Start) {
    let kind = start.container.as_ref().map(|contained| contained.kind);
    if kind == Some(ContainerKind::Podman)
        && let Some(bytes) = &mut start.memory_bytes_max
    {
        *bytes = bytes.saturating_add(PODMAN_BYTES);
    }
}

/// Returns true if a container may outlive its processes. What an account that is lent to an attempt has of podman is
/// removed with its home.
fn is_kept(contained: &ContainedIn, whose: Whose<'_>) -> bool {
    match (contained.kind, whose) {
        (ContainerKind::Podman, Whose::Own | Whose::Account(_)) => true,
        (ContainerKind::Podman, Whose::Lent(_)) | (ContainerKind::Bwrap, _) => false,
    }
}

fn removal(name: &str, contained: &ContainedIn, account: Option<&Numbers>) -> Removal {
    Removal {
        name: name.to_owned(),
        account: account.cloned(),
        search_path: contained.search_path.clone(),
        env: contained.env.clone(),
    }
}

/// Watches the pipes of a command that runs longer.
pub(super) fn watch(epoll: &OwnedFd, generation: u32, slot: usize, running: &mut Running) {
    running.is_watched = true;
    let pipes = [
        (Part::Stdout, &mut running.stdout),
        (Part::Stderr, &mut running.stderr),
    ];
    for (part, capture) in pipes {
        let token = EventData::new_u64(token(generation, slot, part));
        let watched = match capture.pipe() {
            Some(pipe) => epoll::add(epoll, pipe, token, ONCE),
            None => Ok(()),
        };
        if watched.is_err() {
            // A command must not wait for ever on a pipe that nobody reads.
            capture.close();
        }
    }
}

fn token(generation: u32, slot: usize, part: Part) -> u64 {
    let part = match part {
        Part::Stdout => 0,
        Part::Stderr => 1,
    };
    u64::from(generation) << 32 | (slot as u64) << 1 | part
}

fn parts_of(token: u64) -> (u32, usize, Part) {
    let part = match token & 1 {
        0 => Part::Stdout,
        _ => Part::Stderr,
    };
    ((token >> 32) as u32, (token as u32 >> 1) as usize, part)
}

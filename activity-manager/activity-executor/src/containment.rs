//! Containment: a command and all processes that it starts, until they have ended.
//!
//! There are two ways; the first one that the system permits is chosen when the executor starts:
//! - a control group (version 2) for each slot, in which the command is created and which its
//!   processes cannot leave: one write kills all of them, one read tells whether any is left;
//! - the process tree: the command collects its own orphans (PR_SET_CHILD_SUBREAPER), so all its
//!   processes are below it while it lives. When it has ended, the remaining ones become children
//!   of the executor, which kills every child that is no command.
//!
//! When the executor itself ends, the guardian (`guardian.rs`) ends the remaining processes in both
//! ways.

mod cgroup;
mod descendants;
mod leftovers;

use std::io::{self, Write};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::process::{Pid, Signal, getpgid, kill_process_group};
use wire::executor::{Containment as Told, HeldBy, MemoryBy};

use crate::memory::held_bytes;
use crate::sys;

use self::cgroup::{MemoryGroup, Own, ProcessGroup, ProcessLimit, SlotGroup};
pub(crate) use self::descendants::Children;
pub use self::descendants::descendants;
use self::descendants::{add_descendants, kill_tree, signal_if};
pub(crate) use self::leftovers::{Leftovers, end_all};

/// The name of the group in which the systemd unit starts managers, below the delegated one: a
/// group with processes cannot have controllers for the groups below it.
const MANAGERS: &str = "xavantes-managers";

/// A site's choice of containment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContainmentChoice {
    /// Control groups if possible, else the process tree.
    #[default]
    Best,
    /// The process tree, even if control groups are possible.
    ProcessTree,
}

impl ContainmentChoice {
    /// Parses the word of configurations and arguments.
    pub fn parse(text: &str) -> Option<ContainmentChoice> {
        match text {
            "best" => Some(ContainmentChoice::Best),
            "process-tree" => Some(ContainmentChoice::ProcessTree),
            _ => None,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            ContainmentChoice::Best => "best",
            ContainmentChoice::ProcessTree => "process-tree",
        }
    }
}

/// The containment; see the module.
#[derive(Debug)]
pub(crate) struct Containment {
    /// The parent of the slots' groups of version 2; none if processes are contained as a tree.
    unified: Option<PathBuf>,
    /// The same for the memory controller of version 1.
    memory: Option<PathBuf>,
    processes: Processes,
    slots: Vec<SlotGroups>,
    /// None before the fork in which this becomes the executor.
    children: Option<Children>,
    told: Told,
    scratch: Vec<i32>,
}

/// The way in which the number of a command's processes is limited.
#[derive(Debug)]
enum Processes {
    /// Not limited by a control group.
    Unlimited,
    /// By the groups of version 2.
    Unified { max: u32 },
    /// By groups below this one, with the controller of version 1.
    Below { base: PathBuf, max: u32 },
}

/// The groups of one slot, made when it is first used.
#[derive(Debug, Default)]
struct SlotGroups {
    group: Option<Rc<SlotGroup>>,
    memory: Option<Rc<MemoryGroup>>,
    processes: Option<Rc<ProcessGroup>>,
    /// Number of groups before this one.
    n_groups: u32,
}

impl Containment {
    /// Chooses the containment, under a name that no other executor of this machine has. Leftovers
    /// of an earlier executor of this name are gone already. `processes_max` limits the processes
    /// of a command.
    pub(crate) fn find(
        name: &str,
        choice: ContainmentChoice,
        processes_max: Option<u32>,
    ) -> Containment {
        let own = match choice {
            ContainmentChoice::Best => Own::find(),
            ContainmentChoice::ProcessTree => Own::default(),
        };
        let (unified, by_unified) = match own.unified.and_then(|own| unified_at(own, name)) {
            Some((path, has_memory)) => (Some(path), has_memory),
            None => (None, false),
        };
        let memory = own.memory.filter(|_| !by_unified).and_then(|own| {
            let path = own.join(name);
            cgroup::make(&path).ok()?;
            // Checked here, so that the reported containment is real.
            MemoryGroup::make(path.join("trial"))
                .and_then(|trial| trial.limit(1 << 30))
                .ok()?;
            Some(path)
        });
        let processes = processes_max.map_or(Processes::Unlimited, |max| {
            Processes::find(unified.as_deref(), own.processes, name, max)
        });
        let told = Told {
            held_by: match &unified {
                Some(_) => HeldBy::Cgroup,
                None => HeldBy::ProcessTree,
            },
            memory_by: match (by_unified, &memory) {
                (true, _) => MemoryBy::CgroupV2,
                (false, Some(_)) => MemoryBy::CgroupV1,
                (false, None) => MemoryBy::Counting,
            },
        };
        Containment {
            unified,
            memory,
            processes,
            slots: Vec::new(),
            children: None,
            told,
            scratch: Vec::new(),
        }
    }

    /// The groups to empty and remove when the executor has ended.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Path> {
        let processes = match &self.processes {
            Processes::Below { base, .. } => Some(base),
            Processes::Unlimited | Processes::Unified { .. } => None,
        };
        let groups = self.unified.iter().chain(&self.memory).chain(processes);
        groups.map(PathBuf::as_path)
    }

    /// Returns true if the limit on processes holds for each command.
    pub(crate) fn limits_processes(&self) -> bool {
        !matches!(self.processes, Processes::Unlimited)
    }

    /// The containment as reported to daemons.
    pub(crate) fn told(&self) -> Told {
        self.told
    }

    /// Makes this process, which starts all commands, the parent of orphans.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.children = Some(Children::of_this_process());
        if self.unified.is_none() {
            let own = rustix::process::getpid();
            rustix::process::set_child_subreaper(Some(own))?;
        }
        Ok(())
    }

    /// The groups for a command in a slot.
    pub(crate) fn place(
        &mut self,
        slot: usize,
        memory_bytes_max: Option<u64>,
    ) -> io::Result<CommandGroups> {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, SlotGroups::default);
        }
        let groups = &mut self.slots[slot];
        groups.forget_removed_joined();
        if let Some(spent) = groups.group.take_if(|group| group.is_spent()) {
            spent.remove();
        }
        if let (None, Some(base)) = (&groups.group, &self.unified) {
            if !base.exists() {
                let is_by_group = matches!(self.processes, Processes::Unified { .. });
                let has_memory = self.told.memory_by == MemoryBy::CgroupV2;
                let wanted = [("pids", is_by_group), ("memory", has_memory)];
                cgroup::make(base)?;
                for (controller, _) in wanted.into_iter().filter(|(_, is_wanted)| *is_wanted) {
                    cgroup::enable(base, controller)?;
                }
            }
            let mut made = groups.slot_group(base, slot)?;
            if let Processes::Unified { max } = self.processes {
                made.limit_processes(max)?;
            }
            groups.group = Some(Rc::new(made));
        }
        let mut place = CommandGroups {
            group: groups.group.clone(),
            memory: None,
            n_memory_kills: 0,
            processes: None,
            n_processes_refused: 0,
        };
        if let Processes::Below { base, max } = &self.processes {
            place.processes = Some(groups.process_group(base, slot, *max)?);
        }
        place.n_processes_refused = place.processes_refused();
        match self.told.memory_by {
            MemoryBy::CgroupV2 => {
                if let Some(group) = &place.group {
                    group.limit_memory(memory_bytes_max);
                    place.n_memory_kills = group.n_memory_kills();
                }
            }
            MemoryBy::CgroupV1 => {
                if let (Some(bytes_max), Some(base)) = (memory_bytes_max, &self.memory) {
                    let group = groups.memory_group(base, slot, bytes_max)?;
                    place.n_memory_kills = group.n_memory_kills();
                    place.memory = Some(group);
                }
            }
            MemoryBy::Counting => {}
        }
        Ok(place)
    }

    /// Forgets the group in which commands of a slot are created, if somebody else has removed it. Returns true if
    /// that was so.
    pub(crate) fn forget_removed(&mut self, slot: usize) -> bool {
        let groups = self.slots.get_mut(slot);
        let group = groups.and_then(|groups| groups.group.take_if(|group| group.is_removed()));
        group.is_some()
    }

    /// Kills and collects what is left of a command whose first process has ended. Returns true if
    /// a process is still alive, or counts towards the limits of the slot's next command.
    /// `is_spared` tells the first processes of the running commands.
    pub(crate) fn end_rest(
        &mut self,
        contained: &Contained,
        is_spared: &dyn Fn(i32) -> bool,
    ) -> bool {
        let limit = contained.place.process_limit();
        self.end_alive(contained, is_spared) || limit.is_some_and(ProcessLimit::is_charged)
    }

    fn end_alive(&mut self, contained: &Contained, is_spared: &dyn Fn(i32) -> bool) -> bool {
        match &contained.place.group {
            Some(group) => {
                let is_left = group.is_populated();
                if is_left {
                    group.kill();
                }
                is_left && group.is_populated()
            }
            None => self.end_strays(is_spared),
        }
    }

    /// A child of the executor that is no command has lost its command.
    fn end_strays(&mut self, is_spared: &dyn Fn(i32) -> bool) -> bool {
        let Some(children) = &self.children else {
            return false;
        };
        let mut is_left = false;
        self.scratch.clear();
        children.read(&mut self.scratch);
        for &pid in &self.scratch {
            if is_spared(pid) {
                continue;
            }
            let Some(pid) = Pid::from_raw(pid) else {
                continue;
            };
            if let Ok(None) = sys::wait(pid) {
                kill_tree(pid);
                is_left = true;
            }
        }
        is_left
    }
}

impl SlotGroups {
    /// Forgets groups that commands join and somebody else has removed: systemd removes the empty ones below a unit
    /// that stops, though the executor lives on there. That in which a command is created tells that by itself
    /// ([`Containment::forget_removed`]).
    fn forget_removed_joined(&mut self) {
        self.processes.take_if(|group| group.is_removed());
        self.memory.take_if(|group| group.is_removed());
    }

    /// A group with an unused name: an earlier executor of the same name may have left some that
    /// could not be removed.
    fn slot_group(&mut self, base: &Path, slot: usize) -> io::Result<SlotGroup> {
        loop {
            let path = base.join(format!("slot-{slot}-{}", self.n_groups));
            self.n_groups = self.n_groups.wrapping_add(1);
            match SlotGroup::make(path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made,
            }
        }
    }

    fn process_group(
        &mut self,
        base: &Path,
        slot: usize,
        max: u32,
    ) -> io::Result<Rc<ProcessGroup>> {
        if let Some(group) = &self.processes {
            return Ok(Rc::clone(group));
        }
        cgroup::make(base)?;
        let made = Rc::new(ProcessGroup::make(&base.join(format!("slot-{slot}")), max)?);
        self.processes = Some(Rc::clone(&made));
        Ok(made)
    }

    fn memory_group(
        &mut self,
        base: &Path,
        slot: usize,
        bytes_max: u64,
    ) -> io::Result<Rc<MemoryGroup>> {
        if let Some(group) = &self.memory
            && group.limit(bytes_max).is_ok()
        {
            return Ok(Rc::clone(group));
        }
        // Memory that an earlier command left, such as files in /dev/shm, stays charged to its
        // group.
        let name = format!("slot-{slot}-{}", self.n_groups);
        self.n_groups = self.n_groups.wrapping_add(1);
        cgroup::make(base)?;
        let group = Rc::new(MemoryGroup::make(base.join(name))?);
        group.limit(bytes_max)?;
        self.memory = Some(Rc::clone(&group));
        Ok(group)
    }
}

impl Processes {
    fn find(unified: Option<&Path>, own: Option<PathBuf>, name: &str, max: u32) -> Processes {
        if let Some(base) = unified {
            let mut groups = base.parent().into_iter().chain([base]);
            if groups.all(|group| cgroup::enable(group, "pids").is_ok()) {
                return Processes::Unified { max };
            }
        }
        let below = own.and_then(|own| {
            let base = own.join(name);
            cgroup::make(&base).ok()?;
            // Checked here, so that the reported containment is real.
            ProcessGroup::make(&base.join("trial"), max).ok()?;
            Some(base)
        });
        below.map_or(Processes::Unlimited, |base| Processes::Below { base, max })
    }
}

/// Makes the parent of the slots' groups of version 2. Also returns true if it can limit memory.
fn unified_at(own: PathBuf, name: &str) -> Option<(PathBuf, bool)> {
    let own = match own.file_name() {
        Some(last) if last == MANAGERS => own.parent()?.to_owned(),
        Some(_) | None => own,
    };
    let base = own.join(name);
    cgroup::make(&base).ok()?;
    let has_kill = base.join("cgroup.kill").exists();
    // The kernel's requirement for creating a process in another group than one's own.
    let may_move = [&own, &base]
        .into_iter()
        .all(|group| cgroup::may_move_to(group));
    if !has_kill || !may_move {
        let _ = cgroup::remove(&base);
        return None;
    }
    // It fails if processes live in the group. Moving them away would help, but then systemd could
    // not restart the manager while its executor lives on.
    let has_memory = [&own, &base]
        .into_iter()
        .all(|group| cgroup::enable(group, "memory").is_ok());
    Some((base, has_memory))
}

/// The control groups in which a command is created.
#[derive(Debug)]
pub(crate) struct CommandGroups {
    group: Option<Rc<SlotGroup>>,
    memory: Option<Rc<MemoryGroup>>,
    /// Earlier kills for lack of memory in this group.
    n_memory_kills: u64,
    processes: Option<Rc<ProcessGroup>>,
    /// Earlier refusals of processes in this group.
    n_processes_refused: u64,
}

impl CommandGroups {
    /// The group of version 2.
    pub(crate) fn cgroup(&self) -> Option<BorrowedFd<'_>> {
        self.group.as_deref().map(SlotGroup::directory)
    }

    /// The groups of controllers of version 1, which a process enters by writing `0`.
    pub(crate) fn joined(&self) -> Vec<BorrowedFd<'_>> {
        let memory = self.memory.as_deref().map(MemoryGroup::procs);
        let processes = self.processes.as_deref().map(ProcessGroup::procs);
        memory.into_iter().chain(processes).collect()
    }

    /// Number of refused processes there.
    fn processes_refused(&self) -> u64 {
        self.process_limit().map_or(0, ProcessLimit::n_refused)
    }

    fn process_limit(&self) -> Option<&ProcessLimit> {
        let joined = self.processes.as_deref().map(ProcessGroup::limit);
        let own = self.group.as_deref().and_then(SlotGroup::processes);
        joined.or(own)
    }

    /// Returns true if the command must collect its orphans.
    pub(crate) fn collects_orphans(&self) -> bool {
        self.group.is_none()
    }

    pub(crate) fn with(self, first: Pid) -> Contained {
        Contained { place: self, first }
    }
}

/// A command and all processes that it started.
#[derive(Debug)]
pub(crate) struct Contained {
    place: CommandGroups,
    first: Pid,
}

impl Contained {
    /// The first process, which leads a process group of its own.
    pub(crate) fn first(&self) -> Pid {
        self.first
    }

    /// Sends TERM to all processes, and CONT, so that stopped ones can handle it.
    pub(crate) fn terminate(&self) {
        self.signal_group(Signal::TERM);
        let first = self.first.as_raw_pid();
        match &self.place.group {
            Some(group) => {
                let mut pids = Vec::new();
                group.add_members(&mut pids);
                for pid in pids.into_iter().filter(|&pid| pid != first) {
                    self.terminate_one(pid, |signal| {
                        signal_if(pid, signal, || group.has(pid));
                    });
                }
            }
            None => {
                let mut all = Vec::new();
                add_descendants(first, &mut all);
                for one in all {
                    self.terminate_one(one.pid, |signal| one.signal(signal));
                }
            }
        }
        // It is not collected, so its number is its own. It may be on its way into its group.
        self.signal_group(Signal::CONT);
        signal_if(first, Signal::TERM, || {
            getpgid(Some(self.first)) != Ok(self.first)
        });
        signal_if(first, Signal::CONT, || true);
    }

    /// Sends TERM, unless it got it with the process group, then CONT.
    fn terminate_one(&self, pid: i32, signal: impl Fn(Signal)) {
        let group = Pid::from_raw(pid).and_then(|pid| getpgid(Some(pid)).ok());
        if group != Some(self.first) {
            signal(Signal::TERM);
        }
        signal(Signal::CONT);
    }

    /// Kills all processes. Must be called while the first process is not collected, which keeps
    /// its number from being reused.
    pub(crate) fn kill(&self) {
        match &self.place.group {
            Some(group) => {
                group.kill();
                // It may be on its way into its group.
                signal_if(self.first.as_raw_pid(), Signal::KILL, || true);
            }
            None => kill_tree(self.first),
        }
        self.signal_group(Signal::KILL);
    }

    /// Sends a signal to the process group of the first process, which usually has most processes.
    pub(crate) fn signal_group(&self, signal: Signal) {
        // The group may be empty already.
        let _ = kill_process_group(self.first, signal);
    }

    /// Returns true if a control group kills all processes at once, so that the process group needs
    /// no signal.
    pub(crate) fn has_group(&self) -> bool {
        self.place.group.is_some()
    }

    /// Returns true if the command uses more memory than this, or the kernel killed it for lack of
    /// memory.
    pub(crate) fn is_above(&self, bytes_max: u64) -> bool {
        if self.is_limited() {
            return self.was_killed_for_memory();
        }
        held_bytes(&self.members(), bytes_max) > bytes_max
    }

    /// Returns true if the kernel has killed a process for lack of memory.
    pub(crate) fn was_killed_for_memory(&self) -> bool {
        let CommandGroups {
            group,
            memory,
            n_memory_kills,
            ..
        } = &self.place;
        let n = match (memory, group) {
            (Some(memory), _) => memory.n_memory_kills(),
            (None, Some(group)) => group.n_memory_kills(),
            (None, None) => 0,
        };
        n > *n_memory_kills
    }

    /// Returns true if a process was refused by the limit.
    pub(crate) fn was_refused_processes(&self) -> bool {
        self.place.processes_refused() > self.place.n_processes_refused
    }

    fn is_limited(&self) -> bool {
        let by_unified = self
            .place
            .group
            .as_ref()
            .is_some_and(|one| one.has_memory());
        self.place.memory.is_some() || by_unified
    }

    fn members(&self) -> Vec<i32> {
        let mut pids = Vec::new();
        match &self.place.group {
            Some(group) => group.add_members(&mut pids),
            None => {
                let mut all = Vec::new();
                add_descendants(self.first.as_raw_pid(), &mut all);
                pids.push(self.first.as_raw_pid());
                pids.extend(all.iter().map(|one| one.pid));
            }
        }
        pids
    }
}

/// Writes a warning for the administrator of the machine.
pub(crate) fn warn(what: &str) {
    // It goes to a file; there is nowhere else to write it.
    let _ = writeln!(io::stderr(), "warning: {what}");
}

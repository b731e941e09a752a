//! Everything that a command starts, held together until it has ended.
//!
//! Two ways, of which the first that the system allows is taken when the executor starts:
//! - a control group (version 2) for each slot, which a command is created in and nothing that it starts
//!   can leave: one write ends all of it, one read tells whether anything is left;
//! - the process tree: the command collects its own orphans (PR_SET_CHILD_SUBREAPER), so that all that
//!   it started is below it for as long as it lives; when it has ended, what is left becomes a child of
//!   the executor, where every child that is no command is somebody's left-over and is killed.
//!
//! When the executor itself ends, the guardian (`guardian.rs`) ends what is left in both ways.

mod cgroup;
mod descendants;
mod leftovers;

use std::collections::BTreeSet;
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
use self::descendants::{add_descendants, kill_tree, signal_if};
pub(crate) use self::leftovers::{Leftovers, end_all};

/// The name of the group that the unit of systemd starts managers in, below the one that is delegated:
/// a group in which processes live has no controllers for the groups below it.
const MANAGERS: &str = "xavantes-managers";

/// What a site wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContainmentChoice {
    /// Control groups where they may be made, else the process tree.
    #[default]
    Best,
    /// The process tree, even where control groups may be made.
    ProcessTree,
}

impl ContainmentChoice {
    /// As configurations and arguments name it.
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

/// See the module.
#[derive(Debug)]
pub(crate) struct Containment {
    /// The group of version 2 that the slots' groups are in; none where processes are held as a tree.
    unified: Option<PathBuf>,
    /// The same under the memory controller of version 1.
    memory: Option<PathBuf>,
    processes: Processes,
    slots: Vec<SlotGroups>,
    /// None before this is the executor, which is forked.
    children: Option<Children>,
    told: Told,
    scratch: Vec<i32>,
}

/// By what the number of processes of a command is limited.
#[derive(Debug)]
enum Processes {
    /// By no control group.
    Unlimited,
    /// By the groups of version 2.
    Unified { max: u32 },
    /// By groups below this one, under the controller of version 1.
    Below { base: PathBuf, max: u32 },
}

/// The groups of one slot, made when it is first used.
#[derive(Debug, Default)]
struct SlotGroups {
    group: Option<Rc<SlotGroup>>,
    memory: Option<Rc<MemoryGroup>>,
    processes: Option<Rc<ProcessGroup>>,
    /// How many groups there were before.
    n_groups: u32,
}

impl Containment {
    /// Finds out which way there is, under a name that no other executor of this machine has. What an
    /// earlier one of this name left is gone already. `processes_max` is what a command may have at a time.
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
            // Looked at here, so that what is told holds.
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

    /// The groups that are to be emptied and removed when the executor has ended.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &Path> {
        let processes = match &self.processes {
            Processes::Below { base, .. } => Some(base),
            Processes::Unlimited | Processes::Unified { .. } => None,
        };
        let groups = self.unified.iter().chain(&self.memory).chain(processes);
        groups.map(PathBuf::as_path)
    }

    /// Whether the number of processes that was asked for holds for each command.
    pub(crate) fn limits_processes(&self) -> bool {
        !matches!(self.processes, Processes::Unlimited)
    }

    /// As daemons are told.
    pub(crate) fn told(&self) -> Told {
        self.told
    }

    /// Makes this process, which starts all commands, the one that strays become children of.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        self.children = Some(Children::of_this_process());
        if self.unified.is_none() {
            let own = rustix::process::getpid();
            rustix::process::set_child_subreaper(Some(own))?;
        }
        Ok(())
    }

    /// What a command in a slot is to be created in.
    pub(crate) fn place(
        &mut self,
        slot: usize,
        memory_bytes_max: Option<u64>,
    ) -> io::Result<CommandGroups> {
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, SlotGroups::default);
        }
        let groups = &mut self.slots[slot];
        if let Some(spent) = groups.group.take_if(|group| group.is_spent()) {
            spent.remove();
        }
        if let (None, Some(base)) = (&groups.group, &self.unified) {
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

    /// Ends what is left of a command whose first process has ended, and collects it. Whether anything
    /// lives on, or counts for what the next command of the slot may have. `commands` are the first
    /// processes of those that run.
    pub(crate) fn end_rest(&mut self, contained: &Contained, commands: &BTreeSet<i32>) -> bool {
        let limit = contained.place.process_limit();
        self.end_alive(contained, commands) || limit.is_some_and(ProcessLimit::is_charged)
    }

    fn end_alive(&mut self, contained: &Contained, commands: &BTreeSet<i32>) -> bool {
        match &contained.place.group {
            Some(group) => {
                let is_left = group.is_populated();
                if is_left {
                    group.kill();
                }
                is_left && group.is_populated()
            }
            None => self.end_strays(commands),
        }
    }

    /// Whoever is a child of the executor and no command has lost its command.
    fn end_strays(&mut self, commands: &BTreeSet<i32>) -> bool {
        let Some(children) = &self.children else {
            return false;
        };
        let mut is_left = false;
        self.scratch.clear();
        children.read(&mut self.scratch);
        for &pid in &self.scratch {
            if commands.contains(&pid) {
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
    /// One of a name that was not used: an earlier executor of the same name may have left some that could
    /// not be removed.
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
        // What an earlier command left in memory, such as files in /dev/shm, stays charged to its group.
        let name = format!("slot-{slot}-{}", self.n_groups);
        self.n_groups = self.n_groups.wrapping_add(1);
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
            // Looked at here, so that what is told holds.
            ProcessGroup::make(&base.join("trial"), max).ok()?;
            Some(base)
        });
        below.map_or(Processes::Unlimited, |base| Processes::Below { base, max })
    }
}

/// Makes the group of version 2 that the slots' groups are made in; whether memory is limited by it.
fn unified_at(own: PathBuf, name: &str) -> Option<(PathBuf, bool)> {
    let own = match own.file_name() {
        Some(last) if last == MANAGERS => own.parent()?.to_owned(),
        Some(_) | None => own,
    };
    let base = own.join(name);
    cgroup::make(&base).ok()?;
    let has_kill = base.join("cgroup.kill").exists();
    // What the kernel asks of whoever creates a process in another group than its own.
    let may_move = [&own, &base]
        .into_iter()
        .all(|group| cgroup::may_move_to(group));
    if !has_kill || !may_move {
        let _ = cgroup::remove(&base);
        return None;
    }
    // It fails where processes live in it. Moving them away would do, but then systemd could not start the
    // manager again while its executor lives on.
    let has_memory = [&own, &base]
        .into_iter()
        .all(|group| cgroup::enable(group, "memory").is_ok());
    Some((base, has_memory))
}

/// What a command is created in.
#[derive(Debug)]
pub(crate) struct CommandGroups {
    group: Option<Rc<SlotGroup>>,
    memory: Option<Rc<MemoryGroup>>,
    /// How often the kernel had killed for want of memory there before.
    n_memory_kills: u64,
    processes: Option<Rc<ProcessGroup>>,
    /// How often it was refused a process there before.
    n_processes_refused: u64,
}

impl CommandGroups {
    /// The group of version 2.
    pub(crate) fn cgroup(&self) -> Option<BorrowedFd<'_>> {
        self.group.as_deref().map(SlotGroup::directory)
    }

    /// The groups of controllers of version 1, which are entered by writing `0`.
    pub(crate) fn joined(&self) -> Vec<BorrowedFd<'_>> {
        let memory = self.memory.as_deref().map(MemoryGroup::procs);
        let processes = self.processes.as_deref().map(ProcessGroup::procs);
        memory.into_iter().chain(processes).collect()
    }

    /// How often a process was refused there.
    fn processes_refused(&self) -> u64 {
        self.process_limit().map_or(0, ProcessLimit::n_refused)
    }

    fn process_limit(&self) -> Option<&ProcessLimit> {
        let joined = self.processes.as_deref().map(ProcessGroup::limit);
        let own = self.group.as_deref().and_then(SlotGroup::processes);
        joined.or(own)
    }

    /// Whether the command is to collect its orphans.
    pub(crate) fn collects_orphans(&self) -> bool {
        self.group.is_none()
    }

    pub(crate) fn with(self, first: Pid) -> Contained {
        Contained { place: self, first }
    }
}

/// A command and everything that it started.
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

    /// TERM to all, which can heed it even where they were stopped.
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
        // Not collected, so its number is its own. It may be on its way into its group.
        self.signal_group(Signal::CONT);
        signal_if(first, Signal::TERM, || {
            getpgid(Some(self.first)) != Ok(self.first)
        });
        signal_if(first, Signal::CONT, || true);
    }

    /// TERM, if it has not had it with the process group, then CONT.
    fn terminate_one(&self, pid: i32, signal: impl Fn(Signal)) {
        let group = Pid::from_raw(pid).and_then(|pid| getpgid(Some(pid)).ok());
        if group != Some(self.first) {
            signal(Signal::TERM);
        }
        signal(Signal::CONT);
    }

    /// Kills all. To be called while the first process is not collected, which keeps its number from being
    /// used again.
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

    /// Sends a signal to the process group of the first process, which is most of it.
    pub(crate) fn signal_group(&self, signal: Signal) {
        // The group may be empty already.
        let _ = kill_process_group(self.first, signal);
    }

    /// Whether a group kills at once, so that the process group needs no signal.
    pub(crate) fn has_group(&self) -> bool {
        self.place.group.is_some()
    }

    /// Whether it holds more memory than this, or was killed by the kernel for want of it.
    pub(crate) fn is_above(&self, bytes_max: u64) -> bool {
        if self.is_limited() {
            return self.was_killed_for_memory();
        }
        held_bytes(&self.members(), bytes_max) > bytes_max
    }

    /// Whether the kernel has killed some of it for want of memory.
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

    /// Whether it was refused a process for want of room.
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

/// Says something that whoever looks after the machine should know.
pub(crate) fn warn(what: &str) {
    // It goes to a file; there is nowhere else to say it.
    let _ = writeln!(io::stderr(), "warning: {what}");
}

#![expect(
    unsafe_code,
    reason = "starting a command in shared memory has no safe interface"
)]
//! The start of commands. A child shares the executor's memory until it executes its program, as
//! after vfork, which saves the copy of the page tables. Unlike after vfork the executor goes on at
//! once, so that a stopped or delayed child does not delay the executor.
//!
//! The memory that a child may still use is kept in a [`Room`]. The kernel tells when that is over:
//! it clears the word of the child's thread id when the child executes its program or ends
//! (CLONE_CHILD_CLEARTID).

use std::ffi::{CString, c_char, c_int};
use std::io;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use rustix::fs::{Mode, OFlags, openat};
use rustix::process::{Pid, Resource, Rlimit};

use crate::account::Numbers;
use crate::child::{self, Ids, JOINS_MAX, LIMITS_MAX, Orders, Report, Step};
use crate::cpus::Cpus;

/// Bytes of the stack on which a child runs until it executes its program. It makes system calls
/// and has no buffers.
const STACK_BYTES: usize = 16 * 1024;

/// Rooms that are kept for the next children: more than are started in the milliseconds in which
/// one is used, on a machine with a hundred cores.
const FREE_ROOMS_MAX: usize = 128;

/// The program, arguments and environment of a command, owned, so that they live as long as a child
/// uses them.
pub(crate) struct Image {
    /// Paths to try in order, as the command's account sees them.
    pub(crate) programs: Vec<CString>,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) directory: CString,
    /// The path of standard input, opened as the account; relative to the directory. None if it is
    /// passed as an open file.
    pub(crate) stdin: Option<CString>,
    /// A directory without which the command is not executed.
    pub(crate) needs: Option<CString>,
}

/// The settings of a start.
pub(crate) struct Launch<'a> {
    pub(crate) image: Image,
    /// Open standard input, unless the image names a file for it.
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// Resource limits of the command, at most [`LIMITS_MAX`].
    pub(crate) limits: &'a [(Resource, Rlimit)],
    pub(crate) nice: Option<i32>,
    /// The I/O priority, in the form of ioprio_set(2).
    pub(crate) io: Option<i32>,
    /// The CPUs that it is bound to; none for all of the executor's.
    pub(crate) cpus: Option<Cpus>,
    /// The account that the command becomes for ever.
    pub(crate) account: Option<&'a Numbers>,
    /// The directory of the v2 cgroup in which the command is created; or which it joins before it
    /// executes anything, if the system cannot create it there.
    pub(crate) cgroup: Option<BorrowedFd<'a>>,
    /// `cgroup.procs` files, open for writing, that the child writes itself into before it changes
    /// account and executes anything; at most [`JOINS_MAX`] less one.
    pub(crate) joins: &'a [BorrowedFd<'a>],
    /// True if orphans among its descendants become its children.
    pub(crate) collects_orphans: bool,
}

/// A started child.
pub(crate) struct Launched {
    /// Its process id, which is its process group too once it has begun to run.
    pub(crate) pid: Pid,
    pub(crate) starting: Starting,
}

/// No child was made.
pub(crate) struct NotLaunched {
    pub(crate) error: io::Error,
    /// The program that it was to execute, with all that belongs to it.
    pub(crate) image: Box<Image>,
}

/// Why a child did not execute a program.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The failed step.
    pub(crate) step: Step,
    pub(crate) errno: i32,
    /// The index of the program.
    pub(crate) program: usize,
    /// True if it was to become another account.
    pub(crate) has_account: bool,
}

/// Starts commands, from one thread for its whole life: a command is killed when the thread that
/// started it ends (PR_SET_PDEATHSIG).
pub(crate) struct Launcher {
    pid: libc::pid_t,
    #[expect(
        clippy::vec_box,
        reason = "a room that is in use must stay where it is, and has been in a box since it was made"
    )]
    free: Vec<Box<Room>>,
    /// True if the system has refused to create children in a cgroup.
    joins_cgroups: bool,
}

impl Launcher {
    pub(crate) fn new() -> Launcher {
        Launcher {
            pid: rustix::process::getpid().as_raw_pid(),
            free: Vec::new(),
            joins_cgroups: false,
        }
    }

    /// Starts a child and returns at once. Its success is told by [`Launched::starting`] and by its
    /// end. After an error the image is there for another try.
    pub(crate) fn launch(&mut self, launch: Launch<'_>) -> Result<Launched, NotLaunched> {
        let cgroup = launch.cgroup;
        let mut room = self.free.pop().unwrap_or_default();
        room.furnish(launch, self.pid);
        let made = match cgroup {
            Some(cgroup) => self.clone_into(&mut room, cgroup),
            None => room.clone_here(),
        };
        match made {
            Ok(pid) => Ok(Launched {
                pid,
                starting: Starting(NonNull::from(Box::leak(room))),
            }),
            Err(errno) => {
                let image = room.image.take();
                self.keep(room);
                Err(NotLaunched {
                    error: io::Error::from_raw_os_error(errno),
                    image: Box::new(image.expect("a room is furnished while it is in use")),
                })
            }
        }
    }

    /// Reuses the room of a child that has executed its program; `starting` is none then.
    pub(crate) fn reclaim(&mut self, starting: &mut Option<Starting>) {
        let is_over =
            |starting: &mut Starting| !starting.is_in_memory() && starting.failure().is_none();
        self.take_back(starting.take_if(is_over));
    }

    /// Reuses the room of a child that has ended.
    pub(crate) fn take_back(&mut self, starting: Option<Starting>) {
        if let Some(room) = starting.and_then(Starting::into_room) {
            self.keep(room);
        }
    }

    fn clone_into(&mut self, room: &mut Room, cgroup: BorrowedFd<'_>) -> Result<Pid, c_int> {
        if !self.joins_cgroups {
            let made = room.clone_into(cgroup);
            // Errors of the group itself have other numbers.
            let is_refused = |&errno: &c_int| {
                [libc::ENOSYS, libc::EINVAL, libc::EPERM, libc::E2BIG].contains(&errno)
            };
            self.joins_cgroups = made.as_ref().is_err_and(is_refused);
            if !self.joins_cgroups {
                return made;
            }
        }
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let procs = openat(cgroup, c"cgroup.procs", flags, Mode::empty());
        let procs = procs.map_err(|errno| errno.raw_os_error())?;
        room.join(&procs);
        // The child has a copy of the descriptor.
        room.clone_here()
    }

    fn keep(&mut self, mut room: Box<Room>) {
        room.image = None;
        if self.free.len() < FREE_ROOMS_MAX {
            self.free.push(room);
        }
    }
}

/// A child that may not have executed its program yet.
pub(crate) struct Starting(NonNull<Room>);

impl Starting {
    /// Returns true if the child still uses this memory: it has neither executed its program nor
    /// ended.
    pub(crate) fn is_in_memory(&self) -> bool {
        // SAFETY: the room lives as long as this; the kernel writes its word as a whole.
        let word = unsafe { &*ptr::addr_of!((*self.0.as_ptr()).word) };
        word.load(Ordering::Acquire) != 0
    }

    /// Why it did not execute a program; none if it did, is about to, or was killed before.
    pub(crate) fn failure(&self) -> Option<Failure> {
        // SAFETY: the room lives as long as this, and what others write meanwhile is atomic.
        let orders = unsafe { &*ptr::addr_of!((*self.0.as_ptr()).orders) };
        let report = &orders.report;
        let step = Step::of(report.step.load(Ordering::Acquire))?;
        Some(Failure {
            step,
            errno: report.errno.load(Ordering::Relaxed),
            program: report.program.load(Ordering::Relaxed) as usize,
            has_account: orders.account.is_some(),
        })
    }

    /// The program that it was to execute.
    pub(crate) fn image(&self) -> &Image {
        // SAFETY: the room lives as long as this; child and executor only read the image.
        let image = unsafe { &*ptr::addr_of!((*self.0.as_ptr()).image) };
        let image = image.as_ref();
        image.expect("a room is furnished while it is in use")
    }
}

impl Starting {
    /// The room, if the child does not use it any more. Otherwise it is leaked to the child.
    fn into_room(self) -> Option<Box<Room>> {
        let is_over = !self.is_in_memory();
        let room = ManuallyDrop::new(self).0;
        // SAFETY: the room was leaked when the child was started, only this knew it, and the kernel
        // has said that the child does not use it any more.
        is_over.then(|| unsafe { Box::from_raw(room.as_ptr()) })
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        drop(Starting(self.0).into_room());
    }
}

/// The memory that a child uses.
struct Room {
    stack: Box<[u128]>,
    image: Option<Image>,
    programs: Vec<*const c_char>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
    groups: Vec<libc::gid_t>,
    /// Not 0 while the child uses this.
    word: AtomicU32,
    orders: Orders,
}

impl Default for Room {
    fn default() -> Room {
        let nothing = libc::rlimit64 {
            rlim_cur: 0,
            rlim_max: 0,
        };
        Room {
            stack: vec![0; STACK_BYTES / size_of::<u128>()].into_boxed_slice(),
            image: None,
            programs: Vec::new(),
            argv: Vec::new(),
            envp: Vec::new(),
            groups: Vec::new(),
            word: AtomicU32::new(0),
            orders: Orders {
                programs: ptr::null(),
                argv: ptr::null(),
                envp: ptr::null(),
                directory: ptr::null(),
                stdin: ptr::null(),
                needs: ptr::null(),
                streams: [-1; 3],
                joins: [-1; JOINS_MAX],
                n_joins: 0,
                collects_orphans: false,
                limits: [(0, nothing); LIMITS_MAX],
                n_limits: 0,
                nice: None,
                io: None,
                cpus: None,
                account: None,
                parent: 0,
                report: Report {
                    step: AtomicI32::new(0),
                    errno: AtomicI32::new(0),
                    program: AtomicU32::new(0),
                },
            },
        }
    }
}

/// The group in which a child is created is an argument of clone3.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

impl Room {
    /// Writes the orders of a child.
    fn furnish(&mut self, launch: Launch<'_>, parent: libc::pid_t) {
        let image = self.image.insert(launch.image);
        pointers(&image.programs, &mut self.programs);
        pointers(&image.arguments, &mut self.argv);
        pointers(&image.environment, &mut self.envp);
        self.groups.clear();
        let groups = launch.account.map_or(&[][..], |account| &account.others);
        self.groups.extend_from_slice(groups);
        let orders = &mut self.orders;
        orders.programs = self.programs.as_ptr();
        orders.argv = self.argv.as_ptr();
        orders.envp = self.envp.as_ptr();
        orders.directory = image.directory.as_ptr();
        orders.stdin = image
            .stdin
            .as_ref()
            .map_or(ptr::null(), |path| path.as_ptr());
        orders.needs = image
            .needs
            .as_ref()
            .map_or(ptr::null(), |path| path.as_ptr());
        orders.streams = [launch.stdin, launch.stdout, launch.stderr].map(|fd| fd.as_raw_fd());
        orders.n_joins = 0;
        orders.collects_orphans = launch.collects_orphans;
        orders.n_limits = launch.limits.len();
        for (place, (resource, limit)) in orders.limits[..launch.limits.len()]
            .iter_mut()
            .zip(launch.limits)
        {
            *place = (
                *resource as c_int,
                libc::rlimit64 {
                    rlim_cur: limit.current.unwrap_or(libc::RLIM64_INFINITY),
                    rlim_max: limit.maximum.unwrap_or(libc::RLIM64_INFINITY),
                },
            );
        }
        orders.nice = launch.nice;
        orders.io = launch.io;
        orders.cpus = launch.cpus;
        orders.account = launch.account.map(|account| Ids {
            user: account.user,
            group: account.group,
            others: self.groups.as_ptr(),
            n_others: self.groups.len(),
        });
        orders.parent = parent;
        orders.report.step.store(0, Ordering::Relaxed);
        for file in launch.joins {
            self.join(file);
        }
    }

    fn join(&mut self, file: &impl AsRawFd) {
        let orders = &mut self.orders;
        orders.joins[orders.n_joins] = file.as_raw_fd();
        orders.n_joins += 1;
    }

    fn clone_here(&mut self) -> Result<Pid, c_int> {
        let (flags, stack) = (
            FLAGS | libc::SIGCHLD as u64,
            self.stack.as_mut_ptr_range().end,
        );
        let (flags, stack) = (flags as usize, stack as usize);
        let word = self.word.as_ptr() as usize;
        #[cfg(target_arch = "x86_64")]
        let arguments = [flags, stack, 0, word, 0];
        #[cfg(target_arch = "aarch64")]
        let arguments = [flags, stack, 0, 0, word];
        // SAFETY: as `made` wants it.
        unsafe { self.made(libc::SYS_clone, arguments) }
    }

    fn clone_into(&mut self, cgroup: BorrowedFd<'_>) -> Result<Pid, c_int> {
        let arguments = libc::clone_args {
            flags: FLAGS | CLONE_INTO_CGROUP,
            pidfd: 0,
            child_tid: self.word.as_ptr() as u64,
            parent_tid: 0,
            exit_signal: libc::SIGCHLD as u64,
            stack: self.stack.as_mut_ptr() as u64,
            stack_size: size_of_val(&*self.stack) as u64,
            tls: 0,
            set_tid: 0,
            set_tid_size: 0,
            cgroup: cgroup.as_raw_fd() as u64,
        };
        let size = size_of_val(&arguments);
        let arguments = [&raw const arguments as usize, size, 0, 0, 0];
        // SAFETY: as `made` wants it.
        unsafe { self.made(libc::SYS_clone3, arguments) }
    }

    /// # Safety
    /// The arguments are those of the call: this stack, and the word of this room to be cleared.
    unsafe fn made(&mut self, call: libc::c_long, arguments: [usize; 5]) -> Result<Pid, c_int> {
        self.word.store(1, Ordering::Relaxed);
        // SAFETY: the stack is this room's, aligned to 16, and grows down from its end. The room is
        // neither moved nor written before the kernel clears its word, and the orders point into it or
        // to what it owns.
        let made = unsafe { child::clone_and_run(call, arguments, &raw const self.orders) };
        match made {
            Ok(pid) => Ok(Pid::from_raw(pid).expect("a child has a number above 0")),
            Err(errno) => {
                self.word.store(0, Ordering::Relaxed);
                Err(errno)
            }
        }
    }
}

const FLAGS: u64 = (libc::CLONE_VM | libc::CLONE_CHILD_CLEARTID) as u64;

fn pointers(strings: &[CString], out: &mut Vec<*const c_char>) {
    out.clear();
    out.extend(strings.iter().map(|string| string.as_ptr()));
    out.push(ptr::null());
}

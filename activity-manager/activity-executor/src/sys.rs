#![expect(
    unsafe_code,
    reason = "starting a command in shared memory has no safe interface"
)]
//! The system calls that have no safe wrapper: clone, wait4, signals. Nothing is decided here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use model::Span;
use rustix::process::{Pid, Rlimit};

use crate::account::Numbers;

/// Bytes of the stack on which the child runs until it executes its program. It calls a dozen thin
/// wrappers and has no buffers.
const STACK_BYTES: usize = 64 * 1024;

/// A command with everything looked up and opened.
pub(crate) struct Launch<'a> {
    pub(crate) program: &'a CStr,
    pub(crate) arguments: &'a [CString],
    pub(crate) environment: &'a [CString],
    pub(crate) directory: &'a CStr,
    pub(crate) stdin: BorrowedFd<'a>,
    pub(crate) stdout: BorrowedFd<'a>,
    pub(crate) stderr: BorrowedFd<'a>,
    /// The soft and hard number of open files that the command gets.
    pub(crate) files: Option<Rlimit>,
    pub(crate) nice: Option<i32>,
    /// Whom the command becomes; for ever.
    pub(crate) account: Option<&'a Numbers>,
}

/// What the child was doing when it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Clone,
    Prepare,
    ChangeDirectory,
    Nice,
    Account,
    Execute,
}

/// Why a command did not start.
#[derive(Debug)]
pub(crate) struct LaunchError {
    pub(crate) step: Step,
    pub(crate) errno: i32,
}

/// Starts commands, from one thread for its whole life: a command is killed when the thread that
/// started it ends (PR_SET_PDEATHSIG).
pub(crate) struct Launcher {
    stack: Box<[u128]>,
    pid: libc::pid_t,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl Launcher {
    pub(crate) fn new() -> Launcher {
        Launcher {
            stack: vec![0; STACK_BYTES / size_of::<u128>()].into_boxed_slice(),
            pid: rustix::process::getpid().as_raw_pid(),
            argv: Vec::new(),
            envp: Vec::new(),
        }
    }

    /// Returns when the command executes its program, with its process id, which is also its process
    /// group, and a descriptor that becomes readable at its end.
    pub(crate) fn launch(&mut self, launch: &Launch<'_>) -> Result<(Pid, OwnedFd), LaunchError> {
        pointers(launch.arguments, &mut self.argv);
        pointers(launch.environment, &mut self.envp);
        let shared = Shared {
            program: launch.program.as_ptr(),
            argv: self.argv.as_ptr(),
            envp: self.envp.as_ptr(),
            directory: launch.directory.as_ptr(),
            streams: [launch.stdin, launch.stdout, launch.stderr].map(|fd| fd.as_raw_fd()),
            files: launch.files.as_ref().map(|limit| libc::rlimit {
                rlim_cur: limit.current.unwrap_or(libc::RLIM_INFINITY),
                rlim_max: limit.maximum.unwrap_or(libc::RLIM_INFINITY),
            }),
            nice: launch.nice,
            account: launch.account.map(|account| Ids {
                user: account.user,
                group: account.group,
                others: account.others.as_ptr(),
                n_others: account.others.len(),
            }),
            parent: self.pid,
            step: AtomicI32::new(0),
            errno: AtomicI32::new(0),
        };
        let mut pidfd: c_int = -1;
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        // SAFETY: the stack is ours alone, aligned to 16, and grows down from its end. CLONE_VFORK
        // suspends this thread until the child has executed its program or ended, so `shared`, the
        // stack and all that `launch` borrows outlive their use by the child, and nothing is used by
        // both at once. `child` makes system calls only. With CLONE_PIDFD the kernel stores the
        // descriptor where the fifth argument points.
        let pid = unsafe {
            libc::clone(
                child,
                self.stack.as_mut_ptr_range().end.cast::<c_void>(),
                flags,
                ptr::from_ref(&shared).cast_mut().cast::<c_void>(),
                &raw mut pidfd,
            )
        };
        let Some(pid) = Pid::from_raw(pid.max(0)) else {
            return Err(LaunchError {
                step: Step::Clone,
                errno: last_errno(),
            });
        };
        // SAFETY: the kernel has just made this descriptor and nobody else knows it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let step = match shared.step.load(Ordering::Relaxed) {
            0 => return Ok((pid, pidfd)),
            STEP_DIRECTORY => Step::ChangeDirectory,
            STEP_NICE => Step::Nice,
            STEP_ACCOUNT => Step::Account,
            STEP_EXECUTE => Step::Execute,
            _ => Step::Prepare,
        };
        reap_failed(pid);
        Err(LaunchError {
            step,
            errno: shared.errno.load(Ordering::Relaxed),
        })
    }
}

/// How a process ended and what it used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// As in waitpid(2).
    status: c_int,
    pub(crate) cpu_user: Span,
    pub(crate) cpu_system: Span,
    pub(crate) peak_memory_bytes: u64,
}

impl Waited {
    /// The exit status, of one that ended by itself.
    pub(crate) fn code(&self) -> Option<u8> {
        libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status) as u8)
    }

    /// The signal that ended it; 0 if none did.
    pub(crate) fn signal(&self) -> u32 {
        libc::WTERMSIG(self.status).unsigned_abs()
    }
}

/// Collects a child that has ended; `None` while it runs.
pub(crate) fn wait(pid: Pid) -> io::Result<Option<Waited>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers are valid for writes of their types.
    let waited = unsafe {
        libc::wait4(
            pid.as_raw_pid(),
            &raw mut status,
            libc::WNOHANG,
            usage.as_mut_ptr(),
        )
    };
    match waited {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        _ => {
            // SAFETY: it was zeroed, which is a value of this plain struct, and filled by wait4.
            let usage = unsafe { usage.assume_init() };
            let span = |time: libc::timeval| {
                Span((time.tv_sec as u64).saturating_mul(1_000_000) + time.tv_usec as u64)
            };
            Ok(Some(Waited {
                status,
                cpu_user: span(usage.ru_utime),
                cpu_system: span(usage.ru_stime),
                peak_memory_bytes: (usage.ru_maxrss as u64).saturating_mul(1024),
            }))
        }
    }
}

/// Closes every descriptor but the standard streams. Whatever the starter had open must not be kept
/// open by a process that outlives it. To be called before this program has opened anything.
pub(crate) fn close_inherited() {
    // SAFETY: `main` calls this first, when nothing in this program owns a descriptor above 2.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Gives every signal that is ignored its default action, so that commands start with it, and makes
/// SIGPIPE do nothing here: a handler, unlike ignoring, is not inherited through exec.
pub(crate) fn reset_dispositions() {
    for signal in
        (1..=libc::SIGRTMAX()).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
    {
        // SAFETY: an all-zero sigaction is a value of this plain struct (default action, empty mask);
        // the handler set below makes no calls at all.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            if libc::sigaction(signal, ptr::null(), &raw mut action) != 0 {
                continue;
            }
            let ignored = action.sa_sigaction == libc::SIG_IGN;
            action = MaybeUninit::zeroed().assume_init();
            if signal == libc::SIGPIPE {
                action.sa_sigaction = do_nothing as extern "C" fn(c_int) as libc::sighandler_t;
                action.sa_flags = libc::SA_RESTART;
            } else if !ignored {
                continue;
            }
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Blocks TERM, INT and HUP, and returns a descriptor that becomes readable when one arrives.
pub(crate) fn termination() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used; signalfd makes a descriptor
    // that nobody else knows.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            libc::sigaddset(&raw mut set, signal);
        }
        if libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// What the child reads, and where it leaves its failure.
struct Shared {
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
    directory: *const c_char,
    streams: [RawFd; 3],
    files: Option<libc::rlimit>,
    nice: Option<c_int>,
    account: Option<Ids>,
    parent: libc::pid_t,
    step: AtomicI32,
    errno: AtomicI32,
}

/// An account, as system calls take it.
struct Ids {
    user: libc::uid_t,
    group: libc::gid_t,
    others: *const libc::gid_t,
    n_others: usize,
}

const STEP_PREPARE: i32 = 1;
const STEP_DIRECTORY: i32 = 2;
const STEP_NICE: i32 = 3;
const STEP_EXECUTE: i32 = 4;
const STEP_ACCOUNT: i32 = 5;

/// Runs in the child, in the memory of the suspended parent: system calls only, no allocation, no
/// lock, no panic.
extern "C" fn child(shared: *mut c_void) -> c_int {
    // SAFETY: `launch` passes a pointer to its `Shared`, which it does not touch meanwhile.
    let shared = unsafe { &*shared.cast::<Shared>() };
    let fail = |step: i32| -> c_int {
        shared.errno.store(last_errno(), Ordering::Relaxed);
        shared.step.store(step, Ordering::Relaxed);
        127
    };
    // SAFETY: every pointer is valid as `launch` says; all calls are async-signal-safe. errno is the
    // suspended parent's, which reads it from `shared` only.
    unsafe {
        if libc::setpgid(0, 0) != 0
            || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) != 0
        {
            return fail(STEP_PREPARE);
        }
        // The parent may have been killed before the line above; then nobody would send the signal.
        if libc::getppid() != shared.parent {
            return fail(STEP_PREPARE);
        }
        for (target, &stream) in (0..).zip(&shared.streams) {
            if libc::dup2(stream, target) < 0 {
                return fail(STEP_PREPARE);
            }
        }
        if let Some(limit) = &shared.files
            && libc::setrlimit(libc::RLIMIT_NOFILE, limit) != 0
        {
            return fail(STEP_PREPARE);
        }
        if let Some(nice) = shared.nice
            && libc::setpriority(libc::PRIO_PROCESS, 0, nice) != 0
        {
            return fail(STEP_NICE);
        }
        if libc::chdir(shared.directory) != 0 {
            return fail(STEP_DIRECTORY);
        }
        if let Some(account) = &shared.account {
            // The library's own functions would have all threads of the parent do the same.
            let (user, group) = (account.user, account.group);
            if libc::syscall(libc::SYS_setgroups, account.n_others, account.others) != 0
                || libc::syscall(libc::SYS_setresgid, group, group, group) != 0
                || libc::syscall(libc::SYS_setresuid, user, user, user) != 0
                || libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                // Becoming another has taken the signal of the parent's death away.
                || libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong) != 0
                || libc::getppid() != shared.parent
            {
                return fail(STEP_ACCOUNT);
            }
        }
        let mut none = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(none.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), ptr::null_mut());
        libc::execve(shared.program, shared.argv, shared.envp);
        fail(STEP_EXECUTE)
    }
}

extern "C" fn do_nothing(_signal: c_int) {}

fn pointers(strings: &[CString], out: &mut Vec<*const c_char>) {
    out.clear();
    out.extend(strings.iter().map(|string| string.as_ptr()));
    out.push(ptr::null());
}

fn reap_failed(pid: Pid) {
    // SAFETY: a null status is allowed; the child has ended or is about to.
    while unsafe { libc::waitpid(pid.as_raw_pid(), ptr::null_mut(), 0) } == -1
        && last_errno() == libc::EINTR
    {}
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

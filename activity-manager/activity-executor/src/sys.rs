#![expect(
    unsafe_code,
    reason = "ends of children and signals have no safe interface"
)]
//! The system calls that have no safe wrapper: wait4, signals. Nothing is decided here.

pub(crate) mod user;

use std::ffi::c_int;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use model::Span;
use rustix::process::Pid;

/// The end of a process, and its resource use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waited {
    /// As in waitpid(2).
    status: c_int,
    pub(crate) cpu_user: Span,
    pub(crate) cpu_system: Span,
    pub(crate) peak_memory_bytes: u64,
}

impl Waited {
    /// The exit status of a process that exited by itself.
    pub(crate) fn code(&self) -> Option<u8> {
        libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status) as u8)
    }

    /// The signal that ended it; 0 if none did.
    pub(crate) fn signal(&self) -> u32 {
        libc::WTERMSIG(self.status).unsigned_abs()
    }
}

/// The process id of a child that has ended and is not collected: of this one, or of any. None where there is none.
pub(crate) fn ended_child(of: Option<i32>) -> Option<i32> {
    let (kind, id) = match of {
        Some(pid) => (libc::P_PID, pid.unsigned_abs()),
        None => (libc::P_ALL, 0),
    };
    let mut told = MaybeUninit::<libc::siginfo_t>::zeroed();
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: the pointer is valid for writes of its type, which was zeroed, a value of this plain struct, and has the
    // process id of a child or stays 0.
    let pid = unsafe {
        if libc::waitid(kind, id, told.as_mut_ptr(), options) != 0 {
            return None;
        }
        told.assume_init_ref().si_pid()
    };
    (pid != 0).then_some(pid)
}

/// Collects a child that has ended; none while it runs.
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

/// Closes every descriptor but the standard streams. The starter's open files must not be kept open
/// by a process that outlives it. Must be called before this program has opened anything.
pub(crate) fn close_inherited() {
    // SAFETY: `main` calls this first, when nothing in this program owns a descriptor above 2.
    unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0) };
}

/// Gives every signal its default action: commands inherit ignored ones, and a handler of this
/// program must not run in a child that shares its memory.
pub(crate) fn reset_dispositions() {
    for signal in
        (1..=libc::SIGRTMAX()).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal))
    {
        // SAFETY: an all-zero sigaction is a value of this plain struct: default action, empty mask.
        unsafe {
            let action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// Blocks all signals, which children begin with, and returns a descriptor that becomes readable
/// when TERM, INT or HUP arrives. SIGPIPE is blocked and not ignored, because commands would
/// inherit that.
pub(crate) fn termination() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised before it is used.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigfillset(set.as_mut_ptr());
        if libc::sigprocmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    told_of(&[libc::SIGTERM, libc::SIGINT, libc::SIGHUP])
}

/// A descriptor that becomes readable when a child has ended, once all signals are blocked. Of several ends at
/// the same time it tells one.
pub(crate) fn ends_of_children() -> io::Result<OwnedFd> {
    // SAFETY: an all-zero sigaction is a value of this plain struct: default action, empty mask.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        // Children that are stopped or go on are no news.
        action.sa_flags = libc::SA_NOCLDSTOP;
        if libc::sigaction(libc::SIGCHLD, &raw const action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    told_of(&[libc::SIGCHLD])
}

/// A descriptor that becomes readable when one of these signals, which are blocked, has come.
fn told_of(signals: &[libc::c_int]) -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used; signalfd makes a descriptor that
    // nobody else knows.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for &signal in signals {
            libc::sigaddset(&raw mut set, signal);
        }
        match libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

/// Blocks the signals by which others end a process. Programs that are started with [`std::process::Command`] begin
/// without.
pub(crate) fn block_signals() -> io::Result<()> {
    change_mask(libc::SIG_BLOCK)
}

/// Undoes [`block_signals`]: those that came meanwhile end this process.
pub(crate) fn unblock_signals() -> io::Result<()> {
    change_mask(libc::SIG_UNBLOCK)
}

fn change_mask(how: libc::c_int) -> io::Result<()> {
    // SAFETY: the set is initialised by sigemptyset before it is used.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT] {
            libc::sigaddset(&raw mut set, signal);
        }
        match libc::sigprocmask(how, &raw const set, ptr::null_mut()) {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Keeps other processes out of this one's memory, even if a child that shares it becomes another
/// account. An error if the system opens the memory of processes that change account.
pub(crate) fn close_memory() -> io::Result<()> {
    // SAFETY: the call takes numbers.
    match unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

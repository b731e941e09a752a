#![expect(unsafe_code, reason = "fork and signalfd have no safe interface")]
//! The system calls of the guardian that have no safe wrapper.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use rustix::process::Pid;

/// Forks this process, which must have one thread. Returns none in the child.
pub(super) fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: with one thread, nothing that the copy uses is held by a thread that it does not have.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        pid => Ok(Pid::from_raw(pid)),
    }
}

/// Blocks the signals for shutdown and for a child's end, and returns a descriptor that becomes
/// readable when one arrives.
pub(super) fn signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is initialised by sigemptyset before it is used; signalfd makes a descriptor that
    // nobody else knows.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        let mut set = set.assume_init();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
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

/// The next of those signals that have arrived.
pub(super) fn next(signals: &OwnedFd) -> Option<i32> {
    let mut bytes = [0; size_of::<libc::signalfd_siginfo>()];
    let n = rustix::io::read(signals, &mut bytes).ok()?;
    let number = bytes.first_chunk().copied().map(i32::from_ne_bytes);
    number.filter(|_| n == bytes.len())
}

#![expect(
    unsafe_code,
    reason = "the ids of one thread, signals to a whole user and System V IPC have no safe interface"
)]
//! Work with the rights of a command's account: this thread takes its rights, and nothing else. The
//! ids that the kernel checks when others signal or trace the thread are never the account's.

use std::io;
use std::ptr;

use rustix::io::Errno;
use rustix::process::{Uid, getpriority_user};

/// A user that no process has. If it were the account or root, the account could signal this
/// thread, or this thread every process. Below the numbers that systems give to containers and
/// directory services.
const NOBODY_AT_ALL: libc::uid_t = 0x7fff_fff1;

/// A kind of System V IPC objects: its table, the columns of an object's number, owner and maker,
/// and the removing call.
struct Kind {
    table: &'static str,
    number: usize,
    owner: usize,
    maker: usize,
    remove: fn(i32),
}

const SHARED_MEMORY: Kind = Kind {
    table: "/proc/sysvipc/shm",
    number: 1,
    owner: 7,
    maker: 9,
    remove: remove_shared_memory,
};
const SEMAPHORES: Kind = Kind {
    table: "/proc/sysvipc/sem",
    number: 1,
    owner: 4,
    maker: 6,
    remove: remove_semaphores,
};
const QUEUES: Kind = Kind {
    table: "/proc/sysvipc/msg",
    number: 1,
    owner: 7,
    maker: 9,
    remove: remove_queue,
};

/// Returns true if a process of a user exists, including ended ones that were not collected.
pub(crate) fn has_processes(user: u32) -> bool {
    getpriority_user(Uid::from_raw(user)) != Err(Errno::SRCH)
}

/// Kills all processes of an account at once: none of them can start another in time.
pub(crate) fn kill_all(user: u32) -> io::Result<()> {
    as_user(user, || {
        // SAFETY: plain system calls without pointers. The first is a question; were it answered
        // otherwise, this thread could signal processes of root, and the second would.
        unsafe {
            if libc::kill(1, 0) == 0 {
                return Err(io::Error::other("this thread has kept the rights of root"));
            }
            // There may be none by now.
            libc::kill(-1, libc::SIGKILL);
        }
        Ok(())
    })?
}

/// Removes the System V IPC objects of an account.
pub(crate) fn remove_ipc(user: u32) -> io::Result<()> {
    for kind in [SHARED_MEMORY, SEMAPHORES, QUEUES] {
        let Ok(text) = std::fs::read_to_string(kind.table) else {
            continue; // A system without them.
        };
        let lines = text.lines().skip(1);
        let objects: Vec<i32> = lines.filter_map(|line| kind.owned(line, user)).collect();
        if !objects.is_empty() {
            as_user(user, || objects.into_iter().for_each(kind.remove))?;
        }
    }
    Ok(())
}

impl Kind {
    /// The object of a line, if the user owns it or has made it.
    fn owned(&self, line: &str, user: u32) -> Option<i32> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let id = |column: usize| fields.get(column)?.parse::<u32>().ok();
        let is_owned = id(self.owner) == Some(user) || id(self.maker) == Some(user);
        fields.get(self.number)?.parse().ok().filter(|_| is_owned)
    }
}

/// Runs `act` with the rights of an account, and without those of root. Needs root.
pub(crate) fn as_user<T>(user: u32, act: impl FnOnce() -> T) -> io::Result<T> {
    /// Makes the thread root again on drop.
    struct Root;
    impl Drop for Root {
        fn drop(&mut self) {
            // SAFETY: a plain system call without pointers.
            if unsafe { libc::syscall(libc::SYS_setresuid, 0, 0, 0) } != 0 {
                // Root is still its saved id, so it cannot be refused; a thread that went on without
                // its rights would do anything.
                std::process::abort();
            }
        }
    }
    if user == 0 || user == NOBODY_AT_ALL {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    // SAFETY: a plain system call without pointers. The library's own function would change the ids of
    // all threads. With the effective id go root's capabilities; the saved one lets them come back.
    if unsafe { libc::syscall(libc::SYS_setresuid, NOBODY_AT_ALL, user, 0) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let _root = Root;
    Ok(act())
}

fn remove_shared_memory(id: i32) {
    // SAFETY: the command takes no pointer.
    unsafe { libc::shmctl(id, libc::IPC_RMID, ptr::null_mut()) };
}

fn remove_semaphores(id: i32) {
    // SAFETY: the command takes no fourth argument.
    unsafe { libc::semctl(id, 0, libc::IPC_RMID) };
}

fn remove_queue(id: i32) {
    // SAFETY: the command takes no pointer.
    unsafe { libc::msgctl(id, libc::IPC_RMID, ptr::null_mut()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ipc_objects_are_found_by_owner_and_maker() {
        let line =
            "         0          3  1600  4096  77  77  0  70000  70000  70001  70001  1 2 3";
        assert_eq!(SHARED_MEMORY.owned(line, 70_000), Some(3));
        assert_eq!(SHARED_MEMORY.owned(line, 70_001), Some(3));
        assert_eq!(SHARED_MEMORY.owned(line, 0), None);
        let line = "         0          5   600          1 70000 70000     0     0   0  1";
        assert_eq!(SEMAPHORES.owned(line, 70_000), Some(5));
        assert_eq!(SEMAPHORES.owned("", 70_000), None);
    }

    #[test]
    fn rights_come_back() {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return;
        }
        let inside = as_user(70_000, || {
            // SAFETY: plain system calls without pointers.
            let allowed = unsafe { libc::kill(1, 0) } == 0;
            (rustix::process::geteuid().as_raw(), allowed)
        });
        assert_eq!(inside.unwrap(), (70_000, false));
        assert!(rustix::process::geteuid().is_root());
        assert!(as_user(0, || ()).is_err());
    }
}

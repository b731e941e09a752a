#![expect(
    unsafe_code,
    reason = "the child shares the executor's memory, so it makes its system calls by itself"
)]
//! The path of a child from the clone to its program, in the memory of the running executor.
//!
//! The executor goes on meanwhile, so the child must not touch anything that both could use: no
//! allocation, no lock, no panic, no `errno` and no function of the C library, which keeps `errno`
//! in the memory of the thread that made the clone. The child reads its [`Orders`], writes its
//! [`Report`] and makes system calls with the instruction itself.

use std::arch::asm;
use std::ffi::{c_char, c_int};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use crate::cpus::Cpus;

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!(
    "the executor starts commands by system calls of its own, which are written for x86_64 and aarch64"
);

/// Resource limits that a child sets for itself.
pub(crate) const LIMITS_MAX: usize = 4;

/// The argument of ioprio_set(2) for a process: the child itself.
const IOPRIO_WHO_PROCESS: usize = 1;

/// Number of cgroup files that a child writes itself into: the useful v1 controllers, and one v2
/// group if the kernel does not start the child in it.
pub(crate) const JOINS_MAX: usize = 8;

/// Everything that the child needs. All pointers stay valid until the kernel has cleared the word
/// of the child's thread id ([`super::launch::Starting`]).
pub(crate) struct Orders {
    /// Paths to try, in this order, each with [`Orders::argv`]; ends with null.
    pub(crate) programs: *const *const c_char,
    pub(crate) argv: *const *const c_char,
    pub(crate) envp: *const *const c_char,
    pub(crate) directory: *const c_char,
    /// The file for standard input, opened as the account; null if it is `streams[0]`.
    pub(crate) stdin: *const c_char,
    /// A directory that has to be there, as the account sees it; null where none has to.
    pub(crate) needs: *const c_char,
    pub(crate) streams: [c_int; 3],
    /// Open `cgroup.procs` files, and their number.
    pub(crate) joins: [c_int; JOINS_MAX],
    pub(crate) n_joins: usize,
    /// True if orphans among its descendants become its children (PR_SET_CHILD_SUBREAPER).
    pub(crate) collects_orphans: bool,
    /// Resource limits, and their number.
    pub(crate) limits: [(c_int, libc::rlimit64); LIMITS_MAX],
    pub(crate) n_limits: usize,
    pub(crate) nice: Option<c_int>,
    /// Class and level for ioprio_set(2).
    pub(crate) io: Option<c_int>,
    pub(crate) cpus: Option<Cpus>,
    pub(crate) account: Option<Ids>,
    pub(crate) parent: libc::pid_t,
    pub(crate) report: Report,
}

/// An account, in the form of the system calls.
pub(crate) struct Ids {
    pub(crate) user: libc::uid_t,
    pub(crate) group: libc::gid_t,
    pub(crate) others: *const libc::gid_t,
    pub(crate) n_others: usize,
}

/// The child's report if it cannot execute a program.
pub(crate) struct Report {
    /// A [`Step`]; 0 without a failure.
    pub(crate) step: AtomicI32,
    pub(crate) errno: AtomicI32,
    /// The index of the program that failed.
    pub(crate) program: AtomicU32,
}

/// The step in which a child failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Step {
    Prepare = 1,
    /// Writing itself into a cgroup.
    Join,
    Limit,
    /// The priority of the CPU or of I/O.
    Priority,
    Bind,
    ChangeDirectory,
    Account,
    /// Opening standard input.
    Stdin,
    /// Finding the directory that the command needs.
    Environment,
    /// No program was found, or none is executable.
    Find,
    Execute,
}

impl Step {
    pub(crate) fn of(number: i32) -> Option<Step> {
        let all = [
            Step::Prepare,
            Step::Join,
            Step::Limit,
            Step::Priority,
            Step::Bind,
            Step::ChangeDirectory,
            Step::Account,
            Step::Stdin,
            Step::Environment,
            Step::Find,
            Step::Execute,
        ];
        all.into_iter().find(|&step| step as i32 == number)
    }
}

/// A failed system call: its error number.
struct Errno(c_int);

/// The child's code before its program, on its own stack. It ends in the program, or in an exit
/// with the report filled in.
///
/// # Safety
/// `orders` and everything it points to are valid and not written by others while this runs.
pub(crate) unsafe extern "C" fn run(orders: *const Orders) -> ! {
    // SAFETY: as the caller promises.
    let orders = unsafe { &*orders };
    // SAFETY: likewise.
    let (step, errno) = unsafe { begin(orders) };
    orders.report.errno.store(errno.0, Ordering::Relaxed);
    orders.report.step.store(step as i32, Ordering::Release);
    loop {
        // SAFETY: it ends this process.
        let _ = unsafe { call(libc::SYS_exit_group, [127, 0, 0, 0, 0]) };
    }
}

/// Returns only on failure.
unsafe fn begin(orders: &Orders) -> (Step, Errno) {
    // SAFETY: every pointer is valid as the caller of `run` promises, and no call writes into memory
    // that others read.
    unsafe {
        if let Err(errno) = tie_to_parent(orders, true) {
            return (Step::Prepare, errno);
        }
        if orders.collects_orphans {
            let option = libc::PR_SET_CHILD_SUBREAPER as usize;
            if let Err(errno) = call(libc::SYS_prctl, [option, 1, 0, 0, 0]) {
                return (Step::Prepare, errno);
            }
        }
        for (target, &stream) in (0..).zip(&orders.streams) {
            if let Err(errno) = call(libc::SYS_dup3, [stream as usize, target, 0, 0, 0]) {
                return (Step::Prepare, errno);
            }
        }
        for &file in orders.joins.iter().take(orders.n_joins) {
            let text = c"0".as_ptr() as usize;
            if let Err(errno) = call(libc::SYS_write, [file as usize, text, 1, 0, 0]) {
                return (Step::Join, errno);
            }
        }
        if let Some(nice) = orders.nice {
            let arguments = [libc::PRIO_PROCESS as usize, 0, nice as usize, 0, 0];
            if let Err(errno) = call(libc::SYS_setpriority, arguments) {
                return (Step::Priority, errno);
            }
        }
        if let Some(io) = orders.io
            && let Err(errno) = call(
                libc::SYS_ioprio_set,
                [IOPRIO_WHO_PROCESS, 0, io as usize, 0, 0],
            )
        {
            return (Step::Priority, errno);
        }
        if let Some(cpus) = &orders.cpus {
            let (size, set) = (size_of_val(cpus), ptr::from_ref(cpus) as usize);
            if let Err(errno) = call(libc::SYS_sched_setaffinity, [0, size, set, 0, 0]) {
                return (Step::Bind, errno);
            }
        }
        if let Err(errno) = call(libc::SYS_chdir, [orders.directory as usize, 0, 0, 0, 0]) {
            return (Step::ChangeDirectory, errno);
        }
        if let Some(account) = &orders.account
            && let Err(errno) = become_account(orders, account)
        {
            return (Step::Account, errno);
        }
        if !orders.stdin.is_null()
            && let Err(errno) = open_stdin(orders.stdin)
        {
            return (Step::Stdin, errno);
        }
        if !orders.needs.is_null()
            && let Err(errno) = find_directory(orders.needs)
        {
            return (Step::Environment, errno);
        }
        // Last: standard input is opened while the executor's own files are open here.
        for (resource, limit) in orders.limits.iter().take(orders.n_limits) {
            let limit = ptr::from_ref(limit) as usize;
            let arguments = [0, *resource as usize, limit, 0, 0];
            if let Err(errno) = call(libc::SYS_prlimit64, arguments) {
                return (Step::Limit, errno);
            }
        }
        if let Err(errno) = unblock_signals() {
            return (Step::Prepare, errno);
        }
        execute(orders)
    }
}

/// Makes the child lead a group of its own and die with the executor. The executor may have been
/// killed before this call; then nobody would send the signal.
unsafe fn tie_to_parent(orders: &Orders, leads: bool) -> Result<(), Errno> {
    // SAFETY: these calls take numbers.
    unsafe {
        if leads {
            call(libc::SYS_setpgid, [0, 0, 0, 0, 0])?;
        }
        let signal = libc::SIGKILL as usize;
        call(
            libc::SYS_prctl,
            [libc::PR_SET_PDEATHSIG as usize, signal, 0, 0, 0],
        )?;
        if call(libc::SYS_getppid, [0; 5])? == orders.parent as usize {
            Ok(())
        } else {
            Err(Errno(libc::ESRCH))
        }
    }
}

/// Becomes the account for ever. From here on other processes of the account can signal this one;
/// its memory stays closed to them, because the kernel closes it with the change.
unsafe fn become_account(orders: &Orders, account: &Ids) -> Result<(), Errno> {
    let (user, group) = (account.user as usize, account.group as usize);
    let others = account.others as usize;
    // SAFETY: `others` has `n_others` entries.
    unsafe {
        call(
            libc::SYS_prctl,
            [libc::PR_SET_NO_NEW_PRIVS as usize, 1, 0, 0, 0],
        )?;
        call(libc::SYS_setgroups, [account.n_others, others, 0, 0, 0])?;
        call(libc::SYS_setresgid, [group, group, group, 0, 0])?;
        call(libc::SYS_setresuid, [user, user, user, 0, 0])?;
        // The change of account has cleared the signal of the parent's death.
        tie_to_parent(orders, false)
    }
}

/// Opens a file or character device as standard input. A pipe or a socket could block for ever;
/// anything but a file is refused as `EINVAL`.
unsafe fn open_stdin(path: *const c_char) -> Result<(), Errno> {
    let flags = (libc::O_RDONLY | libc::O_NOCTTY | libc::O_CLOEXEC) as usize;
    let (here, path) = (libc::AT_FDCWD as usize, path as usize);
    // SAFETY: the path ends with NUL; the kernel fills the struct before it is read.
    unsafe {
        let at_once = flags | libc::O_NONBLOCK as usize;
        let file = match call(libc::SYS_openat, [here, path, at_once, 0, 0]) {
            // Another process has a lease on it and must release it first: only this child waits.
            Err(Errno(libc::EAGAIN)) => call(libc::SYS_openat, [here, path, flags, 0, 0])?,
            opened => opened?,
        };
        let mut stat = MaybeUninit::<libc::stat>::zeroed();
        call(libc::SYS_fstat, [file, stat.as_mut_ptr() as usize, 0, 0, 0])?;
        match stat.assume_init_ref().st_mode & libc::S_IFMT {
            libc::S_IFREG | libc::S_IFCHR => {}
            _ => return Err(Errno(libc::EINVAL)),
        }
        call(libc::SYS_fcntl, [file, libc::F_SETFL as usize, 0, 0, 0])?;
        call(libc::SYS_dup3, [file, 0, 0, 0, 0]).map(drop)
    }
}

/// Finds a directory. It stays open until the program is executed.
unsafe fn find_directory(path: *const c_char) -> Result<(), Errno> {
    let flags = (libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC) as usize;
    let here = libc::AT_FDCWD as usize;
    // SAFETY: the path ends with NUL.
    unsafe { call(libc::SYS_openat, [here, path as usize, flags, 0, 0]).map(drop) }
}

/// The executor blocks all signals, and has no handlers that could run here.
unsafe fn unblock_signals() -> Result<(), Errno> {
    let none = 0u64;
    let set = [libc::SIG_SETMASK as usize, ptr::from_ref(&none) as usize];
    // SAFETY: the kernel's set has 64 bits and is read only.
    unsafe { call(libc::SYS_rt_sigprocmask, [set[0], set[1], 0, 8, 0]).map(drop) }
}

/// Executes the first program that can be executed, as the account sees them.
unsafe fn execute(orders: &Orders) -> (Step, Errno) {
    let mut refused = false;
    let mut program = orders.programs;
    let mut number = 0u32;
    // SAFETY: the lists end with null, and what they point to with NUL.
    unsafe {
        while !(*program).is_null() {
            let (path, here) = (*program as usize, libc::AT_FDCWD as usize);
            let may = call(libc::SYS_faccessat, [here, path, libc::X_OK as usize, 0, 0]);
            let errno = match may {
                Ok(_) => {
                    let lists = [orders.argv as usize, orders.envp as usize];
                    match call(libc::SYS_execve, [path, lists[0], lists[1], 0, 0]) {
                        // A directory, or a file on a mount without execution.
                        Err(Errno(libc::EACCES)) => libc::EACCES,
                        Err(errno) => {
                            orders.report.program.store(number, Ordering::Relaxed);
                            return (Step::Execute, errno);
                        }
                        // It returns only on failure.
                        Ok(_) => 0,
                    }
                }
                Err(Errno(errno)) => errno,
            };
            if matches!(errno, libc::EACCES | libc::EPERM) && !refused {
                refused = true;
                orders.report.program.store(number, Ordering::Relaxed);
            }
            program = program.wrapping_add(1);
            number = number.wrapping_add(1);
        }
    }
    let errno = if refused { libc::EACCES } else { libc::ENOENT };
    (Step::Find, Errno(errno))
}

/// The largest error number of the kernel.
const ERRNO_MAX: usize = 4095;

fn result(returned: usize) -> Result<usize, Errno> {
    let negated = returned.wrapping_neg();
    if (1..=ERRNO_MAX).contains(&negated) {
        Err(Errno(negated as c_int))
    } else {
        Ok(returned)
    }
}

/// A system call, without the C library.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: libc::c_long, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = arguments;
    let returned: usize;
    // SAFETY: the kernel's calling convention; what the call does is for the caller to answer for.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as usize => returned,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result(returned)
}

/// A system call, without the C library.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: libc::c_long, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [first, second, third, fourth, fifth] = arguments;
    let returned: usize;
    // SAFETY: the kernel's calling convention; what the call does is for the caller to answer for.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") first => returned,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            options(nostack),
        );
    }
    result(returned)
}

/// Makes a clone, by `clone` or `clone3` with its arguments, whose child runs [`run`] on the stack
/// that the arguments name. Returns in the parent only: the child's process id, or the error
/// number.
///
/// # Safety
/// The arguments are those of the call; the stack is the child's alone; `orders` as for [`run`].
pub(crate) unsafe fn clone_and_run(
    number: libc::c_long,
    arguments: [usize; 5],
    orders: *const Orders,
) -> Result<libc::pid_t, c_int> {
    let [first, second, third, fourth, fifth] = arguments;
    let returned: usize;
    // SAFETY: as for `call`. The child has all registers of the parent but the stack pointer and the
    // result; it calls `run`, which never returns. Its stack is aligned to 16 before the call.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call {run}",
            "ud2",
            "2:",
            run = sym run,
            inlateout("rax") number as usize => returned,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r12") orders,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    // SAFETY: likewise.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x30, xzr",
            "mov x0, x20",
            "bl {run}",
            "brk 1",
            "2:",
            run = sym run,
            in("x8") number,
            inlateout("x0") first => returned,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            in("x20") orders,
            lateout("x30") _,
        );
    }
    result(returned)
        .map(|pid| pid as libc::pid_t)
        .map_err(|Errno(errno)| errno)
}

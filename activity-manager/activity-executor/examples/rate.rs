#![expect(
    unsafe_code,
    reason = "the loop it is compared with is plain posix_spawn and waitpid"
)]
//! Benchmark of starts: plain posix_spawn loops in two processes, and the executor over its socket,
//! with `/bin/true`, many at once and one after the other. `cargo run --release --example rate --
//! [COMMANDS] [SLOTS] [bound]`

use std::error::Error;
use std::ffi::CString;
use std::path::Path;
use std::process::{Child, Command, ExitCode};
use std::time::{Duration, Instant};
use std::{env, fs, io, ptr};

use activity_executor::{Connection, Receiver, Sender, Spawn, spawn};
use model::{ActivityId, AttemptId, ProcessId};
use wire::executor::{DaemonHello, FromExecutor, PROTOCOL, Start, ToExecutor};

const PROGRAM: &str = "/bin/true";
const BATCH: usize = 256;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("__executor") => return Ok(activity_executor::main(env::args_os().skip(1))),
        Some("raw") => {
            raw(arguments[1].parse()?)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(_) | None => {}
    }
    let number =
        |at: usize, default: usize| arguments.get(at).map_or(Ok(default), |text| text.parse());
    let (n, slots) = (number(0, 10_000)?, number(1, 2)?);
    for round in 1..=3 {
        let mut report = String::new();
        let loops = two_loops(n)?;
        let shared = executor(n, slots, false)?;
        let own = executor(n, slots, true)?;
        let hops = n / 10;
        let begin = Instant::now();
        raw(hops)?;
        let loop_hop = begin.elapsed();
        let hop = chain(hops)?;
        let rate = |took: Duration| n as f64 / took.as_secs_f64();
        report += &format!(
            "round {round}: two posix_spawn loops {:.0}/s\n",
            rate(loops)
        );
        for (name, measured) in [("one directory", shared), ("a directory each", own)] {
            report += &format!(
                "  executor, {slots} slots, {name}: {:.0}/s, ratio {:.2}, {:.1} µs CPU a command\n",
                rate(measured.took),
                rate(measured.took) / rate(loops),
                measured.cpu.as_secs_f64() * 1e6 / n as f64,
            );
        }
        let micros = |took: Duration| took.as_secs_f64() * 1e6 / hops as f64;
        report += &format!(
            "  one after the other: posix_spawn loop {:.0} µs, executor {:.0} µs\n",
            micros(loop_hop),
            micros(hop)
        );
        io::Write::write_all(&mut io::stdout(), report.as_bytes())?;
    }
    Ok(ExitCode::SUCCESS)
}

struct Measured {
    took: Duration,
    cpu: Duration,
}

fn two_loops(n: usize) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let half = (n / 2).to_string();
    let start = || {
        Command::new(env::current_exe()?)
            .arg("raw")
            .arg(&half)
            .spawn()
    };
    let mut parents = [start()?, start()?];
    for parent in &mut parents {
        if !parent.wait()?.success() {
            return Err("a posix_spawn loop failed".into());
        }
    }
    Ok(begin.elapsed())
}

fn raw(n: usize) -> io::Result<()> {
    let program = CString::new(PROGRAM)?;
    let argv = [program.as_ptr().cast_mut(), ptr::null_mut()];
    let envp = [ptr::null_mut()];
    for _ in 0..n {
        let mut pid = 0;
        // SAFETY: all pointers are valid and both lists end with null.
        let error = unsafe {
            let (argv, envp) = (argv.as_ptr(), envp.as_ptr());
            libc::posix_spawn(
                &raw mut pid,
                program.as_ptr(),
                ptr::null(),
                ptr::null(),
                argv,
                envp,
            )
        };
        if error != 0 {
            return Err(io::Error::from_raw_os_error(error));
        }
        // SAFETY: a null status is allowed.
        unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
    }
    Ok(())
}

/// An executor in a directory of its own, ready for starts.
struct Ready {
    directory: tempfile::TempDir,
    child: Child,
    sender: Sender,
    receiver: Receiver,
}

impl Ready {
    fn new(cores: u32) -> Result<Ready, Box<dyn Error>> {
        let directory = tempfile::tempdir()?;
        let socket = directory.path().join("s");
        let child = spawn(&Spawn {
            binary: &env::current_exe()?,
            socket: &socket,
            state: &directory.path().join("state"),
            linger: None,
            kill_grace: None,
            pace: None,
            stream_bytes_max: None,
            accounts: &activity_executor::Accounts::default(),
            work: None,
            limits: &activity_executor::Limits {
                binds_cores: env::args().any(|argument| argument == "bound"),
                ..activity_executor::Limits::default()
            },
            containment: activity_executor::ContainmentChoice::Best,
        })?;
        let (mut sender, receiver) = Connection::connect(&socket)?.split();
        let hello = DaemonHello {
            protocol: PROTOCOL,
            cores,
            linger: None,
            kill_grace: None,
            pace_since: None,
        };
        sender.send(&ToExecutor::Hello(hello))?;
        Ok(Ready {
            directory,
            child,
            sender,
            receiver,
        })
    }

    /// Waits for outcomes and forgets them.
    fn ended(&mut self) -> Result<usize, Box<dyn Error>> {
        loop {
            match self.receiver.receive()? {
                Some(FromExecutor::Ended(outcomes)) => {
                    let names = outcomes.iter().map(|outcome| outcome.attempt).collect();
                    self.sender.send(&ToExecutor::Forget(names))?;
                    return Ok(outcomes.len());
                }
                Some(_) => {}
                None => return Err("the executor has gone".into()),
            }
        }
    }

    fn end(mut self) -> Result<(), Box<dyn Error>> {
        self.sender.send(&ToExecutor::Shutdown)?;
        self.child.wait()?;
        Ok(())
    }
}

fn executor(n: usize, slots: usize, own_directories: bool) -> Result<Measured, Box<dyn Error>> {
    let mut ready = Ready::new(slots as u32)?;
    let begin = Instant::now();
    let pid = ready
        .sender
        .peer_pid()
        .ok_or("the system does not say who the executor is")?;
    let cpu_before = cpu(pid)?;
    let (mut sent, mut ended) = (0, 0);
    while ended < n {
        while sent < n && sent - ended < 4 * BATCH {
            let directory = ready.directory.path();
            let batch = (sent..n.min(sent + BATCH)).map(|at| start(directory, at, own_directories));
            let batch = batch.collect::<io::Result<Vec<Start>>>()?;
            sent += batch.len();
            ready.sender.send(&ToExecutor::Start(batch))?;
        }
        ended += ready.ended()?;
    }
    let took = begin.elapsed();
    let cpu = cpu(pid)? - cpu_before;
    ready.end()?;
    Ok(Measured { took, cpu })
}

fn chain(n: usize) -> Result<Duration, Box<dyn Error>> {
    let mut ready = Ready::new(1)?;
    let begin = Instant::now();
    for at in 0..n {
        let start = start(ready.directory.path(), at, false)?;
        ready.sender.send(&ToExecutor::Start(vec![start]))?;
        ready.ended()?;
    }
    let took = begin.elapsed();
    ready.end()?;
    Ok(took)
}

fn start(directory: &Path, at: usize, own_directory: bool) -> io::Result<Start> {
    let directory = if own_directory {
        directory.join(at.to_string())
    } else {
        directory.to_owned()
    };
    if own_directory {
        fs::create_dir(&directory)?;
    }
    Ok(Start {
        attempt: AttemptId {
            process: ProcessId(1),
            activity: ActivityId(at as u32),
            number: 1,
        },
        program: vec![PROGRAM.to_owned()],
        env: vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
        directory: directory.to_string_lossy().into_owned(),
        stdout_inline_max: 65_536,
        stderr_inline_max: 65_536,
        cores: 1,
        ..Start::default()
    })
}

/// CPU time of a process without its children, from the scheduler's statistics.
fn cpu(pid: u32) -> Result<Duration, Box<dyn Error>> {
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat"))?;
    let nanos = text
        .split_ascii_whitespace()
        .next()
        .ok_or("schedstat is empty")?;
    Ok(Duration::from_nanos(nanos.parse()?))
}

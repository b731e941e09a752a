//! A grid on this machine, made as its users make one: `xav grid init`, tokens, daemons.

use std::fs;
use std::io::{BufRead, BufReader, Write as _};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::observer::{cpu_seconds, disk_bytes, executor_in, resident_bytes};

/// The programs behind the values of [`RunCost`] and [`Grid::memory`]. For two of a kind, CPU times are
/// added and the larger memory counts.
pub(crate) const ROLES: [&str; 4] = [
    "group manager",
    "process manager",
    "activity managers",
    "executors",
];

/// The longest wait for any step of the grid; then the measurement fails.
const PATIENCE: Duration = Duration::from_secs(60);
/// After that time managers keep of an ended process what they keep for long.
pub(crate) const AT_REST: Duration = Duration::from_secs(10);
/// Between two looks at something that is waited for.
const LOOK: Duration = Duration::from_millis(5);
/// Ports that are tried for two neighbours that are free.
const PORTS: std::ops::Range<u16> = 20_000..30_000;

/// A grid that runs. Dropping it ends its daemons.
pub(crate) struct Grid {
    programs: PathBuf,
    dir: PathBuf,
    pub(crate) gm: Daemon,
    pub(crate) pm: Daemon,
    pub(crate) ams: Vec<Daemon>,
    executors: Vec<PathBuf>,
    /// The socket of its process manager, below a directory whose name is short enough for sockets.
    socket: PathBuf,
    sockets: tempfile::TempDir,
}

/// The size of a grid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    /// Machines.
    pub(crate) machines: usize,
    /// Slots that each of them lends.
    pub(crate) slots: u32,
}

/// A machine of a grid.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// Slots that it lends.
    pub(crate) slots: u32,
    /// The core that it has for all that it does; any where none is given.
    pub(crate) core: Option<usize>,
    /// Further lines of its configuration.
    pub(crate) settings: String,
}

/// One of its programs.
pub(crate) struct Daemon {
    program: PathBuf,
    config: PathBuf,
    core: Option<usize>,
    child: Child,
}

/// The cost of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunCost {
    /// From the start of the user's command to its end.
    pub(crate) wall_seconds: f64,
    /// CPU time, by [`ROLES`].
    pub(crate) cpu_seconds: [f64; ROLES.len()],
    /// Bytes that the machine has written to the disk meanwhile; NaN where it does not tell.
    pub(crate) disk_bytes: f64,
}

impl Daemon {
    /// Starts it and waits until it says where it listens.
    fn start(program: PathBuf, config: PathBuf) -> Result<Daemon> {
        Daemon::start_on(None, program, config)
    }

    /// The same on one core.
    fn start_on(core: Option<usize>, program: PathBuf, config: PathBuf) -> Result<Daemon> {
        let child = spawn(&program, &config, core)?;
        let mut daemon = Daemon {
            program,
            config,
            core,
            child,
        };
        daemon.until_it_listens()?;
        Ok(daemon)
    }

    fn until_it_listens(&mut self) -> Result<()> {
        let out = self.child.stdout.take();
        let mut out = BufReader::new(out.context("its output is read")?);
        let mut line = String::new();
        out.read_line(&mut line)?;
        let program = self.program.display();
        ensure!(line.contains(" listens on "), "{program} did not start");
        Ok(())
    }

    pub(crate) fn process(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}", self.child.id()))
    }

    /// Stops it, or lets it go on, as a signal says.
    pub(crate) fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(Pid::from_child(&self.child), signal).context("could not signal a daemon")
    }

    /// Ends it at once.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill().context("could not kill a daemon")?;
        self.child.wait().context("could not wait for a daemon")?;
        Ok(())
    }

    /// Starts it where it was, without waiting for anything.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.program, &self.config, self.core)?;
        Ok(())
    }
}

fn spawn(program: &Path, config: &Path, core: Option<usize>) -> Result<Child> {
    on_core(core, program)
        .arg("--config")
        .arg(config)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("could not start {}", program.display()))
}

/// A command on one core, which all that it starts has as well; on any where none is given.
pub(crate) fn on_core(core: Option<usize>, program: &Path) -> Command {
    let Some(core) = core else {
        return Command::new(program);
    };
    // It becomes the program, so the child is the program itself.
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program);
    command
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // Somebody else may have the number of one that has ended.
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

impl Drop for Grid {
    fn drop(&mut self) {
        // An executor goes on for a while without its daemon.
        self.ams.clear();
        for executor in &self.executors {
            let pid = executor.file_name().and_then(|name| name.to_str());
            let pid = pid.and_then(|pid| Pid::from_raw(pid.parse().ok()?));
            if let (Some(pid), true) = (pid, executor.exists()) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
    }
}

impl Grid {
    /// A grid of equal machines in a directory, once it takes work.
    pub(crate) fn start(programs: &Path, dir: &Path, size: Size) -> Result<Grid> {
        let machine = Machine {
            slots: size.slots,
            ..Machine::default()
        };
        Grid::of(programs, dir, &vec![machine; size.machines], "")
    }

    /// A grid of these machines, whose process manager has further lines in its configuration.
    pub(crate) fn of(
        programs: &Path,
        dir: &Path,
        machines: &[Machine],
        of_pm: &str,
    ) -> Result<Grid> {
        let xav = programs.join("xav");
        let port = free_ports()?.to_string();
        let dir_text = dir.to_str().context("a directory is text")?;
        said(Command::new(&xav).args(["grid", "init", dir_text, "--port", &port]))?;
        let gm = Daemon::start(programs.join("xavantes-gm"), dir.join("gm/gm.toml"))?;
        let sockets = tempfile::tempdir().context("could not make a directory for a socket")?;
        let socket = sockets.path().join("pm.sock");
        let of_pm = format!("socket = {socket:?}\n{of_pm}");
        append(&dir.join("pm/pm.toml"), &of_pm)?;
        let pm = Daemon::start(programs.join("xavantes-pm"), dir.join("pm/pm.toml"))?;
        let mut grid = Grid {
            programs: programs.to_owned(),
            dir: dir.to_owned(),
            gm,
            pm,
            ams: Vec::new(),
            executors: Vec::new(),
            socket,
            sockets,
        };
        for (number, machine) in (1..).zip(machines) {
            grid.add_machine(number, machine)?;
        }
        until("machines to be ready", || {
            let nodes = grid.xav(&["nodes", "--json"])?;
            let nodes: Value = serde_json::from_str(&nodes)?;
            let nodes = nodes.as_array().map(Vec::as_slice).unwrap_or_default();
            let n_ready = nodes.iter().filter(|node| node["state"] == "ready").count();
            Ok((n_ready == machines.len()).then_some(()))
        })?;
        Ok(grid)
    }

    fn add_machine(&mut self, number: usize, machine: &Machine) -> Result<()> {
        let token = self.xav(&["token", "create", "--role", "am"])?;
        let name = format!("am{number}");
        let home = self.dir.join(&name);
        let program = self.programs.join("xavantes-am");
        let mut join = Command::new(&program);
        join.args(["join", token.trim(), "--name", &name, "--dir"])
            .arg(&home)
            .args(["--slots", &machine.slots.to_string()]);
        if rustix::process::geteuid().is_root() {
            join.arg("--shared");
        }
        said(&mut join)?;
        let config = home.join("am.toml");
        // Equal machines: the comparison does not measure how well they are told apart. All are this host,
        // so none may take CPUs for itself.
        let settings = &machine.settings;
        append(
            &config,
            &format!("power = 1.0\nbind-cores = false\n{settings}"),
        )?;
        self.ams
            .push(Daemon::start_on(machine.core, program, config)?);
        let state = home.join("state/executor");
        let executor = until("an executor", || Ok(executor_in(&state)))?;
        self.executors.push(executor);
        Ok(())
    }

    /// Adds another process manager. Returns it with its socket, which is there as long as the grid.
    pub(crate) fn add_process_manager(&self, name: &str) -> Result<(Daemon, PathBuf)> {
        let token = self.xav(&["token", "create", "--role", "pm"])?;
        let home = self.dir.join(name);
        let program = self.programs.join("xavantes-pm");
        let mut join = Command::new(&program);
        join.args(["join", token.trim(), "--name", name, "--dir"])
            .arg(&home);
        said(&mut join)?;
        let socket = self.sockets.path().join(format!("{name}.sock"));
        let config = home.join("pm.toml");
        append(&config, &format!("socket = {socket:?}\n"))?;
        Ok((Daemon::start(program, config)?, socket))
    }

    /// The socket of its process manager.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }

    /// The output of `xav` with these arguments and this grid.
    pub(crate) fn xav(&self, arguments: &[&str]) -> Result<String> {
        said(
            Command::new(self.programs.join("xav"))
                .args(arguments)
                .arg("--grid")
                .arg(&self.dir),
        )
    }

    /// The directory of its client's settings.
    pub(crate) fn directory(&self) -> &Path {
        &self.dir
    }

    /// The program of its users.
    pub(crate) fn program(&self) -> PathBuf {
        self.programs.join("xav")
    }

    /// Starts `xav` with these arguments and this grid; its standard error is to be read.
    pub(crate) fn start_xav(&self, arguments: &[&str]) -> Result<Child> {
        Command::new(self.programs.join("xav"))
            .args(arguments)
            .arg("--grid")
            .arg(&self.dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("could not start xav")
    }

    /// Runs a definition to its end.
    pub(crate) fn run(&self, file: &Path) -> Result<RunCost> {
        let file = file.to_str().context("a path is text")?;
        let written = || disk_bytes(&self.dir).unwrap_or(f64::NAN);
        let (before, written_before) = (self.cpu(), written());
        let started = Instant::now();
        let document = self.xav(&["run", "--json", file])?;
        let wall_seconds = started.elapsed().as_secs_f64();
        let mut cpu_seconds = self.cpu();
        for (after, before) in cpu_seconds.iter_mut().zip(before) {
            *after -= before;
        }
        let document: Value = serde_json::from_str(&document)?;
        ensure!(document["state"] == "completed", "it ended: {document}");
        Ok(RunCost {
            wall_seconds,
            cpu_seconds,
            disk_bytes: written() - written_before,
        })
    }

    fn groups(&self) -> [Vec<PathBuf>; ROLES.len()] {
        [
            vec![self.gm.process()],
            vec![self.pm.process()],
            self.ams.iter().map(Daemon::process).collect(),
            self.executors.clone(),
        ]
    }

    fn cpu(&self) -> [f64; ROLES.len()] {
        self.groups().map(|processes| {
            let seconds = processes.iter().map(|process| cpu_seconds(process));
            seconds.map(|seconds| seconds.unwrap_or(f64::NAN)).sum()
        })
    }

    /// [`Grid::memory`] after [`AT_REST`].
    pub(crate) fn memory_at_rest(&self) -> Vec<f64> {
        thread::sleep(AT_REST);
        self.memory()
    }

    /// Bytes in memory, by [`ROLES`].
    pub(crate) fn memory(&self) -> Vec<f64> {
        let largest = |processes: Vec<PathBuf>| {
            let bytes = processes.iter().map(|process| resident_bytes(process));
            bytes
                .map(|bytes| bytes.unwrap_or(f64::NAN))
                .fold(f64::NAN, f64::max)
        };
        self.groups().into_iter().map(largest).collect()
    }
}

fn append(file: &Path, text: &str) -> Result<()> {
    let mut open = fs::OpenOptions::new();
    let mut opened = open.append(true).open(file)?;
    opened.write_all(text.as_bytes())?;
    Ok(())
}

/// Waits until there is something.
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let began = Instant::now();
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        ensure!(began.elapsed() < PATIENCE, "waited in vain for {what}");
        thread::sleep(LOOK);
    }
}

/// The output of a command that must succeed.
fn said(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("could not start {command:?}"))?;
    ensure!(
        output.status.success(),
        "{command:?} ended with {}:\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The first of two neighbouring ports that nobody has.
fn free_ports() -> Result<u16> {
    let is_free = |port: u16| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    // A measurement beside this one begins at another port.
    let n_ports = PORTS.end - PORTS.start;
    let offset = u16::try_from(std::process::id() % u32::from(n_ports)).unwrap_or(0);
    for step in 0..n_ports - 1 {
        let port = PORTS.start + (offset + step) % (n_ports - 1);
        if is_free(port) && is_free(port + 1) {
            return Ok(port);
        }
    }
    bail!("no two neighbouring ports are free")
}

//! A grid on this machine, set up by the commands of the README.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::program::{daemon, program};
use crate::running_daemon::{RunningDaemon, two_ports};
use crate::wait;

/// A group manager, a process manager and activity managers. Dropping it ends them in order, so that
/// no executor is left.
#[derive(Debug)]
pub struct ReadmeGrid {
    daemons: Vec<RunningDaemon>,
    home: TempDir,
}

impl ReadmeGrid {
    /// Starts a grid with `n_machines` machines of `slots` slots.
    ///
    /// # Errors
    ///
    /// A program that cannot be started, or ends before it listens.
    ///
    /// # Panics
    ///
    /// Where a machine is not ready after a minute.
    pub fn start(n_machines: usize, slots: u64) -> Result<ReadmeGrid, Box<dyn Error>> {
        let home = TempDir::new()?;
        let mut grid = ReadmeGrid {
            daemons: Vec::new(),
            home,
        };
        let port = two_ports()?.to_string();
        grid.xav(&["grid", "init", "lab", "--port", &port])?;
        grid.start_daemon("xavantes-gm", &["--config", "lab/gm/gm.toml"])?;
        grid.start_daemon("xavantes-pm", &["--config", "lab/pm/pm.toml"])?;
        for number in 1..=n_machines {
            let token = grid.xav(&["token", "create", "--role", "am", "--grid", "lab"])?;
            let (name, slots) = (format!("am{number}"), slots.to_string());
            let dir = format!("lab/{name}");
            let mut arguments = vec!["join", token.trim_end(), "--dir", &dir, "--name", &name];
            arguments.extend(["--slots", &slots, "--run"]);
            if rustix::process::geteuid().is_root() {
                arguments.push("--shared");
            }
            grid.start_daemon("xavantes-am", &arguments)?;
        }
        wait::until("every machine is ready", || match grid.n_ready() {
            Ok(n_ready) if n_ready < n_machines => None,
            looked => Some(looked),
        })?;
        Ok(grid)
    }

    /// The directory for `--grid`.
    pub fn grid(&self) -> PathBuf {
        self.home.path().join("lab")
    }

    fn n_ready(&self) -> Result<usize, Box<dyn Error>> {
        let nodes = self.xav(&["nodes", "--json", "--grid", "lab"])?;
        let nodes: Value = serde_json::from_str(&nodes)?;
        let nodes = nodes.as_array().ok_or("a grid tells its machines")?;
        Ok(nodes.iter().filter(|node| node["state"] == "ready").count())
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.home.path())
            .env_remove("XAVANTES_GRID")
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        command
    }

    fn xav(&self, arguments: &[&str]) -> Result<String, Box<dyn Error>> {
        let output = self.command(program(), arguments).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Starts a daemon, and waits until it listens.
    fn start_daemon(&mut self, name: &str, arguments: &[&str]) -> Result<(), Box<dyn Error>> {
        let mut command = self.command(&daemon(name), arguments);
        self.daemons.push(RunningDaemon::start(&mut command)?);
        Ok(())
    }
}

impl Drop for ReadmeGrid {
    fn drop(&mut self) {
        // The last one started ends first.
        while self.daemons.pop().is_some() {}
    }
}

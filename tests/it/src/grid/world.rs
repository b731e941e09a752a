//! A grid on loopback: the real daemons with certificates that were laid out beforehand, and users.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{Identity, Role, Span};
use rustix::process::{Pid, Signal, kill_process};
use shell::identity::{Authority, Credentials, Key};

use crate::kills::executor_under as executor;
use crate::program::daemon;
use crate::sandbox::Sandbox;

const YEAR: Span = Span::from_secs(365 * 86_400);

/// A grid of one group, and the place for its users.
pub(super) struct World {
    pub(super) sandbox: Sandbox,
    authority: Authority,
    gm: Daemon,
    pms: Vec<Daemon>,
    ams: Vec<Daemon>,
}

/// A daemon that runs.
struct Daemon {
    child: Child,
    role: Role,
    name: String,
    address: String,
    home: PathBuf,
}

impl Daemon {
    fn start(role: Role, name: &str, home: &Path) -> Daemon {
        let mut child = Command::new(daemon(&format!("xavantes-{role}")))
            .arg("--config")
            .arg(home.join("config.toml"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let (_, address) = line.trim_end().split_once(" listens on ").unwrap();
        Daemon {
            child,
            role,
            name: name.to_owned(),
            address: address.to_owned(),
            home: home.to_owned(),
        }
    }

    /// As configurations name it.
    fn peer(&self) -> String {
        let Daemon { name, address, .. } = self;
        format!("{{ name = \"{name}\", address = \"{address}\" }}")
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again where it was.
    fn start_again(&mut self) {
        let config = self.home.join("config.toml");
        let text = fs::read_to_string(&config).unwrap();
        let anywhere = "listen = \"127.0.0.1:0\"";
        let there = format!("listen = \"{}\"", self.address);
        fs::write(&config, text.replace(anywhere, &there)).unwrap();
        let (role, name, home) = (self.role, self.name.clone(), self.home.clone());
        *self = Daemon::start(role, &name, &home);
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        // An executor goes on without its daemon unless that ends it in order.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

impl World {
    /// A grid with so many process managers and machines of two slots.
    pub(super) fn new(n_pms: usize, n_ams: usize) -> World {
        let sandbox = Sandbox::new();
        let authority = Authority::create("grid", "lab", shell::clock::wall(), YEAR).unwrap();
        let place = sandbox.path("daemons");
        let member = |role: Role, number: usize, settings: &str| {
            let name = format!("{role}{number}");
            let home = place.join(&name);
            identity(&authority, role, &name, &home.join("identity"));
            let text = format!(
                "directory = \"state\"\nidentity = \"identity\"\nlisten = \"127.0.0.1:0\"\n{settings}"
            );
            fs::write(home.join("config.toml"), text).unwrap();
            Daemon::start(role, &name, &home)
        };
        let gm = member(Role::Gm, 1, "");
        let of_gm = format!("group-manager = {}\n", gm.peer());
        let pms: Vec<Daemon> = (1..=n_pms)
            .map(|number| member(Role::Pm, number, &format!("{of_gm}socket = \"pm.sock\"\n")))
            .collect();
        let of_pms: Vec<String> = pms.iter().map(Daemon::peer).collect();
        let settings = format!(
            "{of_gm}process-managers = [{}]\nslots = 2\npower = 1.0\nshared = true\n",
            of_pms.join(", ")
        );
        let ams = (1..=n_ams).map(|number| member(Role::Am, number, &settings));
        let ams = ams.collect();
        World {
            sandbox,
            authority,
            gm,
            pms,
            ams,
        }
    }

    /// What a user needs to use the grid: the directory that is given with `--grid`.
    pub(super) fn user(&self, name: &str) -> String {
        self.member(&self.authority, Role::User, name)
    }

    /// The same for an administrator.
    pub(super) fn admin(&self, name: &str) -> String {
        self.member(&self.authority, Role::Admin, name)
    }

    /// The same from another grid's authority.
    pub(super) fn stranger(&self, name: &str) -> String {
        let authority = Authority::create("grid", "lab", shell::clock::wall(), YEAR).unwrap();
        self.member(&authority, Role::User, name)
    }

    fn member(&self, authority: &Authority, role: Role, name: &str) -> String {
        let home = self.sandbox.path(&format!("grids/{role}-{name}"));
        identity(authority, role, name, &home.join("identity"));
        let pms: Vec<String> = self.pms.iter().map(Daemon::peer).collect();
        let text = format!(
            "group-manager = {}\nprocess-managers = [{}]\nidentity = \"identity\"\n",
            self.gm.peer(),
            pms.join(", ")
        );
        fs::write(home.join("grid.toml"), text).unwrap();
        home.to_str().unwrap().to_owned()
    }

    /// What the daemons have logged, for whoever asks what went wrong.
    pub(super) fn logs(&self) -> String {
        let daemons = [&self.gm].into_iter().chain(&self.pms).chain(&self.ams);
        let logs = daemons.map(|daemon| {
            let log = fs::read_to_string(daemon.home.join("state/log")).unwrap_or_default();
            format!("{}:\n{log}", daemon.name)
        });
        logs.collect()
    }

    /// Kills the group manager with -9, and starts it again.
    pub(super) fn kill_group_manager(&mut self) {
        self.gm.kill();
        self.gm.start_again();
    }

    /// Kills the daemon of a machine with -9, and starts it again. Its executor goes on.
    pub(super) fn kill_activity_manager(&mut self, index: usize) {
        self.ams[index].kill();
        self.ams[index].start_again();
    }

    /// Kills the executor of a machine with -9. Its daemon starts another one.
    pub(super) fn kill_executor(&self, index: usize) {
        let home = &self.ams[index].home;
        let pid = executor(home).expect("a machine has an executor");
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// Kills a process manager with -9, and starts it again.
    pub(super) fn kill_process_manager(&mut self, index: usize) {
        self.pms[index].kill();
        self.pms[index].start_again();
    }

    /// Ends a process manager for good.
    pub(super) fn end_process_manager(&mut self, index: usize) {
        self.pms[index].kill();
    }
}

fn identity(authority: &Authority, role: Role, name: &str, directory: &Path) {
    let key = Key::generate().unwrap();
    let identity = Identity::new("grid", "lab", role, name).unwrap();
    let now = shell::clock::wall();
    let issued = authority.issue(&key.request().unwrap(), &identity, now, YEAR);
    Credentials::save(directory, &issued.unwrap().pem, &key, authority.pem()).unwrap();
}

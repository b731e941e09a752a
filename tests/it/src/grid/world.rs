//! A grid on loopback: the real daemons with certificates that were laid out beforehand, and users.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use model::{Role, Span};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use shell::identity::Authority;
use tempfile::TempDir;

use super::member::{Disk, Member, YEAR, identity, identity_for};
use super::relay::{Relay, Weather};
use crate::kills::executor_under as executor;
use crate::sandbox::Sandbox;
use crate::wait;

/// A disk that alerts take for nearly full, and that a process manager starts on.
const SMALL_DISK_MEBIBYTES: u32 = 200;

/// A grid of one group, and the place for its users.
pub(super) struct World {
    authority: Authority,
    gm: Member,
    pms: Vec<Member>,
    ams: Vec<Member>,
    /// After the daemons, which use them.
    _disks: Vec<Disk>,
    /// Relays of all datagrams, on a bad network.
    relays: Vec<Relay>,
    /// Relays of each machine's datagrams, where it can be cut off.
    ways: Vec<Vec<Relay>>,
    /// Last, since all the others have their files there.
    pub(super) sandbox: Sandbox,
}

/// The options of a grid: its network, disks and settings.
#[derive(Default)]
struct Ground {
    weather: Option<Weather>,
    /// Further settings of the process managers.
    of_pms: String,
    /// Further settings of the group manager.
    of_gm: String,
    /// MiB for the state of each daemon of a role.
    disk: Option<(Role, u32)>,
    /// The setting by which commands run as other accounts, where they do not run as the manager.
    accounts: Option<String>,
    /// True if the last machine has no slots, and process managers prefer it for copies.
    has_store: bool,
    /// Further settings of the machines.
    of_ams: String,
    /// True if each machine can be cut off.
    has_ways: bool,
    /// True if all daemons serve metrics, and the group manager has the authority.
    has_metrics: bool,
    /// The time for which the authority and the certificates of the daemons are valid, where that is not a year.
    lives: Option<(Span, Span)>,
}

impl World {
    /// A grid with so many process managers and machines of two slots.
    pub(super) fn new(n_pms: usize, n_ams: usize) -> World {
        World::of(n_pms, n_ams, Ground::default())
    }

    /// One in which each daemon of a role keeps everything on a disk of its own of so many MiB. None where
    /// no disk may be mounted, which is told.
    pub(super) fn on_small_disks(
        n_pms: usize,
        n_ams: usize,
        (role, mebibytes): (Role, u32),
    ) -> Option<World> {
        let ground = Ground {
            disk: Some((role, mebibytes)),
            // The disk must be full before the user's quota is.
            of_ams: "user-gibibytes-max = 1\n".to_owned(),
            ..Ground::default()
        };
        // Try first whether mounting is allowed.
        let tried = TempDir::new().unwrap();
        let may_be = Disk::mount(tried.path(), mebibytes).is_some();
        if !may_be {
            println!("SKIPPED: a small disk cannot be mounted here (only root may)");
        }
        may_be.then(|| World::of(n_pms, n_ams, ground))
    }

    /// One with a process manager and machines, of which the last one has no slots and is named as the
    /// keeper of copies.
    pub(super) fn with_store(n_ams: usize) -> World {
        let ground = Ground {
            has_store: true,
            of_pms: format!("keeper = \"am{n_ams}\"\n"),
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with a process manager, and with machines whose network is not good.
    pub(super) fn in_weather(n_ams: usize, weather: Weather) -> World {
        let weather = Some(weather);
        let ground = Ground {
            weather,
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with a process manager whose leases are so long.
    pub(super) fn with_leases(n_ams: usize, length: &str) -> World {
        let ground = Ground {
            of_pms: format!("lease = \"{length}\"\n"),
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with short leases, in which holdings of an absent process manager end after so long.
    pub(super) fn whose_holdings_end(n_pms: usize, n_ams: usize, after: &str) -> World {
        let ground = Ground {
            of_pms: "lease = \"5s\"\n".to_owned(),
            of_gm: format!("holdings-end-after = \"{after}\"\n"),
            ..Ground::default()
        };
        World::of(n_pms, n_ams, ground)
    }

    /// One with a process manager, whose group manager forgets machines that are silent for so long.
    pub(super) fn that_forgets(n_ams: usize, after: &str) -> World {
        let ground = Ground {
            // However slow everything is, the process goes on waiting for its machine.
            of_pms: "lease = \"600s\"\n".to_owned(),
            of_gm: format!("forget-machines = \"{after}\"\n"),
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with a process manager, whose group has this rule for processes that name none.
    pub(super) fn with_rule(n_ams: usize, rule: &str) -> World {
        let ground = Ground {
            of_gm: format!("policy = \"{rule}\"\n"),
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with a process manager and machines that have further settings.
    pub(super) fn with_machines(n_ams: usize, settings: &str) -> World {
        let ground = Ground {
            of_ams: settings.to_owned(),
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with a process manager and machines, all of which serve metrics and log in JSON. The group
    /// manager has the authority.
    pub(super) fn with_metrics(n_ams: usize) -> World {
        let has_metrics = true;
        let ground = Ground {
            has_metrics,
            ..Ground::default()
        };
        World::of(1, n_ams, ground)
    }

    /// One with metrics whose authority and certificates are valid for so long. Its process manager has a small disk,
    /// where one can be mounted.
    pub(super) fn that_ends(authority: Span, certificates: Span) -> World {
        let ground = Ground {
            has_metrics: true,
            lives: Some((authority, certificates)),
            disk: Some((Role::Pm, SMALL_DISK_MEBIBYTES)),
            ..Ground::default()
        };
        World::of(1, 1, ground)
    }

    /// One with a process manager whose leases are short and two machines, which hold commands in this way
    /// and can be cut off.
    pub(super) fn for_fencing(containment: &str) -> World {
        let ground = Ground {
            of_pms: "lease = \"5s\"\n".to_owned(),
            of_ams: format!("containment = \"{containment}\"\n"),
            has_ways: true,
            ..Ground::default()
        };
        World::of(1, 2, ground)
    }

    /// One with a process manager and a machine whose commands run as other accounts, by its setting
    /// for them. None where they cannot, which is told.
    pub(super) fn with_accounts(setting: &str) -> Option<World> {
        if !rustix::process::geteuid().is_root() {
            println!("skipped: needs root");
            return None;
        }
        let accounts = Some(format!("{setting}\n"));
        let ground = Ground {
            accounts,
            ..Ground::default()
        };
        Some(World::of(1, 1, ground))
    }

    fn of(n_pms: usize, n_ams: usize, ground: Ground) -> World {
        let Ground {
            weather,
            of_pms,
            of_gm,
            disk,
            accounts,
            has_store,
            of_ams,
            has_ways,
            has_metrics,
            lives,
        } = ground;
        let (of_authority, of_members) = lives.unwrap_or((YEAR, YEAR));
        let sandbox = Sandbox::new();
        if accounts.is_some() {
            // On the way to the directories of attempts.
            for way in ["", "daemons", "daemons/am1"] {
                let way = sandbox.path(way);
                fs::create_dir_all(&way).unwrap();
                fs::set_permissions(way, fs::Permissions::from_mode(0o711)).unwrap();
            }
        }
        let now = shell::clock::wall();
        let authority = Authority::create("grid", "lab", now, of_authority).unwrap();
        let place = sandbox.path("daemons");
        let mut disks = Vec::new();
        let mut member = |role: Role, number: usize, settings: &str| {
            let name = format!("{role}{number}");
            let home = place.join(&name);
            if let Some((_, mebibytes)) = disk.filter(|(small, _)| *small == role) {
                let state = home.join("state");
                fs::create_dir_all(&state).unwrap();
                disks.extend(Disk::mount(&state, mebibytes));
            }
            identity_for(&authority, role, &name, &home.join("identity"), of_members);
            let mut text = format!(
                "directory = \"state\"\nidentity = \"identity\"\nlisten = \"127.0.0.1:0\"\n{settings}"
            );
            if has_metrics {
                let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
                let port = port.unwrap();
                text.push_str(&format!("metrics = \"{port}\"\nlog = \"json\"\n"));
            }
            if has_metrics && role == Role::Gm {
                authority.save(&home.join("authority")).unwrap();
                text.push_str("authority = \"authority\"\n");
            }
            fs::write(home.join("config.toml"), text).unwrap();
            Member::start(role, &name, &home)
        };
        let mut relays = Vec::new();
        let mut reached = |target: SocketAddr| match weather {
            Some(weather) => {
                let relay = Relay::before(target, weather);
                let address = relay.address;
                relays.push(relay);
                address
            }
            None => target,
        };
        let gm = member(Role::Gm, 1, &of_gm);
        let gm_of_pm = format!("group-manager = {}\n", gm.peer());
        let of_pm = format!("{gm_of_pm}socket = \"pm.sock\"\n{of_pms}");
        let pms: Vec<Member> = (1..=n_pms)
            .map(|number| member(Role::Pm, number, &of_pm))
            .collect();
        let mut at = |member: &Member| {
            let address = reached(member.daemon.address.parse().unwrap());
            member.peer_at(&address.to_string())
        };
        let gm_at = at(&gm);
        let pms_at: Vec<String> = pms.iter().map(&mut at).collect();
        let as_whom = accounts.as_deref().unwrap_or("shared = true\n");
        let settings = |gm_at: &str, pms_at: &[String]| {
            format!(
                "group-manager = {gm_at}\nprocess-managers = [{}]\npower = 1.0\n{as_whom}{of_ams}",
                pms_at.join(", ")
            )
        };
        let (mut ams, mut ways) = (Vec::new(), Vec::new());
        for number in 1..=n_ams {
            let settings = if has_ways {
                let mut own = Vec::new();
                let mut at = |member: &Member| {
                    let target = member.daemon.address.parse().unwrap();
                    let relay = Relay::before(target, Weather::Delay(Duration::ZERO));
                    let address = relay.address.to_string();
                    own.push(relay);
                    member.peer_at(&address)
                };
                let gm_at = at(&gm);
                let pms_at: Vec<String> = pms.iter().map(&mut at).collect();
                ways.push(own);
                settings(&gm_at, &pms_at)
            } else {
                settings(&gm_at, &pms_at)
            };
            let files = match weather {
                Some(_) => {
                    let listen = free_address();
                    let address = reached(listen);
                    format!("files-listen = \"{listen}\"\nfiles-address = \"{address}\"\n")
                }
                None => String::new(),
            };
            let n_slots = if has_store && number == n_ams { 0 } else { 2 };
            let slots = format!("slots = {n_slots}\n");
            ams.push(member(
                Role::Am,
                number,
                &format!("{settings}{slots}{files}"),
            ));
        }
        let world = World {
            sandbox,
            authority,
            gm,
            pms,
            ams,
            _disks: disks,
            relays,
            ways,
        };
        world.wait_for_machines();
        world
    }

    /// Plans are made for the machines that are known.
    pub(super) fn wait_for_machines(&self) {
        let eve = self.admin("waiting");
        wait::until("all machines to be ready", || {
            let nodes = self.sandbox.xav(&["nodes", "--grid", &eve, "--json"]);
            let nodes: Value = serde_json::from_str(&nodes.stdout).ok()?;
            let nodes = nodes.as_array()?.iter();
            let is_there = |node: &&Value| node["state"] == "ready" || node["state"] == "closed";
            let n_ready = nodes.filter(is_there).count();
            (n_ready == self.ams.len()).then_some(())
        });
    }

    /// The relays before the managers, and those before the file port of each machine.
    pub(super) fn relays(&self) -> (&[Relay], &[Relay]) {
        self.relays.split_at(1 + self.pms.len())
    }

    /// Makes a user of the grid; returns the directory for `--grid`.
    pub(super) fn user(&self, name: &str) -> String {
        self.member(&self.authority, Role::User, name)
    }

    /// The same for an administrator.
    pub(super) fn admin(&self, name: &str) -> String {
        self.member(&self.authority, Role::Admin, name)
    }

    /// The same for a further machine, whose daemon is not started.
    pub(super) fn machine(&self, name: &str) -> String {
        self.member(&self.authority, Role::Am, name)
    }

    /// The same from another grid's authority.
    pub(super) fn stranger(&self, name: &str) -> String {
        let authority = Authority::create("grid", "lab", shell::clock::wall(), YEAR).unwrap();
        self.member(&authority, Role::User, name)
    }

    fn member(&self, authority: &Authority, role: Role, name: &str) -> String {
        let home = self.sandbox.path(&format!("grids/{role}-{name}"));
        identity(authority, role, name, &home.join("identity"));
        let pms: Vec<String> = self.pms.iter().map(Member::peer).collect();
        let text = format!(
            "group-manager = {}\nprocess-managers = [{}]\nidentity = \"identity\"\n",
            self.gm.peer(),
            pms.join(", ")
        );
        fs::write(home.join("grid.toml"), text).unwrap();
        home.to_str().unwrap().to_owned()
    }

    /// A user who knows only one of the process managers.
    pub(super) fn user_of(&self, manager: usize, name: &str) -> String {
        let home = self.user(name);
        let text = format!(
            "group-manager = {}\nprocess-managers = [{}]\nidentity = \"identity\"\n",
            self.gm.peer(),
            self.pms[manager].peer()
        );
        fs::write(format!("{home}/grid.toml"), text).unwrap();
        home
    }

    /// The logs of all daemons, for a failed test.
    pub(super) fn logs(&self) -> String {
        let daemons = [&self.gm].into_iter().chain(&self.pms).chain(&self.ams);
        let logs = daemons.map(|daemon| {
            let log = fs::read_to_string(daemon.home.join("state/log")).unwrap_or_default();
            format!("{}:\n{log}", daemon.name)
        });
        logs.collect()
    }

    /// Where the first process manager is reached.
    pub(super) fn address_of_process_manager(&self) -> &str {
        &self.pms[0].daemon.address
    }

    /// The state directory of a machine's activity manager.
    pub(super) fn state_of_machine(&self, index: usize) -> PathBuf {
        self.ams[index].home.join("state")
    }

    /// The metrics that the daemon of a role serves to Prometheus.
    pub(super) fn metrics_of(&self, role: Role) -> String {
        self.scraped(role).expect("it serves metrics")
    }

    /// The same; nothing if nobody serves them.
    pub(super) fn scraped(&self, role: Role) -> Option<String> {
        let home = self.state_of(role).parent().unwrap().to_owned();
        let config = fs::read_to_string(home.join("config.toml")).unwrap();
        let address = config.lines().find_map(|line| {
            let address = line.strip_prefix("metrics = ")?;
            Some(address.trim_matches('"').to_owned())
        });
        let mut stream = TcpStream::connect(address.unwrap()).ok()?;
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.0 200 OK"), "{head}");
        Some(body.to_owned())
    }

    /// The state directory of a manager.
    pub(super) fn state_of(&self, role: Role) -> PathBuf {
        let daemon = match role {
            Role::Gm => &self.gm,
            Role::Pm => &self.pms[0],
            Role::Am | Role::User | Role::Admin => &self.ams[0],
        };
        daemon.home.join("state")
    }

    /// Kills the group manager with -9.
    pub(super) fn end_group_manager(&mut self) {
        self.gm.daemon.kill();
    }

    /// Starts the group manager again that has ended.
    pub(super) fn start_group_manager(&mut self) {
        self.gm.start_again();
        self.wait_for_machines();
    }

    /// True if the process manager runs that the test has not ended.
    pub(super) fn has_process_manager(&mut self, index: usize) -> bool {
        self.pms[index].daemon.runs()
    }

    /// Starts a process manager again that has ended.
    pub(super) fn start_process_manager(&mut self, index: usize) {
        self.pms[index].start_again();
    }

    /// Kills the group manager with -9, and starts it again.
    pub(super) fn kill_group_manager(&mut self) {
        self.gm.daemon.kill();
        self.gm.start_again();
    }

    /// Kills the daemon of a machine with -9, and starts it again. Its executor goes on.
    pub(super) fn kill_activity_manager(&mut self, index: usize) {
        self.ams[index].daemon.kill();
        self.ams[index].start_again();
    }

    /// Kills the daemon of a machine with -9, for good. Its executor goes on for some seconds.
    pub(super) fn end_activity_manager(&mut self, index: usize) {
        self.ams[index].daemon.kill();
    }

    /// Ends the daemon of a machine in order, and waits for that. Its executor goes on.
    pub(super) fn stop_activity_manager(&mut self, index: usize) {
        self.ams[index].daemon.stop();
    }

    /// Ends all daemons in order, and waits for that.
    pub(super) fn stop(&mut self) {
        let managers = self.pms.iter_mut().chain([&mut self.gm]);
        self.ams
            .iter_mut()
            .chain(managers)
            .for_each(|member| member.daemon.stop());
    }

    /// Starts it again.
    pub(super) fn start_activity_manager(&mut self, index: usize) {
        self.ams[index].start_again();
    }

    /// True if a machine has an executor.
    pub(super) fn has_executor(&self, index: usize) -> bool {
        executor(&self.ams[index].home).is_some()
    }

    /// Kills the executor of a machine with -9. Its daemon starts another one.
    pub(super) fn kill_executor(&self, index: usize) {
        let home = &self.ams[index].home;
        let pid = executor(home).expect("a machine has an executor");
        kill_process(pid, Signal::KILL).unwrap();
    }

    /// Freezes the executor of a machine; which process it is.
    pub(super) fn freeze_executor(&self, index: usize) -> Pid {
        let home = &self.ams[index].home;
        let pid = executor(home).expect("a machine has an executor");
        kill_process(pid, Signal::STOP).unwrap();
        pid
    }

    /// Kills a process manager with -9, and starts it again.
    pub(super) fn kill_process_manager(&mut self, index: usize) {
        self.pms[index].daemon.kill();
        self.pms[index].start_again();
    }

    /// Ends a machine for good, with all that it had.
    pub(super) fn lose_machine(&mut self, index: usize) {
        self.ams[index].daemon.kill();
        self.kill_executor(index);
        fs::remove_dir_all(self.ams[index].home.join("state")).unwrap();
    }

    /// Freezes a process manager.
    pub(super) fn freeze_process_manager(&self, index: usize) {
        self.pms[index].daemon.signal(Signal::STOP);
    }

    /// Lets a process manager go on that was frozen.
    pub(super) fn thaw_process_manager(&self, index: usize) {
        self.pms[index].daemon.signal(Signal::CONT);
    }

    /// Freezes the daemon of a machine. Its executor goes on.
    pub(super) fn freeze_activity_manager(&self, index: usize) {
        self.ams[index].daemon.signal(Signal::STOP);
    }

    /// Lets the daemon of a machine go on that was frozen.
    pub(super) fn thaw_activity_manager(&self, index: usize) {
        self.ams[index].daemon.signal(Signal::CONT);
    }

    /// Cuts a machine off from all managers.
    pub(super) fn cut_off(&self, index: usize) {
        self.ways[index].iter().for_each(|relay| relay.cut(true));
    }

    /// Ends that.
    pub(super) fn join_again(&self, index: usize) {
        self.ways[index].iter().for_each(|relay| relay.cut(false));
    }

    /// The directory of a machine.
    pub(super) fn home_of(&self, index: usize) -> &Path {
        &self.ams[index].home
    }

    /// The machine that a file or directory belongs to.
    pub(super) fn machine_of(&self, path: &Path) -> usize {
        let mut homes = self.ams.iter().map(|machine| &machine.home);
        homes.position(|home| path.starts_with(home)).unwrap()
    }

    /// Ends a process manager for good.
    pub(super) fn end_process_manager(&mut self, index: usize) {
        self.pms[index].daemon.kill();
    }
}

/// A port of loopback that is free at this moment.
fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

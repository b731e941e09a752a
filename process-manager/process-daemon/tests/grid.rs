//! Three programs and three certificates: a grid on loopback, from nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts programs and reads the environment that cargo makes"
)]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use model::{Identity, Role, Span, SubmitKey, Value};
use rustix::process::{Pid, Signal, kill_process};
use shell::Client;
use shell::identity::{Authority, Credentials, Key};
use tempfile::TempDir;
use wire::client::{Answer, Phase, Request, Submit};

const YEAR: Span = Span::from_secs(365 * 86_400);

/// What cargo tells this test of its own package. ring's build script looks at it: with it, ring and
/// all that stands on it would be built again.
const OWN: [&str; 7] = [
    "CARGO_MANIFEST_DIR",
    "CARGO_MANIFEST_LINKS",
    "CARGO_PKG_NAME",
    "CARGO_PKG_VERSION_MAJOR",
    "CARGO_PKG_VERSION_MINOR",
    "CARGO_PKG_VERSION_PATCH",
    "CARGO_PKG_VERSION_PRE",
];

/// The other programs, built as this test is built.
fn programs() -> (PathBuf, PathBuf) {
    let pm = Path::new(env!("CARGO_BIN_EXE_xavantes-pm"));
    let profile = pm.parent().unwrap();
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let profile_name = match profile.file_name().unwrap().to_str().unwrap() {
        "debug" => "dev",
        name => name,
    };
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--workspace"])
        .args(["--bin", "xavantes-gm", "--bin", "xavantes-am"])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(profile.parent().unwrap())
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    for name in OWN {
        build.env_remove(name);
    }
    assert!(build.status().unwrap().success(), "they could not be built");
    (profile.join("xavantes-gm"), profile.join("xavantes-am"))
}

/// A daemon that runs.
struct Daemon {
    child: Child,
    address: String,
}

impl Daemon {
    fn start(program: &Path, config: &Path) -> Daemon {
        let mut child = Command::new(program)
            .arg("--config")
            .arg(config)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let (_, address) = line.trim_end().split_once(" listens on ").unwrap();
        Daemon {
            address: address.to_owned(),
            child,
        }
    }

    /// Ends it as an administrator does.
    fn stop(mut self) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Grid {
    dir: TempDir,
    authority: Authority,
}

impl Grid {
    fn new() -> Grid {
        let authority = Authority::create("grid", "lab", shell::clock::wall(), YEAR).unwrap();
        let dir = TempDir::new().unwrap();
        Grid { dir, authority }
    }

    /// A certificate and a configuration for a daemon.
    fn member(&self, role: Role, settings: &str) -> PathBuf {
        let home = self.dir.path().join(role.word());
        let key = Key::generate().unwrap();
        let identity = Identity::new("grid", "lab", role, &format!("{role}1")).unwrap();
        let request = key.request().unwrap();
        let now = shell::clock::wall();
        let issued = self.authority.issue(&request, &identity, now, YEAR);
        let place = home.join("identity");
        Credentials::save(&place, &issued.unwrap().pem, &key, self.authority.pem()).unwrap();
        let config = home.join("config.toml");
        let text = format!(
            "directory = \"state\"\nidentity = \"identity\"\nlisten = \"127.0.0.1:0\"\n{settings}"
        );
        fs::write(&config, text).unwrap();
        config
    }
}

fn peer(role: Role, address: &str) -> String {
    format!("{{ name = \"{role}1\", address = \"{address}\" }}")
}

#[test]
fn the_primes_are_counted_by_three_programs() {
    let grid = Grid::new();
    let gm = grid.member(Role::Gm, "");
    let (gm_program, am_program) = programs();
    let gm = Daemon::start(&gm_program, &gm);
    let gm_peer = peer(Role::Gm, &gm.address);
    let settings = format!("group-manager = {gm_peer}\nsocket = \"pm.sock\"\n");
    let pm = grid.member(Role::Pm, &settings);
    let socket = pm.parent().unwrap().join("pm.sock");
    let pm = Daemon::start(Path::new(env!("CARGO_BIN_EXE_xavantes-pm")), &pm);
    let pm_peer = peer(Role::Pm, &pm.address);
    let settings =
        format!("group-manager = {gm_peer}\nprocess-managers = [{pm_peer}]\nslots = 2\n");
    let am = grid.member(Role::Am, &settings);

    // The file beside the definition is where the machine will look for it.
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows/samples/primes");
    let blobs = am.parent().unwrap().join("state/blobs");
    fs::create_dir_all(&blobs).unwrap();
    let blobs = activity_blobs::Store::open(&blobs).unwrap();
    let script = blobs.add_file(&samples.join("primes.sh")).unwrap();
    blobs.flush().unwrap();
    drop(blobs);
    let am = Daemon::start(&am_program, &am);

    let text = fs::read(samples.join("primes.yaml")).unwrap();
    let compiled = language::compile("primes.yaml", &text).unwrap();
    let mut client = Client::connect(&socket).unwrap();
    let key = SubmitKey(42);
    let submitted = client.ask(Request::Submit(Box::new(Submit {
        key,
        draft: compiled.definition.draft().clone(),
        inputs: vec![("limit".to_owned(), Value::Int(20_000))],
        files: vec![script],
        origin: "primes.yaml".to_owned(),
        base: None,
        keep_going: false,
        keep: None,
    })));
    assert_eq!(submitted.unwrap(), Answer::Submitted(key.process()));
    let watched = client.watch(key.process()).unwrap().map(Result::unwrap);
    assert_eq!(watched.last().unwrap().phase, Phase::Completed);
    let Answer::Status(status) = client.ask(Request::Status(key.process())).unwrap() else {
        panic!("a process that was submitted is known")
    };
    assert_eq!(status.outputs, [("count".to_owned(), Value::Int(2_262))]);
    assert_eq!(status.machines[0].1, "am1");
    am.stop();
    pm.stop();
    gm.stop();
}

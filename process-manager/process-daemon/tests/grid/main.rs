//! Three programs and three certificates: a grid on loopback, from nothing.
#![expect(
    clippy::disallowed_methods,
    reason = "it starts programs and reads the environment that cargo makes"
)]
#![expect(clippy::unwrap_used, reason = "tests")]

mod daemons;
mod files;
mod freeze;

use std::fs;
use std::path::Path;

use daemons::{Daemon, Grid, peer, programs};
use model::{Identity, ResourceId, Role, SubmitKey, Value};
use shell::Client;
use shell::identity::Credentials;
use shell::quic::{Event, LinkConfig, LinkEpoch, Links};
use wire::client::{Answer, Phase, Request, Submit};

#[test]
fn the_primes_are_counted_by_three_programs() {
    let grid = Grid::new();
    let gm = grid.member(Role::Gm, 1, "");
    let (gm_program, am_program) = programs();
    let gm = Daemon::start(&gm_program, &gm);
    let gm_peer = peer(Role::Gm, &gm.address);
    let settings = format!("group-manager = {gm_peer}\nsocket = \"pm.sock\"\n");
    let pm = grid.member(Role::Pm, 1, &settings);
    let socket = pm.parent().unwrap().join("pm.sock");
    let pm = Daemon::start(Path::new(env!("CARGO_BIN_EXE_xavantes-pm")), &pm);
    let pm_peer = peer(Role::Pm, &pm.address);
    let settings = format!(
        "group-manager = {gm_peer}\nprocess-managers = [{pm_peer}]\nslots = 2\nshared = true\n"
    );
    let am = grid.member(Role::Am, 1, &settings);

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
        store: None,
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

/// Number of the intruder's connections.
const INTRUSIONS: usize = 20;

#[test]
fn a_machine_that_says_the_number_of_another_does_not_displace_it() {
    let grid = Grid::new();
    let gm = grid.member(Role::Gm, 1, "");
    let (gm_program, am_program) = programs();
    let gm = Daemon::start(&gm_program, &gm);
    let gm_peer = peer(Role::Gm, &gm.address);
    let settings = format!("group-manager = {gm_peer}\n");
    let pm = grid.member(Role::Pm, 1, &settings);
    let log = pm.parent().unwrap().join("state/log");
    let pm = Daemon::start(Path::new(env!("CARGO_BIN_EXE_xavantes-pm")), &pm);
    let pm_peer = peer(Role::Pm, &pm.address);
    let settings = format!(
        "group-manager = {gm_peer}\nprocess-managers = [{pm_peer}]\nslots = 2\nshared = true\n"
    );
    let am = Daemon::start(&am_program, &grid.member(Role::Am, 1, &settings));
    let lines = |wanted: &str| {
        let text = fs::read_to_string(&log).unwrap_or_default();
        let of_am = |line: &&str| line.contains("/am/am1") && line.contains(wanted);
        text.lines().filter(of_am).count()
    };
    while lines("a link is up") == 0 {
        std::thread::yield_now();
    }

    // Another machine of the group, with a certificate of its own and the first one's number.
    let identity = grid
        .member(Role::Am, 2, "")
        .parent()
        .unwrap()
        .join("identity");
    let credentials = Credentials::load(&identity).unwrap();
    let pm_identity = Identity::new("grid", "lab", Role::Pm, "pm1").unwrap();
    let resource = ResourceId::new(credentials.fingerprint().group(), 0);
    let config = LinkConfig {
        address: "127.0.0.1:0".parse().unwrap(),
        credentials,
        epoch: LinkEpoch::begin(grid.dir.path()).unwrap(),
        resource: Some(resource),
        accepts: Vec::new(),
        requests: None,
    };
    let links = Links::bind(config, |_| {}).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    // A link lasts for as long as it is held.
    let held = std::sync::Mutex::new(Vec::new());
    let on_event = move |event| match event {
        Event::Up(link) => held.lock().unwrap().push(link),
        Event::Down { error, .. } | Event::Failed { error, .. } => {
            let _ = tell.send(error.to_string());
        }
        Event::TurnedAway { .. } => {}
    };
    let kept = links.keep(&pm.address, &pm_identity, on_event);
    let wanted = "refused by the peer: the number in the greeting is another machine's";
    let n_refused = told
        .iter()
        .filter(|why| why == wanted)
        .take(INTRUSIONS)
        .count();
    assert_eq!(n_refused, INTRUSIONS);
    drop(kept);
    assert_eq!((lines("a link is up"), lines("a link is down")), (1, 0));
    am.stop();
    pm.stop();
    gm.stop();
}

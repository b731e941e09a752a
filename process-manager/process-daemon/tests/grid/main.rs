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
use model::{Role, SubmitKey, Value};
use shell::Client;
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

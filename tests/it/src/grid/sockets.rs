//! Processes that are submitted over a process manager's own socket, and whose files cross between two machines.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use activity_blobs::Store;
use model::{Artifact, Role, SubmitKey, Value};
use shell::Client;
use wire::client::{Answer, AttemptStatus, Phase, Request, Status, Submit};

use super::world::World;
use crate::blocked_process;
use crate::sandbox::root;

/// A MiB is split into parts, which are reversed in parallel and joined again.
const FORK_JOIN: &str = r#"
xavantes: 1
name: fork-join
variables: { sums: string }
outputs: { sums: "${ sums }", all: merge.all }
files: [deal.sh]
body:
  sequence:
    - activity: deal
      run: [./deal.sh]
      work: 10s
      outputs: { part1: part1, part2: part2, part3: part3, part4: part4, both: both/ }
    - parallel:
        - activity: turn1
          run: { shell: "tr 1234 abcd < part > turned; cat both/* | cksum" }
          work: 60s
          inputs: { part: deal.part1, both/: deal.both }
          outputs: { turned: turned }
        - activity: turn2
          run: { shell: "tr 1234 abcd < part > turned; cat both/* | cksum" }
          work: 60s
          inputs: { part: deal.part2, both/: deal.both }
          outputs: { turned: turned }
        - activity: turn3
          run: { shell: "tr 1234 abcd < part > turned; cat both/* | cksum" }
          work: 60s
          inputs: { part: deal.part3, both/: deal.both }
          outputs: { turned: turned }
        - activity: turn4
          run: { shell: "tr 1234 abcd < part > turned; cat both/* | cksum" }
          work: 60s
          inputs: { part: deal.part4, both/: deal.both }
          outputs: { turned: turned }
    - activity: merge
      run: { shell: "cat turned1 turned2 turned3 turned4 > all; cksum < all" }
      work: 10s
      inputs:
        turned1: turn1.turned
        turned2: turn2.turned
        turned3: turn3.turned
        turned4: turn4.turned
      outputs: { all: all }
      stdout: { into: sums, as: text }
"#;

/// The first script.
const DEAL: &str = r#"#!/bin/sh
set -e
mkdir both
for n in 1 2 3 4; do
    head -c 1048576 /dev/zero | tr '\0' $n > part$n
    head -c 3000 part$n > both/$n
done
"#;

/// Four files are made in parallel; then it waits for a file before the rest.
const GATED: &str = r#"
xavantes: 1
name: gated
inputs: { gate: string }
variables: { sums: string }
outputs: { sums: "${ sums }" }
body:
  sequence:
    - parallel:
        - { activity: make1, run: { shell: "head -c 1000000 /dev/zero > out" }, work: 60s, outputs: { out: out } }
        - { activity: make2, run: { shell: "head -c 2000000 /dev/zero > out" }, work: 60s, outputs: { out: out } }
        - { activity: make3, run: { shell: "head -c 3000000 /dev/zero > out" }, work: 60s, outputs: { out: out } }
        - { activity: make4, run: { shell: "head -c 4000000 /dev/zero > out" }, work: 60s, outputs: { out: out } }
    - activity: gate
      run: { shell: "while [ ! -e ${inputs.gate} ]; do sleep 0.02; done" }
      work: 10s
    - activity: merge
      run: { shell: "cat 1 2 3 4 | wc -c" }
      work: 10s
      inputs: { "1": make1.out, "2": make2.out, "3": make3.out, "4": make4.out }
      stdout: { into: sums, as: text }
"#;

/// A client on the socket of a process manager.
struct SocketClient {
    client: Client,
    n_submitted: u64,
}

impl SocketClient {
    fn of(world: &World) -> SocketClient {
        let socket = world.state_of(Role::Pm).with_file_name("pm.sock");
        SocketClient {
            client: Client::connect(&socket).unwrap(),
            n_submitted: 0,
        }
    }

    fn submit(
        &mut self,
        text: &str,
        inputs: Vec<(String, Value)>,
        files: Vec<Artifact>,
    ) -> SubmitKey {
        let compiled = language::compile("p.yaml", text.as_bytes()).unwrap();
        self.n_submitted += 1;
        let key = SubmitKey(self.n_submitted);
        let draft = compiled.definition.draft().clone();
        let submitted = self.client.ask(Request::Submit(Box::new(Submit {
            inputs,
            files,
            ..Submit::new(key, draft, "p.yaml")
        })));
        assert_eq!(submitted.unwrap(), Answer::Submitted(key.process()));
        key
    }

    fn status(&mut self, key: SubmitKey) -> Status {
        let Answer::Status(status) = self.client.ask(Request::Status(key.process())).unwrap()
        else {
            panic!("a process that was submitted is known")
        };
        *status
    }

    fn finish(&mut self, key: SubmitKey) -> Status {
        let watched = self.client.watch(key.process()).unwrap();
        let last = watched.map(Result::unwrap).last().unwrap();
        let status = self.status(key);
        assert_eq!(last.phase, Phase::Completed, "{:?}", status.faults);
        status
    }
}

/// The files of a machine, whose daemon does not run.
fn store(world: &World, index: usize) -> Store {
    let blobs = world.state_of_machine(index).join("blobs");
    fs::create_dir_all(&blobs).unwrap();
    Store::open(&blobs).unwrap()
}

/// Stores a file on the first machine, where a client of the grid would have uploaded it.
fn lay(world: &mut World, file: &Path) -> Artifact {
    world.stop_activity_manager(0);
    let store = store(world, 0);
    let artifact = store.add_file(file).unwrap();
    store.flush().unwrap();
    drop(store);
    world.start_activity_manager(0);
    world.wait_for_machines();
    artifact
}

fn value<'a>(status: &'a Status, name: &str) -> &'a Value {
    let found = status.outputs.iter().find(|(output, _)| output == name);
    &found.unwrap().1
}

/// What [`FORK_JOIN`] gives on one machine without managers.
fn alone(script: &Path) -> (String, Vec<u8>) {
    let dir = script.parent().unwrap();
    let all = "sh ./deal.sh; for n in 1 2 3 4; do tr 1234 abcd < part$n; done > all; cksum < all";
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", all]).current_dir(dir);
    let out = ran.output().unwrap().stdout;
    let sums = String::from_utf8(out).unwrap().trim_end().to_owned();
    (sums, fs::read(dir.join("all")).unwrap())
}

#[test]
fn primes_are_counted_for_a_client_of_the_socket() {
    let mut world = World::new(1, 1);
    let samples = root().join("workflows/samples/primes");
    let script = lay(&mut world, &samples.join("primes.sh"));
    let text = fs::read_to_string(samples.join("primes.yaml")).unwrap();
    let mut client = SocketClient::of(&world);
    let limit = vec![("limit".to_owned(), Value::Int(20_000))];
    let key = client.submit(&text, limit, vec![script]);
    let status = client.finish(key);
    assert_eq!(status.outputs, [("count".to_owned(), Value::Int(2_262))]);
    assert_eq!(status.machines[0].1, "am1");
    world.stop();
}

#[test]
fn files_cross_between_two_machines() {
    let mut world = World::new(1, 2);
    fs::create_dir(world.sandbox.path("alone")).unwrap();
    let file = world.sandbox.file("alone/deal.sh", DEAL);
    let file = Path::new(&file);
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    let script = lay(&mut world, file);
    let mut client = SocketClient::of(&world);
    let key = client.submit(FORK_JOIN, Vec::new(), vec![script]);
    let status = client.finish(key);
    let (sums, all) = alone(file);
    assert_eq!(*value(&status, "sums"), Value::Text(sums));
    let Value::Artifact(made, _) = *value(&status, "all") else {
        panic!("it is a file")
    };
    world.stop();
    let stores = [store(&world, 0), store(&world, 1)];
    let read = |store: &Store| store.read(made.hash, 1 << 24).ok();
    let found: Vec<Vec<u8>> = stores.iter().filter_map(read).collect();
    assert!(found == [all], "it lies on the one machine that made it");
    // The script was stored on one machine only, and both have run it or used its outputs.
    let ran = status
        .activities
        .iter()
        .flat_map(|activity| &activity.attempts);
    let on: BTreeSet<_> = ran.map(|attempt| attempt.resource).collect();
    assert_eq!(on.len(), 2, "both machines have worked");
    assert!(stores.iter().all(|store| store.contains(script.hash)));
}

#[test]
fn files_of_a_lost_machine_are_recomputed() {
    let mut world = World::new(1, 2);
    let gate = Value::Text(world.sandbox.path("gate").to_str().unwrap().to_owned());
    let mut client = SocketClient::of(&world);
    let key = client.submit(GATED, vec![("gate".to_owned(), gate)], Vec::new());
    let watched = client.client.watch(key.process()).unwrap();
    let mut watched = watched.map(Result::unwrap);
    // Everything is made, and only the gate runs.
    let at_gate =
        watched.find(|progress| progress.totals.completed == 4 && progress.running.len() == 1);
    let running = at_gate.unwrap().running[0].clone();
    let status = client.status(key);
    let name = |resource| {
        let mut machines = status.machines.iter();
        let found = machines.find(|(number, _)| *number == resource);
        found.unwrap().1.as_str()
    };
    let lost = usize::from(name(running.resource) == "am1");
    let made_by = |attempts: &[AttemptStatus]| name(attempts[0].resource);
    let makers = status.activities.iter().take(4);
    let n_lost = makers
        .filter(|one| made_by(&one.attempts) == ["am1", "am2"][lost])
        .count();
    assert!(n_lost > 0, "both machines have made something");

    world.end_activity_manager(lost);
    fs::remove_dir_all(world.state_of_machine(lost)).unwrap();
    world.start_activity_manager(lost);
    blocked_process::open(&world.sandbox);

    let status = client.finish(key);
    assert_eq!(*value(&status, "sums"), Value::Text("10000000".to_owned()));
    let attempts = status.activities.iter().flat_map(|one| &one.attempts);
    let again = attempts.filter(|attempt| attempt.end.as_deref() == Some("made again"));
    assert_eq!(again.count(), n_lost);
    world.stop();
}

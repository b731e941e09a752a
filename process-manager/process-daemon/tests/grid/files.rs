//! Files between machines: two activity managers, each with a blob store of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use activity_blobs::Store;
use model::{Artifact, Role, SubmitKey, Value};
use shell::Client;
use wire::client::{Answer, AttemptStatus, Phase, Request, Status, Submit};

use crate::daemons::{Daemon, Grid, peer, programs};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

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

/// A process that a machine can run at once.
const PROBE: &str = r#"
xavantes: 1
name: probe
body: { activity: probe, run: ["true"] }
"#;

/// The same on one machine without managers.
fn alone(dir: &Path) -> (String, Vec<u8>) {
    fs::write(dir.join("deal.sh"), DEAL).unwrap();
    let all = "sh ./deal.sh; for n in 1 2 3 4; do tr 1234 abcd < part$n; done > all; cksum < all";
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", all]).current_dir(dir);
    let out = ran.output().unwrap().stdout;
    let sums = String::from_utf8(out).unwrap().trim_end().to_owned();
    (sums, fs::read(dir.join("all")).unwrap())
}

/// A grid with two machines of two slots each: the previous process may hold one for a moment.
struct TwoMachines {
    grid: Grid,
    gm: Daemon,
    pm: Daemon,
    ams: Vec<(PathBuf, Daemon)>,
    am_program: PathBuf,
    client: Client,
    n_submitted: u64,
}

impl TwoMachines {
    fn start() -> TwoMachines {
        let grid = Grid::new();
        let (gm_program, am_program) = programs();
        let gm = Daemon::start(&gm_program, &grid.member(Role::Gm, 1, ""));
        let gm_peer = peer(Role::Gm, &gm.address);
        let settings = format!("group-manager = {gm_peer}\nsocket = \"pm.sock\"\n");
        let pm = grid.member(Role::Pm, 1, &settings);
        let socket = pm.parent().unwrap().join("pm.sock");
        let pm = Daemon::start(Path::new(env!("CARGO_BIN_EXE_xavantes-pm")), &pm);
        let pm_peer = peer(Role::Pm, &pm.address);
        let settings = format!(
            "group-manager = {gm_peer}\nprocess-managers = [{pm_peer}]\nslots = 2\nshared = true\npower = 1.0\n"
        );
        let ams = [1, 2].map(|number| {
            let config = grid.member(Role::Am, number, &settings);
            (config.clone(), Daemon::start(&am_program, &config))
        });
        let client = Client::connect(&socket).unwrap();
        let mut machines = TwoMachines {
            grid,
            gm,
            pm,
            ams: ams.into(),
            am_program,
            client,
            n_submitted: 0,
        };
        machines.wait_for_both();
        machines
    }

    /// Plans are made for the registered machines.
    fn wait_for_both(&mut self) {
        let until = Instant::now() + PATIENCE;
        loop {
            let probe = self.run(PROBE, Vec::new());
            if probe.machines.len() == 2 {
                return;
            }
            assert!(Instant::now() < until, "both machines register");
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
        let submitted = self.client.ask(Request::Submit(Box::new(Submit {
            key,
            draft: compiled.definition.draft().clone(),
            inputs,
            files,
            origin: "p.yaml".to_owned(),
            base: None,
            keep_going: false,
            keep: None,
            store: None,
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

    fn run(&mut self, text: &str, files: Vec<Artifact>) -> Status {
        let key = self.submit(text, Vec::new(), files);
        self.finish(key)
    }

    /// Stores a file where a client of the grid would have uploaded it.
    fn lay(&mut self, index: usize, name: &str, content: &str) -> Artifact {
        let (config, daemon) = self.ams.remove(index);
        daemon.stop();
        let file = self.grid.dir.path().join(name);
        fs::write(&file, content).unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&file, mode).unwrap();
        let store = store(&config);
        let artifact = store.add_file(&file).unwrap();
        store.flush().unwrap();
        drop(store);
        let daemon = Daemon::start(&self.am_program, &config);
        self.ams.insert(index, (config, daemon));
        self.wait_for_both();
        artifact
    }

    fn stop(self) -> (Grid, Vec<Store>) {
        let stores = self.ams.into_iter().map(|(config, daemon)| {
            daemon.stop();
            store(&config)
        });
        let stores = stores.collect();
        self.pm.stop();
        self.gm.stop();
        (self.grid, stores)
    }
}

fn store(config: &Path) -> Store {
    Store::open(&config.parent().unwrap().join("state/blobs")).unwrap()
}

fn value<'a>(status: &'a Status, name: &str) -> &'a Value {
    let found = status.outputs.iter().find(|(output, _)| output == name);
    &found.unwrap().1
}

fn artifact(status: &Status, name: &str) -> Artifact {
    let Value::Artifact(artifact) = value(status, name) else {
        panic!("{name} is a file")
    };
    *artifact
}

#[test]
fn files_cross_between_two_machines() {
    let mut machines = TwoMachines::start();
    let script = machines.lay(0, "deal.sh", DEAL);
    let status = machines.run(FORK_JOIN, vec![script]);
    let dir = machines.grid.dir.path().join("alone");
    fs::create_dir(&dir).unwrap();
    let (sums, all) = alone(&dir);
    assert_eq!(*value(&status, "sums"), Value::Text(sums));
    let made = artifact(&status, "all");
    let (_grid, stores) = machines.stop();
    let read = |store: &&Store| store.read(made.hash, 1 << 24).ok();
    let found: Vec<Vec<u8>> = stores.iter().filter_map(|store| read(&store)).collect();
    assert!(found == [all], "it lies on the one machine that made it");
    // The script was stored on one machine only, and both have run it or used its outputs.
    let ran = status
        .activities
        .iter()
        .flat_map(|activity| &activity.attempts);
    let mut on: Vec<_> = ran.map(|attempt| attempt.resource).collect();
    on.sort_unstable();
    on.dedup();
    assert_eq!(on.len(), 2, "both machines have worked");
    assert!(stores.iter().all(|store| store.contains(script.hash)));
}

#[test]
fn files_of_a_lost_machine_are_recomputed() {
    let mut machines = TwoMachines::start();
    let gate = machines.grid.dir.path().join("gate");
    let path = Value::Text(gate.to_str().unwrap().to_owned());
    let key = machines.submit(GATED, vec![("gate".to_owned(), path)], Vec::new());
    let watched = machines.client.watch(key.process()).unwrap();
    let mut watched = watched.map(Result::unwrap);
    // Everything is made, and only the gate runs.
    let at_gate =
        watched.find(|progress| progress.totals.completed == 4 && progress.running.len() == 1);
    let running = at_gate.unwrap().running[0];
    let status = machines.status(key);
    let name = |resource| {
        let of = status
            .machines
            .iter()
            .find(|(number, _)| *number == resource);
        of.unwrap().1.clone()
    };
    let made_by = |attempts: &[AttemptStatus]| name(attempts[0].resource);
    let makers = status.activities.iter().take(4);
    let makers: Vec<String> = makers.map(|one| made_by(&one.attempts)).collect();
    let lost = match name(running.resource).as_str() {
        "am1" => "am2",
        _ => "am1",
    };
    let n_lost = makers.iter().filter(|maker| *maker == lost).count();
    assert!(n_lost > 0, "both machines have made something");

    let at = machines
        .ams
        .iter()
        .position(|(config, _)| config.parent().unwrap().ends_with(lost));
    let (config, daemon) = machines.ams.remove(at.unwrap());
    daemon.kill();
    fs::remove_dir_all(config.parent().unwrap().join("state")).unwrap();
    let daemon = Daemon::start(&machines.am_program, &config);
    machines.ams.push((config, daemon));
    fs::write(gate, "").unwrap();

    let status = machines.finish(key);
    assert_eq!(*value(&status, "sums"), Value::Text("10000000".to_owned()));
    let attempts = status.activities.iter().flat_map(|one| &one.attempts);
    let again = attempts.filter(|attempt| attempt.end.as_deref() == Some("made again"));
    assert_eq!(again.count(), n_lost);
    machines.stop();
}

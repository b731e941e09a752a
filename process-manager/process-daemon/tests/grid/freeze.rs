//! A daemon that is frozen while its executor goes on: the lease ends its commands.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use model::{Role, SubmitKey};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use rustix::time::Timespec;
use shell::Client;
use wire::client::{Answer, Phase, Request, Submit};

use crate::daemons::{Daemon, Grid, peer, programs};

/// Time limit of anything before a test fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// Reads the process id that an attempt writes into a pipe of its own.
fn pid_from(pipe: &Path) -> Receiver<u32> {
    let mode = Mode::RUSR | Mode::WUSR;
    mknodat(CWD, pipe, FileType::Fifo, mode, 0).unwrap();
    let (sender, receiver) = sync_channel(1);
    let pipe = pipe.to_owned();
    thread::spawn(move || {
        let text = fs::read_to_string(pipe).unwrap();
        sender.send(text.trim().parse().unwrap()).unwrap();
    });
    receiver
}

/// A process that another program has started.
struct Watched(OwnedFd);

impl Watched {
    fn new(pid: u32) -> Watched {
        let pid = Pid::from_raw(pid.try_into().unwrap()).unwrap();
        Watched(pidfd_open(pid, PidfdFlags::empty()).unwrap())
    }

    fn ends_within(&self, span: Duration) -> bool {
        let timeout = Timespec::try_from(span).unwrap();
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&timeout)).unwrap() > 0
    }
}

#[test]
fn a_frozen_daemon_keeps_no_command_beyond_its_lease() {
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
        "group-manager = {gm_peer}\nprocess-managers = [{pm_peer}]\nslots = 1\nshared = true\n"
    );
    let am = grid.member(Role::Am, 1, &settings);
    let am = Daemon::start(&am_program, &am);

    let pipes = [1, 2].map(|attempt| grid.dir.path().join(attempt.to_string()));
    let [first, second] = pipes.each_ref().map(|pipe| pid_from(pipe));
    let pipes = grid.dir.path().to_str().unwrap();
    let text = format!(
        "xavantes: 1\nname: long\nbody:\n  activity: long\n  run: {{ shell: 'echo $$ > {pipes}/$XAVANTES_ATTEMPT; exec sleep 1000' }}\n"
    );
    let compiled = language::compile("long.yaml", text.as_bytes()).unwrap();
    let mut client = Client::connect(&socket).unwrap();
    let key = SubmitKey(43);
    let submitted = client.ask(Request::Submit(Box::new(Submit {
        key,
        draft: compiled.definition.draft().clone(),
        inputs: Vec::new(),
        files: Vec::new(),
        origin: "long.yaml".to_owned(),
        base: None,
        keep_going: false,
        keep: None,
        store: None,
    })));
    assert_eq!(submitted.unwrap(), Answer::Submitted(key.process()));
    let running = Watched::new(first.recv_timeout(PATIENCE).unwrap());
    let daemon = Pid::from_child(&am.child);
    kill_process(daemon, Signal::STOP).unwrap();
    assert!(running.ends_within(PATIENCE));
    assert!(second.try_recv().is_err(), "the first had ended before");
    kill_process(daemon, Signal::CONT).unwrap();
    let running = Watched::new(second.recv_timeout(PATIENCE).unwrap());
    assert!(!running.ends_within(Duration::ZERO));
    client.ask(Request::Cancel(key.process())).unwrap();
    let watched = client.watch(key.process()).unwrap().map(Result::unwrap);
    assert_eq!(watched.last().unwrap().phase, Phase::Cancelled);
    assert!(running.ends_within(PATIENCE));
    am.stop();
    pm.stop();
    gm.stop();
}

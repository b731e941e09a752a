//! A daemon that runs: the one launcher of managers here.

use std::io::{self, BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::wait;

/// Time in which a daemon ends in order: one whose test has failed may stand for ever.
const ENDS_IN: Duration = Duration::from_secs(30);

/// A daemon. Dropping it ends it in order, because its executor would go on without it otherwise.
#[derive(Debug)]
pub(crate) struct RunningDaemon {
    child: Child,
    /// The address on which it listens.
    pub(crate) address: String,
}

impl RunningDaemon {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(command: &mut Command) -> io::Result<RunningDaemon> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut daemon = RunningDaemon {
            child,
            address: String::new(),
        };
        for line in out.lines() {
            if let Some((_, address)) = line?.trim_end().split_once(" listens on ") {
                daemon.address = address.to_owned();
                return Ok(daemon);
            }
        }
        Err(io::Error::other(format!("{command:?} did not start")))
    }
}

#[cfg(test)]
impl RunningDaemon {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as an administrator does.
    #[track_caller]
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    /// Kills it with -9.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// True if it has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }
}

impl Drop for RunningDaemon {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // A frozen one hears nothing.
            let _ = kill_process(Pid::from_child(&self.child), Signal::CONT);
            let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
            if !wait::holds_within(ENDS_IN, || !matches!(self.child.try_wait(), Ok(None))) {
                let _ = self.child.kill();
                let _ = self.child.wait();
            }
        }
    }
}

/// A port of loopback that is free together with the next one.
pub(crate) fn two_ports() -> io::Result<u16> {
    let mut held = Vec::new();
    loop {
        let first = UdpSocket::bind("127.0.0.1:0")?;
        let port = first.local_addr()?.port();
        let second = port.checked_add(1);
        if second.is_some_and(|port| UdpSocket::bind(("127.0.0.1", port)).is_ok()) {
            return Ok(port);
        }
        // Held, so that the next one is another.
        held.push(first);
    }
}

//! The signals that ask a daemon to end.

use std::fs;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Handle;
use thiserror::Error;

/// Signals that may wait to be read. More of them mean nothing more.
const SIGNALS_MAX: usize = 8;

/// A signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Ctrl-C.
    Interrupt,
    /// `kill`.
    Terminate,
    /// The terminal has gone.
    HangUp,
}

/// The signals as they arrive. While it exists, none of them ends the program by itself.
pub struct Signals {
    came: Receiver<Signal>,
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

/// Signals cannot be received.
#[derive(Debug, Error)]
#[error("could not prepare for signals")]
pub struct SignalsError(#[from] io::Error);

impl Signals {
    /// Takes the signals over. An ignored hang-up (`nohup`) stays ignored.
    pub fn take() -> Result<Signals, SignalsError> {
        let mut wanted = vec![SIGINT, SIGTERM];
        if !is_ignored(SIGHUP) {
            wanted.push(SIGHUP);
        }
        let mut signals = signal_hook::iterator::Signals::new(wanted)?;
        let handle = signals.handle();
        let (sender, came) = sync_channel(SIGNALS_MAX);
        let thread = std::thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || pass_on(&mut signals, &sender))?;
        Ok(Signals {
            came,
            handle,
            thread: Some(thread),
        })
    }

    /// The next one, within this time.
    pub fn next_within(&self, patience: Duration) -> Option<Signal> {
        self.came.recv_timeout(patience).ok()
    }

    /// A signal that has arrived already.
    pub fn next_now(&self) -> Option<Signal> {
        self.came.try_recv().ok()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn pass_on(signals: &mut signal_hook::iterator::Signals, sender: &SyncSender<Signal>) {
    for number in signals.forever() {
        let signal = match number {
            SIGINT => Signal::Interrupt,
            SIGTERM => Signal::Terminate,
            _ => Signal::HangUp,
        };
        // A full queue has signals enough.
        let _ = sender.try_send(signal);
    }
}

fn is_ignored(signal: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok())
        .unwrap_or(0);
    mask >> (signal - 1) & 1 == 1
}

#[test]
fn a_signal_is_told_and_does_not_end_the_program() {
    let signals = Signals::take().unwrap();
    assert_eq!(signals.next_now(), None);
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TERM)
        .unwrap();
    assert_eq!(
        signals.next_within(Duration::from_secs(20)),
        Some(Signal::Terminate)
    );
}

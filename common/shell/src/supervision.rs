//! Messages of a daemon to the service manager that started it, by the protocol of sd_notify(3): that it
//! serves, that its loop goes on, that it stops. Without systemd, or another one that understands them,
//! nothing is sent.

use model::{Mono, Span};
use sd_notify::NotifyState;

use crate::inbox::Pulse;

/// The part of the time that the service manager waits for a sign of life, after which it gets one: a third,
/// so that one that comes late is no reason for a restart.
const SIGNS_IN_TIME: u64 = 3;

/// The time between two lines of status at least: links come and go by the hundred at a start.
const STATUS_PERIOD: Span = Span::from_secs(2);

/// A daemon under supervision: its service manager hears when it serves, and as long as its loop goes on.
pub(crate) struct Supervision {
    /// The time between two signs of life; none if nobody waits for them.
    period: Option<Span>,
    /// The last sign of life.
    signed: Mono,
    /// The loop at the last look.
    pulse: Option<Pulse>,
    /// True if the loop was seen to go on since the last sign.
    goes_on: bool,
    /// The line of status that was sent last, and when.
    status: (String, Mono),
}

impl Supervision {
    /// Says that the daemon serves: its journal is replayed, and it listens.
    pub(crate) fn begin(status: &str, now: Mono) -> Supervision {
        let ready = [NotifyState::Ready, NotifyState::Status(status)];
        if let Err(error) = sd_notify::notify(&ready) {
            tracing::warn!(%error, "the service manager was not told that this serves");
        }
        let patience = sd_notify::watchdog_enabled();
        let micros = patience.map(|patience| u64::try_from(patience.as_micros()));
        let micros = micros.and_then(Result::ok);
        Supervision {
            period: micros.map(|micros| Span(micros / SIGNS_IN_TIME)),
            signed: now,
            pulse: None,
            goes_on: true,
            status: (status.to_owned(), now),
        }
    }

    /// Gives a sign of life if it is due and the loop goes on, and says the status if it has changed. A
    /// message that cannot be sent is sent again when the next one is due.
    pub(crate) fn look(&mut self, pulse: Pulse, status: impl FnOnce() -> String, now: Mono) {
        self.goes_on |= self.pulse.is_none_or(|before| pulse.goes_on_since(before));
        self.pulse = Some(pulse);
        let is_due = |period: Span| now.since(self.signed) >= period;
        if self.goes_on && self.period.is_some_and(is_due) {
            self.signed = now;
            self.goes_on = false;
            send(NotifyState::Watchdog);
        }
        if now.since(self.status.1) >= STATUS_PERIOD {
            let status = status();
            if status != self.status.0 {
                send(NotifyState::Status(&status));
            }
            self.status = (status, now);
        }
    }

    /// Says that the daemon stops.
    pub(crate) fn end(self) {
        send(NotifyState::Stopping);
    }
}

fn send(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

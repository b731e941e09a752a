//! Records from messages, and messages from records.

use wire::attempt as message;
use wire::client;

use super::v1::{ActivityPhase, Cause, End, Grant, Kept, Log, Outcome, Phase, Rescheduled, Route};

impl From<Phase> for client::Phase {
    fn from(phase: Phase) -> client::Phase {
        match phase {
            Phase::Running => client::Phase::Running,
            Phase::Faulting => client::Phase::Faulting,
            Phase::Cancelling => client::Phase::Cancelling,
            Phase::Completed => client::Phase::Completed,
            Phase::Faulted => client::Phase::Faulted,
            Phase::Cancelled => client::Phase::Cancelled,
        }
    }
}

impl From<ActivityPhase> for client::ActivityPhase {
    fn from(phase: ActivityPhase) -> client::ActivityPhase {
        match phase {
            ActivityPhase::Waiting => client::ActivityPhase::Waiting,
            ActivityPhase::Ready => client::ActivityPhase::Ready,
            ActivityPhase::Sent => client::ActivityPhase::Sent,
            ActivityPhase::Backoff => client::ActivityPhase::Backoff,
            ActivityPhase::Completed => client::ActivityPhase::Completed,
            ActivityPhase::Faulted => client::ActivityPhase::Faulted,
            ActivityPhase::Skipped => client::ActivityPhase::Skipped,
            ActivityPhase::Stopped => client::ActivityPhase::Stopped,
        }
    }
}

impl From<&Rescheduled> for client::Rescheduled {
    fn from(rescheduled: &Rescheduled) -> client::Rescheduled {
        let &Rescheduled {
            at,
            resource,
            per_mille,
            n_moved,
            before,
            after,
            cause,
            expected,
            round,
            ref routes,
        } = rescheduled;
        let routes = routes.iter().flatten();
        client::Rescheduled {
            at,
            resource,
            per_mille,
            n_moved,
            before,
            after,
            is_link: cause == Cause::Link,
            expected,
            round,
            routes: routes.map(Into::into).collect(),
        }
    }
}

impl From<&Route> for client::Route {
    fn from(route: &Route) -> client::Route {
        let &Route { from, to, n } = route;
        client::Route { from, to, n }
    }
}

impl From<&wire::group::Grant> for Grant {
    fn from(grant: &wire::group::Grant) -> Grant {
        let &wire::group::Grant {
            id,
            resource,
            slots,
        } = grant;
        Grant {
            id,
            resource,
            slots,
        }
    }
}

impl From<&Grant> for wire::group::Grant {
    fn from(grant: &Grant) -> wire::group::Grant {
        let &Grant {
            id,
            resource,
            slots,
        } = grant;
        wire::group::Grant {
            id,
            resource,
            slots,
        }
    }
}

impl From<message::Outcome> for Outcome {
    fn from(outcome: message::Outcome) -> Outcome {
        let message::Outcome {
            attempt,
            end,
            started,
            wall,
            cpu,
            peak_memory,
            exit_code,
            pid,
            outputs,
            // Variables have the captured streams already.
            stdout: _,
            stderr: _,
            log,
        } = outcome;
        Outcome {
            attempt,
            end: (&end).into(),
            started,
            wall,
            cpu,
            peak_memory,
            exit_code,
            pid,
            outputs,
            log: log.map(Log::from),
        }
    }
}

impl From<&message::End> for End {
    fn from(end: &message::End) -> End {
        match end {
            message::End::Completed => End::Completed,
            message::End::Failed(_) => End::Failed,
            message::End::Stopped => End::Stopped,
            message::End::Lost => End::Lost,
            message::End::Lacking(_) => End::Lacking,
        }
    }
}

impl From<message::Log> for Log {
    fn from(log: message::Log) -> Log {
        Log {
            stdout_bytes: log.stdout_bytes,
            stdout: log.stdout.into(),
            stderr_bytes: log.stderr_bytes,
            stderr: log.stderr.into(),
        }
    }
}

impl From<Log> for message::Log {
    fn from(log: Log) -> message::Log {
        message::Log {
            stdout_bytes: log.stdout_bytes,
            stdout: log.stdout.into(),
            stderr_bytes: log.stderr_bytes,
            stderr: log.stderr.into(),
        }
    }
}

impl From<wire::executor::Kept> for Kept {
    fn from(kept: wire::executor::Kept) -> Kept {
        match kept {
            wire::executor::Kept::Nowhere => Kept::Nowhere,
            wire::executor::Kept::Log { segment, offset } => Kept::Log { segment, offset },
            wire::executor::Kept::File { bytes } => Kept::File { bytes },
        }
    }
}

impl From<Kept> for wire::executor::Kept {
    fn from(kept: Kept) -> wire::executor::Kept {
        match kept {
            Kept::Nowhere => wire::executor::Kept::Nowhere,
            Kept::Log { segment, offset } => wire::executor::Kept::Log { segment, offset },
            Kept::File { bytes } => wire::executor::Kept::File { bytes },
        }
    }
}

//! Timers of a process manager.

use model::{ActivityId, GroupId, ProcessId, ResourceId};

use crate::submission::ClientId;

/// Something that is done later, unless its occasion goes away before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Timer {
    AttachGroup(GroupId),
    Inquiry(GroupId),
    AttachMachine(ResourceId),
    Suspect(ResourceId),
    Retract(ResourceId),
    Lost(ResourceId),
    EarlierLeasesEnd,
    Forget,
    Pack,
    Plan(ProcessId),
    Claim(ProcessId),
    Judge(ProcessId),
    Unacknowledged(ProcessId, ResourceId),
    Stop(ProcessId),
    Release(ProcessId),
    Return(ProcessId),
    Backoff(ProcessId, ActivityId),
    Watch(ClientId, u64),
    Recall(ProcessId),
    Turns,
    Overdue,
    Silent,
    Shown,
    Copy(ProcessId),
    Discard(ProcessId),
    Tail(ClientId, u64),
}

//! Settings that an administrator may choose.

use std::collections::{BTreeMap, BTreeSet};

use model::{Epoch, GroupId, NetworkLink, Span};

use crate::retention::Retention;

/// What the processes of one user that have not ended may be together; without limits where left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quota {
    /// Processes.
    pub processes_max: Option<u32>,
    /// Their activities.
    pub activities_max: Option<u32>,
}

/// The settings of a process manager.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The algorithm that makes plans. Where it searches, processes that give no work and those that
    /// others wait behind get the best of few algorithms without a search.
    pub scheduler: schedule::SchedulerKind,
    /// The time for which a process waits for a machine that fits before it faults: machines of a
    /// group that has just started register one after another.
    pub patience: Span,
    /// The groups of the grid; if empty, the groups that connect are all.
    pub groups: BTreeSet<GroupId>,
    /// The network link between two machines that files cross; none if it is unknown.
    pub link: Option<NetworkLink>,
    /// The retention of processes that have ended; none if they are only forgotten on request.
    pub keep: Option<Retention>,
    /// What a user may have here at a time.
    pub quota: Quota,
    /// Named limits with their units, which activities of all processes share, unless their process has a
    /// limit of that name itself.
    pub limits: BTreeMap<String, u32>,
    /// The time for which attempts go on at a machine whose renewals are not answered
    /// ([`wire::lease`], from [`wire::lease::SHORTEST`] to [`wire::lease::LONGEST`]); none if all
    /// managers are one program, which needs no lease. Another epoch may have another length.
    pub lease: Option<Span>,
    /// The name of the machine that is asked first to keep copies: the one beside this manager, so that
    /// controllers have the files near them. Where it is not there or cannot, others are.
    pub keeper: Option<String>,
    /// Activities of ended iterations of one loop of which everything is kept; some thousand where nothing is
    /// said. Of more, no more is known than that they have ended.
    pub kept_activities: Option<u32>,
    /// True if outcomes of activities are kept for later runs ([`crate::Effect::Share`]).
    pub shares_outcomes: bool,
    /// The number that epochs are above, beside those of the journal: a restored journal has numbers that others have
    /// seen already.
    pub epochs_above: Epoch,
}

//! Why a process as a whole is where it is: the order of those that wait, and the shares of their owners.

use minicbor::{Decode, Encode};
use model::{GroupId, ProcessId, Span, Wall};

use super::{Phase, Rescheduled, Why};

/// Maximum number of activities that an explanation of a process names.
pub const WHY_ACTIVITIES_MAX: usize = 8;
/// Maximum number of other owners that are told of each group.
pub const OWNERS_TOLD_MAX: usize = 16;

/// The explanation of a process's state.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct WhyProcess {
    /// Its phase.
    #[n(0)]
    pub phase: Phase,
    /// The thing that it waits for, if nothing of it can run.
    #[n(1)]
    pub waiting_for: Option<String>,
    /// Its place in the order, if it waits for its first plan.
    #[n(2)]
    pub turn: Option<Turn>,
    /// The shares and limits of owners, by groups that have any.
    #[n(3)]
    pub shares: Vec<GroupShares>,
    /// The activities that the process waits for, those that run first; at most
    /// [`WHY_ACTIVITIES_MAX`].
    #[n(4)]
    pub activities: Vec<Why>,
    /// The number of such activities that are not named.
    #[n(5)]
    pub n_more: u32,
    /// The last plan that was made because a machine is not as fast as was planned, and that was not taken: it moves
    /// nothing that pays. None once another one was taken, or the machine is as planned again.
    #[cbor(n(6), default)]
    pub declined: Option<Rescheduled>,
}

/// The place of a process in the order of those that wait for their first plan.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Turn {
    /// The number of processes before it, as owners stand at the moment.
    #[n(0)]
    pub n_before: u32,
    /// The last one before it, if it is of the same owner.
    #[n(1)]
    pub last: Option<ProcessId>,
    /// The name of the owner of the last one, if that is another owner: which processes others have is
    /// theirs to tell.
    #[n(2)]
    pub last_owner: Option<String>,
    /// When machines are expected to be free for it; none where that is not known.
    #[n(3)]
    pub free_at: Option<Wall>,
}

impl Turn {
    /// In words for people.
    pub fn words(&self, now: Wall) -> String {
        let before = match self.n_before {
            1 => "1 process is before it".to_owned(),
            n => format!("{n} processes are before it"),
        };
        let before = match (&self.last, &self.last_owner) {
            _ if self.n_before == 0 => "it is the next one".to_owned(),
            (Some(last), _) => format!("{before}, the last of them {last}"),
            (None, Some(owner)) => format!("{before}, the last of them of {owner}"),
            (None, None) => before,
        };
        let from = match self.free_at.map(|at| at.since(now)) {
            Some(Span::ZERO) => "machines are expected to be free for it at any moment".to_owned(),
            Some(wait) => format!("machines are expected to be free for it in {wait}"),
            None => "from when on is not known".to_owned(),
        };
        format!("{before}; {from}")
    }
}

/// The shares and limits of owners in a group, as its manager told them last.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct GroupShares {
    /// The group.
    #[n(0)]
    pub group: GroupId,
    /// True if the owner who has used least for its share is next; else the first process is.
    #[n(1)]
    pub is_fair: bool,
    /// The owner of the process.
    #[n(2)]
    pub own: OwnerShare,
    /// Other owners, those who have used least for their shares first; at most [`OWNERS_TOLD_MAX`].
    #[n(3)]
    pub others: Vec<OwnerShare>,
    /// The number of owners that are not named.
    #[n(4)]
    pub n_more: u32,
}

/// The part of a group that an owner may use, and what it has used.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct OwnerShare {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its share, which means something beside those of others alone.
    #[n(1)]
    pub share: u32,
    /// The slot time that it has used, each second of a slot counted for less the longer it is ago.
    #[n(2)]
    pub used: Span,
    /// Slots that its processes hold.
    #[n(3)]
    pub held: u32,
    /// Slots that its processes may hold at once.
    #[n(4)]
    pub slots_max: Option<u32>,
}

#[test]
fn a_turn_is_told_in_words() {
    let turn = |n_before, last: Option<u64>, owner: Option<&str>, free_at: Option<u64>| {
        let turn = Turn {
            n_before,
            last: last.map(ProcessId),
            last_owner: owner.map(str::to_owned),
            free_at: free_at.map(Wall),
        };
        turn.words(Wall(1_000_000))
    };
    assert_eq!(
        turn(0, None, None, Some(1)),
        "it is the next one; machines are expected to be free for it at any moment"
    );
    assert_eq!(
        turn(1, None, Some("ben"), Some(21_000_000)),
        "1 process is before it, the last of them of ben; machines are expected to be free for it in \
         20.0s"
    );
    assert_eq!(
        turn(2, Some(0), None, None),
        format!(
            "2 processes are before it, the last of them {}; from when on is not known",
            ProcessId(0)
        )
    );
}

//! The inputs and the effects of a process manager.

use std::collections::BTreeSet;

use history::{Key, Record, Seen};
use machine::Lane;
use model::{Bytes, Entry, GroupId, Plan, ProcessId, ResourceId, Span};
use schedule::rounds::{Policy, Scope};
use schedule::{Refusal, less};
use wire::attempt::{FromActivity, ToActivity};
use wire::client::{Answer, Request};
use wire::group::{FromGroup, ToGroup};

use crate::deed::Deed;
use crate::shared_outcome::{SharedOutcome, ToShare};
use crate::submission::{Caller, ClientId, Submission};
use crate::tally::Measured;

/// An input of a process manager.
#[derive(Clone, Debug)]
pub enum Input {
    /// A message of a group manager.
    Group(GroupId, FromGroup),
    /// A group manager can be reached.
    GroupUp(GroupId),
    /// A group manager cannot be reached.
    GroupDown(GroupId),
    /// A message of the activity manager of a machine.
    Activity(ResourceId, FromActivity),
    /// The name in the certificate of a peer that claims to be the machine with this number: the
    /// manager believes it if the group says the same. Comes before the connection is up.
    ActivityNamed(ResourceId, String),
    /// A machine can be reached.
    ActivityUp(ResourceId),
    /// A machine cannot be reached.
    ActivityDown(ResourceId),
    /// A request of a client, with the caller and the number of the request. See
    /// [`Input::request`].
    Request(ClientId, Caller, u64, Request),
    /// A submission of a client that is checked, and the number of its request.
    Submission(ClientId, u64, Box<Submission>),
    /// The same, of which only is told what it would do.
    Foresee(ClientId, u64, Box<Submission>),
    /// A client has gone.
    ClientGone(ClientId),
    /// A plan is made, or cannot be.
    Planned(Box<PlanResult>),
    /// The free disk space, which the core cannot see.
    Room(Room),
    /// True if the group has revoked the certificate of this manager, as far as that is known: then no machine and no
    /// group manager of it talks to this manager.
    Barred(bool),
    /// The works of earlier runs that [`Effect::Keep`] has kept, in any order; before the processes that
    /// they are for.
    Known(Vec<(Key, Record)>),
    /// Outcomes of earlier runs that [`Effect::Share`] has kept, the newest last; before the processes that may
    /// recall them.
    Recalled(Vec<SharedOutcome>),
    /// The templates of an [`Effect::Forget`] are forgotten: durably, or this is why not.
    HistoryForgotten(Box<ForgetRequest>, Result<(), String>),
    /// Asks for metrics: [`Effect::Measured`].
    Measure,
}

impl Input {
    /// The input for a request of a client. A submission is checked here, which takes long and
    /// needs no state: a shell calls this in the thread of that client, so that nobody else waits
    /// for it.
    pub fn request(client: ClientId, caller: Caller, number: u64, request: Request) -> Input {
        match request {
            Request::Submit(submit) => {
                let submission = Submission::check(caller, *submit);
                Input::Submission(client, number, Box::new(submission))
            }
            Request::Foresee(submit) => {
                let submission = Submission::check(caller, *submit);
                Input::Foresee(client, number, Box::new(submission))
            }
            request @ (Request::Cancel(_)
            | Request::Watch(_)
            | Request::List
            | Request::Status(_)
            | Request::Submission(_)
            | Request::Forget(_)
            | Request::Why { .. }
            | Request::WhyProcess(_)
            | Request::Published { .. }
            | Request::Processes(_)
            | Request::Activities(_)
            | Request::Values(_)
            | Request::Tail(_)
            | Request::Log { .. }
            | Request::Machines
            | Request::History { .. }
            | Request::ForgetHistory(_)) => Input::Request(client, caller, number, request),
        }
    }

    /// The lane in which it waits: leases end where they are not answered for some seconds, and what is known of
    /// earlier runs decides about the first process already.
    pub fn lane(&self) -> Lane {
        match self {
            Input::Activity(_, FromActivity::Renew { .. } | FromActivity::Holding { .. }) => {
                Lane::Urgent
            }
            Input::Known(_) | Input::Recalled(_) => Lane::Urgent,
            Input::Request(..)
            | Input::Submission(..)
            | Input::Foresee(..)
            | Input::ClientGone(_) => Lane::Clients,
            Input::Group(..)
            | Input::GroupUp(_)
            | Input::GroupDown(_)
            | Input::Activity(..)
            | Input::ActivityNamed(..)
            | Input::ActivityUp(_)
            | Input::ActivityDown(_)
            | Input::Planned(_)
            | Input::Room(_)
            | Input::Barred(_)
            | Input::HistoryForgotten(..)
            | Input::Measure => Lane::Peers,
        }
    }
}

/// The processes that a process manager can take, given its free disk space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// Any.
    #[default]
    Any,
    /// Processes that take at most so much in its journal.
    UpTo(Bytes),
    /// None, for this reason.
    None(String),
}

/// An effect that a process manager asks for.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send to a group manager.
    ToGroup(GroupId, ToGroup),
    /// Send to the activity manager of a machine.
    ToActivity(ResourceId, ToActivity),
    /// Answer a client.
    Answer {
        /// The client.
        client: ClientId,
        /// The number of its request.
        number: u64,
        /// The answer.
        answer: Answer,
    },
    /// Make a plan, aside from the loop; the answer is [`Input::Planned`].
    Plan(Box<PlanRequest>),
    /// Keep others than the machine of this name from connecting under its number: so its group, or
    /// what a process has recorded, names it.
    Registered(ResourceId, String),
    /// Log that a group's message is ignored, because it names this machine of another group.
    Foreign(GroupId, ResourceId),
    /// Keep what an attempt has taken, in any way: nothing depends on it.
    Keep(Box<Remembered>),
    /// Keep the outcome of an activity for later runs, in any way: nothing depends on it.
    Share(Box<ToShare>),
    /// Forget what [`Effect::Keep`] has kept of an owner. The client is told by [`Input::HistoryForgotten`] when
    /// that is durable.
    Forget(Box<ForgetRequest>),
    /// Tell the audit log of a change that a client has asked for.
    Done(Box<Deed>),
    /// The answer to [`Input::Measure`].
    Measured(Box<Measured>),
}

/// The request of a client to forget what its activities took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgetRequest {
    /// The client.
    pub client: ClientId,
    /// The number of its request.
    pub number: u64,
    /// The number of templates.
    pub n_forgotten: u64,
    /// Whose activities they are, as [`Key::owner`] says.
    pub owner: String,
    /// The definition; all of the owner if there is none.
    pub definition: Option<String>,
}

impl ForgetRequest {
    /// Returns true if what is kept of a definition of an owner is to be forgotten.
    pub fn names(&self, owner: &str, definition: &str) -> bool {
        let of_definition = |wanted: &str| wanted == definition;
        owner == self.owner && self.definition.as_deref().is_none_or(of_definition)
    }
}

/// An observation of an activity or a controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Remembered {
    /// Its name.
    pub key: Key,
    /// The attempt, or the number of bodies.
    pub seen: Seen,
}

/// A plan to be made.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// The process.
    pub process: ProcessId,
    /// The state that it is made from: an answer with another basis is refused.
    pub basis: u64,
    /// The problem.
    pub request: schedule::Request,
    /// The plan in force, where the plan is to be compared with it.
    pub in_force: Option<InForce>,
    /// The entries in force, where others are to be made since there are more slots.
    pub grows: Option<Vec<Entry>>,
}

/// A plan in force whose machines are not as it counts on.
#[derive(Clone, Debug)]
pub struct InForce {
    /// Its entries.
    pub entries: Vec<Entry>,
    /// The machines that are slower than it counts on.
    pub slow: BTreeSet<ResourceId>,
    /// The activities that may move: those of these machines alone, or all.
    pub scope: Scope,
}

impl PlanRequest {
    /// Makes the plan, and compares it. It takes long, so a shell does it aside from the loop.
    ///
    /// Where a plan is in force, the one that moves the activities of slow machines alone is the answer, unless
    /// that for all activities is shorter by [`Policy::wider_gain_least`] than that one and than the plan in force.
    pub fn answer(&self) -> PlanResult {
        let wide = || schedule::plan(&self.request);
        let (result, compared) = match &self.in_force {
            Some(in_force) => match in_force.scope {
                Scope::All => self.shorter(in_force, wide()),
                Scope::Machine => self.narrow(in_force),
            },
            None => (self.grown(wide()), None),
        };
        PlanResult {
            process: self.process,
            basis: self.basis,
            result,
            compared,
        }
    }

    /// A plan that was made, or where there are more slots the one that fills these with few moves, unless the other
    /// one is shorter by [`Policy::wider_gain_least`].
    fn grown(&self, wide: Result<Plan, Refusal>) -> Result<Plan, Refusal> {
        let Some(entries) = &self.grows else {
            return wide;
        };
        let grown = schedule::grown_from(&self.request, entries);
        let least = Policy::xavantes().wider_gain_least.unwrap_or_default();
        let is_wide_shorter = |wide: &Plan, grown: &Plan| {
            let to_beat = (1.0 - least) * grown.makespan().seconds();
            less(wide.makespan().seconds(), to_beat)
        };
        match (wide, grown) {
            (Ok(wide), Ok(grown)) if is_wide_shorter(&wide, &grown) => Ok(wide),
            (_, Ok(grown)) => Ok(grown),
            (wide, Err(_)) => wide,
        }
    }

    /// A plan that was made, or the narrower one, with its makespan after that of the plan in force.
    fn shorter(
        &self,
        in_force: &InForce,
        wide: Result<Plan, Refusal>,
    ) -> (Result<Plan, Refusal>, Option<(Span, Span)>) {
        let of_wide = self.compared(in_force, &wide);
        if in_force.slow.is_empty() {
            return (wide, of_wide);
        }
        let (narrow, of_narrow) = self.narrow(in_force);
        let least = Policy::xavantes().wider_gain_least.unwrap_or_default();
        let is_wide_shorter = match (of_wide, of_narrow) {
            (Some((before, wide)), Some((_, narrow))) => {
                let to_beat = before.min(narrow).seconds();
                less(wide.seconds(), (1.0 - least) * to_beat)
            }
            (Some(_), None) => true,
            (None, Some(_) | None) => false,
        };
        match is_wide_shorter {
            true => (wide, of_wide),
            false => (narrow, of_narrow),
        }
    }

    /// The plan that moves the activities of slow machines alone, with its makespan likewise.
    fn narrow(&self, in_force: &InForce) -> (Result<Plan, Refusal>, Option<(Span, Span)>) {
        let InForce { entries, slow, .. } = in_force;
        let narrow = schedule::moved_from(&self.request, entries, slow);
        let compared = self.compared(in_force, &narrow);
        (narrow, compared)
    }

    /// The makespans of the plan in force and of another one.
    fn compared(&self, in_force: &InForce, made: &Result<Plan, Refusal>) -> Option<(Span, Span)> {
        let makespan = |entries: &[Entry]| schedule::kept(&self.request, entries).ok();
        let made = made.as_ref().ok()?;
        makespan(&in_force.entries).zip(makespan(&made.entries))
    }
}

/// A plan that was made.
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// The process.
    pub process: ProcessId,
    /// The basis of the request.
    pub basis: u64,
    /// The plan, or the reason why there is none.
    pub result: Result<Plan, Refusal>,
    /// The makespans of the entries in force and of the plan, counted alike; none where nobody has asked.
    pub compared: Option<(Span, Span)>,
}

#[cfg(test)]
mod tests;

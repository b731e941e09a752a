//! What comes in and what goes out.

use minicbor::{Decode, Encode};
use model::{GroupId, Plan, ProcessId, ResourceId};
use wire::attempt::{FromActivity, ToActivity};
use wire::client::{Answer, Request};
use wire::group::{FromGroup, ToGroup};

/// What has a journal of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub enum Stream {
    /// The manager itself.
    #[n(0)]
    Manager,
    /// One process.
    #[n(1)]
    Process(#[n(0)] ProcessId),
}

/// A client's connection, numbered by whoever accepts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClientId(pub u64);

/// What a process manager is told.
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
    /// Who says that it is the machine with this number, by its certificate: it is believed where its
    /// group says the same. Comes before the connection is up.
    ActivityNamed(ResourceId, String),
    /// A machine can be reached.
    ActivityUp(ResourceId),
    /// A machine cannot be reached.
    ActivityDown(ResourceId),
    /// A request of a client, with its number.
    Request(ClientId, u64, Request),
    /// A client has gone.
    ClientGone(ClientId),
    /// A plan is made, or cannot be.
    Planned(Box<PlanResult>),
}

/// What a process manager wants done.
#[derive(Clone, Debug)]
pub enum Effect {
    /// Send to a group manager.
    ToGroup(GroupId, ToGroup),
    /// Send to the activity manager of a machine.
    ToActivity(ResourceId, ToActivity),
    /// Answer a client.
    Answer {
        /// Which client.
        client: ClientId,
        /// Which of its requests.
        number: u64,
        /// What.
        answer: Answer,
    },
    /// Make a plan, aside from the loop; the answer is [`Input::Planned`].
    Plan(Box<PlanRequest>),
}

/// A plan to be made.
#[derive(Clone, Debug)]
pub struct PlanRequest {
    /// For which process.
    pub process: ProcessId,
    /// What it is made from: an answer with another basis is refused.
    pub basis: u64,
    /// The problem.
    pub request: schedule::Request,
}

/// A plan that was made.
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// For which process.
    pub process: ProcessId,
    /// The basis of the request.
    pub basis: u64,
    /// The plan, or why there is none.
    pub result: Result<Plan, schedule::Refusal>,
}

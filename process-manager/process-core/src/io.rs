//! What comes in and what goes out.

use minicbor::{Decode, Encode};
use model::{Bytes, GroupId, Identity, Plan, ProcessId, ResourceId, Role};
use wire::attempt::{FromActivity, ToActivity};
use wire::client::{Answer, Request};
use wire::group::{FromGroup, ToGroup};

use crate::submit::Submission;

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

/// On whose behalf a client asks. It decides what the client sees and may touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Whoever the manager itself belongs to, on its own machine: everything.
    Local,
    /// The holder of a certificate: an administrator everything, a user what is their own, a
    /// manager nothing.
    Holder(Identity),
}

impl Caller {
    /// Whose a process is that is submitted on this behalf, as it is recorded.
    pub(crate) fn owner(&self) -> Option<String> {
        match self {
            Caller::Local => None,
            Caller::Holder(identity) => Some(identity.to_string()),
        }
    }

    /// Whether a process with this owner is there for the caller.
    pub(crate) fn sees(&self, owner: Option<&str>) -> bool {
        match self {
            Caller::Local => true,
            Caller::Holder(identity) => match identity.role() {
                Role::Admin => true,
                Role::User => owner.is_some_and(|owner| owner == identity.to_string()),
                Role::Gm | Role::Pm | Role::Am => false,
            },
        }
    }
}

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
    /// A request of a client, on whose behalf it asks, and its number. See [`Input::request`].
    Request(ClientId, Caller, u64, Request),
    /// A submission of a client that is checked, and the number of its request.
    Submission(ClientId, u64, Box<Submission>),
    /// A client has gone.
    ClientGone(ClientId),
    /// A plan is made, or cannot be.
    Planned(Box<PlanResult>),
    /// What there is room for, as far as the core cannot see it.
    Room(Room),
}

impl Input {
    /// A request of a client. Whatever takes long of it and needs no state is done here: a shell calls
    /// this in the thread of that client, so that nobody else waits for it.
    pub fn request(client: ClientId, caller: Caller, number: u64, request: Request) -> Input {
        match request {
            Request::Submit(submit) => {
                let submission = Submission::check(caller, *submit);
                Input::Submission(client, number, Box::new(submission))
            }
            request @ (Request::Cancel(_)
            | Request::Watch(_)
            | Request::List
            | Request::Status(_)
            | Request::Submission(_)
            | Request::Forget(_)
            | Request::Why { .. }
            | Request::Tail(_)
            | Request::Log { .. }
            | Request::Machines) => Input::Request(client, caller, number, request),
        }
    }
}

/// What processes a process manager can take, by the room on its disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Room {
    /// Any.
    #[default]
    Any,
    /// Those that take so much in its journal.
    UpTo(Bytes),
    /// None, and why.
    None(String),
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
    /// Keep others than the machine of this name from connecting under its number: so its group, or
    /// what a process has recorded, names it.
    Registered(ResourceId, String),
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

//! What is asked at a group manager's desk: leave to join, certificates, who is there. A question
//! and its answer have a stream of their own, on a connection that carries nothing else.
//!
//! Whoever asks is known by the certificate of the connection; only [`Request::Join`] needs none.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Bytes, ResourceId, Span, Wall};
use thiserror::Error;

/// Bytes of the longest question of a stranger: a signing request, or a list of what a machine is.
pub const ASK_BYTES_MAX: usize = 16 << 10;

/// Bytes of a log that are looked at for its last lines, and sent at once.
pub const LOG_BYTES_MAX: u64 = 256 << 10;

/// Bytes of the longest question of a member: a part of its log, where what is no text takes three
/// bytes for one.
pub const MEMBER_ASK_BYTES_MAX: usize = 1 << 20;

/// Bytes of the longest answer: all certificates of a large group, or all that were revoked.
pub const TOLD_BYTES_MAX: usize = 32 << 20;

/// Machines in one answer: as many as a group has.
pub const NODES_MAX: usize = 65_536;

/// A question.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Request {
    /// To become a member, with a join token. Answered by [`Response::Joined`].
    #[n(0)]
    Join(#[n(0)] Join),
    /// A join token for somebody. For administrators. Answered by [`Response::Token`].
    #[n(1)]
    CreateToken {
        /// As what, by its word.
        #[n(0)]
        role: String,
        /// Under which name; any where it is left out.
        #[n(1)]
        name: Option<String>,
        /// For how long it can be used.
        #[n(2)]
        lifetime: Span,
        /// Whether whoever joins gets the processes of the one who had the name before.
        #[cbor(n(3), default)]
        takes_over: bool,
    },
    /// All certificates. For administrators. Answered by [`Response::Certificates`].
    #[n(2)]
    Certificates,
    /// Another certificate of the one who asks. Answered by [`Response::Renewed`].
    #[n(3)]
    Renew {
        /// The signing request, in DER.
        #[cbor(n(0), with = "minicbor::bytes")]
        request: Vec<u8>,
    },
    /// To revoke a certificate by its number, or all of a member by `role/name` or by its whole
    /// identity. For administrators. Answered by [`Response::Revoked`].
    #[n(4)]
    Revoke {
        /// Whose, or which.
        #[n(0)]
        what: String,
    },
    /// That a manager is there, and what it should know. Answered by [`Response::Present`].
    #[n(5)]
    Present(#[n(0)] Presence),
    /// The machines of the group. Answered by [`Response::Nodes`].
    #[n(6)]
    Nodes,
    /// To offer a machine no more, or again. For administrators. Answered by [`Response::Drained`].
    #[n(7)]
    Drain {
        /// Its name.
        #[n(0)]
        name: String,
        /// Whether it is to be empty.
        #[n(1)]
        is_drained: bool,
    },
    /// A part of a daemon's log. For administrators. Answered by [`Response::Log`], or by
    /// [`Response::Awaited`]: then it is asked for again.
    #[n(8)]
    Log {
        /// Lines at most, where it is the end that is wanted.
        #[n(0)]
        lines: u32,
        /// Whose, by name or `role/name`; the group manager's own where it is left out.
        #[n(1)]
        of: Option<String>,
        /// The byte from which on all is wanted.
        #[n(2)]
        from: Option<u64>,
    },
    /// What [`Present::log`] has asked for. For process and activity managers. Answered by
    /// [`Response::Taken`].
    #[n(9)]
    Written(#[n(0)] LogPart),
}

/// Which part of a log is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogRequest {
    /// Lines at most, where it is the end that is wanted.
    #[n(0)]
    pub lines: u32,
    /// The byte from which on all is wanted. In a log that is shorter, that is its beginning.
    #[n(1)]
    pub from: Option<u64>,
}

/// A part of a log: whole lines, at most [`LOG_BYTES_MAX`] of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LogPart {
    /// The lines.
    #[n(0)]
    pub text: String,
    /// The byte behind them.
    #[n(1)]
    pub end: u64,
    /// Why there are none, where the log could not be read.
    #[n(2)]
    pub trouble: Option<String>,
}

/// A request to become a member.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Join {
    /// What the token holds and nobody else knows.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub secret: Vec<u8>,
    /// As what, by its word.
    #[n(1)]
    pub role: String,
    /// Under which name; the token's own where that has one.
    #[n(2)]
    pub name: Option<String>,
    /// The signing request, in DER.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub request: Vec<u8>,
    /// Where others dial it, as host and port; none where nobody does.
    #[n(4)]
    pub address: Option<String>,
    /// Under which name where neither this message nor the token insists on one.
    #[n(5)]
    pub otherwise: Option<String>,
}

/// Without the secret, which is not for logs.
impl std::fmt::Debug for Join {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join")
            .field("role", &self.role)
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// What a manager says of itself every few seconds. Nothing of it is durable.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Presence {
    /// Its version.
    #[n(0)]
    pub program: String,
    /// The [`Present::revision`] that it has of what was revoked; 0 where it has none.
    #[n(1)]
    pub revision: u64,
    /// How the machine is, from an activity manager.
    #[n(2)]
    pub load: Option<Load>,
    /// What is the matter with it; none where it is well.
    #[n(3)]
    pub trouble: Option<String>,
}

/// How a machine is at a moment.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Load {
    /// Its cores.
    #[n(0)]
    pub cores: u32,
    /// Slots that it may lend at all.
    #[n(1)]
    pub slots: u32,
    /// Cores that were busy in the last seconds, with whatever.
    #[n(2)]
    pub busy: f64,
    /// Processes that want to run, as the system counts them over a minute.
    #[n(3)]
    pub queue: f64,
    /// Memory that nobody uses.
    #[n(4)]
    pub memory_free: Bytes,
    /// Room on the disk where the manager keeps its state.
    #[n(5)]
    pub disk_free: Bytes,
    /// Why it lends nothing at the moment; none where it does.
    #[n(6)]
    pub closed: Option<String>,
    /// Why it cannot run anything at the moment; none where it can.
    #[n(7)]
    pub not_ready: Option<String>,
    /// How it holds what commands start; none where it has not said.
    #[n(8)]
    pub containment: Option<String>,
    /// As which accounts commands run, and whom that keeps from whom.
    #[n(9)]
    pub accounts: Option<String>,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Response {
    /// Nothing was done.
    #[n(0)]
    Refused(#[n(0)] Refused),
    /// A member.
    #[n(1)]
    Joined(#[n(0)] Joined),
    /// A join token.
    #[n(2)]
    Token {
        /// Its text.
        #[n(0)]
        text: String,
        /// Until when it can be used.
        #[n(1)]
        expires: Wall,
        /// Whether the name was another one's before, whose processes stay theirs.
        #[cbor(n(2), default)]
        was_held: bool,
    },
    /// All certificates, the oldest first.
    #[n(3)]
    Certificates(#[n(0)] Vec<CertificateLine>),
    /// Another certificate, in PEM.
    #[n(4)]
    Renewed {
        /// The certificate.
        #[n(0)]
        certificate: String,
    },
    /// What counts no more since this question.
    #[n(5)]
    Revoked(#[n(0)] Vec<CertificateLine>),
    /// What a member should know.
    #[n(6)]
    Present(#[n(0)] Present),
    /// All machines, by their names, and daemons with which something is the matter.
    #[n(7)]
    Nodes(#[n(0)] Vec<Node>, #[cbor(n(1), default)] Vec<Warning>),
    /// The machine is as it was asked for, durably.
    #[n(8)]
    Drained,
    /// A part of a log.
    #[n(9)]
    Log(#[n(0)] LogPart),
    /// It will be there in a moment.
    #[n(10)]
    Awaited,
    /// It was taken.
    #[n(11)]
    Taken,
}

/// What a member begins with.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Joined {
    /// Its certificate, in PEM.
    #[n(0)]
    pub certificate: String,
    /// The authority's certificate, in PEM.
    #[n(1)]
    pub authority: String,
    /// The group manager.
    #[n(2)]
    pub group_manager: Contact,
    /// The process managers.
    #[n(3)]
    pub process_managers: Vec<Contact>,
}

/// Somebody to dial.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Contact {
    /// Its name, as in its certificate.
    #[n(0)]
    pub name: String,
    /// Host and port.
    #[n(1)]
    pub address: String,
}

/// A certificate that the group's authority has signed.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct CertificateLine {
    /// Its number, in hexadecimal.
    #[n(0)]
    pub serial: String,
    /// Whose it is.
    #[n(1)]
    pub identity: String,
    /// From when it is valid.
    #[n(2)]
    pub not_before: Wall,
    /// Until when it is valid.
    #[n(3)]
    pub not_after: Wall,
    /// When it was revoked, if it was.
    #[n(4)]
    pub revoked: Option<Wall>,
}

/// What a member should know.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Present {
    /// Counts up with what was revoked.
    #[n(0)]
    pub revision: u64,
    /// The file of what was revoked, where the member has another revision.
    #[n(1)]
    pub revoked: Option<String>,
    /// The process managers.
    #[n(2)]
    pub process_managers: Vec<Contact>,
    /// The part of the member's log that somebody wants to see, if anybody does.
    #[n(3)]
    pub log: Option<LogRequest>,
}

/// A machine as its group manager knows it.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Node {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its number.
    #[n(1)]
    pub resource: ResourceId,
    /// Slots that it lends.
    #[n(2)]
    pub slots: u32,
    /// Slots that somebody holds.
    #[n(3)]
    pub held: u32,
    /// Memory for activities.
    #[n(4)]
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    #[n(5)]
    pub power: f64,
    /// What it is or has.
    #[n(6)]
    pub labels: BTreeMap<String, String>,
    /// When it was heard of last.
    #[n(7)]
    pub seen: Wall,
    /// Whether it is offered no more.
    #[n(8)]
    pub is_drained: bool,
    /// Why nothing is sent to it; none where it is well.
    #[n(9)]
    pub suspect: Option<String>,
    /// Its version; none where it has not said.
    #[n(10)]
    pub program: Option<String>,
    /// How it is; none where it has not said.
    #[n(11)]
    pub load: Option<Load>,
    /// Until when its certificate is valid; none where the group manager does not know.
    #[n(12)]
    pub certificate_until: Option<Wall>,
}

/// What is the matter with a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Warning {
    /// Who it is, by role and name.
    #[n(0)]
    pub daemon: String,
    /// What it says.
    #[n(1)]
    pub why: String,
}

/// Why nothing was done.
#[derive(Clone, Debug, PartialEq, Eq, Error, Encode, Decode)]
pub enum Refused {
    /// It is not for this role, or there was no certificate.
    #[n(0)]
    #[error("this is for {0} only")]
    Role(#[n(0)] String),
    /// The question is none, or of a later version.
    #[n(1)]
    #[error("the question could not be understood")]
    Unreadable,
    /// What was asked for is not possible, and why.
    #[n(2)]
    #[error("{0}")]
    Not(#[n(0)] String),
    /// The group manager could not do it.
    #[n(3)]
    #[error("the group manager failed: {0}")]
    Failed(#[n(0)] String),
    /// A certificate is renewed from this time on.
    #[n(4)]
    #[error("the certificate cannot be renewed before two thirds of its time are over")]
    NotDue(#[n(0)] Wall),
}

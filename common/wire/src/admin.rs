//! Requests to a group manager: join, certificates, machines, logs. A request and its response have
//! a stream of their own, on a connection that carries nothing else.
//!
//! The certificate of the connection identifies the sender; only [`Request::Join`] needs none.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::{Bytes, ProcessId, ResourceId, Span, Wall};
use thiserror::Error;

use crate::group::Owners;

/// Bytes of the longest request of a stranger: a signing request, or a list of a machine's
/// properties.
pub const ASK_BYTES_MAX: usize = 16 << 10;

/// Bytes of a log that are searched for its last lines, and sent at once.
pub const LOG_BYTES_MAX: u64 = 256 << 10;

/// Bytes of the longest request of a member: a part of its log, in which bytes that are no text
/// take three bytes for one.
pub const MEMBER_ASK_BYTES_MAX: usize = 1 << 20;

/// Bytes of the longest response: all certificates of a large group, or all that were revoked.
pub const TOLD_BYTES_MAX: usize = 32 << 20;

/// Machines in one answer: as many as a group has.
pub const NODES_MAX: usize = 65_536;

/// A request.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Request {
    /// Become a member, with a join token. Answered by [`Response::Joined`].
    #[n(0)]
    Join(#[n(0)] Join),
    /// Create a join token. For administrators. Answered by [`Response::Token`].
    #[n(1)]
    CreateToken {
        /// The role's word.
        #[n(0)]
        role: String,
        /// The name; any if left out.
        #[n(1)]
        name: Option<String>,
        /// Validity of the token.
        #[n(2)]
        lifetime: Span,
        /// True if the new member takes over the processes of the name's previous holder.
        #[cbor(n(3), default)]
        takes_over: bool,
    },
    /// List all certificates. For administrators. Answered by [`Response::Certificates`].
    #[n(2)]
    Certificates,
    /// Renew the sender's certificate. Answered by [`Response::Renewed`].
    #[n(3)]
    Renew {
        /// The signing request, in DER.
        #[cbor(n(0), with = "minicbor::bytes")]
        request: Vec<u8>,
    },
    /// Revoke a certificate by its number, or all of a member by `role/name` or by its whole
    /// identity. For administrators. Answered by [`Response::Revoked`].
    #[n(4)]
    Revoke {
        /// The number, `role/name` or identity.
        #[n(0)]
        what: String,
    },
    /// Report that a manager is there, and receive news. Answered by [`Response::Present`].
    #[n(5)]
    Present(#[n(0)] Presence),
    /// List the machines of the group. Answered by [`Response::Nodes`].
    #[n(6)]
    Nodes,
    /// Stop offering a machine, or offer it again. For administrators. Answered by
    /// [`Response::Drained`].
    #[n(7)]
    Drain {
        /// Its name.
        #[n(0)]
        name: String,
        /// True to drain it.
        #[n(1)]
        is_drained: bool,
    },
    /// Read a part of a daemon's log. For administrators. Answered by [`Response::Log`], or by
    /// [`Response::Awaited`], after which it is requested again.
    #[n(8)]
    Log {
        /// Maximum number of lines, if the end of the log is wanted.
        #[n(0)]
        lines: u32,
        /// The daemon's name or `role/name`; the group manager itself if left out.
        #[n(1)]
        of: Option<String>,
        /// The byte from which on all lines are wanted.
        #[n(2)]
        from: Option<u64>,
    },
    /// The part of the log that [`Present::log`] requested. For process and activity managers.
    /// Answered by [`Response::Taken`].
    #[n(9)]
    Written(#[n(0)] LogPart),
    /// End what a process, or all processes of a process manager that is away, hold. For
    /// administrators. Answered by [`Response::Released`], or refused with [`Refused::NoHolder`].
    #[n(10)]
    Release {
        /// The process's ID, or the name of the process manager.
        #[n(0)]
        what: String,
    },
    /// List the join tokens that can be used. For administrators. Answered by [`Response::Tokens`].
    #[n(11)]
    Tokens,
    /// Cancel a join token that can be used. For administrators. Answered by [`Response::Tokens`] with
    /// this one.
    #[n(12)]
    CancelToken {
        /// The beginning of its id.
        #[n(0)]
        id: String,
    },
    /// The powers and loads that a machine had. Answered by [`Response::NodeHistory`].
    #[n(13)]
    NodeHistory {
        /// Its name.
        #[n(0)]
        name: String,
    },
}

/// A wanted part of a log.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct LogRequest {
    /// Maximum number of lines, if the end of the log is wanted.
    #[n(0)]
    pub lines: u32,
    /// The byte from which on all lines are wanted. A shorter log is read from its beginning.
    #[n(1)]
    pub from: Option<u64>,
}

/// A part of a log: whole lines, at most [`LOG_BYTES_MAX`] of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct LogPart {
    /// The lines.
    #[n(0)]
    pub text: String,
    /// The offset behind them.
    #[n(1)]
    pub end: u64,
    /// The error, if the log could not be read.
    #[n(2)]
    pub trouble: Option<String>,
}

/// A request to become a member.
#[derive(Clone, PartialEq, Eq, Encode, Decode)]
pub struct Join {
    /// The secret of the token.
    #[cbor(n(0), with = "minicbor::bytes")]
    pub secret: Vec<u8>,
    /// The role's word.
    #[n(1)]
    pub role: String,
    /// The name; the token's own if it has one.
    #[n(2)]
    pub name: Option<String>,
    /// The signing request, in DER.
    #[cbor(n(3), with = "minicbor::bytes")]
    pub request: Vec<u8>,
    /// The address at which others dial the member, as host and port; none if nobody does.
    #[n(4)]
    pub address: Option<String>,
    /// The name to use if neither this message nor the token requires one.
    #[n(5)]
    pub otherwise: Option<String>,
}

/// Omits the secret, which must not be logged.
impl std::fmt::Debug for Join {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Join")
            .field("role", &self.role)
            .field("name", &self.name)
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

/// The state of a manager, sent every few seconds. Nothing of it is durable.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Presence {
    /// Its version.
    #[n(0)]
    pub program: String,
    /// The [`Present::revision`] of its revocations; 0 if it has none.
    #[n(1)]
    pub revision: u64,
    /// The load of the machine, from an activity manager.
    #[n(2)]
    pub load: Option<Load>,
    /// Its warning; none if it is well.
    #[n(3)]
    pub trouble: Option<String>,
}

/// The load of a machine at a moment.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Load {
    /// Its cores.
    #[n(0)]
    pub cores: u32,
    /// Slots that it can lend.
    #[n(1)]
    pub slots: u32,
    /// Cores that were busy in the last seconds, with any work.
    #[n(2)]
    pub busy: f64,
    /// Runnable processes, the system's average over a minute.
    #[n(3)]
    pub queue: f64,
    /// Free memory.
    #[n(4)]
    pub memory_free: Bytes,
    /// Free space on the disk of the manager's state.
    #[n(5)]
    pub disk_free: Bytes,
    /// The reason why it lends nothing at the moment; none if it does.
    #[n(6)]
    pub closed: Option<String>,
    /// The reason why it cannot run anything at the moment; none if it can.
    #[n(7)]
    pub not_ready: Option<String>,
    /// The containment of its commands; none if unknown.
    #[n(8)]
    pub containment: Option<String>,
    /// The accounts under which commands run, and what that separates.
    #[n(9)]
    pub accounts: Option<String>,
    /// Cores that programs other than its commands use, smoothed over some seconds; none if unknown.
    #[n(10)]
    pub others: Option<f64>,
    /// The same as it is expected over the next minute; none if unknown.
    #[n(11)]
    pub others_expected: Option<f64>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum Response {
    /// The request changed nothing.
    #[n(0)]
    Refused(#[n(0)] Refused),
    /// The credentials of the new member.
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
        /// True if the name had another holder before, who keeps the processes of that time.
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
    /// The certificates that this request revoked.
    #[n(5)]
    Revoked(#[n(0)] Vec<CertificateLine>),
    /// News for a member.
    #[n(6)]
    Present(#[n(0)] Present),
    /// All machines by name, the daemons with a warning, and how users share the group where it has a
    /// rule for that.
    #[n(7)]
    Nodes(
        #[n(0)] Vec<Node>,
        #[cbor(n(1), default)] Vec<Warning>,
        #[n(2)] Option<Owners>,
    ),
    /// The machine is drained, or offered again, durably.
    #[n(8)]
    Drained,
    /// A part of a log.
    #[n(9)]
    Log(#[n(0)] LogPart),
    /// The part is being fetched; request it again.
    #[n(10)]
    Awaited,
    /// The part was received.
    #[n(11)]
    Taken,
    /// So many slots are free as soon as machines have nothing of their holders.
    #[n(12)]
    Released {
        /// The slots.
        #[n(0)]
        slots: u64,
    },
    /// Join tokens, the one that expires first before the others.
    #[n(13)]
    Tokens(#[n(0)] Vec<TokenLine>),
    /// The history of a machine, oldest first: at most [`MOMENTS_MAX`].
    #[n(14)]
    NodeHistory(#[n(0)] Vec<Moment>),
}

/// A join token, without what is needed to join by it.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct TokenLine {
    /// Its id, in hexadecimal.
    #[n(0)]
    pub id: String,
    /// The word of the new member's role.
    #[n(1)]
    pub role: String,
    /// The only permitted name; none if any name is permitted.
    #[n(2)]
    pub name: Option<String>,
    /// True if the new member takes over the processes of the name's previous holder.
    #[n(3)]
    pub takes_over: bool,
    /// The identity of the administrator who has made it; none if unknown.
    #[n(4)]
    pub made_by: Option<String>,
    /// Until when it can be used.
    #[n(5)]
    pub expires: Wall,
}

/// The credentials of a new member.
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

/// A peer to dial.
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
    /// The holder.
    #[n(1)]
    pub identity: String,
    /// From when it is valid.
    #[n(2)]
    pub not_before: Wall,
    /// Until when it is valid.
    #[n(3)]
    pub not_after: Wall,
    /// The time of its revocation, if it was revoked.
    #[n(4)]
    pub revoked: Option<Wall>,
}

/// News for a member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Present {
    /// The number of the present list of revocations: that of any other list differs.
    #[n(0)]
    pub revision: u64,
    /// The list of revocations, if the member has another revision.
    #[n(1)]
    pub revoked: Option<String>,
    /// The process managers.
    #[n(2)]
    pub process_managers: Vec<Contact>,
    /// The part of the member's log that an administrator wants, if any.
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
    /// Slots that are granted.
    #[n(3)]
    pub held: u32,
    /// Memory for activities.
    #[n(4)]
    pub memory: Bytes,
    /// Reference seconds of work that one core does in a second.
    #[n(5)]
    pub power: f64,
    /// Its labels.
    #[n(6)]
    pub labels: BTreeMap<String, String>,
    /// The last time at which it was heard.
    #[n(7)]
    pub seen: Wall,
    /// True if it is not offered any more.
    #[n(8)]
    pub is_drained: bool,
    /// The reason why nothing is sent to it; none if it is well.
    #[n(9)]
    pub suspect: Option<String>,
    /// Its version; none if unknown.
    #[n(10)]
    pub program: Option<String>,
    /// Its load; none if unknown.
    #[n(11)]
    pub load: Option<Load>,
    /// End of its certificate's validity; none if the group manager does not know it.
    #[n(12)]
    pub certificate_until: Option<Wall>,
    /// The processes that hold slots of it, so many as are told; to users, their own.
    #[cbor(n(13), default)]
    pub holders: Vec<Holder>,
    /// The time after which it is forgotten if it does not come back; none if it is not to be.
    #[n(14)]
    pub forgotten_in: Option<Span>,
    /// Thousandths of its power that it has by what it has shown to processes; none where that is as measured, or
    /// nothing is known.
    #[n(15)]
    pub shown: Option<u32>,
}

/// Moments of a machine's history that are kept: 21 hours of one each ten minutes, where nothing changes.
pub const MOMENTS_MAX: usize = 128;

/// The power and the load of a machine at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
pub struct Moment {
    /// The moment.
    #[n(0)]
    pub at: Wall,
    /// Its measured power: reference seconds of work that one core does in a second.
    #[n(1)]
    pub power: f32,
    /// Thousandths of it that it had by what it has shown to processes; none as in [`Node::shown`].
    #[n(2)]
    pub shown: Option<u32>,
    /// Cores that programs other than its commands used; none if unknown.
    #[n(3)]
    pub others: Option<f32>,
    /// The same as it was expected from there on.
    #[n(4)]
    pub others_expected: Option<f32>,
}

/// Processes of one machine that are told as its holders, each with some hundred bytes.
pub const HOLDERS_MAX: usize = 64;

/// A process that holds slots of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Holder {
    /// The process.
    #[n(0)]
    pub process: ProcessId,
    /// The identity of its owner; none if it has none.
    #[n(1)]
    pub owner: Option<String>,
    /// The slots.
    #[n(2)]
    pub slots: u32,
}

/// A warning about a daemon.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Warning {
    /// The daemon, by role and name.
    #[n(0)]
    pub daemon: String,
    /// The warning.
    #[n(1)]
    pub why: String,
}

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq, Error, Encode, Decode)]
pub enum Refused {
    /// The sender's role may not do this, or it has no certificate.
    #[n(0)]
    #[error("this is for {0} only")]
    Role(#[n(0)] String),
    /// The request is unreadable, or of a later version.
    #[n(1)]
    #[error("the question could not be understood")]
    Unreadable,
    /// The request is not possible, for this reason.
    #[n(2)]
    #[error("{0}")]
    Not(#[n(0)] String),
    /// The group manager failed.
    #[n(3)]
    #[error("the group manager failed: {0}")]
    Failed(#[n(0)] String),
    /// The certificate can be renewed from this time on.
    #[n(4)]
    #[error("the certificate cannot be renewed before two thirds of its time are over")]
    NotDue(#[n(0)] Wall),
    /// [`Request::Release`] names no process manager, and it is not the whole ID of a process.
    #[n(5)]
    #[error("there is no process manager {0:?}, and it is no process's ID")]
    NoHolder(#[n(0)] String),
}

//! The bounds of queues, batches and connections, each with its unit and its reason.

use model::Span;

/// Inputs stepped in one batch: enough that the flush costs each of them little, few enough that
/// the first waits for the last for some milliseconds at most.
pub const STEP_INPUTS_MAX: usize = 256;

/// Time after which a step takes no further input: urgent inputs that have come meanwhile are taken
/// first. What waits for the flush of the batch waits for so long at most.
pub const STEP_TIME_MAX: Span = Span::from_millis(20);

/// Inputs of one lane that wait for a core. Senders batch, so a full queue means that the core has
/// stopped.
pub const INBOX_INPUTS_MAX: usize = 16_384;

/// Urgent inputs that wait for a core: several of each machine of a large group.
pub const INBOX_URGENT_MAX: usize = 4_096;

/// Bytes of messages that wait for a core: two of the longest.
pub const INBOX_BYTES_MAX: usize = 2 * wire::MESSAGE_BYTES_MAX;

/// Events up to this many bytes are made durable by the core's own thread if nothing else waits:
/// switching to another thread and back would cost more than the write.
pub const COMMIT_INLINE_BYTES_MAX: usize = 64 << 10;

/// Bytes of events that may wait for a running flush before stepping pauses.
pub const COMMIT_WAITING_BYTES_MAX: usize = 32 << 20;

/// Time for which a batch may wait for others that nobody waits for either: some flushes of a fast disk, and a
/// fraction of what is sent ahead to machines of short commands.
pub const COMMIT_WAIT_MAX: Span = Span::from_millis(2);

/// Batches that may wait for a running flush, because their effects are in memory.
pub const COMMIT_WAITING_BATCHES_MAX: usize = 256;

/// Time for which a link that has lost a message stays down, so that its ends are not notified
/// again and again of a receiver that does not keep up.
pub const LINK_PAUSE: Span = Span::from_millis(100);

/// Clients that may be connected at the same time: people and scripts of one user, who may watch
/// some hundred processes.
pub const CLIENTS_MAX: usize = 256;

/// Clients that wait for one of these places: each is a socket and nothing else.
pub const CLIENTS_WAITING_MAX: usize = 1_024;

/// Time after which a client that waits for a place tells its user.
pub const CLIENT_QUEUED_MAX: Span = Span::from_secs(2);

/// Clients on other machines that may be connected at the same time, of all users together. Each
/// has two threads and some 100 KiB.
pub const REMOTE_CLIENTS_MAX: usize = 1_024;

/// Connections of one user on other machines: scripts that watch some hundred processes. A user who
/// opens more takes no places of others.
pub const REMOTE_CONNECTIONS_EACH_MAX: usize = 256;

/// Bytes of the longest request from another machine: the longest readable definition.
pub const REMOTE_MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Bytes of answers that wait for one client. A single longer answer is sent if nothing waits.
pub const CLIENT_WAITING_BYTES_MAX: usize = 16 << 20;

/// Requests of one client that wait for the core; more stay in its socket.
pub const CLIENT_REQUESTS_MAX: usize = 64;

/// Time for which a client may leave an answer unread before it is disconnected.
pub const CLIENT_WRITE_SECONDS_MAX: u64 = 10;

/// Default time to wait for the answer to a request.
pub const CLIENT_ANSWER_SECONDS_MAX: u64 = 60;

/// Time for which a client tries to reach a manager on another machine before it reports failure:
/// longer than a killed daemon takes to start again.
pub const CLIENT_REACH_SECONDS_MAX: u64 = 10;

/// Concurrent handshakes from addresses that no member is known by. One more ends the oldest of the
/// largest crowd.
pub const HANDSHAKES_MAX: usize = 64;

/// Concurrent handshakes from one such address. Behind it may be a whole network: at 50 a second,
/// each has more than half a second for what takes some milliseconds.
pub const HANDSHAKES_EACH_MAX: usize = 32;

/// Concurrent handshakes from one such network (/24, or /48 of IPv6).
pub const HANDSHAKES_NETWORK_MAX: usize = 48;

/// Concurrent handshakes from addresses of recent members: a large group that reconnects at once.
pub const KNOWN_HANDSHAKES_MAX: usize = 1_024;

/// Concurrent handshakes from one such address.
pub const KNOWN_HANDSHAKES_EACH_MAX: usize = 256;

/// Addresses of members that are remembered: those of a large group and its users.
pub const KNOWN_ADDRESSES_MAX: usize = 4_096;

/// Members that may be between the end of their handshake and their greeting.
pub const LINK_GREETINGS_MAX: usize = 256;

/// Connections of one member in that state: half of all, for a user whose hundreds of programs connect at
/// once. Where these are too many, the largest crowd loses its oldest.
pub const LINK_GREETINGS_EACH_MAX: usize = 128;

/// Peers without a certificate that may be connected to request one at a time: people join one by
/// one.
pub const STRANGERS_MAX: usize = 16;

/// Such peers from one network.
pub const STRANGERS_EACH_MAX: usize = 8;

/// Time in which a peer without a certificate must have sent its request, which it has at hand.
pub const STRANGER_REQUEST_MAX: Span = Span::from_secs(2);

/// Requests of peers without a certificate that wait for an answer, so that they do not delay those
/// of members.
pub const STRANGER_REQUESTS_MAX: usize = 8;

/// Incoming connections that wait to be accepted, a batch of packets or two.
pub const INCOMING_MAX: usize = 1_024;

/// Bytes of packets that are kept for one such connection, and for all.
pub const INCOMING_BYTES_MAX: u64 = 64 << 10;
/// See [`INCOMING_BYTES_MAX`].
pub const INCOMING_BYTES_ALL_MAX: u64 = 4 << 20;

/// Bytes that a peer may send before it is known as a member: a greeting or a join request.
pub const UNKNOWN_WINDOW_BYTES: u32 = 64 << 10;

/// Sources of refused connections for which the time of the last log line is remembered.
pub const REFUSED_SOURCES_MAX: usize = 256;

/// Shortest time between two log lines about a refused source.
pub const REFUSED_PERIOD: Span = Span::from_secs(60);

/// Links to other machines, dialled and accepted together: ten times the machines of a large
/// group, and those of users.
pub const LINKS_MAX: usize = 1_024 + REMOTE_CLIENTS_MAX;

/// Longest time from a peer's first packet to the end of its greeting.
pub const LINK_GREETING_MAX: Span = Span::from_secs(5);

/// Interval at which something is sent on an idle link. It is longer than the time between two signs of
/// life of a machine, which then sends nothing else: each packet and its confirmation cost each side some
/// 100 µs of CPU time, and a group manager has hundreds of idle links. What is lost is sent again several
/// times before [`LINK_SILENCE_MAX`].
pub const LINK_KEEP_ALIVE: Span = Span::from_millis(2_200);

/// The same for a connection for requests: longer than the time between two reports of a member.
pub const REQUEST_KEEP_ALIVE: Span = Span::from_millis(4_500);

/// Time without packets after which a connection for requests counts as lost.
pub const REQUEST_SILENCE_MAX: Span = Span::from_secs(9);

/// Time without packets after which a peer counts as gone.
pub const LINK_SILENCE_MAX: Span = Span::from_secs(3);

/// Bytes that wait for one peer on another machine, beside those in flight. A single longer message
/// is taken if nothing waits.
pub const LINK_WAITING_BYTES_MAX: usize = 16 << 20;

/// Bytes in flight to one peer that it has not confirmed: a tenth of a second at 40 MiB/s.
pub const LINK_WINDOW_BYTES: u32 = 4 << 20;

/// Socket buffer of links. With the system's default of 212 kB, thousands of packets are lost on
/// one machine.
pub const LINK_SOCKET_BYTES: usize = 4 << 20;

/// The pause after the first failure to reach a peer; it doubles up to [`LINK_RETRY_MAX`].
pub const LINK_RETRY_MIN: Span = Span::from_millis(100);

/// The longest pause between two attempts to reach a peer. With the packets of each attempt, a peer
/// that comes back is reached within 0.6 s, however long it was away; it should be at work again
/// within a second.
pub const LINK_RETRY_MAX: Span = Span::from_millis(500);

/// Longest time until the first packet from a dialled peer: ten times the way around the world.
pub const LINK_KNOCK_MAX: Span = Span::from_secs(1);

/// The same for a client whose attempts before were not answered: below [`LINK_GREETING_MAX`], and so
/// short that a client makes three attempts before it reports failure.
pub const LINK_KNOCK_CROWDED_MAX: Span = Span::from_secs(4);

/// The assumed round-trip time before it is measured: the first packet is repeated after three
/// times this value, and again after six times. A longer way costs some packets.
pub const LINK_FIRST_ROUND_TRIP: Span = Span::from_millis(100);

/// Bulk connections that others may have to this program: as many as links to machines.
pub const BULK_CONNECTIONS_MAX: usize = 1_024;

/// Bulk connections of one user: some terminals and scripts that fetch files.
pub const BULK_CONNECTIONS_OF_USER_MAX: usize = 32;

/// Bulk connections of one machine: one, and another while the first is given up.
pub const BULK_CONNECTIONS_EACH_MAX: usize = 2;

/// Concurrent transfers on one connection. More would only share the same link.
pub const BULK_STREAMS_MAX: u32 = 4;

/// Bytes that are read from a disk or written to it in one call.
pub const BULK_PIECE_BYTES: usize = 256 << 10;

/// Bytes that go before a probe, so that it does not measure the slow start of its connection.
pub const BULK_PROBE_WARMING_BYTES: u64 = 256 << 10;

/// Bytes that a peer must move within [`BULK_SILENCE_MAX`]; otherwise the transfer ends.
pub const BULK_PROGRESS_BYTES: usize = 64 << 10;

/// Time for which a peer may be silent in a transfer, or take for [`BULK_PROGRESS_BYTES`].
pub const BULK_SILENCE_MAX: Span = Span::from_secs(5);

/// Interval at which a peer is told that its blob has arrived while the disk still writes it.
pub const BULK_SIGN_OF_LIFE: Span = Span::from_secs(1);

/// Pieces that wait between the network and the writer.
pub const BULK_WAITING_PIECES_MAX: usize = 4;

/// Bytes in flight on one transfer: a tenth of a second at 40 MiB/s.
pub const BULK_STREAM_WINDOW_BYTES: u32 = 4 << 20;

/// Bytes in flight on one connection, of all its transfers.
pub const BULK_WINDOW_BYTES: u32 = 8 << 20;

/// Interrupted transfers that are kept to be continued.
pub const BULK_PARKED_MAX: usize = 16;

/// Number of times that an interrupted transfer is continued without progress.
pub const BULK_TRIES_MAX: u32 = 3;

/// The pause before an interrupted transfer is continued.
pub const BULK_PAUSE: Span = Span::from_millis(200);

/// Time for which an unreachable peer is not tried again, so that the next hundred files do not
/// wait for it one after another.
pub const BULK_UNREACHABLE: Span = Span::from_secs(2);

/// Default size of the largest file that is taken from a peer.
pub const BULK_BLOB_BYTES_MAX: u64 = 1 << 40;

/// Bytes a second to or from one peer above which the rate is not limited.
pub const BULK_RATE_MAX: u64 = 100 << 30;

/// The longest burst over the rate of a link: the bytes of a tenth of a second.
pub const BULK_BURST: Span = Span::from_millis(100);

/// Time for which links wait at their end until peers are notified.
pub const LINK_FAREWELL_MAX: Span = Span::from_millis(500);

/// Connections for requests of managers at the same time: each of a large group keeps one beside its link.
pub const REQUEST_CONNECTIONS_MANAGERS_MAX: usize = LINKS_MAX;

/// Connections for requests of users at the same time.
pub const REQUEST_CONNECTIONS_USERS_MAX: usize = 1_024;

/// Connections for requests of administrators at the same time, which nobody else takes from them.
pub const REQUEST_CONNECTIONS_ADMINS_MAX: usize = 256;

/// Such connections of one member: some terminals and scripts of a user.
pub const REQUEST_CONNECTIONS_EACH_MAX: usize = 32;

/// Requests that wait for an answer. Further ones are refused and may be repeated later.
pub const REQUESTS_WAITING_MAX: usize = 256;

/// Longest time for an answer: the handler writes files and asks its manager.
pub const REQUEST_ANSWER_MAX: Span = Span::from_secs(10);

/// Default time for which a process manager keeps a process that has ended, and a machine keeps the
/// process's files.
pub const KEPT: Span = Span::from_secs(30 * 86_400);

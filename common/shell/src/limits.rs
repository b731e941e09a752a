//! The bounds of queues, batches and connections, each with its unit and its reason.

use model::Span;

/// Inputs stepped in one batch: enough that a flush costs each of them little, few enough that the
/// first does not wait for the last more than some milliseconds.
pub const STEP_INPUTS_MAX: usize = 256;

/// Inputs that wait for a core. Senders batch, so a full queue is a core that has stopped.
pub const INBOX_INPUTS_MAX: usize = 16_384;

/// Bytes of messages that wait for a core: two of the longest.
pub const INBOX_BYTES_MAX: usize = 2 * wire::MESSAGE_BYTES_MAX;

/// A group of events up to this many bytes is made durable by the core's own thread where nothing
/// else waits: a switch to another thread and back would cost more than the writing.
pub const COMMIT_INLINE_BYTES_MAX: usize = 64 << 10;

/// Bytes of events that may wait for a flush under way before no more inputs are stepped.
pub const COMMIT_WAITING_BYTES_MAX: usize = 32 << 20;

/// Batches that may wait for a flush under way, for the same reason: their effects are in memory.
pub const COMMIT_WAITING_BATCHES_MAX: usize = 256;

/// How long a link that has lost a message stays down, so that its ends are not told again and
/// again of a receiver that does not keep up.
pub const LINK_PAUSE: Span = Span::from_millis(100);

/// Clients that may be connected at the same time: people and scripts of one user.
pub const CLIENTS_MAX: usize = 64;

/// Clients on other machines that may be connected at the same time, all users together.
pub const REMOTE_CLIENTS_MAX: usize = 256;

/// Connections of one user on other machines: some terminals and scripts. Whoever opens more takes
/// no places of others.
pub const REMOTE_CONNECTIONS_EACH_MAX: usize = 32;

/// Bytes of the longest request from another machine: the longest definition that is read.
pub const REMOTE_MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Bytes of answers that wait for one client; a single longer answer is sent where nothing waits.
pub const CLIENT_WAITING_BYTES_MAX: usize = 16 << 20;

/// Requests of one client that wait for the core; more stay in its socket.
pub const CLIENT_REQUESTS_MAX: usize = 64;

/// How long a client may leave an answer unread before it is cut off.
pub const CLIENT_WRITE_SECONDS_MAX: u64 = 10;

/// How long a client waits for the answer to a request, unless it says otherwise.
pub const CLIENT_ANSWER_SECONDS_MAX: u64 = 60;

/// How long a client tries to reach a manager on another machine before it says that it cannot: the
/// time in which a daemon that was killed is started again, and some more.
pub const CLIENT_REACH_SECONDS_MAX: u64 = 10;

/// Handshakes at a time of addresses that no member is known by. Where one more comes, the oldest of
/// the largest crowd ends.
pub const HANDSHAKES_MAX: usize = 64;

/// Of them, handshakes of one address. Behind it may be a whole network: at 50 a second, each has
/// more than half a second for what takes some milliseconds.
pub const HANDSHAKES_EACH_MAX: usize = 32;

/// Of them, handshakes of one network (/24, or /48 of IPv6).
pub const HANDSHAKES_NETWORK_MAX: usize = 48;

/// Handshakes at a time of addresses from which members came lately: a large group that comes back
/// at once.
pub const KNOWN_HANDSHAKES_MAX: usize = 1_024;

/// Of them, handshakes of one address.
pub const KNOWN_HANDSHAKES_EACH_MAX: usize = 256;

/// Addresses of members that are remembered: those of a large group and its users.
pub const KNOWN_ADDRESSES_MAX: usize = 4_096;

/// Members that may be between the end of their handshake and their greeting.
pub const LINK_GREETINGS_MAX: usize = 256;

/// Of them, those of one member.
pub const LINK_GREETINGS_EACH_MAX: usize = 32;

/// Peers without a certificate that may be about to ask for one at a time: people join one by one.
pub const STRANGERS_MAX: usize = 16;

/// Of them, those of one network.
pub const STRANGERS_EACH_MAX: usize = 8;

/// How long a peer without a certificate may take for its question. It has it at hand.
pub const STRANGER_REQUEST_MAX: Span = Span::from_secs(2);

/// Questions of peers without a certificate that wait for an answer, so that those of members do not
/// wait behind more.
pub const STRANGER_REQUESTS_MAX: usize = 8;

/// Incoming connections that wait to be looked at, a batch of packets or two.
pub const INCOMING_MAX: usize = 1_024;

/// Bytes of packets that are kept for one of them, and for all.
pub const INCOMING_BYTES_MAX: u64 = 64 << 10;
/// See [`INCOMING_BYTES_MAX`].
pub const INCOMING_BYTES_ALL_MAX: u64 = 4 << 20;

/// Bytes that a peer may send before it is known as a member: a greeting, or a question of one who
/// wants to join.
pub const UNKNOWN_WINDOW_BYTES: u32 = 64 << 10;

/// Sources of refused connections of which it is known when they were logged last.
pub const REFUSED_SOURCES_MAX: usize = 256;

/// How often a refused source is logged.
pub const REFUSED_PERIOD: Span = Span::from_secs(60);

/// Links to other machines, dialled and accepted together: ten times the machines of a large
/// group.
pub const LINKS_MAX: usize = 1_024;

/// How long a peer may take from its first packet to the end of its greeting.
pub const LINK_GREETING_MAX: Span = Span::from_secs(5);

/// How often something is sent on a link on which there is nothing to say.
pub const LINK_KEEP_ALIVE: Span = Span::from_millis(500);

/// How long a peer may be silent: six lost packets in a row.
pub const LINK_SILENCE_MAX: Span = Span::from_secs(3);

/// Bytes that wait for one peer on another machine, beside those under way; a single longer message
/// is taken where nothing waits.
pub const LINK_WAITING_BYTES_MAX: usize = 16 << 20;

/// Bytes under way to one peer that it has not confirmed: a tenth of a second at 40 MiB/s.
pub const LINK_WINDOW_BYTES: u32 = 4 << 20;

/// Bytes that the system keeps for a socket of links. With its default of 212 kB, thousands of
/// packets are lost on one machine.
pub const LINK_SOCKET_BYTES: usize = 4 << 20;

/// The pause after the first failure to reach a peer; it doubles up to [`LINK_RETRY_MAX`].
pub const LINK_RETRY_MIN: Span = Span::from_millis(100);

/// The longest pause between two attempts to reach a peer. With what an attempt sends, a peer that
/// comes back is knocked at within 0.6 s, however long it was away: it is to be at work again within
/// a second.
pub const LINK_RETRY_MAX: Span = Span::from_millis(500);

/// How long one who was dialled may take for a sign of life: ten times the way around the world.
pub const LINK_KNOCK_MAX: Span = Span::from_secs(1);

/// What the way to a peer and back is taken for before it is known: three times that pass before the
/// first packet is sent again, and then six. A longer way costs some packets.
pub const LINK_FIRST_ROUND_TRIP: Span = Span::from_millis(100);

/// Connections for files that others may have to this program: as many as links.
pub const BULK_CONNECTIONS_MAX: usize = LINKS_MAX;

/// Connections for files of one machine: one, and another while the first is given up.
pub const BULK_CONNECTIONS_EACH_MAX: usize = 2;

/// Transfers at a time on one connection. More would only share the same link.
pub const BULK_STREAMS_MAX: u32 = 4;

/// Bytes that are read from a disk or written to it at a time.
pub const BULK_PIECE_BYTES: usize = 256 << 10;

/// Bytes that a peer must move within [`BULK_SILENCE_MAX`], or the transfer ends.
pub const BULK_PROGRESS_BYTES: usize = 64 << 10;

/// How long a peer may be silent, or take for [`BULK_PROGRESS_BYTES`], in a transfer.
pub const BULK_SILENCE_MAX: Span = Span::from_secs(5);

/// How often a peer is told that its blob has come while the disk is still at it.
pub const BULK_SIGN_OF_LIFE: Span = Span::from_secs(1);

/// Pieces that wait between the network and whoever writes them.
pub const BULK_WAITING_PIECES_MAX: usize = 4;

/// Bytes under way on one transfer: a tenth of a second at 40 MiB/s.
pub const BULK_STREAM_WINDOW_BYTES: u32 = 4 << 20;

/// Bytes under way on one connection, of all its transfers.
pub const BULK_WINDOW_BYTES: u32 = 8 << 20;

/// Transfers that were cut and are kept to be gone on with.
pub const BULK_PARKED_MAX: usize = 16;

/// How often a transfer that is cut again without having come further is gone on with.
pub const BULK_TRIES_MAX: u32 = 3;

/// The pause before a transfer that was cut goes on.
pub const BULK_PAUSE: Span = Span::from_millis(200);

/// For how long a peer that could not be reached is not tried again, so that the next hundred files
/// do not wait for it one after another.
pub const BULK_UNREACHABLE: Span = Span::from_secs(2);

/// Bytes of the largest file that is taken from a peer, where nothing else is configured.
pub const BULK_BLOB_BYTES_MAX: u64 = 1 << 40;

/// Bytes a second to or from one peer beyond which no bound is kept.
pub const BULK_RATE_MAX: u64 = 100 << 30;

/// The longest burst over the rate of a link: what moves in a tenth of a second.
pub const BULK_BURST: Span = Span::from_millis(100);

/// How long the links' end waits until peers have been told.
pub const LINK_FAREWELL_MAX: Span = Span::from_millis(500);

/// Members that are at a desk at the same time: each member of a large group, with a connection
/// that it keeps.
pub const REQUEST_CONNECTIONS_MAX: usize = 1_024;

/// Of them, those of one member: some terminals and scripts of a user.
pub const REQUEST_CONNECTIONS_EACH_MAX: usize = 32;

/// Questions that wait for a desk's answers; whoever comes then is told to come later.
pub const REQUESTS_WAITING_MAX: usize = 256;

/// How long a desk may take for an answer: it writes files and asks its manager.
pub const REQUEST_ANSWER_MAX: Span = Span::from_secs(10);

/// How long a process manager keeps a process that has ended, and a machine what it has left there,
/// where nothing else is configured.
pub const KEPT: Span = Span::from_secs(30 * 86_400);

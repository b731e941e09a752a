//! Bounds of a process manager, each with its reason.

use model::Span;

/// Time after a start in which files of a machine whose group has not named it are not made again: long
/// against the absence of a group manager that is started again.
pub(crate) const UNNAMED_FOR: Span = Span::from_secs(60);
/// Lateness of a timer by which this manager stood still: it was stopped, or its machine slept. No load makes it so late.
pub(crate) const STOOD_STILL: Span = Span::from_secs(1);
/// Time in which machines come back to a manager that stood still: a try to connect lasts a second at most, and the next
/// one begins half a second later.
pub(crate) const BACK_WITHIN: Span = Span::from_secs(2);
/// Processes that have not ended: each costs memory.
pub const PROCESSES_MAX: usize = 10_000;
/// Bytes of the founding event of a process: the longest event of a journal, but for its frame and the
/// moment that it is recorded with.
pub const FOUNDED_BYTES_MAX: u64 = (128 << 20) - 1_024;
/// Clients that watch at the same time.
pub const WATCHERS_MAX: usize = 1_000;
/// An unanswered message is sent again after this time: long against a round trip, short against
/// the patience of a user.
pub const REPEAT: Span = Span::from_secs(1);
/// An attempt that a machine refuses because it does not know of its grant is sent again after this time
/// at first: the grant left the group manager before the attempt left here.
pub const GRANT_LATE: Span = Span::from_millis(10);
/// Slots that a process needs no more are given back after this time: short against the patience of
/// those who wait for them, and so long that the end of a wide step is one message, and that processes
/// of short commands send none.
pub const RETURN_AFTER: Span = Span::from_millis(200);
/// A process whose rest fits nowhere for so long, and of which nothing runs, gives its slots back: another
/// one may wait for them that has what it waits for itself. Machines that restart are back before.
pub const STALLED_AFTER: Span = Span::from_secs(30);
/// Processes that are looked at in one step to use slots which the first one cannot use yet: each costs as
/// much as to plan it.
pub const BACKFILL_MAX: usize = 32;
/// The time by which a process must end before the slots that it uses are wanted by the first one: its
/// files are laid out and its end is reported meanwhile, and its slots are offered again.
pub const BACKFILL_MARGIN: Span = Span::from_secs(1);
/// Shorter activities than [`LONG`] are sent as long as those that have not started take no longer than this on the slots
/// of their machine: many round trips, and so little that the rest may go to slots that become free elsewhere.
pub const QUEUED: Span = Span::from_secs(2);
/// An activity that is expected to take so long is sent only when its machine has a slot for it, or to be
/// the next one there: what has not been sent may still be planned elsewhere.
pub const LONG: Span = Span::from_secs(1);
/// An activity that takes so long is not sent either to be the next one there: a slot that becomes free elsewhere may
/// take it, and a round trip is a small part of it.
pub const LONGER: Span = Span::from_secs(2);
/// A process is planned again for more slots if what is ready keeps its own slots busy for so long.
pub const GROW_GAIN: Span = Span::from_secs(1);
/// The time between two plans of a process for more slots, for each of its activities: several times what
/// it takes to plan one.
pub const GROW_EACH: Span = Span(100);
/// Activities of a process up to which items that no plan has are planned as soon as they are known: that
/// takes less time than one of them.
pub const REPLAN_AT_ONCE_MAX: usize = 256;
/// The time between two plans of a larger process for items that no plan has, for each of its activities and
/// as long as others of it run: several times what it takes to plan one. So a process of 100,000 items that
/// become known one after another is planned every ten seconds at most.
pub const REPLAN_EACH: Span = Span(100);
/// Ready activities that wait for checks of their outcomes and may be passed over in each step.
pub(crate) const HELD_BACK_FREE: u64 = 256;
/// The time until more of them are passed over again, for each: ten times what it takes to pass over one. The
/// slots of a process of 100,000 wait for a fifth of a second at most.
pub(crate) const HELD_BACK_EACH: Span = Span(2);
/// Machines of a process are looked at this often at most, whatever ends there: a look costs some
/// microseconds for each machine.
pub const JUDGE_EACH: Span = Span::from_millis(50);
/// A running activity is overdue when it has taken this much longer than expected at the earliest: on a busy
/// machine, a command of some milliseconds may take a tenth of a second by chance.
pub const LATE_LEAST: Span = Span::from_millis(500);
/// A repeatable activity is started a second time elsewhere when it has taken so many times as long as nine in ten
/// runs of it take...
pub const STRAGGLES: f64 = 2.0;
/// ...and at least so long, since to send it elsewhere takes a while...
pub const STRAGGLES_LEAST: Span = Span::from_secs(1);
/// ...but not after so many attempts: it may be its inputs that take so long.
pub const STRAGGLED_MAX: u32 = 3;
/// A machine whose links are unknown is asked to measure one this often at most, while processes are planned on it.
pub const PROBE_EACH: Span = Span::from_secs(600);
/// Machines that are asked at a time: a megabyte crosses the network for each.
pub const PROBES_AT_ONCE: usize = 64;
/// Second attempts of a process that are out at the same time: each costs as much as its activity, and where more
/// take too long, it is their machine that is slow, and plans move what has not started.
pub const RACES_MAX: usize = 8;
/// Attempts of a process that are out beside others since their activities want several: each is looked at whenever
/// something is to be stopped.
pub const REPLICAS_OUT_MAX: usize = 64;
/// The time after which an activity that takes too long, and that had no room for a second attempt, is looked at again.
pub const RACE_EACH: Span = Span::from_secs(1);
/// Each claim for slots to race an attempt on makes the next one wait twice as long, but not more often than this: a
/// minute is short beside what such an attempt takes by then.
pub const RACE_CLAIMS_DOUBLED: u32 = 6;
/// Ready activities of later rounds that are passed over at a time: a machine that would idle gets the first of them
/// ahead of their rounds.
pub(crate) const LATER_PASSED_MAX: usize = 256;
/// The time between two plans of a process because of slow machines: longer than most plans take. For a large
/// process it is [`MOVE_EACH_ACTIVITY`] for each of its activities.
pub const MOVE_EACH: Span = Span::from_millis(200);
/// Some fifty times what it takes to plan an activity once more, so that a process manager spends little of its time on
/// such plans, however short the activities are. The first plan waits for nothing.
pub const MOVE_EACH_ACTIVITY: Span = Span(500);
/// Activities move for so much time at least: to take attempts back and send them elsewhere takes a round trip.
pub const MOVE_GAIN: Span = Span::from_millis(100);
/// Groups are told this often at most what their machines have shown, and by so much (of the logarithm) it has to
/// differ from what was told last: they offer it in steps of a twentieth.
pub const SHOWN_EACH: Span = Span::from_secs(5);
pub const SHOWN_CHANGES_FROM: f64 = 0.05;
/// What lasts is told again after this time: group managers let it fade, by half in half an hour.
pub const SHOWN_AGAIN: Span = Span::from_secs(300);
/// The least activities that have ended on a machine, and the most that their times vary by chance (the standard
/// error of the logarithm of the machine's power), for other processes to count on what it has shown.
pub const SHOWN_TASKS_LEAST: f64 = 3.0;
pub const SHOWN_ERROR_MAX: f64 = 0.15;
/// Plans that give an activity another machine, after which it stays where it is...
pub const MOVES_MAX: u32 = 2;
/// ...for so long after the last of them: many times as long as it takes to see that a machine is slow.
pub const MOVED_FOR: Span = Span::from_secs(60);
/// A machine stands still when an attempt has run there for so many times as long as expected: by then a competitor is
/// unlikely, which leaves a part of the power...
pub const STANDS_STILL: f64 = 10.0;
/// ...and for so long at least.
pub const STANDS_STILL_LEAST: Span = Span::from_secs(5);
/// A machine that does not give attempts back for so long keeps them: by then it is suspect, and its activities
/// are planned again for that reason.
pub const RETRACT_FOR: Span = Span::from_secs(3);
/// Slots that other process managers may claim too have been free for so long before a process uses them
/// beside those that it holds: processes that hold none come first, whoever manages them.
pub const GROW_SHARED_AFTER: Span = Span::from_secs(1);
/// A process whose turn it is has fitted nowhere for so long before slots are kept for it: most get some
/// before, without a message.
pub const OVERDUE_AFTER: Span = Span::from_secs(1);
/// A group manager that has said nothing for so long is asked again: it repeats its offer more
/// often than that, so either it does not know this manager or the offer came by an earlier
/// connection.
pub const SILENCE: Span = Span::from_secs(15);
/// The greatest age of an offer that may end a process for want of a machine: a group repeats its
/// offer every five seconds.
pub const OFFER_FRESH: Span = Span::from_secs(6);
/// Processes say that they wait for a group manager after so long without an offer of any: one that is started again
/// is back before.
pub const SILENT_FOR: Span = Span::from_secs(3);
/// A watcher is told at most this often.
pub const WATCH: Span = Span::from_millis(100);
/// Timers that ring in one step: thousands of processes may wait for the same moment, and leases are
/// answered between two steps.
pub const TIMERS_A_STEP: usize = 64;
/// Processes that go on in one step; the others go on in the next one.
pub const PROGRESS_A_STEP: usize = 256;
/// Reports in a second to all watchers together, but for those of the end of a process. Many
/// watchers are told less often, so that they do not slow down what they watch.
pub const REPORTS_A_SECOND: u64 = 200;
/// Attempts that may be out on a machine for each of its slots...
pub const WINDOW_PER_SLOT: u32 = 8;
/// ...and beside them: so many that short activities never wait for a flush, so few that what
/// has not started can still be moved.
pub const WINDOW_BASE: u32 = 48;
/// Running attempts that may be lost before the activity faults: the activity itself may be the
/// cause.
pub const LOSSES_MAX: u16 = 10;
/// Repeats of a claim after which its plan is given up where other groups offer machines.
pub const CLAIM_REPEATS_MAX: u32 = 10;
/// Claims for slots that may be open at a time: enough to keep a group manager busy for a round trip, so
/// few that planning their processes takes some milliseconds of a step.
pub const CLAIMS_OPEN_MAX: usize = 256;
/// Machines among which a single activity is placed in the step that wants it: a fraction of a
/// millisecond.
pub const PLAN_AT_ONCE_MACHINES_MAX: usize = 256;
/// Plans made again because less was granted than claimed.
pub const REPLANS_MAX: u32 = 3;
/// Recorded outcomes in the cache index of all processes, each about a hundred bytes; the oldest go
/// first.
pub const RECORDED_MAX: usize = 200_000;
/// Bytes of all outputs of a process, as variables are counted: they are one event, one record and one answer.
/// Half of what clients on other machines take.
pub const OUTPUTS_BYTES_MAX: usize = if cfg!(test) { 4 << 20 } else { 32 << 20 };
/// Bytes of the items of all lists of a process and of what their bodies pick, as variables are counted. They are
/// kept to its end, and many of them may be in one record.
pub const ITEMS_BYTES_MAX: usize = 64 << 20;
/// Recorded outcomes of the same key that are looked at for one activity, beside that of its own name.
pub const SAME_KEY_MAX: usize = 64;
/// Different words of a command whose outcome is kept for later runs: each may name a program, and is looked
/// for in some ten directories.
pub const PROGRAM_WORDS_MAX: usize = 4_096;
/// Clients that wait for output of an attempt: each answer is some hundred KiB.
pub const TAILS_MAX: usize = 64;
/// The time for which they wait for its machine.
pub const TAIL: Span = Span::from_secs(5);
/// Processes forgotten in this epoch whose late submissions are still recognized.
pub const FORGOTTEN_MAX: usize = 10_000;
/// The time after which a process that has ended, or was read after its end, is packed.
pub const PACK: Span = Span::from_secs(5);
/// Nodes of the processes that are packed in one step, beside those of the last one: some milliseconds.
pub const PACKED_A_STEP: usize = 1_024;
/// The longest wait before another try.
pub const BACKOFF_MAX: Span = Span::from_secs(24 * 3_600);

//! The setup of a run, and its faults.

use group_core::Policy;
use model::Span;

use crate::random::{Random, Rate};

/// The sizes, durations and faults of a run. Everything else is drawn from the seed.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Group managers, from and to; machines are divided among them.
    pub groups: (u32, u32),
    /// Process managers, from and to, each on all groups.
    pub process_managers: (u32, u32),
    /// Small processes that are submitted together, from and to, in place of one or two of any size.
    pub crowd: (u32, u32),
    /// Processes of which a part is the body of a `for-each`.
    pub bodies: Rate,
    /// Processes that discard files which nobody needs any more.
    pub discards: Rate,
    /// Activities of ended iterations of a loop of which a process manager keeps everything; the usual number
    /// where nothing is said.
    pub kept_activities: Option<u32>,
    /// Machines, from and to.
    pub machines: (u32, u32),
    /// Slots of a machine, from and to.
    pub slots: (u32, u32),
    /// Power of a core of a machine in tenths, from and to.
    pub powers: (u64, u64),
    /// Running time of a command, from and to; each process draws a longest one of its own.
    pub runs: (Span, Span),
    /// True if a command runs as long as its activity's work takes on the machine, where it has any.
    pub follows_work: bool,
    /// Commands that take `STRAGGLING` times as long as they should, where they follow their work.
    pub straggling: Rate,
    /// Activities that may run twice, where there are leases.
    pub repeatable: Rate,
    /// True if several attempts at some of these are started at once.
    pub replicates: bool,
    /// True if some processes are sent to their machines in rounds, by one of the published rules.
    pub rounds: bool,
    /// The same for making ready, collecting and planning.
    pub works_aside: (Span, Span),
    /// The length of leases; none where all is one program.
    pub lease: Option<Span>,
    /// Lengths of which each life of the process manager has one, in seconds; without any of them
    /// all leases are of the length above.
    pub lengths: &'static [u64],
    /// True if each machine has a store of its own and processes want copies; else they share one.
    pub has_stores: bool,
    /// Runs in which the steps of process managers take time while there are faults, and clients crowd
    /// there.
    pub slow: Rate,
    /// Largest drift of a computer's clock against the simulation, in millionths.
    pub drift_max: u64,
    /// Users, of whom each process has one as its owner; with 0 it has none.
    pub users: u32,
    /// The policy by which owners share the group in the run of a seed, and its rule for processes that name none.
    pub policy: fn(u64) -> Policy,
    /// Time after which silent machines that nobody holds anything of are forgotten; never where nothing is said.
    pub forget_machines: Option<Span>,
    /// The faults.
    pub faults: Faults,
    /// Time with faults, from and to; afterwards everything is healed.
    pub fault_phase: (Span, Span),
    /// After that everything must have ended within this time.
    pub ends_within: Span,
    /// Things that may happen in one run; more is taken for a loop without end.
    pub n_happenings_max: u64,
    /// True if clients ask for the whole status again and again, and states are compared by their
    /// text: too slow for the largest processes.
    pub looks_closely: bool,
    /// True if clients watch: they are told ten times a second, which is too often for a run of days.
    pub has_watchers: bool,
}

/// The faults, with their rates.
#[derive(Clone, Debug)]
pub struct Faults {
    /// Delay of a message.
    pub delay: (Span, Span),
    /// Messages that never arrive.
    pub loss: Rate,
    /// Messages that arrive twice.
    pub doubling: Rate,
    /// True if a later message may overtake an earlier one.
    pub overtaking: bool,
    /// Messages of a connection that has ended which arrive by the next one.
    pub late: Rate,
    /// Messages and requests that arrive with other bytes than were sent. No rule holds then, but
    /// that no manager dies of it.
    pub mangling: Rate,
    /// Connections that are cut, from and to.
    pub cuts: (u64, u64),
    /// Time until a cut connection is made again.
    pub reconnect: (Span, Span),
    /// Time until an end notices that its connection is gone.
    pub notice: (Span, Span),
    /// Time that a flush takes.
    pub flush: (Span, Span),
    /// Batches that were written, though the manager died before it was told.
    pub kept: Rate,
    /// Flushes after which the tail is replaced by a snapshot.
    pub compaction: Rate,
    /// Manager steps at which the manager dies: before, between record and flush, between flush
    /// and effects, among the effects.
    pub crash: Rate,
    /// Crashes of a run at most.
    pub n_crashes_max: u64,
    /// Absence of a manager.
    pub away: (Span, Span),
    /// Absences that are so long that executors give up waiting.
    pub long_away: Rate,
    /// Time for which such an absence lasts.
    pub long_away_for: (Span, Span),
    /// Process managers that are lost for good, with their disks, from and to. Their processes need
    /// not end, and clients ask them in vain.
    pub lost_managers: (u64, u64),
    /// Executors killed, from and to.
    pub executor_kills: (u64, u64),
    /// Starts that an executor refuses because its queue is full.
    pub full: Rate,
    /// Flushes that fail: the manager dies, and its batch is on disk or not. They count as crashes.
    pub flush_fails: Rate,
    /// Disks that are full for a while, from and to: nothing can be flushed, laid out or kept there.
    pub full_disks: (u64, u64),
    /// Time for which a disk is full.
    pub full_for: (Span, Span),
    /// Inputs that cannot be laid out, and outputs that cannot be kept, in a run in which such things
    /// happen, which is one in four.
    pub trouble: Rate,
    /// Daemons stopped for a while, from and to, and for how long. Their executors go on.
    pub freezes: (u64, u64),
    /// Time for which a daemon is stopped.
    pub frozen_for: (Span, Span),
    /// Connections of which one end sends and is not heard, from and to.
    pub deafnesses: (u64, u64),
    /// Time for which it is not heard.
    pub deaf_for: (Span, Span),
    /// Machines cut off from everybody, from and to.
    pub unpluggings: (u64, u64),
    /// Time for which they are.
    pub unplugged_for: (Span, Span),
    /// Calendars that are set, from and to, by up to a day.
    pub jumps: (u64, u64),
    /// Machines that lose files of which there are copies, from and to.
    pub losses: (u64, u64),
    /// Machines that are cut off for long and lose such files, from and to.
    pub burns: (u64, u64),
    /// Time for which they are: longer than their lease, however often the process manager dies.
    pub burnt_for: (Span, Span),
}

const fn millis(from: u64, to: u64) -> (Span, Span) {
    (Span::from_millis(from), Span::from_millis(to))
}

/// Time for which a process waits for a machine that fits.
pub const PATIENCE: Span = Span::from_secs(10);
/// Time for which an executor waits for its daemon.
pub(crate) const LINGER: Span = Span::from_secs(10);
/// A long absence of a manager.
pub(crate) const LONG_AWAY: (Span, Span) = (Span::from_secs(8), Span::from_secs(14));

/// The factor by which a command that straggles takes longer.
pub(crate) const STRAGGLING: u64 = 20;

/// Activities of ended iterations of which everything is kept, where there are loops: drawn ones have few
/// iterations.
const KEPT: u32 = 1;

/// Slots that an activity of a drawn process wants at most.
const CORES_MAX: u64 = 2;

/// The longest steps of a slow run, of which it has one, in milliseconds.
const STEPS: [u64; 3] = [20, 80, 250];

impl Faults {
    /// Delays and flushes, and nothing that goes wrong.
    pub const fn none() -> Faults {
        Faults {
            delay: (Span(50), Span(2_000)),
            loss: Rate::NEVER,
            doubling: Rate::NEVER,
            overtaking: false,
            late: Rate::NEVER,
            mangling: Rate::NEVER,
            cuts: (0, 0),
            reconnect: millis(1, 50),
            notice: millis(1, 50),
            flush: (Span(100), Span(3_000)),
            kept: Rate::percent(50),
            compaction: Rate::percent(2),
            crash: Rate::NEVER,
            n_crashes_max: 0,
            away: millis(10, 800),
            long_away: Rate::NEVER,
            long_away_for: LONG_AWAY,
            lost_managers: (0, 0),
            executor_kills: (0, 0),
            full: Rate::NEVER,
            flush_fails: Rate::NEVER,
            full_disks: (0, 0),
            full_for: millis(100, 6_000),
            trouble: Rate::NEVER,
            freezes: (0, 0),
            frozen_for: millis(100, 30_000),
            deafnesses: (0, 0),
            deaf_for: millis(500, 20_000),
            unpluggings: (0, 0),
            unplugged_for: millis(500, 30_000),
            jumps: (0, 0),
            losses: (0, 0),
            burns: (0, 0),
            burnt_for: millis(50_000, 70_000),
        }
    }
}

impl Setup {
    /// Nothing goes wrong.
    pub fn calm() -> Setup {
        Setup {
            groups: (1, 1),
            process_managers: (1, 1),
            crowd: (0, 0),
            bodies: Rate::NEVER,
            discards: Rate::NEVER,
            kept_activities: None,
            machines: (1, 3),
            slots: (1, 4),
            powers: (5, 20),
            runs: millis(1, 3_000),
            follows_work: false,
            straggling: Rate::NEVER,
            repeatable: Rate::percent(15),
            replicates: false,
            rounds: false,
            works_aside: (Span(20), Span(5_000)),
            lease: None,
            lengths: &[],
            has_stores: false,
            slow: Rate::NEVER,
            drift_max: 0,
            users: 0,
            policy: |_| Policy::default(),
            forget_machines: None,
            faults: Faults::none(),
            fault_phase: millis(0, 0),
            // Five attempts at each of fifty items in a row take an hour.
            ends_within: Span::from_secs(4 * 3_600),
            n_happenings_max: 400_000,
            looks_closely: true,
            has_watchers: true,
        }
    }

    /// Messages are lost, doubled, overtake each other; connections break.
    pub fn lossy() -> Setup {
        let faults = Faults {
            delay: (Span(50), Span(40_000)),
            loss: Rate::percent(10),
            doubling: Rate::percent(10),
            overtaking: true,
            late: Rate::percent(80),
            cuts: (0, 16),
            reconnect: millis(1, 3_000),
            notice: millis(0, 3_000),
            full: Rate::percent(2),
            ..Faults::none()
        };
        Setup {
            faults,
            fault_phase: millis(200, 20_000),
            ..Setup::calm()
        }
    }

    /// Managers and executors die, flushes and workers fail, disks are full; messages arrive.
    pub fn crashes() -> Setup {
        let faults = Faults {
            crash: Rate::percent(2),
            n_crashes_max: 20,
            compaction: Rate::percent(10),
            long_away: Rate::percent(3),
            executor_kills: (0, 3),
            notice: millis(0, 1_000),
            flush_fails: Rate(5_000),
            full_disks: (0, 2),
            trouble: Rate::percent(4),
            ..Faults::none()
        };
        Setup {
            faults,
            fault_phase: millis(200, 30_000),
            ..Setup::calm()
        }
    }

    /// Everything at once: a manager dies in one step of twenty.
    pub fn hard() -> Setup {
        let faults = Faults {
            crash: Rate::percent(5),
            n_crashes_max: 30,
            compaction: Rate::percent(10),
            long_away: Rate::percent(3),
            executor_kills: (0, 4),
            flush_fails: Rate::percent(1),
            full_disks: (0, 3),
            trouble: Rate::percent(6),
            ..Setup::lossy().faults
        };
        Setup {
            faults,
            fault_phase: millis(200, 30_000),
            ..Setup::calm()
        }
    }

    /// Several machines under leases: daemons are stopped, connections carry one way only, machines
    /// are cut off, calendars are set, and each computer's clock has a pace of its own.
    pub fn leases() -> Setup {
        let faults = Faults {
            cuts: (0, 6),
            reconnect: millis(1, 3_000),
            notice: millis(0, 3_000),
            late: Rate::percent(50),
            crash: Rate(1_000),
            n_crashes_max: 4,
            long_away: Rate::percent(30),
            executor_kills: (0, 1),
            freezes: (0, 4),
            deafnesses: (0, 3),
            unpluggings: (0, 2),
            jumps: (0, 2),
            ..Faults::none()
        };
        Setup {
            groups: (1, 2),
            process_managers: (1, 2),
            machines: (2, 4),
            slots: (1, 3),
            runs: millis(1, 20_000),
            lease: Some(wire::lease::LENGTH),
            slow: Rate::percent(25),
            drift_max: 4_000,
            faults,
            fault_phase: millis(1_000, 60_000),
            ..Setup::calm()
        }
    }

    /// The same, and everything else that goes wrong.
    pub fn harsh() -> Setup {
        let leases = Setup::leases();
        let faults = Faults {
            crash: Rate::percent(1),
            n_crashes_max: 20,
            freezes: (0, 6),
            deafnesses: (0, 4),
            unpluggings: (0, 3),
            jumps: (0, 2),
            ..Setup::hard().faults
        };
        Setup { faults, ..leases }
    }

    /// Each life of the process manager has leases of another length; it dies often, machines are cut
    /// off for long, and commands take long.
    pub fn lengths() -> Setup {
        let leases = Setup::leases();
        let faults = Faults {
            crash: Rate(4_000),
            n_crashes_max: 10,
            freezes: (0, 3),
            deafnesses: (0, 2),
            unpluggings: (1, 4),
            unplugged_for: millis(2_000, 60_000),
            ..leases.faults
        };
        Setup {
            lengths: &[5, 8, 10, 20, 40],
            ends_within: Span::from_secs(7_200),
            runs: millis(1_000, 60_000),
            faults,
            ..leases
        }
    }

    /// Machines with a store each lose files of which others keep copies, some of them for good and
    /// with all others cut off; messages are lost, doubled and late, and managers die.
    pub fn copies() -> Setup {
        let faults = Faults {
            crash: Rate(300),
            n_crashes_max: 2,
            losses: (1, 12),
            burns: (0, 4),
            ..Setup::lossy().faults
        };
        Setup {
            groups: (1, 2),
            process_managers: (1, 2),
            machines: (2, 4),
            slots: (1, 3),
            runs: millis(1, 20_000),
            lease: Some(wire::lease::LENGTH),
            has_stores: true,
            faults,
            fault_phase: millis(200, 150_000),
            ..Setup::lossy()
        }
    }

    /// Machines stay away for minutes and are forgotten meanwhile, where nobody holds anything there; all of them come
    /// back in the end.
    pub fn forgotten() -> Setup {
        let leases = Setup::leases();
        let faults = Faults {
            long_away: Rate::percent(40),
            long_away_for: (Span::from_secs(8), Span::from_secs(100)),
            unpluggings: (2, 6),
            unplugged_for: (Span::from_secs(10), Span::from_secs(200)),
            ..leases.faults
        };
        Setup {
            ends_within: Span::from_secs(7_200),
            forget_machines: Some(Span::from_secs(5)),
            faults,
            fault_phase: millis(1_000, 150_000),
            ..leases
        }
    }

    /// Two process managers, of which one is lost for good at any time; they and the others are away
    /// for so long at times that their holdings end.
    pub fn lost() -> Setup {
        let faults = Faults {
            cuts: (0, 4),
            crash: Rate(1_500),
            n_crashes_max: 4,
            long_away: Rate::percent(40),
            long_away_for: (Span::from_secs(8), Span::from_secs(100)),
            executor_kills: (0, 1),
            freezes: (0, 2),
            deafnesses: (1, 4),
            deaf_for: (Span::from_millis(500), Span::from_secs(100)),
            unpluggings: (0, 1),
            lost_managers: (0, 1),
            ..Setup::leases().faults
        };
        Setup {
            groups: (1, 1),
            process_managers: (2, 2),
            machines: (1, 3),
            // A process manager that only the group manager cannot reach keeps its commands.
            runs: millis(1, 60_000),
            ends_within: Span::from_secs(7_200),
            faults,
            // Longer than the absence by which holdings end.
            fault_phase: millis(1_000, 240_000),
            ..Setup::leases()
        }
    }

    /// Users with shares and limits have more to do than there are slots; managers die, and machines are
    /// cut off. Nothing keeps a group manager from recording at once, and no calendar is set, so that what
    /// was used can be told from outside.
    pub fn shares() -> Setup {
        let faults = Faults {
            cuts: (0, 4),
            reconnect: millis(1, 3_000),
            notice: millis(0, 3_000),
            compaction: Rate::percent(10),
            crash: Rate(1_500),
            n_crashes_max: 6,
            long_away: Rate::percent(20),
            executor_kills: (0, 1),
            unpluggings: (0, 2),
            ..Faults::none()
        };
        Setup {
            groups: (1, 1),
            process_managers: (1, 2),
            machines: (1, 3),
            slots: (1, 4),
            runs: millis(1, 20_000),
            ends_within: Span::from_secs(7_200),
            users: 3,
            policy: shares,
            slow: Rate::NEVER,
            faults,
            fault_phase: millis(1_000, 120_000),
            ..Setup::leases()
        }
    }

    /// Many small processes that wait for each other, and commands that mostly take as long as was
    /// estimated; managers die.
    pub fn crowded() -> Setup {
        let faults = Faults {
            crash: Rate(300),
            n_crashes_max: 3,
            ..Faults::none()
        };
        Setup {
            groups: (1, 1),
            process_managers: (1, 2),
            crowd: (5, 12),
            machines: (1, 2),
            slots: (2, 4),
            follows_work: true,
            slow: Rate::NEVER,
            faults,
            fault_phase: millis(1_000, 60_000),
            ..Setup::leases()
        }
    }

    /// Commands take as long as was estimated, but for some that take many times as long, and most may run twice:
    /// those are raced. Machines lose files, messages are lost, and managers die.
    pub fn races() -> Setup {
        Setup {
            groups: (1, 2),
            follows_work: true,
            straggling: Rate::percent(12),
            repeatable: Rate::percent(75),
            replicates: true,
            rounds: true,
            policy: with_rule,
            ..Setup::copies()
        }
    }

    /// Parts of processes are run for each of some items, on machines with stores of their own.
    pub fn each() -> Setup {
        Setup {
            bodies: Rate::percent(90),
            kept_activities: Some(KEPT),
            ..Setup::copies()
        }
    }

    /// The same in one program.
    pub fn each_here() -> Setup {
        Setup {
            bodies: Rate::percent(90),
            kept_activities: Some(KEPT),
            ..Setup::hard()
        }
    }

    /// Processes discard files that nobody needs any more, on machines with stores of their own. All iterations are
    /// kept, since files that were discarded are made again by way of those before.
    pub fn discards() -> Setup {
        Setup {
            bodies: Rate::percent(60),
            discards: Rate::percent(90),
            ..Setup::copies()
        }
    }

    /// Peers and clients say what they should not.
    pub fn mangled() -> Setup {
        let faults = Faults {
            mangling: Rate::percent(4),
            cuts: (0, 6),
            reconnect: millis(1, 3_000),
            crash: Rate(1_000),
            n_crashes_max: 4,
            executor_kills: (0, 1),
            ..Faults::none()
        };
        Setup {
            faults,
            n_happenings_max: 20_000,
            ..Setup::leases()
        }
    }

    /// The longest time that a step of a process manager takes in the run of a seed, while there are
    /// faults. Drawn apart from everything else.
    pub fn step_max(&self, seed: u64) -> Span {
        let mut random = Random::new(seed ^ 0x736c_6f77_7374_6570);
        match random.happens(self.slow) {
            true => random.pick(&STEPS).map_or(Span::ZERO, Span::from_millis),
            false => Span::ZERO,
        }
    }

    /// The numbers of group managers and process managers of a seed. They are drawn apart from everything
    /// else, which is the same with one of each as it was before there could be several.
    pub fn n_managers(&self, seed: u64) -> (usize, usize) {
        let mut random = Random::new(seed ^ 0x6d61_6e61_6765_7273);
        let mut draw = |(least, most): (u32, u32)| random.between(least.into(), most.into());
        (
            draw(self.groups) as usize,
            draw(self.process_managers) as usize,
        )
    }

    /// The names that [`Setup::named`] knows.
    pub const NAMES: [&'static str; 16] = [
        "calm",
        "lossy",
        "crashes",
        "hard",
        "leases",
        "harsh",
        "lengths",
        "copies",
        "lost",
        "forgotten",
        "shares",
        "crowded",
        "each",
        "each-here",
        "discards",
        "races",
    ];

    /// A setup by its name.
    pub fn named(name: &str) -> Option<Setup> {
        match name {
            "discards" => Some(Setup::discards()),
            "races" => Some(Setup::races()),
            "each" => Some(Setup::each()),
            "each-here" => Some(Setup::each_here()),
            "calm" => Some(Setup::calm()),
            "lossy" => Some(Setup::lossy()),
            "crashes" => Some(Setup::crashes()),
            "hard" => Some(Setup::hard()),
            "leases" => Some(Setup::leases()),
            "harsh" => Some(Setup::harsh()),
            "lengths" => Some(Setup::lengths()),
            "copies" => Some(Setup::copies()),
            "lost" => Some(Setup::lost()),
            "forgotten" => Some(Setup::forgotten()),
            "shares" => Some(Setup::shares()),
            "crowded" => Some(Setup::crowded()),
            _ => None,
        }
    }
}

/// First come, first served; in some runs with a rule for processes that name none.
fn with_rule(seed: u64) -> Policy {
    let rescheduling = match seed % 8 {
        3 => Some(model::Policy::Adaptive),
        7 => Some(model::Policy::Rounds(1 + (seed / 8 % 6) as u32)),
        _ => None,
    };
    Policy {
        rescheduling,
        ..Policy::default()
    }
}

/// Shares of some users and half-lives, and limits that leave room for every activity.
fn shares(seed: u64) -> Policy {
    let mut random = Random::new(seed ^ 0x7368_6172_6573);
    let named = ["u0".to_owned(), "u1".to_owned()];
    let shares = named
        .clone()
        .map(|name| (name, random.between(1, 4) as u32));
    let half_life = random.pick(&[20, 60, 300]).unwrap_or(20);
    let is_limited = random.happens(Rate::percent(40));
    let limit = |random: &mut Random| random.between(CORES_MAX, 2 * CORES_MAX) as u32;
    let slots_max = is_limited.then(|| limit(&mut random));
    let of_one = (named[0].clone(), limit(&mut random));
    let is_fair = random.happens(Rate::percent(90));
    Policy {
        shares: is_fair.then(|| shares.into()),
        half_life: Span::from_secs(half_life),
        slots_max,
        slots_max_of: is_limited.then_some(of_one).into_iter().collect(),
        rescheduling: None,
        ..Policy::default()
    }
}

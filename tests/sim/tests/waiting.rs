//! A process manager whose processes take each slot as soon as it is free, beside another one with a single
//! process, which runs within a bounded time, and beside another one that is as busy: neither goes without a
//! slot for longer than that.

use std::collections::BTreeMap;

use model::{Draft, Mono, NodeKind, ProcessId, Span, SubmitKey, Work};
use process_core::{Event, Stream};
use sim::Known;
use sim::rules::Rules;
use simulator::{Observer, Seen, Setup, Sim, Submission};
use wire::client::Submit;

/// Processes of the first process manager, more than can run in the simulated time.
const PROCESSES: u64 = 400;
/// When the second process manager gets its process: all slots are in use, and each ends at another moment.
const LATER: Mono = Mono(20_000_000);
/// The reference seconds of each small process, between which the machines are never idle together.
const WORK: [u64; 4] = [3, 4, 5, 7];
/// The key of the process that waits.
const OTHER: SubmitKey = SubmitKey(7);

/// When the process of the second process manager has got its plan; all rules hold.
struct Watch {
    rules: Rules,
    planned: Option<Mono>,
    n_ended: u64,
}

impl Observer for Watch {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::ProcessDurable(Stream::Process(id), event) = seen {
            if matches!(event, Event::Planned(_)) && *id == OTHER.process() {
                self.planned = Some(at);
            }
            self.n_ended += u64::from(matches!(event, Event::Closed { .. }));
        }
        self.rules.see(at, seen)
    }
}

/// The processes of one of two busy managers, which never end in the time that is looked at.
#[derive(Clone, Copy, Debug)]
struct Load {
    /// The reference seconds of each.
    work: [u64; 4],
    cores: u32,
}

/// When the processes of each of two busy managers have got their plans; all rules hold.
struct Turns {
    rules: Rules,
    managers: BTreeMap<ProcessId, usize>,
    planned: [Vec<Mono>; 2],
}

impl Observer for Turns {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::ProcessDurable(Stream::Process(id), Event::Planned(_)) = seen {
            self.planned[self.managers[id]].push(at);
        }
        self.rules.see(at, seen)
    }
}

/// Seeds of each pair of busy managers; fewer where nothing is optimised.
const SEEDS: u64 = if cfg!(debug_assertions) { 1 } else { 5 };
/// Both managers are busy from the beginning on until then.
const BUSY: Mono = Mono(300_000_000);

impl Turns {
    /// The longest time for which a manager, whose processes wait all the while, has got nothing.
    fn longest(&self, manager: usize) -> Span {
        let planned = self.planned[manager].iter().copied();
        let all: Vec<Mono> = [Mono(0)].into_iter().chain(planned).chain([BUSY]).collect();
        let between = all.windows(2).map(|pair| pair[1].since(pair[0]));
        between.max().unwrap_or_default()
    }
}

/// Runs two managers on one machine of four slots, each with more processes than can run in that time.
fn side_by_side(seed: u64, loads: [Load; 2]) -> Turns {
    let setup = calm((1, 4));
    let mut known = Known::default();
    let submissions = (0..2 * PROCESSES).map(|number| {
        let manager = (number % 2) as usize;
        let Load { work, cores } = loads[manager];
        let draft = process(work[(number / 2 % 4) as usize], cores);
        submission(SubmitKey(100 + number), draft, manager, Mono(number))
    });
    let submissions: Vec<Submission> = submissions.collect();
    for Submission {
        submit, manager, ..
    } in &submissions
    {
        known.managers.insert(submit.key.process(), *manager);
    }
    let mut turns = Turns {
        managers: known.managers.clone(),
        rules: Rules::new(known),
        planned: Default::default(),
    };
    let mut sim = Sim::new(seed, setup, submissions, BTreeMap::new(), 1);
    while sim.at() < BUSY {
        sim.step(&mut turns).expect("all rules hold");
    }
    turns
}

/// Machines and their slots; nothing goes wrong.
fn calm((machines, slots): (u32, u32)) -> Setup {
    Setup {
        process_managers: (2, 2),
        machines: (machines, machines),
        slots: (slots, slots),
        powers: (10, 10),
        follows_work: true,
        lease: Some(wire::lease::LENGTH),
        looks_closely: false,
        has_watchers: false,
        n_happenings_max: 10_000_000,
        ..Setup::calm()
    }
}

fn submission(key: SubmitKey, draft: Draft, manager: usize, at: Mono) -> Submission {
    Submission {
        submit: Submit::new(key, draft, "flat.yaml"),
        manager,
        user: None,
        at,
        cancels_at: None,
    }
}

/// A process of one activity.
fn process(work: u64, cores: u32) -> Draft {
    let mut draft = sim::large::flat(1);
    for node in &mut draft.nodes {
        if let NodeKind::Activity(activity) = &mut node.kind {
            activity.work = Some(Work::from_secs(work));
            activity.cores = cores;
        }
    }
    draft
}

/// The time that a process of so many cores waits, on so many machines with as many slots each.
fn wait(seed: u64, machines: u32, cores: u32) -> Span {
    let setup = calm((machines, cores));
    let mut known = Known::default();
    let small = (0..PROCESSES).map(|number| {
        let work = WORK[(number % 4) as usize];
        submission(SubmitKey(100 + number), process(work, 1), 0, Mono(number))
    });
    let other = submission(OTHER, process(1, cores), 1, LATER);
    let submissions: Vec<Submission> = small.chain([other]).collect();
    for Submission {
        submit, manager, ..
    } in &submissions
    {
        known.managers.insert(submit.key.process(), *manager);
    }
    let mut sim = Sim::new(seed, setup, submissions, BTreeMap::new(), 1);
    let mut watch = Watch {
        rules: Rules::new(known),
        planned: None,
        n_ended: 0,
    };
    while watch.planned.is_none() && watch.n_ended < PROCESSES {
        sim.step(&mut watch).expect("all rules hold");
    }
    let planned = watch.planned.expect("it is planned");
    planned.since(LATER)
}

#[test]
fn one_process_runs_beside_those_of_a_busy_process_manager() {
    for seed in 0..12 {
        // Others may take the slot once more before it is told, for seven seconds.
        let waited = wait(seed, 1, 1);
        assert!(waited <= Span::from_secs(10), "{waited}");
    }
}

#[test]
fn a_process_of_several_cores_gets_them_as_the_commands_of_one_machine_end() {
    for seed in 0..5 {
        // The longest command that runs when it is told, on the machine that is gathered.
        let waited = wait(seed, 2, 4);
        assert!(waited <= Span::from_secs(12), "{waited}");
    }
}

#[test]
fn two_busy_process_managers_get_slots_by_turns() {
    let load = Load {
        work: WORK,
        cores: 1,
    };
    for seed in 0..SEEDS {
        let turns = side_by_side(seed, [load, load]);
        let n = turns.planned.each_ref().map(Vec::len);
        assert!(n[0].abs_diff(n[1]) * 10 <= n[0].max(n[1]), "{n:?}");
        for manager in 0..2 {
            let longest = turns.longest(manager);
            assert!(longest <= Span::from_secs(10), "{manager}: {longest}");
        }
    }
}

#[test]
fn neither_small_processes_nor_those_of_a_whole_machine_keep_those_of_another_manager_waiting() {
    let small = Load {
        work: WORK,
        cores: 1,
    };
    let whole = Load {
        work: [2; 4],
        cores: 4,
    };
    for seed in 0..SEEDS {
        let turns = side_by_side(seed, [small, whole]);
        for manager in 0..2 {
            let longest = turns.longest(manager);
            assert!(longest <= Span::from_secs(20), "{manager}: {longest}");
        }
    }
}

//! A process manager whose processes take each slot as soon as it is free, beside another one with a single
//! process: that one runs within a bounded time.

use std::collections::BTreeMap;

use model::{Draft, Mono, NodeKind, Span, SubmitKey, Work};
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
    let setup = Setup {
        process_managers: (2, 2),
        machines: (machines, machines),
        slots: (cores, cores),
        powers: (10, 10),
        follows_work: true,
        lease: Some(wire::lease::LENGTH),
        looks_closely: false,
        has_watchers: false,
        n_happenings_max: 10_000_000,
        ..Setup::calm()
    };
    let mut known = Known::default();
    let submission = |key: SubmitKey, draft, manager, at| Submission {
        submit: Submit::new(key, draft, "flat.yaml"),
        manager,
        user: None,
        at,
        cancels_at: None,
    };
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

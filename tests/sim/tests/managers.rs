//! Several managers in one grid.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "it looks at few of the many things that are seen"
)]

use std::collections::{BTreeMap, BTreeSet};

use model::{Mono, ProcessId, ResourceId, SubmitKey};
use process_core::{Event, Stream};
use sim::{Known, rules::Rules};
use simulator::{Observer, Seen, Setup, Sim, Submission};
use wire::client::{Phase, Submit};

/// The observations of a run, in which all rules hold.
struct Watch {
    rules: Rules,
    /// The id of each machine.
    ids: BTreeMap<usize, ResourceId>,
    /// The machines that each process ran on.
    ran: BTreeMap<ProcessId, BTreeSet<usize>>,
    ended: BTreeMap<ProcessId, Phase>,
}

impl Observer for Watch {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        match seen {
            Seen::Numbered(machine, id) => {
                self.ids.insert(*machine, *id);
            }
            Seen::Started(command) => {
                let ran = self.ran.entry(command.attempt.process).or_default();
                ran.insert(command.machine);
            }
            Seen::ProcessDurable(Stream::Process(id), Event::Closed { phase, .. }) => {
                self.ended.insert(*id, (*phase).into());
            }
            _ => {}
        }
        self.rules.see(at, seen)
    }
}

/// Runs processes of six activities side by side, one for each process manager.
fn run(groups: u32, process_managers: u32) -> Watch {
    let setup = Setup {
        groups: (groups, groups),
        process_managers: (process_managers, process_managers),
        machines: (2, 2),
        slots: (1, 1),
        lease: Some(wire::lease::LENGTH),
        ..Setup::calm()
    };
    let mut known = Known::default();
    let submissions = (0..process_managers as usize).map(|manager| {
        let key = SubmitKey(7 + manager as u64);
        known.managers.insert(key.process(), manager);
        let submit = Submit::new(key, sim::large::flat(6), "flat.yaml");
        Submission {
            submit,
            manager,
            user: None,
            at: Mono(0),
            cancels_at: None,
        }
    });
    let submissions = submissions.collect();
    let mut sim = Sim::new(1, setup, submissions, BTreeMap::new(), 1);
    let mut watch = Watch {
        rules: Rules::new(known),
        ids: BTreeMap::new(),
        ran: BTreeMap::new(),
        ended: BTreeMap::new(),
    };
    sim.run(&mut watch).expect("all rules hold");
    watch
}

#[test]
fn a_process_runs_on_the_machines_of_two_groups_that_have_one_number() {
    let watch = run(2, 1);
    let ids: Vec<ResourceId> = watch.ids.values().copied().collect();
    assert_eq!(ids.iter().map(|id| id.number).collect::<Vec<_>>(), [0, 0]);
    assert_ne!(ids[0].group, ids[1].group);
    let process = ProcessId(7);
    assert_eq!(watch.ran[&process], BTreeSet::from([0, 1]));
    assert_eq!(watch.ended[&process], Phase::Completed);
}

#[test]
fn two_process_managers_share_the_machines_of_a_group() {
    let watch = run(1, 2);
    let completed = |number| (ProcessId(number), Phase::Completed);
    assert_eq!(watch.ended, BTreeMap::from([7, 8].map(completed)));
}

#[test]
fn two_process_managers_share_the_machines_of_two_groups() {
    let watch = run(2, 2);
    let completed = |number| (ProcessId(number), Phase::Completed);
    assert_eq!(watch.ended, BTreeMap::from([7, 8].map(completed)));
}

//! Two users share a group by their shares while both have more to do than there are slots.

use std::collections::BTreeMap;

use group_core::{Event, Policy};
use model::{Draft, Identity, Mono, NodeKind, ProcessId, Role, Span, SubmitKey, Work};
use sim::Known;
use sim::rules::Rules;
use simulator::{Observer, Seen, Setup, Sim, Submission};
use wire::client::Submit;

/// The simulated time.
const TIME: Span = Span::from_secs(600);
/// Processes of each user, more than can run in that time...
const PROCESSES: u64 = 350;
/// ...and the reference seconds of each.
const WORK: [u64; 2] = [12, 31];
const USERS: [&str; 2] = ["biology", "physics"];

/// Biology has twice the share of physics.
fn two_to_one(_: u64) -> Policy {
    let [more, less] = USERS.map(str::to_owned);
    Policy {
        shares: Some(BTreeMap::from([(more, 2), (less, 1)])),
        ..Policy::default()
    }
}

/// The slot seconds of each user, from what was granted and given back; all rules hold.
struct Watch {
    rules: Rules,
    owners: BTreeMap<ProcessId, usize>,
    held: BTreeMap<ProcessId, u32>,
    used: [f64; 2],
    counted: Mono,
    /// The fewest processes of a user that wait or run.
    n_open: [u64; 2],
}

impl Watch {
    fn count(&mut self, at: Mono) {
        let seconds = at.since(self.counted).seconds();
        self.counted = at;
        for (process, slots) in &self.held {
            self.used[self.owners[process]] += seconds * f64::from(*slots);
        }
    }
}

impl Observer for Watch {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        if let Seen::GroupDurable(_, event) = seen {
            self.count(at);
            if let Event::Granted {
                process, grants, ..
            } = event
            {
                let slots: u32 = grants.iter().map(|grant| grant.slots).sum();
                *self.held.entry(*process).or_default() += slots;
            }
            if let Event::Released { process, .. } = event {
                self.held.remove(process);
                self.n_open[self.owners[process]] -= 1;
            }
        }
        self.rules.see(at, seen)
    }
}

/// A process of one activity.
fn process(user: usize) -> Draft {
    let mut draft = sim::large::flat(1);
    for node in &mut draft.nodes {
        if let NodeKind::Activity(activity) = &mut node.kind {
            activity.work = Some(Work::from_secs(WORK[user]));
        }
    }
    draft
}

/// Runs processes of one activity, those of the first user submitted before those of the second, for ten
/// minutes.
fn run(process_managers: usize) -> Watch {
    let n = process_managers as u32;
    let setup = Setup {
        process_managers: (n, n),
        machines: (2, 2),
        slots: (4, 4),
        follows_work: true,
        lease: Some(wire::lease::LENGTH),
        looks_closely: false,
        has_watchers: false,
        users: 2,
        policy: two_to_one,
        n_happenings_max: 10_000_000,
        ..Setup::calm()
    };
    let mut known = Known {
        policy: two_to_one(0),
        ..Known::default()
    };
    let mut owners = BTreeMap::new();
    let submissions = (0..2 * PROCESSES).map(|number| {
        let key = SubmitKey(100 + number);
        let user = (number / PROCESSES) as usize;
        let manager = (number % n as u64) as usize;
        owners.insert(key.process(), user);
        known.owners.insert(key.process(), USERS[user].to_owned());
        known.managers.insert(key.process(), manager);
        let identity = Identity::new("grid", "lab", Role::User, USERS[user]);
        Submission {
            submit: Submit::new(key, process(user), "flat.yaml"),
            manager,
            user: Some(identity.expect("it is a name")),
            at: Mono(number),
            cancels_at: None,
        }
    });
    let submissions = submissions.collect();
    let mut sim = Sim::new(1, setup, submissions, BTreeMap::new(), 1);
    let mut watch = Watch {
        rules: Rules::new(known),
        owners,
        held: BTreeMap::new(),
        used: [0.0; 2],
        counted: Mono(0),
        n_open: [PROCESSES; 2],
    };
    while sim.at() < Mono(TIME.0) {
        sim.step(&mut watch).expect("all rules hold");
    }
    watch.count(sim.at());
    watch
}

fn check(watch: &Watch) {
    let [more, less] = watch.used;
    assert!(
        watch.n_open[0] > 8 && watch.n_open[1] > 8,
        "both wait: {:?}",
        watch.n_open
    );
    assert!(
        more + less > 0.9 * 8.0 * TIME.seconds(),
        "{more} and {less} slot seconds"
    );
    let ratio = more / less;
    assert!(
        (1.9..2.1).contains(&ratio),
        "{more} and {less} slot seconds: {ratio}"
    );
}

#[test]
fn two_users_get_slot_time_by_their_shares() {
    check(&run(1));
}

#[test]
fn they_do_where_two_process_managers_serve_them() {
    check(&run(2));
}

use model::{
    ActivityId, AttemptId, Bytes, Draft, Entry, Generation, Network, NetworkLink, NodeKind, Plan,
    ProcessId, Resource, ResourceId, Span, Wall, Work,
};
use wire::group::{Offer, Offered};

use super::*;
use crate::Config;
use crate::machines::Machines;
use crate::record::{Event, Planned};
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID, Idle};

const MACHINE: ResourceId = ResourceId::local(1);
const OTHER: ProcessId = ProcessId(8);

/// The attempts of one process run at the machine, since a moment.
struct Runs(Wall);

impl Running for Runs {
    fn started(&self, attempt: AttemptId) -> Option<Wall> {
        (attempt.process == OTHER).then_some(self.0)
    }

    fn processes_at(&self, resource: ResourceId) -> Vec<ProcessId> {
        match resource == MACHINE {
            true => vec![ID, OTHER],
            false => Vec::new(),
        }
    }
}

/// Two activities of ten seconds; the first one declares memory or does not.
fn declared(memory: Option<Bytes>) -> Draft {
    let mut first = leaf("a");
    edit(&mut first, |activity| {
        activity.work = Some(Work::from_secs(10));
        activity.memory = memory;
    });
    let root = controller(NodeKind::Sequence(ids(&[1, 2])));
    draft(vec![root, first, leaf("b")])
}

fn platform() -> Platform {
    let machine = Resource {
        id: MACHINE,
        name: "m".to_owned(),
        power: 1.0,
        slots: 2,
        memory: Bytes(8 << 30),
        labels: BTreeMap::new(),
    };
    let link = NetworkLink {
        bandwidth: 1e9,
        latency: 0.0,
    };
    Platform::new(vec![machine], Network::uniform(link)).unwrap()
}

/// A process that declares memory or does not, beside one of 6 GiB whose first activity has run for
/// four seconds.
fn held(memory: Option<Bytes>) -> Vec<Held> {
    let mut bench = Bench::new(Config::default());
    for (id, memory) in [(OTHER, Some(Bytes(6 << 30))), (ID, memory)] {
        bench.id = id;
        bench.found(declared(memory));
        bench.plan(&[(1, MACHINE), (2, MACHINE)]);
        bench.record(Event::Sent(vec![(ActivityId(1), 1, MACHINE)], Vec::new()));
    }
    let runs = Runs(bench.now.wall);
    bench.pass(Span::from_secs(4));
    let step = &bench.step();
    let known = step.cx.process(ID).unwrap();
    Market::default().held_by_others(step, known, &platform(), &runs)
}

#[test]
fn what_another_process_runs_holds_its_memory_until_it_is_expected_to_end() {
    let others = Held {
        resource: MACHINE,
        memory: Bytes(6 << 30),
        from: Span::ZERO,
        until: Span::from_secs(6),
    };
    assert_eq!(held(Some(Bytes(1))), [others]);
}

#[test]
fn a_process_that_declares_no_memory_is_planned_beside_whatever_runs() {
    assert_eq!(held(None), []);
}

/// ```text
///   planned   |a 0-10|b 20-30, 6 GiB|
///   goes on   |a 5-15|b 25-35, 6 GiB|         at 9 s
/// ```
#[test]
fn what_another_process_has_planned_holds_its_memory_from_when_it_is_expected_to_begin() {
    let mut bench = Bench::new(Config::default());
    let mut second = leaf("b");
    edit(&mut second, |activity| {
        activity.work = Some(Work::from_secs(10));
        activity.memory = Some(Bytes(6 << 30));
    });
    let mut draft = declared(None);
    draft.nodes[2] = second;
    bench.id = OTHER;
    bench.found(draft);
    let entry = |activity, start, finish| Entry {
        activity: ActivityId(activity),
        resource: MACHINE,
        slot: 0,
        start: Span::from_secs(start),
        finish: Span::from_secs(finish),
    };
    let planned = Planned {
        plan: Plan {
            generation: Generation(1),
            entries: vec![entry(1, 0, 10), entry(2, 20, 30)],
            bound: Span::ZERO,
        },
        machines: Vec::new(),
        is_estimate: true,
        at: Some(bench.now.wall),
        expected: None,
        slots: None,
    };
    bench.record(Event::Planned(Box::new(planned)));
    bench.record(Event::Sent(vec![(ActivityId(1), 1, MACHINE)], Vec::new()));
    bench.id = ID;
    bench.found(declared(Some(Bytes(1))));
    bench.pass(Span::from_secs(5));
    let runs = Runs(bench.now.wall);
    bench.pass(Span::from_secs(4));
    let step = &bench.step();
    let known = step.cx.process(ID).unwrap();
    let held = Market::default().held_by_others(step, known, &platform(), &runs);
    let planned = Held {
        resource: MACHINE,
        memory: Bytes(6 << 30),
        from: Span::from_secs(16),
        until: Span::from_secs(26),
    };
    assert_eq!(held, [planned]);
}

/// Two processes of an activity of ten seconds and 6 GiB, planned one after the other on these machines of two
/// slots and 8 GiB, of which nothing runs yet: the machine, start and end of each.
fn two_of_6_gib(powers: &[f64]) -> [(ResourceId, Span, Span); 2] {
    let mut bench = Bench::new(Config::default());
    let group = MACHINE.group;
    let machines = (1u32..).zip(powers).map(|(number, &power)| Offered {
        resource: ResourceId::new(group, number),
        name: format!("m{number}"),
        power,
        slots: 2,
        free: 2,
        memory: Bytes(8 << 30),
        labels: BTreeMap::new(),
        bulk: None,
        yours: 0,
        shown: None,
    });
    let offer = Offer {
        resources: machines.collect(),
        ..Offer::default()
    };
    let mut market = Market::default();
    market.group_up(&mut bench.step(), group);
    market.on_offer(&mut bench.step(), group, offer);
    [OTHER, ID].map(|id| {
        let mut only = leaf("a");
        edit(&mut only, |activity| {
            activity.work = Some(Work::from_secs(10));
            activity.memory = Some(Bytes(6 << 30));
        });
        bench.id = id;
        bench.found(draft(vec![only]));
        let step = &mut bench.step();
        market.begin(step.cx.process(id).unwrap(), true);
        market.plan_next(step, &Machines::default(), &Idle);
        let Stage::Claiming { plan, .. } = &market.demands[&id].stage else {
            panic!("slots are claimed");
        };
        let Entry {
            resource,
            start,
            finish,
            ..
        } = plan.entries[0];
        (resource, start, finish)
    })
}

#[test]
fn two_of_6_gib_of_two_processes_are_never_planned_at_once_on_8_gib() {
    let secs = Span::from_secs;
    let other = ResourceId::new(MACHINE.group, 2);
    // Each slot of a machine would take one.
    assert_eq!(
        two_of_6_gib(&[1.0]),
        [(MACHINE, secs(0), secs(10)), (MACHINE, secs(10), secs(20))]
    );
    assert_eq!(
        two_of_6_gib(&[1.25, 1.0]),
        [(MACHINE, secs(0), secs(8)), (other, secs(0), secs(10))]
    );
}

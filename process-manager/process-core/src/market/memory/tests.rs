use model::{
    ActivityId, AttemptId, Bytes, Draft, Network, NetworkLink, NodeKind, ProcessId, Resource,
    ResourceId, Span, Wall, Work,
};

use super::*;
use crate::Config;
use crate::record::Event;
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID};

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
    held_by_others(step, known, &platform(), &runs)
}

#[test]
fn what_another_process_runs_holds_its_memory_until_it_is_expected_to_end() {
    let others = Held {
        resource: MACHINE,
        memory: Bytes(6 << 30),
        until: Span::from_secs(6),
    };
    assert_eq!(held(Some(Bytes(1))), [others]);
}

#[test]
fn a_process_that_declares_no_memory_is_planned_beside_whatever_runs() {
    assert_eq!(held(None), []);
}

use std::collections::BTreeMap;

use model::{Bytes, Epoch, ProcessId, ResourceId, Span};
use shell::InputReceiver;
use tempfile::TempDir;
use wire::group::Want;
use wire::resource::Facts;

use super::*;

/// Longer than anything here takes.
const PATIENCE: Span = Span::from_secs(20);

enum Came<M> {
    Link,
    Message(M),
}

struct Bench {
    handle: Handle,
    to_group: Peers<ToGroup>,
    from_group: InputReceiver<Came<FromGroup>>,
    from_machine: Peers<FromResource>,
    to_machine: InputReceiver<Came<ToResource>>,
}

impl Bench {
    fn new(dir: &TempDir) -> Bench {
        let handle = start(Config {
            directory: dir.path().to_owned(),
            keeps_records: true,
            damaged: shell::Damaged::Refused,
            group: GroupId::new(3),
            reserve: model::Bytes::ZERO,
            lease: None,
            holdings_end_after: HOLDINGS_END_AFTER,
            forget_machines: None,
            links_epoch: Epoch(0),
            policy: Policy::default(),
            failed: Box::new(|error| panic!("{error}")),
        });
        let handle = handle.unwrap();
        let (to_group, from_machine) = (Peers::new(), Peers::new());
        let (inbox, from_group) = shell::inbox();
        let (ours, theirs) = shell::link();
        to_group.attach(
            ours,
            &inbox,
            0,
            Received {
                message: |_, message| Came::Message(message),
                up: |_| Came::Link,
                down: |_| Came::Link,
                lane: shell::in_turn,
            },
        );
        handle.connect_process(0, theirs);
        let (inbox, to_machine) = shell::inbox();
        let (ours, theirs) = shell::link();
        from_machine.attach(
            ours,
            &inbox,
            0,
            Received {
                message: |_, message| Came::Message(message),
                up: |_| Came::Link,
                down: |_| Came::Link,
                lane: shell::in_turn,
            },
        );
        handle.connect_activity(theirs);
        Bench {
            handle,
            to_group,
            from_group,
            from_machine,
            to_machine,
        }
    }

    fn ask(&self, message: &ToGroup) {
        self.to_group.send(0, message);
        self.to_group.wake_receivers();
    }

    fn register(&self) {
        let facts = Facts {
            name: "here".to_owned(),
            slots: 2,
            memory: Bytes(1 << 30),
            power: 1.0,
            labels: BTreeMap::new(),
            bulk: None,
            is_store: false,
            closed: None,
        };
        self.from_machine.send(
            0,
            &FromResource::Register {
                epoch: Epoch(1),
                facts,
            },
        );
        self.from_machine.wake_receivers();
    }

    fn granted(&mut self) -> Vec<(ResourceId, u32)> {
        loop {
            if let Came::Message(FromGroup::Granted { grants, .. }) =
                self.from_group.next_within(PATIENCE).unwrap()
            {
                return grants
                    .iter()
                    .map(|grant| (grant.resource, grant.slots))
                    .collect();
            }
        }
    }

    fn number(&mut self) -> ResourceId {
        loop {
            if let Came::Message(ToResource::Registered(number)) =
                self.to_machine.next_within(PATIENCE).unwrap()
            {
                return number;
            }
        }
    }
}

#[test]
fn a_grant_outlives_its_manager_and_a_machine_keeps_its_number() {
    let dir = TempDir::new().unwrap();
    let mut bench = Bench::new(&dir);
    bench.register();
    let resource = bench.number();
    bench.ask(&ToGroup::Attach { epoch: Epoch(1) });
    let wants = vec![Want { resource, slots: 5 }];
    let claim = ToGroup::Claim {
        number: 1,
        process: ProcessId(9),
        wants,
        epoch: Epoch(1),
        owner: None,
    };
    bench.ask(&claim);
    assert_eq!(bench.granted(), [(resource, 2)]);
    bench.handle.stop().unwrap();

    let mut bench = Bench::new(&dir);
    bench.register();
    assert_eq!(bench.number(), resource);
    bench.ask(&ToGroup::Attach { epoch: Epoch(1) });
    bench.ask(&claim);
    assert_eq!(bench.granted(), [(resource, 2)]);
    bench.handle.stop().unwrap();
}

//! Anything in any order, lost, doubled and late: what is held stays within the slots.

use std::collections::BTreeMap;

use model::ProcessId;
use proptest::prelude::*;
use wire::group::FromGroup;

use super::bench::{
    Bench, attach, claim, confirm, down, facts, in_epoch, keep, register_in, release,
};
use crate::record::MachineNumber;
use crate::{Effect, Input, Peer};

const SLOTS: [u32; 3] = [4, 2, 1];
const NAMES: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Action {
    Register {
        connection: u32,
        machine: usize,
        epoch: u64,
    },
    Up(u32),
    Down(u32),
    Attach(u64),
    Detach,
    Claim {
        process: u64,
        number: u32,
        wants: Vec<(u32, u32)>,
    },
    Return {
        process: u64,
        number: u32,
        kept: Vec<(u32, u32)>,
    },
    Release(u64),
    Confirm {
        epoch: u64,
        group: u64,
        processes: Vec<u64>,
    },
    Wait(u64),
    Restart,
}

fn action() -> impl Strategy<Value = Action> {
    let register =
        (0u32..4, 0usize..3, 0u64..3).prop_map(|(connection, machine, epoch)| Action::Register {
            connection,
            machine,
            epoch,
        });
    let wants = proptest::collection::vec((0u32..4, prop_oneof![0u32..4, any::<u32>()]), 0..4);
    let claim = (0u64..4, 0u32..6, wants).prop_map(|(process, number, wants)| Action::Claim {
        process,
        number,
        wants,
    });
    let kept = proptest::collection::vec((0u32..4, 0u32..4), 0..4);
    let returned = (0u64..4, 0u32..6, kept).prop_map(|(process, number, kept)| Action::Return {
        process,
        number,
        kept,
    });
    let processes = proptest::collection::vec(0u64..4, 0..4);
    let confirm =
        (1u64..3, 1u64..4, processes).prop_map(|(epoch, group, processes)| Action::Confirm {
            epoch,
            group,
            processes,
        });
    prop_oneof![
        2 => confirm,
        3 => register,
        1 => (0u32..4).prop_map(Action::Up),
        1 => (0u32..4).prop_map(Action::Down),
        1 => (0u64..3).prop_map(Action::Attach),
        1 => Just(Action::Detach),
        6 => claim,
        3 => returned,
        2 => (0u64..4).prop_map(Action::Release),
        2 => (0u64..6_000).prop_map(Action::Wait),
        1 => Just(Action::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_held_stays_within_the_slots_and_an_answer_once_given_stands(
        actions in proptest::collection::vec(action(), 0..120),
    ) {
        let mut bench = Bench::new();
        let mut granted: BTreeMap<(u64, u32), Vec<u64>> = BTreeMap::new();
        for action in actions {
            let effects = match action {
                Action::Register { connection, machine, epoch } => {
                    bench.feed(register_in(epoch, connection, facts(NAMES[machine], SLOTS[machine])))
                }
                Action::Up(connection) => bench.feed(Input::Up(Peer::Activity(connection))),
                Action::Down(connection) => bench.feed(down(connection)),
                Action::Attach(epoch) => bench.feed(attach(epoch)),
                Action::Detach => bench.feed(Input::Down(Peer::Process(0))),
                Action::Claim { process, number, wants } => {
                    bench.feed(in_epoch(2, claim(process, number, &wants)))
                }
                Action::Confirm { epoch, group, processes } => {
                    let effects = bench.feed(confirm(epoch, group, &processes));
                    let held = |process| bench.state().holding(ProcessId(process)).is_some();
                    granted.retain(|&(holder, _), _| held(holder));
                    effects
                }
                Action::Return { process, number, kept } => {
                    let kept: BTreeMap<u32, u32> = kept.into_iter().collect();
                    let kept: Vec<(u32, u32)> = kept.into_iter().collect();
                    let before = bench.state().holding(ProcessId(process)).cloned();
                    let effects = bench.feed(in_epoch(2, keep(process, number, &kept)));
                    let after = bench.state().holding(ProcessId(process)).cloned();
                    let taken = before.is_some_and(|before| before.number < number);
                    if let Some(after) = after.filter(|after| taken && after.number == number) {
                        for (machine, slots) in after.grants.iter().map(|one| (one.resource, one.slots)) {
                            prop_assert!(kept.iter().any(|&(one, most)| one == machine.0 && slots <= most));
                        }
                    }
                    effects
                }
                Action::Release(process) => {
                    granted.retain(|(holder, _), _| *holder != process);
                    bench.feed(release(process))
                }
                Action::Wait(millis) => bench.wait(millis),
                Action::Restart => {
                    bench.restart();
                    Vec::new()
                }
            };
            for effect in effects {
                let Effect::ToProcess(_, message) = effect else { continue };
                match message {
                    FromGroup::Granted { number, process, grants, .. } => {
                        let ids: Vec<u64> = grants.iter().map(|grant| grant.id.0).collect();
                        if ids.is_empty() {
                            // Whoever holds nothing has given everything back, whatever the number.
                            continue;
                        }
                        let before = granted.entry((process.0, number)).or_insert_with(|| ids.clone());
                        prop_assert_eq!(&ids, before);
                    }
                    FromGroup::Refused { number, process, .. } => {
                        prop_assert!(!granted.contains_key(&(process.0, number)));
                    }
                    FromGroup::Offer(offer) => {
                        for one in offer.resources {
                            let held = bench.state().held(MachineNumber(one.resource.number));
                            prop_assert_eq!(u64::from(one.free) + held, u64::from(one.slots));
                        }
                    }
                    FromGroup::Holdings { held, .. } => {
                        for one in held {
                            let holding = bench.state().holding(one.process);
                            let ids = holding.into_iter().flat_map(|holding| &holding.grants);
                            let ids: Vec<u64> = ids.map(|grant| grant.id.0).collect();
                            let told: Vec<u64> = one.grants.iter().map(|grant| grant.id.0).collect();
                            prop_assert_eq!(told, ids);
                        }
                    }
                    FromGroup::Released(process) => {
                        prop_assert!(bench.state().holding(process).is_none());
                    }
                }
            }
            for (index, name) in NAMES.iter().enumerate() {
                if let Some(resource) = bench.state().resource(name) {
                    prop_assert!(bench.state().held(resource) <= u64::from(SLOTS[index]));
                }
            }
        }
        bench.check_replay();
        for process in 0..4 {
            bench.feed(release(process));
            prop_assert!(bench.state().holding(ProcessId(process)).is_none());
        }
        prop_assert!((0..3).all(|index| bench.state().held(MachineNumber(index)) == 0));
        bench.check_replay();
    }
}

use proptest::prelude::*;

use super::{Choice, Memory, Targets, best_place, margin};
use crate::order::less;
use crate::random::Random;
use crate::rounds::estimates::{Estimates, NONE};
use crate::rounds::tests::{World, setting};
use crate::rounds::{Policy, Setting};

/// The choice of trying all places, one after the other.
fn tried_place(
    estimates: &mut Estimates<'_>,
    cluster: &[u32],
    places: &[(u32, u32)],
) -> Option<(u32, u32)> {
    let last = *cluster.last()?;
    let targets = Targets::new(estimates, last);
    estimates.settle(targets.until);
    let floor = targets.floor(estimates, cluster);
    let mut best: Option<((u32, u32), f64, f64)> = None;
    for &(host, slot) in places {
        estimates.try_on(cluster, host, slot, targets.until);
        let eft = estimates.eft(last);
        let time = targets.start(estimates).unwrap_or(eft);
        estimates.take_back(cluster);
        assert!(
            floor.is_none_or(|floor| floor <= margin(time)),
            "no place is below the floor"
        );
        let is_better = best.is_none_or(|(_, best_time, best_eft)| {
            let is_even = !less(best_time, time);
            less(time, best_time) || (is_even && less(eft, best_eft))
        });
        if is_better {
            best = Some(((host, slot), time, eft));
        }
    }
    best.map(|(place, ..)| place)
}

/// The path from a task on along successors that are on no machine, as long as a draw says.
fn path(setting: &Setting, estimates: &Estimates<'_>, head: u32, random: &mut Random) -> Vec<u32> {
    let mut path = vec![head];
    let mut last = head;
    while random.below(3) > 0 {
        let mut successors = setting.problem().dag().successors(last);
        let open = successors.find(|&(succ, _)| estimates.host[succ as usize] == NONE);
        let Some((succ, _)) = open else { break };
        path.push(succ);
        last = succ;
    }
    path
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_choice_is_that_of_trying_all_places(
        seed in any::<u64>(), n in 1u32..40, hosts in 1usize..8,
    ) {
        let setting = setting(seed, n, hosts);
        let mut world = World::new(&setting, Policy::adaptive(), seed);
        for _ in 0..seed % 60 {
            world.advance();
        }
        let mut progress = world.rounds.progress().clone();
        let mut random = Random::new(seed);
        for factor in &mut progress.factor {
            *factor = 0.2 + 0.8 * random.unit();
        }
        // Some tasks stay where they are, so that others go between them.
        let waiting = setting.order.iter().copied().filter(|&task| progress.is_waiting(task));
        let movable: Vec<u32> = waiting.filter(|_| random.below(3) > 0).collect();
        let mut estimates = Estimates::new(&setting, &progress, &movable);
        let slots = |host: u32| setting.problem().hosts()[host as usize].slots;
        for &head in &movable {
            if estimates.host[head as usize] != NONE {
                continue;
            }
            let cluster = path(&setting, &estimates, head, &mut random);
            let fits = |&host: &u32| {
                let cores = cluster.iter().map(|&task| setting.problem().dag().cores(task));
                cores.max() <= Some(slots(host))
            };
            let places = (0..hosts as u32).filter(fits);
            let places: Vec<(u32, u32)> =
                places.flat_map(|host| (0..slots(host)).map(move |slot| (host, slot))).collect();
            let of_use = |_: &Estimates<'_>, _, _| true;
            let memory = &mut Memory::default();
            let chosen = best_place(&mut estimates, &cluster, &places, of_use, memory);
            let tried = tried_place(&mut estimates, &cluster, &places);
            let tried = tried.map_or(Choice::Nowhere, |(host, slot)| Choice::At(host, slot));
            prop_assert_eq!(chosen, tried);
            if let Choice::At(host, slot) = chosen {
                estimates.place(&cluster, host, slot);
            }
        }
    }
}

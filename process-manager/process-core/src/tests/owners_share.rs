//! Owners share the slots of a group: who has used least for its share is next, and nobody claims more
//! than it may hold.

use model::{Identity, NodeKind, ProcessId, ResourceId, Role, Span, SubmitKey, Work};
use wire::group::{OwnerUsage, Owners};

use super::bench::{controller, draft, edit, ids, leaf};
use super::many::World;
use crate::Caller;
use crate::record::Phase;

fn user(name: &str) -> Caller {
    Caller::Holder(Identity::new("grid", "lab", Role::User, name).unwrap())
}

fn owner(name: &str, share: u32, seconds: u64) -> OwnerUsage {
    OwnerUsage {
        name: name.to_owned(),
        share,
        usage: Span::from_secs(seconds),
        held: 0,
        yours: 0,
        slots_max: None,
    }
}

/// A world in which these users have submitted processes of one activity before anything was free.
fn world(owners: Owners, submitted: &str) -> World {
    let mut world = World::new();
    world.of_others = (0..4).map(ResourceId::local).collect();
    world.owners = Some(owners);
    offer(&mut world);
    for (key, name) in (1..).zip(submitted.chars()) {
        world.submit_as(user(&name.to_string()), key, 1);
    }
    assert_eq!(world.planned, []);
    world
}

fn offer(world: &mut World) {
    let offer = world.offer();
    world.give(offer);
}

/// All slots are free from here on.
fn free(world: &mut World) {
    world.of_others.clear();
    offer(world);
}

/// The owners of the processes in the order in which these were planned.
fn planned(world: &World, submitted: &str) -> String {
    let of = |id: &ProcessId| {
        let mut all = (1..).zip(submitted.chars());
        all.find_map(|(key, name)| (SubmitKey(key).process() == *id).then_some(name))
    };
    world.planned.iter().filter_map(of).collect()
}

fn fair(a: u64, b: u64) -> Owners {
    Owners {
        is_fair: true,
        slots_max: None,
        owners: vec![owner("a", 2, a), owner("b", 1, b)],
    }
}

#[test]
fn slots_that_are_free_at_once_are_divided_by_the_shares() {
    let submitted = "aaaaaabbbbbb";
    let mut world = world(fair(0, 0), submitted);
    free(&mut world);
    assert_eq!(planned(&world, submitted), "abaa");
    for _ in 0..8 {
        world.end_one();
    }
    assert_eq!(planned(&world, submitted), "abaaabaabbbb");
}

#[test]
fn who_has_used_less_for_its_share_is_next_whoever_came_first() {
    let submitted = "aaabbb";
    let mut first = world(fair(100, 20), submitted);
    free(&mut first);
    assert_eq!(planned(&first, submitted), "bbba");
    // The order follows what is told, and shares do not matter where there is nobody else.
    let mut second = world(fair(100, 500), submitted);
    free(&mut second);
    assert_eq!(planned(&second, submitted), "aaab");
    let only = "bbbb";
    let mut third = world(fair(0, 500), only);
    free(&mut third);
    assert_eq!(planned(&third, only), only);
}

#[test]
fn without_shares_first_come_is_first_served_whatever_was_used() {
    let submitted = "abab";
    let owners = Owners {
        is_fair: false,
        ..fair(500, 0)
    };
    let mut world = world(owners, submitted);
    free(&mut world);
    assert_eq!(planned(&world, submitted), submitted);
}

/// Ben may hold one slot.
fn limited() -> Owners {
    let mut ben = owner("b", 1, 0);
    ben.slots_max = Some(1);
    Owners {
        is_fair: false,
        slots_max: None,
        owners: vec![ben],
    }
}

#[test]
fn an_owner_at_its_limit_holds_up_nobody_and_claims_nothing_in_vain() {
    let submitted = "bbbaaa";
    let mut world = world(limited(), submitted);
    free(&mut world);
    assert_eq!(
        (planned(&world, submitted), world.n_claims),
        ("baaa".to_owned(), 4)
    );
    let told = "slots within the limit of b, who holds 1 of 1";
    assert_eq!(why(&mut world, 2).as_deref(), Some(told));
    offer(&mut world);
    assert_eq!(world.n_claims, 4);
    world.end_one();
    assert_eq!(
        (planned(&world, submitted), world.n_claims),
        ("baaab".to_owned(), 5)
    );
}

/// Another process manager's processes use what Ben may hold, and the offer does not say so yet.
#[test]
fn a_refusal_for_a_limit_takes_no_slot_from_others() {
    let submitted = "bba";
    let mut world = world(limited(), submitted);
    world.full = Some("xav://grid/lab/user/b".to_owned());
    free(&mut world);
    assert_eq!(
        (planned(&world, submitted), world.n_claims),
        ("a".to_owned(), 2)
    );
    // Slots that are given back may be within the limit: it is tried once.
    world.full = None;
    world.end_one();
    assert_eq!(
        (planned(&world, submitted), world.n_claims),
        ("ab".to_owned(), 3)
    );
}

/// Two activities side by side, of which each needs one machine, or any where it has no number.
fn needing(machines: [Option<u32>; 2]) -> model::Draft {
    let both = controller(NodeKind::Parallel {
        children: ids(&[1, 2]),
        links: Vec::new(),
    });
    let named = [("a", machines[0]), ("b", machines[1])];
    let picky = named.map(|(name, machine)| {
        let mut node = leaf(name);
        let label = machine.map(|number| ("number".to_owned(), number.to_string()));
        edit(&mut node, |activity| {
            activity.labels = label.into_iter().collect()
        });
        node
    });
    draft([both].into_iter().chain(picky).collect())
}

/// What runs of a user's process where it may hold so many slots.
fn used(slots_max: u32, machines: [Option<u32>; 2]) -> (Vec<u32>, World) {
    let mut owners = limited();
    owners.owners[0].slots_max = Some(slots_max);
    let mut world = world(owners, "");
    free(&mut world);
    world.submit_draft(user("b"), 1, needing(machines));
    let mut used: Vec<u32> = world.running.iter().map(|(at, _)| at.number).collect();
    used.sort_unstable();
    used.dedup();
    (used, world)
}

#[test]
fn a_plan_within_a_limit_has_the_machines_that_activities_need() {
    assert_eq!(used(1, [None, Some(3)]).0, [3]);
    assert_eq!(used(2, [None, Some(3)]).0, [0, 3]);
    assert_eq!(used(2, [Some(2), Some(3)]).0, [2, 3]);
}

#[test]
fn a_process_that_does_not_fit_into_a_limit_holds_up_only_those_of_its_owner() {
    let (used, mut world) = used(1, [Some(2), Some(3)]);
    assert!(used.is_empty());
    let why = why(&mut world, 1);
    assert_eq!(
        why.as_deref(),
        Some(
            "more slots than the limit of its owner leaves (`user-slots` in gm.toml): b needs the \
             label number: 3"
        )
    );
    world.submit_as(user("b"), 2, 1);
    world.submit_as(user("a"), 3, 1);
    assert_eq!(world.planned, [SubmitKey(3).process()]);
    offer(&mut world);
    assert_eq!(world.planned, [SubmitKey(3).process()]);
    // More may be held from here on.
    if let Some(owners) = &mut world.owners {
        owners.owners[0].slots_max = Some(3);
    }
    offer(&mut world);
    let order = [3, 1, 2].map(|key| SubmitKey(key).process());
    assert_eq!(world.planned, order);
}

/// A process of one activity that needs so many cores.
fn of_cores(cores: u32) -> model::Draft {
    let mut node = leaf("large");
    edit(&mut node, |activity| activity.cores = cores);
    draft(vec![node])
}

/// Machines of eight slots, of which each user may hold so many.
fn wide(slots_max: u32) -> World {
    let mut world = World::new();
    world.slots = 8;
    world.owners = Some(Owners {
        is_fair: false,
        slots_max: Some(slots_max),
        owners: Vec::new(),
    });
    offer(&mut world);
    world
}

#[test]
fn a_process_beyond_the_limit_of_its_owner_holds_up_nobody() {
    let mut world = wide(4);
    world.submit_draft(user("b"), 1, of_cores(5));
    world.submit_draft(user("b"), 2, of_cores(4));
    world.submit_draft(user("a"), 3, of_cores(1));
    let ids = |keys: &[u64]| -> Vec<ProcessId> {
        let keys = keys.iter();
        keys.map(|&key| SubmitKey(key).process()).collect()
    };
    assert_eq!(world.planned, ids(&[2, 3]));
    let told = "more slots than b may hold: activity large needs 5 at once, and the limit is 4 \
                (`user-slots` or `user-slots-max` in gm.toml)";
    assert_eq!(why(&mut world, 1).as_deref(), Some(told));
    assert_eq!(order(&mut world, 1), None);
    // Slots that become free do not help it, and others still come before it.
    world.end_one();
    offer(&mut world);
    world.submit_draft(user("b"), 4, of_cores(2));
    assert_eq!(world.planned, ids(&[2, 3, 4]));
    assert_eq!(why(&mut world, 1).as_deref(), Some(told));
    // A greater limit does, on the same machines.
    if let Some(owners) = &mut world.owners {
        owners.slots_max = Some(7);
    }
    offer(&mut world);
    assert_eq!(world.planned, ids(&[2, 3, 4, 1]));
}

#[test]
fn a_process_that_fits_its_owners_limit_but_not_what_is_left_of_it_keeps_its_turn() {
    let mut world = wide(4);
    world.submit_draft(user("b"), 1, of_cores(2));
    world.submit_draft(user("b"), 2, of_cores(4));
    world.submit_draft(user("b"), 3, of_cores(1));
    world.submit_draft(user("a"), 4, of_cores(1));
    let id = |key: u64| SubmitKey(key).process();
    assert_eq!(world.planned, [id(1), id(4)]);
    let told = format!(
        "process {}, which is before it and for which the limit of b leaves too few slots \
         (`user-slots` or `user-slots-max` in gm.toml)",
        id(2)
    );
    assert_eq!(why(&mut world, 3), Some(told));
    let first = why(&mut world, 2).unwrap();
    assert!(
        first.starts_with("more slots than the limit of its owner leaves"),
        "{first}"
    );
    world.end_one();
    assert_eq!(world.planned, [id(1), id(4), id(2)]);
}

#[test]
fn an_activity_that_no_machine_fits_faults_whatever_the_limit_is() {
    let mut world = wide(4);
    world.submit_draft(user("b"), 1, of_cores(9));
    let known = (world.bench.step().cx).process(SubmitKey(1).process());
    assert_eq!(known.map(|known| known.phase()), Some(Phase::Faulted));
}

/// The thing that a process waits for.
fn why(world: &mut World, key: u64) -> Option<String> {
    let (parts, step) = (&world.parts, world.bench.step());
    let known = step.cx.process(SubmitKey(key).process())?;
    parts.market.waiting_for(known)
}

/// The order of a waiting process, and its expected beginning.
fn order(world: &mut World, key: u64) -> Option<String> {
    let id = SubmitKey(key).process();
    let (parts, step) = (&world.parts, world.bench.step());
    let turn = parts
        .market
        .turn(&step, (&parts.machines, &parts.attempts), id)?;
    Some(turn.words(step.now.wall))
}

#[test]
fn a_process_is_told_before_whom_it_waits() {
    let submitted = "aabb";
    let mut world = world(fair(0, 100), submitted);
    let unknown = "; from when on is not known";
    let own = SubmitKey(1).process();
    let told = [
        Some(format!("it is the next one{unknown}")),
        Some(format!(
            "1 process is before it, the last of them {own}{unknown}"
        )),
        Some(format!(
            "2 processes are before it, the last of them of a{unknown}"
        )),
    ];
    for (key, told) in (1..).zip(told) {
        assert_eq!(order(&mut world, key), told);
    }
    free(&mut world);
    assert_eq!(order(&mut world, 1), None, "it has a plan");
}

/// Four processes of 60 s hold the machines, and others wait.
#[test]
fn a_process_is_told_when_machines_are_expected_to_be_free() {
    let mut world = World::new();
    let of_a_minute = || {
        let mut node = leaf("a");
        edit(&mut node, |activity| {
            activity.work = Some(Work::from_secs(60))
        });
        draft(vec![node])
    };
    for key in 1..=9 {
        world.submit_draft(user("a"), key, of_a_minute());
    }
    assert_eq!(world.planned.len(), 4);
    // Nobody has heard yet that anything runs: then all of it is left.
    world.bench.pass(Span::from_secs(20));
    let in_a_minute = "it is the next one; machines are expected to be free for it in 1m 00s";
    assert_eq!(order(&mut world, 5).as_deref(), Some(in_a_minute));
    world.start_all();
    world.bench.pass(Span::from_secs(20));
    for key in 5..=8 {
        let told = order(&mut world, key).unwrap();
        assert!(told.ends_with(" be free for it in 40.0s"), "{key}: {told}");
    }
    // Those before it take all machines, for a minute each.
    let told = order(&mut world, 9).unwrap();
    assert!(told.ends_with(" be free for it in 1m 40s"), "{told}");
    // Nobody knows how much longer what takes longer goes on.
    world.bench.pass(Span::from_secs(50));
    for key in 5..=9 {
        let told = order(&mut world, key).unwrap();
        assert!(told.ends_with("; from when on is not known"), "{told}");
    }
}

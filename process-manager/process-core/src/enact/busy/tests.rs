use model::{Bytes, Draft, Network, NetworkLink, NodeKind, Resource, Work};
use proptest::prelude::*;

use super::*;
use crate::Config;
use crate::enact::problem::problem;
use crate::record::Event;
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, Idle};

const ONE: ResourceId = ResourceId::local(1);
const TWO: ResourceId = ResourceId::local(2);

/// The starts that are known, by activity.
struct Started(BTreeMap<u32, Wall>);

impl Running for Started {
    fn started(&self, attempt: AttemptId) -> Option<Wall> {
        self.0.get(&attempt.activity.0).copied()
    }

    fn processes_at(&self, _: ResourceId) -> Vec<ProcessId> {
        Vec::new()
    }
}

/// Activities of ten seconds that need as many cores as is said, side by side.
fn wide(cores: &[u32]) -> Draft {
    let n_leaves = cores.len() as u32;
    let leaves: Vec<u32> = (1..=n_leaves).collect();
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&leaves),
        links: Vec::new(),
    })];
    for (number, &cores) in cores.iter().enumerate() {
        let mut node = leaf(&format!("a{number}"));
        edit(&mut node, |activity| {
            activity.work = Some(Work::from_secs(10));
            activity.cores = cores;
        });
        nodes.push(node);
    }
    draft(nodes)
}

/// A process of such activities, of which the first ones are out at the first machine.
fn bench(cores: &[u32], n_out: u32) -> Bench {
    let mut bench = Bench::new(Config::default());
    bench.found(wide(cores));
    let places: Vec<(u32, ResourceId)> = (1..=cores.len() as u32).map(|one| (one, ONE)).collect();
    bench.plan(&places);
    let sent = (1..=n_out).map(|one| (ActivityId(one), 1, ONE));
    bench.record(Event::Sent(sent.collect(), Vec::new()));
    bench.pass(Span::from_secs(100));
    bench
}

fn platform(slots: u32, power: f64) -> Platform {
    let machine = |id: ResourceId, slots| Resource {
        id,
        name: format!("m{id}"),
        power,
        slots,
        memory: Bytes(1 << 30),
        labels: BTreeMap::new(),
    };
    let link = NetworkLink {
        bandwidth: 1e9,
        latency: 0.0,
    };
    Platform::new(
        vec![machine(TWO, 1), machine(ONE, slots)],
        Network::uniform(link),
    )
    .unwrap()
}

fn busy(bench: &Bench, platform: &Platform, running: &dyn Running) -> Busy {
    let known = bench.process();
    let works = Works::new(known, &history::Store::default());
    Busy::new(
        known,
        platform,
        &works,
        (running, bench.now.wall),
        &BTreeSet::new(),
    )
}

fn seconds_ago(bench: &Bench, seconds: u64) -> Wall {
    Wall(bench.now.wall.0 - Span::from_secs(seconds).0)
}

#[test]
fn nothing_out_holds_nothing() {
    let bench = bench(&[1, 1], 0);
    assert_eq!(busy(&bench, &platform(2, 1.0), &Idle), Busy::default());
}

#[test]
fn what_runs_holds_its_slot_for_what_is_left_of_its_work() {
    let bench = bench(&[1, 1], 1);
    let started = Started([(1, seconds_ago(&bench, 4))].into());
    let busy = busy(&bench, &platform(2, 1.0), &started);
    assert_eq!(busy.ends[&ActivityId(1)], Span::from_secs(6));
    assert_eq!(busy.ready, [vec![], vec![Span::from_secs(6), Span::ZERO]]);
}

#[test]
fn a_fast_machine_is_done_sooner() {
    let bench = bench(&[1], 1);
    let started = Started([(1, seconds_ago(&bench, 4))].into());
    let busy = busy(&bench, &platform(1, 2.0), &started);
    assert_eq!(busy.ready[1], [Span::from_secs(1)]);
}

#[test]
fn what_is_overdue_goes_on_for_a_part_of_what_has_passed() {
    let bench = bench(&[1], 1);
    let mut before = Span::ZERO;
    for (elapsed, left) in [(10, 2_500), (20, 5_000), (80, 20_000)] {
        let started = Started([(1, seconds_ago(&bench, elapsed))].into());
        let busy = busy(&bench, &platform(1, 1.0), &started);
        assert_eq!(busy.ready[1], [Span::from_millis(left)]);
        assert!(before < busy.ready[1][0]);
        before = busy.ready[1][0];
    }
}

#[test]
fn what_waits_at_its_machine_follows_what_runs() {
    let bench = bench(&[1, 1, 1], 3);
    let started = Started([(2, seconds_ago(&bench, 4)), (3, seconds_ago(&bench, 8))].into());
    let busy = busy(&bench, &platform(2, 1.0), &started);
    assert_eq!(busy.ends[&ActivityId(1)], Span::from_secs(12));
    assert_eq!(busy.ready[1], [Span::from_secs(6), Span::from_secs(12)]);
}

#[test]
fn what_runs_is_in_the_problem_at_its_place_and_until_its_end() {
    let bench = bench(&[1, 1], 1);
    let started = Started([(1, seconds_ago(&bench, 4))].into());
    let asked = problem(
        bench.process(),
        platform(1, 1.0),
        schedule::SchedulerKind::Heft,
        false,
        ((&started, bench.now.wall), &history::Store::default()),
        &BTreeSet::new(),
    );
    let plan = schedule::plan(&asked).unwrap();
    let entry = plan.entry(ActivityId(2)).unwrap();
    assert_eq!((entry.resource, entry.start), (TWO, Span::ZERO));
    let only_one = Platform::new(
        vec![asked.platform.resources()[1].clone()],
        asked.platform.network().clone(),
    );
    let asked = problem(
        bench.process(),
        only_one.unwrap(),
        schedule::SchedulerKind::Heft,
        false,
        ((&started, bench.now.wall), &history::Store::default()),
        &BTreeSet::new(),
    );
    let plan = schedule::plan(&asked).unwrap();
    let entry = plan.entry(ActivityId(2)).unwrap();
    assert_eq!((entry.resource, entry.start), (ONE, Span::from_secs(6)));
}

#[test]
fn what_is_made_again_is_not_there_before_its_end() {
    let mut bench = bench(&[1], 0);
    bench.complete(1, ONE, Vec::new());
    bench.record(Event::FilesLost(vec![ActivityId(1)], ONE));
    bench.record(Event::Recomputing(vec![(ActivityId(1), 2, ONE)]));
    let busy = busy(&bench, &platform(1, 1.0), &Idle);
    assert_eq!(busy.ready[1], [Span::from_secs(10)]);
    assert_eq!(busy.ends[&ActivityId(1)], Span::from_secs(10));
}

#[test]
fn what_is_out_at_a_machine_that_plans_leave_out_ends_too() {
    let bench = bench(&[1], 1);
    let known = bench.process();
    let only_two = Platform::new(
        vec![platform(1, 1.0).resources()[0].clone()],
        platform(1, 1.0).network().clone(),
    );
    let busy = Busy::new(
        known,
        &only_two.unwrap(),
        &Works::new(known, &history::Store::default()),
        (&Idle, bench.now.wall),
        &BTreeSet::new(),
    );
    assert_eq!(busy.ready, [] as [Vec<Span>; 0]);
    assert_eq!(busy.ends[&ActivityId(1)], Span::from_secs(10));
}

proptest! {
    /// Whatever is out: it ends later than now, its cores are taken until it ends, and no slot is
    /// held for longer than all that is out takes one after another.
    #[test]
    fn slots_are_held_by_what_is_out(
        cores in prop::collection::vec(1u32..=2, 1..8),
        started in prop::collection::vec(prop::option::of(0u64..100), 8),
        slots in 2u32..6,
    ) {
        let bench = bench(&cores, cores.len() as u32);
        let starts = started.iter().zip(1u32..).filter_map(|(one, activity)| {
            Some((activity, seconds_ago(&bench, (*one)?)))
        });
        let busy = busy(&bench, &platform(slots, 1.0), &Started(starts.collect()));
        let ready = &busy.ready[1];
        prop_assert_eq!(ready.len(), slots as usize);
        prop_assert_eq!(busy.ends.len(), cores.len());
        let mut all = Span::ZERO;
        for (number, &n_cores) in (1u32..).zip(&cores) {
            let end = busy.ends[&ActivityId(number)];
            prop_assert!(end > Span::ZERO);
            let n_until = ready.iter().filter(|&&at| at >= end).count();
            prop_assert!(n_until >= n_cores as usize, "{:?} {:?}", end, ready);
            all = all + Span::from_secs(25);
        }
        prop_assert!(ready.iter().all(|&at| at <= all));
    }
}

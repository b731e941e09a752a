//! Machines that are slower than planned: what has not started there goes elsewhere.

use std::collections::BTreeMap;

use model::{
    ActivityId, Artifact, ArtifactKind, AttemptId, Bytes, Draft, Hash, NodeId, NodeKind, Plan,
    Policy, Produced, ResourceId, Source, Span, Staged, Wall, Work,
};
use wire::attempt::{End, Fetched, FromActivity, Outcome, Started};

use super::stage::Stage;
use crate::process::Process;
use crate::record::Cause;
use crate::tests::bench::{KEY, controller, draft, edit, ids, leaf, submission};
use crate::{Input, Stream, Tally};

mod estimates;
mod late;
mod lone;
mod portions;
mod replicas;
mod rule;
mod staying;
mod told;
mod tuning;

/// A step of the play.
const STEP: Span = Span::from_millis(50);

/// Activities side by side, of so many milliseconds each.
fn wide(n: u32, millis: u64) -> Draft {
    let children: Vec<u32> = (1..=n).collect();
    let mut nodes = vec![controller(NodeKind::Parallel {
        children: ids(&children),
        links: Vec::new(),
    })];
    for id in 1..=n {
        let mut node = leaf(&format!("a{id}"));
        edit(&mut node, |activity| {
            activity.work = Some(Work(millis * 1_000))
        });
        nodes.push(node);
    }
    draft(nodes)
}

/// Two producers of a file of 20 MB each, and `n` activities after them that read both files; a second each.
fn gathers(n: u32) -> Draft {
    let parallel = |children: std::ops::Range<u32>| {
        controller(NodeKind::Parallel {
            children: ids(&children.collect::<Vec<u32>>()),
            links: Vec::new(),
        })
    };
    let lasts_a_second = |name: String| {
        let mut node = leaf(&name);
        edit(&mut node, |activity| activity.work = Some(Work(1_000_000)));
        node
    };
    let mut nodes = vec![controller(NodeKind::Sequence(ids(&[1, 4]))), parallel(2..4)];
    nodes.extend((2..4).map(|id| {
        let mut node = lasts_a_second(format!("p{id}"));
        edit(&mut node, |activity| {
            activity.outputs = vec![Produced {
                name: "out".into(),
                path: "out".into(),
            }];
        });
        node
    }));
    nodes.push(parallel(5..5 + n));
    nodes.extend((5..5 + n).map(|id| {
        let mut node = lasts_a_second(format!("c{id}"));
        edit(&mut node, |activity| {
            let staged = (2..4).map(|producer| Staged {
                path: format!("in{producer}"),
                source: Source::Output {
                    activity: NodeId(producer),
                    output: 0,
                },
                gathers: false,
                carried: None,
            });
            activity.inputs = staged.collect();
        });
        node
    }));
    draft(nodes)
}

/// Machines of one slot that run what they are sent, in order, and give back what has not started.
struct Play {
    stage: Stage,
    n_machines: u32,
    /// How fast each runs at a time: parts of its nominal power.
    speed: Box<dyn Fn(u32, Span) -> f64>,
    queues: BTreeMap<u32, Vec<AttemptId>>,
    /// What runs on each machine, and the work that is left of it, in nominal seconds.
    running: BTreeMap<u32, (AttemptId, Wall, f64)>,
    /// The machine on which each activity has ended.
    ended: BTreeMap<ActivityId, u32>,
    work: f64,
    /// How many times as long activities take than that, by the names that they are written with.
    longer: BTreeMap<String, f64>,
    /// True if machines do not answer requests to give back.
    is_deaf: bool,
    /// Attempts that ran when they were stopped.
    n_stopped: u32,
    passed: Span,
}

impl Play {
    fn new(draft: Draft, millis: u64, speed: impl Fn(u32, Span) -> f64 + 'static) -> Play {
        Play::among(2, draft, millis, speed)
    }

    fn among(
        n_machines: u32,
        draft: Draft,
        millis: u64,
        speed: impl Fn(u32, Span) -> f64 + 'static,
    ) -> Play {
        Play::offered((BTreeMap::new(), None), n_machines, draft, millis, speed)
    }

    /// One whose machines are offered with these thousandths of their powers, and with a rule of their group.
    fn offered(
        as_told: (BTreeMap<u32, u32>, Option<Policy>),
        n_machines: u32,
        draft: Draft,
        millis: u64,
        speed: impl Fn(u32, Span) -> f64 + 'static,
    ) -> Play {
        let machines = (0..n_machines).collect();
        Play {
            stage: Stage::offering_as(machines, as_told, submission(KEY, draft)),
            n_machines,
            speed: Box::new(speed),
            queues: BTreeMap::new(),
            running: BTreeMap::new(),
            ended: BTreeMap::new(),
            work: millis as f64 / 1e3,
            longer: BTreeMap::new(),
            is_deaf: false,
            n_stopped: 0,
            passed: Span::ZERO,
        }
    }

    fn process(&self) -> &Process {
        let state = self
            .stage
            .drive
            .states()
            .get(Stream::Process(KEY.process()));
        state
            .and_then(|state| state.process())
            .expect("it is there")
    }

    /// The last word on each machine.
    fn told(&self) -> BTreeMap<u32, u32> {
        let words = self.stage.told.iter().flatten();
        let words: BTreeMap<u32, u32> = words.map(|(&one, &word)| (one, word)).collect();
        assert!(!words.is_empty(), "nothing is told");
        words
    }

    fn tally(&mut self) -> Tally {
        self.stage.give(Input::Measure);
        self.stage.tally.clone()
    }

    /// Takes in what was sent to machines since the last look.
    fn take_messages(&mut self) {
        for line in std::mem::take(&mut self.stage.log) {
            let mut words = line.split(' ');
            let machine = words
                .next()
                .and_then(|name| name.strip_prefix('r'))
                .unwrap();
            let machine: u32 = machine.parse().unwrap();
            let verb = words.next().unwrap();
            let attempts: Vec<AttemptId> = match verb {
                "send" | "retract" | "stop" => words.map(attempt).collect(),
                _ => continue,
            };
            if verb == "stop" {
                self.stop(machine, &attempts);
                continue;
            }
            let queue = self.queues.entry(machine).or_default();
            if verb == "send" {
                queue.extend(attempts);
                continue;
            }
            if self.is_deaf {
                continue;
            }
            let waiting = |one: &AttemptId| queue.contains(one);
            let given: Vec<AttemptId> = attempts.into_iter().filter(waiting).collect();
            queue.retain(|one| !given.contains(one));
            self.stage.hear(machine, FromActivity::Retracted(given));
        }
    }

    fn stop(&mut self, machine: u32, attempts: &[AttemptId]) {
        let running = self.running.get(&machine).copied();
        for &attempt in attempts {
            let is_running = running.is_some_and(|(one, _, _)| one == attempt);
            if is_running {
                self.running.remove(&machine);
                self.n_stopped += 1;
            }
            if let Some(queue) = self.queues.get_mut(&machine) {
                queue.retain(|&one| one != attempt);
            }
            let stopped = Outcome {
                end: End::Stopped,
                ..completed(attempt, Wall(0), Span::ZERO)
            };
            self.stage
                .hear(machine, FromActivity::Outcomes(vec![stopped]));
        }
    }

    fn step(&mut self) {
        self.take_messages();
        for machine in 0..self.n_machines {
            let queue = self.queues.entry(machine).or_default();
            if !self.running.contains_key(&machine) && !queue.is_empty() {
                let attempt = queue.remove(0);
                let at = self.stage.now.wall;
                let work = self.length(attempt.activity);
                self.running.insert(machine, (attempt, at, work));
                let started = Started {
                    attempt,
                    pid: 9,
                    at,
                };
                self.stage
                    .hear(machine, FromActivity::Started(vec![started]));
            }
        }
        let before = std::mem::take(&mut self.stage.log);
        self.stage.now.mono = self.stage.now.mono + STEP;
        self.stage.now.wall = self.stage.now.wall + STEP;
        self.stage.log = before;
        self.stage.drive.wake(self.stage.now);
        self.stage.carry_out();
        for machine in 0..self.n_machines {
            self.stage.renew(machine, 0);
        }
        self.passed = self.passed + STEP;
        for machine in 0..self.n_machines {
            let speed = (self.speed)(machine, self.passed);
            let Some((attempt, at, left)) = self.running.get_mut(&machine) else {
                continue;
            };
            *left -= STEP.seconds() * speed;
            if *left < 1e-9 {
                let (attempt, at) = (*attempt, *at);
                self.running.remove(&machine);
                self.ended.insert(attempt.activity, machine);
                let wall = self.stage.now.wall.since(at);
                let outcome = Outcome {
                    outputs: self.made_by(attempt.activity),
                    ..completed(attempt, at, wall)
                };
                self.stage
                    .hear(machine, FromActivity::Outcomes(vec![outcome]));
            }
        }
    }

    /// The seconds that an activity takes at nominal power.
    fn length(&self, activity: ActivityId) -> f64 {
        let name = self.process().definition().plain_name(activity.node());
        self.work * self.longer.get(name).unwrap_or(&1.0)
    }

    /// A file of 20 MB for each output.
    fn made_by(&self, activity: ActivityId) -> Vec<Artifact> {
        let known = self.process();
        let declared = known.definition().activity(activity);
        let n_outputs = declared.map_or(0, |declared| declared.outputs.len());
        let file = Artifact {
            hash: Hash([activity.0 as u8; 32]),
            bytes: Bytes(20_000_000),
            kind: ArtifactKind::File,
        };
        vec![file; n_outputs]
    }

    /// Plays until all activities have ended. Returns the seconds that it took.
    fn until_the_end(&mut self, n: usize) -> f64 {
        while self.ended.len() < n {
            self.step();
            assert!(
                self.passed < Span::from_secs(600),
                "{:?} {:?}",
                self.ended,
                self.queues
            );
        }
        self.passed.seconds()
    }
}

/// `a3#1`, an attempt.
fn attempt(name: &str) -> AttemptId {
    let (activity, number) = name[1..].split_once('#').unwrap();
    AttemptId {
        process: KEY.process(),
        activity: ActivityId(activity.parse().unwrap()),
        number: number.parse().unwrap(),
    }
}

/// From which machine to which one a plan has moved activities.
fn moved(before: &Plan, plan: &Plan) -> Vec<(ResourceId, ResourceId)> {
    let places = plan.entries.iter();
    let places = places.map(|one| (before.entry(one.activity).unwrap().resource, one.resource));
    places.filter(|(from, to)| from != to).collect()
}

fn completed(attempt: AttemptId, started: Wall, wall: Span) -> Outcome {
    Outcome {
        started,
        wall,
        exit_code: Some(0),
        pid: 9,
        ..Outcome::without_run(attempt, End::Completed)
    }
}

#[test]
fn links_are_measured_before_the_first_file_crosses_them() {
    let alike = |_, _| 1.0;
    let probes = |draft: Draft| {
        let play = Play::new(draft, 1_000, alike);
        let log = play.stage.log.iter();
        let probes = log.filter(|line| line.ends_with("probe"));
        probes.cloned().collect::<Vec<String>>()
    };
    assert_eq!(probes(gathers(2)), ["r0 probe", "r1 probe"]);
    assert_eq!(probes(wide(4, 1_000)), [""; 0]);
}

#[test]
fn a_machine_that_stalls_keeps_nothing_but_what_runs_there() {
    // The first command on machine 0 stands still for 14 s.
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(14));
    let mut play = Play::new(wide(12, 1_000), 1_000, stalls);
    let took = play.until_the_end(12);
    assert!(took < 15.5, "{took}");
    let there = play.ended.values().filter(|&&machine| machine == 0).count();
    assert_eq!(there, 1, "{:?}", play.ended);
    // Nothing ran twice.
    let known = play.process();
    assert!(
        known
            .definition()
            .activities()
            .iter()
            .all(|&one| known.activity(one).n_lost == 0)
    );
    assert!(known.n_moves() > 0);
    let why = known.moves().next().expect("something has moved");
    assert_eq!(why.resource.number, 0);
    assert!(
        why.per_mille < 1_000 && why.n_moved > 0 && why.after < why.before,
        "{why:?}"
    );
    assert_eq!(why.expected, Some(1_000), "{why:?}");
    let routes = why.routes.as_deref().expect("it was put in force");
    let there: Vec<_> = routes.iter().map(|one| (one.from, one.to)).collect();
    assert_eq!(there, [(why.resource, ResourceId::local(1))]);
    assert_eq!(routes[0].n, why.n_moved);
    let all: Vec<_> = known.moves().cloned().collect();
    let saved: u64 = all.iter().map(|why| why.before.0 - why.after.0).sum();
    let tally = play.tally();
    assert_eq!(tally.n_rescheduled, all.len() as u64);
    assert_eq!(tally.saved, Span(saved));
    assert_eq!(
        tally.n_asked_to_move,
        tally.n_rescheduled + tally.n_not_worth
    );
    assert!(tally.n_judged >= tally.n_asked_to_move, "{tally:?}");

    let still = Draft {
        policy: Some(Policy::Static),
        ..wide(12, 1_000)
    };
    let mut play = Play::new(still, 1_000, stalls);
    let took = play.until_the_end(12);
    assert!(took > 19.0, "{took}");
    assert_eq!(play.process().n_moves(), 0);
}

#[test]
fn activities_of_machines_that_are_as_planned_stay_there() {
    // A new plan for all would change the places of most: all machines but one are alike.
    let slow = |machine: u32, _: Span| if machine == 0 { 0.25 } else { 1.0 };
    let mut play = Play::among(4, wide(80, 500), 500, slow);
    let before = play.process().state.plan.clone();
    while play.process().n_moves() == 0 {
        play.step();
    }
    let moved = moved(&before, &play.process().state.plan);
    assert!(!moved.is_empty());
    assert!(moved.iter().all(|(from, _)| from.number == 0), "{moved:?}");
    let took = play.until_the_end(80);
    assert!(took < 1.15 * 40.0 / 3.25, "{took}");
}

#[test]
fn what_may_run_twice_is_made_again_elsewhere_when_it_takes_far_too_long() {
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(14));
    let mut repeatable = wide(12, 1_000);
    for node in &mut repeatable.nodes[1..] {
        edit(node, |activity| activity.repeatable = true);
    }
    let mut play = Play::new(repeatable, 1_000, stalls);
    play.until_the_end(12);
    assert!(
        play.ended.values().all(|&machine| machine == 1),
        "{:?}",
        play.ended
    );
    play.step();
    play.step();
    assert_eq!(play.n_stopped, 1);
    assert!(play.passed < Span::from_secs(14), "{}", play.passed);
    let tally = play.tally();
    assert_eq!((tally.n_races, tally.n_won_by_second), (1, 1));
    assert_eq!(tally.verdicts.n_completed, 12);
    assert_eq!(tally.verdicts.n_dropped, 1);
}

#[test]
fn a_race_has_one_rival_and_is_not_run_again_while_both_stall() {
    let stalls = |machine: u32, at: Span| {
        let works = machine == 1 && at < Span::from_millis(1_500);
        f64::from(works || at > Span::from_secs(120))
    };
    let mut repeatable = wide(2, 1_000);
    for node in &mut repeatable.nodes[1..] {
        edit(node, |activity| activity.repeatable = true);
    }
    let mut play = Play::new(repeatable, 1_000, stalls);
    play.until_the_end(2);
    let known = play.process();
    let activities = known.definition().activities().iter();
    let numbers: Vec<u32> = activities.map(|&one| known.activity(one).number).collect();
    assert_eq!(numbers.iter().max(), Some(&1), "{numbers:?}");
    assert_eq!(play.tally().n_races, 1);
    assert_eq!(play.tally().n_won_by_second, 0);
}

#[test]
fn what_may_not_run_twice_is_not_raced() {
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(60));
    let mut play = Play::new(wide(2, 1_000), 1_000, stalls);
    play.until_the_end(2);
    assert_eq!(play.tally().n_races, 0);
    assert!(play.passed > Span::from_secs(60), "{}", play.passed);
}

#[test]
fn a_machine_at_half_its_power_gets_half_as_much() {
    let halved = |machine: u32, at: Span| match machine == 0 && at > Span::from_secs(6) {
        true => 0.5,
        false => 1.0,
    };
    let mut play = Play::new(wide(80, 500), 500, halved);
    let took = play.until_the_end(80);
    // 6 s at full power, then 28 s of work at one and a half.
    assert!(took < 1.08 * (6.0 + 28.0 / 1.5), "{took}");
    let mut still = wide(80, 500);
    still.policy = Some(Policy::Static);
    let took_still = Play::new(still, 500, halved).until_the_end(80);
    assert!(took < 0.8 * took_still, "{took} {took_still}");
}

#[test]
fn activities_that_were_sent_and_have_not_started_move_too() {
    // Short ones are sent many at a time.
    let slow = |machine: u32, _: Span| if machine == 0 { 0.2 } else { 1.0 };
    let mut play = Play::new(wide(60, 200), 200, slow);
    let took = play.until_the_end(60);
    assert!(took < 1.15 * 12.0 / 1.2, "{took}");
    let known = play.process();
    assert!(
        known
            .definition()
            .activities()
            .iter()
            .any(|&one| known.activity(one).number > 1)
    );
    assert!(
        known
            .definition()
            .activities()
            .iter()
            .all(|&one| known.activity(one).n_lost == 0)
    );
}

#[test]
fn a_machine_whose_links_have_become_slow_gets_less_that_reads_from_others() {
    let mut play = Play::among(3, gathers(30), 1_000, |_, _| 1.0);
    let come = |play: &mut Play, to: u32, from: u32, millis: u64| {
        let fetched = Fetched {
            from: ResourceId::local(from),
            bytes: Bytes(20_000_000),
            took: Span::from_millis(millis),
        };
        play.stage.hear(to, FromActivity::Fetched(vec![fetched]));
    };
    play.until_the_end(2);
    for _ in 0..4 {
        come(&mut play, 0, 1, 160);
    }
    play.step();
    assert_eq!(play.process().n_moves(), 0);
    for _ in 0..4 {
        come(&mut play, 2, 0, 20_000);
        come(&mut play, 0, 1, 160);
    }
    play.until_the_end(32);
    let known = play.process();
    let why = known.moves().next().expect("something has moved");
    assert_eq!((why.resource.number, why.cause), (2, Cause::Link));
    assert!(why.per_mille < 20 && why.n_moved > 0, "{why:?}");
    let there = play.ended.values().filter(|&&machine| machine == 2).count();
    assert!(there < 8, "{:?}", play.ended);
}

#[test]
fn nothing_moves_where_all_are_as_planned_or_slow_alike() {
    for speed in [1.0, 0.4] {
        let mut play = Play::new(wide(40, 500), 500, move |_, _| speed);
        play.until_the_end(40);
        assert_eq!(play.process().n_moves(), 0, "{speed}");
    }
}

#[test]
fn short_activities_that_vary_by_chance_move_nothing() {
    // Their times on both machines are between half and twice what was expected.
    let by_chance = |machine: u32, at: Span| match (at.0 / 50_000 + u64::from(machine)) % 3 {
        0 => 0.5,
        1 => 1.0,
        _ => 2.0,
    };
    let mut play = Play::new(wide(200, 50), 50, by_chance);
    play.until_the_end(200);
    assert_eq!(play.process().n_moves(), 0);
}

#[test]
fn times_that_vary_by_chance_seldom_move_anything() {
    // Powers between half and twice the nominal one, drawn anew on each machine every tenth of a second.
    let mut n_moves = 0;
    for seed in 0..20 {
        let by_chance = move |machine: u32, at: Span| {
            let mut drawn =
                at.0 / 100_000 * 7_919 + u64::from(machine) * 104_729 + seed * 1_299_709;
            for shift in [12, 29, 32] {
                drawn ^= drawn >> shift;
                drawn = drawn.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            }
            0.5 * 4_f64.powf((drawn >> 32) as f64 / f64::from(u32::MAX))
        };
        let mut play = Play::new(wide(120, 100), 100, by_chance);
        play.until_the_end(120);
        n_moves += play.process().n_moves();
    }
    assert!(n_moves <= 10, "{n_moves}");
}

#[test]
fn nothing_is_judged_that_nobody_has_estimated() {
    let mut unknown = wide(12, 1_000);
    for node in &mut unknown.nodes[1..] {
        edit(node, |activity| activity.work = None);
    }
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(14));
    let mut play = Play::new(unknown, 1_000, stalls);
    // Each activity is of its own kind, and none has run before.
    play.until_the_end(12);
    assert_eq!(play.process().n_moves(), 0);
}

#[test]
fn a_machine_that_gives_nothing_back_holds_up_nothing_else() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.2 } else { 1.0 };
    let mut play = Play::new(wide(60, 200), 200, slow);
    play.is_deaf = true;
    let took = play.until_the_end(60);
    // It keeps all that it was sent, as without rounds.
    assert!(took < 31.0, "{took}");
}

#[test]
fn a_restart_forgets_what_machines_have_shown_and_keeps_what_has_moved() {
    let stalls = |machine: u32, at: Span| f64::from(machine == 1 || at > Span::from_secs(60));
    let mut play = Play::new(wide(12, 1_000), 1_000, stalls);
    while play.process().n_moves() == 0 {
        play.step();
    }
    let (before, n) = (play.process().state.plan.clone(), play.process().n_moves());
    let running = play.running.get(&0).map(|one| one.0);
    play.stage.holds = running.into_iter().collect();
    play.stage.live_again(10);
    assert_eq!(play.process().state.plan, before);
    assert_eq!(play.process().n_moves(), n);
}

#[test]
fn groups_are_told_what_machines_have_shown_beside_each_other() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.25 } else { 1.0 };
    let mut play = Play::among(3, wide(60, 500), 500, slow);
    play.until_the_end(60);
    let (all, told) = (play.told(), &play.stage.told);
    assert!((230..400).contains(&all[&0]), "{told:?}");
    assert!((950..1_050).contains(&all[&1]) && all[&1].abs_diff(all[&2]) < 60);
    // Each five seconds at most.
    assert!(told.len() as f64 <= 1.0 + play.passed.seconds() / 5.0);

    // Where all are slower than estimated, the estimates were wrong.
    let mut play = Play::among(3, wide(60, 500), 500, |_, _| 0.5);
    play.until_the_end(60);
    assert!(play.told().values().all(|one| (950..1_050).contains(one)));

    // Estimates that nobody has made tell nothing.
    let mut unknown = wide(60, 500);
    for node in &mut unknown.nodes[1..] {
        edit(node, |activity| activity.work = None);
    }
    let mut play = Play::among(3, unknown, 500, slow);
    play.until_the_end(60);
    assert!(play.stage.told.is_empty(), "{:?}", play.stage.told);
}

#[test]
fn a_machine_that_is_offered_as_slow_gets_less_from_the_first_plan_on() {
    let slow = |machine: u32, _: Span| if machine == 0 { 0.25 } else { 1.0 };
    let mut play = Play::offered(
        (BTreeMap::from([(0, 250)]), None),
        3,
        wide(54, 500),
        500,
        slow,
    );
    let plan = &play.process().state.plan;
    let places = plan.entries.iter();
    let there = places.filter(|one| one.resource.number == 0).count();
    assert!((5..=7).contains(&there), "{there}");
    // It is as slow as that, which is no reason to move anything, and it is told as it was offered.
    play.until_the_end(54);
    assert_eq!(play.process().n_moves(), 0);
    let told = play.told();
    assert!((230..270).contains(&told[&0]), "{told:?}");
    assert!((950..1_050).contains(&told[&1]), "{told:?}");
}

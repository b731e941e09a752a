use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::prelude::*;

use super::estimates::Estimates;
use super::question::Question;
use super::*;
use crate::fixtures::{grouped, random, task};
use crate::random::Random;
use crate::{Dag, Placing, Problem, Tree};

mod evidence;
mod restarts;

/// A world that answers when it likes: tasks start and end, plans come and tasks are given back in any
/// order that machines of one queue allow.
pub(super) struct World {
    pub(super) rounds: Rounds,
    now: f64,
    random: Random,
    /// By machine: tasks that it was sent and has not started, by rank.
    sent: Vec<BTreeSet<(u32, u32)>>,
    running: BTreeSet<u32>,
    ended: BTreeSet<u32>,
    started_on: Vec<Option<u32>>,
    questions: Vec<Question>,
    retractions: Vec<u32>,
    stops: Vec<u32>,
    /// True if machines vanish now and then, all but one.
    vanishes: bool,
}

impl World {
    pub(super) fn new(setting: &Arc<Setting>, policy: Policy, seed: u64) -> World {
        let n_tasks = setting.plan().entries.len();
        let mut world = World {
            rounds: Rounds::new(setting.clone(), policy).unwrap(),
            now: 0.0,
            random: Random::new(seed),
            sent: vec![BTreeSet::new(); setting.problem().hosts().len()],
            running: BTreeSet::new(),
            ended: BTreeSet::new(),
            started_on: vec![None; n_tasks],
            questions: Vec::new(),
            retractions: Vec::new(),
            stops: Vec::new(),
            vanishes: false,
        };
        world.observe(Observation::Begin);
        world
    }

    fn observe(&mut self, observation: Observation) {
        let commands = self.rounds.step(self.now, observation);
        for command in commands {
            match command {
                Command::Send { host, tasks, .. } | Command::SendAhead { host, tasks } => {
                    for task in tasks {
                        let rank = self.rounds.setting().rank(task);
                        assert!(self.sent.iter().all(|sent| !sent.contains(&(rank, task))));
                        assert_eq!(self.started_on[task as usize], None, "sent twice");
                        self.sent[host as usize].insert((rank, task));
                    }
                }
                Command::Retract { tasks, .. } => self.retractions.extend(tasks),
                Command::Stop { tasks, .. } => self.stops.extend(tasks),
                Command::Plan(question) => self.questions.push(*question),
                Command::Judged(judgement) => assert!(judgement.factor > 0.0),
                Command::Replanned { .. } | Command::WakeAt(_) => {}
            }
        }
        for (task, host) in (0u32..).zip(&self.started_on) {
            let there = self.rounds.progress().host[task as usize];
            assert!(host.is_none_or(|host| host == there), "{task} has moved");
        }
    }

    /// Lets something happen; false if nothing can.
    pub(super) fn advance(&mut self) -> bool {
        let dag = self.rounds.setting().problem().dag();
        let is_ready = |task: u32| {
            let mut preds = dag.predecessors(task);
            preds.all(|(pred, _)| self.ended.contains(&pred))
        };
        let gates = dag
            .tasks()
            .filter(|&task| dag.is_gate(task) && !self.ended.contains(&task) && is_ready(task));
        let mut choices: Vec<Observation> = gates.map(Observation::Finished).collect();
        for (host, sent) in (0u32..).zip(&self.sent) {
            let here = |task: &&u32| self.started_on[**task as usize] == Some(host);
            let slots = self.rounds.setting().problem().hosts()[host as usize].slots;
            let n_running = self.running.iter().filter(here).count() as u32;
            if let Some(&(_, first)) = sent.first()
                && n_running < slots
                && is_ready(first)
            {
                choices.push(Observation::Started(first));
            }
        }
        choices.extend(self.running.iter().map(|&task| Observation::Finished(task)));
        if let Some(question) = self.questions.first() {
            choices.push(Observation::Planned(question.answer(self.rounds.setting())));
        }
        choices.extend(
            self.retractions
                .iter()
                .map(|&task| Observation::Retracted(task)),
        );
        choices.extend(self.stops.iter().map(|&task| Observation::Stopped(task)));
        if choices.is_empty() {
            return false;
        }
        let gone = &self.rounds.progress().gone;
        let there = (0u32..).zip(gone).filter(|&(_, &gone)| !gone);
        let there: Vec<u32> = there.map(|(host, _)| host).collect();
        if self.vanishes && there.len() > 1 && self.random.below(12) == 0 {
            choices = vec![Observation::Gone(there[self.random.below(there.len())])];
        }
        self.now += 10.0 * self.random.unit();
        let choice = choices.swap_remove(self.random.below(choices.len()));
        match &choice {
            Observation::Started(task) => {
                let host = self.rounds.progress().host[*task as usize];
                let rank = self.rounds.setting().rank(*task);
                assert!(self.sent[host as usize].remove(&(rank, *task)));
                self.started_on[*task as usize] = Some(host);
                self.running.insert(*task);
            }
            Observation::Finished(task) => {
                self.running.remove(task);
                self.stops.retain(|other| other != task);
                self.ended.insert(*task);
            }
            Observation::Planned(_) => drop(self.questions.remove(0)),
            Observation::Retracted(task) => {
                self.retractions.retain(|other| other != task);
                if self.started_on[*task as usize].is_some() {
                    return true;
                }
                let rank = self.rounds.setting().rank(*task);
                for sent in &mut self.sent {
                    sent.remove(&(rank, *task));
                }
            }
            Observation::Stopped(task) => {
                self.stops.retain(|other| other != task);
                // The attempt is over, and so is what was asked of it.
                self.retractions.retain(|other| other != task);
                self.running.remove(task);
                self.started_on[*task as usize] = None;
            }
            Observation::Gone(host) => {
                for (_, task) in std::mem::take(&mut self.sent[*host as usize]) {
                    self.retractions.retain(|&other| other != task);
                }
                let lost = self.running.iter().copied();
                let lost = lost.filter(|&task| self.started_on[task as usize] == Some(*host));
                for task in lost.collect::<Vec<u32>>() {
                    self.running.remove(&task);
                    self.retractions.retain(|&other| other != task);
                    self.stops.retain(|&other| other != task);
                    self.started_on[task as usize] = None;
                }
            }
            Observation::Begin
            | Observation::Used { .. }
            | Observation::Transferred { .. }
            | Observation::Power { .. }
            | Observation::Due => {}
        }
        self.observe(choice);
        if self.random.below(4) == 0 {
            self.observe(Observation::Due);
        }
        true
    }
}

pub(super) fn setting(seed: u64, n_tasks: u32, n_hosts: usize) -> Arc<Setting> {
    let problem = random(seed, n_tasks, n_hosts);
    let messages = match seed % 3 {
        0 => Messages::Direct,
        kind => {
            let of_task: Vec<u32> = (0..n_tasks).map(|task| task % 3).collect();
            let tree = Tree::new(&problem, &[None, Some(0), Some(1)], &of_task).unwrap();
            let placing = [Placing::Paper, Placing::LeastTraffic][kind as usize - 1];
            Messages::Controllers(tree, placing)
        }
    };
    Arc::new(Setting::new(problem, messages).unwrap())
}

/// Our own rule where every restart that saves anything pays.
fn restarting() -> Policy {
    Policy {
        restarts: Some(Restarts {
            gain_least: 0.0,
            later_least: 0.0,
            ..RESTARTS
        }),
        gain_least: Some(0.0),
        ..Policy::xavantes()
    }
}

fn policies() -> Vec<Policy> {
    let scope = Scope::All;
    let (gain_least, wider_gain_least) = (None, None);
    vec![
        Policy::fixed(),
        Policy::rounds(1),
        Policy::rounds(4),
        Policy::adaptive(),
        Policy::xavantes(),
        Policy {
            scope,
            ..Policy::rounds(3)
        },
        Policy {
            gain_least,
            ..Policy::xavantes()
        },
        Policy {
            wider_gain_least,
            ..Policy::xavantes()
        },
        restarting(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_process_ends_however_late_answers_come(seed in any::<u64>(), n in 1u32..30, hosts in 1usize..6) {
        let setting = setting(seed, n, hosts);
        for policy in policies() {
            for vanishes in [false, true] {
                let mut world = World::new(&setting, policy, seed);
                world.vanishes = vanishes && policy != Policy::fixed();
                while world.advance() {}
                prop_assert_eq!(world.ended.len(), n as usize, "{:?} stopped", policy);
            }
        }
    }

    #[test]
    fn observations_that_do_not_fit_change_no_place(seed in any::<u64>(), n in 1u32..20, hosts in 1usize..5) {
        let setting = setting(seed, n, hosts);
        let mut world = World::new(&setting, Policy::xavantes(), seed);
        for step in 0..200u32 {
            world.advance();
            let strange = match step % 4 {
                0 => Observation::Started(n + step),
                1 => Observation::Finished(u32::MAX),
                2 => Observation::Retracted(step % n),
                _ => Observation::Gone(u32::MAX),
            };
            if strange == Observation::Retracted(step % n) && world.retractions.contains(&(step % n)) {
                continue;
            }
            let mut before = world.rounds.progress().clone();
            before.now = world.now;
            let commands = world.rounds.step(world.now, strange);
            prop_assert_eq!(commands, Vec::new());
            prop_assert_eq!(&before, world.rounds.progress());
        }
    }

    #[test]
    fn what_a_change_reaches_is_counted_as_if_all_were_counted(
        seed in any::<u64>(), n in 1u32..30, hosts in 1usize..5,
    ) {
        let setting = setting(seed, n, hosts);
        let mut world = World::new(&setting, Policy::adaptive(), seed);
        for _ in 0..seed % 40 {
            world.advance();
        }
        let mut progress = world.rounds.progress().clone();
        let waiting: Vec<u32> = setting
            .order
            .iter()
            .copied()
            .filter(|&task| progress.is_waiting(task))
            .collect();
        let snapshot = progress.clone();
        let mut estimates = Estimates::new(&setting, &snapshot, &waiting);
        let mut random = Random::new(seed);
        for &task in &waiting {
            let host = random.below(hosts) as u32;
            let slots = setting.problem().hosts()[host as usize].slots;
            let slot = random.below(slots as usize) as u32;
            // A trial elsewhere leaves no trace.
            let other = random.below(hosts) as u32;
            estimates.settle(setting.rank(task));
            estimates.try_on(&[task], other, 0, setting.rank(task));
            estimates.take_back(&[task]);
            estimates.place(&[task], host, slot);
            if progress.host[task as usize] != host {
                progress.since[task as usize] = progress.now;
            }
            progress.host[task as usize] = host;
            progress.slot[task as usize] = slot;
        }
        let makespan = estimates.makespan();
        let mut whole = Estimates::new(&setting, &progress, &[]);
        prop_assert_eq!(whole.makespan(), makespan);
        for &task in &waiting {
            prop_assert_eq!(estimates.est(task), whole.est(task));
            prop_assert_eq!(estimates.eft(task), whole.eft(task));
        }
    }

    #[test]
    fn the_wider_plan_is_taken_where_it_saves_enough_beyond_the_narrower_one(
        seed in any::<u64>(),
        n in 2u32..30,
        hosts in 2usize..6,
        percents in 0u32..20,
    ) {
        let setting = setting(seed, n, hosts);
        let mut random = Random::new(seed);
        let mut progress = Rounds::new(setting.clone(), Policy::xavantes()).unwrap().progress().clone();
        progress.factor.fill_with(|| 0.1 + random.unit());
        let of = |host: u32| {
            let tasks = setting.order.iter().copied();
            tasks.filter(|&task| progress.host[task as usize] == host).collect::<Vec<u32>>()
        };
        let question = |movable: &[u32], narrower| Question {
            number: 1,
            movable: movable.to_vec(),
            narrower,
            restarts: None,
            gain_least: None,
            progress: Arc::new(progress.clone()),
        };
        let own = of(progress.host[setting.order[0] as usize]);
        let gain_least = f64::from(percents) / 100.0;
        let wider = question(&setting.order, None).answer(&setting);
        let narrow = question(&own, None).answer(&setting);
        let both = question(&setting.order, Some(Narrower { movable: own.clone(), gain_least, alone_until: None }));
        let most = (1.0 - gain_least) * narrow.after.min(narrow.before);
        let expected = if crate::order::less(wider.after, most) { wider } else { narrow.clone() };
        prop_assert_eq!(both.answer(&setting), expected.clone());
        for part in [0.99, 1.0, 1.01] {
            let alone_until = Some(part * narrow.before);
            let narrower = Narrower { movable: own.clone(), gain_least, alone_until };
            let answer = question(&setting.order, Some(narrower)).answer(&setting);
            if part < 1.0 {
                prop_assert_eq!(answer, expected.clone());
            } else if answer.clusters.is_empty() {
                prop_assert_eq!(answer.after, answer.before);
                prop_assert!(setting.traffic().is_some() || !crate::order::less(narrow.after, narrow.before));
            } else {
                prop_assert_eq!(answer, narrow.clone());
            }
        }
    }

    #[test]
    fn planning_all_of_it_before_anything_starts_is_pch(seed in any::<u64>(), n in 1u32..40, hosts in 1usize..7) {
        let problem = random(seed, n, hosts);
        let run = crate::Pch::new().run(&problem).unwrap();
        let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
        let rounds = Rounds::new(setting.clone(), Policy::xavantes()).unwrap();
        let mut question = Question {
            number: 1,
            movable: setting.order.clone(),
            narrower: None,
            restarts: None,
            gain_least: None,
            progress: Arc::new(rounds.progress().clone()),
        };
        // Machines that were given nothing have no place in the past.
        Arc::make_mut(&mut question.progress).since.fill(0.0);
        let answer = question.answer(&setting);
        prop_assert_eq!(answer.clusters, run.clusters);
        prop_assert_eq!(answer.after, run.schedule.makespan());
    }
}

/// Two machines, of which the first has all three tasks.
///
/// ```text
///   a0 --> a1 --> a2        plan  m0 |a0 0-10|a1 10-20|a2 20-30|     m1 has half the power
/// ```
fn chain() -> Arc<Setting> {
    let dag = Dag::new(&[task(10.0, 1); 3], &[(0, 1, 0.0), (1, 2, 0.0)]).unwrap();
    let platform = grouped(&[(1.0, 1, 0), (0.5, 1, 0)], 1.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    Arc::new(Setting::new(problem, Messages::Direct).unwrap())
}

#[test]
fn a_slow_round_is_judged_with_its_numbers_and_moves_what_has_not_started() {
    let setting = chain();
    let mut rounds = Rounds::new(setting.clone(), Policy::adaptive()).unwrap();
    let send = |host, round, tasks: &[u32]| Command::Send {
        host,
        round,
        tasks: tasks.to_vec(),
    };
    assert_eq!(rounds.step(0.0, Observation::Begin), [send(0, 1, &[0])]);
    assert_eq!(rounds.step(0.0, Observation::Started(0)), []);
    let commands = rounds.step(100.0, Observation::Finished(0));
    let judgement = Judgement {
        host: 0,
        expected: 10.0,
        real: 100.0,
        performance: 0.1,
        is_loss: true,
        factor: 0.1,
    };
    let [Command::Judged(judged), Command::Plan(question)] = &commands[..] else {
        panic!("{commands:?}");
    };
    assert_eq!(*judged, judgement);
    assert_eq!(question.movable, [1, 2]);
    let answer = question.answer(&setting);
    assert_eq!((answer.before, answer.after), (300.0, 140.0));
    let commands = rounds.step(100.0, Observation::Planned(answer.clone()));
    let host = 0;
    let kept = true;
    let replanned = Command::Replanned { host, answer, kept };
    assert_eq!(commands, [replanned, send(1, 2, &[1])]);
}

/// Our own rule with everything sent at once.
fn sent_whole(setting: &Arc<Setting>) -> Rounds {
    let policy = Policy {
        sizing: Sizing::Whole,
        restarts: None,
        ..Policy::xavantes()
    };
    Rounds::new(setting.clone(), policy).unwrap()
}

#[test]
fn an_overdue_task_is_judged_before_it_ends() {
    let setting = chain();
    let mut rounds = sent_whole(&setting);
    rounds.step(0.0, Observation::Begin);
    let commands = rounds.step(0.0, Observation::Started(0));
    assert_eq!(commands, [Command::WakeAt(11.0)]);
    let commands = rounds.step(1_000.0, Observation::Due);
    let [
        Command::Judged(judged),
        Command::Plan(question),
        Command::WakeAt(next),
    ] = &commands[..]
    else {
        panic!("{commands:?}");
    };
    assert!(judged.is_loss && judged.factor < 0.1, "{judged:?}");
    assert_eq!(*next, 2_000.0);
    let answer = question.answer(&setting);
    let commands = rounds.step(1_000.0, Observation::Planned(answer));
    let retract = Command::Retract {
        host: 0,
        tasks: vec![1, 2],
    };
    assert_eq!(commands, [retract]);
    rounds.step(1_000.0, Observation::Retracted(1));
    let commands = rounds.step(1_000.0, Observation::Retracted(2));
    assert!(
        commands.contains(&Command::Send {
            host: 1,
            round: 1,
            tasks: vec![1, 2]
        }),
        "{commands:?}"
    );
}

#[test]
fn a_task_that_starts_before_it_is_retracted_stays() {
    let setting = chain();
    let mut rounds = sent_whole(&setting);
    rounds.step(0.0, Observation::Begin);
    rounds.step(0.0, Observation::Started(0));
    let commands = rounds.step(1_000.0, Observation::Due);
    let answer = question(&commands).unwrap().answer(&setting);
    rounds.step(1_000.0, Observation::Planned(answer));
    rounds.step(1_001.0, Observation::Finished(0));
    rounds.step(1_001.0, Observation::Started(1));
    rounds.step(1_002.0, Observation::Retracted(2));
    assert_eq!(rounds.progress().host, [0, 0, 1]);
}

/// The question among commands.
fn question(commands: &[Command]) -> Option<Question> {
    commands.iter().find_map(|command| match command {
        Command::Plan(question) => Some((**question).clone()),
        Command::Send { .. }
        | Command::SendAhead { .. }
        | Command::Retract { .. }
        | Command::Stop { .. }
        | Command::Judged(_)
        | Command::Replanned { .. }
        | Command::WakeAt(_) => None,
    })
}

#[test]
fn bad_options_are_named() {
    let refused = |policy: Policy| Rounds::new(chain(), policy).unwrap_err().to_string();
    assert_eq!(
        refused(Policy::rounds(0)),
        "0 rounds cannot be run; there are from 1 to 1000000"
    );
    let threshold = -0.5;
    assert_eq!(
        refused(Policy {
            threshold,
            ..Policy::fixed()
        }),
        "the threshold is -0.5; it is a number from 0 to 1000000"
    );
    for threshold in [f64::NAN, f64::INFINITY] {
        let text = refused(Policy {
            threshold,
            ..Policy::fixed()
        });
        assert!(text.starts_with("the threshold is "), "{text}");
    }
    let sizing = Sizing::Adaptive { reward: -0.05 };
    assert_eq!(
        refused(Policy {
            sizing,
            ..Policy::fixed()
        }),
        "the reward factor is -0.05; it is a number from 0 to 1000000"
    );
    let learning = Learning::Fitted { mean_weights: -1.0 };
    assert_eq!(
        refused(Policy {
            learning,
            ..Policy::fixed()
        }),
        "the number of mean weights is -1; it is a number from 0 to 1000000"
    );
    let questions_max = Some(0);
    assert_eq!(
        refused(Policy {
            questions_max,
            ..Policy::fixed()
        }),
        "no question may be asked; at least one is, or their number has no bound"
    );
    let gain_least = Some(f64::NAN);
    assert!(
        refused(Policy {
            gain_least,
            ..Policy::fixed()
        })
        .starts_with("the least gain is ")
    );
    let restarts = Some(Restarts {
        overrun: -1.0,
        ..RESTARTS
    });
    assert_eq!(
        refused(Policy {
            restarts,
            ..Policy::fixed()
        }),
        "the part of an overrun that follows is -1; it is a number from 0 to 1000000"
    );
    let wider_later_least = Some(f64::INFINITY);
    assert_eq!(
        refused(Policy {
            wider_later_least,
            ..Policy::fixed()
        }),
        "the least delay before a wider plan is inf; it is a number from 0 to 1000000"
    );
    let wider_gain_least = Some(-0.1);
    assert_eq!(
        refused(Policy {
            wider_gain_least,
            ..Policy::fixed()
        }),
        "the least gain of a wider plan is -0.1; it is a number from 0 to 1000000"
    );
}

#[test]
fn others_move_again_once_the_end_is_later_than_when_a_plan_did_not_pay() {
    // One chain on one machine, beside another one that is far too slow for anything to move there.
    let tasks = vec![task(10.0, 1); 6];
    let edges: Vec<(u32, u32, f64)> = (1..6).map(|task| (task - 1, task, 0.0)).collect();
    let dag = Dag::new(&tasks, &edges).unwrap();
    let platform = grouped(&[(1.0, 1, 0), (0.01, 1, 0)], 1.0, 1.0);
    let problem = Problem::new(dag, &platform).unwrap();
    let setting = Arc::new(Setting::new(problem, Messages::Direct).unwrap());
    let mut rounds = Rounds::new(setting.clone(), Policy::xavantes()).unwrap();
    let mut now = 0.0;
    rounds.step(now, Observation::Begin);
    let mut until = Vec::new();
    for (task, wall) in (0u32..).zip([20.0, 30.0, 80.0, 400.0]) {
        rounds.step(now, Observation::Started(task));
        now += wall;
        let commands = rounds.step(now, Observation::Finished(task));
        for command in commands {
            if let Command::Plan(question) = command {
                let answer = question.answer(&setting);
                until.push((question.narrower.unwrap().alone_until, answer.before));
                rounds.step(now, Observation::Planned(answer));
            }
        }
    }
    // Nothing is known before the first plan, and then a tenth more than its end, with both machines as slow alike.
    assert_eq!(until[0].0, None);
    assert!(until.len() > 2, "{until:?}");
    for pair in until.windows(2) {
        assert!(pair[1].0.unwrap() > pair[0].1, "{until:?}");
    }
}

#[test]
fn what_was_asked_of_an_attempt_that_was_stopped_says_nothing_of_the_next_one() {
    let seed = 8_152_207_182_508_466_080;
    let mut world = World::new(&setting(seed, 24, 5), restarting(), seed);
    world.vanishes = true;
    while world.advance() {}
    assert_eq!(world.ended.len(), 24);
}

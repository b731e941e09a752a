//! Planning again what has not started: PCH in the middle of an execution.
//!
//! Algorithms 2 and 3 of Bittencourt and Madeira over the tasks that may move, all others where they
//! are (rules A11 to A13 of the digest). It differs from [`crate::Pch`] in what [`Estimates`] says
//! of time; the rules of choice are the same.

use std::ops::Range;

use super::candidates::Candidates;
use super::estimates::{Estimates, NONE, Room};
use super::least::Least;
use super::placing::{Choice, Memory, best_place};
use super::progress::{Phase, Progress};
use super::question::{Answer, Narrower, Question, Restart};
use super::setting::{Messages, Setting};
use super::standing::Standing;
use crate::controllers::{Bounds, Tree, places};
use crate::order::less;
use crate::pch::Cluster;

/// The part by which a time is later than another so that rounding cannot make it count as the same.
const MARGIN: f64 = 1e-6;

/// Answers the questions of a process, and keeps the memory that it needs for the next one.
///
/// O(k s (n + e)) at worst for k clusters and s slots; in practice a candidate visits only what its change reaches, most
/// slots are passed over because the path alone would take too long there, and no plan is made, or finished, that
/// cannot be the answer.
pub struct Planner<'a> {
    setting: &'a Setting,
    room: Room,
    standing: Standing,
    candidates: Candidates,
    choices: Memory,
    least: Least,
    /// Tasks that lead to the end of the process as it is.
    chain: Vec<u32>,
    /// Memory for facts that are not those of the question.
    other: Option<Box<Progress>>,
}

/// The end of the process that a plan has to be better than, and the times before which its answer has to end to be of
/// use; infinity if it may end whenever it does.
#[derive(Clone, Copy)]
struct Bar {
    before: f64,
    most: Option<f64>,
}

impl<'a> Planner<'a> {
    /// A planner for a process.
    pub fn new(setting: &'a Setting) -> Planner<'a> {
        Planner {
            setting,
            room: Room::default(),
            standing: Standing::default(),
            candidates: Candidates::default(),
            choices: Memory::default(),
            least: Least::default(),
            chain: Vec::new(),
            other: None,
        }
    }

    /// Plans.
    ///
    /// A narrower plan, where there is one to compare with, is the answer unless the wider one is better
    /// by enough than that one and than no plan. Where overdue tasks may be stopped, such a plan is
    /// made too, and is the answer if it is better by enough when these tasks run on for long.
    pub fn answer(&mut self, question: &Question) -> Answer {
        let progress = &*question.progress;
        let restarting = question.restarts.as_ref();
        let restarting = restarting.and_then(|restarts| self.restarting(question, restarts));
        let before = self.makespan(progress, &[]);
        let Some((restarting, share)) = restarting else {
            let most = question.gain_least.map(|least| (1.0 - least) * before);
            return self.staying(question, Bar { before, most });
        };
        // The length without a stop has to be known only where stopping something saves enough beside what is
        // planned.
        let most = None;
        let staying = self.staying(question, Bar { before, most });
        match less(
            restarting.after,
            share * self.overdue_makespan(question, &staying),
        ) {
            true => restarting,
            false => staying,
        }
    }

    /// The plan that stops nothing.
    fn staying(&mut self, question: &Question, bar: Bar) -> Answer {
        let alone = question.narrower.as_ref();
        let alone = alone.filter(|one| one.alone_until.is_some_and(|end| bar.before <= end));
        match alone {
            Some(narrower) => self.narrow_alone(question, &narrower.movable, bar),
            None => self.wide_or_narrow(question, &question.progress, bar),
        }
    }

    /// The plan for fewer tasks alone, if what leads to the end rests on one of these.
    fn narrow_alone(&mut self, question: &Question, movable: &[u32], bar: Bar) -> Answer {
        let (setting, progress) = (self.setting, &*question.progress);
        let as_it_is = as_it_is(question, progress, bar.before);
        if !self.standing.rests_on(movable) {
            return as_it_is;
        }
        let mut below = f64::INFINITY;
        if let Some(most) = bar.most {
            let of_chain = self.least_of_chain(question.stoppable(), progress, bar);
            if !bar.is_reached(of_chain) {
                return as_it_is;
            }
            // Through controllers nothing is known of starts without the bound of paths.
            if setting.traffic().is_none() {
                below = most;
            }
        }
        let narrow = self.plan(question, progress, movable, (bar.before, below));
        narrow.unwrap_or(as_it_is)
    }

    /// The plan that stops overdue tasks, if these make the process late enough and it saves enough beside no plan, with
    /// the part of another makespan that its own is to be below.
    fn restarting(&mut self, question: &Question, restarts: &Restart) -> Option<(Answer, f64)> {
        let share = 1.0 - restarts.gain_least;
        let in_time = self.makespan(&question.progress, &[]);
        let before = self.makespan(&question.progress, question.stoppable());
        if less(before, (1.0 + restarts.later_least) * in_time) {
            return None;
        }
        let below = share * before;
        let bar = Bar {
            before,
            most: Some(below),
        };
        let progress = self.changed(&question.progress, |progress| {
            for &(task, _) in &restarts.stoppable {
                progress.phase[task as usize] = Phase::Waiting;
            }
        });
        let restarting = match restarts.alone {
            true => self.restarting_alone(question, &progress, bar),
            false => Some(self.wide_or_narrow(question, &progress, bar)),
        };
        self.other = Some(progress);
        let restarting = restarting.filter(|plan| less(plan.after, below));
        let restarting = restarting.filter(|plan| plan.stranded.is_empty())?;
        Some((restarting, share))
    }

    /// The plan in which tasks that are stopped move alone, if it can save enough.
    fn restarting_alone(
        &mut self,
        question: &Question,
        progress: &Progress,
        bar: Bar,
    ) -> Option<Answer> {
        let stopped = question.with_stopped(self.setting, progress, &[]);
        let least = self.least.makespan(self.setting, progress, &stopped);
        match bar.is_reached(least) {
            true => self.plan(question, progress, &[], (bar.before, f64::INFINITY)),
            false => None,
        }
    }

    /// The makespan of new places, if overdue tasks run on for as long as is believed.
    fn overdue_makespan(&mut self, question: &Question, answer: &Answer) -> f64 {
        let setting = self.setting;
        let progress = self.changed(&question.progress, |progress| {
            for (task, host, slot) in answer.moves(setting) {
                let place = task as usize;
                if progress.host[place] != host {
                    progress.since[place] = progress.now;
                }
                (progress.host[place], progress.slot[place]) = (host, slot);
            }
            progress.controllers.clone_from(&answer.controllers);
        });
        let makespan = self.makespan(&progress, question.stoppable());
        self.other = Some(progress);
        makespan
    }

    /// The plan for all tasks that may move, or that for fewer of them; none is made that cannot be the answer. Where
    /// there is a time that a plan has to come below, and none can, everything stays.
    fn wide_or_narrow(&mut self, question: &Question, progress: &Progress, bar: Bar) -> Answer {
        let as_it_is = || as_it_is(question, progress, bar.before);
        let movable = &question.movable;
        let most = bar.most.unwrap_or(f64::INFINITY);
        if bar.most.is_none() && question.narrower.is_none() {
            let plan = self.plan(question, progress, movable, (bar.before, most));
            return plan.unwrap_or_else(as_it_is);
        }
        let least = self.least(question, progress, bar);
        if !bar.is_reached(least) {
            return as_it_is();
        }
        let Some(narrower) = &question.narrower else {
            let plan = self.plan(question, progress, movable, (bar.before, most));
            return plan.unwrap_or_else(as_it_is);
        };
        let share = 1.0 - narrower.gain_least;
        let below = share * bar.before;
        let is_wider = narrower.movable.len() < movable.len();
        let wider = match is_wider && least < below {
            true => self.plan(question, progress, movable, (bar.before, below.min(most))),
            false => None,
        };
        let wider = wider.filter(|wider| less(wider.after, below));
        // The narrower plan counts as far as the wider one is not better by enough.
        let below = match &wider {
            Some(wider) => (wider.after / share) * (1.0 + MARGIN),
            None => most,
        };
        let narrow = match self.may_save(question, narrower, progress, bar) {
            true => self.plan(question, progress, &narrower.movable, (bar.before, below)),
            false => None,
        };
        let Some(narrow) = narrow else {
            return wider.unwrap_or_else(as_it_is);
        };
        let to_beat = bar.before.min(narrow.after);
        let wider = wider.filter(|wider| less(wider.after, share * to_beat));
        wider.unwrap_or(narrow)
    }

    /// False if the plan for fewer tasks is of no use, since it saves nothing: what leads to the end stays as it is.
    fn may_save(
        &self,
        question: &Question,
        narrower: &Narrower,
        progress: &Progress,
        bar: Bar,
    ) -> bool {
        let is_wanted = bar.most.is_none() || self.setting.traffic().is_some();
        is_wanted || {
            let movable = question.with_stopped(self.setting, progress, &narrower.movable);
            self.standing.rests_on(&movable)
        }
    }

    /// No plan for all tasks that may move ends sooner. Bounds that are cheap come first, and the others only where these
    /// leave a plan to be of use.
    fn least(&mut self, question: &Question, progress: &Progress, bar: Bar) -> f64 {
        let setting = self.setting;
        let movable = question.with_stopped(setting, progress, &question.movable);
        let waiting = progress.phase.iter().filter(|phase| phase.is_waiting());
        if movable.len() == waiting.count() {
            let of_chain = self.least_of_chain(question.stoppable(), progress, bar);
            if !bar.is_reached(of_chain) {
                return of_chain;
            }
            // Through controllers nothing is known of starts without the bound of paths.
            if setting.traffic().is_none() {
                let times = (&self.standing.eft[..], &self.standing.free[..]);
                let tasks = (&movable[..], self.candidates.fastest(setting));
                return self
                    .least
                    .makespan_by_machine(setting, progress, tasks, times);
            }
        }
        self.least.makespan(setting, progress, &movable)
    }

    /// No plan ends sooner, by what has started and by the tasks that lead to the end.
    fn least_of_chain(&mut self, leaves: &[(u32, f64)], progress: &Progress, bar: Bar) -> f64 {
        let setting = self.setting;
        self.standing.chain(progress, &mut self.chain);
        let (started, _) = self.standing.begin(setting, progress, &[]);
        if !bar.is_reached(started) {
            return started;
        }
        self.candidates.begin(setting, progress, leaves, bar.before);
        let times = (&self.standing.eft[..], &self.standing.free[..]);
        let tasks = (&self.chain[..], self.candidates.fastest(setting));
        self.least
            .makespan_by_machine(setting, progress, tasks, times)
    }

    /// Plans these tasks, which may move, and those that may be stopped if they do not run in this
    /// progress, as long as the process can end before a time; all others stay where they are. Unless that time is
    /// infinity, the bound was found for the same tasks or more.
    fn plan(
        &mut self,
        question: &Question,
        progress: &Progress,
        movable: &[u32],
        (before, below): (f64, f64),
    ) -> Option<Answer> {
        let setting = self.setting;
        let movable = question.with_stopped(setting, progress, movable);
        let mut answer = as_it_is(question, progress, before);
        if movable.is_empty() && setting.traffic().is_none() {
            return Some(answer);
        }
        let room = std::mem::take(&mut self.room);
        let mut estimates = Estimates::within(room, setting, progress, &movable);
        let leaves = question.stoppable();
        self.candidates.begin(setting, progress, leaves, before);
        // The place in the order before which the ends of all tasks have been looked at.
        let mut looked_at = 0;
        for &head in &movable {
            if estimates.host[head as usize] != NONE {
                continue;
            }
            let tasks = self.candidates.next_cluster(&mut estimates, head);
            let least = &self.least;
            let is_of_use = |estimates: &Estimates<'_>, host: u32, start: f64| {
                below.is_infinite() || least_end(least, estimates, &tasks, (host, start)) < below
            };
            let (places, choices) = (&self.candidates.places, &mut self.choices);
            let choice = best_place(&mut estimates, &tasks, places, is_of_use, choices);
            let (host, slot) = match choice {
                Choice::At(host, slot) => (host, slot),
                Choice::Nowhere => {
                    self.candidates.strand(head);
                    answer.stranded.push(head);
                    continue;
                }
                Choice::Useless => {
                    self.room = estimates.into_room();
                    return None;
                }
            };
            estimates.place(&tasks, host, slot);
            if below.is_finite() {
                let until = setting.rank(head);
                let end = self.end_at_least(&mut estimates, &tasks, (host, looked_at..until));
                if end >= below {
                    self.room = estimates.into_room();
                    return None;
                }
                looked_at = until;
            }
            self.candidates.touch(host);
            answer.clusters.push(Cluster { tasks, host, slot });
        }
        if let (Messages::Controllers(tree, placing), Some(traffic)) =
            (setting.messages(), setting.traffic())
        {
            let host = |task: u32| match estimates.host[task as usize] {
                NONE => progress.host[task as usize],
                host => host,
            };
            let bounds = bounds(progress, tree);
            let problem = setting.problem();
            answer.controllers = places(problem, tree, *placing, traffic, host, &bounds);
            if answer.controllers != progress.controllers {
                estimates.with_controllers(&answer.controllers);
            }
        }
        answer.after = estimates.makespan();
        self.room = estimates.into_room();
        Some(answer)
    }

    /// The process ends no sooner with a cluster where it has just been placed, on a machine, and with the tasks of a
    /// part of the order before it.
    fn end_at_least(
        &self,
        estimates: &mut Estimates<'_>,
        cluster: &[u32],
        (host, before): (u32, Range<u32>),
    ) -> f64 {
        let (setting, progress) = (self.setting, estimates.progress);
        // Tasks before it in the order are placed, so that all times until there are final.
        estimates.settle(setting.rank(cluster[0]));
        let start = estimates.est(cluster[0]);
        let mut end = least_end(&self.least, estimates, cluster, (host, start));
        if setting.traffic().is_none() {
            for &task in &setting.order[before.start as usize..before.end as usize] {
                let host = estimates.host[task as usize];
                if progress.is_waiting(task) && host != NONE {
                    end = end.max(estimates.eft(task) + self.least.after(task, host));
                }
            }
        }
        end
    }

    /// The makespan with everything where it is, where tasks that run end at these times at the soonest.
    fn makespan(&mut self, progress: &Progress, overdue: &[(u32, f64)]) -> f64 {
        let routes = &mut self.room.routes;
        routes.find(self.setting, &progress.controllers, &progress.links);
        self.standing
            .makespan(self.setting, progress, routes, overdue)
    }

    /// These facts with a change.
    fn changed(
        &mut self,
        progress: &Progress,
        change: impl FnOnce(&mut Progress),
    ) -> Box<Progress> {
        let mut other = match self.other.take() {
            Some(mut other) => {
                other.copy(progress);
                other
            }
            None => Box::new(progress.clone()),
        };
        change(&mut other);
        other
    }
}

impl Bar {
    /// True if a plan that ends at a time would be of use.
    fn is_reached(&self, end: f64) -> bool {
        self.most.is_none_or(|most| end < most)
    }
}

/// The process ends no sooner with a cluster on a machine, where it is estimated to start at a time.
fn least_end(
    least: &Least,
    estimates: &Estimates<'_>,
    cluster: &[u32],
    (host, start): (u32, f64),
) -> f64 {
    let (setting, progress) = (estimates.setting, estimates.progress);
    if setting.traffic().is_some() {
        // Controllers are placed at the end, and could let it start sooner.
        let host_of = |task: u32| estimates.host[task as usize];
        let start = least.start(setting, progress, (cluster[0], host), host_of);
        return least.end(setting, progress, cluster, (host, start));
    }
    let mut end = 0.0f64;
    estimates.ends_at_least(cluster, host, start, |task, finish| {
        end = end.max(finish + least.after(task, host));
    });
    end
}

/// The answer that moves nothing.
fn as_it_is(question: &Question, progress: &Progress, before: f64) -> Answer {
    Answer {
        number: question.number,
        clusters: Vec::new(),
        stranded: Vec::new(),
        controllers: progress.controllers.clone(),
        before,
        after: before,
    }
}

fn bounds(progress: &Progress, tree: &Tree) -> Bounds {
    Bounds {
        stays: stays(progress, tree),
        gone: progress.gone.clone(),
    }
}

/// By controller: the machine that it stays on. Controllers stay with tasks below them that have started, as long as
/// their machine is there.
pub(super) fn stays(progress: &Progress, tree: &Tree) -> Vec<Option<u32>> {
    let tasks = 0..progress.phase.len() as u32;
    let started = tree.above(tasks.filter(|&task| !progress.is_waiting(task)));
    let stays = started.iter().zip(&progress.controllers);
    let stays =
        stays.map(|(&started, &host)| (started && !progress.gone[host as usize]).then_some(host));
    stays.collect()
}

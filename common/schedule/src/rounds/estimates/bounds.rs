//! Bounds of the times that a place gives, without a trial.

use super::{Estimates, NONE, Row, first_slot};

impl Estimates<'_> {
    /// By machine: the time at which the first task of a cluster has its data there. All that is before it in the
    /// order is placed, so nothing of the cluster can change it.
    pub(in crate::rounds) fn data_of_first(
        &self,
        task: u32,
        hosts: &[u32],
        row: &mut Row,
        data: &mut Vec<f64>,
    ) {
        let now = self.progress.now;
        data.clear();
        data.resize(hosts.len(), now);
        let here = self.progress.host[task as usize];
        let since_here = self.progress.since[task as usize];
        for (pred, edge) in self.setting.problem().dag().predecessors(task) {
            let (from, made) = (self.host[pred as usize], self.eft[pred as usize]);
            self.messages_from(edge, from, hosts, row, |place, seconds| {
                let left = match (from == NONE, hosts[place] == here) {
                    (true, _) => made,
                    (false, true) => made.max(since_here),
                    (false, false) => made.max(now),
                };
                data[place] = data[place].max(left + seconds);
            });
        }
    }

    /// The time at which it would start on a slot of that machine.
    pub(in crate::rounds) fn start_of_first(
        &self,
        task: u32,
        host: u32,
        slot: u32,
        data: f64,
    ) -> f64 {
        let rank = self.setting.rank[task as usize];
        let first = first_slot(self.setting, task, host, slot);
        let mut start = data;
        for (_, slot) in self.setting.links(task).zip(first..) {
            let list = self.setting.list(host, slot);
            let free = match self.place_in(list, rank).checked_sub(1) {
                Some(before) => self.eft[self.owner(self.lists[list][before].1)],
                None => self.free[list],
            };
            start = start.max(free);
        }
        start
    }

    /// No end of a cluster on a slot is sooner.
    pub(in crate::rounds) fn end_at_least(&self, cluster: &[u32], host: u32, start: f64) -> f64 {
        let mut last = start;
        self.ends_at_least(cluster, host, start, |_, end| last = end);
        last
    }

    /// Tells of each task of a cluster on a slot an end that no other is sooner than: after the one before, and after
    /// the data of tasks that are before all of it in the order, which nothing of it can change.
    pub(in crate::rounds) fn ends_at_least(
        &self,
        cluster: &[u32],
        host: u32,
        start: f64,
        mut tell: impl FnMut(u32, f64),
    ) {
        let head = cluster.first().map_or(0, |&head| self.setting.rank(head));
        let mut end = start;
        for &task in cluster {
            let since = self.since_on(task, host);
            for (pred, edge) in self.setting.problem().dag().predecessors(task) {
                let there = self.host[pred as usize];
                if there != NONE && self.setting.rank(pred) < head {
                    let left = self.eft[pred as usize].max(since);
                    end = end.max(left + self.transfer(edge, there, host));
                }
            }
            end += self.progress.duration(self.setting, task, host);
            tell(task, end);
        }
    }

    /// The time at which a task, whose slots have none of some tasks, would start if it waited for none of them: that
    /// or a sooner time.
    pub(in crate::rounds) fn est_without(&self, task: u32, left_out: &[u32]) -> f64 {
        let to = (task, self.host[task as usize]);
        let arrival = |(pred, edge): (u32, u32)| {
            let from = (self.host[pred as usize], self.eft[pred as usize]);
            self.arrival_of(edge, from, to)
        };
        let dag = self.setting.problem().dag();
        if let &[only] = left_out {
            let mut messages = dag.outgoing(only).filter(|&(succ, _)| succ == task);
            if messages.all(|(_, edge)| arrival((only, edge)) < self.arrival[task as usize]) {
                return self.est(task);
            }
        }
        let preds = dag.predecessors(task);
        let preds = preds.filter(|(pred, _)| !left_out.contains(pred));
        preds.map(arrival).fold(self.progress.now, f64::max)
    }

    /// True if a task that ends on a slot at a time delays others there so far that one of these targets, each given
    /// with the way from its start to the end, starts later than a limit allows.
    pub(in crate::rounds) fn delays_beyond(
        &self,
        (task, host, slot): (u32, u32, u32),
        mut end: f64,
        until: u32,
        limit: f64,
        target: impl Fn(u32) -> Option<f64>,
    ) -> bool {
        let setting = self.setting;
        let dag = setting.problem().dag();
        let list = &self.lists[setting.list(host, first_slot(setting, task, host, slot))];
        let rank = setting.rank(task);
        let from = list.partition_point(|&(other, _)| other < rank);
        for &(other, link) in &list[from..] {
            let next = self.owner(link) as u32;
            if let Some(way) = target(next) {
                return end + way > limit;
            }
            if other > until || self.est(next) >= end {
                return false;
            }
            end += self.progress.duration(setting, next, host);
            for (succ, edge) in dag.outgoing(next) {
                if setting.rank(succ) > until {
                    continue;
                }
                if let Some(way) = target(succ) {
                    let from = (host, end);
                    let to = (succ, self.host[succ as usize]);
                    if self.arrival_of(edge, from, to) + way > limit {
                        return true;
                    }
                }
            }
        }
        false
    }
}

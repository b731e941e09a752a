//! The processes that are planned before a waiting one, as the order is at the moment, and when one that
//! holds slots is expected to end.

use model::{ProcessId, Wall};
use wire::client::Turn;
use wire::group::owner_name;

use super::Market;
use crate::enact::busy::Running;
use crate::process::Process;
use crate::step::Step;

impl Market {
    /// Before whom a process waits for its first plan, and from when on it is expected to get machines;
    /// none where it does not wait.
    pub(crate) fn turn(
        &self,
        step: &Step<'_>,
        running: &dyn Running,
        id: ProcessId,
    ) -> Option<Turn> {
        let demand = self.demands.get(&id).filter(|_| self.wants_plan(id))?;
        if demand.has_plan {
            return None;
        }
        let ahead = self.queue.ahead(demand.turn_of(id))?;
        let (last, last_owner) = match ahead.nearest {
            None => (None, None),
            Some((nearest, owner)) if owner == demand.class.owner => (Some(nearest), None),
            Some((_, owner)) => (None, Some(owner_name(owner.as_deref()).to_owned())),
        };
        Some(Turn {
            n_before: u32::try_from(ahead.n).unwrap_or(u32::MAX),
            last,
            last_owner,
            free_at: self.nth_end(step, running, ahead.n),
        })
    }

    /// When so many processes that hold slots have ended, and one more; none where the work of one of
    /// them is not known, or there are fewer.
    fn nth_end(&self, step: &Step<'_>, running: &dyn Running, n: usize) -> Option<Wall> {
        let holding = self.demands.iter().filter(|(_, demand)| demand.is_holding);
        let ends = holding.map(|(&id, _)| {
            let known = step.cx.process(id)?;
            expected_end(known, running, step.now.wall)
        });
        let mut ends: Vec<Wall> = ends.collect::<Option<_>>()?;
        ends.sort_unstable();
        ends.get(n).copied()
    }
}

/// The planned end of a process, as late as what runs has started, and not before now; none where it
/// gives no work.
fn expected_end(process: &Process, running: &dyn Running, now: Wall) -> Option<Wall> {
    process.state.planned?;
    let plan = &process.state.plan;
    let last = plan.entries.iter().map(|entry| entry.finish).max()?;
    let ends = process.out().filter_map(|(_, attempt)| {
        let started = running.started(attempt)?;
        let entry = plan.entry(attempt.activity)?;
        Some(started + last.saturating_sub(entry.start))
    });
    let planned = process.state.planned_from.map(|from| from + last);
    ends.max().or(planned).map(|end| end.max(now))
}

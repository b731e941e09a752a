//! Silent machines that do not come back are forgotten: nobody is told of them any more, and the repository lets go
//! of them.
//!
//! ```text
//!  heard --connection gone--> silent --[`Config::forget_machines`], and nobody holds anything there--> forgotten
//!    ^                          |                                                                         |
//!    +------- registers --------+----------------------------- registers ---------------------------------+
//! ```
//!
//! A process keeps a grant where only files of it are left, so a machine that somebody still waits for is held and
//! stays. A forgotten machine that comes back registers as one that nobody has heard of, in whatever epoch. Its name
//! has the number that it always had, since processes that have ended may name it by that; and where it was to be
//! empty it still is, since only an administrator takes that back.
//!
//! [`Config::forget_machines`]: crate::Config::forget_machines

use machine::Context;
use model::{Mono, Now, Span};

use crate::histories;
use crate::io::{Effect, Stream};
use crate::machines::{Forgetting, Machine};
use crate::manager::{GroupManager, state};
use crate::record::{Event, MachineNumber};
use crate::register::key;
use crate::state::State;

/// Time that machines have after a start of this manager to register again: it may have been down for longer than a
/// silent machine is remembered.
const BACK_WITHIN: Span = Span::from_secs(600);

/// The longest time between two looks: a machine may fall silent, or be held no more, at any time.
const LOOK_PERIOD: Span = Span::from_secs(60);

/// The shortest one, so that a manager of many silent machines does little else.
const LOOK_PERIOD_MIN: Span = Span::from_secs(1);

impl GroupManager {
    /// Machines are looked at from here on.
    pub(crate) fn begin_forgetting(&mut self, now: Mono) {
        self.forgetting = Forgetting {
            began: now,
            next: self.config.forget_machines.map(|_| now + LOOK_PERIOD_MIN),
        };
    }

    /// When [`GroupManager::forget_machines`] is due.
    pub(crate) fn forget_due(&self) -> Option<Mono> {
        self.forgetting.next.filter(|_| self.is_watching())
    }

    /// Forgets the machines that were silent for long enough and that nobody holds anything of.
    pub(crate) fn forget_machines(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        if self.forget_due().is_none_or(|due| due > now.mono) {
            return;
        }
        let Some(after) = self.config.forget_machines else {
            return;
        };
        let state = state(cx);
        let left = self.machines.iter().filter_map(|(number, machine)| {
            let left = self.forgotten_in(state, (number, machine), now)?;
            Some((left, number))
        });
        let mut left: Vec<(Span, MachineNumber)> = left.collect();
        left.sort_unstable();
        let n_over = left.partition_point(|&(left, _)| left == Span::ZERO);
        let next = left.get(n_over).map_or(LOOK_PERIOD, |&(left, _)| left);
        let period = next.min(after).clamp(LOOK_PERIOD_MIN, LOOK_PERIOD);
        self.forgetting.next = Some(now.mono + period);
        for &(_, number) in &left[..n_over] {
            self.forget(cx, number);
        }
    }

    /// The time after which a machine is forgotten if it does not come back; none while it is connected, where
    /// somebody holds something there, or where machines are never forgotten.
    pub(crate) fn forgotten_in(
        &self,
        state: &State,
        (number, machine): (MachineNumber, &Machine),
        now: Now,
    ) -> Option<Span> {
        let after = self.config.forget_machines?;
        if machine.connection.is_some() || state.is_held(number) || !self.is_watching() {
            return None;
        }
        let Some(heard) = self.machines.heard(number) else {
            // The calendar says how long it was silent before this manager started.
            let silent = now.wall.since(machine.seen);
            let up = now.mono.since(self.forgetting.began);
            let back_within = BACK_WITHIN.min(after);
            let left = after.saturating_sub(silent);
            return Some(left.max(back_within.saturating_sub(up)));
        };
        Some(after.saturating_sub(now.mono.since(heard)))
    }

    fn forget(&mut self, cx: &mut Context<'_, Self>, number: MachineNumber) {
        let Some(machine) = self.machines.remove(number) else {
            return;
        };
        let name = machine.facts.name;
        cx.record(Stream::Manager, Event::Forgotten { resource: number });
        cx.effect(Effect::Drop(key(&name)));
        if self.histories.remove(number) {
            cx.effect(Effect::Drop(histories::key(&name)));
        }
        cx.effect(Effect::Forgotten {
            name,
            seen: machine.seen,
        });
        self.has_changed = true;
    }
}

//! The step of the manager: which file takes which input, and the end of each step.

use machine::{Context, Machine};
use model::{Mono, Now};

use crate::io::{Effect, Input, Peer, Stream};
use crate::manager::{ActivityManager, REGISTER_PERIOD, TICK, raise_epoch};
use crate::parts::leaving::Leaving;
use crate::record::{Event, Snapshot};
use crate::state::State;

impl Machine for ActivityManager {
    type Stream = Stream;
    type State = State;
    type Snapshot = Snapshot;
    type Chapter = ();
    type Event = Event;
    type Input = Input;
    type Effect = Effect;

    fn apply(state: &mut State, event: &Event) {
        state.apply(event);
    }

    fn weight(state: &State) -> usize {
        state.weight()
    }

    fn snapshot(state: &State) -> Snapshot {
        state.snapshot()
    }

    fn restore(_: State, snapshot: Snapshot, _: Vec<(u32, ())>) -> State {
        State::restore(snapshot)
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        let now = now.mono;
        self.expire(cx, now);
        match input {
            Input::Up(Peer::Group) => self.on_group_up(cx, now),
            Input::Down(Peer::Group) => self.group.is_up = false,
            // The executor sends the first message.
            Input::Up(Peer::Process(_)) => {}
            Input::Down(Peer::Process(number)) => self.detach(number, now),
            Input::Group(message) => self.on_group(cx, now, message),
            Input::Process(number, message) => self.on_process(cx, now, number, message),
            Input::Executor(message) => self.on_executor(cx, now, message),
            Input::ExecutorDown => {
                self.executor.close();
                self.end_tails(cx);
            }
            Input::Lend(slots, closed) => self.on_lend(cx, now, slots, closed),
            Input::Power(power) => self.on_power(cx, now, power),
            Input::Served(ids) => self.on_served(cx, ids),
            Input::Leave => self.on_leave(cx, now),
            Input::Fetched(attempt, fetched) => self.on_fetched(cx, attempt, fetched),
            Input::Staged { attempt, result } => self.on_staged(now, attempt, result),
            Input::Lacking {
                attempt,
                inputs,
                workplace,
            } => self.on_lacking(now, attempt, inputs, workplace),
            Input::Collected { attempt, result } => self.on_collected(now, attempt, result),
            Input::Copied { to, copied } => self.on_copied(cx, to, copied),
            Input::Probed { to, fetched } => self.on_probed(cx, to, fetched),
            Input::Checked { to, checked } => self.on_checked(cx, to, checked),
            Input::Discarded { to, made_by } => self.on_discarded(cx, to, made_by),
            Input::Access { number, access } => self.ask_access(cx, number, &access),
        }
        self.finish_step(cx, now);
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        let present = now;
        let now = now.mono;
        self.expire(cx, now);
        if self.tick.is_some_and(|tick| tick <= now) {
            self.tick = None;
            self.forget_orphans(cx, present);
            self.repeat(cx, now);
        }
        self.finish_step(cx, now);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        self.began = now.mono;
        raise_epoch(cx);
        if self.config.has_forgotten {
            cx.record(Stream::Manager, Event::Forgot);
        }
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let due = self.tick.into_iter().chain(self.lease_due());
        due.chain(self.watch.due()).min()
    }
}

impl ActivityManager {
    /// Advances attempts, then sends the messages of the step.
    fn finish_step(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if self.leaving == Leaving::No {
            self.advance(cx, now);
        }
        self.accept_waiting();
        let process_managers = &self.process_managers;
        let is_attached = |number| {
            process_managers
                .get(&number)
                .is_some_and(|link| link.is_attached)
        };
        self.out.empty(
            |effect| cx.effect(effect),
            &self.attempts,
            is_attached,
            self.executor.reach(),
        );
        self.tell_left(cx);
        self.renew(cx, now);
        self.ask_executor(cx, now);
        let due = if self.waits_for_others() {
            now + TICK
        } else if self.group.is_up {
            self.group.asked + REGISTER_PERIOD
        } else {
            return;
        };
        self.tick = Some(self.tick.map_or(due, |tick| tick.min(due)));
    }

    /// Returns true if something may have to be repeated.
    fn waits_for_others(&self) -> bool {
        !self.attempts.is_empty() || (self.group.is_up && !self.group.is_known())
    }
}

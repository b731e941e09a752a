//! The journal and the outbox of a step, counted for metrics.

use machine::Context;
use model::Now;

use super::ProcessManager;
use crate::io::Effect;
use crate::record::{Event, Phase};
use crate::shelf::Shelf;
use crate::step::Ledger;
use crate::stream::{State, Stream};
use crate::tally::{Counter, Noted};

/// The journal and the outbox of a step, with the tally of what is recorded.
pub(crate) struct Counting<'a, 'b> {
    pub(crate) cx: &'a mut Context<'b, ProcessManager>,
    pub(crate) counter: &'a mut Counter,
    pub(crate) now: Now,
}

impl Ledger for Counting<'_, '_> {
    fn state(&self, stream: Stream) -> Option<&State> {
        self.cx.state(stream)
    }

    fn states(&self) -> Box<dyn Iterator<Item = (Stream, &State)> + '_> {
        Box::new(self.cx.states().iter())
    }

    fn record(&mut self, stream: Stream, event: Event) {
        if let Stream::Process(id) = stream {
            self.counter.note(id, &event, self.now.mono);
            if let Event::Closed { phase, at, .. } = &event {
                let known = self.cx.state(stream).and_then(State::process);
                let known = known.filter(|_| *phase == Phase::Completed);
                if let Some(ratio) = known.and_then(|known| known.per_mille_of_plan(*at)) {
                    self.counter.tally.plan_ratios.note(ratio);
                }
            }
        }
        self.cx.record(stream, event);
    }

    fn effect(&mut self, effect: Effect) {
        self.cx.effect(effect);
    }

    fn effect_later(&mut self, effect: Effect) {
        self.cx.effect_later(effect);
    }

    fn pack(&mut self, stream: Stream, shelf: Option<&dyn Shelf>) {
        self.cx.pack(stream, |state| state.pack(shelf));
    }

    fn forget(&mut self, stream: Stream) {
        self.cx.forget(stream);
    }

    fn note(&mut self, noted: Noted<'_>) {
        match noted {
            Noted::Started(started) => {
                for one in started {
                    self.counter
                        .started(one.attempt.process, one, self.now.mono);
                }
            }
            Noted::WonBySecond => self.counter.tally.n_won_by_second += 1,
            Noted::Judged => self.counter.tally.n_judged += 1,
            Noted::AskedToMove => self.counter.tally.n_asked_to_move += 1,
            Noted::NotWorthMoving => self.counter.tally.n_not_worth += 1,
            Noted::Hop => self.counter.tally.n_hops += 1,
            Noted::HopGivenUp => self.counter.tally.n_hops_given_up += 1,
        }
    }
}

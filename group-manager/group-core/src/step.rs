//! The step of the manager: which part takes which input.

use machine::{Context, Machine};
use model::{Epoch, Mono, Now};
use wire::group::{FromGroup, ToGroup};
use wire::resource::FromResource;

use crate::io::{Effect, Input, Peer, Stream};
use crate::manager::{GroupManager, state};
use crate::record::{Event, Snapshot};
use crate::state::State;

impl Machine for GroupManager {
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
        self.note_time(now);
        if let Input::Process(from, message) = &input
            && let Some(machine) = message.foreign(self.config.group)
        {
            cx.effect(Effect::Foreign(*from, machine));
        }
        match input {
            Input::Up(Peer::Activity(connection)) => self.machines.up(connection),
            Input::Up(Peer::Process(number)) => self.process_managers.admit(number),
            Input::Barred(number) => {
                self.process_managers.bar(number);
                self.endings.look_at(now.mono);
            }
            Input::Down(Peer::Activity(connection)) => {
                self.introduced.remove(&connection);
                self.has_changed |= self.machines.down(connection);
            }
            Input::Introduced(connection, name) => {
                self.introduced.insert(connection, name);
            }
            Input::Down(Peer::Process(number)) => {
                self.process_managers.detach(number, now.mono);
                self.has_changed |= self.waiters.remove(number);
                self.endings.look_at(now.mono);
            }
            Input::Activity(
                connection,
                FromResource::Unused {
                    epoch,
                    question,
                    processes,
                },
            ) => self.on_unused(cx, now.mono, (connection, epoch), question, &processes),
            Input::Activity(connection, FromResource::Register { epoch, facts }) => {
                self.on_register(cx, now, connection, epoch, facts);
            }
            Input::Activity(connection, FromResource::Alive) => {
                let is_watching = self.is_watching();
                self.has_changed |= self.machines.on_alive(now, connection, is_watching);
            }
            Input::Process(from, ToGroup::Attach { epoch }) => {
                if self.is_present(cx, from, epoch) {
                    self.process_managers.attach(from);
                    self.close_questions(cx, from);
                    let offer = self.offer_to(cx, self.offer(cx), from);
                    cx.effect(Effect::ToProcess(from, FromGroup::Offer(offer)));
                }
            }
            Input::Process(
                from,
                ToGroup::Claim {
                    number,
                    process,
                    wants,
                    epoch,
                    owner,
                },
            ) => {
                if self.is_present(cx, from, epoch) {
                    self.on_claim(cx, from, (process, owner, number), &wants);
                }
            }
            Input::Process(
                from,
                ToGroup::Return {
                    number,
                    process,
                    keep,
                    epoch,
                },
            ) => {
                if self.is_present(cx, from, epoch) {
                    self.on_return(cx, from, (process, number), &keep);
                }
            }
            Input::Process(from, ToGroup::Release(process)) => self.on_release(cx, from, process),
            Input::Process(from, ToGroup::Holds(held)) => self.on_holds(cx, from, &held),
            Input::Process(
                from,
                ToGroup::Confirm {
                    epoch,
                    group,
                    number,
                    processes,
                },
            ) => {
                // Claims that came since the offer of an earlier epoch are not known there.
                if self.is_present(cx, from, epoch) && group == state(cx).epoch() {
                    self.on_confirm(cx, from, (epoch, number), &processes);
                }
            }
            Input::Process(
                from,
                ToGroup::Waits {
                    epoch,
                    process,
                    owner,
                    waited,
                    needs,
                },
            ) => {
                if self.is_present(cx, from, epoch) {
                    self.on_waits(from, (process, owner.as_deref()), waited, needs);
                }
            }
            Input::Process(from, ToGroup::Shown { epoch, machines }) => {
                if self.is_present(cx, from, epoch) {
                    self.on_shown(cx, now, from, &machines);
                }
            }
            Input::Load(name, load) => self.on_load(cx, &name, load),
            Input::History(question, name) => self.on_history(cx, question, &name),
            Input::Known(records) => self.on_known(cx, records),
            Input::GiveUp(question, holder) => self.on_give_up(cx, now.mono, question, holder),
            Input::Survey(question, user) => self.on_survey(cx, now, question, user.as_deref()),
            Input::Drain {
                question,
                name,
                is_drained,
            } => self.on_drain(cx, question, name, is_drained),
        }
        self.charge_in_time(cx);
        self.push_offers(cx, now.mono);
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        self.note_time(now);
        self.has_changed |= self.machines.check(now.mono);
        self.has_changed |= self.waiters.check(now.mono);
        self.end_holdings(cx, now.mono);
        self.forget_machines(cx, now);
        self.keep_moments(cx, now);
        self.charge_in_time(cx);
        self.push_offers(cx, now.mono);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        self.endings.begin(now.mono);
        self.begin_forgetting(now.mono);
        let epoch = cx.state(Stream::Manager).map_or(Epoch(0), State::epoch);
        let epoch = epoch.max(self.config.epochs_above);
        cx.record(Stream::Manager, Event::Epoch(Epoch(epoch.0 + 1)));
        self.begin_charging(cx, now);
        self.keep_moments(cx, now);
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.offers_due()
            .into_iter()
            .chain(self.machines.due())
            .chain(self.endings_due())
            .chain(self.forget_due())
            .chain(self.charge_due())
            .chain(self.waiters.due())
            .chain(self.histories.due())
            .min()
    }
}

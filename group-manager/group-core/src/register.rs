//! The registration of machines, and what the repository has of them.

use machine::Context;
use model::{Epoch, Now, Span, Wall};
use wire::group::RESOURCES_MAX;
use wire::resource::{CLOSED_BYTES_MAX, Facts, LABELS_BYTES_MAX, ToResource, labels_bytes};

use crate::histories::is_history;
use crate::io::{Effect, Record, Stream};
use crate::machines::{Heard, Machine};
use crate::manager::{GroupManager, state};
use crate::record::{Event, MachineNumber, Seen};

/// Period of recording that a machine was seen, while nothing about it changes.
const SEEN_PERIOD: Span = Span::from_secs(60);
/// Slots of one machine. More are not believed.
const SLOTS_MAX: u32 = 65_536;
/// Bytes of a machine's name, as of a file's.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of the address of its files: a host name, and a port. All offers name it.
const ADDRESS_BYTES_MAX: usize = 253 + 6;

impl GroupManager {
    pub(crate) fn on_register(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        connection: u32,
        epoch: Epoch,
        facts: Facts,
    ) {
        let known = self.introduced.get(&connection);
        if !are_sound(&facts) || known.is_some_and(|known| *known != facts.name) {
            return;
        }
        let Some(resource) = number_of(cx, &facts.name) else {
            return;
        };
        let before = self.machines.get(resource);
        if before.is_some_and(|machine| machine.is_late(connection, epoch)) {
            return;
        }
        let is_same = before.is_some_and(|machine| {
            machine.facts == facts && machine.connection == Some(connection)
        });
        let heard = before.map(|machine| machine.heard).unwrap_or_default();
        let had_other_power = before.filter(|machine| machine.facts.power != facts.power);
        let had_other_power = had_other_power.map(|machine| machine.seen);
        let kept = before.map_or(Wall(0), |machine| machine.kept);
        let ended = before.and_then(|machine| machine.ended);
        let seen = now.wall;
        let is_kept = is_same && seen.since(kept) < SEEN_PERIOD;
        let kept = if is_kept { kept } else { seen };
        if !is_kept {
            cx.effect(Effect::Keep(record(&facts, seen)));
        }
        if !is_same {
            self.machines.disconnect(connection, Some(resource));
            self.has_changed = true;
        }
        // Its past begins with the power that it had first.
        if let Some(at) = had_other_power.filter(|_| !self.histories.has_past(resource)) {
            self.keep_moment(cx, resource, at);
        }
        let connection = Some(connection);
        self.machines.insert(
            resource,
            Machine {
                facts,
                connection,
                seen,
                ended,
                epoch,
                kept,
                heard,
            },
        );
        let is_watching = self.is_watching();
        self.has_changed |= self.machines.hear(now.mono, resource, is_watching);
        if had_other_power.is_some() {
            self.keep_moment(cx, resource, now.wall);
        }
        if let Some(connection) = connection {
            cx.effect(Effect::ToActivity(
                connection,
                ToResource::Registered(self.id(resource)),
            ));
        }
        self.push_grants(cx, resource);
    }

    /// Takes what an earlier epoch has kept, but for what was told anew.
    pub(crate) fn on_known(&mut self, cx: &mut Context<'_, Self>, records: Vec<Record>) {
        let (histories, machines): (Vec<Record>, Vec<Record>) =
            records.into_iter().partition(is_history);
        for history in histories.iter().take(RESOURCES_MAX) {
            self.on_known_history(cx, history);
        }
        for Record { key, value } in machines.into_iter().take(RESOURCES_MAX) {
            // A record that cannot be read costs nothing: the machine will register.
            let Ok(Seen { facts, seen }) = minicbor::decode::<Seen>(&value) else {
                continue;
            };
            let Some(resource) = state(cx).resource(&facts.name) else {
                continue;
            };
            if state(cx).is_forgotten(resource) {
                // The manager ended before the repository let go of it.
                cx.effect(Effect::Drop(key));
                continue;
            }
            let facts = Facts::from(facts);
            if are_sound(&facts) {
                let (connection, epoch, kept) = (None, Epoch(0), seen);
                let machine = Machine {
                    facts,
                    connection,
                    seen,
                    ended: None,
                    epoch,
                    kept,
                    heard: Heard::default(),
                };
                self.machines.insert_unheard(resource, machine);
            }
        }
    }
}

/// The number of a machine, given to it where it has none. It is remembered from here on. None where there are too
/// many.
fn number_of(cx: &mut Context<'_, GroupManager>, name: &str) -> Option<MachineNumber> {
    let known = state(cx).resource(name);
    if let Some(resource) = known
        && !state(cx).is_forgotten(resource)
    {
        return Some(resource);
    }
    let n_resources = state(cx).n_resources();
    if known.is_none() && n_resources >= RESOURCES_MAX {
        return None;
    }
    let next = || Some(MachineNumber(u32::try_from(n_resources).ok()?));
    let resource = known.or_else(next)?;
    cx.record(
        Stream::Manager,
        Event::Named {
            resource,
            name: name.to_owned(),
        },
    );
    Some(resource)
}

/// True if a machine's facts are possible. A planner divides by its power.
fn are_sound(facts: &Facts) -> bool {
    (1..=NAME_BYTES_MAX).contains(&facts.name.len())
        && facts.slots <= SLOTS_MAX
        && facts.power.is_finite()
        && facts.power > 0.0
        && labels_bytes(&facts.labels) <= LABELS_BYTES_MAX
        && is_short(facts.bulk.as_ref(), ADDRESS_BYTES_MAX)
        && is_short(facts.closed.as_ref(), CLOSED_BYTES_MAX)
}

fn is_short(text: Option<&String>, bytes_max: usize) -> bool {
    text.is_none_or(|text| text.len() <= bytes_max)
}

/// The record that the repository keeps of a machine.
fn record(facts: &Facts, seen: Wall) -> Record {
    let seen = Seen {
        facts: facts.into(),
        seen,
    };
    Record {
        key: key(&facts.name),
        value: wire::encode(&seen),
    }
}

/// The key of that record.
pub(crate) fn key(name: &str) -> Vec<u8> {
    format!("machine/{name}").into_bytes()
}

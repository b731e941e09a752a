//! The manager: machines that register, claims, and what is offered.

use std::collections::{BTreeMap, BTreeSet};

use machine::Context;
use minicbor::{Decode, Encode};
use model::{Epoch, GrantId, Mono, Now, ProcessId, ResourceId, Span, Wall};
use wire::group::{FromGroup, Grant, Held, Offer, Offered, RESOURCES_MAX, ToGroup, Want};
use wire::resource::{Facts, FromResource, ToResource};

use crate::io::{Config, Effect, Input, Peer, Record, Stream};
use crate::link::ProcessLinks;
use crate::state::{Event, Snapshot, State};
use crate::watch::{Heard, Watch};

/// How long changes are gathered before they are offered: a hundred claims at once are one offer.
const OFFER_GAP: Span = Span::from_millis(50);
/// How often the offer is said again while nothing changes, since nobody acknowledges it.
const OFFER_PERIOD: Span = Span::from_secs(5);
/// How often it is kept that a machine was seen, while nothing about it changes.
const SEEN_PERIOD: Span = Span::from_secs(60);
/// Slots of one machine. More are not believed.
const SLOTS_MAX: u32 = 65_536;
/// Bytes of a machine's name, as of a file's.
const NAME_BYTES_MAX: usize = 255;
/// Bytes of a machine's labels, so that what is kept of it fits into a record of 4 KiB.
const LABELS_BYTES_MAX: usize = 3_072;
/// Processes that hold something. The claims of others are refused.
const HOLDINGS_MAX: usize = 100_000;
/// Refusals remembered, so that a repeat of a claim is refused too. A forgotten one may be granted
/// to a repeat that comes very late; its process then holds it until its end.
const REFUSED_MAX: usize = 16_384;

/// The logic of one group manager.
///
/// ```text
/// activity managers --> Register        <-- Registered, Grants (all grants of the machine)
/// process managers  --> Attach          <-- Offer, and again at each change
///                   --> Claim, Release  <-- Granted or Refused, Released
///                   --> Holds           (where both are one program)
/// ```
///
/// It repeats offers and nothing else: who misses an answer asks again, and gets it from the state.
#[derive(Debug, Default)]
pub struct GroupManager {
    pub(crate) config: Config,
    pub(crate) machines: BTreeMap<ResourceId, Machine>,
    /// Whose connections are, where that is known.
    introduced: BTreeMap<u32, String>,
    process_managers: ProcessLinks,
    /// The numbers of the last claims that were refused.
    refused: BTreeMap<ProcessId, u32>,
    /// Processes that were granted something in this life, and hold it.
    granted: BTreeSet<ProcessId>,
    pub(crate) has_changed: bool,
    offered: Option<Mono>,
    pub(crate) watch: Watch,
}

/// What a machine has said of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine {
    /// What it is.
    pub facts: Facts,
    /// Its connection; none where it cannot be reached, and is not offered.
    pub connection: Option<u32>,
    /// When it spoke last.
    pub seen: Wall,
    /// The last of its lives that has registered.
    epoch: Epoch,
    /// The value of `seen` that the repository has.
    kept: Wall,
    pub(crate) heard: Heard,
}

/// A record of a machine.
#[derive(Debug, Encode, Decode)]
struct Seen {
    #[n(0)]
    facts: Facts,
    #[n(1)]
    seen: Wall,
}

impl GroupManager {
    /// A manager that knows nobody yet.
    pub fn new(config: Config) -> GroupManager {
        GroupManager {
            config,
            ..GroupManager::default()
        }
    }

    /// All machines that were ever heard of, in the order of their numbers.
    pub fn machines(&self) -> impl Iterator<Item = (ResourceId, &Machine)> {
        self.machines
            .iter()
            .map(|(&resource, machine)| (resource, machine))
    }
}

impl machine::Machine for GroupManager {
    type Stream = Stream;
    type State = State;
    type Snapshot = Snapshot;
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

    fn restore(_: State, snapshot: Snapshot) -> State {
        State::restore(snapshot)
    }

    fn step(&mut self, cx: &mut Context<'_, Self>, now: Now, input: Input) {
        match input {
            Input::Up(_) => {}
            Input::Down(Peer::Activity(connection)) => {
                self.introduced.remove(&connection);
                self.disconnect(connection, None);
            }
            Input::Introduced(connection, name) => {
                self.introduced.insert(connection, name);
            }
            Input::Down(Peer::Process(number)) => self.process_managers.detach(number),
            Input::Activity(connection, FromResource::Register { epoch, facts }) => {
                self.on_register(cx, now, connection, epoch, facts);
            }
            Input::Activity(connection, FromResource::Alive) => {
                self.on_alive(now, connection);
            }
            Input::Process(from, ToGroup::Attach { epoch }) => {
                if self.process_managers.attach(from, epoch) {
                    let offer = FromGroup::Offer(self.offer(cx));
                    cx.effect(Effect::ToProcess(from, offer));
                }
            }
            Input::Process(
                from,
                ToGroup::Claim {
                    number,
                    process,
                    wants,
                },
            ) => {
                self.on_claim(cx, from, number, process, &wants);
            }
            Input::Process(from, ToGroup::Release(process)) => self.on_release(cx, from, process),
            Input::Process(_, ToGroup::Holds { held, epoch }) => self.on_holds(cx, &held, epoch),
            Input::Known(records) => self.on_known(cx, records),
            Input::Survey(question) => self.on_survey(cx, question),
            Input::Drain {
                question,
                name,
                is_drained,
            } => self.on_drain(cx, question, name, is_drained),
        }
        self.push_offers(cx, now.mono);
    }

    fn wake(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        self.look_who_is_silent(now.mono);
        self.push_offers(cx, now.mono);
    }

    fn resume(&mut self, cx: &mut Context<'_, Self>, _: Now) {
        let epoch = cx.state(Stream::Manager).map_or(Epoch(0), State::epoch);
        cx.record(Stream::Manager, Event::Epoch(Epoch(epoch.0 + 1)));
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let gap = if self.has_changed {
            OFFER_GAP
        } else {
            OFFER_PERIOD
        };
        let attached = self.process_managers.any_attached();
        let offered = self.offered.filter(|_| attached);
        let offer = offered.map(|offered| offered + gap);
        offer.into_iter().chain(self.watch.due()).min()
    }
}

/// The durable state, which is there from `resume` on.
pub(crate) fn state<'a>(cx: &'a Context<'_, GroupManager>) -> &'a State {
    cx.state(Stream::Manager)
        .expect("resume records the first event")
}

impl GroupManager {
    // Machines.

    fn on_register(
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
        let before = self.machines.get(&resource);
        if before.is_some_and(|machine| epoch < machine.epoch) {
            return; // A late message of an earlier life.
        }
        let is_same = before.is_some_and(|machine| {
            machine.facts == facts && machine.connection == Some(connection)
        });
        let heard = before.map(|machine| machine.heard).unwrap_or_default();
        let kept = before.map_or(Wall(0), |machine| machine.kept);
        let seen = now.wall;
        let is_kept = is_same && seen.since(kept) < SEEN_PERIOD;
        let kept = if is_kept { kept } else { seen };
        if !is_kept {
            cx.effect(Effect::Keep(record(&facts, seen)));
        }
        if !is_same {
            self.disconnect(connection, Some(resource));
            self.has_changed = true;
        }
        let connection = Some(connection);
        self.machines.insert(
            resource,
            Machine {
                facts,
                connection,
                seen,
                epoch,
                kept,
                heard,
            },
        );
        self.hear(now.mono, resource);
        if let Some(connection) = connection {
            cx.effect(Effect::ToActivity(
                connection,
                ToResource::Registered(resource),
            ));
        }
        self.push_grants(cx, resource);
    }

    /// Nobody is reached by a connection any more, but for one machine.
    fn disconnect(&mut self, connection: u32, except: Option<ResourceId>) {
        for (&resource, machine) in &mut self.machines {
            if machine.connection == Some(connection) && Some(resource) != except {
                machine.connection = None;
                self.has_changed = true;
            }
        }
    }

    /// Takes what an earlier life has kept, but for what was told anew.
    fn on_known(&mut self, cx: &Context<'_, Self>, records: Vec<Record>) {
        for Record { value, .. } in records.into_iter().take(RESOURCES_MAX) {
            // One that cannot be read costs nothing: the machine will register.
            let Ok(Seen { facts, seen }) = minicbor::decode::<Seen>(&value) else {
                continue;
            };
            let Some(resource) = state(cx).resource(&facts.name) else {
                continue;
            };
            if are_sound(&facts) {
                let (connection, epoch, kept) = (None, Epoch(0), seen);
                let machine = Machine {
                    facts,
                    connection,
                    seen,
                    epoch,
                    kept,
                    heard: Heard::default(),
                };
                self.machines.entry(resource).or_insert(machine);
            }
        }
    }

    fn push_grants(&self, cx: &mut Context<'_, Self>, resource: ResourceId) {
        let connection = self
            .machines
            .get(&resource)
            .and_then(|machine| machine.connection);
        if let Some(connection) = connection {
            let grants = state(cx).grants(resource);
            cx.effect(Effect::ToActivity(connection, ToResource::Grants(grants)));
        }
    }

    // Claims.

    fn on_claim(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: u32,
        number: u32,
        process: ProcessId,
        wants: &[Want],
    ) {
        let granted = state(cx).holding(process).map(|holding| holding.number);
        let released = state(cx).released(process);
        if granted.is_none() && released.is_some_and(|last| number <= last) {
            return cx.effect(Effect::ToProcess(from, FromGroup::Released(process)));
        }
        let granted = granted.unwrap_or_default();
        let refused = self.refused.get(&process).copied().unwrap_or_default();
        if number < granted.max(refused) {
            return; // A late copy: there was a later claim since.
        }
        if number > granted && number > refused {
            let grants = self.grants_for(cx, process, wants);
            if grants.is_empty() {
                self.remember_refused(process, number);
            } else {
                self.grant(cx, process, number, grants);
            }
        }
        let holding = state(cx)
            .holding(process)
            .filter(|holding| holding.number == number);
        let answer = match holding {
            Some(holding) => FromGroup::Granted {
                number,
                process,
                grants: holding.grants.clone(),
            },
            None => FromGroup::Refused { number, process },
        };
        cx.effect(Effect::ToProcess(from, answer));
    }

    /// What the processes of this program's process manager hold, as that one has recorded: what is
    /// lacking here was lost with this manager's journal; what an earlier life of this manager has
    /// granted to others was lost with that one's. In a grid neither is believed: machines would have
    /// other numbers.
    fn on_holds(&mut self, cx: &mut Context<'_, Self>, held: &[Held], epoch: Option<Epoch>) {
        if self.config.lease.is_some() {
            return;
        }
        // A copy that comes late does not know of what was claimed since.
        if epoch == Some(state(cx).epoch()) {
            let known: BTreeSet<ProcessId> = held.iter().map(|one| one.process).collect();
            let holders = state(cx).holdings().map(|(process, _)| process);
            let is_lost = |one: &ProcessId| !known.contains(one) && !self.granted.contains(one);
            let lost: Vec<ProcessId> = holders.filter(is_lost).collect();
            for process in lost {
                self.give_back(cx, process);
            }
        }
        for one in held.iter().take(HOLDINGS_MAX) {
            if state(cx).released(one.process).is_some() {
                continue;
            }
            let lacking = lacking(state(cx), one);
            if !lacking.is_empty() {
                let last = state(cx).holding(one.process).map(|known| known.number);
                let number = last.map_or(one.number, |last| last.max(one.number));
                self.grant(cx, one.process, number, lacking);
            }
        }
    }

    /// What is free of what is wanted, first come, first served.
    fn grants_for(&self, cx: &Context<'_, Self>, process: ProcessId, wants: &[Want]) -> Vec<Grant> {
        let state = state(cx);
        if state.holding(process).is_none() && state.n_holdings() >= HOLDINGS_MAX {
            return Vec::new();
        }
        let mut wanted: BTreeMap<ResourceId, u32> = BTreeMap::new();
        for want in wants.iter().take(RESOURCES_MAX) {
            let slots = wanted.entry(want.resource).or_default();
            *slots = slots.saturating_add(want.slots);
        }
        let GrantId(mut last) = state.last_grant();
        let mut grants = Vec::new();
        for (resource, slots) in wanted {
            let slots = slots.min(self.free(state, resource));
            if slots > 0 {
                last += 1;
                grants.push(Grant {
                    id: GrantId(last),
                    resource,
                    slots,
                });
            }
        }
        grants
    }

    fn grant(
        &mut self,
        cx: &mut Context<'_, Self>,
        process: ProcessId,
        number: u32,
        grants: Vec<Grant>,
    ) {
        let resources: Vec<ResourceId> = grants.iter().map(|grant| grant.resource).collect();
        cx.record(
            Stream::Manager,
            Event::Granted {
                process,
                number,
                grants,
            },
        );
        self.granted.insert(process);
        self.refused.remove(&process);
        self.has_changed = true;
        for resource in resources {
            self.push_grants(cx, resource);
        }
    }

    fn remember_refused(&mut self, process: ProcessId, number: u32) {
        self.refused.insert(process, number);
        if self.refused.len() > REFUSED_MAX {
            self.refused.pop_first();
        }
    }

    fn on_release(&mut self, cx: &mut Context<'_, Self>, from: u32, process: ProcessId) {
        if state(cx).holding(process).is_some() {
            self.give_back(cx, process);
        } else if state(cx).released(process).is_none() {
            // Whatever of its claims is still on its way comes too late.
            self.remember_refused(process, u32::MAX);
        }
        cx.effect(Effect::ToProcess(from, FromGroup::Released(process)));
    }

    /// All that a process holds is free again.
    fn give_back(&mut self, cx: &mut Context<'_, Self>, process: ProcessId) {
        let holding = state(cx).holding(process);
        let grants = holding.iter().flat_map(|holding| &holding.grants);
        let resources: BTreeSet<ResourceId> = grants.map(|grant| grant.resource).collect();
        cx.record(Stream::Manager, Event::Released { process });
        self.granted.remove(&process);
        self.refused.remove(&process);
        self.has_changed = true;
        for resource in resources {
            self.push_grants(cx, resource);
        }
    }

    // Offers.

    /// Offers what has changed, or what was not said for long.
    fn push_offers(&mut self, cx: &mut Context<'_, Self>, now: Mono) {
        if !self.process_managers.any_attached() {
            self.offered = None;
            return;
        }
        let silent = self.offered.map(|offered| now.since(offered));
        let gap = if self.has_changed {
            OFFER_GAP
        } else {
            OFFER_PERIOD
        };
        if silent.is_some_and(|silent| silent < gap) {
            return;
        }
        // Where nobody was attached before, who has just attached was told already.
        if silent.is_some() {
            let offer = self.offer(cx);
            for number in self.process_managers.attached() {
                cx.effect(Effect::ToProcess(number, FromGroup::Offer(offer.clone())));
            }
        }
        self.has_changed = false;
        self.offered = Some(now);
    }

    fn offer(&self, cx: &Context<'_, Self>) -> Offer {
        let state = state(cx);
        // One that has told so stays to be emptied when it is gone: what it gave back just before is
        // not for it.
        let (leaving, others): (Vec<_>, Vec<_>) = self.machines.iter().partition(|(_, machine)| {
            let facts = &machine.facts;
            (facts.slots == 0 && !facts.is_store) || state.is_drained(&facts.name)
        });
        let connected = others.into_iter().filter(|(_, one)| one.is_there());
        let resources = connected.map(|(&resource, machine)| {
            let Facts {
                name,
                slots,
                memory,
                power,
                labels,
                bulk,
                is_store: _,
            } = &machine.facts;
            Offered {
                resource,
                name: name.clone(),
                power: *power,
                slots: *slots,
                free: self.free(state, resource),
                memory: *memory,
                labels: labels.clone(),
                bulk: bulk.clone(),
            }
        });
        Offer {
            epoch: state.epoch(),
            group: self.config.group,
            resources: resources.collect(),
            leaving: leaving.into_iter().map(|(&resource, _)| resource).collect(),
        }
    }

    /// Slots of a machine that nobody holds; none of one that cannot be reached or is to be empty. A
    /// machine with fewer slots than before may be held beyond them: what is granted is honoured.
    fn free(&self, state: &State, resource: ResourceId) -> u32 {
        let machine = self.machines.get(&resource);
        match machine.filter(|machine| machine.is_there()) {
            Some(machine) if state.is_drained(&machine.facts.name) => 0,
            Some(machine) => {
                let held = u32::try_from(state.held(resource)).unwrap_or(u32::MAX);
                machine.facts.slots.saturating_sub(held)
            }
            None => 0,
        }
    }
}

/// What a process was granted and does not hold here, as grants with numbers that nobody has had.
fn lacking(state: &State, held: &Held) -> Vec<Grant> {
    let mut slots: BTreeMap<ResourceId, u32> = BTreeMap::new();
    for grant in held.grants.iter().take(RESOURCES_MAX) {
        let slots = slots.entry(grant.resource).or_default();
        *slots = slots.saturating_add(grant.slots);
    }
    for grant in state
        .holding(held.process)
        .iter()
        .flat_map(|one| &one.grants)
    {
        if let Some(slots) = slots.get_mut(&grant.resource) {
            *slots = slots.saturating_sub(grant.slots);
        }
    }
    let GrantId(last) = state.last_grant();
    let lacking = slots.into_iter().filter(|&(_, slots)| slots > 0);
    (last + 1..)
        .zip(lacking)
        .map(|(id, (resource, slots))| Grant {
            id: GrantId(id),
            resource,
            slots,
        })
        .collect()
}

/// The number of a machine, given to it where it has none. None where there are too many.
fn number_of(cx: &mut Context<'_, GroupManager>, name: &str) -> Option<ResourceId> {
    if let Some(resource) = state(cx).resource(name) {
        return Some(resource);
    }
    let n_resources = state(cx).n_resources();
    if n_resources >= RESOURCES_MAX {
        return None;
    }
    let resource = ResourceId(u32::try_from(n_resources).ok()?);
    cx.record(
        Stream::Manager,
        Event::Named {
            resource,
            name: name.to_owned(),
        },
    );
    Some(resource)
}

/// Whether a machine can be what it says. A planner divides by its power.
fn are_sound(facts: &Facts) -> bool {
    let labels: usize = facts
        .labels
        .iter()
        .map(|(name, value)| name.len() + value.len() + 8)
        .sum();
    (1..=NAME_BYTES_MAX).contains(&facts.name.len())
        && facts.slots <= SLOTS_MAX
        && facts.power.is_finite()
        && facts.power > 0.0
        && labels <= LABELS_BYTES_MAX
}

fn record(facts: &Facts, seen: Wall) -> Record {
    let seen = Seen {
        facts: facts.clone(),
        seen,
    };
    Record {
        key: format!("machine/{}", facts.name).into_bytes(),
        value: wire::encode(&seen),
    }
}

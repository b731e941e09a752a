//! The powers and loads that machines had: what is shown of a machine's past, and what a start of this manager goes
//! on with.

use machine::Context;
use model::{Now, Span, Wall};
use wire::admin::{MOMENTS_MAX, Moment};
use wire::group::{SHOWN_MAX, Shown};

use crate::histories::key;
use crate::io::{Effect, Record};
use crate::manager::{GroupManager, state};
use crate::record::{self, MachineNumber};
use crate::shown::Load;

/// The time between two moments that are kept while nothing changes.
const PERIOD: Span = Span::from_secs(600);

/// A change that comes so soon after another takes its place: powers change in steps of some seconds.
const GAP: Span = Span::from_secs(10);

impl GroupManager {
    /// A process manager tells what machines have shown.
    pub(crate) fn on_shown(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        from: u32,
        machines: &[Shown],
    ) {
        for one in machines.iter().take(SHOWN_MAX) {
            let number = self.number(one.resource);
            let Some((number, slots)) = number.and_then(|number| {
                let machine = self.machines.get(number)?;
                Some((number, machine.facts.slots))
            }) else {
                continue;
            };
            let before = self.histories.shown(number, slots, now.wall);
            let history = self.histories.by_number.entry(number).or_default();
            let told = (slots, now.wall);
            history.shown.tell(Some(from), one.per_mille, told);
            if history.shown.per_mille(slots, now.wall) != before {
                self.has_changed = true;
                self.keep_moment(cx, number, now.wall);
            }
        }
    }

    /// The load of a machine is known, by its name.
    pub(crate) fn on_load(&mut self, cx: &Context<'_, Self>, name: &str, load: Load) {
        let Some(number) = state(cx).resource(name) else {
            return;
        };
        if self.machines.get(number).is_some() {
            let history = self.histories.by_number.entry(number).or_default();
            history.shown.set_load(load);
        }
    }

    /// Answers a question about the past of a machine; none where there is no such machine.
    pub(crate) fn on_history(&self, cx: &mut Context<'_, Self>, question: u64, name: &str) {
        let number = state(cx).resource(name);
        let number = number.filter(|&number| self.machines.get(number).is_some());
        let moments = number.map(|number| {
            let history = self.histories.by_number.get(&number);
            let kept = history.into_iter().flat_map(|one| &one.moments).copied();
            // The present one is the last.
            kept.chain(self.moment(number, self.now().wall)).collect()
        });
        cx.effect(Effect::History(question, moments));
    }

    /// Keeps a moment of each machine that is there.
    pub(crate) fn keep_moments(&mut self, cx: &mut Context<'_, Self>, now: Now) {
        if !self.is_watching() {
            return;
        }
        if self.histories.next.is_some_and(|next| next > now.mono) {
            return;
        }
        let is_first = self.histories.next.replace(now.mono + PERIOD).is_none();
        let there = self.machines.iter().filter(|(_, one)| one.is_there());
        let there: Vec<MachineNumber> = there.map(|(number, _)| number).collect();
        for number in there.into_iter().filter(|_| !is_first) {
            self.keep_moment(cx, number, now.wall);
        }
    }

    /// Keeps the present power and load of a machine.
    pub(crate) fn keep_moment(
        &mut self,
        cx: &mut Context<'_, Self>,
        number: MachineNumber,
        at: Wall,
    ) {
        let Some(moment) = self.moment(number, at).filter(|_| self.is_watching()) else {
            return;
        };
        let Some(name) = self.machines.get(number).map(|one| one.facts.name.clone()) else {
            return;
        };
        let moments = &mut self.histories.by_number.entry(number).or_default().moments;
        if moments.len() > 1 && moments.back().is_some_and(|last| at.since(last.at) < GAP) {
            moments.pop_back();
        }
        moments.push_back(moment);
        while moments.len() >= MOMENTS_MAX {
            moments.pop_front();
        }
        let kept = record::History {
            name: name.clone(),
            moments: moments.iter().map(record::Moment::from).collect(),
        };
        cx.effect(Effect::Keep(Record {
            key: key(&name),
            value: wire::encode(&kept),
        }));
    }

    fn moment(&self, number: MachineNumber, at: Wall) -> Option<Moment> {
        let facts = &self.machines.get(number)?.facts;
        let load = self.histories.by_number.get(&number);
        let load = load.map(|one| one.shown.load()).unwrap_or_default();
        Some(Moment {
            at,
            power: facts.power as f32,
            shown: self.histories.shown(number, facts.slots, at),
            others: load.others.map(|others| others as f32),
            others_expected: load.others_expected.map(|others| others as f32),
        })
    }

    /// Takes a history that an earlier epoch has kept. What machines had shown by its end counts, as long ago as
    /// that is.
    pub(crate) fn on_known_history(&mut self, cx: &mut Context<'_, Self>, record: &Record) {
        let Ok(known) = minicbor::decode::<record::History>(&record.value) else {
            return;
        };
        let number = state(cx).resource(&known.name);
        let number = number.filter(|&number| !state(cx).is_forgotten(number));
        let Some(number) = number else {
            return cx.effect(Effect::Drop(record.key.clone()));
        };
        let history = self.histories.by_number.entry(number).or_default();
        let moments = known.moments.iter().rev().take(MOMENTS_MAX - 1).rev();
        history.moments = moments.map(Moment::from).collect();
        if let Some((shown, at)) = history
            .moments
            .back()
            .and_then(|last| Some((last.shown?, last.at)))
        {
            // Its slots only matter beside its load, of which nothing is known yet.
            history.shown.tell(None, shown, (0, at));
        }
    }
}

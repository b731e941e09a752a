//! The power of a machine: a number, or a list of steps that others' load leaves of it.

use model::{PowerSteps, Span};

use super::{Fields, Reader};
use crate::platform::limits::{POWER_FROM_MAX, POWER_STEPS_MAX};
use crate::tree::{Id, shorten};
use crate::units::parse_duration;

const NUMBER: &str = "1.0 is the reference; a machine of power 2.0 does the same in half the time";
const STEPS: &str =
    "powers over time are a list: `[{ from: 0s, is: 1.0 }, { from: 20s, is: 0.5 }]`";
const STANDSTILL: &str =
    "a machine may stand still later: `[{ from: 0s, is: 1.0 }, { from: 20s, is: 0 }]`";
const STEP: (&str, &[&str]) = ("a step of power", &["from", "is"]);

impl Reader<'_, '_> {
    pub(super) fn power(&mut self, at: Id) -> Option<PowerSteps> {
        if self.tree.list(at).is_some() {
            return self.steps(at);
        }
        if self.tree.map(at).is_some() {
            let error = self.expected(at, "a power, a number above 0 or a list of steps,");
            self.diagnostics.add(error.hint(STEPS));
            return None;
        }
        let power = self.power_number(at, NUMBER)?;
        PowerSteps::constant(power).ok()
    }

    /// The steps, each of which is judged by itself first, so that all mistakes are named.
    fn steps(&mut self, at: Id) -> Option<PowerSteps> {
        let items = self.items(at, "a list of steps");
        if items.is_empty() {
            self.hint(at, "no power at any time", STEPS);
            return None;
        }
        if items.len() > POWER_STEPS_MAX {
            let n_steps = items.len();
            self.error(
                at,
                format!("{n_steps} steps of power; a machine has at most {POWER_STEPS_MAX}"),
            );
            return None;
        }
        let mut steps = Vec::with_capacity(items.len());
        let mut before: Option<(Span, Id)> = None;
        let mut is_sound = true;
        for (place, &item) in items.iter().enumerate() {
            let Some(fields) = self.fields(item, STEP) else {
                is_sound = false;
                continue;
            };
            let from = self.from(item, &fields, place, &mut before);
            let power = match self.wanted(item, &fields, STEP.0, "is") {
                Some(at) if place == 0 => self.power_number(at, STANDSTILL),
                Some(at) => self.later_power(at),
                None => None,
            };
            match (from, power) {
                (Some(from), Some(power)) => steps.push((from.seconds(), power)),
                (Some(_) | None, _) => is_sound = false,
            }
        }
        match is_sound {
            true => PowerSteps::new(steps).ok(),
            false => None,
        }
    }

    /// The beginning of a step, after that of the step before.
    fn from(
        &mut self,
        item: Id,
        fields: &Fields,
        place: usize,
        before: &mut Option<(Span, Id)>,
    ) -> Option<Span> {
        let at = self.wanted(item, fields, STEP.0, "from")?;
        let from = self.amount(at, "the time at which a step begins", parse_duration)?;
        let written = shorten(self.tree.text(at).unwrap_or_default());
        if from > POWER_FROM_MAX {
            let message =
                format!("a step of power from {written}: the last begins within 10 years");
            self.error(at, message);
            return None;
        }
        if place == 0 && from > Span::ZERO {
            let message = format!("the first power is from {written}: nothing is said of 0s");
            self.hint(at, message, STEPS);
            return None;
        }
        if let Some((last, first)) = *before {
            if from == last {
                self.twice(at, first, &format!("the step from {written}"));
                return None;
            }
            if from < last {
                let message = format!("a step from {written} after one from {last}");
                self.hint(at, message, "each step begins later than the one before");
                return None;
            }
        }
        *before = Some((from, at));
        Some(from)
    }

    fn power_number(&mut self, at: Id, hint: &str) -> Option<f64> {
        let power = self.tree.number(at).unwrap_or(f64::NAN);
        if power > 0.0 && power.is_finite() {
            return Some(power);
        }
        self.no_power(at, power, "a number above 0", hint);
        None
    }

    /// A power after the start, at which the machine may stand still.
    fn later_power(&mut self, at: Id) -> Option<f64> {
        let power = self.tree.number(at).unwrap_or(f64::NAN);
        if power >= 0.0 && power.is_finite() {
            return Some(power);
        }
        self.no_power(at, power, "a number from 0 up", STANDSTILL);
        None
    }

    fn no_power(&mut self, at: Id, power: f64, wanted: &str, hint: &str) {
        if power.is_nan() {
            let error = self.expected(at, &format!("a power, {wanted},"));
            self.diagnostics.add(error.hint(hint));
        } else {
            let written = shorten(self.tree.text(at).unwrap_or_default());
            self.hint(at, format!("a power of {written}: it is {wanted}"), hint);
        }
    }
}

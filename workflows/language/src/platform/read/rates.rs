//! The costs of a machine: its price and the power that it draws.

use super::{Fields, Reader};
use crate::platform::Watts;
use crate::platform::limits::RATE_MAX;
use crate::tree::{Id, shorten};

const PRICE: &str = "money for a slot and an hour, in any currency: `price: 0.05`";
const WATTS: &str = "what the whole machine draws: `idle-watts: 90, busy-watts: 240`";

impl Reader<'_, '_> {
    /// The price of a slot and hour, where there is one.
    pub(super) fn price(&mut self, fields: &Fields) -> Option<f64> {
        let at = fields.get("price")?;
        self.rate(at, "price", PRICE)
    }

    /// The power that a machine draws, where that is told.
    pub(super) fn watts(&mut self, fields: &Fields) -> Option<Watts> {
        let (idle, busy) = match (fields.entry("idle-watts"), fields.entry("busy-watts")) {
            (Some(idle), Some(busy)) => (idle, busy),
            (Some((key, _)), None) => {
                self.hint(key, "`idle-watts` without `busy-watts`", WATTS);
                return None;
            }
            (None, Some((key, _))) => {
                self.hint(key, "`busy-watts` without `idle-watts`", WATTS);
                return None;
            }
            (None, None) => return None,
        };
        let idle_watts = self.rate(idle.1, "number of watts", WATTS);
        let busy_watts = self.rate(busy.1, "number of watts", WATTS);
        let watts = Watts {
            idle: idle_watts?,
            busy: busy_watts?,
        };
        if watts.busy < watts.idle {
            let Watts { idle, busy: most } = watts;
            let message = format!("{most} watts while it is busy, {idle} while it is idle");
            self.hint(busy.1, message, WATTS);
            return None;
        }
        Some(watts)
    }

    fn rate(&mut self, at: Id, what: &str, hint: &str) -> Option<f64> {
        let rate = self.tree.number(at).unwrap_or(f64::NAN);
        if (0.0..=RATE_MAX).contains(&rate) {
            return Some(rate);
        }
        if rate.is_nan() {
            let error = self.expected(at, &format!("a {what}"));
            self.diagnostics.add(error.hint(hint));
        } else {
            let written = shorten(self.tree.text(at).unwrap_or_default());
            let message = format!("a {what} of {written}: it is from 0 to {RATE_MAX}");
            self.hint(at, message, hint);
        }
        None
    }
}

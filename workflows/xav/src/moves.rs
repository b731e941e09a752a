//! Plans that moved activities because a machine is not as fast as was planned, in words: the reason, what moved,
//! and the effect.

use model::{ResourceId, Span};
use wire::client::{Rescheduled, Status};

use crate::json::machine_of;
use crate::text;

/// Plans of a process that are told in sentences: of older ones their number.
const PLANS_SHOWN: usize = 3;

/// Machines that a line names: of more, their number is enough.
const MACHINES_MAX: usize = 3;

/// A machine beside what was planned of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deviation {
    /// Thousandths of its nominal power, or of the planned speed of its links.
    per_mille: u32,
    /// What was planned with, in the same measure; none where nobody has recorded it.
    expected: Option<u32>,
    is_link: bool,
}

impl From<&Rescheduled> for Deviation {
    fn from(one: &Rescheduled) -> Deviation {
        Deviation {
            per_mille: one.per_mille,
            expected: one.expected,
            is_link: one.is_link,
        }
    }
}

impl Deviation {
    /// `am-2 is 2.1 times slower than expected`, `the links of am-2 are 20 times slower than expected`.
    pub(crate) fn words(self, machine: &str) -> String {
        let (what, is) = match self.is_link {
            true => (format!("the links of {machine}"), "are"),
            false => (machine.to_owned(), "is"),
        };
        let Some(expected) = self.expected else {
            return format!("{what} {is} at {}", self.measured());
        };
        let (measured, expected) = (f64::from(self.per_mille.max(1)), f64::from(expected.max(1)));
        let (ratio, word) = match measured < expected {
            true => (expected / measured, "slower"),
            false => (measured / expected, "faster"),
        };
        format!("{what} {is} {} times {word} than expected", times(ratio))
    }

    /// `48 % of its power`.
    pub(crate) fn measured(self) -> String {
        format!("{} of {}", text::percent(self.per_mille), self.of())
    }

    /// `100 % of its power`, as the plan before counted on it; none where nobody has recorded it.
    pub(crate) fn expected(self) -> Option<String> {
        let expected = self.expected?;
        Some(format!("{} of {}", text::percent(expected), self.of()))
    }

    fn of(self) -> &'static str {
        match self.is_link {
            true => "the planned speed of its links",
            false => "its power",
        }
    }
}

/// A plan in a line: `am-2 is 2.1 times slower than expected: 14 activities move to am-1, the end comes 12.0s earlier`.
pub(crate) fn line(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> String {
    let why = Deviation::from(one).words(&machine(one.resource));
    let moved = match one.n_moved {
        0 => "what is planned gets another order".to_owned(),
        1 => format!("1 activity moves{}", destination(one, machine)),
        n => format!("{n} activities move{}", destination(one, machine)),
    };
    format!("{why}: {moved}, {}", effect(one.before, one.after))
}

/// A plan that was not taken in a line: `am-2 is 2.1 times slower than expected; nothing moves, since the best plan ends
/// only 0.3s earlier`.
pub(crate) fn declined(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> String {
    let why = Deviation::from(one).words(&machine(one.resource));
    let gain = one.before.saturating_sub(one.after);
    let effect = match gain {
        Span::ZERO => "no earlier".to_owned(),
        gain => format!("only {gain} earlier"),
    };
    format!("{why}; nothing moves, since the best plan ends {effect}")
}

/// The last plans of a process, a line each, after the number of those before them.
pub(crate) fn lines(status: &Status) -> Vec<String> {
    let machine = machine_of(status);
    let all = &status.rescheduled;
    let n_shown = all.len().min(PLANS_SHOWN);
    let n_older = (status.n_rescheduled as usize).saturating_sub(n_shown);
    let older = (n_older > 0).then(|| {
        let plans = text::count(n_older as u64, "plan", "plans");
        format!("{plans} moved activities before that")
    });
    let last = all.iter().skip(all.len() - n_shown);
    let last = last.map(|one| format!("{}: {}", text::moment(one.at), line(one, &machine)));
    older.into_iter().chain(last).collect()
}

/// The effect of a plan on the end that is expected: `the end comes 12.0s earlier`.
pub(crate) fn effect(before: Span, after: Span) -> String {
    match before.cmp(&after) {
        std::cmp::Ordering::Greater => {
            format!("the end comes {} earlier", before.saturating_sub(after))
        }
        std::cmp::Ordering::Equal => "the end stays the same".to_owned(),
        std::cmp::Ordering::Less => {
            format!("the end comes {} later", after.saturating_sub(before))
        }
    }
}

/// The places where activities come from and go to: `14 from am-2 to am-1`.
pub(crate) fn routes(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> Vec<String> {
    let named = one.routes.iter();
    let mut routes: Vec<String> = named
        .map(|route| {
            let (from, to) = (machine(route.from), machine(route.to));
            format!("{} from {from} to {to}", route.n)
        })
        .collect();
    let n_named: u32 = one.routes.iter().map(|route| route.n).sum();
    match one.n_moved.saturating_sub(n_named) {
        0 => {}
        n if routes.is_empty() => routes.push(n.to_string()),
        n => routes.push(format!("{n} more")),
    }
    routes
}

/// ` to am-1 and am-3`, the machine that most go to first.
fn destination(one: &Rescheduled, machine: &impl Fn(ResourceId) -> String) -> String {
    let mut to: Vec<(ResourceId, u32)> = Vec::new();
    for route in &one.routes {
        match to.iter_mut().find(|(place, _)| *place == route.to) {
            Some((_, n)) => *n += route.n,
            None => to.push((route.to, route.n)),
        }
    }
    to.sort_by_key(|&(_, n)| std::cmp::Reverse(n));
    match &to[..] {
        [] => String::new(),
        [(only, _)] => format!(" to {}", machine(*only)),
        several if several.len() > MACHINES_MAX => {
            format!(" to {} machines", several.len())
        }
        [most @ .., (last, _)] => {
            let most: Vec<String> = most.iter().map(|(one, _)| machine(*one)).collect();
            format!(" to {} and {}", most.join(", "), machine(*last))
        }
    }
}

/// A ratio as people say it: `2.1`, `20`.
fn times(ratio: f64) -> String {
    match ratio < 9.95 {
        true => format!("{ratio:.1}"),
        false => format!("{ratio:.0}"),
    }
}

#[cfg(test)]
pub(crate) mod tests;

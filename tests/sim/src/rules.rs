//! The rules, a file each. A rule sees everything that happens, with what was known before it.

mod bounded;
mod copies;
mod effects;
mod elsewhere;
mod ending;
mod once;
mod order;
mod outcome;
mod overlap;
mod recall;
mod reported;
mod slots;
mod submission;

use model::Mono;
use simulator::{Observer, Seen};

use crate::known::Known;

/// Something that must hold at every step.
pub trait Rule {
    /// Something was seen. The error says how it breaks the rule.
    fn see(&mut self, known: &Known, seen: &Seen<'_>) -> Result<(), String>;
}

/// All rules, and what is known.
pub struct Rules {
    known: Known,
    rules: Vec<(&'static str, Box<dyn Rule>)>,
}

impl Rules {
    /// All rules, for a run of processes that should come to this.
    pub fn new(known: Known) -> Rules {
        let mut rules: Vec<(&'static str, Box<dyn Rule>)> = vec![
            (
                "rule 1 (an acknowledged submission is never lost)",
                Box::<submission::Submission>::default(),
            ),
            (
                "rule 2 (an outcome is recorded once, and stays)",
                Box::<outcome::Outcome>::default(),
            ),
            (
                "rule 3 (nothing starts before what it depends on is durable)",
                Box::new(order::Order),
            ),
            (
                "rule 4 (no two attempts of an activity at once)",
                Box::<overlap::Overlap>::default(),
            ),
            (
                "rule 5 (what must run at most once does)",
                Box::<once::Once>::default(),
            ),
            (
                "rule 6 (every process ends, once, as it should)",
                Box::<ending::Ending>::default(),
            ),
            (
                "rule 7 (what was reported is never taken back)",
                Box::<reported::Reported>::default(),
            ),
            (
                "recall (a recorded outcome stands where nothing has changed, and only there)",
                Box::new(recall::Recall),
            ),
            (
                "rule 8 (what is over is forgotten)",
                Box::new(bounded::Bounded),
            ),
            (
                "copies (what is kept elsewhere is not made again)",
                Box::<copies::Copies>::default(),
            ),
            (
                "slots are never oversubscribed",
                Box::<slots::Slots>::default(),
            ),
            (
                "effects wait for their flush",
                Box::<effects::Effects>::default(),
            ),
        ];
        let lossy = known.is_lossy;
        let n_managers = 1 + known.managers.values().max().copied().unwrap_or_default();
        rules.extend(
            (0..n_managers).map(|manager| -> (&'static str, Box<dyn Rule>) {
                (
                    "lost (what a machine had that is gone starts elsewhere in time)",
                    Box::new(elsewhere::Elsewhere::new(manager, lossy)),
                )
            }),
        );
        Rules { known, rules }
    }
}

impl Observer for Rules {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        self.known.at = at;
        for (name, rule) in &mut self.rules {
            rule.see(&self.known, seen)
                .map_err(|how| format!("{name}: {how}"))?;
        }
        self.known.update(at, seen);
        Ok(())
    }
}

//! The rules, a file each. A rule sees everything that happens, with what was known before it.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "a rule names what it judges and ignores the rest"
)]

mod backfill;
mod bounded;
mod copies;
mod discards;
mod effects;
mod elsewhere;
mod ending;
mod enough;
mod finishing;
mod forgotten;
mod holdings;
mod leases;
mod moves;
mod once;
mod order;
mod outcome;
mod overlap;
mod plans;
mod probes;
mod races;
mod recall;
mod reported;
mod returns;
mod shares;
mod slots;
mod submission;
mod values;
mod waiting;

use model::Mono;
use simulator::{Observer, Seen};

use crate::known::Known;

/// Something that must hold at every step.
pub trait Rule {
    /// Something was seen. The error says how it breaks the rule. What could have broken it is counted,
    /// so that a rule that never meets anything of its kind is noticed.
    fn see(&mut self, known: &Known, seen: &Seen<'_>, judged: &mut Judged) -> Result<(), String>;
}

/// How often a rule has judged something that could have broken it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Judged(pub u64);

impl Judged {
    /// Counts a judgement.
    fn count(&mut self) {
        self.0 += 1;
    }

    /// Counts a judgement where the rule could have been broken.
    fn count_if(&mut self, could_break: bool) {
        self.0 += u64::from(could_break);
    }
}

/// All rules, and what is known.
pub struct Rules {
    known: Known,
    rules: Vec<Entry>,
}

/// A rule of a run.
struct Entry {
    /// One word for it in tables.
    word: &'static str,
    name: &'static str,
    rule: Box<dyn Rule>,
    judged: Judged,
}

impl Rules {
    /// All rules, for a run of processes that should come to this.
    pub fn new(known: Known) -> Rules {
        let entry = |word, name, rule| Entry {
            word,
            name,
            rule,
            judged: Judged::default(),
        };
        let mut rules = vec![
            entry(
                "submission",
                "rule 1 (an acknowledged submission is never lost)",
                Box::<submission::Submission>::default(),
            ),
            entry(
                "outcome",
                "rule 2 (an outcome is recorded once, and stays)",
                Box::<outcome::Outcome>::default(),
            ),
            entry(
                "order",
                "rule 3 (nothing starts before what it depends on is durable)",
                Box::new(order::Order),
            ),
            entry(
                "overlap",
                "rule 4 (no two attempts of an activity at once)",
                Box::<overlap::Overlap>::default(),
            ),
            entry(
                "once",
                "rule 5 (what must run at most once does)",
                Box::<once::Once>::default(),
            ),
            entry(
                "ending",
                "rule 6 (every process ends, once, as it should)",
                Box::<ending::Ending>::default(),
            ),
            entry(
                "reported",
                "rule 7 (what was reported is never taken back)",
                Box::<reported::Reported>::default(),
            ),
            entry(
                "recall",
                "recall (a recorded outcome stands where nothing has changed, and only there)",
                Box::new(recall::Recall),
            ),
            entry(
                "enough",
                "enough (a for-each that some items are enough for waits for these, and no others)",
                Box::new(enough::Enough),
            ),
            entry(
                "finishing",
                "finishing (a fault stops no command that may finish, and starts none)",
                Box::<finishing::Finishing>::default(),
            ),
            entry(
                "bounded",
                "rule 8 (what is over is forgotten)",
                Box::new(bounded::Bounded),
            ),
            entry(
                "copies",
                "copies (what is kept elsewhere is not made again)",
                Box::<copies::Copies>::default(),
            ),
            entry(
                "discards",
                "discards (no file goes that somebody may need, and what nobody needs does)",
                Box::<discards::Discards>::default(),
            ),
            entry(
                "races",
                "races (the first result counts, and a loser is waited for until it is stopped)",
                Box::new(races::Races),
            ),
            entry(
                "slots",
                "slots are never oversubscribed",
                Box::<slots::Slots>::default(),
            ),
            entry(
                "holdings",
                "holdings (slots of a lost process manager come back in time, and no others)",
                Box::<holdings::Holdings>::default(),
            ),
            entry(
                "returns",
                "returns (slots that the rest of a plan does not need are given back while others wait)",
                Box::<returns::Returns>::default(),
            ),
            entry(
                "shares",
                "shares (owners are charged for what they hold, and hold no more than they may)",
                Box::<shares::Shares>::default(),
            ),
            entry(
                "plans",
                "plans (memory side by side fits, and no slot is planned over that is in use)",
                Box::<plans::Plans>::default(),
            ),
            entry(
                "backfill",
                "backfill (who is let past an earlier process does not delay it)",
                Box::<backfill::Backfill>::default(),
            ),
            entry(
                "waiting",
                "waiting (what a process manager waits for is not granted to others)",
                Box::<waiting::Waiting>::default(),
            ),
            entry(
                "values",
                "values (what is told of an activity as sent and as captured was sent and recorded)",
                Box::<values::Values>::default(),
            ),
            entry(
                "effects",
                "effects wait for their flush",
                Box::<effects::Effects>::default(),
            ),
        ];
        rules.push(entry(
            "moves",
            "moves (a plan for other speeds takes nothing from where it may start, and nothing a third time)",
            Box::<moves::Moves>::default(),
        ));
        rules.push(entry(
            "probes",
            "probes (links are measured by few bytes, and seldom)",
            Box::<probes::Probes>::default(),
        ));
        rules.push(entry(
            "leases",
            "leases (a request for a lease is answered within a second)",
            Box::<leases::Leases>::default(),
        ));
        rules.push(entry(
            "forgotten",
            "forgotten (no machine is forgotten of which somebody holds slots)",
            Box::new(forgotten::Forgotten),
        ));
        let (lossy, step_max) = (known.is_lossy, known.step_max);
        let n_managers = 1 + known.managers.values().max().copied().unwrap_or_default();
        rules.extend((0..n_managers).map(|manager| {
            entry(
                "elsewhere",
                "lost (what a machine had that is gone starts elsewhere in time)",
                Box::new(elsewhere::Elsewhere::new(manager, lossy, step_max)),
            )
        }));
        Rules { known, rules }
    }

    /// How often each rule has judged something that could have broken it, by the rule's word. A rule
    /// that each process manager has one of is told once for each.
    pub fn judged(&self) -> impl Iterator<Item = (&'static str, Judged)> {
        self.rules.iter().map(|entry| (entry.word, entry.judged))
    }
}

impl Observer for Rules {
    fn see(&mut self, at: Mono, seen: &Seen<'_>) -> Result<(), String> {
        self.known.at = at;
        for entry in &mut self.rules {
            let seen = entry.rule.see(&self.known, seen, &mut entry.judged);
            seen.map_err(|how| format!("{}: {how}", entry.name))?;
        }
        self.known.update(at, seen);
        Ok(())
    }
}

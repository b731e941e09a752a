//! How often each rule judges something in each profile: a rule about what never happens would hold
//! for ever, and nobody would notice that a profile no longer tests it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use simulator::Setup;

use crate::seeds::{Failed, Passed, run_seed};

/// Pairs of a rule and profiles in which it has nothing to judge, and why.
pub const UNREACHABLE: [Unreachable; 14] = [
    Unreachable {
        rule: "discards",
        profiles: Profiles::AllBut(&["discards", "races"]),
        reason: "all files are kept",
    },
    Unreachable {
        rule: "once",
        profiles: Profiles::These(&["calm", "lossy", "crashes", "hard", "each-here"]),
        reason: "without leases no activity is drawn that must not run twice",
    },
    Unreachable {
        rule: "races",
        profiles: Profiles::These(&["calm", "lossy", "crashes", "hard", "each-here"]),
        reason: "without leases no activity is drawn that may run twice",
    },
    Unreachable {
        rule: "probes",
        profiles: Profiles::AllBut(&["races"]),
        reason: "no network is known that files cross",
    },
    Unreachable {
        rule: "elsewhere",
        profiles: Profiles::These(&["calm", "lossy", "crashes", "hard", "each-here"]),
        reason: "without leases no machine is given up",
    },
    Unreachable {
        rule: "elsewhere",
        profiles: Profiles::These(&["crowded"]),
        reason: "no machine is cut off there",
    },
    Unreachable {
        rule: "backfill",
        profiles: Profiles::These(&["shares"]),
        reason: "who is first goes by what was used",
    },
    Unreachable {
        rule: "leases",
        profiles: Profiles::These(&["calm", "lossy", "crashes", "hard", "each-here"]),
        reason: "without leases nobody asks for one",
    },
    Unreachable {
        rule: "holdings",
        profiles: Profiles::AllBut(&["lost", "discards", "races"]),
        reason: "no process manager is lost for good",
    },
    Unreachable {
        rule: "copies",
        profiles: Profiles::AllBut(&["copies", "each", "discards", "races"]),
        reason: "machines that share one store have nothing to copy",
    },
    Unreachable {
        rule: "shares",
        profiles: Profiles::AllBut(&["shares", "discards", "races"]),
        reason: "groups have no rules for owners",
    },
    Unreachable {
        rule: "enough",
        profiles: Profiles::AllBut(&["each", "each-here", "discards", "races"]),
        reason: "no process has a for-each",
    },
    Unreachable {
        rule: "forgotten",
        profiles: Profiles::AllBut(&["forgotten", "races"]),
        reason: "machines are remembered for ever",
    },
    Unreachable {
        rule: "waiting",
        profiles: Profiles::AllBut(&["crowded", "discards", "races"]),
        reason: "few processes wait for those of others while all reach each other and have no shares",
    },
];

/// A rule that cannot be broken in some profiles.
#[derive(Clone, Copy, Debug)]
pub struct Unreachable {
    /// The rule's word.
    pub rule: &'static str,
    /// The profiles.
    pub profiles: Profiles,
    /// Why there is nothing to judge.
    pub reason: &'static str,
}

/// Some of the profiles.
#[derive(Clone, Copy, Debug)]
pub enum Profiles {
    /// The ones that are named.
    These(&'static [&'static str]),
    /// All others than those.
    AllBut(&'static [&'static str]),
}

impl Profiles {
    fn include(self, profile: &str) -> bool {
        match self {
            Profiles::These(names) => names.contains(&profile),
            Profiles::AllBut(names) => !names.contains(&profile),
        }
    }

    fn named(self) -> &'static [&'static str] {
        match self {
            Profiles::These(names) | Profiles::AllBut(names) => names,
        }
    }
}

/// The judgements of each rule in each profile.
#[derive(Clone, Debug, Default)]
pub struct Reach(BTreeMap<&'static str, [u64; Setup::NAMES.len()]>);

impl Reach {
    /// Runs these seeds of all profiles and counts what each rule judges.
    ///
    /// # Errors
    ///
    /// The first seed that breaks a rule, and its profile.
    pub fn of(seeds: Range<u64>) -> Result<Reach, (u64, &'static str, Box<Failed>)> {
        let mut reach = Reach::default();
        for profile in Setup::NAMES {
            let setup = Setup::named(profile).expect("the profile is one of ours");
            for seed in seeds.clone() {
                let passed = run_seed(seed, &setup, 0).map_err(|failed| (seed, profile, failed))?;
                reach.add(profile, &passed);
            }
        }
        Ok(reach)
    }

    /// Counts the judgements of a run of a profile.
    pub fn add(&mut self, profile: &str, passed: &Passed) {
        let column = Setup::NAMES.iter().position(|name| *name == profile);
        let column = column.expect("the profile is one of ours");
        for (rule, judged) in &passed.judged {
            self.0.entry(rule).or_default()[column] += judged.0;
        }
    }

    /// The rules that were not reached in a profile as [`UNREACHABLE`] says: never reached and not in
    /// the list, or in the list and reached or not known.
    pub fn unexpected(&self, profile: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let listed = |rule: &str| {
            let is_pair = |one: &&Unreachable| one.rule == rule && one.profiles.include(profile);
            UNREACHABLE.iter().find(is_pair)
        };
        for (&rule, counts) in &self.0 {
            let columns = counts.iter().zip(Setup::NAMES);
            let count: u64 = columns
                .filter(|(_, name)| *name == profile)
                .map(|(n, _)| n)
                .sum();
            match (listed(rule), count) {
                (None, 0) => wrong.push(format!("{rule} judges nothing in {profile}")),
                (Some(one), 1..) => wrong.push(format!(
                    "{rule} judges {count} times in {profile}, although {}",
                    one.reason
                )),
                (None, 1..) | (Some(_), 0) => {}
            }
        }
        for Unreachable { rule, profiles, .. } in UNREACHABLE {
            if !self.0.contains_key(rule) {
                wrong.push(format!("there is no rule {rule}"));
            }
            for other in profiles
                .named()
                .iter()
                .filter(|name| Setup::named(name).is_none())
            {
                wrong.push(format!("there is no profile {other}"));
            }
        }
        wrong
    }
}

/// A table with a line for each rule and a column for each profile; then why some are empty.
impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<11}", "judgements")?;
        for profile in Setup::NAMES {
            write!(f, "{profile:>10}")?;
        }
        for (rule, counts) in &self.0 {
            write!(f, "\n{rule:<11}")?;
            for count in counts {
                write!(f, "{count:>10}")?;
            }
        }
        for Unreachable { rule, reason, .. } in UNREACHABLE {
            write!(f, "\n{rule}: {reason}")?;
        }
        Ok(())
    }
}

//! The members that report to the group manager, their last reports, and the parts of logs that are
//! requested from them. Nothing of it is durable.

use std::collections::BTreeMap;

use group_core::Load;
use model::{Identity, Mono, Role, Span};
use wire::admin::{LogPart, LogRequest, Presence, Refused, Warning};

/// Silence after which a member counts as unreachable; it reports every four seconds.
const SILENCE_MAX: Span = Span::from_secs(9);

/// Time for which a part of a log is kept for the administrator who requested it.
const LOG_REQUEST_TIMEOUT: Span = Span::from_secs(20);

/// Number of daemons whose logs are requested at a time, which bounds the kept parts.
const LOG_REQUESTS_MAX: usize = 16;

/// Cores by which the load of a machine by others has to change to be told: a part of what a slot is.
const LOAD_CHANGES_FROM: f64 = 0.1;

/// The time after which an unchanged load is told again.
const LOAD_AGAIN: Span = Span::from_secs(60);

/// Characters of a warning: a path can be long.
const TROUBLE_CHARS_MAX: usize = 500;

/// Daemons that are listed if a requested one does not exist.
const NAMED_MAX: usize = 20;

/// The members that have reported.
#[derive(Default)]
pub struct Members {
    heard: BTreeMap<Key, Heard>,
    log_requests: BTreeMap<Key, PendingLogRequest>,
    /// The loads of machines by others as they were last told, with the time of that.
    loads: BTreeMap<String, (Load, Mono)>,
}

/// Role and name.
type Key = (Role, String);

struct Heard {
    presence: Presence,
    at: Mono,
}

/// A requested part of a log that was not delivered yet.
struct PendingLogRequest {
    wanted: LogRequest,
    asked: Mono,
    part: Option<LogPart>,
}

impl Members {
    /// Stores a member's report, and returns the part of its log that is requested.
    pub(crate) fn present(
        &mut self,
        who: &Identity,
        presence: Presence,
        now: Mono,
    ) -> Option<LogRequest> {
        let key = key(who);
        self.forget_log_requests(now);
        let wanted = self
            .log_requests
            .get(&key)
            .filter(|wanted| wanted.part.is_none());
        let wanted = wanted.map(|wanted| wanted.wanted.clone());
        self.heard.insert(key, Heard { presence, at: now });
        wanted
    }

    /// The load of a machine, if others use another part of it than when that was last told, or that is long ago. To
    /// be asked before the report is stored.
    pub(crate) fn changed_load(
        &mut self,
        who: &Identity,
        presence: &Presence,
        now: Mono,
    ) -> Option<Load> {
        let load = presence.load.as_ref().filter(|_| who.role() == Role::Am)?;
        let present = Load {
            cores: load.cores,
            others: load.others,
            others_expected: load.others_expected,
        };
        let differs = |one: Option<f64>, other: Option<f64>| match (one, other) {
            (Some(one), Some(other)) => (one - other).abs() > LOAD_CHANGES_FROM,
            (one, other) => one.is_some() != other.is_some(),
        };
        let is_told = self.loads.get(who.name()).is_some_and(|(told, at)| {
            told.cores == present.cores
                && !differs(told.others, present.others)
                && !differs(told.others_expected, present.others_expected)
                && now.since(*at) < LOAD_AGAIN
        });
        if is_told {
            return None;
        }
        self.loads.insert(who.name().to_owned(), (present, now));
        Some(present)
    }

    /// Stores a part of a member's log. A part that nobody requested is dropped.
    pub(crate) fn written(&mut self, who: &Identity, part: LogPart) {
        if let Some(wanted) = self.log_requests.get_mut(&key(who)) {
            wanted.part.get_or_insert(part);
        }
    }

    /// The warnings of members with a recent report.
    pub(crate) fn warnings(&self, now: Mono) -> Vec<Warning> {
        let heard = self.heard.iter();
        let heard = heard.filter(|(_, heard)| now.since(heard.at) < SILENCE_MAX);
        let warnings = heard.filter_map(|((role, name), heard)| {
            let why = heard.presence.trouble.as_ref()?;
            Some(Warning {
                daemon: format!("{role} {name}"),
                why: why.chars().take(TROUBLE_CHARS_MAX).collect(),
            })
        });
        warnings.collect()
    }

    /// The report of a machine.
    pub(crate) fn machine(&self, name: &str) -> Option<&Presence> {
        let heard = self.heard.get(&(Role::Am, name.to_owned()))?;
        Some(&heard.presence)
    }

    /// A part of a member's log; none if it has not arrived, and must be requested again. One at a
    /// time for each member; a second request waits for its turn. `others` are members that need
    /// not have reported.
    pub(crate) fn log(
        &mut self,
        of: &str,
        wanted: LogRequest,
        others: &[Key],
        now: Mono,
    ) -> Result<Option<LogPart>, Refused> {
        let key = self.find(of, others)?;
        self.forget_log_requests(now);
        let (role, name) = &key;
        let silence = match self.heard.get(&key) {
            Some(heard) if now.since(heard.at) < SILENCE_MAX => None,
            Some(heard) => {
                let silence = now.since(heard.at);
                Some(format!("the last word of it came {silence} ago"))
            }
            None => Some("nothing was heard of it since the group manager has started".to_owned()),
        };
        if let Some(silence) = silence {
            self.log_requests.remove(&key);
            let told = format!("{role} {name} cannot be reached: {silence}");
            return Err(Refused::Not(told));
        }
        match self.log_requests.get(&key) {
            Some(waiting) if waiting.wanted == wanted && waiting.part.is_some() => {
                return Ok(self
                    .log_requests
                    .remove(&key)
                    .and_then(|wanted| wanted.part));
            }
            Some(_) => {}
            None if self.log_requests.len() < LOG_REQUESTS_MAX => {
                let asked = now;
                let part = None;
                self.log_requests.insert(
                    key,
                    PendingLogRequest {
                        wanted,
                        asked,
                        part,
                    },
                );
            }
            None => {
                let told =
                    format!("the logs of {LOG_REQUESTS_MAX} daemons are being asked for already");
                return Err(Refused::Not(told));
            }
        }
        Ok(None)
    }

    /// The member with this name, or `role/name`.
    fn find(&self, of: &str, others: &[Key]) -> Result<Key, Refused> {
        let mut all: Vec<&Key> = self.heard.keys().chain(others).collect();
        all.sort();
        all.dedup();
        let is_meant = |(role, name): &Key| match of.split_once('/') {
            Some((word, rest)) => word == role.word() && rest == name,
            None => of == name,
        };
        let meant: Vec<&&Key> = all.iter().filter(|key| is_meant(key)).collect();
        match meant[..] {
            [key] => Ok((*key).clone()),
            [] => {
                let mut names: Vec<&str> = std::iter::once(Role::Gm.word())
                    .chain(all.iter().map(|(_, name)| name.as_str()))
                    .collect();
                let n_more = names.len().saturating_sub(NAMED_MAX);
                names.truncate(NAMED_MAX);
                let more = match n_more {
                    0 => String::new(),
                    n_more => format!(" and {n_more} more"),
                };
                let (of, names) = (of.chars().take(80).collect::<String>(), names.join(", "));
                let told = format!("there is no daemon {of:?}: there are {names}{more}");
                Err(Refused::Not(told))
            }
            [..] => {
                let keys = meant.iter().map(|(role, name)| format!("{role}/{name}"));
                let keys: Vec<String> = keys.collect();
                let told = format!("several daemons have this name: {}", keys.join(", "));
                Err(Refused::Not(told))
            }
        }
    }

    fn forget_log_requests(&mut self, now: Mono) {
        self.log_requests
            .retain(|_, wanted| now.since(wanted.asked) < LOG_REQUEST_TIMEOUT);
    }
}

fn key(who: &Identity) -> Key {
    (who.role(), who.name().to_owned())
}

#[cfg(test)]
mod tests;

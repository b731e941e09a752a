//! Who has said that it is there, what it said of itself, and which part of its log it is asked for.
//! Nothing of it is durable.

use std::collections::BTreeMap;

use model::{Identity, Mono, Role, Span};
use wire::admin::{LogPart, LogWish, Presence, Refused, Trouble};

/// How long a member that has said nothing is still taken for reachable; it says something each
/// second.
const SILENCE_MAX: Span = Span::from_secs(4);

/// How long a part of a log is kept for whoever has asked for it.
const WISH_LIFE: Span = Span::from_secs(10);

/// Daemons whose logs are asked for at a time, which bounds what is kept of them.
const WISHES_MAX: usize = 16;

/// Characters of what is told of the trouble of one: a path can be long.
const TROUBLE_CHARS_MAX: usize = 500;

/// Daemons that are named where one that was asked for is not there.
const NAMED_MAX: usize = 20;

/// The members that a group manager has heard of.
#[derive(Default)]
pub struct Members {
    heard: BTreeMap<Key, Heard>,
    wishes: BTreeMap<Key, Wish>,
}

/// As what, and under which name.
type Key = (Role, String);

struct Heard {
    presence: Presence,
    at: Mono,
}

/// A part of a log that somebody has asked for, and has not had yet.
struct Wish {
    wish: LogWish,
    asked: Mono,
    part: Option<LogPart>,
}

impl Members {
    /// A member says how it is, and hears which part of its log somebody wants to see.
    pub(crate) fn present(
        &mut self,
        who: &Identity,
        presence: Presence,
        now: Mono,
    ) -> Option<LogWish> {
        let key = key(who);
        self.forget_wishes(now);
        let wish = self.wishes.get(&key).filter(|wish| wish.part.is_none());
        let wish = wish.map(|wish| wish.wish.clone());
        self.heard.insert(key, Heard { presence, at: now });
        wish
    }

    /// A member gives a part of its log. What nobody has asked for is dropped.
    pub(crate) fn written(&mut self, who: &Identity, part: LogPart) {
        if let Some(wish) = self.wishes.get_mut(&key(who)) {
            wish.part.get_or_insert(part);
        }
    }

    /// What is the matter with those that have said something lately.
    pub(crate) fn troubles(&self, now: Mono) -> Vec<Trouble> {
        let heard = self.heard.iter();
        let heard = heard.filter(|(_, heard)| now.since(heard.at) < SILENCE_MAX);
        let troubles = heard.filter_map(|((role, name), heard)| {
            let why = heard.presence.trouble.as_ref()?;
            Some(Trouble {
                daemon: format!("{role} {name}"),
                why: why.chars().take(TROUBLE_CHARS_MAX).collect(),
            })
        });
        troubles.collect()
    }

    /// What a machine has said of itself.
    pub(crate) fn machine(&self, name: &str) -> Option<&Presence> {
        let heard = self.heard.get(&(Role::Am, name.to_owned()))?;
        Some(&heard.presence)
    }

    /// A part of a member's log: none where that is still on its way, and is to be asked for again.
    /// One at a time for each member; who comes second asks until his turn has come. `others` are
    /// members of which nothing need have been heard.
    pub(crate) fn log(
        &mut self,
        of: &str,
        wish: LogWish,
        others: &[Key],
        now: Mono,
    ) -> Result<Option<LogPart>, Refused> {
        let key = self.find(of, others)?;
        self.forget_wishes(now);
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
            self.wishes.remove(&key);
            let told = format!("{role} {name} cannot be reached: {silence}");
            return Err(Refused::Not(told));
        }
        match self.wishes.get(&key) {
            Some(waiting) if waiting.wish == wish && waiting.part.is_some() => {
                return Ok(self.wishes.remove(&key).and_then(|wish| wish.part));
            }
            Some(_) => {}
            None if self.wishes.len() < WISHES_MAX => {
                let asked = now;
                let part = None;
                self.wishes.insert(key, Wish { wish, asked, part });
            }
            None => {
                let told = format!("the logs of {WISHES_MAX} daemons are being asked for already");
                return Err(Refused::Not(told));
            }
        }
        Ok(None)
    }

    /// The member of this name, or `role/name`.
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

    fn forget_wishes(&mut self, now: Mono) {
        self.wishes
            .retain(|_, wish| now.since(wish.asked) < WISH_LIFE);
    }
}

fn key(who: &Identity) -> Key {
    (who.role(), who.name().to_owned())
}

#[cfg(test)]
mod tests;

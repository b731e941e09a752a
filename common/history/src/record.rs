//! The record under one key.

use model::Wall;

use crate::bodies::{Bodies, Counted};
use crate::store::Key;
use crate::template::{Observed, Template};

/// Observations of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Seen {
    /// An attempt at an activity.
    Attempt(Observed),
    /// The number of bodies that a controller had.
    Bodies(Counted),
}

/// The record of a key, whose class says of which kind it is.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// Times that attempts at an activity took.
    Attempts(Template),
    /// Numbers of bodies that a for-each or a loop had.
    Bodies(Bodies),
}

impl Record {
    /// An empty record of what was seen.
    pub(crate) fn of(seen: &Seen) -> Record {
        match seen {
            Seen::Attempt(_) => Record::Attempts(Template::default()),
            Seen::Bodies(_) => Record::Bodies(Bodies::default()),
        }
    }

    /// Takes what was seen; what is of another kind says nothing.
    pub(crate) fn observe(&mut self, seen: &Seen) {
        match (self, seen) {
            (Record::Attempts(template), Seen::Attempt(observed)) => template.observe(observed),
            (Record::Bodies(bodies), Seen::Bodies(counted)) => bodies.observe(counted),
            (Record::Attempts(_), Seen::Bodies(_)) | (Record::Bodies(_), Seen::Attempt(_)) => {}
        }
    }

    /// The time at which it was seen last.
    pub fn used(&self) -> Wall {
        match self {
            Record::Attempts(template) => template.used(),
            Record::Bodies(bodies) => bodies.used(),
        }
    }

    /// Times that attempts took, if it is that.
    pub fn template(&self) -> Option<&Template> {
        match self {
            Record::Attempts(template) => Some(template),
            Record::Bodies(_) => None,
        }
    }

    /// Numbers of bodies, if it is that.
    pub fn bodies(&self) -> Option<&Bodies> {
        match self {
            Record::Bodies(bodies) => Some(bodies),
            Record::Attempts(_) => None,
        }
    }

    /// The same with works in another unit: see [`Template::scaled`].
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Record {
        match self {
            Record::Attempts(template) => Record::Attempts(template.scaled(factor)),
            Record::Bodies(bodies) => Record::Bodies(bodies.clone()),
        }
    }

    /// The record of two managers under the same key.
    #[must_use]
    pub fn joined(&self, other: &Record) -> Record {
        match (self, other) {
            (Record::Attempts(one), Record::Attempts(other)) => Record::Attempts(one.joined(other)),
            (Record::Bodies(one), Record::Bodies(other)) => Record::Bodies(one.joined(other)),
            (Record::Attempts(_), Record::Bodies(_)) | (Record::Bodies(_), Record::Attempts(_)) => {
                self.clone()
            }
        }
    }

    /// Decodes the record of a key; none where it is damaged.
    pub fn decode(key: &Key, bytes: &[u8]) -> Option<Record> {
        match key.class.is_size() {
            true => Template::decode(bytes).map(Record::Attempts),
            false => Bodies::decode(bytes).map(Record::Bodies),
        }
    }

    /// Its encoded form.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Record::Attempts(template) => template.encode(),
            Record::Bodies(bodies) => bodies.encode(),
        }
    }
}

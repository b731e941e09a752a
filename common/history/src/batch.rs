//! Attempts of one definition as they are added to a file: together, because they share names.

use minicbor::{Decode, Encode};
use model::{Bytes, Span, Wall, Work};

use crate::store::{Key, SizeClass, Store};
use crate::template::Observed;

/// Attempts of one definition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
pub struct Batch {
    /// The name of the definition.
    #[n(0)]
    pub definition: String,
    /// The names of the activities.
    #[n(1)]
    pub activities: Vec<String>,
    /// The attempts.
    #[n(2)]
    pub items: Vec<Item>,
}

/// An attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(array)]
pub struct Item {
    /// The place of its activity's name.
    #[n(0)]
    pub activity: u32,
    /// The size of its inputs.
    #[n(1)]
    pub class: SizeClass,
    /// The run.
    #[n(2)]
    pub run: u32,
    /// When it ended.
    #[n(3)]
    pub at: Wall,
    /// Its work.
    #[n(4)]
    pub work: Work,
    /// True if it was killed.
    #[n(5)]
    pub is_killed: bool,
    /// Its CPU time.
    #[n(6)]
    pub cpu: Span,
    /// Its run time.
    #[n(7)]
    pub wall: Span,
    /// The most memory that it used.
    #[n(8)]
    pub peak_memory: Bytes,
}

impl Batch {
    /// An empty batch of a definition.
    pub fn new(definition: &str) -> Batch {
        Batch {
            definition: definition.to_owned(),
            ..Batch::default()
        }
    }

    /// Adds an attempt.
    pub fn add(&mut self, activity: &str, class: SizeClass, seen: &Observed) {
        let known = self.activities.iter().rposition(|name| name == activity);
        let place = known.unwrap_or_else(|| {
            self.activities.push(activity.to_owned());
            self.activities.len() - 1
        });
        self.items.push(Item {
            activity: place as u32,
            class,
            run: seen.run,
            at: seen.at,
            work: seen.work,
            is_killed: seen.is_killed,
            cpu: seen.cpu,
            wall: seen.wall,
            peak_memory: seen.peak_memory,
        });
    }

    /// Takes all its attempts into a store, as those of an owner.
    pub fn apply(&self, owner: &str, store: &mut Store) {
        let mut key = Key {
            owner: owner.to_owned(),
            definition: self.definition.clone(),
            activity: String::new(),
            class: SizeClass(0),
        };
        for item in &self.items {
            let Some(name) = self.activities.get(item.activity as usize) else {
                continue;
            };
            key.activity.clone_from(name);
            key.class = item.class;
            let seen = Observed {
                run: item.run,
                at: item.at,
                work: item.work,
                is_killed: item.is_killed,
                cpu: item.cpu,
                wall: item.wall,
                peak_memory: item.peak_memory,
            };
            store.observe(&key, &seen);
        }
    }

    /// Its encoded form.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a vector takes all bytes")
    }

    /// Decodes a batch; none where it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Batch> {
        minicbor::decode(bytes).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_says_the_same_after_it_was_encoded() {
        let mut batch = Batch::new("mosaic");
        let seen = |seconds| Observed {
            run: 7,
            at: Wall(9),
            work: Work::from_secs(seconds),
            is_killed: false,
            cpu: Span::from_secs(1),
            wall: Span::from_secs(2),
            peak_memory: Bytes(3),
        };
        batch.add("project", SizeClass(4), &seen(1));
        batch.add("add", SizeClass(0), &seen(5));
        batch.add("project", SizeClass(4), &seen(3));
        let read = Batch::decode(&batch.encode()).unwrap();
        assert_eq!(read, batch);
        let mut store = Store::default();
        read.apply("", &mut store);
        let work = |activity| {
            let known = store.of_activity(("", "mosaic"), activity).unwrap();
            known.of(None).work
        };
        assert_eq!(work("project"), Work::from_secs(2));
        assert_eq!(work("add"), Work::from_secs(5));
        assert_eq!(Batch::decode(b"\x83"), None);
    }
}

//! Attempts of one definition and owner as they are added to a file: together, because they share names.

use minicbor::{Decode, Encode};
use model::{Bytes, Span, Wall, Work};

use crate::bodies::Counted;
use crate::record::Seen;
use crate::store::{Key, SizeClass, Store};
use crate::template::Observed;

/// Attempts of one definition and owner.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
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
    /// The numbers of bodies that its controllers had, whose names are among those of the activities.
    #[cbor(n(3), default)]
    pub counted: Vec<CountedItem>,
    /// Whose they are, as [`Key::owner`] says.
    #[cbor(n(4), default)]
    pub owner: String,
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
    /// The time at which it ended.
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

/// The number of bodies of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Encode, Decode)]
#[cbor(array)]
pub struct CountedItem {
    /// The place of its name.
    #[n(0)]
    pub controller: u32,
    /// The run.
    #[n(1)]
    pub run: u32,
    /// The time at which it ended.
    #[n(2)]
    pub at: Wall,
    /// The number.
    #[n(3)]
    pub n: f32,
}

impl Batch {
    /// An empty batch of a definition and an owner.
    pub fn new(owner: &str, definition: &str) -> Batch {
        Batch {
            owner: owner.to_owned(),
            definition: definition.to_owned(),
            ..Batch::default()
        }
    }

    /// The number of what it has.
    pub fn len(&self) -> usize {
        self.items.len() + self.counted.len()
    }

    /// True if it has nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds what was seen under a key of the definition and the owner.
    pub fn take(&mut self, key: &Key, seen: &Seen) {
        match seen {
            Seen::Attempt(observed) => self.add(&key.activity, key.class, observed),
            Seen::Bodies(Counted { run, at, n }) => {
                let controller = self.place_of(&key.activity);
                self.counted.push(CountedItem {
                    controller,
                    run: *run,
                    at: *at,
                    n: *n,
                });
            }
        }
    }

    fn place_of(&mut self, name: &str) -> u32 {
        let known = self.activities.iter().rposition(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.activities.push(name.to_owned());
            self.activities.len() - 1
        });
        place as u32
    }

    /// Adds an attempt.
    pub fn add(&mut self, activity: &str, class: SizeClass, seen: &Observed) {
        let activity = self.place_of(activity);
        self.items.push(Item {
            activity,
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

    /// Takes all its attempts into a store.
    pub fn apply(&self, store: &mut Store) {
        let mut key = Key {
            owner: self.owner.clone(),
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
        key.class = SizeClass::BODIES;
        for item in &self.counted {
            let Some(name) = self.activities.get(item.controller as usize) else {
                continue;
            };
            key.activity.clone_from(name);
            let CountedItem { run, at, n, .. } = *item;
            store.take(&key, &Seen::Bodies(Counted { run, at, n }));
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
        let mut batch = Batch::new("ana", "mosaic");
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
        let each = Key {
            owner: "ana".to_owned(),
            definition: "mosaic".to_owned(),
            activity: "for-each project".to_owned(),
            class: SizeClass::BODIES,
        };
        let counted = Counted {
            run: 7,
            at: Wall(9),
            n: 2.0,
        };
        batch.take(&each, &Seen::Bodies(counted));
        assert_eq!(batch.len(), 4);
        let read = Batch::decode(&batch.encode()).unwrap();
        assert_eq!(read, batch);
        let mut store = Store::default();
        read.apply(&mut store);
        let work = |activity| {
            let known = store.of_activity(("ana", "mosaic"), activity).unwrap();
            known.of(None).work
        };
        assert_eq!(work("project"), Work::from_secs(2));
        assert_eq!(work("add"), Work::from_secs(5));
        assert_eq!(
            store.bodies_of(("ana", "mosaic"), "for-each project"),
            Some(2.0)
        );
        assert_eq!(Batch::decode(b"\x83"), None);
    }
}

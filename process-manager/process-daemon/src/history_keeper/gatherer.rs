//! Attempts that wait to be written with others.

use std::collections::BTreeMap;

use history::{Batch, Key, Seen};
use model::{Mono, Span};
use process_core::ForgetRequest;

/// The time for which attempts wait.
const GATHER: Span = Span::from_millis(100);

/// Attempts written at once: some 50 KB.
const GATHERED_MAX: usize = 1_024;

/// Bytes of the names of activities written at once, as if each attempt had its own. With the rest they are below the
/// limit of a record of the file.
const NAMES_BYTES_MAX: usize = 512 << 10;

/// Attempts that wait, by owner and definition.
#[derive(Default)]
pub(super) struct Gatherer {
    batches: BTreeMap<(String, String), Batch>,
    n_items: usize,
    /// Bytes of names since nothing waited.
    names_bytes: usize,
    due: Option<Mono>,
}

impl Gatherer {
    /// Adds what was seen. Returns true if so much waits that it is to be written now.
    pub(super) fn add(&mut self, key: &Key, seen: &Seen, now: Mono) -> bool {
        let names = (key.owner.clone(), key.definition.clone());
        let batch = self.batches.entry(names);
        let batch = batch.or_insert_with(|| Batch::new(&key.owner, &key.definition));
        batch.take(key, seen);
        self.n_items += 1;
        self.names_bytes += key.activity.len();
        self.due.get_or_insert(now + GATHER);
        self.is_full()
    }

    fn is_full(&self) -> bool {
        self.n_items >= GATHERED_MAX || self.names_bytes >= NAMES_BYTES_MAX
    }

    /// The time at which what waits is to be written.
    pub(super) fn due(&self) -> Option<Mono> {
        self.due
    }

    /// Writes what is due.
    pub(super) fn wake(&mut self, now: Mono, write: impl FnMut(Batch) -> Result<(), Batch>) {
        if self.due.is_some_and(|due| due <= now) {
            self.write(now, write);
        }
    }

    /// Writes all that waits. A batch that is given back waits for another time, and those after it too. It is let
    /// go where too much waits for that.
    pub(super) fn write(&mut self, now: Mono, mut write: impl FnMut(Batch) -> Result<(), Batch>) {
        let is_full = self.is_full();
        while let Some(batch) = self.take() {
            if let Err(batch) = write(batch)
                && !is_full
            {
                self.put_back(batch);
                self.due = Some(now + GATHER);
                return;
            }
        }
    }

    fn take(&mut self) -> Option<Batch> {
        self.due = None;
        let (_, batch) = self.batches.pop_first()?;
        self.n_items -= batch.len();
        if self.batches.is_empty() {
            self.names_bytes = 0;
        }
        Some(batch)
    }

    fn put_back(&mut self, batch: Batch) {
        self.n_items += batch.len();
        let names = (batch.owner.clone(), batch.definition.clone());
        self.batches.insert(names, batch);
    }

    /// Lets go what is to be forgotten.
    pub(super) fn forget(&mut self, request: &ForgetRequest) {
        self.batches.retain(|(owner, definition), batch| {
            let stays = !request.names(owner, definition);
            if !stays {
                self.n_items -= batch.len();
            }
            stays
        });
    }
}

#[cfg(test)]
mod tests {
    use history::{Observed, SizeClass};
    use model::{Wall, Work};
    use process_core::ClientId;

    use super::*;

    fn add(gatherer: &mut Gatherer, owner: &str, definition: &str, now: Mono) -> bool {
        let key = Key {
            owner: owner.to_owned(),
            definition: definition.to_owned(),
            activity: "a".to_owned(),
            class: SizeClass(0),
        };
        let seen = Observed::completed(1, Wall(1), Work::from_secs(1));
        gatherer.add(&key, &Seen::Attempt(seen), now)
    }

    #[test]
    fn attempts_wait_for_others_of_their_owner_and_definition_but_not_for_long() {
        let mut gatherer = Gatherer::default();
        let at = |millis| Mono(0) + Span::from_millis(millis);
        assert_eq!(gatherer.due(), None);
        for (owner, definition, now) in [("ana", "p", 5), ("bob", "p", 50), ("ana", "p", 90)] {
            assert!(!add(&mut gatherer, owner, definition, at(now)));
            assert_eq!(gatherer.due(), Some(at(105)));
        }
        let mut taken = std::iter::from_fn(|| gatherer.take());
        let first = taken.next().unwrap();
        assert_eq!((&*first.owner, first.len()), ("ana", 2));
        assert_eq!(taken.next().unwrap().owner, "bob");
        assert_eq!(taken.next(), None);
        assert_eq!(gatherer.due(), None);
    }

    #[test]
    fn as_many_as_are_written_at_once_wait_for_nothing() {
        let mut gatherer = Gatherer::default();
        for n in 1..GATHERED_MAX {
            assert!(!add(&mut gatherer, "ana", &(n % 3).to_string(), Mono(0)));
        }
        assert!(add(&mut gatherer, "ana", "0", Mono(0)));
        let batch = gatherer.take().unwrap();
        assert!(!gatherer.is_full());
        gatherer.put_back(batch);
        assert!(gatherer.is_full());
    }

    #[test]
    fn what_cannot_be_written_now_waits_again_and_is_let_go_where_too_much_waits() {
        let mut gatherer = Gatherer::default();
        for definition in ["p", "q", "r"] {
            add(&mut gatherer, "ana", definition, Mono(0));
        }
        let at = |millis| Mono(0) + Span::from_millis(millis);
        let mut written = Vec::new();
        let mut only_p = |batch: Batch| match &*batch.definition {
            "p" => {
                written.push(batch.definition);
                Ok(())
            }
            _ => Err(batch),
        };
        gatherer.wake(at(99), &mut only_p);
        assert_eq!((gatherer.n_items, gatherer.due()), (3, Some(at(100))));
        gatherer.wake(at(100), &mut only_p);
        assert_eq!((gatherer.n_items, gatherer.due()), (2, Some(at(200))));
        for _ in 0..GATHERED_MAX {
            add(&mut gatherer, "ana", "p", at(150));
        }
        gatherer.write(at(150), &mut only_p);
        assert_eq!((gatherer.n_items, gatherer.due()), (0, None));
        assert_eq!(written, ["p", "p"]);
    }

    #[test]
    fn what_is_to_be_forgotten_waits_no_longer() {
        let mut gatherer = Gatherer::default();
        for (owner, definition) in [("ana", "p"), ("ana", "q"), ("bob", "p")] {
            add(&mut gatherer, owner, definition, Mono(0));
        }
        let request = ForgetRequest {
            client: ClientId(1),
            number: 1,
            n_forgotten: 1,
            owner: "ana".to_owned(),
            definition: Some("p".to_owned()),
        };
        gatherer.forget(&request);
        let left = std::iter::from_fn(|| gatherer.take());
        let left: Vec<_> = left.map(|one| (one.owner, one.definition)).collect();
        let names = |owner: &str, definition: &str| (owner.to_owned(), definition.to_owned());
        assert_eq!(left, [names("ana", "q"), names("bob", "p")]);
        assert_eq!(gatherer.n_items, 0);
    }
}

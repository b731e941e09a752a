//! A bounded store of templates, by owner, definition, activity and size of inputs.

use std::collections::BTreeMap;
use std::ops::Bound;

use minicbor::{Decode, Encode};
use model::{Bytes, Wall};

use crate::record::{Record, Seen};
use crate::template::{Forecast, Observed, Template};

/// Templates of a store: in less than 50 MB.
pub const TEMPLATES_MAX: usize = 100_000;

/// Part of a store that the templates of one owner with a name may fill: whoever runs the most leaves room for
/// the others. The owner without a name has the machine to himself and is bounded by the store alone.
const OWNER_PART: usize = 4;

/// Part of a store that one definition may fill, so that a recording of many thousand activities, each with a
/// name of its own, leaves what other definitions took.
const DEFINITION_PART: usize = 8;

/// Part of the templates that goes at once when a store, or the part of an owner or a definition, is full, so
/// that the search for the oldest costs little a template.
const EVICTED_PART: usize = 16;

/// Bytes of owner, definition and activity together: a record has to fit into 4 KiB with them.
pub const NAMES_BYTES_MAX: usize = 2 << 10;

/// Classes of input sizes beside the right one in which a forecast is looked for: sizes near a bound
/// change their class by chance.
const CLASSES_BESIDE: u8 = 1;

/// The class of the size of an activity's inputs together: the number of bits of the bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct SizeClass(#[n(0)] pub u8);

impl SizeClass {
    /// No size: the record of a controller has this in its place.
    pub const BODIES: SizeClass = SizeClass(u8::MAX);

    /// The class of so many bytes.
    pub fn of(bytes: Bytes) -> SizeClass {
        SizeClass((u64::BITS - bytes.0.leading_zeros()) as u8)
    }

    /// True if it is one, and the record one of an activity.
    pub fn is_size(self) -> bool {
        self != SizeClass::BODIES
    }
}

/// The names of a template.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Key {
    /// Whose it is; empty for the user of an embedded run or of a manager's own machine.
    #[n(0)]
    pub owner: String,
    /// The name of the definition.
    #[n(1)]
    pub definition: String,
    /// The name of the activity, without the items that it is run for; of a controller, its
    /// [`controller_name`](crate::controller_name).
    #[n(2)]
    pub activity: String,
    /// The size of its inputs.
    #[n(3)]
    pub class: SizeClass,
}

impl Key {
    /// Its encoded form: the key of a record that keeps the template.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a vector takes all bytes")
    }

    /// Decodes the key of a record; none where it is no such key.
    pub fn decode(bytes: &[u8]) -> Option<Key> {
        minicbor::decode(bytes).ok()
    }
}

/// Templates of all owners. What one owner ran is never told where another one is asked for.
#[derive(Clone, Debug)]
pub struct Store {
    /// Numbers of owners with their definitions, and their templates.
    books: BTreeMap<Box<[u8]>, Book>,
    /// By the number of the book, the activity and the class, in the bytes of one key. The nodes of the map are seldom
    /// full, so records of some 100 bytes are not in them.
    templates: BTreeMap<Box<[u8]>, Box<Record>>,
    /// The number of templates of each owner.
    owners: BTreeMap<Box<str>, u32>,
    next: u32,
    most: usize,
}

/// Forecasts for an activity's next attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    by_class: Vec<(SizeClass, Forecast)>,
    usual: Forecast,
}

#[derive(Clone, Copy, Debug)]
struct Book {
    number: u32,
    n_templates: u32,
}

/// The templates among which those that were not seen for longest make room for another one.
#[derive(Clone, Copy, Debug)]
enum Crowded<'k> {
    Definition(&'k str, &'k str),
    Owner(&'k str),
    Store,
}

impl Known {
    /// The forecast for inputs of this size. Where the size is not known, or was never seen, it is as in
    /// the last run.
    pub fn of(&self, class: Option<SizeClass>) -> Forecast {
        let Some(SizeClass(class)) = class else {
            return self.usual;
        };
        let beside = |own: SizeClass| own.0.abs_diff(class);
        let near = self.by_class.iter();
        let near = near.filter(|(own, _)| beside(*own) <= CLASSES_BESIDE);
        let nearest = near.min_by_key(|(own, _)| beside(*own));
        nearest.map_or(self.usual, |(_, forecast)| *forecast)
    }

    /// True if several sizes of inputs were seen.
    pub fn depends_on_size(&self) -> bool {
        self.by_class.len() > 1
    }
}

impl Default for Store {
    fn default() -> Store {
        Store::with_at_most(TEMPLATES_MAX)
    }
}

impl Store {
    /// An empty store of at most so many templates: an eighth of them of one definition, a fourth of one owner
    /// with a name.
    pub fn with_at_most(most: usize) -> Store {
        Store {
            books: BTreeMap::new(),
            templates: BTreeMap::new(),
            owners: BTreeMap::new(),
            next: 0,
            most,
        }
    }

    /// The number of templates.
    pub fn len(&self) -> usize {
        self.templates.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.templates.is_empty()
    }

    /// Takes an attempt. Returns the changed template, none where its names are too long, and the
    /// templates that made room for it: those that were not seen for longest, of the same definition where that
    /// has as many as one may have, else of the same owner where that has, else of all.
    pub fn observe(&mut self, key: &Key, seen: &Observed) -> (Option<&Record>, Vec<Key>) {
        self.take(key, &Seen::Attempt(*seen))
    }

    /// The same for what was seen of any kind. The class of the key says of which.
    pub fn take(&mut self, key: &Key, seen: &Seen) -> (Option<&Record>, Vec<Key>) {
        let Some((place, gone)) = self.place_with_room(key) else {
            return (None, Vec::new());
        };
        let record = self.templates.entry(place);
        let record = record.or_insert_with(|| Box::new(Record::of(seen)));
        record.observe(seen);
        (Some(record), gone)
    }

    /// Puts a record into its place, as it was kept. Returns the templates that made room for it.
    pub fn put(&mut self, key: &Key, template: Record) -> Vec<Key> {
        let Some((place, gone)) = self.place_with_room(key) else {
            return Vec::new();
        };
        self.templates.insert(place, Box::new(template));
        gone
    }

    /// True if anything is known of a definition.
    pub fn knows(&self, owner: &str, definition: &str) -> bool {
        self.books.contains_key(&*book_key(owner, definition))
    }

    /// Forecasts for an activity, if it was seen.
    pub fn of_activity(&self, (owner, definition): (&str, &str), activity: &str) -> Option<Known> {
        let book = self.books.get(&*book_key(owner, definition))?;
        let from = template_key(book.number, activity, SizeClass(0));
        let prefix = from.len() - 1;
        let from_there = self.templates.range(from.clone()..);
        let own = from_there
            .take_while(|(key, _)| key.len() == prefix + 1 && key[..prefix] == from[..prefix]);
        let own: Vec<(SizeClass, &Template)> = own
            .filter_map(|(key, record)| Some((SizeClass(key[prefix]), record.template()?)))
            .collect();
        let newest = own.iter().max_by_key(|(_, template)| template.used())?.1;
        let of_last_run = own.iter().filter(|(_, one)| one.run() == newest.run());
        let usual = mean(of_last_run.map(|(_, template)| *template))?;
        let by_class = own.iter();
        let by_class =
            by_class.filter_map(|(class, template)| Some((*class, template.forecast()?)));
        Some(Known {
            by_class: by_class.collect(),
            usual,
        })
    }

    /// The number of bodies that is expected of a controller of a definition, if it was seen.
    pub fn bodies_of(&self, (owner, definition): (&str, &str), controller: &str) -> Option<f64> {
        let book = self.books.get(&*book_key(owner, definition))?;
        let place = template_key(book.number, controller, SizeClass::BODIES);
        self.templates.get(&place)?.bodies()?.expected()
    }

    /// The templates of an owner, of one definition or of all, in the order of their names.
    pub fn of_owner(&self, owner: &str, definition: Option<&str>) -> Vec<(Key, &Record)> {
        self.of_owner_after(owner, definition, None).collect()
    }

    /// The same after a key, whose owner is not looked at and whose template may be gone. O(log n) to the first
    /// of them.
    pub fn of_owner_after<'s, 'a>(
        &'s self,
        owner: &'a str,
        definition: Option<&'a str>,
        after: Option<&'a Key>,
    ) -> impl Iterator<Item = (Key, &'s Record)> {
        let begun = after.map(|key| &*key.definition);
        let books = self.books_of(owner, definition, begun);
        books.flat_map(move |(names, book)| {
            let after = after.filter(|key| split(names).1 == key.definition);
            let from = match after {
                Some(key) => Bound::Excluded(template_key(book.number, &key.activity, key.class)),
                None => Bound::Included(Box::from(book.number.to_be_bytes())),
            };
            let own = self.of_book(book, from);
            own.map(|(key, template)| (self.key(names, key), template))
        })
    }

    /// Forgets the templates of an owner, of one definition or of all. Returns their names.
    pub fn forget(&mut self, owner: &str, definition: Option<&str>) -> Vec<Key> {
        let found = self.of_owner(owner, definition);
        let keys: Vec<Key> = found.into_iter().map(|(key, _)| key).collect();
        keys.iter().for_each(|key| self.remove(key));
        keys
    }

    /// All templates, those of a definition together.
    pub fn all(&self) -> impl Iterator<Item = (Key, &Record)> {
        let mut names: BTreeMap<u32, &[u8]> = BTreeMap::new();
        for (key, book) in &self.books {
            names.insert(book.number, key);
        }
        self.templates.iter().filter_map(move |(key, template)| {
            let names = names.get(&number(key))?;
            Some((self.key(names, key), &**template))
        })
    }

    fn key(&self, names: &[u8], key: &[u8]) -> Key {
        let (owner, definition) = split(names);
        let (name, class) = (&key[4..key.len() - 2], key[key.len() - 1]);
        Key {
            owner: owner.to_owned(),
            definition: definition.to_owned(),
            activity: String::from_utf8_lossy(name).into_owned(),
            class: SizeClass(class),
        }
    }

    /// The place of a template; its book's number is used where there is none yet.
    fn place(&self, key: &Key) -> Option<Box<[u8]>> {
        let bytes = key.owner.len() + key.definition.len() + key.activity.len();
        let book = self.books.get(&*book_key(&key.owner, &key.definition));
        let number = book.map_or(self.next, |book| book.number);
        // The first NUL parts the owner's name from that of the definition.
        let is_fit = bytes <= NAMES_BYTES_MAX && !key.owner.contains('\0');
        is_fit.then(|| template_key(number, &key.activity, key.class))
    }

    /// The place of a template, which is counted, with room for it, and the templates that made it.
    fn place_with_room(&mut self, key: &Key) -> Option<(Box<[u8]>, Vec<Key>)> {
        let place = self.place(key)?;
        if self.templates.contains_key(&place) {
            return Some((place, Vec::new()));
        }
        let gone = self.make_room(key);
        // Its own book may have gone with the others, and gets another number.
        let place = self.place(key)?;
        self.add(key);
        Some((place, gone))
    }

    /// Removes the templates that were not seen for longest where there is no room for another one.
    fn make_room(&mut self, key: &Key) -> Vec<Key> {
        let Some((crowded, most)) = self.crowded(key) else {
            return Vec::new();
        };
        let mut used: Vec<Wall> = self.among(crowded).map(|(.., one)| one.used()).collect();
        let n_gone = (most / EVICTED_PART).clamp(1, used.len());
        let (_, &mut last, _) = used.select_nth_unstable(n_gone - 1);
        let oldest = self
            .among(crowded)
            .filter(|(.., one)| one.used() <= last)
            .map(|(names, key, _)| self.key(names, key));
        let gone: Vec<Key> = oldest.take(n_gone).collect();
        gone.iter().for_each(|key| self.remove(key));
        gone
    }

    /// The templates that have no room for one of this key, and how many they may be.
    fn crowded<'k>(&self, key: &'k Key) -> Option<(Crowded<'k>, usize)> {
        let (owner, definition) = (&*key.owner, &*key.definition);
        let of_definition = self.books.get(&*book_key(owner, definition));
        let of_definition = of_definition.map_or(0, |book| book.n_templates as usize);
        let of_owner = self.owners.get(owner).map_or(0, |&n| n as usize);
        let most = |part: usize| (self.most / part).max(1);
        if of_definition >= most(DEFINITION_PART) {
            Some((
                Crowded::Definition(owner, definition),
                most(DEFINITION_PART),
            ))
        } else if of_owner >= most(OWNER_PART) && !owner.is_empty() {
            Some((Crowded::Owner(owner), most(OWNER_PART)))
        } else if self.len() >= self.most {
            Some((Crowded::Store, self.most))
        } else {
            None
        }
    }

    /// Templates with the names of their books and their own.
    fn among<'s, 'a>(
        &'s self,
        crowded: Crowded<'a>,
    ) -> impl Iterator<Item = (&'s [u8], &'s [u8], &'s Record)> {
        let (owner, definition) = match crowded {
            Crowded::Definition(owner, definition) => (Some(owner), Some(definition)),
            Crowded::Owner(owner) => (Some(owner), None),
            Crowded::Store => (None, None),
        };
        let of_owner = owner.map(|owner| self.books_of(owner, definition, None));
        let all = owner.is_none().then(|| self.books.iter());
        let all = all.into_iter().flatten();
        let all = all.map(|(names, book)| (&**names, *book));
        let books = of_owner.into_iter().flatten().chain(all);
        books.flat_map(|(names, book)| {
            let first = Bound::Included(Box::from(book.number.to_be_bytes()));
            let own = self.of_book(book, first);
            own.map(move |(key, template)| (names, key, template))
        })
    }

    /// The books of an owner, of one definition or of all from one on.
    fn books_of<'s, 'a>(
        &'s self,
        owner: &'a str,
        definition: Option<&'a str>,
        from: Option<&'a str>,
    ) -> impl Iterator<Item = (&'s [u8], Book)> {
        let first = definition.max(from).unwrap_or_default();
        let from_there = self.books.range(book_key(owner, first)..);
        let own = from_there
            .map(|(names, book)| (&**names, *book))
            .take_while(move |(names, _)| split(names).0 == owner);
        own.take_while(move |(names, _)| definition.is_none_or(|one| one == split(names).1))
    }

    /// The templates of a book from one on.
    fn of_book(
        &self,
        book: Book,
        from: Bound<Box<[u8]>>,
    ) -> impl Iterator<Item = (&[u8], &Record)> {
        let from_there = self.templates.range((from, Bound::Unbounded));
        from_there
            .map(|(key, template)| (&**key, &**template))
            .take_while(move |(key, _)| number(key) == book.number)
    }

    /// Counts a template that gets its place. A book begins with its first one.
    fn add(&mut self, key: &Key) {
        let names = book_key(&key.owner, &key.definition);
        let book = self.books.entry(names).or_insert_with(|| {
            let number = self.next;
            self.next += 1;
            Book {
                number,
                n_templates: 0,
            }
        });
        book.n_templates += 1;
        match self.owners.get_mut(&*key.owner) {
            Some(n) => *n += 1,
            None => {
                self.owners.insert(Box::from(&*key.owner), 1);
            }
        }
    }

    /// Removes a template, and its book with the last one of it.
    fn remove(&mut self, key: &Key) {
        let place = self.place(key);
        if place
            .and_then(|place| self.templates.remove(&place))
            .is_none()
        {
            return;
        }
        let names = book_key(&key.owner, &key.definition);
        if let Some(book) = self.books.get_mut(&names) {
            book.n_templates -= 1;
            if book.n_templates == 0 {
                self.books.remove(&names);
            }
        }
        if let Some(n) = self.owners.get_mut(&*key.owner) {
            *n -= 1;
            if *n == 0 {
                self.owners.remove(&*key.owner);
            }
        }
    }
}

/// The forecast of several templates together, each by the values of its last run.
fn mean<'a>(templates: impl Iterator<Item = &'a Template>) -> Option<Forecast> {
    let (mut n_all, mut sums) = (0_u64, [0_u128; 3]);
    for template in templates {
        let Some(Forecast { work, p50, p90 }) = template.forecast() else {
            continue;
        };
        let n = u64::from(template.n_in_run().max(1));
        n_all += n;
        for (sum, one) in sums.iter_mut().zip([work, p50, p90]) {
            *sum += u128::from(one.0) * u128::from(n);
        }
    }
    let mean = |sum: u128| {
        let mean = sum.checked_div(u128::from(n_all))?;
        Some(model::Work(u64::try_from(mean).ok()?))
    };
    Some(Forecast {
        work: mean(sums[0])?,
        p50: mean(sums[1])?,
        p90: mean(sums[2])?,
    })
}

fn book_key(owner: &str, definition: &str) -> Box<[u8]> {
    [owner.as_bytes(), &[0], definition.as_bytes()]
        .concat()
        .into()
}

fn split(names: &[u8]) -> (&str, &str) {
    let text = std::str::from_utf8(names).unwrap_or_default();
    text.split_once('\0').unwrap_or_default()
}

fn template_key(number: u32, activity: &str, SizeClass(class): SizeClass) -> Box<[u8]> {
    [&number.to_be_bytes()[..], activity.as_bytes(), &[0, class]]
        .concat()
        .into()
}

fn number(key: &[u8]) -> u32 {
    u32::from_be_bytes([key[0], key[1], key[2], key[3]])
}

#[cfg(test)]
mod tests;

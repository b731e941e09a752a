//! A bounded store of templates, by owner, definition, activity and size of inputs.

use std::collections::BTreeMap;

use minicbor::{Decode, Encode};
use model::Bytes;

use crate::template::{Forecast, Observed, Template};

/// Templates of a store: in less than 50 MB.
pub const TEMPLATES_MAX: usize = 100_000;

/// Part of the templates that goes at once when a store is full, so that the search for the oldest
/// costs little a template.
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
    /// The class of so many bytes.
    pub fn of(bytes: Bytes) -> SizeClass {
        SizeClass((u64::BITS - bytes.0.leading_zeros()) as u8)
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
    /// The name of the activity, without the items that it is run for.
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
    /// By the number of the book, the activity and the class, in the bytes of one key.
    templates: BTreeMap<Box<[u8]>, Template>,
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
    /// An empty store of at most so many templates.
    pub fn with_at_most(most: usize) -> Store {
        Store {
            books: BTreeMap::new(),
            templates: BTreeMap::new(),
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
    /// templates that made room for it: those that were not seen for longest.
    pub fn observe(&mut self, key: &Key, seen: &Observed) -> (Option<&Template>, Vec<Key>) {
        let Some((place, gone)) = self.place_with_room(key) else {
            return (None, Vec::new());
        };
        let (books, next) = (&mut self.books, &mut self.next);
        let template = self.templates.entry(place).or_insert_with(|| {
            count(books, next, &key.owner, &key.definition);
            Template::default()
        });
        template.observe(seen);
        (Some(template), gone)
    }

    /// Puts a template into its place, as it was kept.
    pub fn put(&mut self, key: &Key, template: Template) {
        let Some((place, _)) = self.place_with_room(key) else {
            return;
        };
        if !self.templates.contains_key(&place) {
            count(&mut self.books, &mut self.next, &key.owner, &key.definition);
        }
        self.templates.insert(place, template);
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
            .map(|(key, template)| (SizeClass(key[prefix]), template))
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

    /// The templates of an owner, of one definition or of all, in the order of their names.
    pub fn of_owner(&self, owner: &str, definition: Option<&str>) -> Vec<(Key, &Template)> {
        let mut found = Vec::new();
        for (names, book) in &self.books {
            let (own, name) = split(names);
            if own != owner || definition.is_some_and(|definition| definition != name) {
                continue;
            }
            let from = book.number.to_be_bytes();
            let from_there = self.templates.range(Box::from(&from[..])..);
            let own = from_there.take_while(|(key, _)| key[..4] == from);
            found.extend(own.map(|(key, template)| (self.key(names, key), template)));
        }
        found
    }

    /// Forgets the templates of an owner, of one definition or of all. Returns their names.
    pub fn forget(&mut self, owner: &str, definition: Option<&str>) -> Vec<Key> {
        let found = self.of_owner(owner, definition);
        let keys: Vec<Key> = found.into_iter().map(|(key, _)| key).collect();
        for place in keys
            .iter()
            .filter_map(|key| self.place(key))
            .collect::<Vec<_>>()
        {
            self.templates.remove(&place);
        }
        for key in &keys {
            self.books.remove(&book_key(&key.owner, &key.definition));
        }
        keys
    }

    /// All templates, those of a definition together.
    pub fn all(&self) -> impl Iterator<Item = (Key, &Template)> {
        let mut names: BTreeMap<u32, &[u8]> = BTreeMap::new();
        for (key, book) in &self.books {
            names.insert(book.number, key);
        }
        self.templates.iter().filter_map(move |(key, template)| {
            let names = names.get(&number(key))?;
            Some((self.key(names, key), template))
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

    /// The place of a template, with room for it, and the templates that made it.
    fn place_with_room(&mut self, key: &Key) -> Option<(Box<[u8]>, Vec<Key>)> {
        let place = self.place(key)?;
        if self.templates.contains_key(&place) {
            return Some((place, Vec::new()));
        }
        let gone = self.make_room();
        // Its own book may have gone with the others, and gets another number.
        Some((self.place(key)?, gone))
    }

    /// Removes the templates that were not seen for longest where there is no room for another one.
    fn make_room(&mut self) -> Vec<Key> {
        if self.templates.len() < self.most {
            return Vec::new();
        }
        let mut used: Vec<u64> = self.templates.values().map(|one| one.used().0).collect();
        let n_gone = (self.most / EVICTED_PART).max(1);
        let (_, &mut last, _) = used.select_nth_unstable(n_gone - 1);
        let all = self.all().filter(|(_, one)| one.used().0 <= last);
        let gone: Vec<Key> = all.take(n_gone).map(|(key, _)| key).collect();
        for key in &gone {
            let Some(place) = self.place(key) else {
                continue;
            };
            self.templates.remove(&place);
            let names = book_key(&key.owner, &key.definition);
            if let Some(book) = self.books.get_mut(&*names) {
                book.n_templates -= 1;
                if book.n_templates == 0 {
                    self.books.remove(&names);
                }
            }
        }
        gone
    }
}

/// Counts a template of a definition, whose book begins where there is none.
fn count(books: &mut BTreeMap<Box<[u8]>, Book>, next: &mut u32, owner: &str, definition: &str) {
    let book = books.entry(book_key(owner, definition)).or_insert_with(|| {
        let number = *next;
        *next += 1;
        Book {
            number,
            n_templates: 0,
        }
    });
    book.n_templates += 1;
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

//! Records of the user's activities at the process managers of a grid: each keeps those that it ran, and all
//! is shown as one.

use std::collections::BTreeMap;

use history::{Key, Record, SizeClass};
use shell::Client;
use wire::client::{Answer, HistoryKey, HistoryPage, HistoryRecord, Request};

use super::answers::Answers;
use super::{Home, PATIENCE, Remote};
use crate::ask::unfit;
use crate::failure::Failure;
use crate::watch::Host;

/// Pages of one process manager: ten times what any remembers.
const PAGES_MAX: usize = 1_000;

/// The process managers that have answered, and why the others have not.
pub(crate) struct Rememberers {
    answering: Vec<(Home, Client, HistoryPage)>,
    failures: Vec<Failure>,
}

/// The number of forgotten records.
pub(crate) struct Forgotten {
    /// The number of records.
    pub(crate) n_records: u64,
    /// The reason why others may remember still.
    pub(crate) failures: Vec<Failure>,
}

impl Remote {
    /// Has all process managers tell the beginning of what they remember, at the same time.
    pub(crate) fn rememberers(&self, definition: Option<&str>) -> Rememberers {
        let mut answers = Answers::to(PATIENCE);
        for home in self.homes() {
            let definition = definition.map(str::to_owned);
            answers.ask(home, move |home| {
                let mut client = home.client()?;
                let first = page(&mut client, definition, None)?;
                Ok((client, first))
            });
        }
        let mut found = Rememberers {
            answering: Vec::new(),
            failures: Vec::new(),
        };
        for (home, answer) in answers {
            match answer {
                Ok((client, first)) => found.answering.push((home, client, first)),
                Err(failure) => found.failures.push(failure),
            }
        }
        // The same managers give the same answer, whichever was the first.
        found.answering.sort_by_key(|(home, ..)| home.manager);
        found
    }
}

impl Rememberers {
    /// True if any has answered.
    pub(crate) fn is_any(&self) -> bool {
        !self.answering.is_empty()
    }

    /// All that they remember, by its names, and why others have not told.
    pub(crate) fn known(self, definition: Option<&str>) -> (BTreeMap<Key, Record>, Vec<Failure>) {
        let Rememberers {
            answering,
            mut failures,
        } = self;
        let mut known = BTreeMap::new();
        for (_, mut client, first) in answering {
            if let Err(failure) = rest(&mut client, definition, first, &mut known) {
                failures.push(failure);
            }
        }
        (known, failures)
    }

    /// Has them forget a definition, or everything.
    pub(crate) fn forget(self, definition: Option<&str>) -> Forgotten {
        let Rememberers {
            answering,
            failures,
        } = self;
        let mut forgotten = Forgotten {
            n_records: 0,
            failures,
        };
        for (_, mut client, _) in answering {
            let request = Request::ForgetHistory(definition.map(str::to_owned));
            match client.ask(request) {
                Ok(Answer::HistoryForgotten(n)) => forgotten.n_records += n,
                Ok(other) => forgotten.failures.push(unfit(&other)),
                Err(error) => forgotten.failures.push(Failure::because(&error)),
            }
        }
        forgotten
    }
}

/// Takes a page and all after it.
fn rest(
    client: &mut Client,
    definition: Option<&str>,
    first: HistoryPage,
    known: &mut BTreeMap<Key, Record>,
) -> Result<(), Failure> {
    let mut next = first;
    for _ in 0..PAGES_MAX {
        let HistoryPage { records, has_more } = next;
        let last = records.last().map(|record| record.key.clone());
        for HistoryRecord { key, record: bytes } in records {
            let HistoryKey {
                definition,
                activity,
                class,
            } = key;
            let key = Key {
                owner: String::new(),
                definition,
                activity,
                class: SizeClass(class),
            };
            // One that is damaged, or of a later version, tells nothing.
            let Some(record) = Record::decode(&key, &bytes) else {
                continue;
            };
            let both = match known.get(&key) {
                Some(other) => record.joined(other),
                None => record,
            };
            known.insert(key, both);
        }
        match last.filter(|_| has_more) {
            Some(last) => next = page(client, definition.map(str::to_owned), Some(last))?,
            None => return Ok(()),
        }
    }
    Err(Failure::new(format!(
        "could not read the whole history: it has more than {PAGES_MAX} pages"
    )))
}

fn page(
    client: &mut Client,
    definition: Option<String>,
    after: Option<HistoryKey>,
) -> Result<HistoryPage, Failure> {
    let answer = client.ask(Request::History { definition, after });
    let answer = answer.map_err(|error| Failure::because(&error))?;
    let Answer::History(page) = answer else {
        return Err(unfit(&answer));
    };
    Ok(*page)
}

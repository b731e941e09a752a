//! Several process managers that are asked at the same time, so that one of them that is gone costs
//! little.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::Duration;

use model::{Mono, Span};
use shell::{Client, clock};

use super::Home;
use crate::failure::Failure;
use crate::screen;

/// Answers that are not taken yet: as many as there are process managers, and each has one thread.
const WAITING_MAX: usize = 64;

/// The answers of the process managers, in the order of arrival. When one has answered and the time
/// limit is over, those that have not answered count as failures.
pub(super) struct Answers<T> {
    sender: SyncSender<(Home, Result<T, Failure>)>,
    answers: Receiver<(Home, Result<T, Failure>)>,
    patience: Span,
    until: Mono,
    /// The managers that have not answered.
    silent: Vec<Home>,
    has_answer: bool,
}

impl<T: Send + 'static> Answers<T> {
    pub(super) fn to(patience: Span) -> Answers<T> {
        let (sender, answers) = sync_channel(WAITING_MAX);
        Answers {
            sender,
            answers,
            patience,
            until: clock::mono() + patience,
            silent: Vec::new(),
            has_answer: false,
        }
    }

    /// Asks one, in a thread of its own.
    pub(super) fn ask(
        &mut self,
        home: Home,
        question: impl FnOnce(&Home) -> Result<T, Failure> + Send + 'static,
    ) {
        self.silent.push(home.clone());
        let (sender, asked) = (self.sender.clone(), home.clone());
        let asking = Builder::new().name("asking".to_owned()).spawn(move || {
            let answer = question(&asked);
            // Whoever has what he wanted does not wait for the others.
            let _ = sender.send((asked, answer));
        });
        if let Err(error) = asking {
            let failure = Failure::new(format!("could not start a thread: {error}"));
            let _ = self.sender.send((home, Err(failure)));
        }
    }

    /// The next one that comes within this time.
    fn next_within(&mut self, patience: Duration) -> Option<(Home, Result<T, Failure>)> {
        let (home, answer) = match self.answers.recv_timeout(patience) {
            Ok(answered) => answered,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        self.silent.retain(|one| one.manager != home.manager);
        self.has_answer |= answer.is_ok();
        Some((home, answer))
    }
}

/// Longer than anybody asks.
const LONG: Duration = Duration::from_secs(3_600);

impl<T: Send + 'static> Iterator for Answers<T> {
    type Item = (Home, Result<T, Failure>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.silent.is_empty() {
            return None;
        }
        let patience = match self.has_answer {
            true => Duration::from_micros(self.until.since(clock::mono()).0),
            false => LONG,
        };
        let answered = self.next_within(patience);
        answered.or_else(|| {
            let home = self.silent.pop()?;
            let failure = home.silent(self.patience);
            Some((home, Err(failure)))
        })
    }
}

impl Answers<Client> {
    /// The first one that can be had within this time. Those that failed are told of, and so are
    /// those that are not waited for; where there is none, failures are kept.
    pub(super) fn first_within(
        &mut self,
        patience: Span,
        failures: &mut Vec<Failure>,
    ) -> Option<(Home, Client)> {
        let until = Mono(clock::mono().0.saturating_add(patience.0));
        while !self.silent.is_empty() {
            let left = Duration::from_micros(until.since(clock::mono()).0).min(LONG);
            match self.next_within(left)? {
                (home, Ok(client)) => {
                    let silent = self.silent.iter().map(|one| one.silent(self.patience));
                    for failure in failures.drain(..).chain(silent) {
                        screen::warn(&failure.to_string());
                    }
                    return Some((home, client));
                }
                (_, Err(failure)) => failures.push(failure),
            }
        }
        None
    }
}

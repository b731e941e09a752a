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
    sender: SyncSender<Heard<T>>,
    answers: Receiver<Heard<T>>,
    begun: Mono,
    until: Mono,
    /// The wait for connections after an answer, where that is shorter.
    lag: Option<Span>,
    /// The managers that have not answered.
    silent: Vec<Silent>,
    /// The time of the last answer that is no failure.
    answered: Option<Mono>,
}

/// News of a process manager.
enum Heard<T> {
    /// There is a connection to it.
    Reached(Home),
    /// Its answer.
    Answer(Home, Result<T, Failure>),
}

/// A process manager that has not answered.
struct Silent {
    home: Home,
    /// True once there is a connection to it.
    is_reached: bool,
}

impl<T: Send + 'static> Answers<T> {
    /// Those that have not answered are waited for during this time since now.
    pub(super) fn to(patience: Span) -> Answers<T> {
        let (sender, answers) = sync_channel(WAITING_MAX);
        let begun = clock::mono();
        Answers {
            sender,
            answers,
            begun,
            until: begun + patience,
            lag: None,
            silent: Vec::new(),
            answered: None,
        }
    }

    /// The same; but where those that can be reached have answered, the others are waited for during no more than
    /// `lag` from then on.
    pub(super) fn soon(patience: Span, lag: Span) -> Answers<T> {
        let lag = Some(lag);
        Answers {
            lag,
            ..Answers::to(patience)
        }
    }

    /// Asks one, in a thread of its own.
    pub(super) fn ask(
        &mut self,
        home: Home,
        question: impl FnOnce(&Home) -> Result<T, Failure> + Send + 'static,
    ) {
        self.spawn(home, move |home, _| question(home));
    }

    /// Connects to one and asks it, in a thread of its own.
    pub(super) fn reach_and_ask<C>(
        &mut self,
        home: Home,
        reach: impl FnOnce(&Home) -> Result<C, Failure> + Send + 'static,
        question: impl FnOnce(C) -> Result<T, Failure> + Send + 'static,
    ) {
        self.spawn(home, move |home, sender| {
            let reached = reach(home)?;
            let _ = sender.send(Heard::Reached(home.clone()));
            question(reached)
        });
    }

    fn spawn(
        &mut self,
        home: Home,
        question: impl FnOnce(&Home, &SyncSender<Heard<T>>) -> Result<T, Failure> + Send + 'static,
    ) {
        self.silent.push(Silent {
            home: home.clone(),
            is_reached: false,
        });
        let (sender, asked) = (self.sender.clone(), home.clone());
        let asking = Builder::new().name("asking".to_owned()).spawn(move || {
            let answer = question(&asked, &sender);
            // Whoever has what he wanted does not wait for the others.
            let _ = sender.send(Heard::Answer(asked, answer));
        });
        if let Err(error) = asking {
            let failure = Failure::new(format!("could not start a thread: {error}"));
            let _ = self.sender.send(Heard::Answer(home, Err(failure)));
        }
    }

    /// The next thing that is heard within this time.
    fn next_within(&mut self, patience: Duration) -> Option<Heard<T>> {
        let heard = match self.answers.recv_timeout(patience) {
            Ok(heard) => heard,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        match &heard {
            Heard::Reached(home) => {
                let manager = home.manager;
                let known = self.silent.iter_mut();
                let reached = known.filter(|one| one.home.manager == manager);
                reached.for_each(|one| one.is_reached = true);
            }
            Heard::Answer(home, answer) => {
                self.silent.retain(|one| one.home.manager != home.manager);
                if answer.is_ok() {
                    self.answered = Some(clock::mono());
                }
            }
        }
        Some(heard)
    }

    /// The time at which those that have not answered are given up; none while none has.
    fn given_up(&self) -> Option<Mono> {
        let answered = self.answered?;
        let is_any_reached = self.silent.iter().any(|one| one.is_reached);
        Some(match self.lag {
            Some(lag) if !is_any_reached => self.until.min(answered + lag),
            Some(_) | None => self.until,
        })
    }
}

/// Longer than anybody asks.
const LONG: Duration = Duration::from_secs(3_600);

impl<T: Send + 'static> Iterator for Answers<T> {
    type Item = (Home, Result<T, Failure>);

    fn next(&mut self) -> Option<Self::Item> {
        while !self.silent.is_empty() {
            let given_up = self.given_up();
            let patience = given_up.map_or(LONG, |until| {
                Duration::from_micros(until.since(clock::mono()).0)
            });
            match (self.next_within(patience), given_up) {
                (Some(Heard::Answer(home, answer)), _) => return Some((home, answer)),
                (Some(Heard::Reached(_)), _) => {}
                (None, until) => {
                    let Silent { home, .. } = self.silent.pop()?;
                    let until = until.unwrap_or_else(clock::mono);
                    let failure = home.silent(until.since(self.begun));
                    return Some((home, Err(failure)));
                }
            }
        }
        None
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
                Heard::Reached(_) => {}
                Heard::Answer(home, Ok(client)) => {
                    let patience = self.until.since(self.begun);
                    let silent = self.silent.iter().map(|one| one.home.silent(patience));
                    for failure in failures.drain(..).chain(silent) {
                        screen::warn(&failure.to_string());
                    }
                    return Some((home, client));
                }
                Heard::Answer(_, Err(failure)) => failures.push(failure),
            }
        }
        None
    }
}

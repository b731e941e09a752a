//! The daemon's part of the event loop: connections and requests.

use model::{AttemptId, Mono, Span};
use rustix::event::epoll::{self, EventData, EventFlags};
use wire::executor::{DaemonHello, ExecutorHello, Exit, PROTOCOL, ToExecutor, Written};

use super::{Executor, LINK, Parts, Phase};
use crate::clock;
use crate::link::Link;
use crate::outcomes;
use crate::store::Answer;
use crate::throttle::Tempo;

/// Time for which events are gathered before they are sent while more commands wait than there are
/// cores: no answer of the daemon could start anything earlier then. Each write costs a fifth of a
/// command here, and several times as much on the way: messages, and a flush of the process manager.
/// Even the shortest commands do not use up in this time what the daemon sends ahead.
const GATHER: Span = Span::from_millis(8);

/// The further time where so many events have come in that one: the next ones come as soon, and fewer
/// messages and flushes carry them. Where commands take longer nobody would gain, and what depends on
/// their ends would wait.
const GATHER_MORE: Span = Span::from_millis(10);
const GATHERED_MANY: usize = 6;

impl Executor {
    pub(super) fn accept(&mut self) {
        while let Ok((stream, _)) = self.parts.listener.accept() {
            let event = EventData::new_u64(LINK);
            if stream.set_nonblocking(true).is_err()
                || epoll::add(&self.epoll, &stream, event, EventFlags::IN).is_err()
            {
                continue;
            }
            let hello = ExecutorHello {
                protocol: PROTOCOL,
                pid: std::process::id(),
                instance: self.parts.instance,
                containment: Some(self.parts.containment.told()),
            };
            let mut link = Link::new(stream, hello);
            // The hello is sent before anything is read. A failure shows again at the next round.
            let _ = link.send(&self.parts.store);
            // A newer connection replaces an older one, whose daemon is dead or about to find out.
            self.close_link();
            self.link = Some(link);
            self.link_interest = EventFlags::IN;
            self.linger_until = None;
        }
    }

    pub(super) fn receive(&mut self, flags: EventFlags, now: Mono) {
        let Some(link) = &mut self.link else { return };
        if !flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR) {
            return;
        }
        if link.is_full() && !flags.intersects(EventFlags::HUP | EventFlags::ERR) {
            return;
        }
        let (messages, result) = link.receive();
        for message in messages {
            self.message(message, now);
        }
        if result.is_err() {
            self.unlink(now);
        }
    }

    fn unlink(&mut self, now: Mono) {
        if self.close_link() && self.phase == Phase::Serving {
            self.linger_until = Some(now + self.parts.linger);
        }
    }

    /// Closes the connection, if there is one, and removes its watch: children that have not
    /// executed their programs yet have copies of it.
    fn close_link(&mut self) -> bool {
        let link = self.link.take();
        if let Some(link) = &link {
            let _ = epoll::delete(&self.epoll, link.stream());
        }
        link.is_some()
    }

    /// Returns true if messages can wait for more.
    pub(super) fn gathers(&mut self, now: Mono) -> bool {
        let has_news = self.link.as_ref().is_some_and(Link::has_only_news);
        let waits = has_news && self.parts.store.has_queued() && self.phase == Phase::Serving;
        if waits {
            self.tell_first_at.get_or_insert(now + GATHER);
        }
        if waits && self.tell_at().is_some_and(|at| now < at) {
            return true;
        }
        self.tell_first_at = None;
        false
    }

    /// When the gathered messages are sent.
    pub(super) fn tell_at(&self) -> Option<Mono> {
        let n_gathered = self.link.as_ref().map_or(0, Link::n_notices);
        let at = self.tell_first_at?;
        Some(match n_gathered >= GATHERED_MANY {
            true => at + GATHER_MORE,
            false => at,
        })
    }

    pub(super) fn send(&mut self, now: Mono) {
        let Some(link) = &mut self.link else { return };
        if link.send(&self.parts.store).is_err() {
            return self.unlink(now);
        }
        let mut interest = EventFlags::empty();
        interest.set(EventFlags::IN, !link.is_full());
        interest.set(EventFlags::OUT, link.wants_to_write());
        if interest != self.link_interest {
            let event = EventData::new_u64(LINK);
            if epoll::modify(&self.epoll, link.stream(), event, interest).is_err() {
                return self.unlink(now);
            }
            self.link_interest = interest;
        }
    }

    fn message(&mut self, message: ToExecutor, now: Mono) {
        match message {
            ToExecutor::Hello(hello) => self.hello(&hello, now),
            ToExecutor::Start(starts) => {
                for start in starts {
                    let attempt = start.attempt;
                    let answer = match self.phase {
                        Phase::Serving if !self.leases.allow(&start) => {
                            self.parts.store.retract(attempt)
                        }
                        Phase::Serving => self.parts.store.queue(start),
                        Phase::Ending => Answer::Refused,
                    };
                    self.tell(answer, attempt);
                }
            }
            ToExecutor::Retract(attempts) => {
                for attempt in attempts {
                    let answer = self.parts.store.retract(attempt);
                    self.tell(answer, attempt);
                }
            }
            ToExecutor::Stop(attempts) => {
                for attempt in attempts {
                    self.stop(attempt, now);
                }
            }
            ToExecutor::Forget(attempts) => self.parts.forget(&attempts),
            ToExecutor::Tail(attempt) => {
                let written = self.written(attempt);
                if let Some(link) = &mut self.link {
                    link.tell_output(attempt, written);
                }
            }
            ToExecutor::Ping(number) => {
                if let Some(link) = &mut self.link {
                    link.tell_pong(number);
                }
            }
            ToExecutor::Shutdown => self.end(now, Span::ZERO),
            ToExecutor::Lease(lease) => {
                self.expire(now);
                self.leases.extend(lease);
            }
        }
    }

    fn hello(&mut self, hello: &DaemonHello, now: Mono) {
        if hello.protocol != PROTOCOL {
            // The daemon knows the reason from our hello, which has been sent or is tried once more
            // here.
            self.send(now);
            return self.unlink(now);
        }
        self.cores = hello.cores;
        self.parts.linger = hello.linger.unwrap_or(self.parts.linger);
        self.parts.kill_grace = hello.kill_grace.unwrap_or(self.parts.kill_grace);
        if let (Some(pace), Some(since)) = (&self.parts.pace, hello.pace_since) {
            let tempo = Tempo::new(pace.clone(), now, clock::boot().since(since));
            for (_, running) in &mut self.slots {
                if let Some(running) = running {
                    running.set_tempo(&tempo, now);
                }
            }
            self.tempo = Some(tempo);
        }
    }

    fn stop(&mut self, attempt: AttemptId, now: Mono) {
        let grace = self.parts.kill_grace;
        if let Some(running) = self.running(attempt) {
            running.stop(Exit::Stopped, now, grace);
        } else {
            let answer = self.parts.store.retract(attempt);
            self.tell(answer, attempt);
        }
    }

    fn written(&mut self, attempt: AttemptId) -> Option<Written> {
        if let Some(ended) = self.parts.store.ended(attempt) {
            return Some(Written {
                stdout: ended.stdout.clone(),
                stderr: ended.stderr.clone(),
            });
        }
        let slot = self.parts.store.slot(attempt)?;
        let running = self.slots.get_mut(slot)?.1.as_mut()?;
        running
            .stdout
            .read(&mut self.scratch, self.parts.log.directory());
        running
            .stderr
            .read(&mut self.scratch, self.parts.log.directory());
        Some(Written {
            stdout: running.stdout.captured(),
            stderr: running.stderr.captured(),
        })
    }

    pub(super) fn tell(&mut self, answer: Answer, attempt: AttemptId) {
        if let Some(link) = &mut self.link {
            link.tell(answer, attempt);
        }
    }
}

impl Parts {
    /// Drops outcomes; the file of an earlier executor is removed with its last one.
    fn forget(&mut self, attempts: &[AttemptId]) {
        for attempt in attempts {
            self.store.forget(*attempt);
            if self.restored.remove(attempt) && self.restored.is_empty() {
                // A remaining file would be offered once more, which does no harm.
                let _ = outcomes::remove(&self.state);
            }
        }
    }
}

//! The loop of a daemon: a thread that drives one [`Drive`].
//!
//! The loop takes waiting inputs, the urgent ones first, steps them for some milliseconds at most,
//! closes the batch, makes the events durable, and only
//! then carries out the effects. It flushes a small batch itself if no more inputs wait, so that a
//! single hop of a chain does not pay for a switch of threads. Otherwise a thread of its own
//! flushes the journal and returns it, and the loop steps the next batches meanwhile. Batches that nobody
//! waits for are flushed together, after some milliseconds or with the first one that is awaited.
//!
//! The loop has a thread of its own, and a sender may run it inline (see `inbox`).
//!
//! ```text
//!   Inbox --> step.. --> close --+--> [journal here]  commit ------------+--> carry out --> step..
//!                                +--> [journal away]  wait for its turn -+      (inputs at once)
//! ```

use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use journal::{CommitError, Journal};
use machine::{Drive, Lane, Lanes, Machine};
use model::{Mono, Now, Span};
use thiserror::Error;

use crate::clock;
use crate::failpoint::Failpoint;
use crate::inbox::{Inbox, InputReceiver, Pulse, Taken, Turns, Until, WaitCondition};
use crate::limits::{
    COMMIT_INLINE_BYTES_MAX, COMMIT_WAIT_MAX, COMMIT_WAITING_BATCHES_MAX, COMMIT_WAITING_BYTES_MAX,
    STEP_INPUTS_MAX, STEP_TIME_MAX,
};
use crate::store::{Committed, Flusher, Store, encode};

mod counts;

pub use counts::Stats;
use counts::{Counts, add, note};

/// The shortest time between two wake-ups, so that a deadline in the past does not keep the thread
/// busy.
const WAKE_PAUSE: Span = Span::from_millis(1);

/// Turns of a loop that a sender runs inline: the results of an input return within a turn or two,
/// and the sender has work of its own.
const LENT_TURNS: usize = 4;

/// Carries out a core's effects, in the thread that runs the loop. It never waits.
pub trait EffectHandler<M: Machine>: Send {
    /// Carries out effects. Immediate results are pushed to `inputs`.
    fn carry_out(&mut self, effects: Vec<M::Effect>, inputs: &mut Vec<M::Input>);

    /// When [`EffectHandler::wake`] must be called at the latest.
    fn next_wakeup(&self) -> Option<Mono> {
        None
    }

    /// Does what is due by its own timers.
    fn wake(&mut self, now: Mono, inputs: &mut Vec<M::Input>) {
        let _ = (now, inputs);
    }
}

/// A running manager.
pub struct Runner<M: Machine> {
    inbox: Inbox<M::Input>,
    thread: JoinHandle<Result<(), RunError>>,
    counts: Arc<Counts>,
}

/// Why a manager ended other than by [`Runner::stop`].
#[derive(Clone, Debug, Error)]
pub enum RunError {
    /// Its events could not be made durable.
    #[error("could not go on without its journal")]
    Journal(#[source] Arc<CommitError>),
    /// Its core or its effect handler panicked.
    #[error("could not go on after an error in the program: {0}")]
    Panicked(String),
}

impl<M> Runner<M>
where
    M: Machine + Send + 'static,
    M::Stream: Send,
    M::State: Send,
    M::Event: Send,
    M::Input: Send,
    M::Effect: Send,
{
    /// Replays the journal, makes durable what the machine records when it resumes, and starts the
    /// loop. `failed` is called from the loop's thread if it ends by an error.
    pub fn start(
        name: &str,
        machine: M,
        store: Store<M>,
        (inbox, receiver): (Inbox<M::Input>, InputReceiver<M::Input>),
        handler: impl EffectHandler<M> + 'static,
        failed: impl FnOnce(&RunError) + Send + 'static,
    ) -> Result<Runner<M>, StartError> {
        let Store {
            mut journal,
            histories,
            ..
        } = store;
        let mut drive = Drive::start(machine, histories, clock::now());
        let first = drive.close();
        journal.commit(&[encode(&first)])?;
        let counts = Arc::new(Counts::default());
        let flusher = Flusher::start(name, inbox.clone())?;
        let looping = Loop {
            drive,
            handler,
            receiver,
            flusher,
            journal: Some(journal),
            waiting: Vec::new(),
            waiting_bytes: 0,
            held_until: None,
            n_flushed: first.number,
            inputs: Lanes::default(),
            immediate: Vec::new(),
            woken: Mono(0),
            counts: Arc::clone(&counts),
            failpoint: Failpoint::of(name),
        };
        let engine = Arc::new(Engine {
            inbox: inbox.clone(),
            seat: Mutex::new(Seat {
                looping: Some(looping),
                trouble: None,
            }),
        });
        let turns: Arc<dyn Turns> = engine.clone();
        inbox.run_inline_with(Arc::downgrade(&turns));
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                let result = engine.drive();
                if let Err(error) = &result {
                    tracing::error!(%error, "a manager ended");
                    failed(error);
                }
                result
            })?;
        Ok(Runner {
            inbox,
            thread,
            counts,
        })
    }

    /// The sender of its inputs.
    pub fn inbox(&self) -> &Inbox<M::Input> {
        &self.inbox
    }

    /// Statistics of its loop.
    pub fn stats(&self) -> Stats {
        self.counts.stats(self.inbox.len())
    }

    /// The pulse of its loop now.
    pub fn pulse(&self) -> Pulse {
        self.inbox.pulse()
    }

    /// Takes no more inputs, makes the stepped batches durable, carries out their effects, and
    /// closes the journal.
    pub fn stop(self) -> Result<(), RunError> {
        self.inbox.close();
        match self.thread.join() {
            Ok(result) => result,
            Err(payload) => Err(RunError::Panicked(said(&*payload))),
        }
    }
}

/// Why a manager did not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// Its first events could not be made durable.
    #[error("could not write to the journal at the start")]
    Journal(#[from] CommitError),
    /// There is no thread for it.
    #[error("could not start a thread")]
    Thread(#[from] io::Error),
}

fn said(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
        .to_owned()
}

/// A loop that any thread can run.
struct Engine<M: Machine, O> {
    inbox: Inbox<M::Input>,
    seat: Mutex<Seat<M, O>>,
}

struct Seat<M: Machine, O> {
    /// None once the loop has ended.
    looping: Option<Loop<M, O>>,
    /// The error that ended it in a sender's thread.
    trouble: Option<RunError>,
}

/// The state in which a thread left the loop.
enum Left {
    /// Idle: the next thread may take it.
    Idle,
    /// The loop must end.
    End,
}

impl<M: Machine, O: EffectHandler<M>> Engine<M, O> {
    /// Runs the loop until it ends, in its own thread.
    fn drive(&self) -> Result<(), RunError> {
        let mut result = self.turn(None);
        while let Ok(Left::Idle) = result {
            self.inbox.enter();
            result = self.turn(None);
        }
        let mut seat = self.seat();
        let looping = seat.looping.take();
        let trouble = seat.trouble.take();
        drop(seat);
        let ended = match (result, trouble) {
            (Err(error), _) | (Ok(_), Some(error)) => Err(error),
            (Ok(_), None) => looping.map_or(Ok(()), |looping| guarded(|| looping.end())),
        };
        self.inbox.close();
        ended
    }

    /// Runs the loop until it has nothing to do, or for at most so many turns.
    fn turn(&self, most: Option<usize>) -> Result<Left, RunError> {
        let mut seat = self.seat();
        match &mut *seat {
            Seat {
                looping: Some(looping),
                trouble: None,
            } => guarded(|| looping.turn(most)),
            Seat { .. } => Ok(Left::End),
        }
    }

    fn seat(&self) -> MutexGuard<'_, Seat<M, O>> {
        // A panic is caught inside, and ends the loop.
        self.seat.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M, O> Turns for Engine<M, O>
where
    M: Machine + Send,
    M::Stream: Send,
    M::State: Send,
    M::Event: Send,
    M::Input: Send,
    M::Effect: Send,
    O: EffectHandler<M>,
{
    fn run(&self) {
        match self.turn(Some(LENT_TURNS)) {
            Ok(Left::Idle) => {}
            // Its own thread handles the end.
            Ok(Left::End) => self.inbox.give_up(),
            Err(error) => {
                self.seat().trouble = Some(error);
                self.inbox.close();
                self.inbox.give_up();
            }
        }
    }
}

/// Converts a panic in a core or its effect handler into an error.
fn guarded<T>(what: impl FnOnce() -> Result<T, RunError>) -> Result<T, RunError> {
    catch_unwind(AssertUnwindSafe(what))
        .unwrap_or_else(|payload| Err(RunError::Panicked(said(&*payload))))
}

struct Loop<M: Machine, O> {
    drive: Drive<M>,
    handler: O,
    receiver: InputReceiver<M::Input>,
    flusher: Flusher,
    /// None while the flusher has it.
    journal: Option<Journal>,
    /// Batches closed while the flusher has the journal, in order.
    waiting: Vec<journal::Batch>,
    waiting_bytes: usize,
    /// The moment at which the waiting batches are flushed, although nobody waits for one of them.
    held_until: Option<Mono>,
    /// All batches up to this one are durable.
    n_flushed: u64,
    /// Inputs of the next steps.
    inputs: Lanes<M::Input>,
    /// The results of effects that are there at once.
    immediate: Vec<M::Input>,
    /// The last time at which timers were checked.
    woken: Mono,
    counts: Arc<Counts>,
    failpoint: Failpoint,
}

impl<M: Machine, O: EffectHandler<M>> Loop<M, O> {
    /// Turns until there is nothing to do, or at most so often. The loop is left then, unless it
    /// ends.
    fn turn(&mut self, most: Option<usize>) -> Result<Left, RunError> {
        self.carry_out();
        for _ in 0..most.unwrap_or(usize::MAX) {
            let mut committed = None;
            let condition = self.wait_condition();
            let taken = self
                .receiver
                .take(condition, &mut self.inputs, &mut committed);
            if let Some(committed) = committed {
                self.take_back(committed)?;
                self.carry_out();
            }
            match taken {
                Taken::Nothing => return Ok(Left::Idle),
                Taken::End => return Ok(Left::End),
                Taken::Work => {}
            }
            self.step();
            self.close()?;
            self.carry_out();
        }
        self.receiver.leave(self.wait_condition());
        Ok(Left::Idle)
    }

    /// The inputs to take from the inbox, and the time to wait for them.
    fn wait_condition(&self) -> WaitCondition {
        if self.waiting_bytes > COMMIT_WAITING_BYTES_MAX
            || self.waiting.len() > COMMIT_WAITING_BATCHES_MAX
        {
            return WaitCondition {
                n_inputs_max: 0,
                until: Until::Something,
            };
        }
        let due = [self.due(), self.flush_due()].into_iter().flatten().min();
        let until = match due {
            _ if !self.inputs.is_empty() => Until::Awake,
            Some(at) => Until::At(at),
            None => Until::Something,
        };
        WaitCondition {
            n_inputs_max: STEP_INPUTS_MAX.saturating_sub(self.inputs.len()),
            until,
        }
    }

    fn due(&self) -> Option<Mono> {
        let due = [self.drive.next_wakeup(), self.handler.next_wakeup()];
        let first = due.into_iter().flatten().min()?;
        Some(first.max(self.woken + WAKE_PAUSE))
    }

    /// The moment at which the waiting batches must be flushed; none while the journal is away, which is
    /// told when it returns.
    fn flush_due(&self) -> Option<Mono> {
        self.held_until.filter(|_| self.journal.is_some())
    }

    fn step(&mut self) {
        let now: Now = clock::now();
        let mut n_urgent = 0;
        // A machine that has asked in time is not given up because this loop was late.
        for _ in 0..STEP_INPUTS_MAX {
            let Some(input) = self.inputs.pop_from(Lane::Urgent) else {
                break;
            };
            self.drive.step(now, input);
            n_urgent += 1;
        }
        if self.due().is_some_and(|due| due <= now.mono) {
            self.woken = now.mono;
            if self
                .handler
                .next_wakeup()
                .is_some_and(|due| due <= now.mono)
            {
                self.handler.wake(now.mono, &mut self.immediate);
                self.take_immediate();
            }
            if self.drive.next_wakeup().is_some_and(|due| due <= now.mono) {
                self.drive.wake(now);
            }
        }
        let mut n_inputs = 0;
        while let Some((_, input)) = self.inputs.pop() {
            self.drive.step(now, input);
            n_inputs += 1;
            if clock::mono().since(now.mono) >= STEP_TIME_MAX {
                break;
            }
        }
        n_inputs += n_urgent;
        add(&self.counts.inputs, n_inputs);
        if n_inputs > 0 {
            note(&self.counts.step_inputs, n_inputs as u64);
        }
        note(&self.counts.step_times, clock::mono().since(now.mono).0);
    }

    fn take_immediate(&mut self) {
        for input in self.immediate.drain(..) {
            self.inputs.push(Lane::Peers, input);
        }
    }

    /// Closes the batch and makes it durable.
    fn close(&mut self) -> Result<(), RunError> {
        if self.drive.is_open() {
            let batch = self.drive.close();
            add(&self.counts.batches, 1);
            let is_first = self.waiting.is_empty();
            if batch.is_empty() && is_first && self.journal.is_some() {
                self.n_flushed = batch.number;
                return Ok(());
            }
            if batch.is_awaited {
                self.held_until = None;
            } else if is_first {
                self.held_until = Some(clock::mono() + COMMIT_WAIT_MAX);
            }
            let batch = match batch.is_empty() {
                false => encode(&batch),
                // Its effects wait for the batches before it, so its number goes with theirs.
                true => journal::Batch {
                    number: batch.number,
                    ..Default::default()
                },
            };
            self.waiting_bytes += batch.payload_bytes();
            self.waiting.push(batch);
        }
        if self.waits_for_more() {
            return Ok(());
        }
        self.flush()
    }

    /// Returns true if nobody waits for the batches that wait, and there is time and room for others.
    fn waits_for_more(&self) -> bool {
        let has_room = self.waiting_bytes <= COMMIT_INLINE_BYTES_MAX
            && self.waiting.len() < COMMIT_WAITING_BATCHES_MAX;
        has_room && self.held_until.is_some_and(|at| clock::mono() < at)
    }

    /// Writes the waiting batches, if the journal is here.
    fn flush(&mut self) -> Result<(), RunError> {
        let Some(last) = self.waiting.last() else {
            return Ok(());
        };
        let number = last.number;
        let Some(mut journal) = self.journal.take() else {
            return Ok(());
        };
        let is_small = self.waiting_bytes <= COMMIT_INLINE_BYTES_MAX;
        note(&self.counts.flush_bytes, self.waiting_bytes as u64);
        self.waiting_bytes = 0;
        self.held_until = None;
        if is_small && self.inputs.is_empty() && self.receiver.is_empty() {
            let begun = clock::mono();
            let result = journal.commit(&self.waiting);
            self.waiting.clear();
            add(&self.counts.flushes_inline, 1);
            return self.take_back(Committed {
                journal,
                number,
                took: clock::mono().since(begun),
                result,
            });
        }
        add(&self.counts.flushes_beside, 1);
        self.flusher
            .give(journal, std::mem::take(&mut self.waiting));
        Ok(())
    }

    fn take_back(&mut self, committed: Committed) -> Result<(), RunError> {
        let Committed {
            journal,
            number,
            took,
            result,
        } = committed;
        note(&self.counts.flush_times, took.0);
        result.map_err(|error| RunError::Journal(Arc::new(error)))?;
        self.journal = Some(journal);
        self.n_flushed = number;
        self.failpoint.reached();
        Ok(())
    }

    fn carry_out(&mut self) {
        let effects = self.drive.flushed(self.n_flushed);
        if !effects.is_empty() {
            add(&self.counts.effects, effects.len());
            self.handler.carry_out(effects, &mut self.immediate);
            self.take_immediate();
        }
    }

    /// Makes the stepped batches durable, carries out their effects, and closes the journal.
    fn end(mut self) -> Result<(), RunError> {
        loop {
            if self.journal.is_none() {
                let committed = self.receiver.wait_for_journal();
                self.take_back(committed)?;
            }
            if self.waiting.is_empty() {
                break;
            }
            self.flush()?;
        }
        self.carry_out();
        match self.journal.take() {
            Some(journal) => journal
                .close()
                .map_err(|error| RunError::Journal(Arc::new(error))),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;

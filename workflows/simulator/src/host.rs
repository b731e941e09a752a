//! A computer on which one manager runs: its driver, its inbox, its disk, and the moments at which
//! it may die.

use std::collections::VecDeque;
use std::fmt::Debug;

use machine::{Drive, Lane, Lanes, Machine};
use model::{Mono, Now, Span, Wall};

use crate::disk::{Disk, Events, Written};
use crate::observe::LongTail;
use crate::random::{Random, Rate};
use crate::setup::Faults;

/// Inputs that a manager steps before it closes a batch, at most.
const STEPS_MAX: u64 = 256;
/// Time after which a manager takes no further input before it closes a batch.
const STEP_TIME_MAX: Span = Span::from_millis(20);
/// The part of the time of others that an urgent input's step takes.
const URGENT_PART: u64 = 64;
/// Wake-ups at the same moment before it is taken for a loop without end.
const WAKES_MAX: u32 = 10_000;
/// The calendar's time at which a run begins.
const WALL_ORIGIN: Wall = Wall(1_700_000_000_000_000);

/// The calendar's time at a moment of the run.
pub(crate) fn wall(at: Mono) -> Wall {
    WALL_ORIGIN + Span(at.0)
}

/// Draws the crashes of managers while there are faults.
#[derive(Debug)]
pub(crate) struct Crashes {
    pub(crate) rate: Rate,
    pub(crate) n_left: u64,
}

impl Crashes {
    fn strikes(&mut self, random: &mut Random) -> bool {
        if self.n_left == 0 || !random.happens(self.rate) {
            return false;
        }
        self.n_left -= 1;
        true
    }

    fn fails_flush(&mut self, random: &mut Random, faults: &Faults) -> bool {
        if self.n_left == 0 || !random.happens(faults.flush_fails) {
            return false;
        }
        self.n_left -= 1;
        true
    }
}

/// A manager's computer.
pub(crate) struct Host<M: Machine> {
    /// Counts the lives of the program; what was entered for an earlier one is void.
    pub(crate) epoch: u64,
    drive: Option<Drive<M>>,
    /// The clock of this life has an origin of its own.
    origin: u64,
    inbox: Lanes<M::Input>,
    disk: Disk<M>,
    /// Batches on their way to the disk, and when each will be there.
    writing: VecDeque<(Mono, Written<M>)>,
    /// Until when its disk is full.
    full_until: Mono,
    /// Until when the program is stopped.
    pub(crate) frozen_until: Mono,
    /// Until when its loop is at a step.
    pub(crate) busy_until: Mono,
    /// Where steps take time: their lengths are drawn, up to a longest one.
    pace: Option<(Random, Span)>,
    /// Drift of its clock against the simulation, in millionths.
    drift: i64,
    /// Lead of its calendar, in microseconds.
    wall_ahead: i64,
    /// When a turn is entered for.
    pub(crate) turn_at: Option<Mono>,
    n_wakes: (Mono, u32),
}

/// A moment so much later.
fn later(now: Now, span: Span) -> Now {
    Now {
        mono: now.mono + span,
        wall: now.wall + span,
    }
}

/// The time that the step of an input of a lane takes.
fn step_time(pace: &mut Option<(Random, Span)>, lane: Lane) -> Span {
    let Some((random, longest)) = pace else {
        return Span::ZERO;
    };
    let drawn = random.below(longest.0);
    match lane {
        Lane::Urgent => Span(drawn / URGENT_PART),
        Lane::Peers | Lane::Clients => Span(drawn),
    }
}

/// The result of a turn.
pub(crate) enum Turn {
    /// There was nothing to do.
    Idle,
    /// The program is stopped until then.
    Frozen(Mono),
    /// A batch was closed and is on its way to the disk.
    Closed { number: u64, durable_at: Mono },
    /// The program died.
    Died,
}

/// The result of a flush.
pub(crate) struct Flushed<M: Machine> {
    pub(crate) events: Events<M>,
    /// The effects to carry out; none where the program died before it knew of the flush.
    pub(crate) effects: Option<Vec<M::Effect>>,
}

impl<M: Machine> Host<M>
where
    M::State: Debug,
    M::Event: Debug,
{
    pub(crate) fn new() -> Host<M> {
        Host {
            epoch: 0,
            drive: None,
            origin: 0,
            inbox: Lanes::default(),
            disk: Disk::new(),
            writing: VecDeque::new(),
            full_until: Mono(0),
            frozen_until: Mono(0),
            busy_until: Mono(0),
            pace: None,
            drift: 0,
            wall_ahead: 0,
            turn_at: None,
            n_wakes: (Mono(0), 0),
        }
    }

    pub(crate) fn is_up(&self) -> bool {
        self.drive.is_some()
    }

    /// The snapshots that its driver has taken.
    pub(crate) fn snapshots(&self) -> crate::Snapshots {
        self.disk.snapshots()
    }

    /// The histories that a start would read.
    pub(crate) fn histories(&self) -> Result<Vec<machine::History<M>>, String> {
        self.disk.histories()
    }

    fn now(&self, at: Mono) -> Now {
        Now {
            mono: Mono(at.0.saturating_add_signed(self.gained(at.0)) + self.origin),
            wall: Wall(wall(at).0.saturating_add_signed(self.wall_ahead)),
        }
    }

    /// The gain of its clock in so many microseconds.
    fn gained(&self, micros: u64) -> i64 {
        (i128::from(micros) * i128::from(self.drift) / 1_000_000) as i64
    }

    /// The first moment of the simulation at which its clock shows this.
    pub(crate) fn moment(&self, mono: Mono) -> Mono {
        let shown = mono.0.saturating_sub(self.origin);
        let scaled = i128::from(shown) * 1_000_000 / (1_000_000 + i128::from(self.drift));
        let mut at = Mono(scaled as u64);
        while self.now(at).mono < mono {
            at.0 += 1;
        }
        at
    }

    /// Its clock goes so many millionths faster.
    pub(crate) fn set_drift(&mut self, millionths: i64) {
        self.drift = millionths;
    }

    /// Its calendar is set, so many microseconds ahead.
    pub(crate) fn set_calendar(&mut self, ahead: i64) {
        self.wall_ahead = ahead;
    }

    /// Starts the program: replays, compares, resumes.
    pub(crate) fn start(
        &mut self,
        fresh: impl Fn() -> M,
        at: Mono,
        random: &mut Random,
        looks_closely: bool,
    ) -> Result<(), String> {
        self.epoch += 1;
        self.origin = random.below(1 << 40);
        if looks_closely {
            self.disk
                .compare(&Drive::replay(fresh(), self.disk.histories()?))
                .map_err(|difference| format!("replay: {difference}"))?;
        }
        let now = self.now(at);
        self.drive = Some(Drive::start(fresh(), self.disk.histories()?, now));
        Ok(())
    }

    /// Its steps take up to so long from here on; no time where there is no pace.
    pub(crate) fn set_pace(&mut self, pace: Option<(Random, Span)>) {
        self.pace = pace;
    }

    /// Something for the manager; dropped while it is down.
    pub(crate) fn put(&mut self, input: M::Input) {
        if self.drive.is_some() {
            self.inbox.push(M::lane(&input), input);
        }
    }

    /// When the manager wants to be woken, by the simulation's clock.
    pub(crate) fn wakeup(&self) -> Option<Mono> {
        let wakeup = self.drive.as_ref()?.next_wakeup()?;
        Some(self.moment(wakeup))
    }

    /// True if inputs or what a start has wanted wait for a turn.
    pub(crate) fn has_work(&self) -> bool {
        !self.inbox.is_empty() || self.drive.as_ref().is_some_and(Drive::is_open)
    }

    /// Steps what is in the inbox, wakes the manager where it wants that, closes the batch.
    pub(crate) fn turn(
        &mut self,
        at: Mono,
        random: &mut Random,
        crashes: &mut Crashes,
        faults: &Faults,
    ) -> Result<Turn, String> {
        let begun = self.now(at);
        let Some(drive) = &mut self.drive else {
            return Ok(Turn::Idle);
        };
        let mut took = Span::ZERO;
        for _ in 0..random.between(1, STEPS_MAX) {
            let Some((lane, input)) = self.inbox.pop() else {
                break;
            };
            if crashes.strikes(random) {
                return Ok(Turn::Died);
            }
            drive.step(later(begun, took), input);
            took = took + step_time(&mut self.pace, lane);
            if took >= STEP_TIME_MAX {
                break;
            }
        }
        let (at, now) = (at + took, later(begun, took));
        self.busy_until = at;
        if drive.next_wakeup().is_some_and(|wakeup| wakeup <= now.mono) {
            self.n_wakes = if self.n_wakes.0 == at {
                (at, self.n_wakes.1 + 1)
            } else {
                (at, 1)
            };
            if self.n_wakes.1 > WAKES_MAX {
                return Err(
                    "the manager wants to be woken at this moment again and again".to_owned(),
                );
            }
            drive.wake(now);
        }
        if !drive.is_open() {
            return Ok(Turn::Idle);
        }
        // Between record and flush: nothing of this batch ever was.
        if crashes.strikes(random) {
            return Ok(Turn::Died);
        }
        let written = Written::new(&drive.close());
        let before = self
            .writing
            .back()
            .map_or(at, |&(durable_at, _)| durable_at.max(at));
        let takes = if written.is_empty() {
            Span::ZERO
        } else {
            random.span(faults.flush)
        };
        let (number, durable_at) = (written.number, before + takes);
        self.writing.push_back((durable_at, written));
        Ok(Turn::Closed { number, durable_at })
    }

    /// Its disk is full until then.
    pub(crate) fn fill_disk(&mut self, until: Mono) {
        self.full_until = until;
    }

    pub(crate) fn has_full_disk(&self, at: Mono) -> bool {
        at < self.full_until
    }

    /// A batch has arrived on the disk, or could not be written: then the program ends.
    pub(crate) fn flushed(
        &mut self,
        at: Mono,
        number: u64,
        random: &mut Random,
        crashes: &mut Crashes,
        faults: &Faults,
        looks_closely: bool,
    ) -> Result<Flushed<M>, String> {
        let writes =
            |(_, written): &(Mono, Written<M>)| written.number <= number && !written.is_empty();
        if self.writing.iter().any(writes) {
            let is_full = self.has_full_disk(at);
            if is_full || crashes.fails_flush(random, faults) {
                return self.failed(is_full, random, faults);
            }
        }
        let mut events = Vec::new();
        while let Some((_, written)) = self.writing.front()
            && written.number <= number
            && let Some((_, written)) = self.writing.pop_front()
        {
            events.append(&mut self.disk.take(written)?);
        }
        if random.happens(faults.compaction) {
            self.disk.compact();
        }
        // Between flush and effects.
        if !events.is_empty() && crashes.strikes(random) {
            return Ok(Flushed {
                events,
                effects: None,
            });
        }
        let Some(drive) = &mut self.drive else {
            return Ok(Flushed {
                events,
                effects: None,
            });
        };
        let effects = drive.flushed(number);
        if looks_closely && self.writing.is_empty() && !drive.is_open() && random.below(64) == 0 {
            self.disk.compare(drive)?;
        }
        Ok(Flushed {
            events,
            effects: Some(effects),
        })
    }

    /// A flush has failed. Nobody knows whether its batch is on the disk; what is behind it is not.
    fn failed(
        &mut self,
        is_full: bool,
        random: &mut Random,
        faults: &Faults,
    ) -> Result<Flushed<M>, String> {
        let first = self.writing.pop_front();
        self.writing.clear();
        let events = match first {
            Some((_, written)) if !is_full && random.happens(faults.kept) => {
                self.disk.take(written)?
            }
            Some(_) | None => Vec::new(),
        };
        Ok(Flushed {
            events,
            effects: None,
        })
    }

    /// The number of these effects that are carried out before the manager dies, or all.
    pub(crate) fn survives(
        &self,
        n_effects: usize,
        random: &mut Random,
        crashes: &mut Crashes,
    ) -> Option<usize> {
        (n_effects > 0 && crashes.strikes(random)).then(|| random.index(n_effects + 1))
    }

    /// The program dies. What was on its way to the disk may have arrived, a batch wholly or not
    /// at all and none before an earlier one: its events.
    pub(crate) fn die(
        &mut self,
        random: &mut Random,
        faults: &Faults,
    ) -> Result<Events<M>, String> {
        self.drive = None;
        self.inbox.clear();
        self.turn_at = None;
        self.frozen_until = Mono(0);
        self.busy_until = Mono(0);
        let mut events = Vec::new();
        for (_, written) in std::mem::take(&mut self.writing) {
            if !random.happens(faults.kept) {
                break;
            }
            events.append(&mut self.disk.take(written)?);
        }
        Ok(events)
    }

    /// The manager, while it runs.
    pub(crate) fn machine(&self) -> Option<&M> {
        self.drive.as_ref().map(Drive::machine)
    }

    /// The durable state of a stream, while it runs.
    pub(crate) fn state(&self, stream: M::Stream) -> Option<&M::State> {
        self.drive.as_ref()?.states().get(stream)
    }

    /// A stream on its disk with too long a tail.
    pub(crate) fn long_tail(&self) -> Option<LongTail> {
        self.disk.long_tail()
    }

    /// Compares what is in memory with what is on disk, where nothing is on its way.
    pub(crate) fn compare(&self) -> Result<(), String> {
        match &self.drive {
            Some(drive) if self.writing.is_empty() && !drive.is_open() => self.disk.compare(drive),
            Some(_) | None => Ok(()),
        }
    }
}

//! The record of one activity of a definition, at one size of its inputs.

use minicbor::{Decode, Encode};
use model::{Bytes, Span, Wall, Work};

use crate::level::Level;
use crate::sample::Sample;

/// The longest work that is believed, in reference seconds: a century.
const WORK_MAX: f32 = 3.2e9;

/// The shortest: the unit of [`Work`].
const WORK_MIN: f32 = 1e-6;

/// Weight of the newest CPU share.
const CPU_GAIN: f32 = 0.2;

/// One attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observed {
    /// The run that it belongs to: values of one run count together.
    pub run: u32,
    /// When it ended.
    pub at: Wall,
    /// Its run time times the power of its machine.
    pub work: Work,
    /// True if it was killed before its end: it would have taken at least so much.
    pub is_killed: bool,
    /// The CPU time that it used.
    pub cpu: Span,
    /// Its run time.
    pub wall: Span,
    /// The most memory that it used; zero where nobody knows.
    pub peak_memory: Bytes,
}

/// A record: sampled works and memory, their level, their numbers.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Template {
    #[n(0)]
    n_completed: u32,
    #[n(1)]
    n_killed: u32,
    #[n(2)]
    level: Level,
    #[n(3)]
    works: Sample,
    #[n(4)]
    memory: Sample,
    #[n(5)]
    peak_memory: Bytes,
    /// CPU time by run time.
    #[n(6)]
    cpu: f32,
    #[n(7)]
    used: Wall,
}

/// The work that is expected of the next attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The expectation, by which plans are made.
    pub work: Work,
    /// The median.
    pub p50: Work,
    /// Nine in ten take at most this.
    pub p90: Work,
}

impl Observed {
    /// An attempt of a run that ended well, on a machine of power 1, of which nothing else was measured.
    pub fn completed(run: u32, at: Wall, work: Work) -> Observed {
        Observed {
            run,
            at,
            work,
            is_killed: false,
            cpu: Span::ZERO,
            wall: Span(work.0),
            peak_memory: Bytes::ZERO,
        }
    }
}

impl Template {
    /// Takes an attempt. One without run time says nothing.
    pub fn observe(&mut self, seen: &Observed) {
        self.used = self.used.max(seen.at);
        let work = seen.work.reference_seconds() as f32;
        if work < WORK_MIN {
            return;
        }
        let work = work.min(WORK_MAX);
        match seen.is_killed {
            true => self.n_killed = self.n_killed.saturating_add(1),
            false => self.n_completed = self.n_completed.saturating_add(1),
        }
        self.take_level(seen.run, work, seen.is_killed);
        let n_all = self.n_completed.saturating_add(self.n_killed);
        let n_in_run = self.level.n_present();
        self.works.take(work, seen.is_killed, n_in_run, n_all);
        if seen.peak_memory > Bytes::ZERO {
            let bytes = seen.peak_memory.0 as f32;
            self.memory.take(bytes, seen.is_killed, n_in_run, n_all);
            self.peak_memory = self.peak_memory.max(seen.peak_memory);
        }
        if seen.wall > Span::ZERO && !seen.is_killed {
            let share = (seen.cpu.seconds() / seen.wall.seconds()).min(1e6) as f32;
            let gain = CPU_GAIN.max(1.0 / self.n_completed as f32);
            self.cpu += gain * (share - self.cpu);
        }
    }

    /// The forecast for the next attempt; none where only attempts without run time were seen.
    pub fn forecast(&self) -> Option<Forecast> {
        let level = self.level.forecast()?;
        let seen = self.works.distribution()?;
        // The sample gives the shape, the level the place.
        let scale = level / seen.mean().max(WORK_MIN);
        let work = |value: f32| {
            let seconds = f64::from(value.clamp(WORK_MIN, WORK_MAX));
            Work((seconds * 1e6).round().max(1.0) as u64)
        };
        let p50 = work(seen.quantile(0.5) * scale);
        Some(Forecast {
            work: work(level),
            p50,
            p90: work(seen.quantile(0.9) * scale).max(p50),
        })
    }

    /// Attempts that ended well.
    pub fn n_completed(&self) -> u32 {
        self.n_completed
    }

    /// Attempts that were killed.
    pub fn n_killed(&self) -> u32 {
        self.n_killed
    }

    /// When it was seen last.
    pub fn used(&self) -> Wall {
        self.used
    }

    /// The run that it was seen in last.
    pub fn run(&self) -> u32 {
        self.level.run()
    }

    /// Values of that run.
    pub fn n_in_run(&self) -> u32 {
        self.level.n_present()
    }

    /// The share of a core's time that it uses while it runs; more than 1 where it uses several.
    pub fn cpu(&self) -> f64 {
        f64::from(self.cpu)
    }

    /// The most memory that any attempt used.
    pub fn peak_memory(&self) -> Bytes {
        self.peak_memory
    }

    /// The memory that 19 attempts in 20 stay below; none where none was measured.
    pub fn memory_p95(&self) -> Option<Bytes> {
        let seen = self.memory.distribution()?;
        let bytes = Bytes(seen.quantile(0.95) as u64);
        Some(bytes.min(self.peak_memory))
    }

    /// The works sampled, in reference seconds: less than zero where the attempt was killed after so many.
    pub fn sampled(&self) -> &[f32] {
        self.works.stored()
    }

    /// The same with works in another unit: `factor` of the former ones. It is itself where that is no
    /// number above zero.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Template {
        let mut scaled = self.clone();
        let factor = factor as f32;
        if factor.is_finite() && factor > 0.0 {
            scaled.level = self.level.scaled(factor);
            scaled.works = self.works.scaled(factor);
        }
        match scaled.is_sound() {
            true => scaled,
            false => self.clone(),
        }
    }

    /// The records of two managers of the same activity, as one record for people: its forecast is the mean of
    /// theirs by the attempts of each, its sample has of each as many values as it has attempts among all.
    #[must_use]
    pub fn joined(&self, other: &Template) -> Template {
        let n_all = |one: &Template| f64::from(one.n_completed) + f64::from(one.n_killed);
        let share = (n_all(self) / (n_all(self) + n_all(other)).max(1.0)) as f32;
        let newest = if self.used < other.used { other } else { self };
        Template {
            n_completed: self.n_completed.saturating_add(other.n_completed),
            n_killed: self.n_killed.saturating_add(other.n_killed),
            level: newest.level.between(&self.level, &other.level, share),
            works: self.works.joined(&other.works, share),
            memory: self.memory.joined(&other.memory, share),
            peak_memory: self.peak_memory.max(other.peak_memory),
            cpu: share * self.cpu + (1.0 - share) * other.cpu,
            used: newest.used,
        }
    }

    /// Decodes a record; none where it is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Template> {
        let template: Template = minicbor::decode(bytes).ok()?;
        template.is_sound().then_some(template)
    }

    /// Its encoded form, some 100 bytes.
    pub fn encode(&self) -> Vec<u8> {
        minicbor::to_vec(self).expect("a vector takes all bytes")
    }

    fn is_sound(&self) -> bool {
        let is_work = |value: &f32| (WORK_MIN / 2.0..=WORK_MAX * 1e3).contains(&value.abs());
        self.level.is_sound()
            && self.works.stored().iter().all(is_work)
            && self.cpu.is_finite()
            && self.cpu >= 0.0
    }

    /// A killed attempt would have taken at least `work`: as much longer as works usually differ, as in
    /// `forecast::Xavantes`. Where less than the forecast is known, it says nothing.
    fn take_level(&mut self, run: u32, work: f32, is_killed: bool) {
        match (is_killed, self.level.forecast()) {
            (false, _) | (true, None) => self.level.take(run, work),
            (true, Some(forecast)) if work <= forecast => {}
            (true, Some(_)) => {
                let longer = (work + self.works.usual_distance()).min(WORK_MAX);
                self.level.take(run, longer);
            }
        }
    }
}

#[cfg(test)]
mod tests;

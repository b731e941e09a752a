//! Files of recorded outcomes that nobody has looked at for long: whether they still are as they were
//! made is asked of a machine before more is built on them.
//!
//! ```text
//!   outcome found --> asked --sound--> it stands           output of an earlier life --> asked
//!                       |                                                                  |
//!                       +--lost--> the activity runs                     sound: it may end, lost: made again
//! ```
//! What an activity is given is looked at when it is laid down, so only what nobody may be given is
//! asked about: outcomes that are to stand for activities, and after a restart what goes to whoever
//! wants the outputs of the process. All of it is volatile: after a restart it is asked again.

use std::collections::BTreeMap;

use machine::Context;
use model::{
    ActivityId, Artifact, Hash, Mono, Now, OutputSource, ProcessId, ResourceId, Source, Span, Value,
};
use wire::attempt::{Checked, Copied, Copy, ToActivity};

use crate::copies::parts;
use crate::io::{Effect, Stream};
use crate::manager::{ProcessManager, Timer, limits, process};
use crate::process::Process;
use crate::record::{ActivityPhase, Event, Phase};
use crate::remake::gone;

/// How long it is waited for a machine that has files, before they are taken to be sound: it may be
/// away for long, and whoever lacks the files says so.
const PATIENCE: Span = Span::from_secs(10);

/// What is asked about, by the activity that it was made by or stands for.
#[derive(Debug, Default)]
pub(crate) struct Checks(BTreeMap<ActivityId, Check>);

/// One question.
#[derive(Debug)]
struct Check {
    what: What,
    artifacts: Vec<Artifact>,
    /// The machines that have it, as far as is known.
    holders: Vec<ResourceId>,
    /// Since when it is to be asked.
    since: Option<Mono>,
    /// When a machine was asked last.
    asked: Option<Mono>,
    /// What was answered.
    is_sound: Option<bool>,
}

/// Why something is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// It is to stand for an activity.
    Recalled,
    /// It is an output of the process.
    Output,
}

/// What is known of the files of an outcome that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    Sound,
    Lost,
    /// A machine was asked, or will be.
    Asked,
}

impl Checks {
    /// Whether an activity is not to be sent before an answer has come.
    pub(crate) fn hold_back(&self, activity: ActivityId) -> bool {
        let check = self.0.get(&activity);
        check.is_some_and(|check| check.what == What::Recalled && check.is_sound.is_none())
    }

    /// Whether outcomes were found that may stand, of which nothing was answered.
    pub(crate) fn has_recalled(&self) -> bool {
        let mut all = self.0.values();
        all.any(|check| check.what == What::Recalled && check.is_sound.is_none())
    }

    fn has_outputs(&self) -> bool {
        let mut all = self.0.values();
        all.any(|check| check.what == What::Output && check.is_sound.is_none())
    }
}

impl ProcessManager {
    /// Whether the files of an outcome that was found for an activity are as they were made.
    pub(crate) fn finding(
        &mut self,
        id: ProcessId,
        activity: ActivityId,
        artifacts: &[Artifact],
        holders: &[ResourceId],
    ) -> Finding {
        if artifacts.is_empty() {
            return Finding::Sound;
        }
        let Some(live) = self.live.get_mut(&id) else {
            return Finding::Sound;
        };
        let known = live.checks.0.get(&activity);
        match known.filter(|check| check.artifacts == artifacts) {
            Some(check) => match check.is_sound {
                Some(true) => Finding::Sound,
                Some(false) => Finding::Lost,
                None => Finding::Asked,
            },
            None => {
                let check = Check {
                    what: What::Recalled,
                    artifacts: artifacts.to_vec(),
                    holders: holders.to_vec(),
                    since: None,
                    asked: None,
                    is_sound: None,
                };
                live.checks.0.insert(activity, check);
                Finding::Asked
            }
        }
    }

    /// After a restart: what earlier lives have recorded as made, and whoever wants the outputs of the
    /// process is to be given.
    pub(crate) fn check_outputs(&mut self, cx: &Context<'_, Self>, id: ProcessId) {
        let Some(known) = process(cx, id) else { return };
        if known.phase() != Phase::Running {
            return;
        }
        let checks = known.makers_of_outputs().into_iter().map(|activity| {
            let check = Check {
                what: What::Output,
                artifacts: known.produced_by(activity).collect(),
                holders: known.sources_of(activity, |_| false),
                since: None,
                asked: None,
                is_sound: None,
            };
            (activity, check)
        });
        let checks: Vec<(ActivityId, Check)> = checks.collect();
        if let Some(live) = self.live.get_mut(&id) {
            live.checks.0.extend(checks);
        }
    }

    /// Whether a process must not end yet, though all its activities have.
    pub(crate) fn awaits_outputs(&self, known: &Process) -> bool {
        let live = self.live.get(&known.id());
        live.is_some_and(|live| live.checks.has_outputs())
            || (!known.course.remakes.is_empty() && known.remakes_outputs())
    }

    /// Asks what is to be asked and has not been, or not been answered for long.
    pub(crate) fn ask_checks(&mut self, cx: &mut Context<'_, Self>, now: Now, id: ProcessId) {
        let is_shared = self.stores.is_shared();
        let Some(live) = self.live.get_mut(&id) else {
            return;
        };
        if live.checks.0.values().all(|check| check.is_sound.is_some()) {
            return;
        }
        let mut by_machine: BTreeMap<ResourceId, Vec<Copy>> = BTreeMap::new();
        let mut given_up = Vec::new();
        for (&activity, check) in &mut live.checks.0 {
            let is_early = |at: Mono| now.mono.since(at) < limits::REPEAT;
            if check.is_sound.is_some() || check.asked.is_some_and(is_early) {
                continue;
            }
            let is_there = |one: &&ResourceId| {
                let link = self.machines.get(*one);
                link.is_some_and(|link| link.is_up && link.epoch.is_some())
            };
            let asked = match is_shared {
                true => self.machines.keys().find(is_there),
                false => check.holders.iter().find(is_there),
            };
            let since = *check.since.get_or_insert(now.mono);
            // One that is there and slow reads large files.
            if asked.is_none() && !is_shared && now.mono.since(since) >= PATIENCE {
                check.is_sound = Some(true);
                given_up.push((activity, check.what));
            }
            if let Some(&asked) = asked {
                check.asked = Some(now.mono);
                by_machine.entry(asked).or_default().push(Copy {
                    copied: Copied {
                        process: id,
                        activity,
                        artifacts: check.artifacts.clone(),
                    },
                    holders: check
                        .holders
                        .iter()
                        .copied()
                        .filter(|one| *one != asked)
                        .collect(),
                    is_needed: false,
                });
            }
        }
        for (machine, copies) in by_machine {
            for copies in parts(copies) {
                let named: Vec<ResourceId> = copies
                    .iter()
                    .flat_map(|copy| copy.holders.iter().copied())
                    .collect();
                let holders = self.stores.known();
                let holders = holders.filter(|one| named.contains(one));
                let holders = holders.filter_map(|one| self.stores.get(one).cloned());
                let message = ToActivity::Check {
                    holders: holders.collect(),
                    copies,
                };
                cx.effect(Effect::ToActivity(machine, message));
            }
        }
        self.arm_once(Timer::Recall(id), now.mono + limits::REPEAT);
        for (activity, what) in given_up {
            if what == What::Recalled {
                self.look_again(cx, now, id, activity);
            }
            // What becomes possible by it is for the next step.
            self.arm(Timer::Recall(id), now.mono + Span(1));
        }
    }

    /// A machine has looked.
    pub(crate) fn on_checked(
        &mut self,
        cx: &mut Context<'_, Self>,
        now: Now,
        resource: ResourceId,
        checked: Vec<Checked>,
    ) {
        let mut touched = Vec::new();
        for Checked { copied, is_sound } in checked {
            let (id, activity) = (copied.process, copied.activity);
            let live = self.live.get_mut(&id);
            let check = live.and_then(|live| live.checks.0.get_mut(&activity));
            let Some(check) = check
                .filter(|check| check.is_sound.is_none() && check.artifacts == copied.artifacts)
            else {
                continue;
            };
            check.is_sound = Some(is_sound);
            let what = check.what;
            if !touched.contains(&id) {
                touched.push(id);
            }
            match (what, is_sound) {
                (What::Recalled, _) => self.look_again(cx, now, id, activity),
                (What::Output, false) => record_lost(cx, id, activity, resource),
                (What::Output, true) => {}
            }
        }
        for id in touched {
            self.settle(cx, now, id);
        }
    }
}

/// An output of a process is made again, or faults the process where it must not be.
fn record_lost(
    cx: &mut Context<'_, ProcessManager>,
    id: ProcessId,
    maker: ActivityId,
    resource: ResourceId,
) {
    let Some(known) = process(cx, id) else { return };
    if known.phase() != Phase::Running {
        return;
    }
    let declared = known.definition().activity(maker);
    let event = if declared.is_some_and(|activity| activity.at_most_once) {
        Event::Faulted(Box::new(gone(known, maker.node(), "it must not run twice")))
    } else if known.grants().next().is_none() {
        let why = "the process holds no machine any more that could make it again";
        Event::Faulted(Box::new(gone(known, maker.node(), why)))
    } else {
        Event::FilesLost(vec![maker], resource)
    };
    cx.record(Stream::Process(id), event);
}

impl Process {
    /// The activities that have completed and made files that are outputs of the process.
    fn makers_of_outputs(&self) -> Vec<ActivityId> {
        let outputs = self.definition.draft().outputs.iter();
        let makers = outputs.filter_map(|output| match output.source {
            OutputSource::Produced(Source::Output { activity, .. }) => Some(ActivityId(activity.0)),
            OutputSource::Produced(Source::Input(_)) | OutputSource::Expression(_) => None,
        });
        let mut makers: Vec<ActivityId> = makers
            .filter(|&maker| self.activity(maker).phase == ActivityPhase::Completed)
            .collect();
        makers.sort_unstable();
        makers.dedup();
        makers
    }

    fn remakes_outputs(&self) -> bool {
        let mut makers = self.makers_of_outputs().into_iter();
        makers.any(|maker| self.is_to_be_remade(maker))
    }

    /// Whether a process has this file or directory: it was given it, or has made it.
    pub(crate) fn has_artifact(&self, hash: Hash) -> bool {
        let values = self
            .inputs
            .iter()
            .chain(self.course.outputs.iter().map(|(_, value)| value));
        let is_it = |artifact: &Artifact| artifact.hash == hash;
        self.files.iter().any(is_it)
            || self.course.produced.values().any(is_it)
            || values.into_iter().any(|value| holds(value, hash))
    }
}

fn holds(value: &Value, hash: Hash) -> bool {
    match value {
        Value::Artifact(artifact) => artifact.hash == hash,
        Value::List(items) => items.iter().any(|item| holds(item, hash)),
        Value::Map(items) => items.values().any(|item| holds(item, hash)),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
    }
}

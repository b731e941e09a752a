//! Foresight: what a process would do if it was submitted now, and why.
//!
//! The process is enacted on paper by the code that enacts it for real, without machines: expressions are
//! evaluated, outcomes are looked up, controllers move. An activity without a recorded outcome is taken to
//! complete with outputs that nobody knows. Whoever reads these depends on it, and a condition or list that
//! reads them is left undecided ([`Unknown`]), with all that comes after it. Whatever is foreseen to run or
//! to stand does so, as long as commands succeed.

mod unknown;

use std::collections::{BTreeMap, BTreeSet};

use expression::Programs;
use model::{
    ActivityId, AttemptId, Bytes, Caching, GroupId, Hash, NodeId, Now, ProcessId, ResourceId, Span,
    Value, Wall,
};
use wire::client::{Answer, Forecast, Foresight, Recall};

use self::unknown::Unknown;
use crate::budget::{ATTEMPT_STEPS, DECISION_STEPS};
use crate::clients::expansions;
use crate::enact::compare::compared;
use crate::enact::decide::{assignments, decide_one};
use crate::enact::evaluate::Evaluator;
use crate::enact::reuse::{Decided, decided};
use crate::lookup::recorded::{BaseIndex, Recorded};
use crate::lookup::shared::SharedOutcomes;
use crate::lookup::{Hit, Sources};
use crate::parts::Parts;
use crate::process::Process;
use crate::process::folding::KEPT;
use crate::record::{ActivityPhase, CacheKey, Event, Founded, Phase, Reused};
use crate::shared_outcome::SharedOutcome;
use crate::step::Step;
use crate::submission::Submission;
use crate::tree::Decision;

/// Steps in which a manager that runs follows a process, some 100 ms in which it does nothing else.
const STEPS_MAX: u64 = 2_000_000;

/// Steps in which a program that does nothing else follows a process: some seconds.
const STEPS_OFFLINE_MAX: u64 = 100_000_000;

/// Decisions that are passed in the time of one step.
const DECISIONS_A_STEP: u64 = 16;

/// Answers whether the files of a recorded outcome are there.
type HasFiles<'a> = &'a mut dyn FnMut(&Reused) -> bool;

/// The forecast of a submission, with the recorded outcomes of these processes and those of earlier runs.
/// `has_files` says whether the files of an outcome are there.
pub fn foresee<'a>(
    submission: Submission,
    processes: impl Iterator<Item = &'a Process>,
    earlier: Vec<SharedOutcome>,
    has_files: HasFiles<'_>,
) -> Answer {
    let founded = match submission.checked {
        Ok(founded) => founded,
        Err(reasons) => return Answer::Refused(reasons),
    };
    let processes: BTreeMap<ProcessId, &Process> = processes.map(|one| (one.id(), one)).collect();
    let bases: Vec<&Process> = match founded.base {
        Some(base) => match processes.get(&base) {
            Some(base) => vec![base],
            None => return absent(base),
        },
        None => Vec::new(),
    };
    let recorded = match shares_outcomes(&founded) {
        true => Recorded::of(processes.values().copied()),
        false => Recorded::default(),
    };
    let process_of = |id| processes.get(&id).copied();
    let mut shared = SharedOutcomes::default();
    shared.take(earlier);
    let known = Known::new(&bases, (&recorded, &shared), &process_of);
    follow(&founded, &known, has_files, STEPS_OFFLINE_MAX)
}

/// The forecast of a process that was interrupted and would be resumed. `base` is the one whose outcomes stand in
/// it, and `submission` what was submitted for it.
pub fn foresee_resumed(
    process: &Process,
    base: Option<&Process>,
    submission: Submission,
    has_files: HasFiles<'_>,
) -> Answer {
    let founded = match submission.checked {
        Ok(founded) => founded,
        Err(reasons) => return Answer::Refused(reasons),
    };
    // Its own outcomes come first.
    let bases: Vec<&Process> = std::iter::once(process).chain(base).collect();
    let (recorded, shared) = (Recorded::default(), SharedOutcomes::default());
    let known = Known::new(&bases, (&recorded, &shared), &|_| None);
    follow(&founded, &known, has_files, STEPS_OFFLINE_MAX)
}

impl Parts {
    /// The forecast of a submission, as a manager that runs knows it.
    pub(crate) fn foresee(&self, step: &Step<'_>, submission: Submission) -> Answer {
        let founded = match submission.checked {
            Ok(founded) => founded,
            Err(reasons) => return Answer::Refused(reasons),
        };
        let base = founded.base.map(|base| {
            let known = step.cx.process(base);
            let seen = known.filter(|known| submission.caller.sees(known.owner.as_deref()));
            seen.ok_or(base)
        });
        let base = match base.transpose() {
            Ok(base) => base,
            Err(base) => return absent(base),
        };
        let bases: Vec<&Process> = base.into_iter().collect();
        let process_of = |id| step.cx.process(id);
        let outcomes = (self.cache.recorded(), self.cache.shared());
        let known = Known::new(&bases, outcomes, &process_of);
        follow(&founded, &known, &mut |_| true, STEPS_MAX)
    }
}

fn absent(base: ProcessId) -> Answer {
    Answer::Refused(vec![format!(
        "there is no process {base} to take outcomes from"
    )])
}

/// True if an activity takes outcomes of any process.
fn shares_outcomes(founded: &Founded) -> bool {
    let mut nodes = founded.draft.draft().nodes.iter();
    nodes.any(|node| {
        node.activity()
            .is_some_and(|activity| activity.cache == Caching::Always)
    })
}

fn follow(founded: &Founded, known: &Known<'_>, has_files: HasFiles<'_>, steps_max: u64) -> Answer {
    // An outcome is looked up for each activity of a process that has a base.
    let founded = Founded {
        base: founded.base.or(Some(founded.key.process())),
        ..founded.clone()
    };
    match Process::found(&founded) {
        Ok(process) => {
            let mut paper = Paper {
                process,
                known,
                taken: BTreeSet::new(),
                programs: Programs::default(),
                unknown: Unknown::default(),
                forecasts: BTreeMap::new(),
                blocked: BTreeSet::new(),
                n_left: steps_max,
            };
            let fault = paper.follow(has_files);
            Answer::Foreseen(Box::new(paper.foresight(fault)))
        }
        Err(reason) => Answer::Refused(vec![reason]),
    }
}

/// Processes whose outcomes may stand.
struct Known<'a> {
    /// The first one first.
    bases: Vec<Base<'a>>,
    recorded: &'a Recorded,
    shared: &'a SharedOutcomes,
    known: &'a dyn Fn(ProcessId) -> Option<&'a Process>,
}

/// A process with its completed activities, and with all of them by name.
struct Base<'a> {
    process: &'a Process,
    completed: BaseIndex,
    by_name: BTreeMap<String, ActivityId>,
}

impl<'a> Known<'a> {
    fn new(
        bases: &[&'a Process],
        (recorded, shared): (&'a Recorded, &'a SharedOutcomes),
        known: &'a dyn Fn(ProcessId) -> Option<&'a Process>,
    ) -> Known<'a> {
        let bases = bases.iter().map(|&base| {
            let definition = base.definition();
            let ids = definition.activities().iter();
            let by_name = ids.map(|&id| (definition.name_of(id.node()), id)).collect();
            Base {
                process: base,
                completed: BaseIndex::of(base),
                by_name,
            }
        });
        Known {
            bases: bases.collect(),
            recorded,
            shared,
            known,
        }
    }

    /// The reason why no recorded outcome stands.
    fn reason(&self, process: &Process, activity: ActivityId, cache_key: &CacheKey) -> Recall {
        if self.bases.is_empty() {
            return Recall::Nothing;
        }
        let name = process.definition().name_of(activity.node());
        let mut bases = self.bases.iter();
        let found = bases.find_map(|base| Some((base.process, *base.by_name.get(&name)?)));
        found.map_or(Recall::Absent, |before| {
            compared(before, (process, activity), cache_key)
        })
    }
}

/// A process that is enacted on paper.
struct Paper<'s, 'a> {
    process: Process,
    known: &'s Known<'a>,
    /// The outcomes that stand for an activity.
    taken: BTreeSet<AttemptId>,
    programs: Programs,
    unknown: Unknown,
    forecasts: BTreeMap<ActivityId, Forecast>,
    /// Decisions that read what is not known.
    blocked: BTreeSet<Decision>,
    /// Steps that may still be used.
    n_left: u64,
}

/// The moment at which things happen on paper: nothing that is foreseen depends on it.
const NOW: Now = Now {
    mono: model::Mono(0),
    wall: Wall(0),
};

impl Paper<'_, '_> {
    /// Goes as far as can be told. Returns the fault of an expression that ends the process.
    fn follow(&mut self, has_files: HasFiles<'_>) -> Option<String> {
        // They complete when nothing else is left to decide, as commands do.
        let mut running: BTreeSet<ActivityId> = BTreeSet::new();
        let mut n_looked = 0;
        while self.n_left > 0 && self.process.phase() == Phase::Running {
            if let Some(decision) = self.next_known() {
                let (event, n_steps) =
                    decide_one(&self.process, decision, (NOW, KEPT), &mut self.programs);
                self.take(n_steps);
                if let Event::Faulted(fault) | Event::Broke { fault, .. } = &event {
                    return Some(fault.message.clone());
                }
                if let Event::Assigned { writes, node, .. } = &event {
                    let written = writes.iter().map(|(variable, _)| *variable);
                    let written: Vec<u32> = written.collect();
                    self.unknown.forget(&self.process, &written, *node);
                }
                self.process.apply(&event);
            } else if let Some(node) = self.next_unknown_assign() {
                self.assign_unknown(node);
            } else if let Some(&activity) = self.process.index.fresh.0.get(n_looked) {
                n_looked += 1;
                let is_ready = self.process.activity(activity).phase == ActivityPhase::Ready;
                if is_ready && !self.reuse(activity, has_files) {
                    running.insert(activity);
                }
            } else if let Some(activity) = running.pop_first() {
                // Which bodies are enough for a for-each, only their commands tell.
                if !self.is_raced(activity) {
                    self.complete(activity);
                }
            } else {
                break;
            }
        }
        None
    }

    /// The next decision that reads only what is known. Others stay undecided.
    fn next_known(&mut self) -> Option<Decision> {
        let mut n_passed = 0;
        let mut found = None;
        for decision in self.process.state.frame.decisions() {
            n_passed += 1;
            if decision == Decision::Close || self.blocked.contains(&decision) {
                continue;
            }
            let read = self
                .unknown
                .read_by(&self.process, decision, &mut self.programs);
            if read.is_empty() {
                found = Some(decision);
                break;
            }
            self.blocked.insert(decision);
        }
        self.take(n_passed / DECISIONS_A_STEP);
        found
    }

    /// The next `assign` that reads what is not known, where no decision is left that reads only what is.
    fn next_unknown_assign(&self) -> Option<NodeId> {
        let mut decisions = self.blocked.iter();
        decisions.find_map(|decision| match decision {
            Decision::Assign(node) => Some(*node),
            Decision::Link(_)
            | Decision::Join(_)
            | Decision::Choose(_)
            | Decision::Expand(_)
            | Decision::Spread(_)
            | Decision::Repeat(_)
            | Decision::Close => None,
        })
    }

    fn take(&mut self, n_steps: u64) {
        self.n_left = self.n_left.saturating_sub(n_steps);
    }

    /// Writes variables whose values are not known.
    fn assign_unknown(&mut self, node: NodeId) {
        let decision = Decision::Assign(node);
        self.blocked.remove(&decision);
        let assigned = assignments(&self.process, node).iter();
        let variables: Vec<u32> = assigned.map(|one| one.variable).collect();
        let writers = self
            .unknown
            .read_by(&self.process, decision, &mut self.programs);
        self.unknown
            .note(&self.process, &variables, Some(node), &writers);
        let flow = self.process.transition().finish(node);
        self.process.apply(&Event::Assigned {
            writes: Vec::new(),
            flow,
            node: Some(node),
        });
        self.take(DECISION_STEPS);
    }

    /// The recorded outcome for an activity, as a lookup in a run finds it.
    fn find(&self, activity: ActivityId, decided: &Decided) -> Option<Hit> {
        let bases = self.known.bases.iter();
        let bases: Vec<(&Process, &BaseIndex)> =
            bases.map(|base| (base.process, &base.completed)).collect();
        let sources = Sources {
            bases: &bases,
            recorded: self.known.recorded,
            shared: self.known.shared,
            taken: &self.taken,
            known: self.known.known,
        };
        sources.find((&self.process, activity), decided)
    }

    /// Foresees a ready activity. Returns true if a recorded outcome stands for it.
    fn reuse(&mut self, activity: ActivityId, has_files: HasFiles<'_>) -> bool {
        let makers = self
            .unknown
            .made_for(&self.process, activity, &mut self.programs);
        if !makers.is_empty() {
            self.take(ATTEMPT_STEPS);
            self.forecasts.insert(activity, Forecast::Depends(makers));
            return false;
        }
        let mut evaluator = Evaluator::new(&mut self.programs);
        let decided = decided(&self.process, activity, &mut evaluator);
        let n_steps = ATTEMPT_STEPS + evaluator.meter.steps();
        self.take(n_steps);
        let Some(decided) = decided else {
            // It is sent and faults, or an input of it is missing.
            self.forecasts
                .insert(activity, Forecast::Runs(Recall::Nothing));
            return false;
        };
        let forecast = match self.find(activity, &decided) {
            None => {
                let reason = self
                    .known
                    .reason(&self.process, activity, &decided.cache_key);
                Forecast::Runs(reason)
            }
            Some(found) => {
                let may_lack = found.is_discarded && self.process.may_lack(activity);
                let of = found.reused.of;
                if may_lack || has_files(&found.reused) {
                    self.taken.insert(of);
                    let reused = found.reused;
                    self.forecasts.insert(activity, Forecast::Stands(of));
                    let written = reused.writes.iter().map(|(variable, _)| *variable);
                    let written: Vec<u32> = written.collect();
                    let node = Some(activity.node());
                    self.unknown.forget(&self.process, &written, node);
                    self.process.apply(&Event::Reused(Box::new(reused)));
                    return true;
                }
                Forecast::Lost(of)
            }
        };
        self.forecasts.insert(activity, forecast);
        false
    }

    /// An activity that runs completes, with outputs that are not known.
    fn complete(&mut self, activity: ActivityId) {
        let declared = self.process.definition().activity_as_written(activity);
        let captures = declared.map(|declared| [declared.stdout, declared.stderr]);
        let captures = captures.into_iter().flatten().flatten();
        let written: Vec<u32> = captures.map(|capture| capture.variable).collect();
        let node = Some(activity.node());
        self.unknown
            .note(&self.process, &written, node, &[activity]);
        self.unknown.add_maker(activity);
        let writes = written.into_iter().map(|variable| (variable, Value::Null));
        let reused = Reused {
            activity,
            cache_key: CacheKey {
                key: Hash([0; 32]),
                command: 0,
                environment: 0,
            },
            of: AttemptId {
                process: self.process.id(),
                activity,
                number: 1,
            },
            resource: ResourceId::new(GroupId::LOCAL, 0),
            machine: String::new(),
            started: Wall(0),
            wall: Span::ZERO,
            cpu: Span::ZERO,
            peak_memory: Bytes::ZERO,
            exit_code: None,
            pid: 0,
            slots: 0,
            log: None,
            outputs: Vec::new(),
            writes: writes.collect(),
            copy: None,
            holder: None,
            flow: self.process.transition().finish(activity.node()),
        };
        self.process.apply(&Event::Reused(Box::new(reused)));
        self.take(DECISION_STEPS);
    }

    /// True if an activity lies in a body of a for-each that completes with some of its bodies.
    fn is_raced(&self, activity: ActivityId) -> bool {
        let definition = self.process.definition();
        let mut around = definition.enclosing(activity.node());
        around.any(|around| definition.n_enough(around.each).is_some())
    }

    fn foresight(self, fault: Option<String>) -> Foresight {
        let Paper {
            process,
            mut forecasts,
            n_left,
            ..
        } = self;
        let activities = process.definition().in_order().into_iter().map(|activity| {
            let of_phase = match process.activity(activity).phase {
                ActivityPhase::Skipped => Forecast::Skipped,
                ActivityPhase::Waiting
                | ActivityPhase::Ready
                | ActivityPhase::Sent
                | ActivityPhase::Backoff
                | ActivityPhase::Completed
                | ActivityPhase::Faulted
                | ActivityPhase::Stopped => Forecast::Unknown,
            };
            (activity, forecasts.remove(&activity).unwrap_or(of_phase))
        });
        let undecided = process.state.frame.decisions().filter_map(|one| match one {
            Decision::Link(link) => {
                let links = process.definition().links();
                links.get(link as usize).map(|(_, link)| link.from)
            }
            Decision::Join(node)
            | Decision::Choose(node)
            | Decision::Assign(node)
            | Decision::Expand(node)
            | Decision::Spread(node)
            | Decision::Repeat(node) => Some(node),
            Decision::Close => None,
        });
        Foresight {
            activities: activities.collect(),
            expansions: expansions(&process),
            undecided: undecided.collect(),
            fault,
            is_partial: n_left == 0,
        }
    }
}

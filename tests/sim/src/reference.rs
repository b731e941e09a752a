//! The expected result of a process: an interpreter of definitions that knows of no machine, message
//! or failure, and shares no code with the cores.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Activity, ActivityId, Artifact, Draft, Join, NodeId, NodeKind, OutputSource, RetryOn, Source,
    Value,
};
use simulator::command::{Failure, printed, produced};
use simulator::generate::Generated;
use simulator::meaning::{Condition, Meaning};
use wire::client::{Phase, Submit};

/// The expected result of a process, whatever happens to the grid, if nobody cancels it.
#[derive(Clone, Debug)]
pub struct Expected {
    /// Completed or faulted.
    pub phase: Phase,
    /// True if it goes on without what depends on a fault.
    pub goes_on: bool,
    /// The activities that run and never end well.
    pub faulted: BTreeSet<ActivityId>,
    /// The activities that run; for each what must have completed before.
    pub needs: BTreeMap<ActivityId, BTreeSet<ActivityId>>,
    /// Their command lines.
    pub programs: BTreeMap<ActivityId, Vec<String>>,
    /// The files staged into their directories.
    pub inputs: BTreeMap<ActivityId, Vec<(String, Artifact)>>,
    /// The files that they produce.
    pub produced: BTreeMap<ActivityId, Vec<(String, Artifact)>>,
    /// The variables at the end, where it completes.
    pub variables: Vec<(String, Value)>,
    /// Its outputs, where it completes.
    pub outputs: Vec<(String, Value)>,
    /// The most slots that one of its activities wants, whether it runs or not: without a machine that
    /// has them it may fault, since it is planned before all is decided.
    pub cores_max: u32,
    /// The most slots that one of the activities that run wants: without a machine that has them it
    /// faults.
    pub cores_run: u32,
    /// The activities that run in each of several bodies, where some of these are enough, and how many.
    pub enough: Option<(Vec<BTreeSet<ActivityId>>, usize)>,
}

impl Expected {
    /// True if an activity may be stopped, or never begin, because enough others have completed.
    pub fn may_be_missed(&self, activity: ActivityId) -> bool {
        let bodies = self.enough.iter().flat_map(|(bodies, _)| bodies);
        bodies.into_iter().any(|body| body.contains(&activity))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    Runs,
    Done,
    Skipped,
    /// It faulted, or will not run for a fault.
    Broken,
}

/// One pass after the other over all nodes, until nothing changes.
struct Interpreter<'a> {
    generated: &'a Generated,
    submit: &'a Submit,
    meaning: &'a Meaning,
    parents: Vec<Option<(NodeId, usize)>>,
    fates: Vec<Fate>,
    /// Activities that must have completed before the node starts or is skipped, and before it is over.
    before: Vec<BTreeSet<ActivityId>>,
    until: Vec<BTreeSet<ActivityId>>,
    /// None where the link is broken.
    links: BTreeMap<(NodeId, NodeId), Option<bool>>,
    /// The branch that each `if` has taken, by its place; beyond them all where it took none.
    taken: BTreeMap<NodeId, usize>,
    incoming: Vec<Vec<NodeId>>,
    outgoing: Vec<Vec<NodeId>>,
    variables: Vec<i64>,
    expected: Expected,
}

/// The expected result of a generated process.
pub fn expected(generated: &Generated) -> Expected {
    let mut interpreter = Interpreter::new(generated);
    while interpreter.pass() {}
    let running = interpreter.expected.needs.keys().copied();
    let faulted: BTreeSet<ActivityId> = running
        .filter(|&id| never_ends_well(generated, id))
        .collect();
    let goes_on = generated.goes_on();
    let mut expected = if goes_on && !faulted.is_empty() {
        interpreter.expected
    } else {
        interpreter.finish()
    };
    if !faulted.is_empty() {
        expected.phase = Phase::Faulted;
    }
    expected.cores_max = generated.cores_max;
    let running = expected.needs.keys();
    let cores = running.filter_map(|&id| Some(generated.submit.draft.activity(id)?.cores));
    expected.cores_run = cores.max().unwrap_or(0);
    expected.enough = generated.enough.as_ref().map(|enough| {
        let body = |root: &NodeId| {
            let inside = root.0..root.0 + enough.len;
            let runs = expected.needs.keys().copied();
            runs.filter(|id| inside.contains(&id.node().0)).collect()
        };
        (enough.roots.iter().map(body).collect(), enough.n)
    });
    expected.goes_on = goes_on;
    expected.faulted = faulted;
    expected
}

fn never_ends_well(generated: &Generated, id: ActivityId) -> bool {
    let Some(behaviour) = generated.behaviours.get(&id) else {
        return false;
    };
    let Some(activity) = generated.submit.draft.activity(id) else {
        return false;
    };
    let retry = &activity.retry;
    let is_tried_again = retry.on.is_empty()
        || retry.on.iter().any(|on| match (on, behaviour.failure) {
            (RetryOn::Exit(code), Failure::Exit) => *code == 1,
            (RetryOn::Exit(code), Failure::ExitWith(own)) => *code == i32::from(own),
            (RetryOn::Timeout, Failure::Timeout) => true,
            (RetryOn::Failed, Failure::Exit | Failure::ExitWith(_)) => true,
            (
                RetryOn::Exit(_)
                | RetryOn::Lost
                | RetryOn::Timeout
                | RetryOn::OutOfMemory
                | RetryOn::Failed,
                _,
            ) => false,
        });
    let n_tries = if is_tried_again { retry.attempts } else { 1 };
    behaviour.n_failing >= n_tries
}

impl<'a> Interpreter<'a> {
    fn new(generated: &'a Generated) -> Interpreter<'a> {
        let Generated {
            submit, meaning, ..
        } = generated;
        let draft: &Draft = &submit.draft;
        let n_nodes = draft.nodes.len();
        let mut parents = vec![None; n_nodes];
        let mut incoming = vec![Vec::new(); n_nodes];
        let mut outgoing = vec![Vec::new(); n_nodes];
        for (index, node) in draft.nodes.iter().enumerate() {
            for (place, child) in node.children().iter().enumerate() {
                parents[child.index()] = Some((NodeId(index as u32), place));
            }
            if let NodeKind::Parallel { links, .. } = &node.kind {
                for link in links {
                    incoming[link.to.index()].push(link.from);
                    outgoing[link.from.index()].push(link.to);
                }
            }
        }
        let variables = draft
            .variables
            .iter()
            .map(|variable| match variable.initial {
                Value::Int(number) => number,
                Value::Null
                | Value::Bool(_)
                | Value::Float(_)
                | Value::Text(_)
                | Value::List(_)
                | Value::Map(_)
                | Value::Artifact(..) => 0,
            });
        Interpreter {
            generated,
            submit,
            meaning,
            parents,
            fates: vec![Fate::Open; n_nodes],
            before: vec![BTreeSet::new(); n_nodes],
            until: vec![BTreeSet::new(); n_nodes],
            links: BTreeMap::new(),
            taken: BTreeMap::new(),
            incoming,
            outgoing,
            variables: variables.collect(),
            expected: Expected {
                phase: Phase::Completed,
                goes_on: false,
                faulted: BTreeSet::new(),
                needs: BTreeMap::new(),
                programs: BTreeMap::new(),
                inputs: BTreeMap::new(),
                produced: BTreeMap::new(),
                variables: Vec::new(),
                outputs: Vec::new(),
                cores_max: 0,
                cores_run: 0,
                enough: None,
            },
        }
    }

    /// True if anything changed.
    fn pass(&mut self) -> bool {
        let mut has_changed = false;
        for index in 0..self.fates.len() {
            let id = NodeId(index as u32);
            has_changed |= match self.fates[index] {
                Fate::Open => self.decide(id),
                Fate::Runs => self.end(id),
                Fate::Done | Fate::Skipped | Fate::Broken => false,
            };
        }
        has_changed
    }

    fn decide(&mut self, id: NodeId) -> bool {
        let mut before = BTreeSet::new();
        if let Some((parent, place)) = self.parents[id.index()] {
            match self.fates[parent.index()] {
                Fate::Open => return false,
                Fate::Skipped => {
                    before.clone_from(&self.before[parent.index()]);
                    self.skip(id, before);
                    return true;
                }
                Fate::Broken => {
                    self.breaks(id);
                    return true;
                }
                Fate::Runs | Fate::Done => {}
            }
            before.extend(&self.before[parent.index()]);
            if self.meaning.never.contains(&id) {
                self.skip(id, before);
                return true;
            }
            if self.taken.get(&parent).is_some_and(|&taken| taken != place) {
                self.skip(id, before);
                return true;
            }
            if let NodeKind::Sequence(children) = &self.submit.draft.nodes[parent.index()].kind
                && let Some(earlier) = place.checked_sub(1)
            {
                let earlier = children[earlier].index();
                match self.fates[earlier] {
                    Fate::Open | Fate::Runs => return false,
                    Fate::Broken => {
                        self.breaks(id);
                        return true;
                    }
                    Fate::Done | Fate::Skipped => {}
                }
                before.extend(&self.until[earlier]);
            }
        }
        let incoming = self.incoming[id.index()].clone();
        if incoming
            .iter()
            .any(|&from| !self.links.contains_key(&(from, id)))
        {
            return false;
        }
        for from in &incoming {
            before.extend(&self.until[from.index()]);
        }
        let is_broken = incoming
            .iter()
            .any(|&from| self.links[&(from, id)].is_none());
        let value = |from: NodeId| self.links[&(from, id)] == Some(true);
        let runs = match &self.submit.draft.nodes[id.index()].join {
            Join::All => !is_broken && incoming.iter().all(|&from| value(from)),
            Join::Any => incoming.is_empty() || incoming.iter().any(|&from| value(from)),
            Join::When(_) => {
                self.meaning.joins[&id].holds(&self.variables, self.meaning.input, &value)
            }
        };
        if runs {
            self.fates[id.index()] = Fate::Runs;
            self.before[id.index()] = before;
            if let Some(conditions) = self.meaning.choices.get(&id) {
                let holds = |condition: &Condition| {
                    condition.holds(&self.variables, self.meaning.input, &|_| false)
                };
                let first = conditions.iter().position(holds);
                self.taken.insert(id, first.unwrap_or(conditions.len()));
            }
        } else if is_broken {
            self.breaks(id);
        } else {
            self.skip(id, before);
        }
        true
    }

    /// It faulted, or does not run for a fault. What depends on it does not run either, so nobody
    /// asks what was before it.
    fn breaks(&mut self, id: NodeId) {
        self.fates[id.index()] = Fate::Broken;
        for &to in &self.outgoing[id.index()] {
            self.links.insert((id, to), None);
        }
    }

    fn skip(&mut self, id: NodeId, before: BTreeSet<ActivityId>) {
        self.fates[id.index()] = Fate::Skipped;
        self.until[id.index()].clone_from(&before);
        self.before[id.index()] = before;
        for &to in &self.outgoing[id.index()] {
            self.links.insert((id, to), Some(false));
        }
    }

    /// True if a node that runs is over.
    fn end(&mut self, id: NodeId) -> bool {
        let mut until = self.before[id.index()].clone();
        let node = &self.submit.draft.nodes[id.index()];
        match &node.kind {
            NodeKind::Sequence(children)
            | NodeKind::Parallel { children, .. }
            | NodeKind::If { children, .. } => {
                for child in children {
                    if matches!(self.fates[child.index()], Fate::Open | Fate::Runs) {
                        return false;
                    }
                    until.extend(&self.until[child.index()]);
                }
                if self
                    .generated
                    .enough
                    .as_ref()
                    .is_some_and(|enough| enough.of == id)
                {
                    // Nobody knows which of them it has waited for.
                    until.clone_from(&self.before[id.index()]);
                }
                let mut children = children.iter();
                if children.any(|child| self.fates[child.index()] == Fate::Broken) {
                    self.breaks(id);
                    return true;
                }
            }
            NodeKind::Activity(activity) => {
                let activity_id = ActivityId(id.0);
                self.run(activity_id, activity, &node.name);
                if self.generated.goes_on() && never_ends_well(self.generated, activity_id) {
                    self.breaks(id);
                    return true;
                }
                until.insert(activity_id);
            }
            NodeKind::Assign(_) => {
                let (variables, input) = (self.variables.clone(), self.meaning.input);
                for (variable, term) in &self.meaning.assigns[&id] {
                    self.variables[*variable as usize] = term.value(&variables, input);
                }
            }
            // They are unrolled: there is a body for each item or iteration.
            NodeKind::ForEach(_) | NodeKind::Repeat(_) | NodeKind::Empty => {}
        }
        self.fates[id.index()] = Fate::Done;
        self.until[id.index()] = until;
        for &to in &self.outgoing[id.index()] {
            let when = self.meaning.whens.get(&(id, to));
            let holds =
                when.is_none_or(|when| when.holds(&self.variables, self.meaning.input, &|_| false));
            self.links.insert((id, to), Some(holds));
        }
        true
    }

    fn run(&mut self, id: ActivityId, activity: &Activity, name: &str) {
        let mut program = vec!["work".to_owned(), name.to_owned()];
        for term in &self.meaning.arguments[&id.node()] {
            program.push(term.value(&self.variables, self.meaning.input).to_string());
        }
        let files = self
            .submit
            .draft
            .files
            .iter()
            .cloned()
            .zip(self.submit.files.iter().copied());
        let mut inputs: Vec<(String, Artifact)> = files.collect();
        for staged in &activity.inputs {
            let artifact = self.artifact(staged.source);
            inputs.push((staged.path.clone(), artifact));
        }
        if let Some(capture) = activity.stdout {
            self.variables[capture.variable as usize] = printed(&program);
        }
        let outputs = activity.outputs.iter().map(|output| {
            (
                output.name.clone(),
                produced(&program, &inputs, &output.path),
            )
        });
        let expected = &mut self.expected;
        expected.produced.insert(id, outputs.collect());
        expected
            .needs
            .insert(id, self.before[id.node().index()].clone());
        expected.programs.insert(id, program);
        expected.inputs.insert(id, inputs);
    }

    fn artifact(&self, source: Source) -> Artifact {
        match source {
            Source::Output { activity, output } => {
                self.expected.produced[&ActivityId(activity.0)][output as usize].1
            }
            Source::Input(input) => {
                let name = &self.submit.draft.inputs[input as usize].name;
                let given = self.submit.inputs.iter().find(|(given, _)| given == name);
                match given {
                    Some((_, Value::Artifact(artifact, _))) => *artifact,
                    _ => panic!("input {name} is a file that was given"),
                }
            }
            Source::Item(_) => panic!("items are numbers"),
            Source::Pick(_) => panic!("the process that it stands for picks nothing"),
        }
    }

    /// A file of each item, by its place.
    fn gathered(&self, source: Source) -> Value {
        let Source::Output { activity, output } = source else {
            panic!("only outputs are gathered");
        };
        let instances = &self.generated.instances[&activity];
        let files = instances.iter().map(|(item, activity)| {
            let activity = *activity;
            let source = Source::Output { activity, output };
            let file = Value::from(self.artifact(source));
            (item.clone(), file)
        });
        Value::Map(files.collect())
    }

    fn finish(mut self) -> Expected {
        let declared = &self.submit.draft;
        let names = declared
            .variables
            .iter()
            .map(|variable| variable.name.clone());
        let values = self.variables.iter().map(|&number| Value::Int(number));
        self.expected.variables = names.zip(values).collect();
        for (place, output) in declared.outputs.iter().enumerate() {
            let value = match &output.source {
                OutputSource::Produced(source) => Value::from(self.artifact(*source)),
                OutputSource::Gathered(source) => self.gathered(*source),
                OutputSource::Expression(_) => {
                    let term = &self.meaning.outputs[&place];
                    Value::Int(term.value(&self.variables, self.meaning.input))
                }
            };
            self.expected.outputs.push((output.name.clone(), value));
        }
        self.expected
    }
}

#[cfg(test)]
mod tests;

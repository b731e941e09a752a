//! Random processes: nested controllers, links with and without conditions, joins, variables that
//! flow through assignments and commands, files between activities, tries that fail.
//!
//! The result never depends on which command is faster: a reader of a variable is ordered against
//! everybody who writes it, and whoever reads a file runs only where its producer has run.

pub mod bodies;
mod choices;
mod order;
mod tree;

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Activity, ActivityId, Assignment, Bytes, Caching, Capture, Command, Draft, Expression, Input,
    Join, Link, Node, NodeId, NodeKind, OnFault, Output, OutputSource, Parse, Policy, Produced,
    Retry, RetryOn, Source, Span, Staged, SubmitKey, Template, Type, Value, Variable, Work,
};
use wire::client::Submit;

use self::order::{Moment, Order};
use self::tree::{Leaf, Tree};
use crate::command::{Behaviour, Failure, named};
use crate::meaning::{Condition, INPUT, Meaning, Term, variable};
use crate::random::{Random, Rate};

/// The shape of processes.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Activities, from and to.
    pub activities: (u32, u32),
    /// Processes in which one activity never ends well.
    pub faulting: Rate,
    /// Activities whose first tries fail.
    pub retries: Rate,
    /// Processes that go on without what depends on a fault. All their joins are `all`, so that
    /// what runs never depends on who is faster, and several of their activities fail.
    pub going_on: Rate,
    /// Activities that may run twice at the same time...
    pub repeatable: Rate,
    /// True if several attempts at some of these are started at once.
    pub replicates: bool,
    /// The rule for slow machines.
    pub policy: Option<Policy>,
    /// ...and those that must never run twice, where none is tried again.
    pub at_most_once: Rate,
    /// Memory that every third activity declares.
    pub memory: Option<Bytes>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            activities: (5, 40),
            faulting: Rate::percent(12),
            retries: Rate::percent(15),
            going_on: Rate::percent(15),
            repeatable: Rate::NEVER,
            replicates: false,
            policy: None,
            at_most_once: Rate::NEVER,
            memory: None,
        }
    }
}

/// A process with what it means.
#[derive(Clone, Debug)]
pub struct Generated {
    /// The submission of a client.
    pub submit: Submit,
    /// The meaning of its expressions.
    pub meaning: Meaning,
    /// The ends of its commands that do not simply succeed.
    pub behaviours: BTreeMap<ActivityId, Behaviour>,
    /// The most slots that one of its activities wants.
    pub cores_max: u32,
    /// The activities that an output of the process is gathered from, with the names of their items, by
    /// the first of them.
    pub instances: BTreeMap<NodeId, Vec<(String, NodeId)>>,
    /// The bodies side by side of which some are enough, where the process has such.
    pub enough: Option<Enough>,
}

impl Generated {
    /// True if a fault ends only what depends on it.
    pub fn goes_on(&self) -> bool {
        self.submit.on_fault == Some(OnFault::Continue)
    }
}

/// Bodies side by side, of which so many are enough: nobody can say which of them complete.
#[derive(Clone, Debug)]
pub struct Enough {
    /// Their controller.
    pub of: NodeId,
    /// Their roots.
    pub roots: Vec<NodeId>,
    /// Nodes of each.
    pub len: u32,
    /// How many are enough.
    pub n: usize,
}

/// A process from the random numbers; `key` names it.
pub fn process(random: &mut Random, key: SubmitKey, options: &Options) -> Generated {
    let n_activities = random.between(options.activities.0.into(), options.activities.1.into());
    let tree = Tree::new(random, n_activities as u32);
    let mut draft = Draft {
        name: "generated".to_owned(),
        policy: options.policy,
        ..Draft::default()
    };
    tree.flatten(&mut draft.nodes);
    draw_links(random, &mut draft.nodes);
    choices::draw(&mut Random::new(key.0 ^ choices::SALT), &mut draft.nodes);
    let keep_going = random.happens(options.going_on);
    let mut maker = Maker {
        key,
        keep_going,
        order: Order::new(&draft.nodes),
        random: random.fork(),
        n_variables: random.between(1, 5) as u32,
        writes: BTreeMap::new(),
        reads: BTreeMap::new(),
        meaning: Meaning {
            input: random.below(1_000) as i64,
            ..Meaning::default()
        },
        behaviours: BTreeMap::new(),
    };
    draft.inputs.push(Input {
        name: INPUT.to_owned(),
        kind: Type::Int,
        default: None,
        minimum: Some(0.0),
        maximum: None,
    });
    draft.inputs.push(Input {
        name: "corpus".to_owned(),
        kind: Type::File,
        default: None,
        minimum: None,
        maximum: None,
    });
    draft.variables = (0..maker.n_variables)
        .map(|place| Variable {
            of: None,
            name: variable(place),
            kind: Type::Int,
            initial: Value::Int(i64::from(place)),
        })
        .collect();
    if random.happens(Rate::percent(30)) {
        draft.files.push("tool.sh".to_owned());
    }
    maker.fill(&mut draft, options);
    let files = draft
        .files
        .iter()
        .enumerate()
        .map(|(place, _)| named(key.0 ^ place as u64));
    let submit = Submit {
        inputs: vec![
            (INPUT.to_owned(), Value::Int(maker.meaning.input)),
            ("corpus".to_owned(), Value::from(named(key.0 ^ 0xf11e))),
        ],
        files: files.collect(),
        on_fault: on_fault(key, keep_going),
        ..Submit::new(key, draft, "generated.yaml")
    };
    let cores = submit.draft.nodes.iter().map(|node| match &node.kind {
        NodeKind::Activity(activity) => activity.cores,
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => 0,
    });
    let cores_max = cores.max().unwrap_or(1);
    Generated {
        instances: BTreeMap::new(),
        enough: None,
        cores_max,
        meaning: maker.meaning,
        behaviours: maker.behaviours,
        submit,
    }
}

/// The action of a process on a fault. Of those that do not go on, each second one lets what runs finish.
fn on_fault(key: SubmitKey, goes_on: bool) -> Option<OnFault> {
    match (goes_on, key.0 % 4) {
        (true, _) => Some(OnFault::Continue),
        (false, 0 | 1) => Some(OnFault::Stop),
        (false, 2) => Some(OnFault::Finish),
        (false, _) => None,
    }
}

/// The number of the first node behind everything below a node.
fn behind(nodes: &[Node], id: NodeId) -> u32 {
    let mut last = id;
    while let Some(&child) = nodes[last.index()].children().last() {
        last = child;
    }
    last.0 + 1
}

fn draw_links(random: &mut Random, nodes: &mut [Node]) {
    let mut pairs = BTreeSet::new();
    for index in 0..nodes.len() {
        if !matches!(nodes[index].kind, NodeKind::Parallel { .. })
            || random.happens(Rate::percent(35))
        {
            continue;
        }
        let (first, end) = (index as u32 + 1, behind(nodes, NodeId(index as u32)));
        let mut drawn = Vec::new();
        for _ in 0..random.between(0, 5) {
            let one = random.between(first.into(), u64::from(end) - 1) as u32;
            let other = random.between(first.into(), u64::from(end) - 1) as u32;
            let (from, to) = (NodeId(one.min(other)), NodeId(one.max(other)));
            // Below each other, or the same.
            if behind(nodes, from) > to.0 || !pairs.insert((from, to)) {
                continue;
            }
            drawn.push(Link {
                from,
                to,
                when: None,
            });
        }
        if let NodeKind::Parallel { links, .. } = &mut nodes[index].kind {
            *links = drawn;
        }
    }
}

/// Fills a tree with activities, variables and files.
struct Maker {
    key: SubmitKey,
    keep_going: bool,
    order: Order,
    random: Random,
    n_variables: u32,
    writes: BTreeMap<u32, Vec<Moment>>,
    reads: BTreeMap<u32, Vec<Moment>>,
    meaning: Meaning,
    behaviours: BTreeMap<ActivityId, Behaviour>,
}

impl Maker {
    fn fill(&mut self, draft: &mut Draft, options: &Options) {
        let names: Vec<String> = draft.nodes.iter().map(|node| node.name.clone()).collect();
        let name = |id: NodeId| names[id.index()].clone();
        for index in 0..draft.nodes.len() {
            let id = NodeId(index as u32);
            draft.nodes[index].join = self.join(id, &name);
            let links = match &draft.nodes[index].kind {
                NodeKind::Activity(_) => {
                    let activity = self.activity(id, draft, options);
                    draft.nodes[index].kind = NodeKind::Activity(Box::new(activity));
                    continue;
                }
                NodeKind::Assign(_) => {
                    draft.nodes[index].kind = self.assign(id);
                    continue;
                }
                NodeKind::If { .. } => {
                    self.choice(id, &mut draft.nodes[index], &name);
                    continue;
                }
                NodeKind::Parallel { links, .. } => links.clone(),
                // A for-each or a loop is made of what is there in the end.
                NodeKind::Sequence(_)
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Empty => continue,
            };
            let links = links
                .into_iter()
                .map(|link| self.link(link, &name))
                .collect();
            if let NodeKind::Parallel { links: place, .. } = &mut draft.nodes[index].kind {
                *place = links;
            }
        }
        self.draw_outputs(draft);
        if self.keep_going {
            for _ in 0..self.random.below(3) {
                self.draw_fault(draft);
            }
        } else if self.random.happens(options.faulting) {
            self.draw_fault(draft);
        }
    }

    fn join(&mut self, id: NodeId, name: &dyn Fn(NodeId) -> String) -> Join {
        let incoming = self.order.incoming(id).to_vec();
        if incoming.is_empty() || self.keep_going {
            return Join::All;
        }
        match self.random.below(8) {
            0..4 => Join::All,
            4..7 => Join::Any,
            _ => {
                let one = Condition::Link(incoming[self.random.index(incoming.len())]);
                let other = Condition::Link(incoming[self.random.index(incoming.len())]);
                let condition = match self.random.below(3) {
                    0 => Condition::Not(Box::new(one)),
                    1 => Condition::Either(
                        Box::new(one),
                        Box::new(Condition::Even(self.term(Moment::start(id)))),
                    ),
                    _ => Condition::Both(Box::new(one), Box::new(Condition::Not(Box::new(other)))),
                };
                let text = condition.text(name);
                self.meaning.joins.insert(id, condition);
                Join::When(Expression(text))
            }
        }
    }

    /// Draws the conditions of an `if`.
    fn choice(&mut self, id: NodeId, node: &mut Node, name: &dyn Fn(NodeId) -> String) {
        let NodeKind::If { conditions, .. } = &mut node.kind else {
            return;
        };
        let drawn: Vec<Condition> = conditions
            .iter()
            .map(|_| self.condition(Moment::start(id)))
            .collect();
        for (place, condition) in conditions.iter_mut().zip(&drawn) {
            *place = Expression(condition.text(name));
        }
        self.meaning.choices.insert(id, drawn);
    }

    fn condition(&mut self, moment: Moment) -> Condition {
        match self.random.below(3) {
            0 => Condition::Less(self.term(moment), self.term(moment)),
            1 => Condition::Even(self.term(moment)),
            _ => Condition::Not(Box::new(Condition::Less(
                self.term(moment),
                Term::Constant(500),
            ))),
        }
    }

    fn link(&mut self, link: Link, name: &dyn Fn(NodeId) -> String) -> Link {
        if self.random.happens(Rate::percent(55)) {
            return link;
        }
        let condition = self.condition(Moment::end(link.from));
        let when = Some(Expression(condition.text(name)));
        self.meaning.whens.insert((link.from, link.to), condition);
        Link { when, ..link }
    }

    /// A term that may be read at this moment.
    fn term(&mut self, moment: Moment) -> Term {
        let one = self.simple_term(moment);
        match self.random.below(4) {
            0 => Term::Sum(Box::new(one), Box::new(self.simple_term(moment))),
            1 => {
                let sum = Term::Sum(Box::new(self.simple_term(moment)), Box::new(one.clone()));
                Term::Product(Box::new(one), Box::new(sum))
            }
            _ => one,
        }
    }

    fn simple_term(&mut self, moment: Moment) -> Term {
        let place = self.random.below(self.n_variables.into()) as u32;
        let writes = self.writes.get(&place).map_or(&[][..], Vec::as_slice);
        if writes
            .iter()
            .all(|write| self.order.are_ordered(*write, moment))
        {
            self.reads.entry(place).or_default().push(moment);
            return Term::Variable(place);
        }
        if self.random.below(3) == 0 {
            Term::Input
        } else {
            Term::Constant(self.random.below(1_000) as i64)
        }
    }

    /// A variable that may be written at this moment.
    fn writable(&mut self, moment: Moment) -> Option<u32> {
        let place = self.random.below(self.n_variables.into()) as u32;
        let others = [self.writes.get(&place), self.reads.get(&place)];
        let fits =
            |other: &Moment| other.node == moment.node || self.order.are_ordered(*other, moment);
        if !others.into_iter().flatten().flatten().all(fits) {
            return None;
        }
        self.writes.entry(place).or_default().push(moment);
        Some(place)
    }

    fn assign(&mut self, id: NodeId) -> NodeKind {
        let mut writes: BTreeMap<u32, Term> = BTreeMap::new();
        for _ in 0..self.random.between(1, 3) {
            let value = self.term(Moment::all_of(id));
            if let Some(place) = self.writable(Moment::all_of(id)) {
                writes.insert(place, value);
            }
        }
        if writes.is_empty() {
            return NodeKind::Empty;
        }
        let assignments = writes.iter().map(|(&variable, value)| Assignment {
            variable,
            value: value.expression(),
        });
        let kind = NodeKind::Assign(assignments.collect());
        self.meaning
            .assigns
            .insert(id, writes.into_iter().collect());
        kind
    }

    fn activity(&mut self, id: NodeId, draft: &Draft, options: &Options) -> Activity {
        let n_arguments = self.random.below(3);
        let arguments: Vec<Term> = (0..n_arguments)
            .map(|_| self.term(Moment::all_of(id)))
            .collect();
        let mut words = vec![
            Template("work".to_owned()),
            Template(draft.nodes[id.index()].name.clone()),
        ];
        words.extend(arguments.iter().map(Term::template));
        self.meaning.arguments.insert(id, arguments);
        let n_outputs = self.random.below(3);
        let outputs = (0..n_outputs).map(|number| Produced {
            name: format!("o{number}"),
            path: format!("out{number}.txt"),
        });
        let stdout = self
            .random
            .happens(Rate::percent(35))
            .then(|| self.writable(Moment::end(id)));
        let has_work = self.random.happens(Rate::percent(50));
        let work = has_work.then(|| Work(self.random.between(1_000, 10_000_000)));
        let (retry, timeout) = self.draw_retry(id, options);
        let repeatable = self.random.happens(options.repeatable);
        let may_be_once = !repeatable && retry.attempts <= 1;
        let at_most_once = may_be_once && self.random.happens(options.at_most_once);
        Activity {
            command: Command::List(words),
            env: Vec::new(),
            stdin: None,
            inputs: self.draw_inputs(id, draft),
            outputs: outputs.collect(),
            stdout: stdout.flatten().map(|variable| Capture {
                variable,
                parse: Parse::Int,
            }),
            stderr: None,
            work,
            cores: if self.random.below(8) == 0 { 2 } else { 1 },
            // Not drawn, as the priority.
            memory: options.memory.filter(|_| id.0.is_multiple_of(3)),
            labels: Vec::new(),
            timeout,
            retry,
            cache: Caching::Unsaid,
            repeatable,
            at_most_once,
            // Not drawn: what else a seed draws stays as it is.
            priority: id.0.is_multiple_of(5).then_some((id.0 % 7) as i32 - 3),
            uses: None,
            activation: None,
            limits: None,
            // Not drawn either.
            replicas: (options.replicates && repeatable && id.0.is_multiple_of(2))
                .then_some(2 + id.0 / 2 % 3),
        }
    }

    fn draw_inputs(&mut self, id: NodeId, draft: &Draft) -> Vec<Staged> {
        let mut inputs = Vec::new();
        for number in 0..self.random.below(4) {
            let path = format!("in{number}.txt");
            if id.0 == 0 || self.random.below(6) == 0 {
                inputs.push(Staged {
                    path,
                    source: Source::Input(1),
                    gathers: false,
                    carried: None,
                });
                continue;
            }
            let producer = NodeId(self.random.below(id.0.into()) as u32);
            let NodeKind::Activity(activity) = &draft.nodes[producer.index()].kind else {
                continue;
            };
            if activity.outputs.is_empty() || !self.order.has_surely_run(producer, id) {
                continue;
            }
            let output = self.random.index(activity.outputs.len()) as u32;
            inputs.push(Staged {
                path,
                source: Source::Output {
                    activity: producer,
                    output,
                },
                gathers: false,
                carried: None,
            });
        }
        inputs
    }

    fn draw_retry(&mut self, id: NodeId, options: &Options) -> (Retry, Option<Span>) {
        if !self.random.happens(options.retries) {
            return (Retry::default(), None);
        }
        let attempts = self.random.between(2, 4) as u32;
        let failure = self.failure();
        let n_failing = self.random.between(0, u64::from(attempts) - 1) as u32;
        self.behaviours
            .insert(ActivityId(id.0), Behaviour { n_failing, failure });
        let on = match (failure, self.random.below(2)) {
            (Failure::ExitWith(code), 0) => vec![RetryOn::Exit(9), RetryOn::Exit(code.into())],
            (Failure::Timeout, 0) => vec![RetryOn::Timeout],
            _ => Vec::new(),
        };
        let backoff = Span(self.random.between(0, 1_500_000));
        let timeout = (failure == Failure::Timeout).then_some(Span::from_secs(3_600));
        (
            Retry {
                attempts,
                backoff,
                on,
                memory_percent: None,
            },
            timeout,
        )
    }

    fn failure(&mut self) -> Failure {
        match self.random.below(4) {
            0 => Failure::Exit,
            1 => Failure::ExitWith(self.random.between(2, 5) as u8),
            2 => Failure::Signal,
            _ => Failure::Timeout,
        }
    }

    /// One activity that never ends well, however often it is tried. Its command names the process, so that no other
    /// one has the same command with a good end, whose outcome may stand for it.
    fn draw_fault(&mut self, draft: &mut Draft) {
        let index = self.random.index(draft.nodes.len());
        let failure = self.failure();
        let NodeKind::Activity(activity) = &mut draft.nodes[index].kind else {
            return;
        };
        if failure == Failure::Timeout {
            activity.timeout = Some(Span::from_secs(3_600));
        }
        let own = Term::Constant((self.key.0 >> 1) as i64);
        if let Command::List(words) = &mut activity.command {
            words.push(own.template());
        }
        let id = ActivityId(index as u32);
        self.meaning
            .arguments
            .entry(id.node())
            .or_default()
            .push(own);
        let behaviour = Behaviour {
            n_failing: u32::MAX,
            failure,
        };
        self.behaviours.insert(id, behaviour);
    }

    fn draw_outputs(&mut self, draft: &mut Draft) {
        for number in 0..self.random.below(4) as usize {
            let name = format!("result{number}");
            let place = self.random.index(draft.nodes.len());
            let surely = match &draft.nodes[place].kind {
                NodeKind::Activity(activity) if !activity.outputs.is_empty() => {
                    self.order.surely_runs(NodeId(place as u32))
                }
                NodeKind::Activity(_)
                | NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => false,
            };
            let source = if surely {
                let source = Source::Output {
                    activity: NodeId(place as u32),
                    output: 0,
                };
                OutputSource::Produced(source)
            } else {
                let term = self.term(Moment::end(NodeId(0)));
                let expression = term.expression();
                self.meaning.outputs.insert(number, term);
                OutputSource::Expression(expression)
            };
            draft.outputs.push(Output { name, source });
        }
    }
}

/// A leaf before it is filled.
fn blank(leaf: Leaf) -> NodeKind {
    match leaf {
        Leaf::Empty => NodeKind::Empty,
        Leaf::Assign => NodeKind::Assign(Vec::new()),
        Leaf::Activity => NodeKind::Activity(Box::new(Activity::new(Command::List(Vec::new())))),
    }
}

#[cfg(test)]
mod tests;

//! The submission of a developer: a tree of controllers with activities as leaves.
//!
//! A [`Draft`] is the tree as it was read from a file or from a connection; [`Draft::check`] makes
//! a [`Definition`] of it, or lists all its problems. A `Definition` guarantees: the nodes are one
//! tree in which parents come before their children, every reference points at something, order of
//! execution has no cycle, and each reader of an output runs after its producer.

mod activity;
mod caching;
mod check;
mod environment;
mod for_each;
mod grow;
mod input;
pub mod limits;
mod links;
mod node;
mod on_fault;
mod order;
mod pick;
mod policy;
mod publish;
mod repeat;
#[cfg(test)]
mod tests;
mod tuning;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use minicbor::{Decode, Encode};

pub use self::activity::{
    Activity, Capture, Command, Parse, Produced, Retry, RetryOn, Source, Staged, Stdin,
};
pub use self::caching::Caching;
pub use self::check::{Race, is_process_name};
pub use self::environment::{
    Activation, CAPABLE, Capability, Container, Environment, is_variable_name,
};
pub use self::for_each::ForEach;
pub use self::grow::{Enclosing, Expansion};
pub use self::node::{Join, Link, Node, NodeKind};
pub use self::on_fault::OnFault;
pub use self::pick::{Pick, PickCase, PickSite, Picked};
pub use self::policy::Policy;
pub use self::publish::{Publish, PublishOf};
pub use self::repeat::{Repeat, Test};
pub use self::tuning::{Part, Tuning, Unused};

use crate::{ActivityGraph, ActivityId, NodeId, Type, Value};

/// A checked definition. Cheap to clone. It changes in one way alone: a for-each gets a body for each
/// item, once these are known, and a loop one for each iteration ([`Definition::expand`]).
#[derive(Clone, Debug)]
pub struct Definition(Arc<Checked>);

#[derive(Clone, Debug)]
struct Checked {
    draft: Draft,
    parents: Vec<Option<NodeId>>,
    incoming: links::LinkNumbers,
    outgoing: links::LinkNumbers,
    links: Vec<(NodeId, Link)>,
    activities: Vec<ActivityId>,
    /// Made when somebody asks for it, since it is another one after each growth.
    graph: Graph,
    /// True if a for-each or a loop is there.
    has_bodies: bool,
    /// Activities of the draft that read across the edge of a body.
    crossings: grow::Crossings,
    /// Inputs that are picked among the outputs of many items, by the controllers of the bodies that
    /// their readers lie in.
    picks: BTreeMap<NodeId, Vec<PickSite>>,
    grown: Option<Box<grow::Grown>>,
    /// The nodes beyond those of the draft.
    copies: grow::Copies,
    /// The places of the variables, in the order of their names.
    variables: Vec<u32>,
    /// The places of the variables of bodies, by their controllers.
    owned: BTreeMap<NodeId, Vec<u32>>,
    /// The places of the inputs, likewise.
    inputs: Vec<u32>,
}

/// A graph that is made when somebody asks for it.
#[derive(Clone, Default)]
struct Graph(OnceLock<ActivityGraph>);

impl fmt::Debug for Graph {
    /// Prints no content: it follows from the rest, whoever has asked.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Graph")
    }
}

/// A definition as written: the alphabet of files, connections and journals.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Draft {
    /// The process's name: `[a-z][a-z0-9-]*`.
    #[n(0)]
    pub name: String,
    /// The values that the submitter gives.
    #[n(1)]
    pub inputs: Vec<Input>,
    /// The process's own variables.
    #[n(2)]
    pub variables: Vec<Variable>,
    /// The values and files that the submitter gets.
    #[n(3)]
    pub outputs: Vec<Output>,
    /// Files beside the definition, by relative path: first those that lie in every attempt's
    /// directory, then those of activities that use them alone ([`Activity::uses`]).
    #[n(4)]
    pub files: Vec<String>,
    /// The way of data from activity to activity.
    #[n(5)]
    pub data: DataMode,
    /// Machines that keep a copy of the outputs of each activity, beside the one that made them.
    #[n(6)]
    pub copies: u32,
    /// The tree; node 0 is the root, and a child has a larger number than its parent.
    #[n(7)]
    pub nodes: Vec<Node>,
    /// Its turn among the waiting processes of its owner: a greater number goes first. 0 where
    /// nothing is said.
    #[n(8)]
    pub priority: Option<i32>,
    /// False if files that nobody needs any more are deleted while the process runs; nothing is said
    /// where they are kept.
    #[n(9)]
    pub keep_intermediates: Option<bool>,
    /// The action of the process when an activity has faulted; nothing is said where it does what is usual.
    #[n(10)]
    pub on_fault: Option<OnFault>,
    /// The number of files that lie in every attempt's directory; all of them where nothing is said.
    #[n(11)]
    pub n_common_files: Option<u32>,
    /// The rule by which it is planned again; nothing is said where it is the usual one.
    #[n(12)]
    pub policy: Option<Policy>,
    /// The environment that all commands get; nothing is said where it is that of their machine.
    #[n(13)]
    pub environment: Option<Box<Environment>>,
    /// Named limits: never more units of one are taken at the same time, see [`Activity::limits`].
    #[n(14)]
    pub limits: Option<Vec<(String, u32)>>,
    /// The results that are laid beside the definition at the end; nothing is said where there are none.
    #[n(15)]
    pub publish: Option<Vec<Publish>>,
    /// Files that are picked among the outputs of many items ([`Source::Pick`]); nothing is said where
    /// there are none.
    #[n(16)]
    pub picks: Option<Vec<Pick>>,
    /// The parameters of that rule; nothing is said where they are the usual ones.
    #[n(17)]
    pub tuning: Option<Tuning>,
}

/// The way of data from activity to activity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum DataMode {
    /// From the machine of the producer to that of the consumer.
    #[n(0)]
    #[default]
    Direct,
    /// Through the machines of the controllers between them, which keep it. Each output is copied to a second
    /// machine as well, as with [`Draft::copies`].
    #[n(1)]
    Controllers,
}

impl DataMode {
    /// Its name in the language.
    pub fn name(self) -> &'static str {
        match self {
            DataMode::Direct => "direct",
            DataMode::Controllers => "controllers",
        }
    }

    /// The way that users call by a name.
    pub fn named(name: &str) -> Option<DataMode> {
        let mut all = [DataMode::Direct, DataMode::Controllers].into_iter();
        all.find(|one| one.name() == name)
    }
}

/// Something that the submitter gives.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Input {
    /// Its name, read as `inputs.NAME`.
    #[n(0)]
    pub name: String,
    /// The type of its values.
    #[n(1)]
    pub kind: Type,
    /// Its value where none is given.
    #[n(2)]
    pub default: Option<Value>,
    /// The least number it may be.
    #[n(3)]
    pub minimum: Option<f64>,
    /// The greatest number it may be.
    #[n(4)]
    pub maximum: Option<f64>,
}

/// A variable, read and written by its name.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Variable {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// The type of its values.
    #[n(1)]
    pub kind: Type,
    /// Its value at the start; `Null` where none is declared.
    #[n(2)]
    pub initial: Value,
    /// The for-each or loop of which each body has a variable of its own; that of the process where
    /// nothing is said.
    #[n(3)]
    pub of: Option<NodeId>,
}

/// Something that the submitter gets when the process has completed.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub struct Output {
    /// Its name.
    #[n(0)]
    pub name: String,
    /// Its source.
    #[n(1)]
    pub source: OutputSource,
}

/// The source of an output of a process.
#[derive(Clone, Debug, PartialEq, Encode, Decode)]
pub enum OutputSource {
    /// The value of an expression at the end.
    #[n(0)]
    Expression(#[n(0)] Expression),
    /// A file or directory that an activity produced.
    #[n(1)]
    Produced(#[n(0)] Source),
    /// What an activity produced for each item of the for-each that it lies in, as a list.
    #[n(2)]
    Gathered(#[n(0)] Source),
}

/// An expression: the text between `${` and `}`, in the expression language.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Expression(#[n(0)] pub String);

/// Text in which each `${...}` stands for the value of an expression; `$${` stands for `${`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(transparent)]
pub struct Template(#[n(0)] pub String);

/// One write of an `assign`.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Assignment {
    /// The place of the variable in [`Draft::variables`].
    #[n(0)]
    pub variable: u32,
    /// The new value.
    #[n(1)]
    pub value: Expression,
}

/// The place of a problem in a definition; the reader of the file knows the line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
pub struct Place {
    /// The node, or none for what stands above the tree.
    #[n(0)]
    pub node: Option<NodeId>,
    /// The field of it, as the user writes it, with dots between: `inputs.corpus.txt`, `links.2.from`.
    #[n(1)]
    pub field: String,
}

/// Something wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Problem {
    /// The place.
    #[n(0)]
    pub place: Place,
    /// The problem, in a sentence without a full stop.
    #[n(1)]
    pub message: String,
    /// The correction, where it is known.
    #[n(2)]
    pub hint: Option<String>,
}

/// A link that orders an activity after the producer of one of its inputs, because nothing else
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataLink {
    /// The parallel controller that has the link now.
    pub controller: NodeId,
    /// The place among its links.
    pub link: usize,
    /// The activity that reads.
    pub reader: NodeId,
    /// The place in its [`Activity::inputs`].
    pub input: usize,
}

impl Draft {
    /// Adds a link without a condition for each output that an activity reads below a parallel
    /// controller without any order between the two. Returns the new links. O(inputs) where
    /// sequences and links order most of them, within [`limits::ORDER_STEPS_MAX`] otherwise.
    pub fn order_by_data(&mut self) -> Vec<DataLink> {
        check::order_by_data(self)
    }

    /// Variables that two steps may write at the same time, the first two of each. Looks at the order
    /// that the draft says, so after [`Draft::order_by_data`]. O(steps + links) where no variable has two
    /// writers, within [`limits::ORDER_STEPS_MAX`] otherwise.
    pub fn races(&self) -> Vec<Race> {
        check::races(self)
    }

    /// Checks everything that can be checked without expressions, and names all that is wrong.
    pub fn check(self) -> Result<Definition, Vec<Problem>> {
        check::check(self).map(|checked| Definition(Arc::new(checked)))
    }

    /// The definition of a draft that has been accepted and recorded, maybe by another version of
    /// the program: what is a rule is not checked again, only what is needed to read it at all. The
    /// error says why it cannot be understood.
    pub fn recorded(self) -> Result<Definition, Vec<Problem>> {
        check::recorded(self).map(|checked| Definition(Arc::new(checked)))
    }

    /// One activity, or none where the node is something else.
    pub fn activity(&self, id: ActivityId) -> Option<&Activity> {
        self.nodes.get(id.node().index())?.activity()
    }

    /// Returns true if the outputs of each activity are copied to another machine than the one that made
    /// them.
    pub fn keeps_copies(&self) -> bool {
        self.copies > 0 || self.data == DataMode::Controllers
    }

    /// Variables of the environment of all commands.
    pub fn common_env(&self) -> &[(String, Template)] {
        self.environment.as_ref().map_or(&[], |all| &all.env)
    }

    /// The named limits of the process, with the units of each.
    pub fn named_limits(&self) -> &[(String, u32)] {
        self.limits.as_deref().unwrap_or_default()
    }

    /// The units of a named limit; none where the process has no such limit.
    pub fn named_limit(&self, name: &str) -> Option<u32> {
        let mut limits = self.named_limits().iter();
        limits.find(|(own, _)| own == name).map(|(_, most)| *most)
    }

    /// The software that an activity runs with: its own, or that of all.
    pub fn activation_of<'a>(&'a self, activity: &'a Activity) -> Option<&'a Activation> {
        let common = self.environment.as_ref();
        let common = common.and_then(|all| all.activation.as_ref());
        activity.activation.as_ref().or(common)
    }

    /// Adds the capability that an activity asks of a machine to the labels that it asks for. A label of this
    /// name that the definition asks for itself stays.
    fn ask_for_capabilities(&mut self) {
        let common = self.environment.as_ref();
        let common = common.and_then(|all| all.activation.as_ref()).cloned();
        for node in &mut self.nodes {
            let NodeKind::Activity(activity) = &mut node.kind else {
                continue;
            };
            let activation = activity.activation.as_ref().or(common.as_ref());
            let Some(capability) = activation.and_then(Activation::capability) else {
                continue;
            };
            let label = capability.label();
            if activity.labels.iter().all(|(name, _)| name != label) {
                activity.labels.push((label.to_owned(), CAPABLE.to_owned()));
            }
        }
    }

    /// The cases of a pick; none where there is no such pick.
    pub fn pick_cases(&self, pick: u32) -> &[PickCase] {
        let pick = self.picks.as_ref().and_then(|all| all.get(pick as usize));
        pick.map_or(&[], |pick| &pick.cases)
    }

    /// The sources that a file may come from: itself, or those of the cases that it is picked from.
    pub fn sources(&self, source: Source) -> impl Iterator<Item = Source> + '_ {
        let (own, cases) = match source {
            Source::Pick(pick) => (None, self.pick_cases(pick)),
            Source::Output { .. } | Source::Input(_) | Source::Item(_) => (Some(source), &[][..]),
        };
        own.into_iter().chain(cases.iter().map(|case| case.source))
    }

    /// The files that lie in every attempt's directory.
    pub fn common_files(&self) -> &[String] {
        let n_common = self.n_common_files.map_or(usize::MAX, |n| n as usize);
        &self.files[..n_common.min(self.files.len())]
    }

    /// The files beside the definition that lie in the directory of an activity, with their places in
    /// [`Draft::files`], each once.
    pub fn files_of<'a>(
        &'a self,
        activity: &'a Activity,
    ) -> impl Iterator<Item = (usize, &'a str)> + 'a {
        let n_common = self.common_files().len();
        let own = activity.uses.iter().flatten().map(|&place| place as usize);
        let places = (0..n_common).chain(own.filter(move |&place| place >= n_common));
        places.filter_map(|place| Some((place, self.files.get(place)?.as_str())))
    }
}

impl Definition {
    /// The draft that was checked, as it was submitted.
    pub fn draft(&self) -> &Draft {
        self.0.submitted()
    }

    /// The same definition with this priority, which is at most [`limits::PRIORITY_MAX`] either way.
    pub fn with_priority(mut self, priority: i32) -> Definition {
        let max = limits::PRIORITY_MAX;
        Arc::make_mut(&mut self.0).set_priority(priority.clamp(-max, max));
        self
    }

    /// The same definition with this rule for slow machines, where there is one, and these parameters, where there are
    /// some. Those of its own that the rule does not have are left out. Refused are others that it does not have.
    pub fn with_policy(
        mut self,
        policy: Option<Policy>,
        tuning: Tuning,
    ) -> Result<Definition, Unused> {
        if let Some(policy) = policy {
            Arc::make_mut(&mut self.0).set_policy(policy);
        }
        if !tuning.is_empty() {
            let rule = self.draft().policy;
            if let Some(unused) = rule.and_then(|rule| tuning.unused_by(rule)) {
                return Err(unused);
            }
            Arc::make_mut(&mut self.0).set_tuning(tuning);
        }
        Ok(self)
    }

    /// The process's priority; 0 where nothing is said.
    pub fn priority(&self) -> i32 {
        self.0.draft.priority.unwrap_or_default()
    }

    /// Returns true if files that nobody needs any more are deleted while the process runs.
    pub fn drops_intermediates(&self) -> bool {
        self.0.draft.keep_intermediates == Some(false)
    }

    /// The process's name.
    pub fn name(&self) -> &str {
        &self.0.draft.name
    }

    /// True if a for-each or a loop is there, so that it may grow.
    pub fn may_grow(&self) -> bool {
        self.0.has_bodies
    }

    /// All nodes, those of grown bodies too; node 0 is the root.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = &Node> {
        (0..self.n_nodes() as u32).map(|node| self.node(NodeId(node)))
    }

    /// The controller of a node, or none for the root.
    pub fn parent(&self, id: NodeId) -> Option<NodeId> {
        self.0.parents[id.index()]
    }

    /// All activities in the order of their ids.
    pub fn activities(&self) -> &[ActivityId] {
        &self.0.activities
    }

    /// One activity, or none where the node is something else.
    pub fn activity(&self, id: ActivityId) -> Option<&Activity> {
        self.activity_as_written(id)?;
        self.node(id.node()).activity()
    }

    /// The place of a variable in [`Draft::variables`]. O(log n).
    pub fn variable(&self, name: &str) -> Option<usize> {
        let variables = &self.0.draft.variables;
        place_of(&self.0.variables, name, |place| &variables[place].name)
    }

    /// The body that a variable belongs to where a node lies; none where it is that of the process, or the
    /// node lies elsewhere.
    pub fn body_of(&self, variable: usize, node: NodeId) -> Option<NodeId> {
        let of = self.0.draft.variables.get(variable)?.of?;
        let mut enclosing = self.enclosing(node);
        let found = enclosing.find(|around| self.origin(around.each) == of);
        found.map(|around| around.body)
    }

    /// The variables of each body of a for-each or loop of the draft, by their places.
    pub fn variables_of(&self, each: NodeId) -> &[u32] {
        self.0.owned.get(&each).map_or(&[], Vec::as_slice)
    }

    /// The place of an input in [`Draft::inputs`]. O(log n).
    pub fn input(&self, name: &str) -> Option<usize> {
        let inputs = &self.0.draft.inputs;
        place_of(&self.0.inputs, name, |place| &inputs[place].name)
    }

    /// All links of the definition with the parallel controller that declares each; their places
    /// in this list number them.
    pub fn links(&self) -> &[(NodeId, Link)] {
        &self.0.links
    }

    /// The numbers of the links that end at a node.
    pub fn incoming(&self, id: NodeId) -> &[u32] {
        self.0.incoming.of(id)
    }

    /// The numbers of the links that begin at a node.
    pub fn outgoing(&self, id: NodeId) -> &[u32] {
        self.0.outgoing.of(id)
    }

    /// The activities and what each waits for. Works that are not given and the bytes of edges
    /// are zero: the planner fills in what it has learned.
    pub fn graph(&self) -> &ActivityGraph {
        let checked = &*self.0;
        let graph = || {
            let nodes = self.all_lent();
            order::Order::new(&nodes, &checked.links).graph(&nodes)
        };
        checked.graph.0.get_or_init(graph)
    }

    /// The path of a node for people: the names from the root down, a controller without a name
    /// by its kind.
    pub fn path(&self, id: NodeId) -> String {
        let mut names = Vec::new();
        let mut at = Some(id);
        while let Some(node) = at {
            names.push(self.node(node).label());
            at = self.parent(node);
        }
        names.reverse();
        names.join("/")
    }
}

fn place_of<'a>(
    by_name: &[u32],
    name: &str,
    name_of: impl Fn(usize) -> &'a String,
) -> Option<usize> {
    let found = by_name.binary_search_by(|&place| name_of(place as usize).as_str().cmp(name));
    found.ok().map(|at| by_name[at] as usize)
}

impl PartialEq for Definition {
    fn eq(&self, other: &Definition) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
            || self.0.draft == other.0.draft && self.nodes().eq(other.nodes())
    }
}

impl Place {
    /// The field in which an `if` has the condition of this number: `if`, `elif.0.if`, `elif.1.if`.
    pub fn condition(number: usize) -> String {
        match number.checked_sub(1) {
            None => "if".to_owned(),
            Some(elif) => format!("elif.{elif}.if"),
        }
    }
}

impl Place {
    /// The field in which a pick has the source of this case: `then`, `else.then`, `else.else`, below the
    /// field of what is picked; that field itself where there is one case alone.
    pub fn picked(of: &str, number: usize, n_cases: usize) -> String {
        let is_last = number + 1 == n_cases;
        let end = if is_last { "" } else { ".then" };
        format!("{of}{}{end}", ".else".repeat(number))
    }

    /// The field in which a pick has the condition of this case: `if`, `else.if`.
    pub fn picked_when(of: &str, number: usize) -> String {
        format!("{of}{}.if", ".else".repeat(number))
    }
}

impl Produced {
    /// True if it is a directory rather than one file.
    pub fn is_directory(&self) -> bool {
        self.path.ends_with('/') || self.is_glob()
    }

    /// What the name of a file ends with, from its first dot on: `.tar.gz`; empty where there is none.
    pub fn extension(&self) -> &str {
        let name = self
            .path
            .rsplit_once('/')
            .map_or(&*self.path, |(_, name)| name);
        let start = name
            .char_indices()
            .skip(1)
            .find(|&(_, letter)| letter == '.');
        start.map_or("", |(at, _)| &name[at..])
    }

    /// True if the path is a pattern.
    pub fn is_glob(&self) -> bool {
        self.path.contains(['*', '?', '['])
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.place.node {
            write!(f, "{node}")?;
        }
        if !self.place.field.is_empty() {
            write!(f, " {}", self.place.field)?;
        }
        write!(f, ": {}", self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, " ({hint})")?;
        }
        Ok(())
    }
}

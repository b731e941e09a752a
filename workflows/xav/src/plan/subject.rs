//! The subject of a plan: the activities of a file, and the machines that they may use.

use std::collections::BTreeMap;
use std::path::Path;

use ::history::{Counts, Estimates, Lengths};
use activity_daemon::facts;
use language::wfformat::{ImportError, RecordedGraph};
use model::{ActivityId, Definition, GroupId, Network, NodeId, Platform, Resource, ResourceId};
use schedule::{Dag, DagError, Demand, Problem, Rates, Task, Tree, platform};

use super::Mode;
use super::source::{Content, PlanSource};
use crate::arguments::Recording;
use crate::failure::Failure;
use crate::report::groups::{self, Groups};
use crate::screen;
use crate::{history, machines};

/// A problem with the names of everything in it.
pub(crate) struct Subject {
    /// The name of the process.
    pub(crate) title: String,
    /// The problem for the schedulers.
    pub(crate) problem: Problem,
    /// The machines in words, for people.
    pub(crate) machines: String,
    /// The path of data between activities.
    pub(crate) mode: Mode,
    /// The controllers, where data goes through them.
    pub(crate) tree: Option<Controllers>,
    /// The meanings of the activities' colours.
    pub(crate) legend: Vec<String>,
    /// True if no work of any activity is known.
    pub(crate) is_guess: bool,
    /// True if a body is planned once that may run for many items, or again and again.
    pub(crate) has_bodies: bool,
    /// The length with as many bodies as in earlier runs, as a multiple of that in the plan; none where these are
    /// all in it, or nobody has seen any.
    pub(crate) expected: Option<f64>,
    /// The costs of each machine.
    pub(crate) rates: Vec<Rates>,
    /// True if any machine has a price.
    pub(crate) has_prices: bool,
    /// True if it is known of any machine what it draws.
    pub(crate) has_watts: bool,
    /// By machine: true if its power changes later, of which the plan knows nothing.
    pub(crate) changes_power: Vec<bool>,
    /// Names of the groups of a file.
    groups: Vec<String>,
    /// By position of the task; none for gates.
    tasks: Vec<Option<Named>>,
}

/// An activity as people see it.
struct Named {
    name: Box<str>,
    colour: usize,
}

/// The controllers of a process as a problem has them.
pub(crate) struct Controllers {
    /// Their hierarchy.
    pub(crate) tree: Tree,
    /// Their names, for people.
    pub(crate) names: Vec<String>,
}

/// A graph before it is a problem, with what is told of its tasks, in the order of its input.
struct Graph {
    title: String,
    dag: Dag,
    /// None for gates, and where there is no definition.
    given: Vec<Option<ActivityId>>,
    named: Vec<Option<Named>>,
    legend: Vec<String>,
    is_guess: bool,
    demands: BTreeMap<ActivityId, Demand>,
    /// Where there is one.
    definition: Option<Definition>,
}

/// A platform and what it is for people.
struct Machines {
    platform: Platform,
    shown: String,
    /// Names of its groups, where they have some.
    group_names: Vec<String>,
    /// By machine.
    rates: Vec<Rates>,
    has_prices: bool,
    has_watts: bool,
    /// By machine.
    changes_power: Vec<bool>,
}

impl Subject {
    /// Puts a file and the machines together, or says what is wrong with either.
    pub(crate) fn new(
        source: PlanSource,
        recording: &Recording,
        machines: Option<&str>,
        mode: Mode,
        as_json: bool,
    ) -> Result<Subject, Failure> {
        let mut graph = graph(source, recording)?;
        let dag = std::mem::take(&mut graph.dag);
        let Machines {
            platform,
            shown,
            group_names,
            rates,
            has_prices,
            has_watts,
            changes_power,
        } = platform_of(machines, &dag, as_json)?;
        let refused = |error: &dyn std::error::Error| {
            Failure::refused(format!("could not plan: {}", crate::failure::chain(error)))
        };
        let given: Vec<u32> = dag.tasks().map(|task| dag.given(task)).collect();
        let problem = Problem::new(dag, &platform).map_err(|error| refused(&error))?;
        let problem = problem
            .with_demands(|task| {
                let activity = graph.given[given[task as usize] as usize]?;
                graph.demands.get(&activity)
            })
            .map_err(|error| refused(&error))?;
        let tree = match (mode, &graph.definition) {
            (Mode::Controllers, Some(definition)) => {
                let tree = controllers(definition, &problem, &graph.given);
                Some(tree.map_err(|error| refused(&error))?)
            }
            (Mode::Direct | Mode::Controllers, _) => None,
        };
        let mut named = graph.named;
        let definition = graph.definition.as_ref();
        let has_bodies = definition.is_some_and(language::has_unknown_items);
        let slots: u32 = platform.resources().iter().map(|one| one.slots).sum();
        let expected = definition.filter(|_| has_bodies);
        let expected = expected.and_then(|definition| expected_factor(definition, slots));
        Ok(Subject {
            title: graph.title,
            problem,
            machines: shown,
            mode,
            tree,
            legend: graph.legend,
            is_guess: graph.is_guess,
            has_bodies,
            expected,
            rates,
            has_prices,
            has_watts,
            changes_power,
            groups: group_names,
            tasks: given
                .iter()
                .map(|&given| named[given as usize].take())
                .collect(),
        })
    }

    /// The name of a task; empty for a gate.
    pub(crate) fn name(&self, task: u32) -> &str {
        let named = self.tasks[task as usize].as_ref();
        named.map_or("", |named| &named.name)
    }

    /// The name of a group of machines, by its number. Named platforms call them `g0`, `g1`, as in the
    /// names of their machines.
    pub(crate) fn group(&self, number: u32) -> String {
        // Groups are numbered in the order of their file: each has a machine.
        let named = self.groups.get(number as usize);
        named.cloned().unwrap_or_else(|| format!("g{number}"))
    }

    /// The colour of a task.
    pub(crate) fn colour(&self, task: u32) -> usize {
        let named = self.tasks[task as usize].as_ref();
        named.map_or(usize::MAX, |named| named.colour)
    }

    /// The number of activities.
    pub(crate) fn n_activities(&self) -> usize {
        self.tasks.iter().flatten().count()
    }

    /// The reason why no machine fits a task, as a sentence.
    pub(crate) fn misfit(&self, task: u32) -> String {
        let name = self.name(task);
        let misfit = self.problem.misfit(task).unwrap_or_default();
        format!("activity {name} {misfit}")
    }
}

/// The activities with their works and the data between them.
fn graph(source: PlanSource, recording: &Recording) -> Result<Graph, Failure> {
    let shown = source.path.display();
    let failed = |error: &dyn std::fmt::Display| Failure::refused(format!("{shown}: {error}"));
    match source.content {
        Content::Definition(definition) => {
            of_definition(definition).map_err(|error| failed(&error))
        }
        Content::Recorded(recorded, definition) => of_recorded(recorded, definition, recording)
            .map_err(|why| match why {
                NotPlanned::Scale(error) => failed(&error),
                NotPlanned::Dag(error) => failed(&error),
            }),
    }
}

fn of_definition(definition: Definition) -> Result<Graph, DagError> {
    // As in a run.
    let remembered = history::of_definition(&definition);
    let is_guess = !::history::knows_any(&definition, "", &remembered);
    let estimates = Estimates::new(&definition, "", &remembered, None);
    let graph = definition.graph().weighted(
        |node| match node.activity {
            Some(activity) => estimates.of(&definition, activity, || None),
            None => node.work,
        },
        |_, _, bytes| bytes,
    );
    let dag = Dag::from_graph(&graph)?;
    let given: Vec<Option<ActivityId>> = graph.nodes().map(|node| node.activity).collect();
    drop(graph);
    let Groups {
        of,
        labels,
        has_others,
        ..
    } = groups::group(&definition, definition.activities());
    let activities = definition.activities();
    let named = |activity: ActivityId| Named {
        name: definition.node(activity.node()).label().into(),
        // Activities are in the order of their ids.
        colour: activities
            .binary_search(&activity)
            .map_or(usize::MAX, |place| of[place]),
    };
    Ok(Graph {
        title: definition.name().to_owned(),
        dag,
        named: given.iter().map(|activity| activity.map(named)).collect(),
        given,
        legend: legend(labels, has_others),
        is_guess,
        demands: demands(&definition),
        definition: Some(definition),
    })
}

/// The length with the bodies that are expected, as a run of this user counts it.
fn expected_factor(definition: &Definition, slots: u32) -> Option<f64> {
    let remembered = history::of_definition(definition);
    if !remembered.knows("", definition.name()) {
        return None;
    }
    let estimates = Estimates::new(definition, "", &remembered, None);
    let lengths = Lengths::new(
        definition,
        f64::from(slots.max(1)),
        |activity| {
            estimates
                .of(definition, activity, || None)
                .reference_seconds()
        },
        |controller| Counts::remembered(definition, "", &remembered, controller),
    );
    (lengths.expected != lengths.planned).then(|| lengths.factor())
}

/// Why a recorded workflow is not planned.
enum NotPlanned {
    Scale(ImportError),
    Dag(DagError),
}

/// A recorded workflow: runtimes and sizes as they were recorded, or, where a scale is given, what
/// the commands of a run would use. A task takes one slot on any machine, as in the literature.
fn of_recorded(
    mut recorded: RecordedGraph,
    definition: Option<Definition>,
    recording: &Recording,
) -> Result<Graph, NotPlanned> {
    let is_scaled = recording.time_scale.is_some() || recording.cpu_total.is_some();
    let works = recorded
        .works(&recording.options())
        .map_err(NotPlanned::Scale)?;
    let tasks: Vec<Task> = recorded
        .tasks
        .iter()
        .zip(works)
        .map(|(task, work)| Task {
            work: match is_scaled {
                true => work.reference_seconds(),
                false => task.runtime,
            },
            cores: 1,
        })
        .collect();
    let data_scale = recording.data_scale.unwrap_or(1.0);
    let mut edges = std::mem::take(&mut recorded.edges);
    for (_, _, data) in &mut edges {
        *data *= data_scale;
    }
    let dag = Dag::new(&tasks, &edges).map_err(NotPlanned::Dag)?;
    drop(edges);
    let by_name: BTreeMap<&str, ActivityId> = match &definition {
        // Oddities were told when the definition was made.
        Some(definition) => definition
            .activities()
            .iter()
            .map(|&id| (definition.node(id.node()).name.as_str(), id))
            .collect(),
        None => {
            for oddity in recorded.warnings() {
                screen::warn(&oddity);
            }
            BTreeMap::new()
        }
    };
    let names = || recorded.tasks.iter().map(|task| task.activity.as_str());
    let given = names().map(|name| by_name.get(name).copied()).collect();
    let title = recorded.process();
    let Groups {
        of,
        labels,
        has_others,
        ..
    } = groups::group_names(names(), &title);
    let named = recorded.tasks.into_iter().zip(of).map(|(task, colour)| {
        Some(Named {
            name: task.activity.into(),
            colour,
        })
    });
    Ok(Graph {
        title,
        dag,
        given,
        named: named.collect(),
        legend: legend(labels, has_others),
        is_guess: false,
        demands: BTreeMap::new(),
        definition,
    })
}

/// The names of the groups that have a colour of their own.
fn legend(mut labels: Vec<String>, has_others: bool) -> Vec<String> {
    if has_others {
        labels.pop();
    }
    labels
}

/// The demands of activities beside cores, of those that have some.
fn demands(definition: &Definition) -> BTreeMap<ActivityId, Demand> {
    let asks = |&id: &ActivityId| {
        let activity = definition.activity(id)?;
        if activity.memory.is_none() && activity.labels.is_empty() {
            return None;
        }
        let memory = activity.memory.unwrap_or_default();
        let labels = activity.labels.clone();
        Some((
            id,
            Demand {
                memory,
                labels,
                ..Demand::default()
            },
        ))
    };
    definition.activities().iter().filter_map(asks).collect()
}

/// The machines that the user names, and what they are for people.
fn platform_of(machines: Option<&str>, dag: &Dag, as_json: bool) -> Result<Machines, Failure> {
    let mut group_names = Vec::new();
    let mut rates = Vec::new();
    let (mut has_prices, mut has_watts) = (false, false);
    let (platform, shown) = match machines {
        None => (this_machine(), "this machine".to_owned()),
        Some(name) if name.starts_with("reference:") || name.starts_with("paper:") => {
            let platform = platform::named(name, dag)
                .map_err(|error| Failure::refused(crate::failure::chain(&error)))?;
            (platform, name.to_owned())
        }
        Some(path) => {
            let path = Path::new(path);
            if !path.exists() {
                let shown = path.display();
                return Err(
                    Failure::refused(format!("there is no platform file {shown}")).help(
                        "a platform is a file, reference:64:lan (8, 64 or 512 machines; lan or ccr1, \
                         ccr10...) or paper:10:7 (groups and seed)",
                    ),
                );
            }
            let file = machines::read_platform(path, as_json)?;
            let platform = file.platform().map_err(|error| Failure::because(&error))?;
            for (_, _, machine) in file.machines() {
                has_prices |= machine.price.is_some();
                has_watts |= machine.watts.is_some();
                rates.push(Rates {
                    price: machine.price.unwrap_or(0.0),
                    idle_watts: machine.watts.map_or(0.0, |watts| watts.idle),
                    busy_watts: machine.watts.map_or(0.0, |watts| watts.busy),
                });
            }
            group_names = file.groups.into_iter().map(|group| group.name).collect();
            (platform, path.display().to_string())
        }
    };
    let resources = platform.resources();
    rates.resize(resources.len(), Rates::default());
    let slots: u64 = resources.iter().map(|one| u64::from(one.slots)).sum();
    let groups: std::collections::BTreeSet<GroupId> =
        resources.iter().map(|one| one.id.group).collect();
    let count = |n: usize, one: &str, many: &str| crate::text::count(n as u64, one, many);
    let mut shown = format!("{shown}: {}", count(resources.len(), "machine", "machines"));
    if groups.len() > 1 {
        shown.push_str(&format!(" in {}", count(groups.len(), "group", "groups")));
    }
    shown.push_str(&format!(", {}", crate::text::count(slots, "slot", "slots")));
    let changes = resources
        .iter()
        .map(|one| platform.power_steps(one.id).is_some());
    let changes_power: Vec<bool> = changes.collect();
    let n_changing = changes_power.iter().filter(|&&changes| changes).count();
    if n_changing > 0 {
        shown.push_str(&format!(
            "; the power of {} changes later, and the plan has that of the start",
            count(n_changing, "machine", "machines")
        ));
    }
    Ok(Machines {
        platform,
        shown,
        group_names,
        rates,
        has_prices,
        has_watts,
        changes_power,
    })
}

/// This machine as a run would have it.
fn this_machine() -> Platform {
    let resource = Resource {
        id: ResourceId::local(0),
        name: shell::environment::hostname(),
        power: 1.0,
        slots: machines::cores(),
        memory: facts::memory(),
        labels: facts::labels(),
    };
    let network = Network::uniform(language::platform::LINK_DEFAULT);
    Platform::new(vec![resource], network).expect("one machine with a slot is a platform")
}

/// The controllers above the activities. Where the whole process is one activity it has one.
fn controllers(
    definition: &Definition,
    problem: &Problem,
    given: &[Option<ActivityId>],
) -> Result<Controllers, schedule::TreeError> {
    let mut number: BTreeMap<NodeId, u32> = BTreeMap::new();
    // The position of each node among its siblings, from 1.
    let mut places = vec![0; definition.nodes().len()];
    for node in definition.nodes() {
        for (place, child) in (1..).zip(node.children()) {
            places[child.index()] = place;
        }
    }
    let (mut parent, mut names): (Vec<Option<u32>>, Vec<String>) = (Vec::new(), Vec::new());
    for (id, node) in (0..).map(NodeId).zip(definition.nodes()) {
        if id != NodeId(0) && node.children().is_empty() {
            continue;
        }
        // A parent has a lower number than its children.
        let above = definition.parent(id);
        let above = above.and_then(|above| number.get(&above).copied());
        number.insert(id, parent.len() as u32);
        let label = label(definition, id, places[id.index()]);
        names.push(match above {
            Some(above) => format!("{}/{label}", names[above as usize]),
            None => label,
        });
        parent.push(above);
    }
    let of_task: Vec<u32> = given
        .iter()
        .map(|activity| {
            let above = activity.and_then(|activity| definition.parent(activity.node()));
            above
                .and_then(|above| number.get(&above).copied())
                .unwrap_or(0)
        })
        .collect();
    Ok(Controllers {
        tree: Tree::new(problem, &parent, &of_task)?,
        names,
    })
}

/// A controller's part of a path: its name, or its kind and its position among its siblings.
fn label(definition: &Definition, id: NodeId, place: usize) -> String {
    let node = definition.node(id);
    if node.name.is_empty() && id != NodeId(0) {
        format!("{}.{place}", node.keyword())
    } else {
        node.label().to_owned()
    }
}

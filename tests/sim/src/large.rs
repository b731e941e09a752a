//! A parallel of 100,000 activities: it compiles, is planned, runs, and its state and plan take
//! less than a kilobyte for each activity. Items of a for-each take less than half of that.

use std::collections::BTreeMap;
use std::fmt;

use machine::{Drive, History};
use model::{
    Activity, Capture, Command, Draft, Expression, ForEach, Join, Mono, Node, NodeId, NodeKind,
    Parse, Policy, Produced, Repeat, Source, Span, Staged, SubmitKey, Template, Test, Type, Value,
    Variable,
};
use process_core::{Config, ProcessManager};
use simulator::{Faults, Rate, Seen, Setup, Sim, Snapshots, Submission};
use wire::client::{Answer, Phase, Submit};

use crate::allocator;

/// Activities of the process.
pub const ACTIVITIES: u32 = 100_000;

/// Bytes that the state and the plan of one activity may take.
pub const BYTES_MAX: usize = 1_024;

/// Bytes that an item may take once it has ended, of a process that still runs.
pub const ITEM_BYTES_MAX: usize = 500;

/// Bytes that an iteration may take once it has ended and is folded: some 70, of which lists that double when they
/// are full reserve up to twice as many.
pub const ITERATION_BYTES_MAX: usize = 120;

/// Activities of ended iterations of which everything is kept.
const KEPT: u32 = 100;

/// The measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figures {
    /// Activities of the process.
    pub n_activities: u32,
    /// Bytes of its state and plan in the process manager's memory, when all have ended; 0 where no
    /// allocator counts.
    pub state_bytes: usize,
    /// The most bytes in use by everything together, simulated disks, network and clients included.
    pub peak_bytes: usize,
    /// Simulated time from the submission to the rest.
    pub took: Span,
    /// Things that happened.
    pub n_happened: u64,
    /// Plans that were asked for.
    pub n_plans: u32,
    /// Snapshots of the process manager.
    pub snapshots: Snapshots,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figures {
            n_activities,
            state_bytes,
            peak_bytes,
            took,
            n_happened,
            n_plans,
            snapshots,
        } = *self;
        write!(
            f,
            "{n_activities} activities: state and plan {} bytes an activity, peak of everything \
             {} MiB, {n_plans} plans, {n_happened} things happened in {took} simulated, {} snapshots with \
             {} KiB together and {} KiB in the last",
            state_bytes / n_activities as usize,
            peak_bytes >> 20,
            snapshots.n,
            snapshots.bytes >> 10,
            snapshots.last_bytes >> 10,
        )
    }
}

/// A parallel of so many activities, each `true`.
pub fn flat(n_activities: u32) -> Draft {
    let mut nodes = vec![Node {
        name: String::new(),
        kind: NodeKind::Parallel {
            children: (1..=n_activities).map(NodeId).collect(),
            links: Vec::new(),
        },
        join: Join::All,
    }];
    nodes.extend((0..n_activities).map(|number| Node {
        name: format!("a{number}"),
        kind: NodeKind::Activity(Box::new(Activity::new(Command::List(vec![Template(
            "true".to_owned(),
        )])))),
        join: Join::All,
    }));
    Draft {
        name: "flat".to_owned(),
        nodes,
        ..Draft::default()
    }
}

/// So many items of a for-each, each an activity that makes a file and writes a number to a variable.
pub fn items(n_items: u32) -> Draft {
    let words = ["make", "${item}"].map(|word| Template(word.to_owned()));
    let mut activity = Activity::new(Command::List(words.to_vec()));
    activity.outputs = vec![Produced {
        name: "part".to_owned(),
        path: "part.txt".to_owned(),
    }];
    activity.stdout = Some(Capture {
        variable: 0,
        parse: Parse::Int,
    });
    let nodes = vec![
        Node {
            name: "each".to_owned(),
            kind: NodeKind::ForEach(Box::new(ForEach {
                item: "item".to_owned(),
                complete_when: None,
                index: None,
                items: Expression(format!("range({n_items})")),
                key: None,
                at_most: None,
                children: vec![NodeId(1)],
            })),
            join: Join::All,
        },
        Node {
            name: "make".to_owned(),
            kind: NodeKind::Activity(Box::new(activity)),
            join: Join::All,
        },
    ];
    Draft {
        name: "items".to_owned(),
        variables: vec![Variable {
            name: "made".to_owned(),
            kind: Type::Int,
            initial: Value::Null,
            of: None,
        }],
        nodes,
        // Only plans for new items are to be counted.
        policy: Some(Policy::Static),
        ..Draft::default()
    }
}

/// An activity and then a loop of so many iterations, each an activity that makes a file, which the next one
/// reads.
pub fn iterations(n_iterations: u32) -> Draft {
    let mut draft = items(1);
    let make = draft.nodes.remove(1);
    let node = |name: &str, kind| Node {
        name: name.to_owned(),
        kind,
        join: Join::All,
    };
    let mut begin = Activity::new(Command::List(vec![Template("begin".to_owned())]));
    begin.outputs = vec![Produced {
        name: "part".to_owned(),
        path: "part.txt".to_owned(),
    }];
    let again = Repeat {
        test: Test::While,
        condition: Expression(format!("item < {n_iterations}")),
        index: Some("item".to_owned()),
        max_iterations: Some(n_iterations),
        children: vec![NodeId(3)],
    };
    draft.nodes = vec![
        node("", NodeKind::Sequence(vec![NodeId(1), NodeId(2)])),
        node("begin", NodeKind::Activity(Box::new(begin))),
        node("", NodeKind::Repeat(Box::new(again))),
        make,
    ];
    let output = |activity| Source::Output {
        activity: NodeId(activity),
        output: 0,
    };
    if let NodeKind::Activity(activity) = &mut draft.nodes[3].kind {
        activity.inputs = vec![Staged {
            path: "before.txt".to_owned(),
            source: output(1),
            gathers: false,
            carried: Some(output(3)),
        }];
    }
    draft
}

/// Runs a parallel of so many activities, and measures it.
pub fn run(n_activities: u32) -> Result<Figures, String> {
    let figures = measure(flat(n_activities), n_activities)?;
    let Figures { state_bytes, .. } = figures;
    match state_bytes > BYTES_MAX * n_activities as usize {
        false => Ok(figures),
        true => Err(format!(
            "{state_bytes} bytes of state and plan; at most {BYTES_MAX} an activity"
        )),
    }
}

/// Runs a process of so many activities, and measures it.
pub fn measure(draft: Draft, n_activities: u32) -> Result<Figures, String> {
    allocator::reset_peak();
    let submit = Submit::new(SubmitKey(7), draft, "large.yaml");
    let setup = Setup {
        machines: (2, 2),
        slots: (32, 32),
        n_happenings_max: 100 * u64::from(n_activities),
        looks_closely: false,
        kept_activities: Some(KEPT),
        // The driver's own snapshots are enough: each costs as much as the process is large.
        faults: Faults {
            compaction: Rate::NEVER,
            ..Faults::none()
        },
        ..Setup::calm()
    };
    let submission = Submission {
        submit,
        manager: 0,
        user: None,
        at: Mono(0),
        cancels_at: None,
    };
    let mut sim = Sim::new(1, setup, vec![submission], BTreeMap::new(), 1);
    let mut phase = None;
    let mut n_plans = 0;
    let mut watch = |seen: &Seen<'_>| {
        n_plans += u32::from(matches!(seen, Seen::Plans(_)));
        if let Seen::Told(_, Answer::Status(status)) = seen {
            phase = Some((status.summary.phase, status.summary.totals.completed));
        }
    };
    sim.run(&mut Watch(&mut watch))
        .map_err(|broken| broken.to_string())?;
    if phase != Some((Phase::Completed, n_activities)) {
        return Err(format!("it ended as {phase:?}"));
    }
    let peak_bytes = allocator::peak();
    let histories = sim.process_histories()?;
    let state_bytes = state_bytes(histories);
    Ok(Figures {
        n_activities,
        state_bytes,
        peak_bytes,
        took: sim.at().since(Mono(0)),
        n_happened: sim.n_happened(),
        n_plans,
        snapshots: sim.process_snapshots(),
    })
}

/// The memory of a manager that has replayed these histories.
fn state_bytes(histories: Vec<History<ProcessManager>>) -> usize {
    let drive = Drive::replay(ProcessManager::new(Config::default()), histories);
    let with_state = allocator::in_use();
    drop(drive);
    with_state - allocator::in_use()
}

struct Watch<'a>(&'a mut dyn FnMut(&Seen<'_>));

impl simulator::Observer for Watch<'_> {
    fn see(&mut self, _: Mono, seen: &Seen<'_>) -> Result<(), String> {
        (self.0)(seen);
        Ok(())
    }
}

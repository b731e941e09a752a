//! Bodies of loops: as many iterations as are drawn, each of which may read from the one before.

use model::{Draft, Expression, Join, Node, NodeId, NodeKind, OutputSource, Repeat, Source, Test};

use super::{Body, activity_mut};
use crate::random::{Random, Rate};

/// Loops that carry a file, where one can.
const CARRIES: Rate = Rate::percent(70);

/// What is special to a loop.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    test: Test,
    /// The most iterations, where that is said: as many as there are.
    max_iterations: Option<u32>,
    /// An input of an activity of the body, by its place, and its source from the second iteration on.
    carried: Option<(NodeId, usize, Source)>,
    /// True if what is read outside is the output of the last iteration, not those of all.
    pub(super) is_last_read: bool,
}

impl Body {
    /// Makes the body that of a loop, whose items are the numbers of the iterations. Nothing is carried
    /// from a body in it.
    pub(super) fn repeat(&mut self, random: &mut Random, draft: &Draft, within: Option<&Body>) {
        let is_until = !self.items.is_empty() && random.happens(Rate::percent(50));
        let n_items = self.items.len();
        self.items = (0..n_items as i64).collect();
        self.at_most = Some(1);
        let says_max = n_items > 0 && random.happens(Rate::percent(50));
        self.repeated = Some(Repeated {
            test: if is_until { Test::Until } else { Test::While },
            max_iterations: says_max.then_some(n_items as u32),
            carried: match random.happens(CARRIES) {
                true => self.draw_carried(random, draft, within),
                false => None,
            },
            is_last_read: n_items > 0 && random.happens(Rate::percent(50)),
        });
    }

    fn draw_carried(
        &self,
        random: &mut Random,
        draft: &Draft,
        within: Option<&Body>,
    ) -> Option<(NodeId, usize, Source)> {
        let activity = |node: NodeId| draft.activity(model::ActivityId(node.0));
        let producers = self.inside().filter(|&node| {
            activity(node).is_some_and(|one| !one.outputs.is_empty())
                && self.always_runs(draft, node)
                && !within.is_some_and(|within| within.holds(node))
        });
        let producers: Vec<NodeId> = producers.collect();
        let readers = self.inside().flat_map(|node| {
            let inputs = activity(node).map_or(0, |one| one.inputs.len());
            (0..inputs).map(move |input| (node, input))
        });
        // What is read from all bodies inside, or carried there, is not carried here.
        let is_taken = |&(node, input): &(NodeId, usize)| {
            within.is_some_and(|within| {
                let read = activity(node).map(|one| &one.inputs[input]);
                let reads_inside = read.is_some_and(|staged| within.reads(staged));
                reads_inside && !within.holds(node) || within.carries((node, input))
            })
        };
        let readers: Vec<(NodeId, usize)> = readers.filter(|one| !is_taken(one)).collect();
        if producers.is_empty() || readers.is_empty() {
            return None;
        }
        let producer = producers[random.index(producers.len())];
        let (reader, input) = readers[random.index(readers.len())];
        let source = Source::Output {
            activity: producer,
            output: 0,
        };
        Some((reader, input, source))
    }

    fn carries(&self, reader: (NodeId, usize)) -> bool {
        let carried = self.repeated.as_ref().and_then(|one| one.carried);
        carried.is_some_and(|(node, input, _)| (node, input) == reader)
    }

    /// Returns true if an activity runs in each iteration: nothing on the way to it is a branch or has
    /// links.
    pub(super) fn always_runs(&self, draft: &Draft, node: NodeId) -> bool {
        let mut at = node;
        while at.0 > self.root.0 + 1 {
            let is_linked = |node: &Node| match &node.kind {
                NodeKind::Parallel { links, .. } => links.iter().any(|link| link.to == at),
                NodeKind::Sequence(_)
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => false,
            };
            let is_parent = |&above: &usize| draft.nodes[above].children().contains(&at);
            let Some(parent) = (0..draft.nodes.len()).find(is_parent) else {
                return false;
            };
            let is_branch = matches!(draft.nodes[parent].kind, NodeKind::If { .. });
            let is_joined = draft.nodes[at.index()].join != Join::All;
            if is_branch || is_joined || draft.nodes.iter().any(is_linked) {
                return false;
            }
            at = NodeId(parent as u32);
        }
        true
    }

    /// Whoever reads what the body produces reads that of the last iteration, which is so many nodes
    /// behind the first.
    pub(super) fn read_last(&self, draft: &mut Draft, shift: u32, n_written: u32) {
        let last = |source: Source| match source {
            Source::Output { activity, output } if self.holds(activity) => Source::Output {
                activity: NodeId(activity.0 + shift),
                output,
            },
            Source::Output { .. } | Source::Input(_) | Source::Item(_) | Source::Pick(_) => source,
        };
        for node in (0..n_written).map(NodeId).filter(|&node| !self.holds(node)) {
            let Some(activity) = activity_mut(draft, node) else {
                continue;
            };
            for staged in &mut activity.inputs {
                staged.source = last(staged.source);
            }
        }
        for output in &mut draft.outputs {
            if let OutputSource::Produced(source) = &mut output.source {
                *source = last(*source);
            }
        }
    }
}

impl Repeated {
    /// The same of a copy that is so many nodes behind.
    pub(super) fn shifted(&self, shift: u32) -> Repeated {
        let behind = |node: NodeId| NodeId(node.0 + shift);
        let carried = self.carried.map(|(reader, input, source)| {
            let source = match source {
                Source::Output { activity, output } => Source::Output {
                    activity: behind(activity),
                    output,
                },
                Source::Input(_) | Source::Item(_) | Source::Pick(_) => source,
            };
            (behind(reader), input, source)
        });
        Repeated {
            carried,
            ..self.clone()
        }
    }

    /// Writes the loop into a definition.
    pub(super) fn submit(&self, draft: &mut Draft, (root, n_items): (NodeId, usize), item: &str) {
        let condition = match self.test {
            Test::While => format!("{item} < {n_items}"),
            Test::Until => format!("{item} >= {}", n_items.saturating_sub(1)),
        };
        draft.nodes[root.index()].kind = NodeKind::Repeat(Box::new(Repeat {
            test: self.test,
            condition: Expression(condition),
            index: Some(item.to_owned()),
            max_iterations: self.max_iterations,
            children: vec![NodeId(root.0 + 1)],
        }));
        if let Some((reader, input, source)) = self.carried
            && let Some(activity) = activity_mut(draft, reader)
        {
            activity.inputs[input].carried = Some(source);
        }
    }

    /// Lets the copy of a node read from the iteration before, whose nodes are so many behind the first.
    pub(super) fn carry(&self, copy: &mut Node, of: NodeId, before: u32) {
        let Some((_, input, source)) = self.carried.filter(|(reader, ..)| *reader == of) else {
            return;
        };
        if let (NodeKind::Activity(copy), Source::Output { activity, output }) =
            (&mut copy.kind, source)
        {
            copy.inputs[input].source = Source::Output {
                activity: NodeId(activity.0 + before),
                output,
            };
        }
    }
}

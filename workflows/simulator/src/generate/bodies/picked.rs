//! Bodies of a `for-each` that read what an earlier item has made: a tree of items, as merging two by two is one.

use model::{Draft, Expression, Link, NodeId, Pick, PickCase, Source};

use super::{Body, activity_mut};
use crate::random::{Random, Rate};

/// Lists whose items read from each other, where they can.
const PICKS: Rate = Rate::percent(40);

/// The name of the place of an item.
pub(super) const INDEX: &str = "place";

/// An input of an activity of the body, by its place, and its source in all items but the first.
#[derive(Clone, Debug)]
pub(super) struct Picking {
    reader: NodeId,
    input: usize,
    producer: NodeId,
}

/// The item that the one in this place reads from: its parent in a tree.
pub(super) fn read_by(place: usize) -> usize {
    (place - 1) / 2
}

impl Body {
    /// Has each item read from an earlier one, where that can be. The numbers are those of another
    /// `Random`, so that all else stays as it would be without this.
    pub(super) fn pick(&mut self, random: &mut Random, draft: &Draft) -> bool {
        if !random.happens(PICKS) {
            return false;
        }
        let activity = |node: NodeId| draft.activity(model::ActivityId(node.0));
        let makes = |node: &NodeId| {
            activity(*node).is_some_and(|one| !one.outputs.is_empty())
                && self.always_runs(draft, *node)
        };
        let producers: Vec<NodeId> = self.inside().filter(makes).collect();
        let readers = self.inside().flat_map(|node| {
            let inputs = activity(node).map_or(0, |one| one.inputs.len());
            (0..inputs).map(move |input| (node, input))
        });
        let readers: Vec<(NodeId, usize)> = readers.collect();
        if producers.is_empty() || readers.is_empty() {
            return false;
        }
        let producer = producers[random.index(producers.len())];
        let (reader, input) = readers[random.index(readers.len())];
        self.picked = Some(Picking {
            reader,
            input,
            producer,
        });
        true
    }
}

impl Picking {
    fn source(&self, shift: u32) -> Source {
        Source::Output {
            activity: NodeId(self.producer.0 + shift),
            output: 0,
        }
    }

    /// Writes the pick into a definition: the first item reads what it would read without it.
    pub(super) fn submit(&self, draft: &mut Draft) {
        let pick = draft.picks.as_ref().map_or(0, Vec::len) as u32;
        let Some(activity) = activity_mut(draft, self.reader) else {
            return;
        };
        let source = std::mem::replace(&mut activity.inputs[self.input].source, Source::Pick(pick));
        let cases = vec![
            PickCase {
                when: Some(Expression(format!("{INDEX} == 0"))),
                source,
                place: None,
            },
            PickCase {
                when: None,
                source: self.source(0),
                place: Some(Expression(format!("({INDEX} - 1) / 2"))),
            },
        ];
        draft.picks.get_or_insert_default().push(Pick { cases });
    }

    /// Lets the copy of the body that is so many nodes behind the first one read from the other one.
    pub(super) fn read(&self, draft: &mut Draft, [own, other]: [u32; 2]) {
        if let Some(activity) = activity_mut(draft, NodeId(self.reader.0 + own)) {
            activity.inputs[self.input].source = self.source(other);
        }
    }

    /// The links that put them in order, of bodies that are so many nodes behind the first one.
    pub(super) fn links(&self, shifts: &[u32]) -> Vec<Link> {
        let links = (1..shifts.len()).map(|place| Link {
            from: NodeId(self.producer.0 + shifts[read_by(place)]),
            to: NodeId(self.reader.0 + shifts[place]),
            when: None,
        });
        links.collect()
    }
}

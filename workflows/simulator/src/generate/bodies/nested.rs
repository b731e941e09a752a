//! A body within another body: a `for-each` or a loop in the body of a `for-each` or of a loop.
//!
//! The bodies of the outer one run one after another, and the inner one runs in each of them, so that it
//! is known which copies get which numbers. Nobody outside of the outer one reads what the inner one
//! makes.

use model::{NodeId, OutputSource, Source};

use super::{Body, Folded, Generated, activity_mut, fits};
use crate::generate::behind;
use crate::random::{Random, Rate};

/// Inner bodies, and outer ones, that are those of loops.
const REPEATED: Rate = Rate::percent(50);

/// Two controllers, the inner one in the body of the outer one.
pub(super) struct Nested {
    outer: Body,
    inner: Body,
}

impl Nested {
    /// Draws a part of a body, which is in its place already, for the body of another controller; none
    /// where no part can be. Then both are in their places.
    pub(super) fn draw(
        random: &mut Random,
        outer: &mut Body,
        moved: &mut Generated,
    ) -> Option<Nested> {
        let roots = (outer.first().0 + 1..=outer.root.0 + outer.len).map(NodeId);
        let roots: Vec<NodeId> = roots
            .filter(|&root| may_be_inner(outer, moved, root))
            .collect();
        if roots.is_empty() {
            return None;
        }
        let root = roots[random.index(roots.len())];
        let n_items = random.below(5);
        let mut inner = Body {
            item: "within",
            root,
            len: behind(&moved.submit.draft.nodes, root) - root.0,
            items: (0..n_items).map(|_| random.below(100) as i64).collect(),
            // The list is another one for each item around.
            last: random.happens(Rate::percent(50)).then_some(outer.item),
            at_most: random.happens(Rate::percent(50)).then_some(2),
            n_enough: None,
            repeated: None,
            picked: None,
        };
        inner.insert(moved);
        let mut outer = Body {
            len: outer.len + 1,
            at_most: Some(1),
            ..outer.clone()
        };
        if random.happens(REPEATED) {
            inner.last = None;
            inner.repeat(random, &moved.submit.draft, None);
        }
        if random.happens(REPEATED) {
            outer.repeat(random, &moved.submit.draft, Some(&inner));
        }
        Some(Nested { outer, inner })
    }

    /// What is submitted, and what it stands for.
    pub(super) fn folded(&self, moved: Generated) -> Folded {
        Folded {
            submitted: self.outer.submitted(self.inner.submitted(moved.clone())),
            unrolled: self.unrolled(&moved),
        }
    }

    /// A `for-each` has all its bodies before the first one runs, and a loop gets each when the one before
    /// has ended. The inner controller of a body gets its own when it runs.
    fn unrolled(&self, written: &Generated) -> Generated {
        let Nested { outer, inner } = self;
        let mut generated = written.clone();
        let mut roots = vec![outer.first()];
        let copy = |generated: &mut Generated, roots: &mut Vec<NodeId>| {
            let (place, before) = (roots.len(), roots[roots.len() - 1]);
            roots.push(outer.copy(written, generated, (place, before)));
        };
        let is_loop = outer.repeated.is_some();
        while !is_loop && roots.len() < outer.items.len() {
            copy(&mut generated, &mut roots);
        }
        outer.mean_item(&mut generated.meaning, (outer.first().0, 0));
        for place in 0..outer.items.len() {
            if place == roots.len() {
                copy(&mut generated, &mut roots);
            }
            let shift = roots[place].0 - outer.first().0;
            let mut own = inner.shifted(shift);
            if let Some(last) = own.items.last_mut().filter(|_| inner.last.is_some()) {
                *last = outer.items[place];
            }
            generated = own.unrolled(generated);
        }
        outer.arrange(&mut generated, &roots, written.submit.draft.nodes.len());
        generated
    }
}

/// Returns true if a part of a body can be the body of another controller in it: it runs whenever the body
/// does, and what it makes is not read outside of the body.
fn may_be_inner(outer: &Body, moved: &mut Generated, root: NodeId) -> bool {
    if !fits(moved, root) || !outer.always_runs(&moved.submit.draft, root) {
        return false;
    }
    let end = behind(&moved.submit.draft.nodes, root);
    let is_inner = |source: Source| match source {
        Source::Output { activity, .. } => (root.0..end).contains(&activity.0),
        Source::Input(_) | Source::Item(_) | Source::Pick(_) => false,
    };
    let draft = &mut moved.submit.draft;
    let mut outputs = draft.outputs.iter();
    if outputs.any(|output| match output.source {
        OutputSource::Produced(source) | OutputSource::Gathered(source) => is_inner(source),
        OutputSource::Expression(_) => false,
    }) {
        return false;
    }
    let mut outside = (0..draft.nodes.len() as u32).map(NodeId);
    outside.all(|node| {
        outer.holds(node)
            || activity_mut(draft, node)
                .is_none_or(|one| !one.inputs.iter().any(|staged| is_inner(staged.source)))
    })
}

//! The picks of a body: which output of which item each input reads, once the items are known.
//!
//! ```text
//! each(1) ── merge(2)   left: { if: n < 2, then: sort[2 * n].all, else: merge[2 * n - 4].all }
//!
//! three items           merge[0](2)   reads sort[0]
//!                       merge[1](3)   reads sort[2]
//!                       merge[2](4)   reads merge[0], and a link has it wait for that one alone
//! ```
//! A for-each that has ended is there with all its items. An item may read those before it in its own
//! for-each too: these are ordered by links between the two bodies, so that nothing waits for more than
//! what it reads. Each names an earlier item, so no cycle can come about, and items that begin one after
//! another find what they wait for begun.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::copies::renumbered;
use super::{Expansion, shifted};
use crate::definition::{
    Checked, Definition, Draft, Graph, Link, NodeKind, PickCase, PickSite, Source,
};
use crate::{ActivityId, NodeId};

impl Definition {
    /// The inputs that are picked for each body of a controller, in the order in which [`Expansion::picks`]
    /// has what was picked.
    pub fn pick_sites(&self, each: NodeId) -> &[PickSite] {
        let picks = &self.0.picks;
        if picks.is_empty() {
            return &[];
        }
        picks.get(&self.origin(each)).map_or(&[], Vec::as_slice)
    }

    /// The activities of the first body of a controller that pick inputs.
    pub fn first_pickers(&self, each: NodeId) -> Vec<ActivityId> {
        let sites = self.pick_sites(each);
        let Some(&first) = self.children(each).first().filter(|_| !sites.is_empty()) else {
            return Vec::new();
        };
        let around = self.shifts(first);
        let readers = sites.iter().map(|site| shifted(site.reader, &around));
        let mut readers: Vec<ActivityId> = readers.map(|reader| ActivityId(reader.0)).collect();
        readers.dedup();
        readers
    }

    /// The controller among whose bodies a case picks one, as whoever lies in a body of `each` sees it; itself
    /// where the body reads others of the same controller. For outputs of the process there is none around.
    pub fn picked_among(&self, each: Option<NodeId>, case: &PickCase) -> Option<NodeId> {
        let Source::Output { activity, .. } = case.source else {
            return None;
        };
        let nodes = &self.0.submitted().nodes;
        let mut at = activity;
        while let Some(parent) = self.0.parents[at.index()] {
            if nodes[parent.index()].kind.has_bodies() {
                let around = match each {
                    Some(each) if self.origin(each) == parent => return Some(each),
                    Some(each) => self.shifts(each),
                    None => Vec::new(),
                };
                return Some(shifted(parent, &around));
            }
            at = parent;
        }
        None
    }

    /// What a case gives in the body of `each` with this root, where `place` was picked; none where there is
    /// no such body.
    pub fn picked_source(
        &self,
        (each, root): (Option<NodeId>, Option<NodeId>),
        case: &PickCase,
        place: u32,
    ) -> Option<Source> {
        if case.place.is_none() {
            let around = root.map_or(Vec::new(), |root| self.shifts(root));
            return Some(renumbered(case.source, &|node| shifted(node, &around)));
        }
        let Source::Output { activity, output } = case.source else {
            return None;
        };
        let among = self.picked_among(each, case)?;
        let written = self.as_written(among).children().first()?;
        let body = self.children(among).get(place as usize)?;
        Some(Source::Output {
            activity: NodeId(activity.0.checked_sub(written.0)? + body.0),
            output,
        })
    }

    /// Puts what was picked in the place of the picks of the bodies that an expansion has added, the first
    /// of which is the one of this number.
    pub(super) fn settle_picks(&mut self, expansion: &Expansion, first: u32) {
        let sites = self.pick_sites(expansion.each).to_vec();
        let Some(picks) = expansion.picks.as_ref().filter(|_| !sites.is_empty()) else {
            return;
        };
        let each = expansion.each;
        let roots: Vec<NodeId> = self.children(each)[first as usize..].to_vec();
        let is_for_each = matches!(self.as_written(each).kind, NodeKind::ForEach(_));
        for (root, picks) in roots.into_iter().zip(picks.chunks(sites.len())) {
            for (site, picked) in sites.iter().zip(picks) {
                let draft = self.0.submitted();
                let cases = draft.pick_cases(site.pick);
                let Some(case) = cases.get(picked.case as usize).cloned() else {
                    continue;
                };
                let bodies = (Some(each), Some(root));
                let Some(source) = self.picked_source(bodies, &case, picked.place) else {
                    continue;
                };
                let own =
                    case.place.is_some() && self.picked_among(Some(each), &case) == Some(each);
                self.settle(*site, root, (source, own && is_for_each));
            }
        }
        Arc::make_mut(&mut self.0).graph = Graph::default();
    }

    fn settle(&mut self, site: PickSite, root: NodeId, (source, is_own): (Source, bool)) {
        let reader = shifted(site.reader, &self.shifts(root));
        // It is made, to be changed.
        self.node(reader);
        let checked = Arc::make_mut(&mut self.0);
        if let Some(node) = checked.change(reader)
            && let NodeKind::Activity(activity) = &mut node.kind
            && let Some(staged) = activity.inputs.get_mut(site.input as usize)
        {
            staged.source = source;
        }
        if let (Source::Output { activity, .. }, true) = (source, is_own) {
            checked.link_bodies(activity, reader);
        }
    }
}

impl Checked {
    /// Has an activity wait for another one of an earlier item.
    fn link_bodies(&mut self, from: NodeId, to: NodeId) {
        let mut incoming = self.incoming.of(to).iter();
        if incoming.any(|&number| self.links[number as usize].1.from == from) {
            return;
        }
        let number = self.links.len() as u32;
        self.incoming.push(to, number);
        self.outgoing.push(from, number);
        let controller = self.parents[to.index()].unwrap_or(to);
        let when = None;
        self.links.push((controller, Link { from, to, when }));
    }

    /// The inputs that are picked, by the controllers of the bodies that their readers lie in.
    pub(in crate::definition) fn pick_sites_of(
        draft: &Draft,
        parents: &[Option<NodeId>],
    ) -> BTreeMap<NodeId, Vec<PickSite>> {
        let mut found = BTreeMap::<NodeId, Vec<PickSite>>::new();
        if draft.picks.is_none() {
            return found;
        }
        for (index, node) in draft.nodes.iter().enumerate() {
            let Some(activity) = node.activity() else {
                continue;
            };
            let reader = NodeId(index as u32);
            let outwards = |at: &NodeId| parents[at.index()];
            let mut around = std::iter::successors(parents[index], outwards);
            let has_bodies = |at: &NodeId| draft.nodes[at.index()].kind.has_bodies();
            let Some(each) = around.find(has_bodies) else {
                continue;
            };
            for (input, staged) in activity.inputs.iter().enumerate() {
                if let Source::Pick(pick) = staged.source {
                    found.entry(each).or_default().push(PickSite {
                        pick,
                        reader,
                        input: input as u32,
                    });
                }
            }
        }
        found
    }
}

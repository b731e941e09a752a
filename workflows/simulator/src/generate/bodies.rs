//! A part of a random process becomes the body of a `for-each` or of a loop.
//!
//! What that means is another process without one: the body is there as often as there are items or
//! iterations, under the numbers that a process manager gives to the copies.

mod nested;
mod picked;
mod repeat;

use model::{
    Activity, Draft, Expression, ForEach, Join, Node, NodeId, NodeKind, OutputSource, Source,
    Staged, Template,
};

use self::nested::Nested;
use self::picked::Picking;
use self::repeat::Repeated;
use super::{Enough, Generated, behind};
use crate::meaning::{Condition, Meaning, Term};
use crate::random::{Random, Rate};

/// Parts of a process that are looked at for one that can be a body.
const TRIES: usize = 8;
/// Items at most: enough for names of two digits now and then, and for more nodes than a chapter of a snapshot
/// has.
const ITEMS: [(u64, u64); 5] = [(1, 3), (2, 5), (8, 12), (0, 1), (20, 30)];
/// Items at most of a controller with another one inside.
const ITEMS_OF_NESTED: u64 = 12;
/// Bodies that are the longest part that was looked at: in a body of one activity nothing goes on after its
/// files were read.
const LONGEST: Rate = Rate::percent(50);
/// Nodes of all copies of a body together, about.
const COPIED_NODES_MAX: u64 = 200;
/// Bodies of loops, where no fault lets a process go on.
const REPEATED: Rate = Rate::percent(50);
/// Bodies of a `for-each` that run one after another, where no fault lets a process go on.
const IN_A_ROW: Rate = Rate::percent(25);

/// A `for-each` that some of its items may be enough for.
const ENOUGH: Rate = Rate::percent(60);
/// Lists that are other ones when a process is run again...
const CHANGED: Rate = Rate::percent(60);
/// ...and those of them in another order.
const REORDERED: Rate = Rate::percent(50);
/// Bodies with another `for-each` or loop inside, where no fault lets a process go on.
const NESTED: Rate = Rate::percent(40);

/// A process with a `for-each` or a loop.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The process as it is submitted.
    pub submitted: Generated,
    /// The process that it stands for.
    pub unrolled: Generated,
}

/// A part of a process and what it is run for.
#[derive(Clone)]
struct Body {
    /// The name by which its activities read the item.
    item: &'static str,
    /// The root of the body, which becomes the number of the controller.
    root: NodeId,
    len: u32,
    items: Vec<i64>,
    /// What the last item is written as, where that is no number.
    last: Option<&'static str>,
    at_most: Option<u32>,
    /// Items that are enough.
    n_enough: Option<usize>,
    /// The loop, where the controller is one: the items are the numbers of its iterations.
    repeated: Option<Repeated>,
    /// The file of an earlier item that each item reads.
    picked: Option<Picking>,
}

/// Makes a part of a process the body of a `for-each` or of a loop; none where no part can be.
pub fn fold(random: &mut Random, generated: &Generated) -> Option<Folded> {
    let nodes = &generated.submit.draft.nodes;
    if nodes.len() < 3 {
        return None;
    }
    let roots = (0..TRIES).map(|_| NodeId(1 + random.index(nodes.len() - 1) as u32));
    let roots: Vec<NodeId> = roots.collect();
    let len = |root: NodeId| behind(nodes, root) - root.0;
    let mut fitting = roots.into_iter().filter(|&root| fits(generated, root));
    let first = fitting.next()?;
    let root = match random.happens(LONGEST) {
        true => fitting.chain([first]).max_by_key(|&root| len(root))?,
        false => first,
    };
    let (least, most) = ITEMS[random.index(ITEMS.len())];
    let most = most.min(COPIED_NODES_MAX / u64::from(len(root)));
    let n_items = random.between(least.min(most), most);
    let may_nest =
        !generated.goes_on() && (1..=ITEMS_OF_NESTED).contains(&n_items) && random.happens(NESTED);
    let may_queue = !generated.goes_on() && random.happens(IN_A_ROW);
    let mut body = Body {
        item: "item",
        root,
        len: len(root),
        items: (0..n_items).map(|_| random.below(100) as i64).collect(),
        last: None,
        at_most: match (may_queue, random.below(3)) {
            (true, _) => Some(1),
            (false, 0) => Some(random.between(2, 4) as u32),
            (false, _) => None,
        },
        n_enough: None,
        repeated: None,
        picked: None,
    };
    if generated.submit.base.is_some() {
        change_list(&mut Random::new(generated.submit.key.0), &mut body.items);
    }
    let mut moved = generated.clone();
    body.insert(&mut moved);
    if may_nest && let Some(nested) = Nested::draw(random, &mut body, &mut moved) {
        return Some(nested.folded(moved));
    }
    if !generated.goes_on() && random.happens(REPEATED) {
        body.repeat(random, &moved.submit.draft, None);
    } else if body.pick(
        &mut Random::new(generated.submit.key.0),
        &moved.submit.draft,
    ) {
        // All of them run: each may be one that others read.
    } else if !body.items.is_empty() && random.happens(ENOUGH) {
        let n_enough = random.between(1, body.items.len() as u64) as usize;
        body.n_enough = match body.may_miss_some(&moved) {
            true => Some(n_enough),
            // Of those that fault together, nobody can say which is the one too many.
            false if generated.goes_on() && body.may_fail(&moved) => None,
            false => Some(body.items.len()),
        };
    }
    Some(Folded {
        submitted: body.submitted(moved.clone()),
        unrolled: body.unrolled(moved),
    })
}

/// The list of a process that is run again may be another one: longer, shorter, in another order, with
/// another item.
fn change_list(random: &mut Random, items: &mut Vec<i64>) {
    if items.is_empty() || !random.happens(CHANGED) {
        return;
    }
    let at = random.index(items.len());
    match random.below(4) {
        0 => items.insert(at, random.below(100) as i64),
        1 if items.len() > 1 => drop(items.remove(at)),
        2 => items[at] = random.below(100) as i64,
        _ => {}
    }
    if random.happens(REORDERED) {
        items.reverse();
        let by = random.index(items.len());
        items.rotate_left(by);
    }
}

/// A body has no link to elsewhere, and writes no variable: nobody could say in which order.
fn fits(generated: &Generated, root: NodeId) -> bool {
    let draft = &generated.submit.draft;
    let end = behind(&draft.nodes, root);
    let inside = |node: NodeId| (root.0..end).contains(&node.0);
    let is_closed = draft.nodes.iter().enumerate().all(|(index, node)| {
        let NodeKind::Parallel { links, .. } = &node.kind else {
            return true;
        };
        let own = inside(NodeId(index as u32));
        let mut links = links.iter();
        links.all(|link| [link.from, link.to].map(inside) == [own; 2])
    });
    let writes = |node: &Node| match &node.kind {
        NodeKind::Activity(activity) => activity.stdout.is_some(),
        NodeKind::Assign(_) => true,
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Empty => false,
    };
    let is_joined = draft.nodes[root.index()].join != Join::All;
    let mut below = draft.nodes[root.index()..end as usize].iter();
    let runs = below
        .clone()
        .any(|node| matches!(node.kind, NodeKind::Activity(_)));
    is_closed && !is_joined && runs && !below.any(writes)
}

impl Body {
    /// Makes room for the controller: what is at or behind the body has the next number.
    fn insert(&self, generated: &mut Generated) {
        let next = |node: NodeId| NodeId(node.0 + u32::from(node >= self.root));
        let draft = &mut generated.submit.draft;
        for node in &mut draft.nodes {
            renumber(node, &next);
        }
        let node = |name: &str, kind| Node {
            name: name.to_owned(),
            kind,
            join: Join::All,
        };
        draft
            .nodes
            .insert(self.root.index(), node("", NodeKind::Empty));
        for output in &mut draft.outputs {
            if let OutputSource::Produced(Source::Output { activity, .. }) = &mut output.source {
                *activity = next(*activity);
            }
        }
        // Children that were the body are the controller now.
        let (root, body) = (self.root, next(self.root));
        let above = &mut draft.nodes[..root.index()];
        for child in above.iter_mut().flat_map(children_mut) {
            if *child == body {
                *child = root;
            }
        }
        let meaning = &mut generated.meaning;
        meaning.renumber(&next);
        let behaviours = std::mem::take(&mut generated.behaviours).into_iter();
        let behaviours = behaviours.map(|(id, own)| (model::ActivityId(next(id.node()).0), own));
        generated.behaviours = behaviours.collect();
        // Its activities are told the item.
        for node in self.inside() {
            if let Some(activity) = activity_mut(&mut generated.submit.draft, node) {
                tell_item(activity, self.item);
            }
        }
    }

    /// Returns true if it is known what follows where only some of the items complete: they are the first
    /// ones, or nobody asks which they are.
    fn may_miss_some(&self, generated: &Generated) -> bool {
        if self.at_most == Some(1) {
            return true;
        }
        let draft = &generated.submit.draft;
        let of_body = |source: Source| matches!(source, Source::Output { activity, .. } if self.holds(activity));
        let is_read = draft
            .nodes
            .iter()
            .enumerate()
            .any(|(index, node)| match &node.kind {
                NodeKind::Activity(activity) if !self.holds(NodeId(index as u32)) => {
                    activity.inputs.iter().any(|staged| of_body(staged.source))
                }
                NodeKind::Activity(_)
                | NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::ForEach(_)
                | NodeKind::Repeat(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => false,
            });
        let is_given = draft.outputs.iter().any(|output| match output.source {
            OutputSource::Produced(source) | OutputSource::Gathered(source) => of_body(source),
            OutputSource::Expression(_) => false,
        });
        !is_read && !is_given && !self.may_fail(generated)
    }

    /// Returns true if a command of the body does not simply succeed.
    fn may_fail(&self, generated: &Generated) -> bool {
        self.inside().any(|node| {
            let behaviour = generated.behaviours.get(&model::ActivityId(node.0));
            behaviour.is_some_and(|behaviour| behaviour.n_failing > 0)
        })
    }

    /// Bodies of which the files are read: the first ones, where those are enough.
    fn n_read(&self) -> usize {
        self.n_enough.unwrap_or(self.items.len())
    }

    /// The nodes of the body, behind the controller.
    fn inside(&self) -> impl Iterator<Item = NodeId> + use<> {
        (self.root.0 + 1..self.root.0 + 1 + self.len).map(NodeId)
    }

    fn holds(&self, node: NodeId) -> bool {
        node.0 > self.root.0 && node.0 <= self.root.0 + self.len
    }

    fn submitted(&self, mut generated: Generated) -> Generated {
        let mut items: Vec<String> = self.items.iter().map(i64::to_string).collect();
        if let Some((written, last)) = items.last_mut().zip(self.last) {
            last.clone_into(written);
        }
        let draft = &mut generated.submit.draft;
        if let Some(repeated) = &self.repeated {
            repeated.submit(draft, (self.root, self.items.len()), self.item);
            if repeated.is_last_read {
                return generated;
            }
        } else {
            draft.nodes[self.root.index()].kind = NodeKind::ForEach(Box::new(ForEach {
                item: self.item.to_owned(),
                index: self.picked.as_ref().map(|_| picked::INDEX.to_owned()),
                items: Expression(format!("[{}]", items.join(", "))),
                key: None,
                at_most: self.at_most,
                children: vec![NodeId(self.root.0 + 1)],
                complete_when: self.n_enough.map(|n| Expression(n.to_string())),
            }));
            if let Some(picking) = &self.picked {
                picking.submit(draft);
            }
        }
        for index in 0..draft.nodes.len() {
            if self.holds(NodeId(index as u32)) {
                continue;
            }
            if let NodeKind::Activity(activity) = &mut draft.nodes[index].kind {
                for staged in &mut activity.inputs {
                    if self.reads(staged) {
                        staged.path = format!("{}/", staged.path);
                        staged.gathers = true;
                    }
                }
            }
        }
        for output in &mut draft.outputs {
            if let OutputSource::Produced(source) = output.source
                && let Source::Output { activity, .. } = source
                && self.holds(activity)
            {
                output.source = OutputSource::Gathered(source);
            }
        }
        generated
    }

    fn reads(&self, staged: &Staged) -> bool {
        matches!(staged.source, Source::Output { activity, .. } if self.holds(activity))
    }

    fn unrolled(&self, mut generated: Generated) -> Generated {
        let written = generated.clone();
        let mut roots = vec![self.first()];
        for place in 1..self.items.len() {
            let before = roots[place - 1];
            let root = self.copy(&written, &mut generated, (place, before));
            if let Some(picking) = &self.picked {
                let read = roots[picked::read_by(place)];
                let shifts = [root, read].map(|root| root.0 - self.first().0);
                picking.read(&mut generated.submit.draft, shifts);
            }
            roots.push(root);
        }
        if !self.items.is_empty() {
            self.mean_item(&mut generated.meaning, (self.first().0, 0));
        }
        self.arrange(&mut generated, &roots, written.submit.draft.nodes.len());
        generated
    }

    /// The same part of a copy that is so many nodes behind.
    fn shifted(&self, shift: u32) -> Body {
        Body {
            root: NodeId(self.root.0 + shift),
            repeated: self.repeated.as_ref().map(|one| one.shifted(shift)),
            ..self.clone()
        }
    }

    /// The root of the first body.
    fn first(&self) -> NodeId {
        NodeId(self.root.0 + 1)
    }

    /// Appends a body for an item to what has become of a process, as it was written. Returns its root.
    fn copy(
        &self,
        written: &Generated,
        generated: &mut Generated,
        (place, before): (usize, NodeId),
    ) -> NodeId {
        let base = generated.submit.draft.nodes.len() as u32;
        let shift = base - self.first().0;
        let map = |node: NodeId| match self.holds(node) {
            true => NodeId(node.0 + shift),
            false => node,
        };
        for node in self.inside() {
            let mut copy = written.submit.draft.nodes[node.index()].clone();
            renumber(&mut copy, &map);
            if let Some(repeated) = &self.repeated {
                repeated.carry(&mut copy, node, before.0 - self.first().0);
            }
            generated.submit.draft.nodes.push(copy);
            let activity = model::ActivityId(node.0);
            if let Some(own) = written.behaviours.get(&activity).cloned() {
                let copy = model::ActivityId(map(node).0);
                generated.behaviours.insert(copy, own);
            }
        }
        let holds = |node| self.holds(node);
        generated.meaning.copy(&written.meaning, holds, &map);
        self.mean_item(&mut generated.meaning, (base, place));
        NodeId(base)
    }

    /// The controller has all its bodies, in a process of so many nodes without the copies.
    fn arrange(&self, generated: &mut Generated, roots: &[NodeId], n_written: usize) {
        let children = roots.to_vec();
        let kind = match (self.items.is_empty(), self.at_most) {
            (true, _) => {
                let never = Condition::Less(Term::Constant(1), Term::Constant(0));
                generated.meaning.choices.insert(self.root, vec![never]);
                NodeKind::If {
                    conditions: vec![Expression("false".to_owned())],
                    children,
                }
            }
            (false, Some(1)) => NodeKind::Sequence(children),
            (false, _) => NodeKind::Parallel {
                children,
                links: self.picked.as_ref().map_or(Vec::new(), |picking| {
                    let shifts = roots.iter().map(|root| root.0 - self.first().0);
                    picking.links(&shifts.collect::<Vec<_>>())
                }),
            },
        };
        generated.submit.draft.nodes[self.root.index()].kind = kind;
        if let Some(n) = self.n_enough.filter(|&n| n < self.items.len()) {
            match self.at_most {
                Some(1) => generated.meaning.never.extend(&roots[n..]),
                Some(_) | None => {
                    generated.enough = Some(Enough {
                        of: self.root,
                        roots: roots.to_vec(),
                        len: self.len,
                        n,
                    });
                }
            }
        }
        self.gather(generated, roots, n_written as u32);
    }

    /// The item is the first argument of each activity of a body.
    fn mean_item(&self, meaning: &mut Meaning, (base, place): (u32, usize)) {
        for node in (base..base + self.len).map(NodeId) {
            if let Some(arguments) = meaning.arguments.get_mut(&node) {
                arguments.insert(0, Term::Constant(self.items[place]));
            }
        }
    }

    /// Who reads what the body produces reads that of each item.
    fn gather(&self, generated: &mut Generated, roots: &[NodeId], n_written: u32) {
        let width = self.items.len().saturating_sub(1).to_string().len();
        let shift_of = |root: NodeId| root.0 - (self.root.0 + 1);
        if let Some(repeated) = &self.repeated
            && repeated.is_last_read
        {
            let last = roots.last().map_or(0, |&root| shift_of(root));
            return self.read_last(&mut generated.submit.draft, last, n_written);
        }
        let instances = |activity: NodeId| {
            let roots = roots.iter().take(self.n_read()).enumerate();
            roots.map(move |(place, &root)| {
                let item = format!("{place:0width$}");
                (item, NodeId(activity.0 + shift_of(root)))
            })
        };
        let outside = (0..n_written).map(NodeId);
        for node in outside.filter(|&node| !self.holds(node)) {
            let Some(activity) = activity_mut(&mut generated.submit.draft, node) else {
                continue;
            };
            let mut inputs = Vec::new();
            for staged in std::mem::take(&mut activity.inputs) {
                let Source::Output { activity, output } = staged.source else {
                    inputs.push(staged);
                    continue;
                };
                if !self.holds(activity) {
                    inputs.push(staged);
                    continue;
                }
                inputs.extend(instances(activity).map(|(item, activity)| Staged {
                    path: format!("{}/{item}.txt", staged.path),
                    source: Source::Output { activity, output },
                    gathers: false,
                    carried: None,
                }));
            }
            activity.inputs = inputs;
        }
        for output in &mut generated.submit.draft.outputs {
            if let OutputSource::Produced(source) = output.source
                && let Source::Output { activity, .. } = source
                && self.holds(activity)
            {
                output.source = OutputSource::Gathered(source);
                let instances = instances(activity).collect();
                generated.instances.insert(activity, instances);
            }
        }
    }
}

fn activity_mut(draft: &mut Draft, node: NodeId) -> Option<&mut Activity> {
    match &mut draft.nodes[node.index()].kind {
        NodeKind::Activity(activity) => Some(activity),
        NodeKind::Sequence(_)
        | NodeKind::Parallel { .. }
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => None,
    }
}

fn tell_item(activity: &mut Activity, item: &str) {
    if let model::Command::List(words) = &mut activity.command {
        words.insert(words.len().min(2), Template(format!("${{{item}}}")));
    }
}

fn children_mut(node: &mut Node) -> impl Iterator<Item = &mut NodeId> {
    let children: &mut [NodeId] = match &mut node.kind {
        NodeKind::Sequence(children)
        | NodeKind::Parallel { children, .. }
        | NodeKind::If { children, .. } => children,
        NodeKind::ForEach(each) => &mut each.children,
        NodeKind::Repeat(repeat) => &mut repeat.children,
        NodeKind::Activity(_) | NodeKind::Assign(_) | NodeKind::Empty => &mut [],
    };
    children.iter_mut()
}

/// Names other nodes by other numbers.
fn renumber(node: &mut Node, map: &impl Fn(NodeId) -> NodeId) {
    for child in children_mut(node) {
        *child = map(*child);
    }
    match &mut node.kind {
        NodeKind::Parallel { links, .. } => {
            for link in links {
                (link.from, link.to) = (map(link.from), map(link.to));
            }
        }
        NodeKind::Activity(activity) => {
            for staged in &mut activity.inputs {
                if let Source::Output { activity, .. } = &mut staged.source {
                    *activity = map(*activity);
                }
            }
        }
        NodeKind::Sequence(_)
        | NodeKind::If { .. }
        | NodeKind::ForEach(_)
        | NodeKind::Repeat(_)
        | NodeKind::Assign(_)
        | NodeKind::Empty => {}
    }
}

//! The kinds of the names of a definition: inputs by their types, items by their lists, variables by
//! what is written to them.

use std::collections::BTreeMap;

use model::{Activity, Draft, Expression, NodeId, NodeKind, Value};

use crate::Programs;
use crate::infer::{Inference, NameKinds};
use crate::kinds::{INT, Kinds, LIST, NULL};

/// Passes over all assignments. What assignments give depends on what others give; a definition in
/// which it has not settled by then has chains of assignments that nobody writes, and the types that
/// are declared stand for it.
const PASSES_MAX: usize = 4;

/// The kinds of all names.
pub(super) struct Environment<'a> {
    draft: &'a Draft,
    around: &'a [Option<NodeId>],
    by_name: BTreeMap<&'a str, usize>,
    inputs: BTreeMap<&'a str, Kinds>,
    /// The kinds of what is written to each variable, its value at the start included.
    variables: Vec<Kinds>,
    /// True for each variable that has a value at the start, or that anything writes.
    has_value: Vec<bool>,
    /// The kinds of the items of each for-each.
    items: BTreeMap<NodeId, Kinds>,
}

/// The names that can be read in a place.
pub(super) struct NamesAt<'e, 'a> {
    environment: &'e Environment<'a>,
    at: Option<NodeId>,
}

impl<'a> Environment<'a> {
    pub(super) fn new(
        draft: &'a Draft,
        around: &'a [Option<NodeId>],
        programs: &mut Programs,
    ) -> Environment<'a> {
        let variables = draft.variables.iter();
        let initial = |value: &Value| match *value == Value::Null {
            true => Kinds::none(),
            false => Kinds::of_value(value),
        };
        let mut environment = Environment {
            draft,
            around,
            by_name: BTreeMap::new(),
            inputs: draft
                .inputs
                .iter()
                .map(|input| {
                    let kinds = Kinds::declared(&input.kind).converted(&input.kind);
                    (input.name.as_str(), kinds)
                })
                .collect(),
            variables: variables.clone().map(|one| initial(&one.initial)).collect(),
            has_value: variables
                .clone()
                .map(|one| one.initial != Value::Null)
                .collect(),
            items: BTreeMap::new(),
        };
        for (place, variable) in variables.enumerate() {
            environment.by_name.entry(&variable.name).or_insert(place);
        }
        let is_initial = environment.variables.clone();
        for activity in draft.nodes.iter().filter_map(activity_of) {
            for capture in [activity.stdout, activity.stderr].into_iter().flatten() {
                environment.write(capture.variable, Kinds::captured(capture.parse));
            }
        }
        environment.settle(programs);
        for (place, before) in is_initial.iter().enumerate() {
            let kinds = &mut environment.variables[place];
            // Nothing may be written too, and is what a variable has at first.
            if kinds != before || before.is_none() {
                *kinds = std::mem::replace(kinds, Kinds::none()).or(Kinds::of(NULL));
            }
        }
        environment
    }

    /// The names that can be read in the body of a for-each or a loop, or outside of all.
    pub(super) fn at(&self, at: Option<NodeId>) -> NamesAt<'_, 'a> {
        NamesAt {
            environment: self,
            at,
        }
    }

    /// True if a variable of this name has no value at the start, and nothing writes it.
    pub(super) fn is_never_written(&self, name: &str) -> bool {
        let place = self.by_name.get(name);
        place.is_some_and(|place| !self.has_value[*place])
    }

    /// Follows the assignments until they say nothing more.
    fn settle(&mut self, programs: &mut Programs) {
        let is_assign = |node: &model::Node| matches!(node.kind, NodeKind::Assign(_));
        let has_assigns = self.draft.nodes.iter().any(is_assign);
        for pass in 1..=PASSES_MAX {
            let before = self.variables.clone();
            self.pass(programs, pass == PASSES_MAX);
            // Items are made of variables; without assignments these are known before.
            if self.variables == before || !has_assigns {
                return;
            }
        }
        // The types that the last pass has written may be in other variables and in items too.
        self.pass(programs, true);
    }

    fn pass(&mut self, programs: &mut Programs, is_last: bool) {
        let draft = self.draft;
        for (index, node) in draft.nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            match &node.kind {
                NodeKind::ForEach(each) => {
                    let list = self.infer(&each.items, self.around[index], programs);
                    let items = match list.set() & LIST != 0 {
                        true => list.items(),
                        false => Kinds::none(),
                    };
                    self.items.insert(id, items);
                }
                NodeKind::Assign(writes) => {
                    for write in writes {
                        let kinds = match is_last {
                            true => Kinds::any(),
                            false => self.infer(&write.value, self.around[index], programs),
                        };
                        self.write(write.variable, kinds);
                    }
                }
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Repeat(_)
                | NodeKind::Activity(_)
                | NodeKind::Empty => {}
            }
        }
    }

    fn infer(&self, expression: &Expression, at: Option<NodeId>, programs: &mut Programs) -> Kinds {
        let names = SettlingAt(self.at(at));
        match programs.of(expression) {
            Ok(program) => Inference::new(&names).kinds(program.node()),
            Err(_) => Kinds::any(),
        }
    }

    /// Adds the kinds of what may be written, of which the variable keeps what its type admits.
    fn write(&mut self, variable: u32, kinds: Kinds) {
        let place = variable as usize;
        let Some(declared) = self.draft.variables.get(place) else {
            return;
        };
        self.has_value[place] = true;
        let admitted = Kinds::declared(&declared.kind);
        let all = kinds.set() & admitted.set() == admitted.set();
        let kept = match all && admitted.set() == LIST && kinds.set() != LIST {
            true => admitted,
            false => kinds.among(admitted.set() & !NULL),
        };
        let kept = kept.converted(&declared.kind);
        let before = std::mem::replace(&mut self.variables[place], Kinds::none());
        self.variables[place] = before.or(kept);
    }

    fn kinds_of(&self, variable: &str) -> Kinds {
        match self.by_name.get(variable) {
            Some(place) => self.variables[*place].clone(),
            None => Kinds::any(),
        }
    }
}

fn activity_of(node: &model::Node) -> Option<&Activity> {
    match &node.kind {
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

impl NamesAt<'_, '_> {
    /// The kinds of an item or an index of a body around.
    fn item(&self, name: &str) -> Option<Kinds> {
        let environment = self.environment;
        let outwards = |id: &NodeId| environment.around[id.index()];
        let mut around = std::iter::successors(self.at, outwards);
        around.find_map(|id| {
            let (item, index) = match &environment.draft.nodes[id.index()].kind {
                NodeKind::ForEach(each) => (Some(each.item.as_str()), each.index.as_deref()),
                NodeKind::Repeat(repeat) => (None, repeat.index.as_deref()),
                NodeKind::Sequence(_)
                | NodeKind::Parallel { .. }
                | NodeKind::If { .. }
                | NodeKind::Activity(_)
                | NodeKind::Assign(_)
                | NodeKind::Empty => (None, None),
            };
            if item == Some(name) {
                let items = environment.items.get(&id).cloned();
                return Some(items.unwrap_or(Kinds::any()));
            }
            (index == Some(name)).then_some(Kinds::of(INT))
        })
    }
}

impl NameKinds for NamesAt<'_, '_> {
    fn variable(&self, name: &str) -> Kinds {
        let kinds = self.item(name);
        let kinds = kinds.unwrap_or_else(|| self.environment.kinds_of(name));
        // A variable that nothing writes is an error in outputs alone.
        match kinds.set() == NULL {
            true => Kinds::any(),
            false => kinds,
        }
    }

    fn input(&self, name: &str) -> Kinds {
        let inputs = &self.environment.inputs;
        inputs.get(name).cloned().unwrap_or(Kinds::any())
    }

    fn gathered(&self, name: &str) -> Kinds {
        self.environment.kinds_of(name)
    }
}

/// The names while what is written to variables is not all known: of one that nothing has been
/// written to, no value exists yet.
struct SettlingAt<'e, 'a>(NamesAt<'e, 'a>);

impl NameKinds for SettlingAt<'_, '_> {
    fn variable(&self, name: &str) -> Kinds {
        let kinds = self.0.item(name);
        kinds.unwrap_or_else(|| self.0.environment.kinds_of(name))
    }

    fn input(&self, name: &str) -> Kinds {
        self.0.input(name)
    }

    fn gathered(&self, name: &str) -> Kinds {
        self.0.gathered(name)
    }
}

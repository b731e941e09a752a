//! The meaning of a generated process, apart from its text: its expressions as trees, which
//! can be evaluated without the expression language.

use std::collections::{BTreeMap, BTreeSet};

use model::{Expression, NodeId, Template};

/// Values of terms are taken modulo this, so that they never overflow.
const MODULUS: i64 = 1_000;

/// A number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Term {
    /// Always the same.
    Constant(i64),
    /// The value of a variable, by its place.
    Variable(u32),
    /// The process's only number input.
    Input,
    /// Both added.
    Sum(Box<Term>, Box<Term>),
    /// Both multiplied.
    Product(Box<Term>, Box<Term>),
}

/// True or false.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// The first is less than the second.
    Less(Term, Term),
    /// It is even.
    Even(Term),
    /// The incoming link from this node is true; in joins only.
    Link(NodeId),
    /// It is not.
    Not(Box<Condition>),
    /// Both are.
    Both(Box<Condition>, Box<Condition>),
    /// One of them is.
    Either(Box<Condition>, Box<Condition>),
}

/// The expressions of a process.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    /// The writes of each `assign`, all at once: variable and value.
    pub assigns: BTreeMap<NodeId, Vec<(u32, Term)>>,
    /// The conditions of links that have one, by their ends.
    pub whens: BTreeMap<(NodeId, NodeId), Condition>,
    /// The conditions of joins that have one.
    pub joins: BTreeMap<NodeId, Condition>,
    /// The conditions of each `if`.
    pub choices: BTreeMap<NodeId, Vec<Condition>>,
    /// The arguments of each activity.
    pub arguments: BTreeMap<NodeId, Vec<Term>>,
    /// The process's outputs that are expressions, by their places.
    pub outputs: BTreeMap<usize, Term>,
    /// Bodies that never begin, because enough of those before them have completed.
    pub never: BTreeSet<NodeId>,
    /// The value of the number input.
    pub input: i64,
}

/// The name of the number input.
pub(crate) const INPUT: &str = "limit";

/// The name of a variable.
pub(crate) fn variable(place: u32) -> String {
    format!("v{place}")
}

impl Meaning {
    /// Names nodes by other numbers.
    pub(crate) fn renumber(&mut self, map: &impl Fn(NodeId) -> NodeId) {
        let before = std::mem::take(self);
        *self = Meaning {
            outputs: before.outputs.clone(),
            input: before.input,
            ..Meaning::default()
        };
        self.add(&before, |_| true, map);
    }

    /// Means for the copies of some nodes, and of the links among them, what `written` means for these.
    pub(crate) fn copy(
        &mut self,
        written: &Meaning,
        is_copied: impl Fn(NodeId) -> bool,
        map: &impl Fn(NodeId) -> NodeId,
    ) {
        self.add(written, is_copied, map);
    }

    fn add(
        &mut self,
        from: &Meaning,
        is_copied: impl Fn(NodeId) -> bool,
        map: &impl Fn(NodeId) -> NodeId,
    ) {
        fn own<'a, T: Clone>(
            all: &'a BTreeMap<NodeId, T>,
            is_copied: &'a impl Fn(NodeId) -> bool,
        ) -> impl Iterator<Item = (NodeId, T)> + 'a {
            let own = all.iter().filter(|(node, _)| is_copied(**node));
            own.map(|(node, meant)| (*node, meant.clone()))
        }
        let copied = &is_copied;
        let assigns = own(&from.assigns, copied);
        self.assigns
            .extend(assigns.map(|(node, one)| (map(node), one)));
        let arguments = own(&from.arguments, copied);
        self.arguments
            .extend(arguments.map(|(node, one)| (map(node), one)));
        let joins = own(&from.joins, copied);
        self.joins
            .extend(joins.map(|(node, one)| (map(node), one.renumbered(map))));
        let choices = own(&from.choices, copied);
        self.choices
            .extend(choices.map(|(node, one)| (map(node), one)));
        let whens = from.whens.iter();
        let whens = whens.filter(|((_, to), _)| is_copied(*to));
        self.whens
            .extend(whens.map(|(&(from, to), one)| ((map(from), map(to)), one.clone())));
    }
}

impl Term {
    /// Its value.
    pub fn value(&self, variables: &[i64], input: i64) -> i64 {
        match self {
            Term::Constant(number) => *number,
            Term::Variable(place) => variables[*place as usize],
            Term::Input => input,
            Term::Sum(one, other) => {
                (one.value(variables, input) + other.value(variables, input)) % MODULUS
            }
            Term::Product(one, other) => {
                one.value(variables, input) * other.value(variables, input) % MODULUS
            }
        }
    }

    /// As it is written.
    pub(crate) fn text(&self) -> String {
        match self {
            Term::Constant(number) => number.to_string(),
            Term::Variable(place) => variable(*place),
            Term::Input => format!("inputs.{INPUT}"),
            Term::Sum(one, other) => format!("({} + {}) % {MODULUS}", one.inner(), other.inner()),
            Term::Product(one, other) => format!("{} * {} % {MODULUS}", one.inner(), other.inner()),
        }
    }

    fn inner(&self) -> String {
        match self {
            Term::Constant(_) | Term::Variable(_) | Term::Input => self.text(),
            Term::Sum(..) | Term::Product(..) => format!("({})", self.text()),
        }
    }

    pub(crate) fn expression(&self) -> Expression {
        Expression(self.text())
    }

    pub(crate) fn template(&self) -> Template {
        Template(format!("${{{}}}", self.text()))
    }
}

impl Condition {
    /// True if it holds. `link` gives the value of the incoming link from a node.
    pub fn holds(&self, variables: &[i64], input: i64, link: &dyn Fn(NodeId) -> bool) -> bool {
        let holds = |condition: &Condition| condition.holds(variables, input, link);
        match self {
            Condition::Less(one, other) => {
                one.value(variables, input) < other.value(variables, input)
            }
            Condition::Even(term) => term.value(variables, input) % 2 == 0,
            Condition::Link(from) => link(*from),
            Condition::Not(condition) => !holds(condition),
            Condition::Both(one, other) => holds(one) && holds(other),
            Condition::Either(one, other) => holds(one) || holds(other),
        }
    }

    fn renumbered(self, map: &impl Fn(NodeId) -> NodeId) -> Condition {
        let inner = |condition: Box<Condition>| Box::new(condition.renumbered(map));
        match self {
            Condition::Link(from) => Condition::Link(map(from)),
            Condition::Not(condition) => Condition::Not(inner(condition)),
            Condition::Both(one, other) => Condition::Both(inner(one), inner(other)),
            Condition::Either(one, other) => Condition::Either(inner(one), inner(other)),
            Condition::Less(..) | Condition::Even(_) => self,
        }
    }

    /// As it is written; `name` gives the name of a node.
    pub(crate) fn text(&self, name: &dyn Fn(NodeId) -> String) -> String {
        match self {
            Condition::Less(one, other) => format!("{} < {}", one.inner(), other.inner()),
            Condition::Even(term) => format!("{} % 2 == 0", term.inner()),
            Condition::Link(from) => format!("links.{}", name(*from)),
            Condition::Not(condition) => format!("!({})", condition.text(name)),
            Condition::Both(one, other) => {
                format!("({}) && ({})", one.text(name), other.text(name))
            }
            Condition::Either(one, other) => {
                format!("({}) || ({})", one.text(name), other.text(name))
            }
        }
    }
}

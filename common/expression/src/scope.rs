//! The values that an expression can read.

use std::borrow::Cow;
use std::fmt;

use model::{Definition, Value};

/// The values that an expression can read.
pub trait Scope {
    /// A variable of the process; none if there is no such variable.
    fn variable(&self, name: &str) -> Option<&Value>;

    /// An input of the process, read as `inputs.NAME`.
    fn input(&self, name: &str) -> Option<&Value>;

    /// The value of an incoming link, read as `links.NAME` in a join.
    fn link(&self, name: &str) -> Option<bool> {
        let _ = name;
        None
    }

    /// The values of a variable of all bodies of a for-each or a loop, read as `step[*].NAME`. The error
    /// says why they are not known.
    fn gathered(&self, name: &str) -> Result<Value, String> {
        let _ = name;
        Err("no body has such a variable".to_owned())
    }
}

/// The values that the variables of bodies have taken.
pub trait Bodies: fmt::Debug {
    /// Those of this variable, in the order of the items. The error says why they are not known.
    fn values(&self, name: &str) -> Result<Vec<Value>, String>;
}

/// The scope of a process: values are in the order of the definition's declarations.
#[derive(Clone, Copy, Debug)]
pub struct ProcessScope<'a> {
    /// The definition that declares the names.
    pub definition: &'a Definition,
    /// The value of each of its variables.
    pub variables: &'a [Value],
    /// The value of each of its inputs.
    pub inputs: &'a [Value],
    /// The items that the expression is evaluated for, and their indexes.
    pub items: &'a [(&'a str, Cow<'a, Value>)],
    /// In a join: the source node's name and the value of each incoming link. Empty elsewhere.
    pub links: &'a [(&'a str, bool)],
    /// The bodies of its for-each controllers and loops.
    pub bodies: &'a dyn Bodies,
}

impl Scope for ProcessScope<'_> {
    fn variable(&self, name: &str) -> Option<&Value> {
        if let Some((_, value)) = self.items.iter().find(|(item, _)| *item == name) {
            return Some(value);
        }
        self.variables.get(self.definition.variable(name)?)
    }

    fn gathered(&self, name: &str) -> Result<Value, String> {
        self.bodies.values(name).map(Value::List)
    }

    fn input(&self, name: &str) -> Option<&Value> {
        self.inputs.get(self.definition.input(name)?)
    }

    fn link(&self, name: &str) -> Option<bool> {
        self.links
            .iter()
            .find(|(from, _)| *from == name)
            .map(|(_, value)| *value)
    }
}

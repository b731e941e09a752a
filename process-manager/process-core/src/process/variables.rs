//! Variables: those of the process, and those that each body of a for-each or a loop has of its own.

use model::{NodeId, Value};

use crate::process::Process;
use crate::process::items::Items;
use crate::record::NodeState;

impl Process {
    /// Writes variables, as a node does that lies in their bodies.
    pub(super) fn write(&mut self, writes: &[(u32, Value)], node: Option<NodeId>) {
        for (variable, value) in writes {
            let n_before = self.kept(*variable, node).map_or(0, Value::size);
            let body = self.body_of(*variable, node);
            match body {
                Some(body) => {
                    self.changed.add_node(body.index());
                    let own = &mut self.state.of_bodies;
                    own.insert((body, *variable), value.clone());
                }
                None => match self.state.variables.get_mut(*variable as usize) {
                    Some(kept) => kept.clone_from(value),
                    None => continue,
                },
            }
            let bytes = &mut self.index.variables_bytes;
            *bytes = (*bytes + value.size()).saturating_sub(n_before);
        }
    }

    fn body_of(&self, variable: u32, node: Option<NodeId>) -> Option<NodeId> {
        self.definition.body_of(variable as usize, node?)
    }

    /// The value that a variable was given, as a node finds it; none of a body's own one that nothing was
    /// written to.
    pub(crate) fn kept(&self, variable: u32, node: Option<NodeId>) -> Option<&Value> {
        match self.body_of(variable, node) {
            Some(body) => self.state.of_bodies.get(&(body, variable)),
            None => self.state.variables.get(variable as usize),
        }
    }

    /// The value of a variable of a body: what was written to it, else what it has at the start.
    fn of_body(&self, body: NodeId, variable: u32) -> &Value {
        let written = self.state.of_bodies.get(&(body, variable));
        let declared = &self.definition.draft().variables[variable as usize];
        written.unwrap_or(&declared.initial)
    }

    /// Adds the variables of a body to what its expressions can read.
    pub(super) fn add_variables<'a>(&'a self, each: NodeId, body: NodeId, items: &mut Items<'a>) {
        for &variable in self.definition.variables_of(self.definition.origin(each)) {
            let name = self.definition.draft().variables[variable as usize]
                .name
                .as_str();
            items.push_borrowed(name, self.of_body(body, variable));
        }
    }

    /// The values of a variable of all bodies of its controller, as a node outside of these finds them:
    /// those with the same items around. Bodies that were skipped, and that nothing was written in, are left
    /// out.
    pub(super) fn values_of(&self, name: &str, reader: NodeId) -> Result<Vec<Value>, String> {
        let definition = &self.definition;
        let declared = definition.variable(name).and_then(|place| {
            let of = definition.draft().variables[place].of?;
            Some((place as u32, of))
        });
        let Some((variable, of)) = declared else {
            return Err(format!("no body has a variable `{name}`"));
        };
        let around: Vec<_> = definition.enclosing(reader).collect();
        let is_mine = |each: &NodeId| {
            definition.enclosing(*each).all(|theirs| {
                let mut mine = around.iter();
                mine.all(|mine| mine.each != theirs.each || mine.body == theirs.body)
            })
        };
        let mut values = Vec::new();
        for each in definition.instances(of).into_iter().filter(is_mine) {
            match self.state.frame.node(each) {
                NodeState::Done | NodeState::Skipped | NodeState::Broken => {}
                NodeState::Idle | NodeState::Enabled | NodeState::Running => {
                    let path = definition.path(each);
                    return Err(format!("{path} has not ended; let it end before"));
                }
            }
            let bodies = definition.node(each).children().iter();
            let ran = bodies.filter(|&&body| self.state.frame.node(body) != NodeState::Skipped);
            let own = ran.map(|&body| self.of_body(body, variable));
            values.extend(own.filter(|value| **value != Value::Null).cloned());
        }
        Ok(values)
    }
}

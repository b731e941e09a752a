//! The items of a for-each, and the iterations of a loop.

use minicbor::{Decode, Encode};
use model::{Entry, Expansion, NodeId, Value};

/// The items that a for-each runs its body for, or further iterations of a loop.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Expanded {
    /// The controller.
    #[n(0)]
    pub node: NodeId,
    /// Its items.
    #[n(1)]
    pub items: Vec<Value>,
    /// Their names; empty where they are numbered.
    #[n(2)]
    pub keys: Vec<String>,
    /// Iterations, where the controller is a loop.
    #[n(3)]
    pub iterations: Option<Iterations>,
    /// Bodies after whose success the for-each completes; all where nothing is said.
    #[n(4)]
    pub n_enough: Option<u32>,
}

/// Further iterations of a loop.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Iterations {
    /// How many.
    #[n(0)]
    pub n_more: u32,
    /// Where the new activities run: as those of the iteration before, so that they need no plan of their
    /// own.
    #[n(1)]
    pub entries: Vec<Entry>,
}

impl Expanded {
    /// How it changes the definition.
    pub(crate) fn expansion(&self) -> Expansion {
        Expansion {
            each: self.node,
            n_items: self.items.len() as u32 + self.n_iterations(),
            keys: self.keys.clone(),
            n_enough: self.n_enough,
        }
    }

    /// Iterations of a loop; 0 for a for-each.
    pub(crate) fn n_iterations(&self) -> u32 {
        self.iterations.as_ref().map_or(0, |more| more.n_more)
    }

    /// The entries of the plan that come with them.
    pub(crate) fn entries(&self) -> &[Entry] {
        let iterations = self.iterations.as_ref();
        iterations.map_or(&[], |more| &more.entries)
    }

    /// Bytes of the items and their names.
    pub(crate) fn size(&self) -> usize {
        let items = self.items.iter().map(Value::size);
        items.chain(self.keys.iter().map(String::len)).sum()
    }
}

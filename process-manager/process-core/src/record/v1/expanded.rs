//! The items of a for-each.

use minicbor::{Decode, Encode};
use model::{Expansion, NodeId, Value};

/// The items that a for-each runs its body for.
#[derive(Clone, Debug, Default, PartialEq, Encode, Decode)]
pub struct Expanded {
    /// The for-each.
    #[n(0)]
    pub node: NodeId,
    /// Its items.
    #[n(1)]
    pub items: Vec<Value>,
    /// Their names; empty where they are numbered.
    #[n(2)]
    pub keys: Vec<String>,
}

impl Expanded {
    /// How it changes the definition.
    pub(crate) fn expansion(&self) -> Expansion {
        Expansion {
            each: self.node,
            n_items: self.items.len() as u32,
            keys: self.keys.clone(),
        }
    }

    /// Bytes of the items and their names.
    pub(crate) fn size(&self) -> usize {
        let items = self.items.iter().map(Value::size);
        items.chain(self.keys.iter().map(String::len)).sum()
    }
}

//! The items of a for-each, and the iterations of a loop.

use minicbor::{Decode, Encode};
use model::{Entry, Expansion, NodeId, Picked, Value};

/// Bytes for which a pick counts: its own ones, and what the definition grows by.
const PICK_BYTES: usize = 64;

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
    /// The picks of the inputs of the bodies among the outputs of many items, one body after another; none where
    /// they pick nothing.
    #[n(5)]
    pub picks: Option<Vec<Picked>>,
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
    /// The roots of iterations of the same loop that ended long ago and of which no more than that is kept from
    /// here on; none where nothing is folded.
    #[n(2)]
    pub folded: Option<Vec<NodeId>>,
}

impl Expanded {
    /// How it changes the definition.
    pub(crate) fn expansion(&self) -> Expansion {
        Expansion {
            each: self.node,
            n_items: self.items.len() as u32 + self.n_iterations(),
            keys: self.keys.clone(),
            n_enough: self.n_enough,
            picks: self.picks.clone(),
        }
    }

    /// The same a thousand iterations at a time, which come to the same.
    pub(crate) fn expansions(&self) -> impl Iterator<Item = Expansion> {
        const AT_ONCE: u32 = 1_000;
        let all = self.expansion();
        let at_once = match self.iterations {
            Some(_) => AT_ONCE,
            None => u32::MAX,
        };
        let n_all = all.n_items;
        let mut n_before = 0;
        let mut is_first = true;
        std::iter::from_fn(move || {
            let n_items = (n_all - n_before).min(at_once);
            let is_one = n_items > 0 || is_first;
            is_first = false;
            // All bodies have as many picks.
            let picks = all.picks.as_ref().map(|picks| {
                let n_of_one = picks.len() / (n_all as usize).max(1);
                let at = |body: u32| (body as usize * n_of_one).min(picks.len());
                picks[at(n_before)..at(n_before + n_items)].to_vec()
            });
            n_before += n_items;
            is_one.then(|| Expansion {
                each: all.each,
                n_items,
                keys: all.keys.clone(),
                n_enough: all.n_enough,
                picks,
            })
        })
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

    /// The roots of the iterations that are folded.
    pub(crate) fn folded(&self) -> &[NodeId] {
        let iterations = self.iterations.as_ref();
        let folded = iterations.and_then(|more| more.folded.as_deref());
        folded.unwrap_or_default()
    }

    /// Bytes of the items and their names, and of what their bodies pick.
    pub(crate) fn size(&self) -> usize {
        let items = self.items.iter().map(Value::size);
        let items: usize = items.chain(self.keys.iter().map(String::len)).sum();
        items + self.n_picked() * PICK_BYTES
    }

    fn n_picked(&self) -> usize {
        self.picks.as_ref().map_or(0, Vec::len)
    }
}

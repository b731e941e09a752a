//! The names by which controllers are remembered.

use model::{Definition, NodeId};

/// The name by which a for-each or a loop is remembered: its own, or its keyword and the first step of its body, such
/// as `for-each align`. So it stays the same where other steps are added around it. O(depth).
pub fn controller_name(definition: &Definition, controller: NodeId) -> String {
    let nodes = &definition.draft().nodes;
    let mut words = Vec::new();
    let mut next = Some(definition.origin(controller));
    while let Some(node) = next.and_then(|at| nodes.get(at.index())) {
        if !node.name.is_empty() {
            words.push(node.name.as_str());
            break;
        }
        next = node.children().first().copied();
        if node.kind.has_bodies() || next.is_none() {
            words.push(node.keyword());
        }
    }
    words.join(" ")
}

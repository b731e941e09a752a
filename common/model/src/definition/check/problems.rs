//! The collected problems of a definition.

use crate::NodeId;
use crate::definition::limits::PROBLEMS_MAX;
use crate::definition::{Place, Problem};

#[derive(Default)]
pub(super) struct Problems {
    pub(super) list: Vec<Problem>,
}

impl Problems {
    pub(super) fn add(
        &mut self,
        node: Option<NodeId>,
        field: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.put(node, field, message, None);
    }

    pub(super) fn hint(
        &mut self,
        node: Option<NodeId>,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.put(node, field, message, Some(hint.into()));
    }

    fn put(
        &mut self,
        node: Option<NodeId>,
        field: impl Into<String>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        if self.list.len() < PROBLEMS_MAX {
            let place = Place {
                node,
                field: field.into(),
            };
            self.list.push(Problem {
                place,
                message: message.into(),
                hint,
            });
        }
    }
}

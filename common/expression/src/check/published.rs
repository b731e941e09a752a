//! The paths of published results: their expressions, and that each item has a path of its own.

use model::{NodeId, NodeKind, PublishOf};

use super::Check;
use super::wanted::Joined;
use crate::ExpressionError;
use crate::text::{Piece, Pieces};

/// Checks all paths of published results.
pub(super) fn check(check: &mut Check<'_>) {
    let draft = check.draft;
    for publish in draft.published() {
        let Some(name) = draft.published_name(publish.of) else {
            // The definition's own check reports that.
            continue;
        };
        let node = publish.of.activity();
        check.at = node.and_then(|node| check.around.get(node.index()).copied().flatten());
        check.inside = check.at;
        let place = || (node, format!("publish.{name}"));
        let n_before = check.findings.len();
        check.template(&publish.path, Joined::Text, &place);
        if let PublishOf::Produced { .. } = publish.of
            && check.findings.len() == n_before
            && let Some(error) = check.one_for_all(&publish.path.0)
        {
            check.add(error, false, &place);
        }
    }
}

impl Check<'_> {
    /// The problem with a path that is the same for all items of a for-each around.
    fn one_for_all(&mut self, path: &str) -> Option<ExpressionError> {
        let mut read: Vec<String> = Vec::new();
        for piece in Pieces::new(path).flatten() {
            if let Piece::Source(source, _) = piece
                && let Ok(program) = self.programs.of_source(source)
            {
                read.extend(program.variables().map(str::to_owned));
            }
        }
        let around = std::iter::successors(self.at, |id| self.around[id.index()]);
        let same = around.into_iter().find(|id| !self.reads_item(*id, &read))?;
        let NodeKind::ForEach(each) = &self.draft.nodes[same.index()].kind else {
            return None;
        };
        let item = each.index.as_ref().unwrap_or(&each.item);
        Some(ExpressionError {
            message: "the file of each item has this one path".to_owned(),
            hint: Some(format!(
                "name the item in it, as `results/${{ {item} }}`: {}",
                "its value, its index, or of a file `stem(...)`"
            )),
            offset: 0,
        })
    }

    /// True if one of these names is another one for each item. In a loop that is not wanted: the last
    /// iteration counts.
    fn reads_item(&self, controller: NodeId, read: &[String]) -> bool {
        let NodeKind::ForEach(each) = &self.draft.nodes[controller.index()].kind else {
            return true;
        };
        read.iter().any(|name| {
            let own = self.draft.variables.iter();
            let mut own = own.filter(|variable| variable.of == Some(controller));
            *name == each.item
                || each.index.as_ref() == Some(name)
                || own.any(|variable| variable.name == *name)
        })
    }
}

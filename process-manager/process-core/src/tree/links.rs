//! Links: the join of a node over the values of the links that end there.

use model::Join;

use super::Signal;
use crate::record::LinkState;

/// The signal for `node` once all links that end there have a value; none where an expression decides.
pub(super) fn join(
    join: &Join,
    node: model::NodeId,
    incoming: impl Iterator<Item = LinkState>,
) -> Option<Signal> {
    let (mut n_links, mut has_true, mut has_false, mut is_broken) = (0, false, false, false);
    for state in incoming {
        n_links += 1;
        has_true |= state == LinkState::True;
        has_false |= state == LinkState::False;
        is_broken |= state == LinkState::Broken;
    }
    Some(match join {
        Join::All if is_broken => Signal::Break(node),
        Join::All if has_false => Signal::Skip(node),
        Join::All => Signal::Run(node),
        Join::Any if n_links == 0 || has_true => Signal::Run(node),
        Join::Any if is_broken => Signal::Break(node),
        Join::Any => Signal::Skip(node),
        Join::When(_) => return None,
    })
}

#[cfg(test)]
mod tests {
    use model::{Expression, NodeId};

    use super::*;

    const NODE: NodeId = NodeId(4);

    fn of(kind: &Join, links: &[LinkState]) -> Option<Signal> {
        join(kind, NODE, links.iter().copied())
    }

    #[test]
    fn all_runs_unless_a_link_is_false_or_broken() {
        use LinkState::{Broken, False, True};
        for (links, signal) in [
            (&[][..], Signal::Run(NODE)),
            (&[True, True], Signal::Run(NODE)),
            (&[True, False], Signal::Skip(NODE)),
            (&[True, Broken], Signal::Break(NODE)),
            (&[False, Broken], Signal::Break(NODE)),
        ] {
            assert_eq!(of(&Join::All, links), Some(signal), "{links:?}");
        }
    }

    #[test]
    fn any_runs_by_one_true_link() {
        use LinkState::{Broken, False, True};
        for (links, signal) in [
            (&[][..], Signal::Run(NODE)),
            (&[True, Broken], Signal::Run(NODE)),
            (&[True, False], Signal::Run(NODE)),
            (&[False, False], Signal::Skip(NODE)),
            (&[False, Broken], Signal::Break(NODE)),
        ] {
            assert_eq!(of(&Join::Any, links), Some(signal), "{links:?}");
        }
    }

    #[test]
    fn an_expression_decides_itself() {
        let when = Join::When(Expression("links.a".to_owned()));
        assert_eq!(of(&when, &[LinkState::True]), None);
    }
}

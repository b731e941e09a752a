//! Links: the join of a node over the values of the links that end there.

use model::Join;

use super::Signal;
use crate::record::LinkState;

/// The meaning of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// Whether its end runs, and after what.
    Whether,
    /// After what its end runs, which something else says as well.
    After,
}

/// The signal for `node` once all links that end there have a value; none where an expression decides. A link that only
/// says what the order of items says anyway is no reason to run where there are others.
pub(super) fn join(
    join: &Join,
    node: model::NodeId,
    incoming: impl Iterator<Item = (LinkState, Says)> + Clone,
) -> Option<Signal> {
    let has_own = incoming.clone().any(|(_, says)| says == Says::Whether);
    let counts = |says: Says| says == Says::Whether || !has_own || *join != Join::Any;
    let incoming = incoming.filter(|&(_, says)| counts(says));
    let incoming = incoming.map(|(state, _)| state);
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
        join(
            kind,
            NODE,
            links.iter().map(|&state| (state, Says::Whether)),
        )
    }

    #[test]
    fn what_the_order_of_items_says_anyway_is_no_reason_to_run_beside_other_links() {
        use LinkState::{Broken, False, True};
        let of = |kind: &Join, links: &[(LinkState, Says)]| join(kind, NODE, links.iter().copied());
        let after = (True, Says::After);
        for (state, signal) in [
            (True, Signal::Run(NODE)),
            (False, Signal::Skip(NODE)),
            (Broken, Signal::Break(NODE)),
        ] {
            let links = [after, (state, Says::Whether)];
            assert_eq!(of(&Join::Any, &links), Some(signal));
            assert_eq!(of(&Join::All, &links), Some(signal));
        }
        assert_eq!(of(&Join::Any, &[after]), Some(Signal::Run(NODE)));
        let skipped = [(False, Says::After)];
        assert_eq!(of(&Join::Any, &skipped), Some(Signal::Skip(NODE)));
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

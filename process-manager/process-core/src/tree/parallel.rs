//! `parallel`: all children side by side.
//!
//! ```text
//!  running: all children --all ended--> done
//!                              \--one of them broken--> broken
//! ```

use super::Answer;

/// The answer to the end of a child, `n_ended` of `n_children` having ended. `is_any_broken` is asked
/// once, after the last one.
pub(super) fn child_ended(
    n_children: usize,
    n_ended: usize,
    is_any_broken: impl FnOnce() -> bool,
) -> Answer {
    if n_ended < n_children {
        Answer::Wait
    } else if is_any_broken() {
        Answer::Break
    } else {
        Answer::Finish
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_with_its_last_child() {
        let never = || unreachable!("children are looked at before all have ended");
        assert_eq!(child_ended(3, 1, never), Answer::Wait);
        assert_eq!(child_ended(3, 2, never), Answer::Wait);
        assert_eq!(child_ended(3, 3, || false), Answer::Finish);
        assert_eq!(child_ended(3, 3, || true), Answer::Break);
    }
}

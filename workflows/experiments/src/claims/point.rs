//! One point of the curves of a study of rescheduling, which claims are judged at.

use crate::figures::{Figure, Kind};
use crate::published::GROUPS;
use crate::results::Results;
use crate::statistics::Estimate;

/// The results at one number of groups.
pub(super) struct Point<'a> {
    pub(super) results: &'a Results,
    /// The number of groups.
    pub(super) groups: u32,
}

impl Point<'_> {
    /// Ten groups, for which numbers are published; the first number of them where ten is not among them.
    pub(super) fn ten(results: &Results) -> Point<'_> {
        let all = &results.design().groups;
        let ten = all.iter().find(|&&groups| groups == GROUPS);
        let groups = ten.or(all.first()).copied().unwrap_or(GROUPS);
        Point { results, groups }
    }

    /// The mean of a figure of a column.
    pub(super) fn mean(&self, kind: Kind, column: usize) -> Estimate {
        Figure { kind, column }.estimate(self.results, 0, self.groups)
    }

    /// The mean difference of two figures of the same runs.
    pub(super) fn minus(&self, one: Figure, other: Figure) -> Estimate {
        one.minus(other, self.results, 0, self.groups)
    }
}

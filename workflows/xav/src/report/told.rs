//! Values of activities in the page: of the first ones of a process with many, those that failed before all others.

use model::ActivityId;
use wire::client::{ActivityPhase, Status};

use super::escape::visible;
use super::written::shortened;
use crate::chosen::by_interest;
use crate::values::{Values, texts};

/// Activities with their values.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// Labels with their texts, of each activity that is told.
    pub(crate) texts: Vec<Vec<(&'static str, String)>>,
    /// For each activity of the report the place in `texts`; none where there was no room.
    pub(crate) of: Vec<Option<usize>>,
}

impl Told {
    /// The activities whose values are worth asking for, the most interesting first.
    pub(crate) fn wanted(status: &Status) -> Vec<ActivityId> {
        let known = status.activities.iter().filter(|one| match one.phase {
            ActivityPhase::Waiting | ActivityPhase::Skipped => false,
            ActivityPhase::Ready
            | ActivityPhase::Sent
            | ActivityPhase::Running
            | ActivityPhase::Backoff
            | ActivityPhase::Completed
            | ActivityPhase::Faulted
            | ActivityPhase::Stopped => true,
        });
        let known = by_interest(known.collect());
        known.iter().map(|one| one.activity).collect()
    }

    /// The values as texts, in the order of the status.
    pub(crate) fn of(status: &Status, values: &Values) -> Told {
        let mut told = Told::default();
        for one in &status.activities {
            let place = values.get(&one.activity).map(|values| {
                let texts = texts(values, one);
                let texts: Vec<_> = texts
                    .into_iter()
                    .map(|(label, text)| (label, shortened(&visible(&text))))
                    .collect();
                told.texts.push(texts);
                told.texts.len() - 1
            });
            told.of.push(place);
        }
        told
    }
}

//! The rate of log lines about refusals: one a minute for each source.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use model::Mono;

use crate::limits::{REFUSED_PERIOD, REFUSED_SOURCES_MAX};

/// Decides which refusals of peers are logged, and counts the others. It remembers a bounded number
/// of sources; further ones share a line.
#[derive(Debug, Default)]
pub struct RefusalLog(Mutex<BTreeMap<String, Told>>);

#[derive(Debug)]
struct Told {
    at: Mono,
    n_untold: u64,
}

/// A line to log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusalLine {
    /// The source, or `others` if there are too many of them.
    pub source: String,
    /// Refusals of this source since its last line that were not logged.
    pub n_more: u64,
}

/// The name of the sources beyond the bound.
const OTHERS: &str = "others";

impl RefusalLog {
    /// Records a refusal. Returns a line if one is due.
    pub fn note(&self, source: &str, now: Mono) -> Option<RefusalLine> {
        let mut sources = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = sources.len() >= REFUSED_SOURCES_MAX;
        if is_full && !sources.contains_key(source) {
            // A silent source gets no further line.
            sources.retain(|name, told| name == OTHERS || now.since(told.at) < REFUSED_PERIOD);
        }
        let is_full = sources.len() >= REFUSED_SOURCES_MAX;
        let source = match is_full && !sources.contains_key(source) {
            true => OTHERS,
            false => source,
        };
        if let Some(told) = sources.get_mut(source)
            && now.since(told.at) < REFUSED_PERIOD
        {
            told.n_untold += 1;
            return None;
        }
        let (at, n_untold) = (now, 0);
        let before = sources.insert(source.to_owned(), Told { at, n_untold });
        Some(RefusalLine {
            source: source.to_owned(),
            n_more: before.map_or(0, |told| told.n_untold),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Span;

    fn at(seconds: u64) -> Mono {
        Mono(0) + Span::from_secs(seconds)
    }

    fn line(source: &str, n_more: u64) -> Option<RefusalLine> {
        let source = source.to_owned();
        Some(RefusalLine { source, n_more })
    }

    #[test]
    fn a_source_has_a_line_a_minute_and_the_rest_is_counted() {
        let log = RefusalLog::default();
        assert_eq!(log.note("a", at(0)), line("a", 0));
        assert_eq!(log.note("b", at(1)), line("b", 0));
        (0..50).for_each(|_| assert_eq!(log.note("a", at(59)), None));
        assert_eq!(log.note("a", at(60)), line("a", 50));
        assert_eq!(log.note("a", at(61)), None);
    }

    #[test]
    fn sources_beyond_the_bound_share_a_line() {
        let log = RefusalLog::default();
        for n in 0..REFUSED_SOURCES_MAX {
            assert!(log.note(&n.to_string(), at(0)).is_some());
        }
        assert_eq!(log.note("x", at(1)), line(OTHERS, 0));
        assert_eq!(log.note("y", at(2)), None);
        assert_eq!(log.note("0", at(60)), line("0", 0));
        // The others have been silent for a minute by then, and are forgotten.
        assert_eq!(log.note("z", at(61)), line("z", 0));
        assert!(log.0.lock().unwrap().len() <= REFUSED_SOURCES_MAX + 1);
    }
}

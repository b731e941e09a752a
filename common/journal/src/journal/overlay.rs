//! The changes in the tail, laid over each stream while the store is read.

use std::collections::BTreeMap;

use super::scan::History;
use crate::layout::StreamKey;
use crate::tail::What;

/// A change that does not fit its stream.
#[derive(Debug)]
pub(super) struct Misfit {
    pub(super) stream: StreamKey,
    pub(super) what: &'static str,
}

/// The changes; see the module.
pub(super) struct Overlay<'t> {
    /// Changes by stream, each with its position among all.
    streams: BTreeMap<StreamKey, Vec<(usize, What<'t>)>>,
    /// Streams that were founded in the tail, with the position of that.
    founded: Vec<(usize, History)>,
}

impl<'t> Overlay<'t> {
    pub(super) fn new(changes: Vec<(StreamKey, What<'t>)>) -> Overlay<'t> {
        let mut streams: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (at, (stream, what)) in changes.into_iter().enumerate() {
            streams.entry(stream).or_default().push((at, what));
        }
        Overlay {
            streams,
            founded: Vec::new(),
        }
    }

    /// The state of a stream of the store; none if it was removed, or founded again and thus
    /// younger.
    pub(super) fn over(&mut self, history: History) -> Result<Option<History>, Misfit> {
        match self.streams.remove(&history.stream) {
            Some(changes) => self.apply(history.stream.clone(), Some(history), changes),
            None => Ok(Some(history)),
        }
    }

    /// Streams that are only in the tail, ordered by age.
    pub(super) fn rest(mut self) -> Result<Vec<History>, Misfit> {
        while let Some((stream, changes)) = self.streams.pop_first() {
            self.apply(stream, None, changes)?;
        }
        self.founded.sort_by_key(|(at, _)| *at);
        Ok(self
            .founded
            .into_iter()
            .map(|(_, history)| history)
            .collect())
    }

    fn apply(
        &mut self,
        stream: StreamKey,
        mut history: Option<History>,
        changes: Vec<(usize, What<'t>)>,
    ) -> Result<Option<History>, Misfit> {
        let mut founded_at = None;
        for (at, what) in changes {
            let misfit = |what| {
                let stream = stream.clone();
                Err(Misfit { stream, what })
            };
            match (what, &mut history) {
                (What::Found(event), None) => {
                    founded_at = Some(at);
                    history = Some(History {
                        stream: stream.clone(),
                        founding: event.to_vec(),
                        snapshot: None,
                        chapters: BTreeMap::new(),
                        tail: Vec::new(),
                    });
                }
                (What::Found(_), Some(_)) => return misfit("is founded twice"),
                (What::Event(event), Some(history)) => history.tail.push(event.to_vec()),
                (What::Snapshot(snapshot), Some(history)) => {
                    history.snapshot = Some(snapshot.to_vec());
                    history.tail.clear();
                }
                (What::Chapter(number, chapter), Some(history)) => {
                    history.chapters.insert(number, chapter.to_vec());
                }
                (What::Forget, Some(_)) => history = None,
                (What::Event(_) | What::Snapshot(_) | What::Chapter(..) | What::Forget, None) => {
                    return misfit("has no founding event");
                }
            }
        }
        match (founded_at, history) {
            (Some(at), Some(history)) => {
                self.founded.push((at, history));
                Ok(None)
            }
            (_, history) => Ok(history),
        }
    }
}

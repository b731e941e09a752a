//! Forgetting: nothing is left of a process that has ended.

use machine::Context;
use model::ProcessId;
use wire::client::Answer;

use crate::alphabet::Stream;
use crate::manager::{ProcessManager, limits, process};

impl ProcessManager {
    /// Forgets a process. The answer leaves when its journal is gone.
    pub(crate) fn forget(&mut self, cx: &mut Context<'_, Self>, id: ProcessId) -> Answer {
        let Some(known) = process(cx, id) else {
            return Answer::Unknown(id);
        };
        if !known.phase().has_ended() {
            return Answer::Refused(vec![format!(
                "process {id} has not ended: cancel it first, or wait"
            )]);
        }
        if !known.course.is_released {
            return Answer::Refused(vec![format!(
                "process {id} has just ended and its machines are being given back: try again in a \
                 moment"
            )]);
        }
        self.recorded.forget(id);
        self.end_copies(id);
        // A late repeat of its submission must not run it again; and within one batch of events
        // nothing may be recorded of it any more.
        if self.forgotten.len() == limits::FORGOTTEN_MAX {
            self.forgotten.pop_front();
        }
        self.forgotten.push_back(id);
        cx.forget(Stream::Process(id));
        Answer::Forgotten(id)
    }
}

//! Times that activities of the caller took in earlier runs: told in pages, and forgotten. What one owner ran is
//! neither told nor forgotten for another, be that an administrator.

use history::{Key, Record, SizeClass};
use minicbor::bytes::ByteVec;
use wire::client::{Answer, HISTORY_RECORDS_MAX, HistoryKey, HistoryPage, HistoryRecord};

use super::{Asking, tell};
use crate::io::{Effect, ForgetRequest};
use crate::step::Step;
use crate::submission::Caller;

/// A page of what is remembered for a caller, of one definition or of all. O(page log store).
pub(super) fn page(
    step: &Step<'_>,
    caller: &Caller,
    definition: Option<&str>,
    after: Option<HistoryKey>,
) -> Answer {
    let owner = caller.owner().unwrap_or_default();
    let after = after.map(|after| Key {
        owner: String::new(),
        definition: after.definition,
        activity: after.activity,
        class: SizeClass(after.class),
    });
    let mut known = step
        .history
        .of_owner_after(&owner, definition, after.as_ref());
    let records = known.by_ref().take(HISTORY_RECORDS_MAX);
    let records = records.map(|(key, known)| record(key, known));
    let page = HistoryPage {
        records: records.collect(),
        has_more: known.next().is_some(),
    };
    Answer::History(Box::new(page))
}

/// Forgets what is remembered for a caller; it is answered when that is durable. A repeat that finds nothing
/// more waits for the disk as well, because the request before it may not have reached it.
pub(super) fn forget_history(
    step: &mut Step<'_>,
    (client, number): Asking,
    caller: &Caller,
    definition: Option<&str>,
) {
    let owner = caller.owner().unwrap_or_default();
    let forgotten = step.history.forget(&owner, definition);
    let request = ForgetRequest {
        client,
        number,
        n_forgotten: forgotten.len() as u64,
        owner,
        definition: definition.map(str::to_owned),
    };
    step.cx.effect(Effect::Forget(Box::new(request)));
}

/// Answers whoever has asked to forget.
pub(crate) fn history_forgotten(
    step: &mut Step<'_>,
    request: &ForgetRequest,
    result: Result<(), String>,
) {
    let answer = match result {
        Ok(()) => Answer::HistoryForgotten(request.n_forgotten),
        Err(why) => Answer::Refused(vec![why]),
    };
    tell(step, (request.client, request.number), answer);
}

fn record(key: Key, known: &Record) -> HistoryRecord {
    HistoryRecord {
        key: HistoryKey {
            definition: key.definition,
            activity: key.activity,
            class: key.class.0,
        },
        record: ByteVec::from(known.encode()),
    }
}

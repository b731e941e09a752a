//! `--dry-run` of `xav run`, `xav rerun` and `xav resume`: what would run, why, and what stands. It is worked
//! out by the process manager's own logic, which changes nothing.

mod words;

use std::path::Path;

use activity_blobs::Reader;
use model::{Artifact, Definition};
use process_daemon::Offline;
use shell::Client;
use wire::client::{Answer, Forecast, Foresight, Request, Submit};

use self::words::Shown;
use crate::arguments::Following;
use crate::ask::{Source, unfit};
use crate::earlier::Earlier;
use crate::failure::{Failure, Outcome};
use crate::{machines, screen};

/// Activities of a definition for which it is told in a line what will run. Of a larger one that would take
/// longer than starting it.
const TOLD_ACTIVITIES_MAX: usize = 5_000;

/// The forecast of a submission. `directory` is the state directory of a manager that does not run.
pub(crate) fn of_submission(
    source: &mut Source,
    submit: Submit,
    directory: Option<&Path>,
) -> Result<Foresight, Failure> {
    let answer = match source {
        Source::Offline(offline) => {
            let stores = Stores::of(directory);
            offline.foresee(submit, &mut |artifact| stores.have(artifact))
        }
        Source::Nothing => process_daemon::foresee_first(submit, Vec::new(), &mut |_| true),
        Source::Live(..) | Source::Grid(_) => source.answer(Request::Foresee(Box::new(submit)))?,
    };
    foreseen(answer)
}

/// The forecast of the first process of a state directory, which may recall outcomes of earlier runs.
pub(crate) fn of_first(submit: Submit, earlier: &Earlier) -> Result<Foresight, Failure> {
    let outcomes = earlier.outcomes.clone();
    let answer = process_daemon::foresee_first(submit, outcomes, &mut earlier.has_file());
    foreseen(answer)
}

/// The forecast of a process that was interrupted and is resumed.
pub(crate) fn of_resumed(
    offline: &Offline,
    process: model::ProcessId,
    directory: &Path,
) -> Result<Foresight, Failure> {
    let stores = Stores::of(Some(directory));
    foreseen(offline.foresee_resumed(process, &mut |artifact| stores.have(artifact)))
}

fn foreseen(answer: Answer) -> Result<Foresight, Failure> {
    if let Answer::Foreseen(foresight) = answer {
        Ok(*foresight)
    } else {
        Err(unfit(&answer))
    }
}

/// Shows it, as the answer of a command.
pub(crate) fn show(foresight: &Foresight, definition: &Definition, how: Following) -> Outcome {
    let shown = Shown::of(foresight, definition);
    match how.json {
        true => screen::json(&shown.json())?,
        false => screen::out(&shown.text(how.quiet))?,
    }
    Ok(0)
}

/// The forecast of a rerun, where that is quickly known.
pub(crate) fn of_rerun(
    client: &mut Client,
    definition: &Definition,
    submit: &Submit,
) -> Result<Option<Foresight>, Failure> {
    if definition.activities().len() > TOLD_ACTIVITIES_MAX {
        return Ok(None);
    }
    let submit = Submit {
        draft: definition.draft().clone(),
        ..submit.clone()
    };
    let answer = client.ask(Request::Foresee(Box::new(submit)));
    let answer = answer.map_err(|error| Failure::because(&error))?;
    // A mistake in it is told by its submission.
    let Answer::Foreseen(foresight) = answer else {
        return Ok(None);
    };
    Ok(Some(*foresight))
}

/// Tells in a line what of a rerun is going to run.
pub(crate) fn tell(foresight: &Foresight, definition: &Definition, how: Following) {
    if !how.quiet && !how.json {
        let shown = Shown::of(foresight, definition);
        screen::tell(&format!("{}\n", shown.line()));
    }
}

/// True if anything is going to run, or might.
pub(crate) fn may_run(foresight: &Foresight) -> bool {
    let stands = |forecast: &Forecast| match forecast {
        Forecast::Stands(_) | Forecast::Skipped => true,
        Forecast::Runs(_) | Forecast::Lost(_) | Forecast::Depends(_) | Forecast::Unknown => false,
    };
    let mut activities = foresight.activities.iter();
    foresight.is_partial
        || !foresight.undecided.is_empty()
        || activities.any(|(_, forecast)| !stands(forecast))
}

/// The files in a state directory.
pub(crate) struct Stores(Vec<Reader>);

impl Stores {
    pub(crate) fn of(directory: Option<&Path>) -> Stores {
        let machines = directory.map(machines::directories).unwrap_or_default();
        let stores = machines.iter().map(|machine| machine.join("blobs"));
        let stores = stores.filter(|blobs| blobs.is_dir());
        Stores(
            stores
                .filter_map(|blobs| Reader::open(&blobs).ok())
                .collect(),
        )
    }

    pub(crate) fn have(&self, artifact: Artifact) -> bool {
        self.0.iter().any(|store| store.has(artifact))
    }
}

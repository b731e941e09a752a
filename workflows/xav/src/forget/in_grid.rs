//! `xav forget` in a grid: its process managers forget, and its machines remove files that nobody
//! needs by themselves.

use std::collections::BTreeSet;
use std::fs;

use model::ProcessId;
use serde_json::json;
use shell::Client;
use wire::client::{Answer, Request, Summary};

use super::{FORGETTING_TIME, FORGOTTEN_MAX, forget_one, is_older, not_ended, said, tell_foretold};
use crate::arguments::{Following, Forget};
use crate::failure::{Failure, Outcome};
use crate::home;
use crate::remote::{Home, Remote};
use crate::sources::Sources;
use crate::watch::Host;
use crate::{due, screen, text};

/// Forgets what the command line names.
pub(super) fn forget(remote: &Remote, arguments: &Forget) -> Outcome {
    let (known, warnings) = remote.list();
    for warning in &warnings {
        screen::warn(&warning.message);
    }
    let wanted: Vec<&(Home, Summary)> = match arguments.older_than {
        Some(age) => {
            let now = shell::clock::wall();
            let is_old = |(_, one): &&(Home, Summary)| is_older(one, age, now);
            known.iter().filter(is_old).collect()
        }
        None => {
            let names: Vec<(ProcessId, String)> = known
                .iter()
                .map(|(_, one)| (one.process, one.name.clone()))
                .collect();
            let ids = arguments.ids.iter();
            let chosen: Result<BTreeSet<ProcessId>, Failure> =
                ids.map(|id| home::choose(Some(id), &names)).collect();
            let chosen = chosen?;
            let is_chosen = |(_, one): &&(Home, Summary)| chosen.contains(&one.process);
            known.iter().filter(is_chosen).collect()
        }
    };
    if arguments.dry_run {
        let unfinished = wanted.iter().find(|(_, one)| !one.phase.has_ended());
        if let Some((_, one)) = unfinished {
            return Err(not_ended(one));
        }
        let wanted: Vec<Summary> = wanted.iter().map(|(_, one)| one.clone()).collect();
        // Its machines make room by themselves, as they need it.
        tell_foretold(&wanted, None, arguments.json)?;
        return Ok(0);
    }
    let (mut forgotten, mut failures) = (Vec::new(), Vec::new());
    let mut client: Option<(String, Client)> = None;
    for (home, summary) in wanted {
        match forget_at(home, summary, &mut client) {
            Ok(()) => forgotten.push(summary.process),
            Err(failure) => failures.push(failure),
        }
    }
    if arguments.json {
        let names: Vec<String> = forgotten.iter().map(ProcessId::to_string).collect();
        screen::json(&json!({ "forgotten": names, "freed_bytes": null }))?;
    } else {
        screen::out(&said(&forgotten, None))?;
    }
    let worst = failures.iter().map(|failure| failure.status).max();
    for failure in failures {
        failure.tell(false);
    }
    Ok(worst.unwrap_or(0))
}

/// Forgets what of the user's own is over its time at a process manager, after a run there; not the
/// process of that run. It fails nothing. The process manager forgets by itself, once in a while: this
/// takes effect at once, and removes what was fetched to this machine.
pub(crate) fn what_is_over_its_time(
    home: &Home,
    client: &mut Client,
    own: ProcessId,
    following: Following,
) {
    let give_up = shell::clock::mono() + FORGETTING_TIME;
    client.set_patience(FORGETTING_TIME);
    let Ok(Answer::Processes(known)) = client.ask(Request::List) else {
        return;
    };
    let (me, now) = (home.remote().identity().to_string(), shell::clock::wall());
    let is_meant = |one: &&Summary| {
        let is_over = due::over_at(one).is_some_and(|at| at <= now);
        one.process != own && one.owner.as_deref() == Some(me.as_str()) && is_over
    };
    let mut n_forgotten = 0;
    for summary in known.iter().filter(is_meant).take(FORGOTTEN_MAX) {
        if shell::clock::mono() >= give_up {
            break;
        }
        if forget_by(client, summary).is_ok() {
            n_forgotten += 1;
        }
    }
    if n_forgotten > 0 && !following.quiet && !following.json {
        let processes = text::count(n_forgotten, "process", "processes");
        screen::tell(&format!(
            "forgot {processes} whose time to be kept was over\n"
        ));
    }
}

/// At the process manager that has it; the client of the last one serves again.
fn forget_at(
    home: &Home,
    summary: &Summary,
    kept: &mut Option<(String, Client)>,
) -> Result<(), Failure> {
    let is_same = matches!(kept, Some((name, _)) if name == home.name());
    if !is_same {
        *kept = Some((home.name().to_owned(), home.client()?));
    }
    let (_, client) = kept.as_mut().expect("it was put there");
    forget_by(client, summary)
}

fn forget_by(client: &mut Client, summary: &Summary) -> Result<(), Failure> {
    if !summary.phase.has_ended() {
        return Err(not_ended(summary));
    }
    forget_one(client, summary.process)?;
    // Fetched results go with the process; there may be none.
    if let Ok(results) = home::results(summary.process) {
        let _ = fs::remove_dir_all(results);
    }
    if let Ok(of_user) = home::of_user() {
        Sources::remove(&of_user, summary.process);
    }
    Ok(())
}

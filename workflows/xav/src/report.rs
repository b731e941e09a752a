//! `xav report`: one HTML page about a process, which opens without a network.
//!
//! `figures.rs` computes every number in it, `page.rs` writes it; the scripts and the style beside
//! them draw the charts and the long tables in the browser.

mod amounts;
mod chain;
mod controllers;
mod data;
mod escape;
mod fault_text;
mod figures;
mod graph;
pub(crate) mod groups;
mod items;
mod lanes;
mod packing;
mod page;
mod rounds;
mod tables;
mod told;
mod trace;
mod usage;
mod values;
mod written;

#[cfg(test)]
mod fixtures;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use wire::client::{Answer, Request};

use crate::arguments::Which;
use crate::ask::{Source, refuse_held};
use crate::failure::{Failure, Outcome};
use crate::fault::short;
use crate::home::{self, Located};
use crate::{screen, text};

use figures::{Look, Report};
use page::{Subject, page};
use told::Told;

/// `xav report`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// Where the page is written, `-` for standard output; NAME-ID.html in the current directory
    /// where left out
    #[arg(long, short, value_name = "FILE.html")]
    out: Option<PathBuf>,
    /// Write the run as a trace in the Trace Event format, which ui.perfetto.dev shows, `-` for standard output; the page
    /// is written beside it only with `--out`
    #[arg(long, value_name = "FILE.json")]
    trace: Option<PathBuf>,
}

/// Examples for its help.
pub(crate) const EXAMPLES: &str = "\
Examples:
  xav report                        the newest process, as NAME-ID.html in the current directory
  xav report 0c4r --out run.html    the process whose ID begins so
  xav report 0c4r --out - | gzip > run.html.gz
  xav report --trace run.json       the attempts as a trace for https://ui.perfetto.dev";

/// `xav report`
pub(crate) fn report(arguments: &Arguments) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let (status, definition) = source.known(process)?;
    refuse_held(&status.summary)?;
    let now = shell::clock::wall();
    let look = Look {
        now,
        is_live: source.is_live(),
    };
    let mut report = Report::of(&status, &definition, look);
    let is_page_wanted = arguments.trace.is_none() || arguments.out.is_some();
    if is_page_wanted {
        let values = crate::values::of(&mut source, process, &Told::wanted(&status))?;
        report.told = Told::of(&status, &values);
        let is_at_work = source.is_live() && !status.summary.phase.has_ended();
        // A run that ends just now answers no more: the page is whole without it.
        if is_at_work
            && let Ok(Answer::WhyProcess(why)) = source.answer(Request::WhyProcess(process))
            && let Some(declined) = &why.declined
        {
            report.rounds.tell_declined(&status, declined);
        }
    }
    drop(source);
    if let Some(path) = &arguments.trace {
        let summary = &status.summary;
        let submitted = text::moment_for_programs(summary.submitted);
        let id = summary.process.to_string();
        put(path, &trace::trace(&report, &summary.name, &id, &submitted))?;
        if arguments.out.is_none() {
            return Ok(0);
        }
    }
    let subject = Subject {
        values: &values::values(&status),
        summary: &status.summary,
        directory: &location.shown(),
        waiting_for: status.waiting_for.as_deref(),
        now,
        nonce: &draw_nonce()?,
    };
    let text = page(&subject, &report);
    let path = arguments.out.clone().unwrap_or_else(|| {
        let (name, id) = (&status.summary.name, short(process));
        PathBuf::from(format!("{name}-{id}.html"))
    });
    put(&path, &text)?;
    Ok(0)
}

/// Writes a text to a file and says where that is, or writes it to standard output.
fn put(path: &Path, text: &str) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        screen::out_bytes(&mut text.as_bytes())?;
        return Ok(());
    }
    write(path, text)
        .map_err(|error| Failure::new(format!("could not write {}: {error}", path.display())))?;
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    screen::out(&format!("{}\n", path.display()))?;
    Ok(())
}

/// Writes a file whole or not at all: what stands there before is replaced by the finished page.
fn write(path: &Path, text: &str) -> io::Result<()> {
    // A link is followed, and what is no file (a pipe, a device) is written to as it is.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let mut file = fs::OpenOptions::new().write(true).open(path)?;
        return file.write_all(text.as_bytes());
    }
    let mut beside = path.as_os_str().to_owned();
    beside.push(".part");
    let beside = PathBuf::from(beside);
    let written = fs::File::create(&beside).and_then(|mut file| file.write_all(text.as_bytes()));
    let placed = written.and_then(|()| fs::rename(&beside, path));
    if placed.is_err() {
        // The error is told; a leaving that cannot be taken away stays.
        let _ = fs::remove_file(&beside);
    }
    placed
}

fn draw_nonce() -> Result<String, Failure> {
    let draw = || {
        Ok(format!(
            "{:016x}{:016x}",
            getrandom::u64()?,
            getrandom::u64()?
        ))
    };
    draw().map_err(|error: getrandom::Error| {
        Failure::new(format!("could not draw a number for the page: {error}"))
    })
}

#[cfg(test)]
mod tests;

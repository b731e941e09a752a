//! `xav self check`: what is wrong on this machine, before a daemon or a process finds out.
//!
//! Each check has a file: `daemon` looks at the directory of a manager, `group` asks its group manager. A
//! finding says what is wrong, where, and what to do.

mod daemon;
mod group;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::{Outcome, status};
use crate::grid_admin::Of;
use crate::screen;

pub(crate) const EXAMPLES: &str = "\
Examples:
  xav self check                        the managers that are services of this machine
  xav self check lab/pm/pm.toml         another one
  xav self check --grid lab/client      a grid, as its users see it";

/// Where the configurations of services are (`packaging/systemd`).
const SERVICES: [&str; 3] = [
    "/var/lib/xavantes/gm/gm.toml",
    "/var/lib/xavantes/pm/pm.toml",
    "/var/lib/xavantes/am/am.toml",
];

/// `xav self`
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Find what is wrong on this machine: settings, keys, disks, ports, limits, clock, versions
    #[command(after_help = EXAMPLES)]
    Check(Arguments),
}

/// `xav self check`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Configurations of managers: gm.toml, pm.toml, am.toml; those of this machine's services where left out
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    of: Of,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Command {
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Command::Check(arguments) => arguments.json,
        }
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Finding {
    /// The check, in a word for scripts.
    check: &'static str,
    /// The file, address or daemon.
    place: String,
    /// What is wrong.
    what: String,
    /// What to do.
    help: String,
    weight: Weight,
}

/// Whether something must be mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    /// It hinders, or will soon.
    Fault,
    /// It works, with less than it could.
    Advice,
}

impl Finding {
    fn fault(
        check: &'static str,
        place: impl ToString,
        what: impl Into<String>,
        help: &str,
    ) -> Finding {
        Finding {
            check,
            place: place.to_string(),
            what: what.into(),
            help: help.to_owned(),
            weight: Weight::Fault,
        }
    }

    fn advice(
        check: &'static str,
        place: impl ToString,
        what: impl Into<String>,
        help: &str,
    ) -> Finding {
        Finding {
            weight: Weight::Advice,
            ..Finding::fault(check, place, what, help)
        }
    }

    fn document(&self) -> Value {
        json!({
            "check": self.check,
            "place": self.place,
            "what": self.what,
            "help": self.help,
            "is_fault": self.weight == Weight::Fault,
        })
    }
}

/// `xav self check`
pub(crate) fn check(Command::Check(arguments): &Command) -> Outcome {
    let mut files = arguments.files.clone();
    if files.is_empty() {
        let services = SERVICES.into_iter().map(PathBuf::from);
        files.extend(services.filter(|path| path.exists()));
    }
    let mut findings = Vec::new();
    for file in &files {
        daemon::check(file, &mut findings);
    }
    let has_grid = group::check(&arguments.of, &mut findings);
    if arguments.json {
        let documents: Value = findings.iter().map(Finding::document).collect();
        screen::json(&documents)?;
    } else {
        show(&findings, files.len(), has_grid)?;
    }
    let is_well = findings
        .iter()
        .all(|finding| finding.weight == Weight::Advice);
    Ok(if is_well { 0 } else { status::FAULTED })
}

fn show(findings: &[Finding], n_files: usize, has_grid: bool) -> std::io::Result<()> {
    for Finding {
        check,
        place,
        what,
        help,
        weight,
    } in findings
    {
        let head = match weight {
            Weight::Fault => screen::bad(check),
            Weight::Advice => screen::odd(check),
        };
        screen::out(&format!("{head}: {place}: {what}\n  {help}\n"))?;
    }
    let n_faults = findings
        .iter()
        .filter(|one| one.weight == Weight::Fault)
        .count();
    let looked = match (n_files, has_grid) {
        (0, false) => "no manager is a service here, and no grid was given".to_owned(),
        (n, true) => format!("managers: {n}, and the grid"),
        (n, false) => format!("managers: {n}"),
    };
    screen::out(&match n_faults {
        0 => format!("No faults ({looked}).\n"),
        n => format!("Faults: {n} ({looked}).\n"),
    })
}

//! `xav platform`: descriptions of machines.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use language::platform::import::tables;
use model::Bytes;

use crate::failure::{Failure, Outcome};
use crate::inputs::reason;
use crate::machines::{FILE_BYTES_MAX, read_bounded};
use crate::{screen, text};

/// Files of a directory that are looked at: nobody keeps tables among more.
const FILES_MAX: usize = 10_000;

/// `xav platform`
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a platform file of tables (CSV) that describe a real grid
    #[command(after_help = EXAMPLES)]
    Import(Import),
}

const EXAMPLES: &str = "\
A table of machines is called NAME-clusters.csv or NAME-nodes.csv, that of the links between their
places NAME-wan.csv or NAME-links.csv. docs/platforms.md tells their columns.

Examples:
  xav platform import tables/ --out grid.yaml
  xav platform import tables/ --name lcg-2004 --out lcg.yaml
  xav plan montage.json --platform grid.yaml";

/// `xav platform import`
#[derive(Args, Debug)]
pub(crate) struct Import {
    /// The directory with the tables
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Which platform, where the directory has tables of several; the first by name where left out
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Where the platform file is written; standard output where left out
    #[arg(long, short, value_name = "FILE.yaml")]
    out: Option<PathBuf>,
}

/// The two tables of a platform.
#[derive(Default)]
struct Tables {
    machines: Option<PathBuf>,
    links: Option<PathBuf>,
}

/// `xav platform import`
pub(crate) fn import(arguments: &Import) -> Outcome {
    let directory = &arguments.directory;
    let found = find(directory)?;
    let shown = directory.display();
    let names = || found.keys().map(String::as_str);
    let name = match &arguments.name {
        Some(name) => name.as_str(),
        None => names().next().ok_or_else(|| {
            Failure::refused(format!("there are no tables of a platform in {shown}"))
                .help("they are called NAME-clusters.csv and NAME-wan.csv, or NAME-nodes.csv and NAME-links.csv")
        })?,
    };
    let Some((machines, links)) = found.get(name) else {
        let known: Vec<&str> = names().collect();
        let known = match known.as_slice() {
            [] => "none of any".to_owned(),
            known => format!("those of {}", known.join(", ")),
        };
        return Err(Failure::refused(format!(
            "{shown} has no tables of {}: it has {known}",
            text::one_line(name, 60)
        )));
    };
    let file = tables(&read(machines)?, &read(links)?)
        .map_err(|error| Failure::refused(format!("{}: {error}", machines.display())))?;
    let said = format!(
        "{name}: {} in {}",
        text::count(file.n_machines() as u64, "machine", "machines"),
        text::count(file.groups.len() as u64, "group", "groups")
    );
    let yaml = format!("# {said}; made by xav platform import\n{}", file.yaml());
    match &arguments.out {
        None => screen::out(&yaml)?,
        Some(path) => {
            fs::write(path, yaml).map_err(|error| {
                let shown = path.display();
                Failure::new(format!("could not write {shown}: {}", reason(&error)))
            })?;
            screen::tell(&format!("{said}, written to {}\n", path.display()));
        }
    }
    if arguments.name.is_none() {
        for other in names().skip(1) {
            screen::tell(&format!(
                "there are tables of {other} too: --name {other}\n"
            ));
        }
    }
    Ok(0)
}

/// The platforms of which a directory has both tables, by name.
fn find(directory: &Path) -> Result<BTreeMap<String, (PathBuf, PathBuf)>, Failure> {
    let failed = |error: io::Error| {
        let shown = directory.display();
        Failure::refused(format!("could not look into {shown}: {}", reason(&error)))
    };
    let mut found: BTreeMap<String, Tables> = BTreeMap::new();
    for entry in fs::read_dir(directory).map_err(failed)?.take(FILES_MAX) {
        let path = entry.map_err(failed)?.path();
        let Some(file) = path.file_name().and_then(|name| name.to_str()) else {
            continue;
        };
        let named = |ends: [&str; 2]| {
            let name = ends.iter().find_map(|end| file.strip_suffix(end));
            name.filter(|name| !name.is_empty()).map(str::to_owned)
        };
        if let Some(name) = named(["-clusters.csv", "-nodes.csv"]) {
            found.entry(name).or_default().machines = Some(path);
        } else if let Some(name) = named(["-wan.csv", "-links.csv"]) {
            found.entry(name).or_default().links = Some(path);
        }
    }
    let both = |(name, tables): (String, Tables)| Some((name, (tables.machines?, tables.links?)));
    Ok(found.into_iter().filter_map(both).collect())
}

fn read(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let bytes = read_bounded(path)
        .map_err(|error| Failure::refused(format!("could not read {shown}: {}", reason(&error))))?;
    let Some(bytes) = bytes else {
        let most = Bytes(FILE_BYTES_MAX);
        return Err(Failure::refused(format!("{shown} is larger than {most}")));
    };
    String::from_utf8(bytes).map_err(|_| Failure::refused(format!("{shown} is not a text file")))
}

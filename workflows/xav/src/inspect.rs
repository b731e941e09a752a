//! Commands that look and change nothing: `list`, `status`, `validate`, `schema`, `show`.

use std::collections::BTreeSet;

use model::{ActivityId, Bytes};
use serde_json::json;

use crate::arguments::{Export, ExportFormat, Format, List, Recording, Show, Status, Validate};
use crate::ask::Source;
use crate::chosen::{self, Choice, Only, Page};
use crate::failure::{Failure, Outcome, status};
use crate::home::{self, Located, Scope};
use crate::source_file::{self, SourceFile};
use crate::values::{self, Values};
use crate::{fault, json, pages, render, screen, text};

/// `xav list`
pub(crate) fn list(arguments: &List) -> Outcome {
    let scope = Scope::of(&arguments.state)?;
    let (mut entries, warnings) = home::list_soon(&scope);
    let now = shell::clock::wall();
    if let Some(after) = &arguments.after {
        let last = scope.find(Some(after))?.process;
        let last = entries
            .iter()
            .position(|entry| entry.summary.process == last);
        entries.drain(..last.map_or(0, |last| last + 1));
    }
    entries.retain(|entry| arguments.admits(&entry.summary, now));
    entries.truncate(arguments.limit.map_or(usize::MAX, |limit| limit as usize));
    for warning in &warnings {
        screen::warn(warning);
    }
    if arguments.json {
        let documents: serde_json::Value = entries
            .iter()
            .map(|entry| {
                let mut document = json::summary(&entry.summary, &entry.location);
                document["is_live"] = json!(entry.is_live);
                document["disk_bytes"] = json!(entry.disk.map(|disk| disk.0));
                document
            })
            .collect();
        screen::json(&documents)?;
    } else if entries.is_empty() {
        if arguments.is_narrowed() {
            screen::tell("there is no such process\n");
        } else if warnings.is_empty() {
            screen::tell("there is no process yet; start one: xav run FILE\n");
        }
    } else if let Scope::Grid(_) = scope {
        screen::out(&list_of_grid(&entries))?;
    } else {
        let mut counted = BTreeSet::new();
        let mut sum = Bytes::ZERO;
        let listed: Vec<render::ListRow<'_>> = entries
            .iter()
            .map(|entry| render::ListRow {
                summary: &entry.summary,
                is_live: entry.is_live,
                last: match (counted.insert(entry.location.shown()), entry.disk) {
                    (true, Some(disk)) => {
                        sum = sum + disk;
                        disk.to_string()
                    }
                    (true, None) => "?".to_owned(),
                    // Disk space that several processes share is counted for the newest of them.
                    (false, _) => "shared".to_owned(),
                },
            })
            .collect();
        let mut text = render::list(&listed, "DISK", shell::clock::wall());
        let processes = text::count(listed.len() as u64, "process", "processes");
        text.push_str(&format!("{processes}, {sum} on the disk\n"));
        screen::out(&text)?;
    }
    // A grid counts as told if at least one of its process managers has answered.
    let is_told = match &scope {
        Scope::Grid(remote) => warnings.len() < remote.homes().count(),
        Scope::One(_) | Scope::All(_) => warnings.is_empty(),
    };
    Ok(if is_told { 0 } else { status::FAULTED })
}

/// Processes of a grid, where it matters whose they are.
fn list_of_grid(entries: &[home::Entry]) -> String {
    let listed: Vec<render::ListRow<'_>> = entries
        .iter()
        .map(|entry| render::ListRow {
            summary: &entry.summary,
            is_live: entry.is_live,
            last: match &entry.summary.owner {
                Some(owner) => owner.rsplit('/').next().unwrap_or_default().to_owned(),
                None => "-".to_owned(),
            },
        })
        .collect();
    let processes = text::count(listed.len() as u64, "process", "processes");
    let text = render::list(&listed, "OWNER", shell::clock::wall());
    format!("{text}{processes}\n")
}

/// `xav status`
pub(crate) fn status(arguments: &Status) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    if let Some(limit) = arguments.limit {
        return pages::status(arguments, limit, &location, process, &mut source);
    }
    let (mut status, definition) = source.known(process)?;
    let mut values = Values::new();
    if let Some(choice) = arguments.choice() {
        let is_interrupted = !status.summary.phase.has_ended() && !source.is_live();
        let chosen = choice.among(&status, &definition)?;
        let (page, n_all) = match (arguments.all, arguments.json, arguments.page) {
            (true, _, _) | (false, true, None) => (None, chosen.len()),
            (false, _, number) => (Some(chosen::page(&chosen, number)?), chosen.len()),
        };
        let shown = page.as_ref().map_or(&chosen[..], |page| page.shown);
        // The values of many are for programs.
        if arguments.of.is_some() && (arguments.json || shown.len() == 1) {
            let named: Vec<ActivityId> = shown.iter().map(|one| one.activity).collect();
            values = values::of(&mut source, process, &named)?;
        }
        if !arguments.json {
            let mut text = render::rows(&status, &definition, shown, is_interrupted);
            for one in shown {
                let told = values.get(&one.activity);
                text.push_str(&told.map_or(String::new(), |told| values::lines(told, one)));
            }
            let last = arguments.last_line(&choice, page.as_ref(), n_all);
            screen::out(&(text + &last))?;
            return Ok(0);
        }
        status.activities = shown.iter().map(|one| (*one).clone()).collect();
    }
    if arguments.json {
        let mut document = json::status(&status, &definition, &location);
        if arguments.of.is_some() {
            for (place, one) in status.activities.iter().enumerate() {
                let told = values.get(&one.activity);
                document["activity_list"][place]["values"] = json!(told.map(values::document));
            }
        }
        document["is_live"] = json!(source.is_live());
        screen::json(&document)?;
        return Ok(0);
    }
    let mut text = render::status(
        &status,
        &definition,
        &location.shown(),
        source.is_live(),
        (arguments.all, shell::clock::wall()),
    );
    if !status.faults.is_empty() {
        let options = arguments.which.state.options();
        let context = fault::Context {
            process,
            definition: &definition,
            origin: &status.summary.origin,
            options: options.as_deref(),
        };
        text.push('\n');
        text.push_str(&fault::all(&status.faults, &context));
    }
    screen::out(&text)?;
    Ok(0)
}

impl Status {
    /// The choice among the activities; none where all is wanted of the process.
    fn choice(&self) -> Option<Choice<'_>> {
        let only = self.only();
        let is_chosen = self.of.is_some() || only.is_some() || self.page.is_some();
        is_chosen.then_some(Choice {
            of: self.of.as_deref(),
            only,
        })
    }

    /// The state of the activities that are wanted; none where all are.
    pub(crate) fn only(&self) -> Option<Only> {
        self.only.or(self.failed.then_some(Only::Faulted))
    }

    /// The number of activities that were chosen, and where the others of them are.
    fn last_line<T>(
        &self,
        choice: &Choice<'_>,
        page: Option<&Page<'_, T>>,
        n_all: usize,
    ) -> String {
        let all = text::count(n_all as u64, "activity", "activities");
        let of = choice.words(n_all);
        match page {
            Some(page) if page.n_pages > 1 => {
                let (number, n_pages) = (page.number, page.n_pages);
                let next = match number < n_pages {
                    true => format!("; --page {} shows the next", number + 1),
                    false => String::new(),
                };
                format!("page {number} of {n_pages}, {all}{of}{next}\n")
            }
            Some(_) | None => format!("{all}{of}\n"),
        }
    }
}

/// `xav validate`
pub(crate) fn validate(arguments: &Validate) -> Outcome {
    let mut reports = Vec::new();
    let mut n_bad = 0;
    for path in &arguments.files {
        let shown = path.display();
        let (diagnostics, said) = match source_file::text(path)
            .and_then(|text| source_file::compile_silently(path, text, &Recording::default()))
        {
            Ok(Ok(compiled)) => {
                for oddity in &compiled.oddities {
                    screen::warn(oddity);
                }
                let n_activities = compiled.definition.activities().len() as u64;
                let activities = text::count(n_activities, "activity", "activities");
                let name = compiled.definition.name().to_owned();
                let absent = SourceFile::new(path, compiled.definition).absent();
                for message in &absent {
                    screen::error(&format!("{shown}: {message}"));
                    reports.push(json!({ "file": path, "severity": "error", "message": message }));
                }
                let said = match absent.is_empty() {
                    true => format!("{shown}: {name} is valid, {activities}\n"),
                    false => {
                        n_bad += 1;
                        String::new()
                    }
                };
                (compiled.warnings, said)
            }
            Ok(Err(diagnostics)) => {
                n_bad += 1;
                (Some(diagnostics), String::new())
            }
            Err(failure) => {
                n_bad += 1;
                screen::error(&failure.to_string());
                reports
                    .push(json!({ "file": path, "severity": "error", "message": failure.message }));
                continue;
            }
        };
        if arguments.json {
            let diagnostics = diagnostics.iter().flat_map(|some| some.reports());
            reports.extend(diagnostics.map(|report| json!(report)));
        } else {
            if let Some(diagnostics) = &diagnostics {
                source_file::show(diagnostics);
            }
            screen::out(&said)?;
        }
    }
    if arguments.json {
        screen::json(&json!(reports))?;
    }
    Ok(if n_bad == 0 { 0 } else { status::REFUSED })
}

/// `xav schema`
pub(crate) fn schema() -> Outcome {
    screen::json(&language::schema())?;
    Ok(0)
}

/// `xav export`
pub(crate) fn export(arguments: &Export) -> Outcome {
    let source = source_file::compile(&arguments.file, &arguments.recording, false)?;
    let text = match arguments.format {
        ExportFormat::Yaml => language::export::yaml(&source.definition),
        ExportFormat::Dot => language::dot(&source.definition),
        ExportFormat::Wfformat => language::export::wfformat(&source.definition)
            .map_err(|error| Failure::refused(error.to_string()))?,
    };
    screen::out(&text)?;
    Ok(0)
}

/// `xav show`
pub(crate) fn show(arguments: &Show) -> Outcome {
    let definition =
        source_file::compile(&arguments.file, &Recording::default(), false)?.definition;
    match arguments.format {
        Format::Tree => screen::out(&language::tree(&definition))?,
        Format::Dot => screen::out(&language::dot(&definition))?,
        Format::Json => screen::json(&language::json(&definition))?,
    }
    Ok(0)
}

//! `xav rerun`: a process again, in the state directory of the one that it mends, so that what was
//! recorded there can stand.

use std::path::Path;

use model::{Definition, Value};
use wire::client::Submit;

use crate::arguments::{Recording, Rerun};
use crate::ask::{Source, refuse_held};
use crate::failure::{Failure, Outcome};
use crate::files_beside::FilesBeside;
use crate::follow::{self, Followed};
use crate::foresight::Stores;
use crate::home::{self, Located, refused};
use crate::inputs::{self, InputValue};
use crate::location::Location;
use crate::order::{self, Files, Order};
use crate::run::{self, Taken};
use crate::source_file::{self, Text};
use crate::sources::Sources;
use crate::state::StateError;
use crate::submit::{self, Task};
use crate::watch::Host;
use crate::{environment, fault, foresight, forget, remote, render, screen, text};

/// `xav rerun`
pub(crate) fn rerun(arguments: &Rerun) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let base = source.submission(process)?;
    let ended = source.status(process)?.summary;
    refuse_held(&ended)?;
    if !ended.phase.has_ended() {
        let id = fault::short(process);
        let (name, past) = (&ended.name, render::past(ended.phase));
        return Err(
            Failure::refused(format!("{name} {process} {past}")).help(format!(
                "xav resume {id} goes on with it; after xav cancel {id} it can be run again"
            )),
        );
    }
    let kept = match &location {
        Location::Here(directory) => directory.path().to_owned(),
        Location::Grid(_) => home::of_user()?,
    };
    let sources = Sources::read(&kept, process);
    let Again {
        definition,
        inputs,
        files,
        environment,
        origin,
        sources,
    } = again(arguments, &base, sources)?;
    let keep = run::keep(arguments.ending)?;
    let key = run::draw_key()?;
    let order = Order {
        key,
        definition: &definition,
        inputs,
        files,
        environment,
        origin,
        base: Some(process),
        on_fault: arguments.ending.on_fault(),
        keep,
        store: base.store,
        sources,
    };
    if arguments.following.dry_run {
        let directory = match &location {
            Location::Here(directory) => Some(directory.path()),
            Location::Grid(_) => None,
        };
        let submit = order.identified()?;
        let wanted = order.wanted(&submit);
        let foresight = foresight::of_submission(&mut source, submit, directory)?;
        if directory.is_some() && foresight::may_run(&foresight) {
            let stores = Stores::of(directory);
            let has = |artifact| stores.have(artifact);
            // They are looked at, and nothing is stored.
            order::take_again(wanted, &order.sources, &has, &mut |_, _| Ok(true))?;
        }
        return foresight::show(&foresight, &definition, arguments.following);
    }
    drop(source);
    let options = arguments.which.state.options();
    let directory = match location {
        Location::Here(directory) => directory,
        Location::Grid(home) => {
            remote::only(arguments.following)?;
            let mut client = home.client()?;
            submit::give(&home, &mut client, &order, arguments.following)?;
            let task = Task {
                home: &home,
                process: key.process(),
                definition: &definition,
                origin: &order.origin,
                options: options.as_deref(),
                to: None,
            };
            return task.to_the_end(&mut client, arguments.following);
        }
    };
    run::warn_root();
    let signals = follow::signals()?;
    let taken = Taken::existing(directory.clone()).map_err(|error| match error {
        StateError::InUse { pid, .. } => {
            let id = fault::short(process);
            Failure::new(format!("process {pid} runs in the state directory of {id}"))
                .help("wait for its end: xav list shows what runs there")
        }
        error @ (StateError::Missing { .. }
        | StateError::Other { .. }
        | StateError::Newer { .. }
        | StateError::Io { .. }) => refused(error),
    })?;
    let state = &arguments.which.state;
    if state.dir.is_none() {
        home::link(key.process(), &directory);
    }
    let (grid, client) = run::begin(taken, &order, arguments.following)?;
    let followed = Followed {
        grid,
        directory: &directory,
        process: key.process(),
        definition: &definition,
        options,
        origin: order.origin,
        to: None,
    };
    let outcome = followed.finish(client, &signals, arguments.following);
    forget::what_is_over_its_time(state, key.process(), arguments.following);
    outcome
}

/// A process to be run again.
struct Again {
    definition: Definition,
    inputs: Vec<(String, InputValue)>,
    files: Files,
    environment: Option<Vec<(String, String)>>,
    origin: String,
    sources: Sources,
}

/// The base once more: with the definition and the inputs of the command line, and with its files as they are
/// now.
fn again(arguments: &Rerun, base: &Submit, sources: Option<Sources>) -> Result<Again, Failure> {
    let how = arguments.following;
    let is_told = !how.json && !how.quiet;
    let source = match &arguments.file {
        Some(file) => Some(source_file::compile(file, &arguments.recording, how.json)?),
        None if arguments.recording.is_given() => {
            return Err(Failure::refused(
                "a recorded workflow is scaled when its file is read: give it with --file FILE",
            ));
        }
        None => None,
    };
    let definition = match &source {
        Some(source) => source.definition.clone(),
        // It is submitted like a new one, so today's rules hold for it.
        None => base.draft.clone().check().map_err(|problems| {
            let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Failure::refused(all.join("; "))
        })?,
    };
    let definition = arguments.adapting.applied(definition)?;
    let draft = definition.draft();
    let has_files = !base.files.is_empty() || base.inputs.iter().any(|(_, value)| is_file(value));
    if sources.is_none() && has_files && !arguments.same_files && is_told {
        screen::warn(
            "where the files of the earlier process came from is not known here: they stand as they were, \
             but for those that --file and --input name",
        );
    }
    let reads_again = sources.is_some() && !arguments.same_files;
    let mut sources = sources.unwrap_or_default();
    if source.is_none() && is_told && reads_again && has_changed(base, &sources) {
        let file = text::quoted(&base.origin);
        screen::warn(&format!(
            "{file} has changed since: this is the definition as it was; --file {file} runs it as it is"
        ));
    }
    if let Some(source) = &source {
        sources = sources.with_definition(&source.path, source.directory());
    }
    let mut known = known(base, &definition);
    let mut given = arguments.inputs.clone();
    if reads_again {
        given.extend(sources.arguments_without(&arguments.inputs));
        // They had the files that their defaults name, and have those that these name now.
        known.retain(|(name, _)| {
            let input = draft.inputs.iter().find(|input| input.name == *name);
            input.is_none_or(|input| input.paths_beside().is_none())
        });
        let is_declared = |argument: &String| {
            let name = argument.split_once('=').map(|(name, _)| name);
            draft
                .inputs
                .iter()
                .any(|input| Some(input.name.as_str()) == name)
        };
        let n_own = arguments.inputs.len();
        let remembered = given.split_off(n_own);
        given.extend(remembered.into_iter().filter(is_declared));
    }
    let directory = sources.directory.clone();
    let inputs = inputs::read(&given, &draft.inputs, &known).and_then(|mut inputs| {
        if reads_again || source.is_some() {
            inputs::add_beside(&directory, &draft.inputs, &mut inputs)?;
        }
        Ok(inputs)
    });
    let files = match reads_again || source.is_some() {
        true => FilesBeside::look(&directory, draft).map(Files::Beside),
        false => Ok(Files::Kept(base.files.clone())),
    };
    let environment = match reads_again || source.is_some() {
        true => environment::read(&directory, draft),
        false => Ok(base.environment.clone()),
    };
    sources.give(&arguments.inputs, &draft.inputs);
    let origin = match &source {
        Some(source) => source.path.display().to_string(),
        None => base.origin.clone(),
    };
    match (inputs, files, environment) {
        (Ok(inputs), Ok(files), Ok(environment)) => Ok(Again {
            definition,
            inputs,
            files,
            environment,
            origin,
            sources,
        }),
        (inputs, files, environment) => {
            let mistakes = [inputs.err(), files.err(), environment.err()];
            let mistakes = mistakes.into_iter().flatten().flatten();
            let failure = run::wrong(mistakes.collect());
            if !reads_again {
                return Err(failure);
            }
            let way_out = "--same-files runs it again with all files as they were";
            let help = failure
                .help
                .as_ref()
                .map(|help| format!("{help}\n  {way_out}"));
            Err(failure.help(help.unwrap_or_else(|| way_out.to_owned())))
        }
    }
}

/// True if the file of a definition has another one in it than the process had.
fn has_changed(base: &Submit, sources: &Sources) -> bool {
    let file = Path::new(&base.origin);
    if !sources.has_new_definition(file) {
        return false;
    }
    let Ok(Text::Definition(text)) = source_file::text(file) else {
        return false;
    };
    let compiled =
        source_file::compile_silently(file, Text::Definition(text), &Recording::default());
    match compiled {
        Ok(Ok(contents)) => *contents.definition.draft() != base.draft,
        // It is being edited.
        Ok(Err(_)) => true,
        Err(_) => false,
    }
}

/// True if there is a file or a directory in a value.
fn is_file(value: &Value) -> bool {
    match value {
        Value::Artifact(..) => true,
        Value::List(items) => items.iter().any(is_file),
        Value::Map(items) => items.values().any(is_file),
        Value::Null | Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => false,
    }
}

/// The inputs of the base that a definition has too. One that had its default gets that of the
/// definition.
fn known(base: &Submit, definition: &Definition) -> Vec<(String, Value)> {
    let declared = &definition.draft().inputs;
    let had_default = |name: &str, value: &Value| {
        let input = base.draft.inputs.iter().find(|input| input.name == *name);
        // A value is recorded as a number of the declared type, which the default need not be.
        let default = input.and_then(|input| Some(input.kind.converted(input.default.clone()?)));
        default.as_ref() == Some(value)
    };
    base.inputs
        .iter()
        .filter(|(name, value)| {
            let input = declared.iter().find(|input| input.name == *name);
            input.is_some_and(|input| input.default.is_none() || !had_default(name, value))
        })
        .cloned()
        .collect()
}

#[cfg(test)]
mod tests;

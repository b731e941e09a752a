//! `xav rerun`: a process again, in the state directory of the one that it mends, so that what was
//! recorded there can stand.

use model::{Definition, Value};
use wire::client::Submit;

use crate::arguments::Rerun;
use crate::ask::{Source, refuse_held};
use crate::failure::{Failure, Outcome};
use crate::follow::{self, Followed};
use crate::home::{self, Located, refused};
use crate::inputs::{self, InputValue};
use crate::location::Location;
use crate::order::{Files, Order};
use crate::run::{self, Taken};
use crate::source_file::{self, SourceFile};
use crate::state::StateError;
use crate::submit::{self, Task};
use crate::watch::Host;
use crate::{fault, forget, remote, render};

/// `xav rerun`
pub(crate) fn rerun(arguments: &Rerun) -> Outcome {
    let Located { location, process } = home::find(&arguments.which)?;
    let mut source = Source::open(&location)?;
    let base = source.submission(process)?;
    let ended = source.status(process)?.summary;
    drop(source);
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
    let (definition, inputs, files, origin) = match &arguments.file {
        Some(file) => {
            let source =
                source_file::compile(file, &arguments.recording, arguments.following.json)?;
            let known = known(&base, &source.definition);
            let materials = run::materials(&source, &arguments.inputs, &known)?;
            let SourceFile { definition, path } = source;
            let files = Files::Beside(materials.files);
            (
                definition,
                materials.inputs,
                files,
                path.display().to_string(),
            )
        }
        None => {
            let (inputs, definition) = same(arguments, &base)?;
            (definition, inputs, Files::Kept(base.files), base.origin)
        }
    };
    let keep = run::keep(arguments.ending)?;
    let key = run::draw_key()?;
    let order = Order {
        key,
        definition: &definition,
        inputs,
        files,
        origin,
        base: Some(process),
        on_fault: arguments.ending.on_fault(),
        policy: arguments.adapting.policy,
        keep,
        store: base.store,
    };
    let options = arguments.which.state.options();
    let directory = match location {
        Location::Here(directory) => directory,
        Location::Grid(home) => {
            remote::only(arguments.following)?;
            let mut client = home.client()?;
            submit::give(&home, &mut client, &order)?;
            let task = Task {
                home: &home,
                process: key.process(),
                definition: &definition,
                origin: &order.origin,
                options: options.as_deref(),
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
    };
    let outcome = followed.finish(client, &signals, arguments.following);
    forget::what_is_over_its_time(state, key.process(), arguments.following);
    outcome
}

/// The definition of the base, with other inputs.
fn same(
    arguments: &Rerun,
    base: &Submit,
) -> Result<(Vec<(String, InputValue)>, Definition), Failure> {
    if arguments.recording.is_given() {
        return Err(Failure::refused(
            "a recorded workflow is scaled when its file is read: give it with --file FILE",
        ));
    }
    // It is submitted like a new one, so today's rules hold for it.
    let definition = base.draft.clone().check().map_err(|problems| {
        let all: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::refused(all.join("; "))
    })?;
    let known = known(base, &definition);
    let inputs =
        inputs::read(&arguments.inputs, &definition.draft().inputs, &known).map_err(run::wrong)?;
    Ok((inputs, definition))
}

/// The inputs of the base that a definition has too. One that had its default gets that of the
/// definition.
fn known(base: &Submit, definition: &Definition) -> Vec<(String, Value)> {
    let declared = &definition.draft().inputs;
    let had_default = |name: &str, value: &Value| {
        let input = base.draft.inputs.iter().find(|input| input.name == *name);
        input.is_some_and(|input| input.default.as_ref() == Some(value))
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

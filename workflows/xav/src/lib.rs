//! The user's command: it reads definitions, runs processes with the three managers inside this
//! program or gives them to a grid of other machines, and shows what became of them.
//!
//! It is not a manager: what a process does next is decided in the cores, and everything that this
//! crate knows of one comes from a process manager: over the network where that is one of a grid,
//! over its socket while it runs in this user's program, from its journal else. Read `run.rs` (a
//! process from file to end) and `grid.rs` (the managers inside) first, then `remote.rs` and
//! `submit.rs` (the managers elsewhere); `ask.rs` finds who answers questions, `render.rs`, `fault.rs`
//! and `json.rs` are how answers look; `grid_admin.rs` is for those who have a grid of several machines.

mod arguments;
mod ask;
mod burn;
mod cancel;
mod chosen;
mod completions;
mod due;
mod earlier;
mod environment;
mod experiment;
mod export;
mod failure;
mod fault;
mod files_beside;
mod follow;
mod forecast;
mod foresight;
mod forget;
mod garbage;
mod grid;
mod grid_admin;
mod history;
mod home;
mod init;
mod input_copies;
mod inputs;
mod inspect;
mod json;
mod location;
mod logs;
mod machines;
mod measure;
mod measurements;
mod moves;
mod order;
mod pages;
mod plan;
mod platform;
mod progress;
mod publish;
mod remote;
mod render;
mod report;
mod rerun;
mod results;
mod run;
mod screen;
mod self_check;
mod source_file;
mod sources;
mod standstill;
mod state;
mod submit;
mod summary_file;
mod text;
mod trace;
mod values;
mod visible;
mod watch;
mod why;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::arguments::{Arguments, Command, Tool};
use crate::failure::{Failure, Outcome};

/// Does what the command line says; the answer is the program's exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    speak_plainly();
    let arguments = match Arguments::read(arguments) {
        Ok(arguments) => arguments,
        Err(mut error) => {
            suggest(&mut error);
            // Help and version are errors to clap, with status 0.
            let _ = error.print();
            return ExitCode::from(
                u8::try_from(error.exit_code()).unwrap_or(failure::status::REFUSED),
            );
        }
    };
    let as_json = arguments.command.wants_json();
    match obey(&arguments.command) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            failure.tell(as_json);
            ExitCode::from(failure.status)
        }
    }
}

/// Names the subcommand that was probably meant, where swapped letters are too far for the parser.
fn suggest(error: &mut clap::Error) {
    if error.kind() != ErrorKind::InvalidSubcommand
        || error.get(ContextKind::SuggestedSubcommand).is_some()
    {
        return;
    }
    let Some(ContextValue::String(written)) = error.get(ContextKind::InvalidSubcommand) else {
        return;
    };
    let commands = Arguments::command();
    let all = || {
        let all = commands.get_subcommands();
        all.filter(|one| !one.is_hide_set())
    };
    // A word may be one of a group of commands, as in `xav grid init`.
    let inner = all().flat_map(clap::Command::get_subcommands);
    let names: Vec<&str> = all().chain(inner).map(clap::Command::get_name).collect();
    if let Some(meant) = text::nearest(written, names) {
        let meant = ContextValue::Strings(vec![meant.to_owned()]);
        error.insert(ContextKind::SuggestedSubcommand, meant);
    }
}

fn obey(command: &Command) -> Outcome {
    match command {
        Command::Init(arguments) => init::init(arguments),
        Command::Run(run) => run::run(run),
        Command::Submit(arguments) => submit::submit(arguments),
        Command::Watch(arguments) => watch::watch(arguments),
        Command::List(list) => inspect::list(list),
        Command::Status(status) => inspect::status(status),
        Command::Logs(logs) => logs::logs(logs),
        Command::Results(results) => results::results(results),
        Command::Resume(resume) => run::resume(resume),
        Command::Rerun(rerun) => rerun::rerun(rerun),
        Command::Why(why) => why::why(why),
        Command::Report(arguments) => report::report(arguments),
        Command::Cancel(cancel) => cancel::cancel(cancel),
        Command::Forget(forget) => forget::forget(forget),
        Command::Validate(validate) => inspect::validate(validate),
        Command::Plan(arguments) => plan::plan(arguments),
        Command::Platform(platform::Command::Import(import)) => platform::import(import),
        Command::Forecast(arguments) => forecast::forecast(arguments),
        Command::Trace(trace::Command::Stats(stats)) => trace::stats(stats),
        Command::Trace(trace::Command::Generate(generate)) => trace::generate(generate),
        Command::Experiment(arguments) => experiment::experiment(arguments),
        Command::History(arguments) => history::history(arguments),
        Command::Schema => inspect::schema(),
        Command::Show(show) => inspect::show(show),
        Command::Export(export) => inspect::export(export),
        Command::Grid(command) => grid_admin::grid(command),
        Command::Token(command) => grid_admin::token(command),
        Command::Cert(command) => grid_admin::certificates(command),
        Command::Config(command) => grid_admin::check(command),
        Command::Nodes(nodes) => grid_admin::nodes(nodes),
        Command::Drain(drain) => grid_admin::drain(drain, true),
        Command::Undrain(drain) => grid_admin::drain(drain, false),
        Command::Itself(command) => self_check::check(command),
        Command::Completions(arguments) => completions::completions(arguments),
        Command::Man(arguments) => completions::man(arguments),
        Command::Tool(Tool::Burn { arguments }) => tool_burn(arguments),
    }
}

fn tool_burn(arguments: &[String]) -> Outcome {
    let burn = language::wfformat::Burn::parse(arguments)
        .map_err(|error| Failure::refused(error.to_string()))?;
    burn::burn(&burn).map_err(|error| Failure::new(error.to_string()))?;
    Ok(0)
}

/// An error in this program is told in a sentence; a backtrace is for those who ask for one.
fn speak_plainly() {
    if shell::environment::text("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let said = panic.payload();
        let said = said
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| said.downcast_ref::<&str>().copied())
            .unwrap_or("no reason given");
        let place = panic
            .location()
            .map(|place| format!(" ({}:{})", place.file(), place.line()));
        screen::error(&format!(
            "an error in xav itself: {said}{}\n  what was recorded is safe; RUST_BACKTRACE=1 tells more",
            place.unwrap_or_default()
        ));
    }));
}

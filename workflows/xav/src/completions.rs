//! `xav completions` and `xav man`: what shells and `man` know of the command line, made of the definitions
//! that parse it.

use std::fs;
use std::path::PathBuf;

use clap::{Args, CommandFactory, ValueEnum};
use clap_complete::aot;

use crate::arguments;
use crate::failure::{Failure, Outcome};
use crate::inputs::reason;
use crate::screen;

pub(crate) const EXAMPLES: &str = "\
Examples:
  xav completions bash > ~/.local/share/bash-completion/completions/xav
  xav completions zsh > ~/.zfunc/_xav          with `fpath+=~/.zfunc` before `compinit` in ~/.zshrc
  xav completions fish > ~/.config/fish/completions/xav.fish";

/// `xav completions`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

/// `xav man`
#[derive(Args, Debug)]
pub(crate) struct Man {
    /// The directory for the pages, such as `~/.local/share/man/man1`; made where it is not there
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// A shell that completes words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// `xav completions`
pub(crate) fn completions(arguments: &Arguments) -> Outcome {
    screen::out(&script(arguments.shell))?;
    Ok(0)
}

/// `xav man`
pub(crate) fn man(arguments: &Man) -> Outcome {
    let directory = &arguments.directory;
    let written = fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(arguments::Arguments::command(), directory));
    written.map_err(|error| {
        let shown = directory.display();
        Failure::new(format!(
            "could not write the pages to {shown}: {}",
            reason(&error)
        ))
    })?;
    Ok(0)
}

fn script(shell: Shell) -> String {
    let shell = match shell {
        Shell::Bash => aot::Shell::Bash,
        Shell::Zsh => aot::Shell::Zsh,
        Shell::Fish => aot::Shell::Fish,
    };
    let mut script = Vec::new();
    let mut command = arguments::Arguments::command();
    aot::generate(shell, &mut command, "xav", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests;

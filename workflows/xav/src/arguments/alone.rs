//! Commands that are read without the others. The parser of all commands takes half a millisecond to make, a tenth of
//! what `xav list` takes.

use std::ffi::OsString;

use clap::{Args, Parser};

use super::{Arguments, Command};

impl Arguments {
    /// Reads a command line. A line that the parser of one command refuses, as one that asks for help, is
    /// read by that of all, which knows what to say of it.
    ///
    /// # Errors
    /// The mistake in the command line, or the help that was asked for.
    pub(crate) fn read(
        words: impl IntoIterator<Item = OsString>,
    ) -> Result<Arguments, clap::Error> {
        let words: Vec<OsString> = words.into_iter().collect();
        match alone(&words) {
            Some(command) => Ok(Arguments { command }),
            None => Arguments::try_parse_from(words),
        }
    }
}

/// The command of a command line, where it is one that scripts start often and nothing is wrong with it.
fn alone(words: &[OsString]) -> Option<Command> {
    let (_, words) = words.split_first()?;
    match words.first()?.to_str()? {
        "run" => read(words).map(Command::Run),
        "submit" => read(words).map(Command::Submit),
        "status" => read(words).map(Command::Status),
        "list" => read(words).map(Command::List),
        "logs" => read(words).map(Command::Logs),
        "results" => read(words).map(Command::Results),
        _ => None,
    }
}

fn read<T: Args>(words: &[OsString]) -> Option<T> {
    let parser = T::augment_args(clap::Command::new("xav"));
    let matches = parser.try_get_matches_from(words).ok()?;
    T::from_arg_matches(&matches).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn a_command_that_is_read_alone_says_the_same() {
        for line in [
            "xav run a.yaml",
            "xav run a.yaml --input n=1 --input m=-2 --slots 2 --json",
            "xav run --state s -- a.yaml",
            "xav submit a.yaml --grid lab --priority 3",
            "xav status",
            "xav status 0c4r --of align --page 3 --json",
            "xav list --name a",
            "xav logs 0c4r merge --stderr",
            "xav results 0c4r",
        ] {
            let all = Arguments::try_parse_from(words(line)).map_err(|error| error.to_string());
            let all = all.unwrap_or_else(|error| panic!("{line}: {error}"));
            let alone = alone(&words(line)).unwrap_or_else(|| panic!("{line} is not read alone"));
            assert_eq!(format!("{alone:?}"), format!("{:?}", all.command), "{line}");
        }
    }

    #[test]
    fn what_is_refused_alone_is_told_by_the_parser_of_all() {
        for line in [
            "xav",
            "xav run",
            "xav run --help",
            "xav run -h",
            "xav run a.yaml b.yaml",
            "xav run a.yaml --slots many",
            "xav run a.yaml --sltos 2",
            "xav list --version",
            "xav status a b",
            "xav submit",
            "xav --help",
            "xav rnu a.yaml",
        ] {
            assert!(alone(&words(line)).is_none(), "{line}");
            let told = |read: Result<Arguments, clap::Error>| read.err().map(|one| one.to_string());
            let all = told(Arguments::try_parse_from(words(line)));
            assert!(all.is_some(), "{line}");
            assert_eq!(told(Arguments::read(words(line))), all, "{line}");
        }
    }
}

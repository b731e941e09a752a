//! `xav init`: a small definition to begin with.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use model::is_process_name;

use crate::failure::{Failure, Outcome};
use crate::inputs::reason;
use crate::screen;

/// The definition, with `NAME` where its name is.
const TEMPLATE: &str = include_str!("init/template.yaml");

/// `xav init`
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The name of the process; the file is called so too
    #[arg(value_name = "NAME", default_value = "hello")]
    name: String,
}

/// `xav init`
pub(crate) fn init(arguments: &Arguments) -> Outcome {
    let name = arguments.name.trim_end_matches(".yaml");
    if !is_process_name(name) {
        let wanted = "a process name is a lower-case letter, then a-z, 0-9 and -";
        return Err(Failure::refused(format!("`{name}` is no name: {wanted}")));
    }
    let path = PathBuf::from(format!("{name}.yaml"));
    write(&path, &TEMPLATE.replace("NAME", name))?;
    let shown = path.display();
    screen::out(&format!(
        "{shown} is written: read it, then run it: xav run {shown}\n"
    ))?;
    Ok(0)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let shown = path.display();
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let failed = |error| match error {
        error if std::io::Error::kind(&error) == ErrorKind::AlreadyExists => {
            Failure::refused(format!("{shown} is there already: give another name"))
        }
        error => Failure::new(format!("could not write {shown}: {}", reason(&error))),
    };
    file.map_err(failed)?
        .write_all(text.as_bytes())
        .map_err(failed)
}

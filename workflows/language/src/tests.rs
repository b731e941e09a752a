//! Definitions that are accepted, and mistakes with the messages that report them.

mod bad;
mod data;
mod for_each;
mod good;
mod hostile;
mod inputs;
mod kinds;
mod own_variables;
mod picks;
mod publish;
mod repeat;
mod schema;
mod slips;
mod together;

use crate::{Compiled, Diagnostics, compile};

/// A definition around some steps, which begin in column 5 of line 8.
fn around(steps: &str) -> String {
    format!(
        "xavantes: 1\nname: p\ninputs: {{ limit: int, corpus: file }}\nvariables: {{ total: int }}\n\
         outputs: {{ total: \"${{ total }}\" }}\nbody:\n  sequence:\n{steps}\n"
    )
}

/// An activity that writes the variable, so that nothing is to be warned of.
const WRITER: &str =
    "    - { activity: writer, run: [echo, 1], stdout: { into: total, as: int } }\n";

fn compiled(text: &str) -> Compiled {
    match compile("p.yaml", text.as_bytes()) {
        Ok(compiled) => compiled,
        Err(diagnostics) => panic!("{diagnostics}\n{text}"),
    }
}

fn refused(text: impl AsRef<[u8]>) -> Diagnostics {
    match compile("p.yaml", text.as_ref()) {
        Ok(compiled) => panic!("{:?}", compiled.definition),
        Err(diagnostics) => diagnostics,
    }
}

/// Each diagnostic as `line:column: message (hint)`.
fn lines(diagnostics: &Diagnostics) -> Vec<String> {
    let line = |report: &crate::Report| {
        let hint = report
            .hint
            .as_ref()
            .map_or(String::new(), |hint| format!(" ({hint})"));
        format!(
            "{}:{}: {}{hint}",
            report.line, report.column, report.message
        )
    };
    diagnostics.reports().iter().map(line).collect()
}

//! A process that blocks in its second activity until the test opens a gate.

use crate::sandbox::Sandbox;

/// `first` writes a line and a word, `second` waits until the file `gate` is there, `third` writes
/// a word that becomes the output.
pub(crate) fn definition(sandbox: &Sandbox) -> String {
    sandbox.file(
        "gated.yaml",
        "\
xavantes: 1
name: gated
inputs:
  log: string
  gate: string
variables:
  word: string
outputs:
  word: ${ word }
body:
  sequence:
    - activity: first
      run: { shell: \"echo first >> ${inputs.log}; echo said by first; seq 100000 >&2\" }
    - activity: second
      run: { shell: \"echo asked for a word; echo second >> ${inputs.log}; while [ ! -e ${inputs.gate} ]; do sleep 0.01; done; echo had it\" }
    - activity: third
      run: { shell: \"echo third >> ${inputs.log}; echo done\" }
      stdout: { into: word, as: text }
",
    )
}

/// The first arguments of a command that runs or submits it.
pub(crate) fn arguments(sandbox: &Sandbox, word: &str) -> Vec<String> {
    let file = definition(sandbox);
    let log = format!("log={}", sandbox.path("log").display());
    let gate = format!("gate={}", sandbox.path("gate").display());
    [word, &file, "-i", &log, "-i", &gate]
        .map(str::to_owned)
        .into()
}

/// Opens the gate: the second activity ends.
pub(crate) fn open(sandbox: &Sandbox) {
    sandbox.file("gate", "");
}

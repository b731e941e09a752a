//! The processes of the cases.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The large recorded workflow: a Montage of 472 activities.
pub(super) const MONTAGE: &str = "montage-chameleon-dss-10d-001.json";

/// The recorded workflows whose planned length is compared with the real one.
pub(super) const RECORDED: [&str; 4] = [
    "montage-chameleon-2mass-005d-001.json",
    "epigenomics-chameleon-hep-1seq-100k-001.json",
    "1000genome-chameleon-2ch-100k-001.json",
    MONTAGE,
];

/// A file of the large data set; none where `XAVANTES_DATA` does not name a directory that has it.
pub(super) fn data(kind: &str, name: &str) -> Option<PathBuf> {
    let data = PathBuf::from(std::env::var_os("XAVANTES_DATA")?);
    let places = [data.join(kind).join(name), data.join(name)];
    places.into_iter().find(|path| path.is_file())
}

/// Activities side by side which run a command of the shell and take so many seconds, in a `for-each`.
pub(super) fn side_by_side(n: usize, command: &str, seconds: f64, further: &str) -> String {
    format!(
        "\
xavantes: 1
name: wide
body:
  for-each:
    item: n
    in: ${{ range(0, {n}) }}
    do:
      activity: one
      run: {{ shell: '{command}' }}
      work: {}ms
{further}",
        millis(seconds)
    )
}

/// One activity, then so many side by side, and then one: each takes so many seconds of CPU time.
pub(super) fn fork_join(n: usize, command: &str, seconds: f64, further: &str) -> String {
    let work = millis(seconds);
    let mut text = String::from("xavantes: 1\nname: fork-join\nbody:\n  sequence:\n");
    let lines = |name: &str, indent: &str| {
        format!(
            "activity: {name}\n{indent}run: {{ shell: '{command}' }}\n{indent}work: {work}ms\n{further}"
        )
    };
    let _ = write!(text, "    - {}", lines("fork", "      "));
    let _ = write!(
        text,
        "    - for-each:\n        item: n\n        in: ${{ range(0, {n}) }}\n        do:\n"
    );
    let _ = write!(text, "          {}", lines("middle", "          "));
    let _ = write!(text, "    - {}", lines("join", "      "));
    text
}

/// A command of the shell that takes so many seconds of CPU time. It asks for the time that it has had, so that a host
/// whose own speed changes from run to run does not change it.
pub(super) fn burns(seconds: f64, xav: &Path) -> String {
    let xav = xav.display();
    format!("exec {xav} tool burn --name=burn --cpu={seconds:.6}s --threads=1")
}

/// A command of the shell that naps for so many seconds in all, and for `slow` times as long on a machine below this
/// directory while the flag is there.
pub(super) fn naps(seconds: f64, slow: f64, home: &Path, flag: &Path) -> String {
    const NAPS: usize = 10;
    let nap = seconds / NAPS as f64;
    let (home, flag) = (home.display(), flag.display());
    format!(
        "i=0; while [ $i -lt {NAPS} ]; do i=$((i+1)); nap={nap:.3}; \
         case $PWD in {home}/*) test -e {flag} && nap={:.3};; esac; sleep $nap; done",
        nap * slow
    )
}

/// Writes a definition below a directory.
pub(super) fn written(dir: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let file = dir.join(format!("{name}.yaml"));
    std::fs::write(&file, text).with_context(|| format!("could not write {}", file.display()))?;
    Ok(file)
}

/// Whole milliseconds, at least one: the works of definitions.
pub(super) fn millis(seconds: f64) -> u64 {
    (seconds * 1e3).round().max(1.0) as u64
}

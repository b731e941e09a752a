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

/// A command of the shell that takes so many seconds of CPU time on a core that nobody else uses. It counts its
/// own time, so that it does the same work wherever it runs: `loops` are what this machine does in a second.
pub(super) fn burns(seconds: f64, loops: f64) -> String {
    let n = (seconds * loops).ceil().max(1.0);
    format!("i=0; while [ $i -lt {n:.0} ]; do i=$((i+1)); done")
}

/// The rounds of the loop of [`burns`] that the shell does in a second of CPU time here.
pub(super) fn loops_a_second() -> Result<f64> {
    let n = 300_000;
    let text = format!("i=0; while [ $i -lt {n} ]; do i=$((i+1)); done; times");
    let said = std::process::Command::new("/bin/sh")
        .args(["-c", &text])
        .output()
        .context("could not start a shell")?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let seconds = said.split_whitespace().next().and_then(shell_seconds);
    let seconds = seconds.filter(|seconds| *seconds > 0.0);
    let seconds = seconds.with_context(|| format!("the shell tells no times: {said:?}"))?;
    Ok(f64::from(n) / seconds)
}

/// A time as the shell's `times` tells it: `0m0.52s`.
fn shell_seconds(text: &str) -> Option<f64> {
    let (minutes, seconds) = text.strip_suffix('s')?.split_once('m')?;
    let (minutes, seconds): (f64, f64) = (minutes.parse().ok()?, seconds.parse().ok()?);
    Some(60.0 * minutes + seconds)
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

#[test]
fn times_of_the_shell_are_read() {
    assert_eq!(shell_seconds("1m2.5s"), Some(62.5));
    assert_eq!(shell_seconds("0m0.000000s"), Some(0.0));
    assert_eq!(shell_seconds("0.5"), None);
}

//! `xav config check`: all mistakes of configuration files.

use std::path::{Path, PathBuf};

use shell::config::{Config, ConfigError};
use shell::program::mistakes;

use super::admin_context::GridFile;
use crate::failure::{Failure, Outcome, chain, status};
use crate::screen;

/// `xav config check`
pub(super) fn check(files: &[PathBuf]) -> Outcome {
    let mut has_mistakes = false;
    for path in files {
        match mistakes_of(path) {
            Ok(what) => screen::out(&format!("{}: no mistakes; {what}\n", path.display()))?,
            Err(error) => {
                has_mistakes = true;
                screen::tell(&format!("{}\n", chain(&error)));
            }
        }
    }
    if has_mistakes {
        return Err(Failure::said(status::REFUSED));
    }
    Ok(0)
}

/// Reads a file as what it is: by its settings, which differ.
fn mistakes_of(path: &Path) -> Result<&'static str, ConfigError> {
    let kinds: [(&str, Reader); 4] = [
        ("a group manager", mistakes::<group_daemon::Service>),
        ("a process manager", mistakes::<process_daemon::Service>),
        ("an activity manager", mistakes::<activity_daemon::Service>),
        ("what a grid's users need", |path| {
            Config::read(path, |config| {
                GridFile::ask(config);
            })
        }),
    ];
    // A file's own name says what it is meant to be; else the kind with the fewest mistakes.
    let name = path.file_stem().and_then(|stem| stem.to_str());
    let named = ["gm", "pm", "am", "grid"]
        .into_iter()
        .position(|known| name == Some(known));
    if let Some((what, read)) = named.map(|index| kinds[index]) {
        return read(path).map(|()| what);
    }
    let mut fewest = None;
    for (what, read) in kinds {
        match read(path) {
            Ok(()) => return Ok(what),
            Err(error) => {
                let n = match &error {
                    ConfigError::Mistakes { mistakes, .. } => mistakes.len(),
                    ConfigError::Read { .. } | ConfigError::Long(_) => 0,
                };
                if fewest.as_ref().is_none_or(|&(least, _)| n < least) {
                    fewest = Some((n, error));
                }
            }
        }
    }
    Err(fewest.expect("there are four kinds").1)
}

type Reader = fn(&Path) -> Result<(), ConfigError>;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn check_text(name: &str, text: &str) -> Result<&'static str, String> {
        let dir = tempfile::TempDir::new().unwrap();
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        mistakes_of(&path).map_err(|error| {
            let text = error.to_string();
            text.replace(&format!("{}:", path.display()), "")
        })
    }

    const PLACE: &str =
        "directory = \"state\"\nidentity = \"identity\"\nlisten = \"127.0.0.1:1\"\n";

    #[test]
    fn a_file_is_known_by_its_name_or_by_what_stands_in_it() {
        let gm = "group-manager = { name = \"gm\", address = \"h:1\" }\n";
        assert_eq!(check_text("x.toml", PLACE), Ok("a group manager"));
        let pm = format!("{PLACE}{gm}socket = \"s\"\n");
        assert_eq!(check_text("x.toml", &pm), Ok("a process manager"));
        let am = format!("{PLACE}{gm}slots = 4\n");
        assert_eq!(check_text("am.toml", &am), Ok("an activity manager"));
        assert_eq!(check_text("x.toml", &am), Ok("an activity manager"));
        let grid = format!("{gm}identity = \"identity\"\n");
        assert_eq!(
            check_text("grid.toml", &grid),
            Ok("what a grid's users need")
        );
    }

    #[test]
    fn the_samples_that_are_packed_have_no_mistakes_with_all_their_settings() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/samples");
        for name in ["gm.toml", "pm.toml", "am.toml"] {
            let text = std::fs::read_to_string(samples.join(name)).unwrap();
            assert!(check_text(name, &text).is_ok(), "{name}");
            // A setting may be shown in several forms: the first of each, then the second...
            let n_forms = forms(&text).values().map(Vec::len).max().unwrap_or(0);
            assert!(n_forms > 0, "{name} shows no settings");
            for form in 0..n_forms {
                let whole: Vec<&str> = forms(&text)
                    .values()
                    .map(|forms| forms[form.min(forms.len() - 1)])
                    .collect();
                let whole = whole.join("\n");
                assert_eq!(check_text(name, &whole).err(), None, "{name}:\n{whole}");
            }
        }
    }

    /// The settings of a sample by their keys, those in comments too: lines such as `# slots = 6`.
    fn forms(text: &str) -> BTreeMap<&str, Vec<&str>> {
        let mut forms: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in text.lines() {
            let line = line.strip_prefix("# ").unwrap_or(line);
            let is_key = |key: &str| {
                key.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-')
            };
            if let Some((key, _)) = line.split_once(" = ").filter(|(key, _)| is_key(key)) {
                forms.entry(key).or_default().push(line);
            }
        }
        forms
    }

    #[test]
    fn a_lease_has_a_length_within_bounds() {
        let gm = "group-manager = { name = \"gm\", address = \"h:1\" }\n";
        let with = |lease: &str| {
            let text = format!("{PLACE}{gm}lease = {lease}\n");
            check_text("pm.toml", &text)
        };
        for lease in ["\"5s\"", "\"30s\"", "\"10m\""] {
            assert_eq!(with(lease), Ok("a process manager"), "{lease}");
        }
        for lease in [
            "\"4s\"", "\"0s\"", "\"11m\"", "\"1d\"", "\"10\"", "10", "\"-5s\"",
        ] {
            assert_eq!(
                with(lease).unwrap_err(),
                "5:9: lease must be a time from 5 to 600 seconds, such as \"30s\" or \"2m\"",
                "{lease}"
            );
        }
    }

    #[test]
    fn every_mistake_is_named_with_its_place() {
        let text = "directory = 7\nlisten = \"here\"\nslots = -1\ncolour = \"red\"\n";
        assert_eq!(
            check_text("am.toml", text).unwrap_err(),
            "1:13: directory must be a text in quotes\n\
             2:10: listen must be an address and a port, such as \"0.0.0.0:7400\"\n\
             3:9: slots must be a number from 0 to 4096\n\
             4:1: there is no setting \"colour\"\n\
             5:1: group-manager is missing\n\
             5:1: identity is missing"
        );
    }
}

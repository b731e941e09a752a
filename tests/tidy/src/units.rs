//! Units for systemd: managers on one host leave each other's state alone, and are started again for ever.

use crate::workspace::{TextFile, files};

const UNITS: &str = "packaging/systemd/xavantes-";

/// Values of a setting in a unit, in order.
fn values<'a>(unit: &'a TextFile, setting: &str) -> Vec<&'a str> {
    let lines = unit.text.lines().map(str::trim);
    lines
        .filter_map(|line| line.split_once('='))
        .filter(|(name, _)| *name == setting)
        .map(|(_, value)| value)
        .collect()
}

fn complaints(files: &[TextFile]) -> Vec<String> {
    let mut complaints = Vec::new();
    for unit in files {
        let Some(name) = unit.path.strip_prefix(UNITS) else {
            continue;
        };
        let manager = name.trim_end_matches(".service");
        let mut wants = |setting: &str, wanted: &str| {
            let found = values(unit, setting);
            if found != [wanted] {
                complaints.push(format!(
                    "{}: {setting} is {found:?}, not {wanted}",
                    unit.path
                ));
            }
        };
        // A directory that two units name is given to the account of whichever starts last, with all in it.
        wants("StateDirectory", &format!("xavantes/{manager}"));
        wants("StartLimitIntervalSec", "0");
        wants("Restart", "always");
        // What starts after it finds it serving, and a loop that stands still is noticed.
        wants("Type", "notify");
        wants("WatchdogSec", "60");
        if manager == "am" {
            wants("Delegate", "yes");
            wants("KillMode", "process");
        }
    }
    complaints
}

#[test]
fn each_manager_has_a_state_directory_of_its_own_and_no_limit_of_starts() {
    let units = files().iter().filter(|file| file.path.starts_with(UNITS));
    assert_eq!(units.count(), 3);
    crate::assert_none(&complaints(files()));
    let shared = "StateDirectory=xavantes xavantes/gm\nStartLimitIntervalSec=0\nRestart=always\n\
                  Type=notify\nWatchdogSec=60";
    assert_eq!(
        complaints(&[TextFile::new(
            "packaging/systemd/xavantes-gm.service",
            shared
        )]),
        [
            "packaging/systemd/xavantes-gm.service: StateDirectory is [\"xavantes xavantes/gm\"], not xavantes/gm"
        ]
    );
}

//! Recorded workflows run to their end in the simulator: the sample always, and those from outside where
//! XAVANTES_DATA names the directory that holds them under `workflows`.
#![expect(clippy::unwrap_used, reason = "tests")]
#![expect(clippy::disallowed_methods, reason = "a test finds its data")]

use std::fs;
use std::path::{Path, PathBuf};

use sim::recorded::{Figures, files, run};

/// Recordings of more bytes are left out where nothing is optimised: they would take minutes.
const BYTES_BELOW: u64 = if cfg!(debug_assertions) {
    300_000
} else {
    u64::MAX
};

fn ends_well(path: &Path) -> Figures {
    match run(&fs::read(path).unwrap()) {
        Ok(figures) => figures,
        Err(error) => panic!("{}: {error:?}", path.display()),
    }
}

#[test]
fn the_recorded_sample_runs_to_its_end() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../workflows/samples");
    let figures = ends_well(&samples.join("recorded/recorded.json"));
    assert_eq!(figures.n_activities, 16);
    assert!(figures.bound <= figures.planned, "{figures}");
}

#[test]
fn every_recorded_workflow_runs_to_its_end() {
    let Some(data) = std::env::var_os("XAVANTES_DATA") else {
        eprintln!("SKIPPED: XAVANTES_DATA names no directory with recorded workflows");
        return;
    };
    let paths = files(&PathBuf::from(data).join("workflows")).unwrap();
    assert_eq!(paths.len(), 28);
    let mut n_run = 0;
    for path in &paths {
        if fs::metadata(path).unwrap().len() < BYTES_BELOW {
            let figures = ends_well(path);
            eprintln!("{}: {figures}", path.display());
            n_run += 1;
        }
    }
    eprintln!(
        "{n_run} of {} recorded workflows ran to their end",
        paths.len()
    );
}

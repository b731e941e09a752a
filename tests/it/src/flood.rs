//! Strangers crowd at a group manager: connections that are held, and handshakes one after another,
//! from the members' own address and from others. Members are answered all the while.
//!
//! `XAVANTES_FLOOD_SECONDS=60` has it last for longer, and `--nocapture` shows how long the answers
//! took.

mod strangers;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::program::{daemon, program};
use crate::readme_grid::ReadmeGrid;
use strangers::Strangers;

/// The default duration of the flood.
const SECONDS: u64 = 4;

/// Repeats a user's request; returns the time of each answer.
fn ask_until(end: Instant, grid: &Path) -> Vec<Duration> {
    let mut took = Vec::new();
    while Instant::now() < end {
        let begun = Instant::now();
        let nodes = Command::new(program())
            .args(["nodes", "--json", "--grid"])
            .arg(grid)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        took.push(begun.elapsed());
        let told = String::from_utf8_lossy(&nodes.stderr);
        assert!(nodes.status.success(), "after {}: {told}", took.len());
        let nodes: Value = serde_json::from_slice(&nodes.stdout).unwrap();
        assert_eq!(nodes[0]["state"], "ready", "{nodes}");
    }
    took.sort();
    took
}

#[test]
fn members_are_answered_while_strangers_crowd_at_the_group_manager() {
    let lab = ReadmeGrid::start(1, 1).unwrap();
    let grid = lab.grid();
    let config = fs::read_to_string(grid.join("gm/gm.toml")).unwrap();
    let mut lines = config.lines();
    let address = lines.find_map(|line| line.strip_prefix("address = "));
    let address = address.unwrap().trim_matches('"').parse().unwrap();
    let seconds = std::env::var("XAVANTES_FLOOD_SECONDS");
    let seconds = seconds.map_or(SECONDS, |seconds| seconds.parse().unwrap());

    let strangers = Strangers::crowd(address);
    strangers.wait_for_all_held();
    let begun = Instant::now();
    let end = begun + Duration::from_secs(seconds);
    let took = ask_until(end, &grid);
    // Somebody joins meanwhile.
    let token = Command::new(program())
        .args(["token", "create", "--role", "am", "--grid"])
        .arg(&grid)
        .output()
        .unwrap();
    let token = String::from_utf8(token.stdout).unwrap();
    let joined = Command::new(daemon("xavantes-am"))
        .args([
            "join",
            token.trim_end(),
            "--name",
            "am9",
            "--shared",
            "--dir",
        ])
        .arg(grid.join("am9"))
        .output()
        .unwrap();
    assert!(joined.status.success(), "{joined:?}");
    let done = strangers.leave();
    let at = |share: usize| took[(took.len() - 1) * share / 100];
    println!(
        "{} requests in {seconds} s: p50 {:?}, p99 {:?}, longest {:?}; strangers: {done:?}",
        took.len(),
        at(50),
        at(99),
        took.last().unwrap()
    );
    assert!(done.n_held > 80, "{done:?}");

    // No link ended, and so no lease; and the log did not grow with the crowd.
    for log in ["gm", "pm", "am1"] {
        let text = fs::read_to_string(grid.join(log).join("state/log")).unwrap();
        assert!(!text.contains("a link is down"), "{log}: {text}");
        let crowd = |line: &&str| line.contains("was turned away");
        let n_lines = text.lines().filter(crowd).count() as u64;
        let n_lines_max = strangers::ADDRESSES.len() as u64 * (1 + begun.elapsed().as_secs() / 60);
        assert!(n_lines <= n_lines_max, "{log} has {n_lines}: {text}");
    }
}

//! Networks that lose or delay: everything between the machines and the managers, and files between
//! the machines, go through relays. What a process gives is the same as without a grid.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::relay::{Relay, Weather};
use super::world::World;
use crate::kills::hashes;
use crate::recorded;
use crate::sandbox::Sandbox;

/// A hundredth of what was recorded: 4 MB in 23 files, so that some need many datagrams.
const SCALES: [&str; 2] = ["--cpu-total=1s", "--data-scale=0.01"];

/// The outputs of the recorded sample on one machine.
fn alone() -> BTreeMap<String, Value> {
    let sandbox = Sandbox::new();
    let file = recorded::sample();
    let mut run = vec!["run", "--quiet", file.to_str().unwrap()];
    run.extend(SCALES);
    sandbox.xav(&run).expect(0);
    hashes(&sandbox.json(&["status", "--json"]))
}

/// Runs it in bad weather; the grid as it is then.
fn through(weather: Weather) -> World {
    let world = World::in_weather(2, weather);
    let ana = world.user("ana");
    let file = recorded::sample();
    let mut run = vec!["run", "--json", file.to_str().unwrap(), "--grid", &ana];
    run.extend(SCALES);
    // A plan made again where links are slow may leave all files where they are.
    run.extend(["--policy", "static"]);
    let ended = world.sandbox.json(&run);
    assert_eq!(ended["state"], "completed", "{ended}");
    let status = world.sandbox.json(&["status", "--json", "--grid", &ana]);
    assert!(hashes(&status) == alone(), "other outputs in {weather:?}");
    let activities = status["activity_list"].as_array().unwrap();
    let attempts = |one: &Value| one["attempts"].as_array().unwrap().len();
    let n_attempts: usize = activities.iter().map(attempts).sum();
    assert_eq!(n_attempts, activities.len(), "nothing ran twice: {status}");
    let (managers, files) = world.relays();
    let went = |relay: &Relay| relay.n_passed() > 0;
    assert!(managers.iter().all(went), "all messages go through relays");
    assert!(files.iter().any(went), "files have crossed, through relays");
    world
}

#[test]
fn a_network_that_loses_a_tenth_of_all_datagrams_changes_nothing() {
    let percent = 10;
    let world = through(Weather::Loss { percent, seed: 1 });
    let (managers, files) = world.relays();
    let (mut lost, mut passed) = (0, 0);
    for relay in managers.iter().chain(files) {
        lost += relay.n_lost();
        passed += relay.n_passed();
    }
    let all = lost + passed;
    // In a thousand draws the share is within a few hundredths of the setting.
    assert!(all > 1_000, "{all} datagrams");
    assert!(
        lost * 100 / all >= 5 && lost * 100 / all <= 15,
        "{lost} of {all}"
    );
}

#[test]
fn a_network_that_delays_each_datagram_changes_nothing() {
    through(Weather::Delay(Duration::from_millis(50)));
}

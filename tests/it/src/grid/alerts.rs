//! The sample alerts, each of which fires where it should and not on a grid that is well. Prometheus' own tool evaluates
//! them over metrics of real daemons.
//!
//! A story is two scrapes of all daemons: the first one's values last for two hours, then they go to those of the second
//! one within another hour and a half. What no test can bring about (in [`crafted`]) is a real scrape in which a number was changed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use model::{Role, Span};

use super::world::World;
use crate::program::root;
use crate::wait;

/// Minutes of the first scrape, longer than any alert waits, and those in which values go over to the second one.
const BEFORE: u32 = 120;
const CHANGE: u32 = 90;

/// Seconds of the moment at which alerts are looked at: the change is nearly over.
const SEEN: u32 = (BEFORE + CHANGE - 5) * 60;

const DAY: u64 = 86_400;

/// All values of a scrape by their series, with the labels that Prometheus adds.
type Scrape = BTreeMap<String, f64>;

struct Story {
    about: &'static str,
    before: Scrape,
    after: Scrape,
    /// The alerts that fire. All others may, but none does where this is empty.
    fires: Vec<&'static str>,
}

impl Story {
    /// One in which nothing changes any more.
    fn lasting(about: &'static str, scrape: &Scrape, fires: &[&'static str]) -> Story {
        Story {
            about,
            before: scrape.clone(),
            after: scrape.clone(),
            fires: fires.to_vec(),
        }
    }

    /// As a test of promtool, with the series that the alerts name.
    fn written(&self, alerts: &str) -> String {
        let mut text = format!(
            "  - name: \"{}\"\n    interval: 1m\n    input_series:\n",
            self.about
        );
        let is_asked = |series: &str| alerts.contains(series.split('{').next().unwrap_or(series));
        for (series, after) in self.after.iter().filter(|(series, _)| is_asked(series)) {
            let before = self.before.get(series).unwrap_or(after);
            let step = (after - before) / f64::from(CHANGE);
            text.push_str(&format!(
                "      - series: '{series}'\n        values: '{before}+0x{BEFORE} {before}{step:+}x{CHANGE}'\n"
            ));
        }
        text.push_str("    promql_expr_test:\n");
        let expect = |selector: &str, n: &str| {
            format!(
                "      - expr: 'count(ALERTS{{{selector}alertstate=\"firing\"}}) > bool 0'\n        eval_time: {SEEN}s\n        exp_samples: [{n}]\n"
            )
        };
        if self.fires.is_empty() {
            text.push_str(&expect("", ""));
        }
        for name in &self.fires {
            let selector = format!("alertname=\"{name}\",");
            text.push_str(&expect(&selector, "{ labels: '{}', value: 1 }"));
        }
        text
    }
}

/// Scrapes all daemons as Prometheus would. Times are told from the start of promtool's clock.
fn scrape(world: &World) -> Scrape {
    let now = shell::clock::wall().0 as f64 / 1e6;
    let mut scrape = Scrape::new();
    for role in [Role::Gm, Role::Pm, Role::Am] {
        let place = format!("job=\"xavantes\",instance=\"{role}\"");
        let text = world.scraped(role);
        let up = f64::from(u8::from(text.is_some()));
        scrape.insert(format!("up{{{place}}}"), up);
        for line in text.unwrap_or_default().lines() {
            let Some((series, value)) = line.rsplit_once(' ').filter(|_| !line.starts_with('#'))
            else {
                continue;
            };
            let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
            let mut value: f64 = value.parse().unwrap();
            if name.ends_with("_timestamp_seconds") {
                value = (value - now + f64::from(SEEN)).round();
            }
            let comma = if labels == "}" { "" } else { "," };
            scrape.insert(format!("{name}{{{place}{comma}{labels}"), value);
        }
    }
    empty_large_disks(&mut scrape);
    scrape
}

/// The disk that the tests run on may be nearly full, which is not what they are about.
fn empty_large_disks(scrape: &mut Scrape) {
    let sizes = scrape.iter().filter_map(|(series, bytes)| {
        let place = series.strip_prefix("xavantes_disk_bytes")?;
        let free = format!("xavantes_disk_free_bytes{place}");
        (*bytes >= SMALL_DISK_BYTES).then_some((free, *bytes))
    });
    let free: Vec<(String, f64)> = sizes.collect();
    scrape.extend(free);
}

/// The value of a daemon's series.
fn value(scrape: &Scrape, role: Role, name: &str, labels: &str) -> f64 {
    let comma = if labels.is_empty() { "" } else { "," };
    let series = format!("{name}{{job=\"xavantes\",instance=\"{role}\"{comma}{labels}}}");
    scrape.get(&series).copied().unwrap_or_default()
}

/// Waits for a scrape.
fn until(world: &World, what: &str, is_there: impl Fn(&Scrape) -> bool) -> Scrape {
    wait::until(what, || Some(scrape(world)).filter(&is_there))
}

/// Disks below this size are those that a test has made.
const SMALL_DISK_BYTES: f64 = 1e9;

const GOOD: &str = "xavantes: 1\nname: good\nbody: { activity: one, run: ['true'] }\n";
const LONG: &str = "xavantes: 1\nname: long\nbody: { activity: one, run: [sleep, '600'] }\n";
const WIDE: &str =
    "xavantes: 1\nname: wide\nbody: { activity: one, cores: 2, run: [sleep, '600'] }\n";

/// A process with so many activities that fault.
fn faulty(n: usize) -> String {
    let one = |at: usize| format!("    - {{ activity: a{at}, run: [sh, -c, 'exit 3'] }}\n");
    let all: String = (0..n).map(one).collect();
    format!("xavantes: 1\nname: faulty\nbody:\n  parallel:\n{all}")
}

/// The stories of a grid that is well at first.
fn of_a_grid() -> (Vec<Story>, Scrape) {
    let mut world = World::with_metrics(1);
    let ana = world.user("ana");
    let put = |world: &World, name: &str, text: &str| world.sandbox.file(name, text);
    let well = scrape(&world);
    let good = put(&world, "good.yaml", GOOD);
    world.sandbox.xav(&["run", &good, "--grid", &ana]).expect(0);
    let n_ended = |scrape: &Scrape| {
        value(
            scrape,
            Role::Pm,
            "xavantes_processes_ended_total",
            "phase=\"completed\"",
        )
    };
    let after = until(&world, "the process to be counted", |now| {
        n_ended(now) >= 1.0
    });
    let mut stories = vec![Story {
        about: "well",
        before: well,
        after: after.clone(),
        fires: Vec::new(),
    }];

    // One slot of two is free, and a process wants both.
    let submit = |world: &World, name: &str, text: &str| {
        let file = put(world, name, text);
        let done = world.sandbox.xav(&["submit", &file, "--grid", &ana]);
        done.expect(0).stdout.trim_end().to_owned()
    };
    let long = submit(&world, "long.yaml", LONG);
    until(&world, "the long command", |now| {
        value(now, Role::Pm, "xavantes_attempts_out", "") >= 1.0
    });
    let wide = submit(&world, "wide.yaml", WIDE);
    let stuck = until(&world, "a process that waits", |now| {
        let queued = ["first-plan", "another-plan"].map(|stage| {
            let labels = format!("stage=\"{stage}\"");
            value(now, Role::Pm, "xavantes_processes_queued", &labels)
        });
        let free = value(now, Role::Pm, "xavantes_slots", "state=\"free\"");
        queued.iter().sum::<f64>() > 0.0 && free > 0.0
    });
    stories.push(Story::lasting("stuck", &stuck, &["XavantesQueueNotMoving"]));
    for id in [&wide, &long] {
        world.sandbox.xav(&["cancel", id, "--grid", &ana]).expect(0);
    }

    let before = until(&world, "both to be gone", |now| {
        value(
            now,
            Role::Pm,
            "xavantes_processes_ended_total",
            "phase=\"cancelled\"",
        ) >= 2.0
    });
    let file = put(&world, "faulty.yaml", &faulty(80));
    let run = ["run", &file, "--on-fault", "continue", "--grid", &ana];
    world.sandbox.xav(&run).expect(1);
    let after_faults = until(&world, "the faults to be counted", |now| {
        value(now, Role::Pm, "xavantes_faults_total", "name=\"exit-code\"") >= 80.0
    });
    stories.push(Story {
        about: "faults",
        before,
        after: after_faults,
        fires: vec!["XavantesFaultsRising"],
    });

    world.freeze_executor(0);
    let silent = until(&world, "the executor to be silent", |now| {
        value(now, Role::Am, "up", "") == 1.0
            && value(now, Role::Am, "xavantes_executor_up", "") == 0.0
    });
    stories.push(Story::lasting(
        "frozen executor",
        &silent,
        &["XavantesExecutorSilent"],
    ));
    until(&world, "another executor", |now| {
        value(now, Role::Am, "xavantes_executor_up", "") == 1.0
    });

    world.end_activity_manager(0);
    let lost = until(&world, "the machine to be lost", |now| {
        value(now, Role::Gm, "xavantes_machines", "state=\"away\"") == 1.0
    });
    let fires = ["XavantesMachinesLost", "XavantesManagerDown"];
    stories.push(Story::lasting("lost machine", &lost, &fires));
    (stories, after)
}

/// The story of a grid whose authority and certificates end soon, where root also gives the process manager a small
/// disk.
fn of_an_old_grid() -> Story {
    let world = World::that_ends(Span::from_secs(100 * DAY), Span::from_secs(10 * DAY));
    let mut fires = vec!["XavantesAuthorityEnds", "XavantesCertificateEnds"];
    let now = until(&world, "the first measurements", |now| {
        let is_told = |role, name| value(now, role, name, "") > 0.0;
        is_told(Role::Pm, "xavantes_disk_bytes")
            && is_told(Role::Gm, "xavantes_authority_end_timestamp_seconds")
            && is_told(Role::Gm, "xavantes_certificate_end_timestamp_seconds")
    });
    if value(&now, Role::Pm, "xavantes_disk_bytes", "") < SMALL_DISK_BYTES {
        fires.push("XavantesDiskNearlyFull");
    } else {
        println!("skipped: XavantesDiskNearlyFull needs a small disk, which only root can mount");
    }
    Story::lasting("old", &now, &fires)
}

/// A disk whose flushes take that long, a network that fails file after file, and members that fail to renew theirs
/// for weeks are told by changed numbers.
fn crafted(well: &Scrape) -> Vec<Story> {
    let changed = |about, alert, name: &str, change: &dyn Fn(&str, f64) -> f64| {
        let after = well.iter().map(|(series, value)| {
            let is_meant = series.starts_with(name);
            let value = if is_meant {
                change(series, *value)
            } else {
                *value
            };
            (series.clone(), value)
        });
        let after = Scrape::from_iter(after);
        assert!(after != *well, "nobody serves {name}");
        Story {
            about,
            before: well.clone(),
            after,
            fires: vec![alert],
        }
    };
    let is_slowest = |series: &str| series.contains("le=\"+Inf\"");
    vec![
        changed(
            "slow flushes",
            "XavantesFlushSlow",
            "xavantes_flush_seconds_bucket",
            &|series, n| {
                if is_slowest(series) { n + 600.0 } else { n }
            },
        ),
        changed(
            "failing transfers",
            "XavantesTransfersFail",
            "xavantes_fetches_failed_total",
            &|_, n| n + 3_600.0,
        ),
        changed(
            "members that do not renew",
            "XavantesMemberCertificateEnds",
            "xavantes_certificates_ending",
            &|_, _| 2.0,
        ),
    ]
}

#[test]
fn each_alert_fires_where_it_should_and_none_on_a_grid_that_is_well() {
    if Command::new("promtool").arg("--version").output().is_err() {
        println!("skipped: needs promtool");
        return;
    }
    let alerts = root().join("packaging/alerts.yaml");
    let (mut stories, well) = of_a_grid();
    stories.push(of_an_old_grid());
    stories.extend(crafted(&well));

    let text = fs::read_to_string(&alerts).unwrap();
    let named: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    let mut fired: BTreeSet<&str> = stories
        .iter()
        .flat_map(|story| &story.fires)
        .copied()
        .collect();
    if !rustix::process::geteuid().is_root() {
        fired.insert("XavantesDiskNearlyFull");
    }
    assert_eq!(fired, named);

    let dir = tempfile::TempDir::new().unwrap();
    let written = stories.iter().map(|story| story.written(&text));
    let written: String = written.collect();
    let tests = format!(
        "rule_files: [\"{}\"]\nevaluation_interval: 1m\ntests:\n{written}",
        alerts.display()
    );
    let file = dir.path().join("tests.yaml");
    fs::write(&file, tests).unwrap();
    let done = Command::new("promtool")
        .args(["test", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    let errors = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{said}\n{errors}");
}

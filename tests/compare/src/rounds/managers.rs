//! Two process managers with a process each on the same machines, of which one gets slow: do they fight over the others?

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use model::{NodeKind, Work};
use wire::client::Phase;

use super::Setting;
use super::bars::{Bar, Bars};
use super::machines::alike;
use super::trial::{Moves, pause};
use super::work::{millis, naps};
use crate::many::client::{Client, flat};

/// Machines of two slots: each process has a half of all.
const MACHINES: usize = 4;
const SLOTS: u32 = 2;
/// Activities of each process, and the seconds of each.
const N: u32 = 60;
const SECONDS: f64 = 1.0;
/// How much slower the first machine is, after a part of the length.
const SLOWER: f64 = 4.0;
const COMES: f64 = 0.3;
/// Between two looks at the processes.
const LOOK: Duration = Duration::from_millis(50);

/// The managers of the two processes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Managed {
    ByOne,
    ByTwo,
}

/// The time of both processes, and the moves of the activity that moved most often.
struct Both {
    seconds: f64,
    moves: usize,
}

pub(super) fn measure(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let (mut ratios, mut moves) = (Vec::new(), Vec::new());
    let mut seconds = [Vec::new(), Vec::new()];
    setting.pairs("managers", [Managed::ByOne, Managed::ByTwo], |_, order| {
        let mut took = [f64::NAN; 2];
        for managed in order {
            let both = run(setting, managed)?;
            took[usize::from(managed == Managed::ByTwo)] = both.seconds;
            if managed == Managed::ByTwo {
                moves.push(both.moves as f64);
            }
        }
        ratios.push(took[1] / took[0]);
        for (seconds, took) in seconds.iter_mut().zip(took) {
            seconds.push(took);
        }
        Ok(())
    })?;
    let [by_one, by_two] = seconds;
    bars.add("two processes by one manager: s", by_one, 2, Bar::Told);
    bars.add("the same by two managers: s", by_two, 2, Bar::Told);
    bars.add(
        "two process managers: time of both / by one manager",
        ratios,
        3,
        Bar::AtMost(1.1),
    );
    bars.add(
        "the same: moves of the activity that moved most",
        moves,
        0,
        Bar::EachAtMost(2.0),
    );
    Ok(())
}

fn run(setting: &Setting, managed: Managed) -> Result<Both> {
    let dir = setting.fresh()?;
    let grid = alike(setting, dir.path(), (MACHINES, SLOTS))?;
    let (_other, other) = grid.add_process_manager("pm2")?;
    let sockets = match managed {
        Managed::ByOne => [grid.socket(), grid.socket()],
        Managed::ByTwo => [grid.socket(), &other],
    };
    let flag = dir.path().join("slow");
    let home = grid.directory().join("am1");
    let seconds = setting.seconds(SECONDS);
    let command = naps(seconds, SLOWER, &home, &flag);
    let mut draft = flat(N, &["/bin/sh", "-c", &command]);
    for node in &mut draft.nodes {
        if let NodeKind::Activity(activity) = &mut node.kind {
            activity.work = Some(Work(millis(seconds) * 1_000));
        }
    }
    let length = 2.0 * f64::from(N) * seconds / (MACHINES as f64 * f64::from(SLOTS));
    let most = 2.0 * SLOWER * length + 60.0;
    let mut all = Vec::new();
    for (key, socket) in (1..).zip(sockets) {
        let mut client = Client::connect(socket)?;
        let process = client.submit(key, &draft)?;
        all.push((client, process, Moves::default()));
    }
    let began = Instant::now();
    // Where activities are is looked at while the processes run.
    loop {
        let elapsed = began.elapsed().as_secs_f64();
        ensure!(
            elapsed < most,
            "two processes had not ended after {most:.0} s"
        );
        if elapsed >= COMES * length && !flag.exists() {
            fs::write(&flag, "")?;
        }
        let mut is_any_at_work = false;
        for (client, process, moves) in &mut all {
            let status = client.status(*process)?;
            for one in &status.activities {
                if let Some(planned) = &one.planned {
                    moves.note(one.activity, planned.resource);
                }
            }
            match status.summary.phase {
                Phase::Running => is_any_at_work = true,
                Phase::Completed => {}
                Phase::Faulting | Phase::Cancelling | Phase::Faulted | Phase::Cancelled => {
                    bail!("{process} has ended otherwise");
                }
            }
        }
        if !is_any_at_work {
            let moves = all.iter().map(|(_, _, moves)| moves.most()).max();
            return Ok(Both {
                seconds: elapsed,
                moves: moves.unwrap_or(0),
            });
        }
        pause(LOOK);
    }
}

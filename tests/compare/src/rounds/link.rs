//! A link that gets slow in the middle of a process which moves much data.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use anyhow::Result;

use super::Setting;
use super::bars::{Bar, Bars};
use super::relay::Relay;
use super::trial::{Running, on_grid};
use super::work::{millis, written};
use crate::grid::world::{Grid, Machine};

/// Machines of two slots. The files of the first one come over the link.
const MACHINES: usize = 3;
/// Rows of activities, each of which reads what three of the row before have made: one of each machine.
const ROWS: usize = 12;
const WIDTH: usize = 6;
/// Bytes of each file, and the seconds of each activity.
const BYTES: u64 = 6 << 20;
const SECONDS: f64 = 1.0;
/// The rate of the link at first: a gigabit a second; and the part of it that is left.
const RATE: u64 = 125_000_000;
const SLOWED: u64 = 20;

/// `xavantes` beside `static`.
pub(super) fn measure(setting: &Setting, bars: &mut Bars) -> Result<()> {
    let mut ratios = Vec::new();
    setting.pairs("link", ["static", "xavantes"], |_, order| {
        let mut took = [f64::NAN; 2];
        for policy in order {
            took[usize::from(policy == "xavantes")] = run(setting, policy)?;
        }
        ratios.push(took[1] / took[0]);
        Ok(())
    })?;
    bars.add(
        "link at a twentieth: xavantes / static",
        ratios,
        3,
        Bar::AtMost(0.8),
    );
    Ok(())
}

/// The seconds of a run. A third of the planned length after its start, the link gets slow.
fn run(setting: &Setting, policy: &str) -> Result<f64> {
    let dir = setting.fresh()?;
    let target = free_address()?;
    let relay = Relay::before(target, RATE)?;
    let behind = Machine {
        slots: 2,
        settings: format!(
            "files-listen = \"{target}\"\nfiles-address = \"{}\"\n",
            relay.address
        ),
        ..Machine::default()
    };
    let plain = Machine {
        slots: 2,
        ..Machine::default()
    };
    let mut machines = vec![behind];
    machines.resize(MACHINES, plain);
    let grid = Grid::of(&setting.programs, &dir.path().join("grid"), &machines, "")?;
    let file = written(dir.path(), "rows", &rows(setting.seconds(SECONDS)))?;
    let length = setting.seconds(SECONDS) * ROWS as f64;
    let mut running = Running::start(on_grid(&grid, policy, &file, &[]), dir.path())?;
    running.wait_for(length / 3.0)?;
    relay.set_rate(RATE / SLOWED);
    let all = (ROWS * WIDTH) as f64 * BYTES as f64;
    let most = 10.0 * length + 4.0 * all / (RATE / SLOWED) as f64 + 60.0;
    Ok(running.end(most)?.makespan)
}

/// Rows of activities that each read the files of three of the row before.
fn rows(seconds: f64) -> String {
    let mut text = "xavantes: 1\nname: rows\nbody:\n  parallel:\n".to_owned();
    let work = millis(seconds);
    for row in 0..ROWS {
        for column in 0..WIDTH {
            let _ = write!(
                text,
                "    - activity: a{row}x{column}\n      \
                 run: {{ shell: 'head -c {BYTES} /dev/urandom > out; sleep {seconds:.3}' }}\n      \
                 work: {work}ms\n      outputs: {{ out: out }}\n"
            );
            if row > 0 {
                let before = row - 1;
                let [second, third] = [1, 2].map(|n| (column + n * WIDTH / MACHINES) % WIDTH);
                let _ = writeln!(
                    text,
                    "      inputs: {{ own: a{before}x{column}.out, second: a{before}x{second}.out, \
                     third: a{before}x{third}.out }}"
                );
            }
        }
    }
    text
}

/// An address of this machine that nobody has at the moment.
fn free_address() -> Result<SocketAddr> {
    Ok(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

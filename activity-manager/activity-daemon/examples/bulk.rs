//! Benchmark of files between machines, and of the delay of messages between managers meanwhile:
//! both ends in one program, on loopback, with blob stores on disk.
//!
//! `cargo bulk [DIRECTORY]`; it must be on a real disk.
#![expect(clippy::print_stdout, reason = "it prints what it measures")]

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use activity_blobs::Store;
use activity_daemon::{Keeping, StoreDepot};
use model::{Artifact, Identity, Role, Span};
use shell::identity::{Authority, Credentials, Key, Revocations};
use shell::quic::{Bulk, BulkConfig, Depot, Event, Link, LinkConfig, LinkEpoch, Links, Source};
use shell::{Inbox, InputReceiver, Peers, Received, clock, inbox};

type Failure = Box<dyn Error + Send + Sync>;

const DAY: Span = Span::from_secs(86_400);
const GIB: u64 = 1 << 30;
/// Bytes a second of the limited flow.
const LIMIT: u64 = 100 << 20;
/// Number of runs; the median counts.
const RUNS: usize = 5;
/// Messages there and back in a run, one a millisecond.
const PINGS: usize = 2_000;
/// The accepted p99 beside the limited flow, whatever it is without a flow.
const PING_MILLIS_MAX: f64 = 20.0;

fn main() -> Result<(), Failure> {
    let root = std::env::args_os().nth(1).map(PathBuf::from);
    let root = root.unwrap_or_else(std::env::temp_dir);
    let root = root.join(format!("bulk-{}", std::process::id()));
    fs::create_dir_all(&root)?;
    let measured = measure(&root);
    fs::remove_dir_all(&root)?;
    measured
}

fn measure(root: &Path) -> Result<(), Failure> {
    let group = Group::new()?;
    let (store, artifact) = large(&root.join("giver"))?;
    let giver = |rate| group.bulk(Role::Am, Some(store.clone()), rate);

    println!("1 GiB from store to store, BLAKE3 and disk included:");
    let free = giver(None)?;
    let asker = group.bulk(Role::User, None, None)?;
    for run in 1..=3 {
        let before = cpu();
        let began = clock::mono();
        fetch(&asker, &free, artifact, &root.join(format!("free-{run}")))?;
        let seconds = clock::mono().since(began).seconds();
        let spent = by_thread(&before, &cpu());
        println!("  run {run}: {:.0} MiB/s, CPU {spent}", 1_024.0 / seconds);
    }

    let mut wires = Wires::new(&group, root)?;
    println!("a message of 200 bytes there and back, p50 and p99 in ms:");
    let idle = wires.runs()?;
    println!("  nothing flows:          {idle}");
    let limited = giver(Some(LIMIT))?;
    let flows = wires.runs_beside(&asker, &limited, artifact, root)?;
    println!("  1 GiB at 100 MiB/s:     {flows}");
    let most = (3.0 * idle.p99).max(PING_MILLIS_MAX);
    println!(
        "  of these the p99 may be at most 3 times the idle one or {PING_MILLIS_MAX} ms: {}",
        if flows.p99 <= most {
            "held"
        } else {
            "not held"
        }
    );
    let flows = wires.runs_beside(&asker, &free, artifact, root)?;
    println!("  1 GiB as fast as it can: {flows}");
    Ok(())
}

/// A store with one blob of a GiB.
fn large(dir: &Path) -> Result<(Store, Artifact), Failure> {
    fs::create_dir_all(dir)?;
    let path = dir.join("large");
    let mut file = File::create(&path)?;
    let mut piece = vec![0_u8; 1 << 20];
    for number in 0..(GIB >> 20) {
        piece[..8].copy_from_slice(&number.to_le_bytes());
        file.write_all(&piece)?;
    }
    let store = Store::open(&dir.join("blobs"))?;
    let artifact = store.add_file(&path)?;
    store.flush()?;
    fs::remove_file(path)?;
    Ok((store, artifact))
}

fn fetch(asker: &Bulk, giver: &Bulk, artifact: Artifact, dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir)?;
    let store = Store::open(dir)?;
    let source = Source {
        peer: giver.identity().clone(),
        address: giver.address().to_string(),
    };
    let depot = StoreDepot::new(store, Keeping::AsCopy);
    asker.fetch(&[source], artifact.hash, &depot)?;
    fs::remove_dir_all(dir)?;
    Ok(())
}

struct Group {
    authority: Authority,
}

impl Group {
    fn new() -> Result<Group, Failure> {
        let authority = Authority::create("grid", "lab", clock::wall(), DAY)?;
        Ok(Group { authority })
    }

    fn member(&self, role: Role) -> Result<Credentials, Failure> {
        let key = Key::generate()?;
        let identity = Identity::new("grid", "lab", role, &format!("{role}1"))?;
        let request = key.request()?;
        let issued = self
            .authority
            .issue(&request, &identity, clock::wall(), DAY)?;
        let authority = self.authority.pem();
        Ok(Credentials::new(
            &issued.pem,
            &key,
            authority,
            Revocations::default(),
        )?)
    }

    fn bulk(&self, role: Role, store: Option<Store>, rate: Option<u64>) -> Result<Bulk, Failure> {
        let depot = |store| Arc::new(StoreDepot::new(store, Keeping::Durably)) as Arc<dyn Depot>;
        Ok(Bulk::bind(BulkConfig {
            address: ([127, 0, 0, 1], 0).into(),
            credentials: self.member(role)?,
            key: None,
            depot: store.map(depot),
            rate,
            blob_bytes_max: 4 * GIB,
        })?)
    }
}

enum Came {
    Up,
    Down,
    Message(String),
}

/// Two managers with a link.
struct Wires {
    to_peer: Peers<String>,
    come: InputReceiver<Came>,
    /// Kept alive while messages are exchanged.
    _kept: (Links, Links, shell::quic::Kept),
}

impl Wires {
    fn new(group: &Group, root: &Path) -> Result<Wires, Failure> {
        let bind = |role, on_link: Box<dyn Fn(Link) + Send + Sync>| -> Result<Links, Failure> {
            let state = root.join(format!("state-{role}"));
            fs::create_dir_all(&state)?;
            let config = LinkConfig {
                address: ([127, 0, 0, 1], 0).into(),
                credentials: group.member(role)?,
                epoch: LinkEpoch::begin(&state)?,
                resource: None,
                requests: None,
                accepts: vec![Role::Am],
            };
            Ok(Links::bind(config, move |event| match event {
                Event::Up(link) => on_link(link),
                Event::Down { .. } | Event::Failed { .. } | Event::TurnedAway { .. } => {}
            })?)
        };
        let (to_us, ours) = inbox();
        let (to_them, mut theirs) = inbox();
        let (us, them): (Peers<String>, Peers<String>) = (Peers::new(), Peers::new());
        let answering = them.clone();
        std::thread::Builder::new().spawn(move || {
            while let Some(came) = theirs.next_within(DAY) {
                if let Came::Message(text) = came {
                    answering.send(0, &text);
                    answering.wake_receivers();
                }
            }
        })?;
        let gm = bind(Role::Gm, attach(&them, &to_them))?;
        let am = bind(Role::Am, Box::new(|_| {}))?;
        let on_link = attach(&us, &to_us);
        let gm_is = Identity::new("grid", "lab", Role::Gm, "gm1")?;
        let kept = am.keep(&gm.address().to_string(), &gm_is, move |event| {
            if let Event::Up(link) = event {
                on_link(link);
            }
        });
        let mut wires = Wires {
            to_peer: us,
            come: ours,
            _kept: (gm, am, kept),
        };
        while !matches!(wires.come.next_within(DAY), Some(Came::Up)) {}
        Ok(wires)
    }

    /// Round-trip times of messages in milliseconds, sorted.
    fn pings(&mut self, mut goes_on: impl FnMut(usize) -> bool) -> Vec<f64> {
        let text = "x".repeat(200);
        let mut times = Vec::new();
        while goes_on(times.len()) {
            let began = clock::mono();
            self.to_peer.send(0, &text);
            self.to_peer.wake_receivers();
            while !matches!(self.come.next_within(DAY), Some(Came::Message(_))) {}
            times.push(clock::mono().since(began).seconds() * 1e3);
            // Nothing arrives unasked, so this is a pause.
            let _ = self.come.next_within(Span::from_millis(1));
        }
        times.sort_by(f64::total_cmp);
        times
    }

    fn runs(&mut self) -> Result<Pings, Failure> {
        let all: Vec<Vec<f64>> = (0..RUNS)
            .map(|_| self.pings(|n_done| n_done < PINGS))
            .collect();
        Ok(medians(&all))
    }

    /// The same while a GiB flows, repeatedly.
    fn runs_beside(
        &mut self,
        asker: &Bulk,
        giver: &Bulk,
        artifact: Artifact,
        root: &Path,
    ) -> Result<Pings, Failure> {
        let mut all = Vec::new();
        for run in 0..RUNS {
            let dir = root.join(format!("beside-{run}"));
            let times = std::thread::scope(|scope| -> Result<Vec<f64>, Failure> {
                let flowing = scope.spawn(|| fetch(asker, giver, artifact, &dir));
                let times = self.pings(|_| !flowing.is_finished());
                flowing.join().map_err(|_| "the flow ended badly")??;
                Ok(times)
            })?;
            all.push(times);
        }
        Ok(medians(&all))
    }
}

fn attach(peers: &Peers<String>, inbox: &Inbox<Came>) -> Box<dyn Fn(Link) + Send + Sync> {
    let (peers, inbox) = (peers.clone(), inbox.clone());
    Box::new(move |link| {
        let received = Received {
            message: |_, text| Came::Message(text),
            up: |_| Came::Up,
            down: |_| Came::Down,
            lane: shell::in_turn,
        };
        peers.attach(link.open::<String, String>(), &inbox, 0, received);
    })
}

/// Round-trip times in milliseconds.
struct Pings {
    p50: f64,
    p99: f64,
    n_pings: usize,
}

impl fmt::Display for Pings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pings { p50, p99, n_pings } = self;
        write!(f, "p50 {p50:.2}, p99 {p99:.2} ({n_pings} in {RUNS} runs)")
    }
}

/// The median of the runs' medians and of their 99th percentiles.
fn medians(runs: &[Vec<f64>]) -> Pings {
    let of = |part: f64| {
        let mut each: Vec<f64> = runs
            .iter()
            .filter(|times| !times.is_empty())
            .map(|times| times[((times.len() - 1) as f64 * part) as usize])
            .collect();
        each.sort_by(f64::total_cmp);
        each.get(each.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Pings {
        p50: of(0.5),
        p99: of(0.99),
        n_pings: runs.iter().map(Vec::len).sum(),
    }
}

/// CPU time of each thread so far, in seconds.
fn cpu() -> BTreeMap<(String, String), f64> {
    let mut spent = BTreeMap::new();
    let Ok(tasks) = fs::read_dir("/proc/self/task") else {
        return spent;
    };
    for task in tasks.flatten() {
        let path = task.path();
        let name = fs::read_to_string(path.join("comm")).unwrap_or_default();
        let text = fs::read_to_string(path.join("schedstat")).unwrap_or_default();
        let first = text.split(' ').next().unwrap_or_default();
        let nanos: u64 = first.parse().unwrap_or(0);
        let id = task.file_name().to_string_lossy().into_owned();
        spent.insert((name.trim().to_owned(), id), nanos as f64 / 1e9);
    }
    spent
}

fn by_thread(
    before: &BTreeMap<(String, String), f64>,
    after: &BTreeMap<(String, String), f64>,
) -> String {
    let mut all = 0.0;
    let mut parts = Vec::new();
    for (thread, seconds) in after {
        let spent = seconds - before.get(thread).unwrap_or(&0.0);
        all += spent;
        if spent >= 0.01 {
            parts.push(format!("{} {spent:.2}", thread.0));
        }
    }
    format!("{all:.2} s ({})", parts.join(", "))
}

//! Processes that have ended take less memory, and nobody sees a difference.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::SubmitKey;
use wire::client::Submit;

use super::*;
use crate::State;
use crate::process::packed::Packed;
use crate::shelf::{Shelf, Shelved};

/// The most bytes that a process of a few activities takes once it has ended.
const BYTES_MAX: usize = 1_024;

/// Activities of a wide process, and the most bytes that each of them takes once it has ended.
const WIDE: u32 = 100;
const ACTIVITY_BYTES_MAX: usize = 80;

fn state(bench: &Bench, key: SubmitKey) -> &State {
    let stream = Stream::Process(key.process());
    bench.drive.states().get(stream).unwrap()
}

/// The packed process; none where it is not packed, or is unpacked beside.
fn packed(bench: &Bench, key: SubmitKey) -> Option<&Packed> {
    match state(bench, key) {
        State::Packed(packed) => Some(packed.as_ref()).filter(|packed| !packed.is_open()),
        State::Process(_) | State::Held(_) | State::Empty | State::Manager { .. } => None,
    }
}

fn ask_all(bench: &mut Bench, key: SubmitKey) -> [Answer; 3] {
    let id = key.process();
    [
        Request::Status(id),
        Request::Submission(id),
        Request::Why {
            process: id,
            activity: model::ActivityId(1),
        },
    ]
    .map(|request| bench.answer(request))
}

#[test]
fn a_process_that_has_ended_takes_little_memory_and_answers_as_before() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    assert!(packed(&bench, KEY).is_none());
    let (before, listed) = (ask_all(&mut bench, KEY), bench.answer(Request::List));
    let printed = format!("{:?}", state(&bench, KEY));
    bench.pass(6);
    let bytes = packed(&bench, KEY).unwrap().bytes();
    assert!(bytes <= BYTES_MAX, "{bytes} bytes");
    assert_eq!(format!("{:?}", state(&bench, KEY)), printed);
    assert_eq!(bench.answer(Request::List), listed);
    assert!(packed(&bench, KEY).is_some(), "a list reads none");
    assert_eq!(ask_all(&mut bench, KEY), before);
    assert!(packed(&bench, KEY).is_none());
    bench.pass(6);
    assert!(packed(&bench, KEY).is_some());
    // The same after a restart, which reads them all.
    bench.restart();
    bench.pass(6);
    assert!(packed(&bench, KEY).is_some());
    assert_eq!(ask_all(&mut bench, KEY), before);
    assert_eq!(bench.started.len(), 4);
}

fn wide() -> Draft {
    let leaves = (0..WIDE).map(|n| leaf(&format!("a{n}")));
    let children = (1..=WIDE).map(NodeId).collect();
    let links = Vec::new();
    let root = controller(NodeKind::Parallel { children, links });
    draft(std::iter::once(root).chain(leaves).collect())
}

#[test]
fn alike_activities_of_a_process_that_has_ended_take_little_memory() {
    let mut bench = Bench::new(well);
    bench.submit(wide());
    let before = ask_all(&mut bench, KEY);
    bench.pass(6);
    let bytes = packed(&bench, KEY).unwrap().bytes();
    let each = bytes / WIDE as usize;
    assert!(each <= ACTIVITY_BYTES_MAX, "{each} bytes an activity");
    assert_eq!(ask_all(&mut bench, KEY), before);
}

#[test]
fn a_process_whose_outcomes_another_looks_up_stays_as_it_is() {
    let mut bench = Bench::new(well);
    bench.submit(diamond());
    bench.pass(6);
    assert!(packed(&bench, KEY).is_some());
    let mut ends_late = Bench::of(crate::Config::default(), |dispatch| {
        let is_first = dispatch.attempt.process == KEY.process();
        is_first.then(|| well(dispatch)).flatten()
    });
    ends_late.submit(diamond());
    let next = SubmitKey(78);
    let mut other = diamond();
    edit(&mut other.nodes[1], |a| {
        a.command = Command::List(vec![Template("other".into())]);
    });
    ends_late.submit_as(Submit {
        base: Some(KEY.process()),
        ..submission(next, other)
    });
    ends_late.pass(20);
    let now = ends_late.status_of(next);
    assert_eq!(now.summary.phase, Phase::Running, "{now:?}");
    assert!(matches!(state(&ends_late, KEY), State::Process(_)));
}

#[test]
fn a_process_that_runs_is_never_packed() {
    let mut bench = Bench::new(|_| None);
    bench.submit(diamond());
    bench.pass(20);
    bench.answer(Request::List);
    bench.pass(20);
    assert!(matches!(state(&bench, KEY), State::Process(_)));
}

#[test]
fn many_that_have_ended_are_packed_in_steps_of_bounded_work() {
    let mut bench = Bench::new(well);
    let n_nodes = diamond().nodes.len();
    let n_processes = 3 * limits::PACKED_A_STEP / n_nodes;
    let keys = || (0..n_processes as u64).map(|n| SubmitKey(n + 1_000));
    for key in keys() {
        bench.submit_as(submission(key, diamond()));
    }
    bench.pass(6);
    assert!(keys().all(|key| packed(&bench, key).is_some()));
}

/// A shelf that counts what lies on it.
#[derive(Debug, Default)]
struct Counted(Arc<AtomicUsize>);

struct Bytes(Box<[u8]>, Arc<AtomicUsize>);

impl Shelf for Counted {
    fn put(&self, bytes: &[u8]) -> Option<Box<dyn Shelved>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(Box::new(Bytes(bytes.into(), Arc::clone(&self.0))))
    }
}

impl Shelved for Bytes {
    fn read(&self) -> Vec<u8> {
        self.0.to_vec()
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Ordering::Relaxed);
    }
}

#[test]
fn what_lies_on_a_shelf_answers_as_before_and_is_gone_with_its_process() {
    let n_shelved = Arc::<AtomicUsize>::default();
    let mut bench = Bench::new(well);
    bench.shelf = Some(Arc::new(Counted(Arc::clone(&n_shelved))));
    bench.restart();
    bench.submit(wide());
    let before = ask_all(&mut bench, KEY);
    let printed = format!("{:?}", state(&bench, KEY));
    assert_eq!(n_shelved.load(Ordering::Relaxed), 0);
    bench.pass(6);
    assert_eq!(n_shelved.load(Ordering::Relaxed), 1);
    let bytes = packed(&bench, KEY).unwrap().bytes();
    assert!(
        bytes <= BYTES_MAX,
        "{bytes} bytes of a process of {WIDE} activities"
    );
    assert_eq!(format!("{:?}", state(&bench, KEY)), printed);
    assert_eq!(ask_all(&mut bench, KEY), before);
    // The process that readers had unpacked goes, and its bytes on the shelf stay.
    bench.pass(6);
    assert!(packed(&bench, KEY).is_some());
    assert_eq!(n_shelved.load(Ordering::Relaxed), 1);
    bench.answer(Request::Forget(KEY.process()));
    assert_eq!(n_shelved.load(Ordering::Relaxed), 0);
}

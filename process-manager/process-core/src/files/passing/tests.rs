use model::{ActivityId, DataMode, Draft, NodeId, NodeKind, ResourceId, Source, Span};
use wire::attempt::{Copied, Dispatch};

use super::super::tests::{artifact, asked, maker_and_reader, offer};
use super::PATIENCE;
use crate::Config;
use crate::files::Files;
use crate::machines::Machines;
use crate::machines::tests::reachable;
use crate::tests::bench::{controller, draft, ids};
use crate::tests::paper::{Bench, ID, attempt};

const M0: ResourceId = ResourceId::local(0);
const M1: ResourceId = ResourceId::local(1);
const M2: ResourceId = ResourceId::local(2);
const MAKER: ActivityId = ActivityId(2);
const READER: ActivityId = ActivityId(4);

//   s0 ( s1 ( a2 ) s3 ( a4 ) )      a4 reads what a2 has made; s0 and s1 lie beside a2, s3 beside a4
fn pair() -> Draft {
    let (maker, reader) = maker_and_reader(Source::Output {
        activity: MAKER.node(),
        output: 0,
    });
    Draft {
        data: DataMode::Controllers,
        ..draft(vec![
            controller(NodeKind::Sequence(ids(&[1, 3]))),
            controller(NodeKind::Sequence(ids(&[2]))),
            maker,
            controller(NodeKind::Sequence(ids(&[4]))),
            reader,
        ])
    }
}

/// `a` has completed on the first of three machines, and `b` is planned on the last.
fn made(bench: &mut Bench) -> (Files, Machines) {
    bench.found(pair());
    bench.plan(&[(MAKER.0, M0), (READER.0, M2)]);
    bench.complete(MAKER.0, M0, vec![artifact()]);
    let mut files = Files::default();
    files.begin(bench.process(), true);
    files.learn(&offer("1"));
    let machines = reachable(bench, &[M0, M1, M2]);
    (files, machines)
}

fn copied() -> Copied {
    Copied {
        process: ID,
        activity: MAKER,
        artifacts: vec![artifact()],
    }
}

fn sources(bench: &mut Bench, files: &Files, machines: &Machines, at: ResourceId) -> Vec<u32> {
    let mut message = Dispatch::new(attempt(READER.0, 1), vec!["b".to_owned()]);
    let step = bench.step();
    let process = step.cx.process(ID).unwrap();
    assert!(files.name_sources(&step, machines, process, at, &mut message));
    let sources = message.sources.into_iter().flat_map(|one| one.holders);
    sources.map(|one| one.number).collect()
}

#[test]
fn a_reader_waits_until_its_controller_has_its_files_and_fetches_them_there() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench);
    files.pass_on(&mut bench.step(), &machines, ID);
    // The maker lies on the machine of its controller. So the recorded copy goes to the next machine in
    // use, which is that of the reader's controller: it is asked once.
    assert_eq!(asked(&mut bench), [(M2, vec![M0])]);
    assert!(files.awaits_controller(bench.process(), READER));
    assert_eq!(
        files.awaited(&machines, bench.process(), READER),
        [(MAKER, M2)]
    );
    files.on_copied(&mut bench.step(), &machines, M2, vec![copied()]);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert!(!files.awaits_controller(bench.process(), READER));
    assert!(!files.is_copying());
    assert_eq!(asked(&mut bench), []);
    assert_eq!(bench.process().copy_of(MAKER), Some(M2));
    // Wherever it runs, the machine of its controller is named first.
    assert_eq!(sources(&mut bench, &files, &machines, M1), [2, 0]);
}

#[test]
fn a_copy_of_something_else_lets_nobody_go() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench);
    files.on_copied(&mut bench.step(), &machines, M1, vec![copied()]);
    files.pass_on(&mut bench.step(), &machines, ID);
    let mut other = copied();
    other.artifacts[0].hash.0[0] ^= 1;
    // Nor does one of an activity that the process does not have.
    let unknown = Copied {
        activity: ActivityId(u32::MAX),
        ..copied()
    };
    files.on_copied(&mut bench.step(), &machines, M2, vec![other, unknown]);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert!(files.awaits_controller(bench.process(), READER));
}

#[test]
fn a_lost_machine_is_replaced_as_the_place_of_a_controller() {
    let mut bench = Bench::new(Config::default());
    let (mut files, mut machines) = made(&mut bench);
    files.on_copied(&mut bench.step(), &machines, M1, vec![copied()]);
    files.pass_on(&mut bench.step(), &machines, ID);
    files.on_copied(&mut bench.step(), &machines, M2, vec![copied()]);
    files.pass_on(&mut bench.step(), &machines, ID);
    asked(&mut bench);
    machines.down(&mut bench.step(), M2);
    files.lose(&mut bench.step(), &machines, M2);
    assert!(files.awaits_controller(bench.process(), READER));
    // Its place is taken by the next machine, which has the files.
    files.pass_on(&mut bench.step(), &machines, ID);
    assert!(!files.awaits_controller(bench.process(), READER));
    assert_eq!(sources(&mut bench, &files, &machines, M1), [0]);
    // Where the maker's machine is lost too, the copy is all there is.
    machines.down(&mut bench.step(), M0);
    files.lose(&mut bench.step(), &machines, M0);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert!(!files.awaits_controller(bench.process(), READER));
}

#[test]
fn nobody_waits_for_ever() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench);
    files.on_copied(&mut bench.step(), &machines, M1, vec![copied()]);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert_eq!(asked(&mut bench), [(M2, vec![M0, M1])]);
    for _ in 1..PATIENCE.0 / 1_000_000 {
        bench.pass(Span::from_secs(1));
        files.repeat_copies(&mut bench.step(), &machines, ID);
        files.pass_on(&mut bench.step(), &machines, ID);
        assert_eq!(asked(&mut bench), [(M2, vec![M0, M1])]);
        assert!(files.awaits_controller(bench.process(), READER));
    }
    bench.pass(Span::from_secs(1));
    files.repeat_copies(&mut bench.step(), &machines, ID);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert_eq!(asked(&mut bench), []);
    assert!(!files.awaits_controller(bench.process(), READER));
    assert!(!files.is_copying());
}

#[test]
fn in_a_shared_store_nothing_is_waited_for() {
    let mut bench = Bench::new(Config::default());
    let (_, machines) = made(&mut bench);
    let mut files = Files::default();
    files.begin(bench.process(), true);
    let mut shared = offer("1");
    shared.resources.iter_mut().for_each(|one| one.bulk = None);
    files.learn(&shared);
    files.pass_on(&mut bench.step(), &machines, ID);
    assert!(!files.awaits_controller(bench.process(), READER));
    assert_eq!(asked(&mut bench), []);
    let nodes = bench.process().controllers_between(MAKER, READER);
    assert_eq!(nodes, [NodeId(1), NodeId(0), NodeId(3)]);
}

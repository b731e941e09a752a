//! Files by themselves: copies, losses, checks, lacking inputs.

use model::{
    ActivityId, Artifact, ArtifactKind, Bytes, Draft, Epoch, Hash, Node, NodeId, NodeKind, Output,
    OutputSource, Produced, ResourceId, Source, Staged,
};
use wire::attempt::{Checked, Copied, Dispatch, End, ToActivity};
use wire::group::{Offer, Offered};

use super::{Files, Finding};
use crate::Config;
use crate::limits;
use crate::machines::Machines;
use crate::machines::tests::reachable;
use crate::record::Event;
use crate::tests::bench::{controller, draft, edit, ids, leaf};
use crate::tests::paper::{Bench, ID, attempt, outcome};

const MAKER: ResourceId = ResourceId::local(0);
const COPY: ResourceId = ResourceId::local(1);
const THIRD: ResourceId = ResourceId::local(2);
const A: ActivityId = ActivityId(1);

pub(super) fn artifact() -> Artifact {
    Artifact {
        hash: Hash([1; 32]),
        bytes: Bytes(1),
        kind: ArtifactKind::File,
    }
}

/// `a`, which makes a file, and `b`, which reads it as this source.
pub(super) fn maker_and_reader(source: Source) -> (Node, Node) {
    let (mut maker, mut reader) = (leaf("a"), leaf("b"));
    edit(&mut maker, |activity| {
        activity.outputs = vec![Produced {
            name: "out".to_owned(),
            path: "out".to_owned(),
        }];
    });
    edit(&mut reader, |activity| {
        activity.inputs = vec![Staged {
            path: "in".to_owned(),
            source,
            gathers: false,
            carried: None,
        }];
    });
    (maker, reader)
}

/// s(a b): `a` makes a file of which a copy is wanted, `b` reads it, and the process gives it back.
fn pair() -> Draft {
    let source = Source::Output {
        activity: NodeId(1),
        output: 0,
    };
    let (maker, reader) = maker_and_reader(source);
    Draft {
        copies: 1,
        outputs: vec![Output {
            name: "out".to_owned(),
            source: OutputSource::Produced(source),
        }],
        ..draft(vec![
            controller(NodeKind::Sequence(ids(&[1, 2]))),
            maker,
            reader,
        ])
    }
}

pub(super) fn offer(address: &str) -> Offer {
    let resources = [MAKER, COPY, THIRD].map(|resource| Offered {
        resource,
        name: format!("m{resource}"),
        power: 1.0,
        slots: 1,
        free: 1,
        memory: Bytes(1),
        labels: Default::default(),
        bulk: Some(format!("{resource}:{address}")),
        yours: 0,
        shown: None,
    });
    Offer {
        epoch: Epoch(1),
        resources: resources.into(),
        leaving: Vec::new(),
        unavailable: Vec::new(),
        is_shared: false,
        n_revoked: 0,
        owners: None,
        takes_shown: false,
        policy: None,
        tuning: None,
    }
}

/// `a` has completed on the first of three machines.
fn made(bench: &mut Bench, is_new: bool) -> (Files, Machines) {
    bench.found(pair());
    bench.plan(&[(1, MAKER), (2, MAKER)]);
    bench.complete(1, MAKER, vec![artifact()]);
    let mut files = Files::default();
    files.begin(bench.process(), is_new);
    files.learn(&offer("1"));
    let machines = reachable(bench, &[MAKER, COPY, THIRD]);
    (files, machines)
}

fn copied() -> Copied {
    Copied {
        process: ID,
        activity: A,
        artifacts: vec![artifact()],
    }
}

/// The machines that were asked for a copy, with those that it is to be fetched from.
pub(super) fn asked(bench: &mut Bench) -> Vec<(ResourceId, Vec<ResourceId>)> {
    let sent = bench.take_to_machines().into_iter();
    let asked = sent.flat_map(|(resource, message)| {
        let ToActivity::Copy { copies, .. } = message else {
            return Vec::new();
        };
        let copies = copies.into_iter().map(|copy| (resource, copy.holders));
        copies.collect()
    });
    asked.collect()
}

#[test]
fn a_copy_is_asked_for_until_it_is_recorded() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench, true);
    files.ask_for_copies(&mut bench.step(), &machines, ID);
    assert_eq!(asked(&mut bench), [(COPY, vec![MAKER])]);
    files.repeat_copies(&mut bench.step(), &machines, ID);
    assert_eq!(asked(&mut bench), [(COPY, vec![MAKER])]);
    assert_eq!(files.kept_at(COPY), [ID]);
    let step = &mut bench.step();
    assert_eq!(files.on_copied(step, &machines, COPY, vec![copied()]), []);
    assert_eq!(bench.process().copy_of(A), Some(COPY));
    files.repeat_copies(&mut bench.step(), &machines, ID);
    assert_eq!(asked(&mut bench), []);
    assert!(!files.is_copying());
    files.end(ID);
    assert_eq!(files.kept_at(COPY), []);
}

#[test]
fn the_loss_of_one_of_two_machines_asks_a_third_one_for_a_copy() {
    let mut bench = Bench::new(Config::default());
    let (mut files, mut machines) = made(&mut bench, true);
    files.on_copied(&mut bench.step(), &machines, COPY, vec![copied()]);
    machines.down(&mut bench.step(), MAKER);
    assert_eq!(files.lose(&mut bench.step(), &machines, MAKER), [ID]);
    assert_eq!(asked(&mut bench), [(THIRD, vec![COPY])]);
    assert_eq!(files.lose(&mut bench.step(), &machines, MAKER), []);
}

#[test]
fn a_machine_that_comes_back_with_an_empty_disk_has_lost_its_files() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench, true);
    files.on_copied(&mut bench.step(), &machines, COPY, vec![copied()]);
    let found = |bench: &mut Bench, files: &mut Files, epoch| {
        files.found(&mut bench.step(), &machines, MAKER, Epoch(epoch))
    };
    assert_eq!(found(&mut bench, &mut files, 3), []);
    assert_eq!(found(&mut bench, &mut files, 4), []);
    assert_eq!(found(&mut bench, &mut files, 1), [ID]);
    assert_eq!(asked(&mut bench), [(MAKER, vec![COPY])]);
}

#[test]
fn a_process_of_an_earlier_epoch_does_not_end_before_its_outputs_are_known_to_be_sound() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench, false);
    assert!(files.awaits_outputs(bench.process()));
    assert!(
        files
            .ask_checks(&mut bench.step(), &machines, ID)
            .is_empty()
    );
    let sent = bench.take_to_machines();
    assert!(matches!(&sent[..], [(MAKER, ToActivity::Check { .. })]));
    let checked = |is_sound| Checked {
        copied: copied(),
        is_sound,
    };
    let step = &mut bench.step();
    assert!(
        !files.on_checked(step, MAKER, checked(false)),
        "no cache hit"
    );
    assert!(
        !files.on_checked(step, MAKER, checked(true)),
        "a late answer"
    );
    let lost = Event::FilesLost(vec![A], MAKER);
    assert_eq!(
        bench.paper.events.last().map(|(_, event)| event),
        Some(&lost)
    );
    assert!(files.awaits_outputs(bench.process()), "it is made again");
}

#[test]
fn a_cache_hit_is_looked_up_again_once_its_files_are_known_to_be_sound() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench, true);
    let activity = ActivityId(2);
    let finding = |files: &mut Files| files.finding(ID, activity, &[artifact()], &[COPY]);
    assert_eq!(finding(&mut files), Finding::Asked);
    assert!(files.holds_back(ID, activity) && files.checks_recalled(ID));
    assert!(
        files
            .ask_checks(&mut bench.step(), &machines, ID)
            .is_empty()
    );
    let checked = Checked {
        copied: Copied {
            activity,
            ..copied()
        },
        is_sound: true,
    };
    assert!(files.on_checked(&mut bench.step(), COPY, checked));
    assert_eq!(finding(&mut files), Finding::Sound);
    assert!(!files.holds_back(ID, activity) && !files.checks_recalled(ID));
}

#[test]
fn the_check_of_a_cache_hit_is_given_up_where_no_machine_answers() {
    let mut bench = Bench::new(Config::default());
    let (mut files, _) = made(&mut bench, true);
    let nobody = Machines::default();
    let activity = ActivityId(2);
    files.finding(ID, activity, &[artifact()], &[COPY]);
    let give_up =
        |bench: &mut Bench, files: &mut Files| files.ask_checks(&mut bench.step(), &nobody, ID);
    for _ in 0..10 {
        assert_eq!(give_up(&mut bench, &mut files), []);
        bench.pass(limits::REPEAT);
    }
    assert_eq!(give_up(&mut bench, &mut files), [activity]);
}

#[test]
fn a_lacking_input_is_gone_unless_one_of_its_machines_has_returned() {
    let mut bench = Bench::new(Config::default());
    let (mut files, machines) = made(&mut bench, true);
    let lacking = |bench: &mut Bench, files: &Files, told| {
        let mut lacking = outcome(attempt(2, 1), End::Lacking(vec![0]));
        files.keep_lacking(&bench.step(), &machines, &mut lacking, told);
        lacking.end
    };
    let told = files.moment();
    let gone = End::Lacking(vec![0]);
    let not_gone = End::Lacking(Vec::new());
    assert_eq!(lacking(&mut bench, &files, told), gone);
    assert_eq!(lacking(&mut bench, &files, None), not_gone);
    // Its machine has another address.
    files.learn(&offer("2"));
    assert_eq!(lacking(&mut bench, &files, told), not_gone);
    let told = files.moment();
    assert_eq!(lacking(&mut bench, &files, told), gone);
    files.on_copied(&mut bench.step(), &machines, COPY, vec![copied()]);
    assert_eq!(lacking(&mut bench, &files, told), not_gone);
}

/// After a restart of its process manager a machine may be connected before its group offers it.
#[test]
fn a_lacking_input_is_not_gone_while_a_machine_that_has_it_is_not_offered() {
    let lease = Some(wire::lease::LENGTH);
    let mut bench = Bench::new(Config {
        lease,
        ..Config::default()
    });
    let (mut files, mut machines) = made(&mut bench, true);
    machines.begin(&mut bench.step(), lease);
    files.on_copied(&mut bench.step(), &machines, COPY, vec![copied()]);
    // Another epoch, to which the machine that has made the file was not offered yet.
    let mut files = Files::default();
    files.begin(bench.process(), false);
    let mut without_maker = offer("1");
    without_maker.resources.retain(|one| one.resource != MAKER);
    files.learn(&without_maker);
    let named = |bench: &mut Bench, files: &Files, number| {
        let mut message = Dispatch::new(attempt(2, number), vec!["b".to_owned()]);
        let step = bench.step();
        let process = step.cx.process(ID).unwrap();
        let is_named = files.name_sources(&step, &machines, process, THIRD, &mut message);
        let sources = message.sources.into_iter().flat_map(|one| one.holders);
        is_named.then(|| sources.collect::<Vec<ResourceId>>())
    };
    let lacks = |bench: &mut Bench, files: &Files, told| {
        let mut lacking = outcome(attempt(2, 1), End::Lacking(vec![0]));
        files.keep_lacking(&bench.step(), &machines, &mut lacking, told);
        lacking.end == End::Lacking(vec![0])
    };
    assert_eq!(named(&mut bench, &files, 1), Some(vec![COPY]));
    let told = files.moment();
    assert!(!lacks(&mut bench, &files, told));
    // The next attempt waits for the offer.
    assert_eq!(named(&mut bench, &files, 2), None);
    files.learn(&offer("1"));
    assert!(!lacks(&mut bench, &files, told));
    assert_eq!(named(&mut bench, &files, 2), Some(vec![MAKER, COPY]));
    let told = files.moment();
    assert!(lacks(&mut bench, &files, told));
}

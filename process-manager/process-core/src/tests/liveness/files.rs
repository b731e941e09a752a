//! Files of machines that are silent or away.

use model::{Draft, ResourceId};
use wire::client::Submit;

use super::stage::*;
use crate::Input;
use crate::record::Verdict;
use crate::tests::bench::{KEY, artifact, draft, leaf, submission};

/// Both machines, each with one of two activities that are given a file, which is on machine 0.
fn given_a_file() -> Stage {
    Stage::of(with_a_file(two(|_| {})))
}

fn with_a_file(draft: Draft) -> Submit {
    let draft = Draft {
        files: vec!["x.sh".into()],
        ..draft
    };
    Submit {
        files: vec![artifact()],
        store: Some(ResourceId::local(0)),
        ..submission(KEY, draft)
    }
}

#[test]
fn nothing_is_sent_before_it_is_known_where_its_files_are() {
    // The group has started again as well, and does not know machine 0 yet.
    let one = || with_a_file(draft(vec![leaf("a")]));
    let mut stage = Stage::offering(vec![1], one());
    assert_eq!(stage.wait(5_000), [""; 0]);
    stage.machines = vec![0, 1];
    stage.offer();
    assert_eq!(stage.wait(2_000), ["r1 send a0#1"]);
    // A machine that has not connected for so long is not waited for.
    let mut stage = Stage::offering(vec![1], one());
    assert_eq!(stage.wait(10_000), [""; 0]);
    assert_eq!(stage.wait(2_000), ["r1 send a0#1"]);
}

#[test]
fn what_a_silent_machine_has_is_not_gone_before_the_machine_is_lost() {
    let mut stage = given_a_file();
    stage.is_silent = true;
    stage.wait(5_000);
    stage.lacks(1, 2, 1);
    assert_eq!(stage.verdicts, [Verdict::Lacking(Vec::new())]);
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
    stage.wait(6_000);
    stage.verdicts.clear();
    stage.lacks(1, 2, 2);
    let [Verdict::Faulted(fault)] = stage.verdicts.as_slice() else {
        panic!("{:?}", stage.verdicts)
    };
    assert_eq!(fault.name, model::FaultName::Staging);
}

#[test]
fn a_machine_that_was_away_while_it_was_asked_for_a_file_is_asked_again() {
    let mut stage = given_a_file();
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    stage.verdicts.clear();
    stage.lacks(1, 2, 1);
    assert_eq!(stage.verdicts, [Verdict::Lacking(Vec::new())]);
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
    stage.verdicts.clear();
    stage.lacks(1, 2, 2);
    assert!(matches!(stage.verdicts[..], [Verdict::Faulted(_)]));
}

#[test]
fn what_is_lacked_may_be_the_answer_to_the_first_of_several_messages() {
    let mut stage = Stage::offering(Vec::new(), with_a_file(two(|_| {})));
    stage.accepts = false;
    stage.machines = vec![0, 1];
    stage.offer();
    assert!(stage.said().contains(&"r1 send a2#1".to_owned()));
    // Machine 0 was away when it was asked, and is there when the message is repeated.
    stage.give(Input::ActivityDown(ResourceId::local(0)));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    assert!(stage.wait(1_500).contains(&"r1 send a2#1".to_owned()));
    stage.lacks(1, 2, 1);
    assert!(stage.verdicts.contains(&Verdict::Lacking(Vec::new())));
    assert!(stage.said().contains(&"r1 send a2#2".to_owned()));
}

#[test]
fn files_of_a_machine_that_is_there_are_not_gone_while_its_group_cannot_name_it() {
    // The group was cut off since the start; machine 0 is connected all the same.
    let mut stage = Stage::offering(vec![1], with_a_file(draft(vec![leaf("a")])));
    stage.give(Input::ActivityUp(ResourceId::local(0)));
    assert_eq!(stage.wait(20_000), ["r1 send a0#1"]);
    stage.verdicts.clear();
    stage.lacks(1, 0, 1);
    assert_eq!(stage.verdicts, [Verdict::Lacking(Vec::new())]);
    assert_eq!(stage.said(), ["r1 acknowledge a0#1"]);
    assert_eq!(stage.wait(10_000), [""; 0]);
    // A group that stays away for so long is not waited for.
    assert_eq!(stage.wait(40_000), ["r1 send a0#2"]);
}

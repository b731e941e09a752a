//! Overdue tasks that are stopped and start again elsewhere.

use super::*;

/// The engine of [`chain`] when its first task, expected for 10 s, has run for 40: it is believed to
/// run for 30 more, and would take 20 on the other machine. It asks.
fn overdue(setting: &Arc<Setting>) -> (Rounds, Question) {
    let mut rounds = Rounds::new(setting.clone(), restarting()).unwrap();
    rounds.step(0.0, Observation::Begin);
    let mut commands = rounds.step(0.0, Observation::Started(0));
    // At 20 s it may run on for as long as it takes on the best machine.
    for now in [11.0, 20.0] {
        assert!(commands.contains(&Command::WakeAt(now)), "{commands:?}");
        commands = rounds.step(now, Observation::Due);
        if let Some(question) = question(&commands) {
            let answer = question.answer(setting);
            let planned = rounds.step(now, Observation::Planned(answer));
            let stops = |command: &Command| matches!(command, Command::Stop { .. });
            assert!(!planned.iter().any(stops), "{planned:?}");
        }
    }
    assert!(commands.contains(&Command::WakeAt(40.0)), "{commands:?}");
    let commands = rounds.step(40.0, Observation::Due);
    let question = question(&commands).unwrap().clone();
    (rounds, question)
}

/// The same once the answer is there.
fn at_a_restart() -> (Rounds, Vec<Command>) {
    let setting = chain();
    let (mut rounds, question) = overdue(&setting);
    let answer = question.answer(&setting);
    assert_eq!(answer.after, 100.0);
    let commands = rounds.step(40.0, Observation::Planned(answer));
    (rounds, commands)
}

#[test]
fn nothing_is_stopped_where_the_process_is_hardly_later_for_it() {
    let setting = chain();
    let (_, mut question) = overdue(&setting);
    let stops = |question: &Question| {
        let answer = question.answer(&setting);
        let mut tasks = answer.clusters.iter().flat_map(|cluster| &cluster.tasks);
        tasks.any(|&task| task == 0)
    };
    assert!(stops(&question));
    question.restarts.as_mut().unwrap().later_least = 2.0;
    assert!(!stops(&question));
}

#[test]
fn an_overdue_task_is_stopped_where_it_would_end_sooner_elsewhere() {
    let (mut rounds, commands) = at_a_restart();
    let (host, tasks) = (0, vec![0]);
    assert_eq!(commands, [Command::Stop { host, tasks }]);
    let commands = rounds.step(41.0, Observation::Stopped(0));
    let sent = commands.iter().find_map(|command| match command {
        Command::Send { host, tasks, .. } => Some((*host, tasks.clone())),
        Command::SendAhead { .. }
        | Command::Retract { .. }
        | Command::Stop { .. }
        | Command::Judged(_)
        | Command::Plan(_)
        | Command::Replanned { .. }
        | Command::WakeAt(_) => None,
    });
    assert_eq!(sent, Some((1, vec![0])), "{commands:?}");
    assert_eq!(rounds.progress().phase[0], Phase::Waiting);
    rounds.step(41.0, Observation::Started(0));
    rounds.step(61.0, Observation::Finished(0));
    assert_eq!(rounds.progress().host[0], 1);
}

#[test]
fn a_task_that_ends_before_it_is_stopped_has_ended() {
    let (mut rounds, _) = at_a_restart();
    rounds.step(41.0, Observation::Finished(0));
    let before = rounds.progress().clone();
    assert_eq!(before.phase[0], Phase::Ended(41.0));
    assert_eq!(before.host[0], 0);
    assert_eq!(rounds.step(41.0, Observation::Stopped(0)), []);
    assert_eq!(rounds.progress(), &before);
}

//! The golden journals of the group manager and of the activity manager, replayed by their cores, which then end
//! what was open.

use std::path::Path;

use activity_core::ActivityManager;
use group_core::GroupManager;
use machine::{Drive, Machine};
use model::{Bytes, Epoch, Now, ProcessId};
use wire::attempt::{End, FromActivity, ToActivity};
use wire::executor::{ExecutorHello, FromExecutor, PROTOCOL, ToExecutor};
use wire::group::{FromGroup, ToGroup};

use super::{copied, releases};

/// The process manager of a run.
const PROCESS_MANAGER: u32 = 0;

/// A manager that goes on with a golden journal.
fn replayed<M: Machine>(journal: &Path, machine: M) -> Drive<M> {
    let histories = shell::read_only::<M>(journal).unwrap();
    assert!(!histories.is_empty(), "{}", journal.display());
    Drive::start(machine, histories, Now::default())
}

/// The effects of an input, whose events count as durable.
fn fed<M: Machine>(drive: &mut Drive<M>, input: M::Input) -> Vec<M::Effect> {
    drive.step(Now::default(), input);
    let batch = drive.close();
    drive.flushed(batch.number)
}

#[test]
fn the_group_manager_of_each_release_gives_the_slots_back_that_were_held() {
    for (release, golden) in releases() {
        let sandbox = copied(&golden);
        let manager = GroupManager::new(group_core::Config::default());
        let mut drive = replayed(&sandbox.path("state/gm/journal"), manager);
        let held = |drive: &Drive<GroupManager>| -> Vec<(ProcessId, u32)> {
            let state = drive.states().get(group_core::Stream::Manager).unwrap();
            let slots = |holding: &group_core::record::Holding| {
                holding.grants.iter().map(|grant| grant.slots).sum()
            };
            let holdings = state.holdings();
            holdings
                .map(|(process, one)| (process, slots(one)))
                .collect()
        };
        let before = held(&drive);
        let &[(process, 2)] = before.as_slice() else {
            panic!("{release}: one process holds two slots, not {before:?}");
        };
        let state = drive.states().get(group_core::Stream::Manager).unwrap();
        let resource = state.resource("golden").expect("its machine is known");
        assert_eq!(state.held(resource), 2, "{release}");
        assert_eq!(state.epoch(), Epoch(3), "{release}");
        let input = group_core::Input::Process(PROCESS_MANAGER, ToGroup::Release(process));
        let answer = FromGroup::Released(process);
        let effects = fed(&mut drive, input);
        assert!(
            effects.contains(&group_core::Effect::ToProcess(PROCESS_MANAGER, answer)),
            "{release}: {effects:?}"
        );
        assert_eq!(held(&drive), [], "{release}");
    }
}

/// The settings of the machine of a run.
pub(super) fn machine() -> activity_core::Config {
    activity_core::Config {
        name: "golden".to_owned(),
        slots: 2,
        memory: Bytes::ZERO,
        power: 1.0,
        labels: Default::default(),
        bulk: None,
        environment: Vec::new(),
        of_users: Default::default(),
        environments: String::new(),
        nice: None,
        prefetch: 0,
        linger: None,
        kill_grace: None,
        lease: None,
        beat: None,
        pace_since: None,
        asks_executor: false,
        outcomes_kept: None,
        has_forgotten: false,
    }
}

#[test]
fn the_activity_manager_of_each_release_tells_what_nobody_has_acknowledged_until_somebody_does() {
    for (release, golden) in releases() {
        let sandbox = copied(&golden);
        let manager = ActivityManager::new(machine());
        let mut drive = replayed(&sandbox.path("state/am/journal"), manager);
        let state = drive.states().get(activity_core::Stream::Manager).unwrap();
        let starting: Vec<_> = state.starting.iter().collect();
        let &[(&attempt, &PROCESS_MANAGER)] = starting.as_slice() else {
            panic!("{release}: {starting:?}");
        };
        let hello = FromExecutor::Hello(ExecutorHello {
            protocol: PROTOCOL,
            pid: 1,
            instance: 1,
            containment: None,
        });
        // An executor that has nothing: what became of the attempt will never be known.
        fed(&mut drive, activity_core::Input::Executor(hello));
        fed(
            &mut drive,
            activity_core::Input::Executor(FromExecutor::HeldEnd),
        );
        let from_manager = |message| activity_core::Input::Process(PROCESS_MANAGER, message);
        let attach = ToActivity::Attach {
            epoch: Epoch(2),
            ask: 1,
            lease: None,
        };
        let effects = fed(&mut drive, from_manager(attach));
        let is_told = effects.iter().any(|effect| {
            let activity_core::Effect::ToProcess(_, FromActivity::Outcomes(outcomes)) = effect
            else {
                return false;
            };
            let mut outcomes = outcomes.iter();
            outcomes.any(|one| one.attempt == attempt && one.end == End::Lost)
        });
        assert!(is_told, "{release}: {effects:?}");
        let effects = fed(
            &mut drive,
            from_manager(ToActivity::Acknowledge(vec![attempt])),
        );
        let forget = ToExecutor::Forget(vec![attempt]);
        assert!(
            effects.contains(&activity_core::Effect::Execute(forget)),
            "{release}: {effects:?}"
        );
        let state = drive.states().get(activity_core::Stream::Manager).unwrap();
        assert!(state.starting.is_empty(), "{release}: {state:?}");
        assert_eq!(drive.machine().n_attempts(), 0, "{release}");
    }
}

//! A fixed number of seeds of each profile, for every run of the tests.

use sim::reach::Reach;
use sim::run_seed;
use simulator::Setup;

/// Seeds of each profile: about a minute of two cores in all, and some seconds where nothing is
/// optimised. `cargo sim --seeds 0..5000` runs more.
const SEEDS: u64 = if cfg!(debug_assertions) {
    REACHING
} else {
    1_000
};
/// The first seeds, in which each rule must judge something that could break it, but where
/// [`sim::reach::UNREACHABLE`] says why it cannot.
const REACHING: u64 = 400;
/// Steps remembered of a seed that breaks a rule.
const STEPS_SHOWN: usize = 20;

fn hold(profile: &str) {
    let setup = Setup::named(profile).expect("the profile is one of ours");
    let mut reach = Reach::default();
    for seed in 0..SEEDS {
        if let Ok(passed) = run_seed(seed, &setup, 0) {
            if seed < REACHING {
                reach.add(profile, &passed);
            }
            continue;
        }
        let Err(failed) = run_seed(seed, &setup, STEPS_SHOWN) else {
            panic!("seed {seed} of {profile} broke a rule once, and not the second time");
        };
        panic!("{}", failed.screen(seed, profile));
    }
    let unexpected = reach.unexpected(profile);
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn all_rules_hold_where_nothing_goes_wrong() {
    hold("calm");
}

#[test]
fn all_rules_hold_where_messages_are_lost_doubled_and_late() {
    hold("lossy");
}

#[test]
fn all_rules_hold_where_managers_and_executors_die() {
    hold("crashes");
}

#[test]
fn all_rules_hold_where_everything_goes_wrong_at_once() {
    hold("hard");
}

#[test]
fn all_rules_hold_where_machines_are_silent_and_daemons_frozen() {
    hold("leases");
}

#[test]
fn all_rules_hold_where_everything_goes_wrong_under_leases() {
    hold("harsh");
}

#[test]
fn all_rules_hold_where_each_epoch_has_leases_of_another_length() {
    hold("lengths");
}

#[test]
fn all_rules_hold_where_files_are_lost_of_which_there_are_copies() {
    hold("copies");
}

#[test]
fn all_rules_hold_where_a_process_manager_is_lost_for_good() {
    hold("lost");
}

#[test]
fn all_rules_hold_where_machines_stay_away_until_they_are_forgotten() {
    hold("forgotten");
}

#[test]
fn all_rules_hold_where_many_processes_wait_for_each_other() {
    hold("crowded");
}

#[test]
fn all_rules_hold_where_parts_of_processes_run_for_each_of_some_items() {
    hold("each");
}

#[test]
fn all_rules_hold_where_they_do_so_in_one_program() {
    hold("each-here");
}

#[test]
fn the_same_seed_is_the_same_run_to_the_byte() {
    for profile in Setup::NAMES {
        let setup = Setup::named(profile).expect("the profile is one of ours");
        for seed in 0..10 {
            let hash = |result: Result<sim::Passed, Box<sim::Failed>>| match result {
                Ok(passed) => passed.hash,
                Err(failed) => failed.hash,
            };
            let silent = hash(run_seed(seed, &setup, 0));
            let telling = hash(run_seed(seed, &setup, 10));
            assert_eq!(silent, telling, "seed {seed} of {profile}");
        }
    }
}

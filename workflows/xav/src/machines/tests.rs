use super::*;

const TWO: &str =
    "machines: [{name: fast, slots: 2, power: 2.0}, {name: slow, power: 0.5, memory: 1GiB}]";

fn state() -> (tempfile::TempDir, StateDirectory) {
    let dir = tempfile::tempdir().unwrap();
    let (state, _) = StateDirectory::open_or_make(&dir.path().join("state")).unwrap();
    (dir, state)
}

fn file(text: &str) -> PlatformFile {
    platform::compile("machines", text.as_bytes()).unwrap()
}

#[test]
fn a_directory_without_machines_has_this_one() {
    let (_dir, state) = state();
    settle(&state, None).unwrap();
    let machines = of(state.path(), Some(3)).unwrap();
    assert_eq!(machines.len(), 1);
    assert_eq!(machines[0].slots, 3);
    assert_eq!(machines[0].directory, state.path().join("am"));
    assert_eq!(machines[0].profile, None);
    assert_eq!(
        directory(state.path(), &machines[0].name),
        state.path().join("am")
    );
    assert_eq!(directories(state.path()), [state.path().join("am")]);
}

#[test]
fn a_machine_keeps_the_name_of_its_first_run() {
    let (_dir, state) = state();
    let name = |state: &StateDirectory| of(state.path(), None).unwrap()[0].name.clone();
    assert_eq!(name(&state), shell::environment::hostname());
    fs::write(state.path().join("am/name"), "elsewhere").unwrap();
    assert_eq!(name(&state), "elsewhere");
    fs::write(state.path().join("am/name"), "").unwrap();
    assert_eq!(name(&state), shell::environment::hostname());
}

#[test]
fn machines_of_a_file_stay_with_their_directory() {
    let (_dir, state) = state();
    settle(&state, Some(&file(TWO))).unwrap();
    settle(&state, Some(&file(TWO))).unwrap();
    settle(&state, None).unwrap();
    let machines = of(state.path(), None).unwrap();
    let names: Vec<&str> = machines.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["fast", "slow"]);
    assert_eq!(machines[1].directory, state.path().join("am-slow"));
    let [fast, slow] = [0, 1].map(|place: usize| machines[place].profile.clone().unwrap());
    assert_eq!((fast.power, fast.pace, fast.memory), (2.0, None, None));
    let quarter = Pace::new(PowerSteps::constant(0.25).unwrap());
    assert_eq!((slow.power, slow.pace), (0.5, quarter.ok()));
    assert_eq!(slow.memory, Some(Bytes(1 << 30)));
    for one in &machines {
        fs::create_dir(&one.directory).unwrap();
        assert_eq!(directory(state.path(), &one.name), one.directory);
    }
    let all = ["am", "am-fast", "am-slow"].map(|name| state.path().join(name));
    assert_eq!(directories(state.path()), all);
    let other = settle(&state, Some(&file("machines: [{name: a}]"))).unwrap_err();
    assert!(other.message.ends_with("has other machines"), "{other}");
    let slots = of(state.path(), Some(2)).unwrap_err();
    assert!(slots.message.ends_with("leave --slots out"), "{slots}");
    let left: Vec<_> = fs::read_dir(state.path())
        .unwrap()
        .flatten()
        .map(|one| one.file_name())
        .collect();
    assert!(
        left.iter()
            .all(|name| !name.to_str().unwrap().starts_with("machines.yaml.")),
        "{left:?}"
    );
}

#[test]
fn a_power_over_time_becomes_shares_of_the_best_one() {
    let (_dir, state) = state();
    let text = "machines: [{name: a, power: [{from: 0s, is: 0.5}, {from: 20s, is: 2}]}, {name: b, power: [{from: 0s, is: 1}, {from: 9s, is: 0}]}]";
    settle(&state, Some(&file(text))).unwrap();
    // As kept and read again.
    settle(&state, Some(&file(text))).unwrap();
    let machines = of(state.path(), None).unwrap();
    let shares = |place: usize| {
        let profile = machines[place].profile.clone().unwrap();
        let pace = profile.pace.unwrap();
        let steps = pace.shares().steps().iter();
        steps
            .map(|step| (step.from, step.power))
            .collect::<Vec<_>>()
    };
    assert_eq!(shares(0), [(0.0, 0.25), (20.0, 1.0)]);
    assert_eq!(shares(1), [(0.0, 0.5), (9.0, 0.0)]);
    let powers = machines
        .iter()
        .map(|one| one.profile.as_ref().unwrap().power);
    assert_eq!(powers.collect::<Vec<_>>(), [0.5, 1.0]);
    assert!(
        machines
            .iter()
            .all(|one| one.own_power == 2.0 && one.changes_power())
    );
    let since = machines
        .iter()
        .map(|one| one.profile.as_ref().unwrap().pace_since);
    let since: std::collections::BTreeSet<_> = since.collect();
    assert_eq!(since.len(), 1, "one clock for all");
}

#[test]
fn a_directory_that_was_used_gets_no_machines() {
    let (_dir, state) = state();
    fs::create_dir(state.path().join("pm")).unwrap();
    let refused = settle(&state, Some(&file(TWO))).unwrap_err();
    assert_eq!(refused.status, status::REFUSED);
    assert!(
        refused.message.contains("planned for this machine"),
        "{refused}"
    );
}

#[test]
fn damaged_machines_are_told() {
    let (_dir, state) = state();
    fs::write(state.path().join(KEPT), "machines: 7").unwrap();
    let damaged = of(state.path(), None).unwrap_err();
    assert!(
        damaged.message.ends_with("machines.yaml is damaged"),
        "{damaged}"
    );
}

#[test]
fn what_one_machine_cannot_pass_for_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |text: &str| {
        let path = dir.path().join("machines");
        fs::write(&path, text).unwrap();
        read(&path, false).unwrap_err().message
    };
    let many = refused("machines: [{name: a, count: 65}]");
    assert!(
        many.ends_with("has 65 machines; this one passes for 64 at most"),
        "{many}"
    );
    let far = refused("machines: [{name: a, power: 5000}, {name: b}]");
    assert!(far.contains("a thousand times slower at most"), "{far}");
    let far = refused("machines: [{name: a, power: [{from: 0s, is: 1}, {from: 1s, is: 0.0001}]}]");
    assert!(far.contains("power 1 and 0.0001"), "{far}");
}

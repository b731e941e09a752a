use super::*;

const HYBRID: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime shared:9 - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

fn own(mountinfo: &str, cgroup: &str) -> (Option<String>, Option<String>) {
    let own = Own::parse(mountinfo, cgroup);
    let text = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
    (text(own.unified), text(own.memory))
}

#[test]
fn own_groups_are_found_on_systems_of_every_kind() {
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        own(HYBRID, "9:name=systemd:/\n4:cpu,memory:/a/b\n0::/\n"),
        (
            some("/sys/fs/cgroup/unified/"),
            some("/sys/fs/cgroup/memory/a/b")
        )
    );
    let pure = "30 23 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
    assert_eq!(
        own(pure, "0::/system.slice/xavantes-am.service\n"),
        (
            some("/sys/fs/cgroup/system.slice/xavantes-am.service"),
            None
        )
    );
    assert_eq!(own("", "0::/\n"), (None, None));
}

#[test]
fn a_mount_that_shows_a_part_is_followed_only_within_it() {
    let part = "30 23 0:26 /docker/7 /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let unified = |cgroup: &str| own(part, cgroup).0;
    assert_eq!(
        unified("0::/docker/7\n").as_deref(),
        Some("/sys/fs/cgroup/")
    );
    assert_eq!(
        unified("0::/docker/7/a\n").as_deref(),
        Some("/sys/fs/cgroup/a")
    );
    for outside in ["0::/docker/77\n", "0::/\n", "0::/docker/7/../8\n"] {
        assert_eq!(unified(outside), None, "{outside}");
    }
}

#[test]
fn numbers_are_found_by_their_whole_word() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("memory.events");
    fs::write(&file, "oom 3\noom_kill 2\noom_group_kill 9\n").unwrap();
    assert_eq!(count_in(&file, "oom_kill"), 2);
    assert_eq!(count_in(&file, "none"), 0);
    assert_eq!(count_in(Path::new("/nowhere"), "oom_kill"), 0);
}

#[test]
fn a_limit_on_processes_is_read_anew_each_time() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
    file("pids.max", "");
    file("pids.current", "0\n");
    file("pids.events", "max 3\n");
    let limit = ProcessLimit::set(directory.path(), 20).unwrap();
    let set = fs::read_to_string(directory.path().join("pids.max"));
    assert_eq!(set.unwrap(), "20");
    assert_eq!((limit.n_refused(), limit.is_charged()), (3, false));
    file("pids.current", "2\n");
    file("pids.events", "max 14\n");
    assert_eq!((limit.n_refused(), limit.is_charged()), (14, true));
    assert!(!limit.is_removed());
}

#[test]
fn a_system_that_does_not_count_refusals_has_none() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| fs::write(directory.path().join(name), "1\n").unwrap();
    file("pids.max");
    assert!(ProcessLimit::set(directory.path(), 20).is_err());
    file("pids.current");
    let limit = ProcessLimit::set(directory.path(), 20).unwrap();
    assert_eq!((limit.n_refused(), limit.is_charged()), (0, true));
}

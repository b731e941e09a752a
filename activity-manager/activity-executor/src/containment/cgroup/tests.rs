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

use std::path::Path;

use wire::executor::Contained;

use super::super::tests::{contained, wanted};
use super::*;

const USER: Account = Account {
    is_root: false,
    has_further_ids: true,
};

/// The command line as text.
fn line(wanted: &Wanted, account: &Account) -> String {
    let all = arguments(wanted, account).unwrap_or_else(|Refused(_, why)| panic!("{why}"));
    let words: Vec<&str> = all.iter().map(|word| word.to_str().unwrap()).collect();
    format!("{} ", words.join(" "))
}

#[test]
fn podman_runs_an_image_without_a_network_and_with_the_inputs_read_only() {
    let place = tempfile::TempDir::new().unwrap();
    fs::write(place.path().join("a"), "").unwrap();
    let container = contained(ContainerKind::Podman, "alpine:3.20");
    let wanted_one = wanted(&container, place.path(), &["x", "-n"]);
    let all = line(&wanted_one, &USER);
    let work = place.path().display();
    for expected in [
        "run --rm ",
        " --name=n-1 ",
        " --read-only ",
        " --network=none ",
        " --userns=keep-id ",
        " --cgroups=disabled ",
        &format!(" --volume={work}:/job --volume={work}/a:/job/a:ro "),
        " --workdir=/job ",
    ] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert!(
        all.ends_with(" --entrypoint= -- alpine:3.20 x -n "),
        "{all}"
    );
    let networked = Contained {
        has_network: true,
        ..container
    };
    let all = line(&wanted(&networked, place.path(), &["x"]), &USER);
    assert!(all.contains(" --network=host "), "{all}");
}

#[test]
fn files_belong_to_the_account_whether_it_is_root_or_has_no_further_ids() {
    let container = contained(ContainerKind::Podman, "alpine");
    for (is_root, has_further_ids) in [(true, true), (true, false), (false, false)] {
        let account = Account {
            is_root,
            has_further_ids,
        };
        let all = line(&wanted(&container, Path::new("/d"), &["x"]), &account);
        // podman refuses `keep-id` of these.
        assert!(
            all.contains(" --user=0:0 ") && !all.contains("keep-id"),
            "{all}"
        );
    }
    let text = "ana:100000:65536\n1007:165536:65536\n";
    assert!(has_range(text, 1, Some("ana")) && has_range(text, 1007, None));
    assert!(!has_range(text, 100_000, Some("an")));
}

#[test]
fn the_limits_of_a_container_are_those_of_the_command_and_never_above_what_podman_may_set() {
    let container = contained(ContainerKind::Podman, "alpine");
    let all = line(&wanted(&container, Path::new("/d"), &["x"]), &USER);
    let files = getrlimit(Resource::Nofile);
    let (soft, hard) = (files.current.unwrap(), files.maximum.unwrap());
    assert!(
        all.contains(&format!(" --ulimit=nofile={soft}:{hard} ")),
        "{all}"
    );
    let processes = all.split("--ulimit=nproc=").nth(1).unwrap();
    let hard: u64 = processes.split([':', ' ']).nth(1).unwrap().parse().unwrap();
    assert!(hard <= processes_max().unwrap(), "{all}");
}

#[test]
fn variables_that_podman_reads_are_in_its_command_line_and_all_others_are_not() {
    for name in [
        "HOME",
        "PATH",
        "LD_PRELOAD",
        "CONTAINERS_CONF",
        "XDG_RUNTIME_DIR",
        "_X",
    ] {
        assert!(is_read_by_podman(OsStr::new(name)), "{name}");
    }
    for name in ["PASSWORD", "XAVANTES_CORES", "TOKEN", "LANG"] {
        assert!(!is_read_by_podman(OsStr::new(name)), "{name}");
    }
    let container = contained(ContainerKind::Podman, "alpine");
    let all = line(&wanted(&container, Path::new("/d"), &["x"]), &USER);
    let path = env::var("PATH").unwrap();
    assert!(all.contains(&format!(" --env=PATH={path} ")), "{all}");
    // Cargo sets it for tests.
    assert!(all.contains(" --env=CARGO_PKG_NAME "), "{all}");
}

#[test]
fn a_program_in_the_directory_comes_before_those_of_the_image() {
    use std::os::unix::fs::PermissionsExt;
    let place = tempfile::TempDir::new().unwrap();
    let own = place.path().join("own.sh");
    fs::write(&own, "").unwrap();
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).unwrap();
    let container = contained(ContainerKind::Podman, "alpine");
    for (name, found) in [
        ("own.sh", "/job/own.sh"),
        ("./own.sh", "/job/./own.sh"),
        ("sort", "sort"),
        ("/bin/sort", "/bin/sort"),
    ] {
        let all = line(&wanted(&container, place.path(), &[name]), &USER);
        assert!(all.ends_with(&format!(" alpine {found} ")), "{all}");
    }
}

#[test]
fn paths_are_mounted_as_far_as_podman_can_write_them() {
    let text = |source: &str, how: &str| {
        let mounted = mount(Path::new(source), Path::new("/job"), how)?;
        mounted.into_string().ok()
    };
    assert_eq!(text("/a, b", "ro").unwrap(), "--volume=/a, b:/job:ro");
    assert_eq!(text("/a", "").unwrap(), "--volume=/a:/job");
    assert_eq!(
        text("/a:b", "ro").unwrap(),
        "--mount=type=bind,src=/a:b,dst=/job,ro"
    );
    assert_eq!(text("/a:b,c", "ro"), None);
    let container = contained(ContainerKind::Podman, "alpine");
    let refused = arguments(&wanted(&container, Path::new("/a:b,c"), &["x"]), &USER);
    let Err(Refused(status, why)) = refused else {
        panic!("a path that cannot be written is mounted")
    };
    assert_eq!(status, NO_CONTAINER);
    assert!(why.contains("/a:b,c"), "{why}");
}

#[test]
fn a_removal_is_read_as_it_was_written() {
    let removal = Removal {
        name: "xavantes-1-2".to_owned(),
        account: Numbers::parse("5:6:7,8"),
        search_path: "/usr/bin:/bin".to_owned(),
        env: vec![("HOME".to_owned(), "/h/a=b".to_owned())],
    };
    let own = Removal {
        account: None,
        env: Vec::new(),
        ..removal.clone()
    };
    for removal in [removal, own] {
        let read = Removal::parse(removal.arguments().into_iter());
        assert_eq!(read.as_ref(), Some(&removal));
    }
    for odd in [
        &[][..],
        &["n"],
        &["n", "0:0:", "/bin"],
        &["n", "", "/bin", "x"],
        &["", "", "/bin"],
    ] {
        let odd = odd.iter().map(|word| (*word).to_owned());
        assert_eq!(Removal::parse(odd), None);
    }
}

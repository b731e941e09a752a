use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;

pub(super) fn contained(kind: ContainerKind, image: &str) -> Contained {
    Contained {
        kind,
        image: image.to_owned(),
        has_network: false,
        read_only: vec!["b c".to_owned(), "a".to_owned()],
        search_path: "/none".to_owned(),
        command: Vec::new(),
        env: vec![("HOME".to_owned(), "/h/ana".to_owned())],
    }
}

/// What the program is told by its own command line.
pub(super) fn wanted(container: &Contained, directory: &Path, command: &[&str]) -> Wanted {
    let command = command.iter().map(|word| (*word).to_owned()).collect();
    let container = Contained {
        command,
        ..container.clone()
    };
    let line = command_line("xav", &container, directory.to_str().unwrap(), "n-1");
    assert_eq!(line[..3], ["xav", program::ARGUMENT, ARGUMENT]);
    let (kind, wanted) = parse(line.into_iter().skip(3).map(OsString::from)).unwrap();
    assert_eq!(kind, container.kind);
    wanted
}

#[test]
fn a_command_line_is_read_as_it_was_written() {
    let container = contained(ContainerKind::Bwrap, "/i");
    let wanted = wanted(&container, Path::new("/d"), &["sort", "-n", "--"]);
    assert!(!wanted.has_network);
    assert_eq!((wanted.image, wanted.directory), ("/i".into(), "/d".into()));
    assert_eq!(wanted.read_only, ["b c", "a"]);
    assert_eq!(wanted.container_name, "n-1");
    assert_eq!(wanted.env, ["HOME=/h/ana"]);
    assert_eq!(
        (wanted.name, wanted.arguments),
        ("sort".into(), vec!["-n".into(), "--".into()])
    );
    assert!(parse(["bwrap", "none", "/i"].into_iter().map(OsString::from)).is_none());
}

#[test]
fn a_program_is_found_in_the_directory_and_in_the_image_with_links_inside_it() {
    let place = tempfile::TempDir::new().unwrap();
    let (image, work) = (place.path().join("image"), place.path().join("work"));
    fs::create_dir_all(image.join("usr/tools")).unwrap();
    fs::create_dir(&work).unwrap();
    let program = |path: PathBuf| {
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    program(image.join("usr/tools/real"));
    program(work.join("own.sh"));
    fs::write(image.join("usr/tools/data"), "").unwrap();
    // Absolute links are those of the image, and none leads out of it.
    symlink("/usr/tools", image.join("bin")).unwrap();
    symlink("/usr/tools/real", image.join("usr/tools/link")).unwrap();
    symlink("/../../../../bin/sh", image.join("usr/tools/out")).unwrap();
    let container = contained(ContainerKind::Bwrap, image.to_str().unwrap());
    let found = |name: &str| {
        let found = wanted(&container, &work, &[name]).program(&image);
        found.map_err(|Refused(status, _)| status)
    };
    assert_eq!(found("/bin/link"), Ok("/bin/link".into()));
    assert_eq!(found("own.sh"), Ok("/job/own.sh".into()));
    assert_eq!(found("./own.sh"), Ok("/job/./own.sh".into()));
    assert_eq!(found("/job/own.sh"), Ok("/job/own.sh".into()));
    for name in [
        "/usr/tools/data",
        "/usr/tools/out",
        "/bin/none",
        "./none",
        "no-such-program",
    ] {
        assert_eq!(found(name), Err(NOT_FOUND), "{name}");
    }
}

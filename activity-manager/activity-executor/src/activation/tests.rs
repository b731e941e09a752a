use std::fs;

use super::*;

#[test]
fn the_command_follows_what_its_environment_is_made_of() {
    let made = Made {
        kind: MadeKind::Venv,
        file: "requirements.txt".to_owned(),
        root: "/all".to_owned(),
    };
    let command = ["python".to_owned(), "--".to_owned()];
    let line = command_line("/bin/xav", &made, "/all/7", &command);
    assert_eq!(
        line.join(" "),
        "/bin/xav __executor __activate venv /all/7 requirements.txt -- python --"
    );
}

#[test]
fn a_program_is_the_first_executable_file_of_its_name() {
    let root = tempfile::TempDir::new().unwrap();
    let path = |name: &str| root.path().join(name);
    for (directory, mode) in [
        ("a", None),
        ("b", Some(0o644)),
        ("c", Some(0o755)),
        ("d", Some(0o755)),
    ] {
        fs::create_dir(path(directory)).unwrap();
        let file = path(directory).join("tool");
        match mode {
            None => fs::create_dir(file).unwrap(),
            Some(mode) => {
                fs::write(&file, "").unwrap();
                fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
            }
        }
    }
    let places = env::join_paths(["a", "b", "c", "d"].map(path)).unwrap();
    assert_eq!(find("tool", &places), Some(path("c/tool")));
    assert_eq!(find("other", &places), None);
}

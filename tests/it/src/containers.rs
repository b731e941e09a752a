//! Commands in containers, by the real bubblewrap, from a small root file system that the test makes of programs of
//! this machine. `containers/podman.rs` has those of podman.

mod podman;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::sandbox::{Done, Sandbox};

/// False where bubblewrap is missing or may not make namespaces, which is said.
fn has_bwrap() -> bool {
    let mut asked = Command::new("bwrap");
    let asked = asked
        .args([
            "--unshare-user",
            "--unshare-pid",
            "--unshare-net",
            "--ro-bind",
            "/",
            "/",
        ])
        .args(["--proc", "/proc", "true"])
        .output();
    let has = asked.is_ok_and(|output| output.status.success());
    if !has {
        eprintln!("skipped: needs bwrap and user namespaces");
    }
    has
}

/// Copies a file of this machine to the same place below a root.
fn copy(root: &Path, from: &Path, to: &Path) {
    let to = root.join(to.strip_prefix("/").unwrap());
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::copy(from, to).unwrap();
}

/// A root file system with a shell and a few programs, and the libraries that they need.
fn image(sandbox: &Sandbox) -> PathBuf {
    let root = sandbox.path("image");
    fs::create_dir_all(root.join("etc")).unwrap();
    fs::write(root.join("etc/name"), "a small image\n").unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for name in ["sh", "cat", "ls", "sleep"] {
        let program = std::env::split_paths(&path)
            .map(|place| place.join(name))
            .find(|program| program.is_file())
            .unwrap();
        copy(&root, &program, &Path::new("/bin").join(name));
        let needed = Command::new("ldd").arg(&program).output().unwrap();
        let needed = String::from_utf8(needed.stdout).unwrap();
        let libraries = needed
            .split_whitespace()
            .filter(|word| word.starts_with('/'));
        for library in libraries.map(Path::new) {
            copy(&root, library, library);
        }
    }
    root
}

/// A definition of one activity in a container that writes an output, after one without that makes its input.
fn definition(container: &str, command: &str, keys: &str) -> String {
    format!(
        "\
xavantes: 1
name: contained
variables: {{ seen: string }}
outputs: {{ seen: '${{ seen }}', out: inside.out }}
body:
  sequence:
    - activity: outside
      run: {{ shell: 'echo from outside > made.txt' }}
      outputs: {{ made: made.txt }}
    - activity: inside
      container: {container}
      run: {{ shell: \"{command}\" }}
      inputs: {{ in/given.txt: outside.made }}
      outputs: {{ out: out.txt }}
      stdout: {{ into: seen }}
{keys}"
    )
}

fn run(sandbox: &Sandbox, container: &str, command: &str, keys: &str) -> Done {
    let file = sandbox.file("contained.yaml", definition(container, command, keys));
    sandbox.xav(&["run", &file])
}

/// The processes of this machine with these words in their command lines.
fn running(words: &str) -> Vec<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let lines = entries.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(words)).collect()
}

#[test]
fn a_command_sees_its_image_and_its_directory_and_changes_neither_image_nor_inputs() {
    if !has_bwrap() {
        return;
    }
    let sandbox = Sandbox::new();
    let image = image(&sandbox);
    let command = "cat in/given.txt /etc/name; pwd; ls /; echo $HOME; \
                   (echo x > in/given.txt) 2>/dev/null || echo input is read-only; \
                   (echo x > /etc/name) 2>/dev/null || echo image is read-only; \
                   (echo x > /new) 2>/dev/null || echo root is read-only; \
                   while read -r name rest; do echo $name; done < /proc/net/dev; \
                   echo x > /tmp/x && echo made > out.txt";
    let done = run(&sandbox, image.to_str().unwrap(), command, "");
    assert_eq!(done.status, Some(0), "{done:?}");
    for words in [
        "from outside",
        "a small image",
        "/job",
        "/tmp",
        "input is read-only",
        "image is read-only",
        "root is read-only",
        "lo:",
    ] {
        assert!(done.stdout.contains(words), "{words}: {done:?}");
    }
    // No other network than its own loopback, and nothing of this machine.
    for words in ["eth", "ens", "wlan", "home", "usr/share"] {
        assert!(!done.stdout.contains(words), "{words}: {done:?}");
    }
    let kept = sandbox.xav(&["results", "--to", "results"]).expect(0);
    assert!(kept.stdout.contains("out"), "{kept:?}");
    assert_eq!(
        fs::read_to_string(image.join("etc/name")).unwrap(),
        "a small image\n"
    );
    assert!(!image.join("job").exists() && !image.join("tmp/x").exists());
}

#[test]
fn the_end_of_a_command_in_a_container_is_told_as_that_of_any_other() {
    if !has_bwrap() {
        return;
    }
    let sandbox = Sandbox::new();
    let image = image(&sandbox);
    let image = image.to_str().unwrap();
    for (command, told) in [
        ("exit 7", "exited with status 7"),
        ("kill -SEGV $$", "SEGV"),
        ("kill -KILL $$", "KILL"),
    ] {
        let done = run(&sandbox, image, command, "");
        assert_eq!(done.status, Some(1), "{done:?}");
        assert!(done.stderr.contains(told), "{command}: {told}: {done:?}");
    }
    let text = definition(image, "true", "").replace("{ shell: \"true\" }", "[no-such-program]");
    let file = sandbox.file("contained.yaml", text);
    let done = sandbox.xav(&["run", &file]).expect(1);
    let told = "command not found in the container: no-such-program (searched /job and PATH ";
    assert!(done.stderr.contains(told), "{done:?}");
    let done = run(&sandbox, "/no/such/image", "true", "");
    let told = "its container is not on this machine: no directory /no/such/image";
    assert!(
        done.status == Some(1) && done.stderr.contains(told),
        "{done:?}"
    );
}

#[test]
fn a_command_that_is_stopped_ends_by_itself_or_is_killed_with_all_that_it_started() {
    if !has_bwrap() {
        return;
    }
    let sandbox = Sandbox::new();
    let image = image(&sandbox);
    let image = image.to_str().unwrap();
    // A command that handles TERM has the time to say so.
    let command = "trap 'echo said at the end >&2; exit 3' TERM; echo x > out.txt; while :; do sleep 0.05; done";
    let done = run(&sandbox, image, command, "      timeout: 500ms\n");
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.stderr.contains("said at the end"), "{done:?}");
    // One that does not, and its child in the background, are killed.
    let number = format!("1000.{}", std::process::id());
    let command = format!("trap '' TERM; sleep {number} & sleep {number}");
    let done = run(&sandbox, image, &command, "      timeout: 300ms\n");
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.stderr.contains("timeout"), "{done:?}");
    assert_eq!(running(&number), Vec::<String>::new());
}

#[test]
fn nothing_runs_where_no_machine_has_podman() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.path("bin")).unwrap();
    let program = sandbox.path("bin/sh");
    fs::copy("/bin/sh", &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let text = definition("docker.io/library/alpine:3.20", "true", "");
    let file = sandbox.file("contained.yaml", text);
    let path = sandbox.path("bin").display().to_string();
    let done = sandbox.xav_with(("PATH", &path), &["run", &file]);
    assert_eq!(done.status, Some(1), "{done:?}");
    let told = "needs podman for its container; no machine has it (label podman: yes)";
    assert!(done.stderr.contains(told), "{done:?}");
}

//! Commands in containers by the real podman, from an image that the test makes of programs of this machine.
//!
//! podman works where version 2 of control groups is mounted alone. As root, the tests make a mount namespace for it
//! in which that is so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::{definition, image, running};
use crate::kills::executor_under;
use crate::sandbox::{Done, Sandbox};
use crate::wait;

/// The name of the image.
const IMAGE: &str = "localhost/xavantes-it:1";

/// The ways to start podman with these arguments, the plain one first.
const WAYS: [&str; 2] = [
    "exec podman \"$@\"",
    "exec unshare --mount sh -c 'umount -R /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup || exit 1
exec podman \"$@\"' podman \"$@\"",
];

/// A user whose podman has an image and nothing else.
struct Host {
    sandbox: Sandbox,
    path: String,
}

impl Host {
    /// None where podman is missing or cannot run a container, which is said.
    fn new() -> Option<Host> {
        let sandbox = Sandbox::new();
        let bin = sandbox.path("bin");
        fs::create_dir(&bin).unwrap();
        let path = std::env::var("PATH").unwrap();
        let host = Host {
            path: format!("{}:{path}", bin.display()),
            sandbox,
        };
        let root = image(&host.sandbox);
        let archive = host.sandbox.path("image.tar");
        let mut tar = Command::new("tar");
        let tar = tar.arg("-C").arg(root).arg("-cf").arg(&archive);
        let tar = tar.arg(".").status();
        let archive = archive.to_str().unwrap();
        let mut told = String::new();
        for way in WAYS {
            host.write_podman(&bin, &path, way);
            let tried = tar.as_ref().is_ok_and(|status| status.success())
                && host.podman(&["import", archive, IMAGE]).status == Some(0);
            if tried {
                let limits = ["--ulimit=nofile=64:64", "--ulimit=nproc=64:64"];
                let run = ["run", "--rm", "--cgroups=disabled", "--network=none"];
                let line = [&run[..], &limits, &[IMAGE, "/bin/sh", "-c", "exit 9"]].concat();
                let done = host.podman(&line);
                if done.status == Some(9) {
                    return Some(host);
                }
                told = done.stderr;
            }
        }
        eprintln!("skipped: needs podman that can run a container {told}");
        None
    }

    /// Writes a podman of this user, with storage of its own below the sandbox.
    fn write_podman(&self, bin: &Path, path: &str, way: &str) {
        let place = self.sandbox.path("podman");
        let place = place.display();
        let program = bin.join("podman");
        let text = format!(
            "#!/bin/sh\nPATH='{path}'\nset -- --root {place}/root --runroot {place}/run --tmpdir {place}/tmp \
             --storage-driver vfs \"$@\"\n{way}\n"
        );
        fs::write(&program, text).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn podman(&self, arguments: &[&str]) -> Done {
        let program = self.sandbox.path("bin/podman");
        let mut command = Command::new(program);
        let command = command.args(arguments).stdin(Stdio::null());
        command
            .env("HOME", self.sandbox.path(""))
            .output()
            .map_or_else(
                |error| Done {
                    status: None,
                    stdout: String::new(),
                    stderr: error.to_string(),
                },
                Done::from,
            )
    }

    fn run(&self, command: &str, keys: &str) -> Done {
        let text = definition(IMAGE, command, keys);
        let file = self.sandbox.file("contained.yaml", text);
        self.xav(&["run", &file])
    }

    fn xav(&self, arguments: &[&str]) -> Done {
        self.sandbox.xav_with(("PATH", &self.path), arguments)
    }

    /// The containers that podman knows of, a line each.
    fn containers(&self) -> Option<String> {
        let listed = self.podman(&["ps", "--all", "--noheading"]);
        (listed.status == Some(0)).then_some(listed.stdout)
    }

    /// Waits until podman knows of no container.
    fn until_nothing_is_left(&self) {
        wait::until("the removal of all containers", || {
            self.containers().filter(String::is_empty)
        });
    }
}

#[test]
fn a_command_sees_its_image_its_directory_and_its_variables_and_changes_neither_image_nor_inputs() {
    let Some(host) = Host::new() else { return };
    let command = "cat in/given.txt /etc/name; pwd; ls /; echo home=$HOME path=$PATH said=$SAID; \
                   cat; \
                   (echo x > in/given.txt) 2>/dev/null || echo input is read-only; \
                   (echo x > /etc/name) 2>/dev/null || echo image is read-only; \
                   (echo x > /new) 2>/dev/null || echo root is read-only; \
                   while read -r name rest; do echo $name; done < /proc/net/dev; \
                   echo x > /tmp/x && echo made > out.txt; echo told >&2";
    let keys = "      env: { SAID: 'a b' }\n      stdin: { file: in/given.txt }\n";
    let done = host.run(command, keys);
    assert_eq!(done.status, Some(0), "{done:?}");
    for words in [
        "from outside\na small image\n/job\n",
        "home=/tmp",
        "said=a b\nfrom outside\n",
        "input is read-only",
        "image is read-only",
        "root is read-only",
        "lo:",
    ] {
        assert!(done.stdout.contains(words), "{words}: {done:?}");
    }
    for words in ["eth", "ens", "wlan", "home\n", "usr/share"] {
        assert!(!done.stdout.contains(words), "{words}: {done:?}");
    }
    let logs = host.xav(&["logs", "inside", "--stderr"]).expect(0);
    assert_eq!(logs.stdout, "told\n");
    assert_eq!(host.containers().as_deref(), Some(""));
    // The network of the machine where it is asked for.
    let text = definition(
        &format!("{{ image: '{IMAGE}', network: true }}"),
        "cat /proc/net/dev > out.txt",
        "",
    );
    let file = host.sandbox.file("networked.yaml", text);
    host.xav(&["run", &file, "--to", "net"]).expect(0);
    let inside = fs::read_to_string(host.sandbox.path("net/out.txt")).unwrap();
    let outside = fs::read_to_string("/proc/net/dev").unwrap();
    let names = |text: &str| -> Vec<String> {
        let lines = text
            .lines()
            .skip(2)
            .filter_map(|line| line.split(':').next());
        lines.map(|name| name.trim().to_owned()).collect()
    };
    assert_eq!(names(&inside), names(&outside));
}

#[test]
fn the_end_of_a_command_is_told_as_that_of_any_other() {
    let Some(host) = Host::new() else { return };
    let mut commands = vec![("exit 7", "exited with status 7")];
    // Without it, the command is the first process, which the system spares from signals.
    if Path::new("/usr/libexec/podman/catatonit").exists() {
        commands.extend([("kill -SEGV $$", "SEGV"), ("kill -KILL $$", "KILL")]);
    }
    for (command, told) in commands {
        let done = host.run(command, "");
        assert_eq!(done.status, Some(1), "{done:?}");
        assert!(done.stderr.contains(told), "{command}: {told}: {done:?}");
    }
    let text = definition(IMAGE, "true", "").replace("{ shell: \"true\" }", "[no-such-program]");
    let file = host.sandbox.file("contained.yaml", text);
    let done = host.xav(&["run", &file]).expect(1);
    assert!(done.stderr.contains("no-such-program"), "{done:?}");
    let text = definition("localhost/xavantes-none:1", "true", "");
    let file = host.sandbox.file("contained.yaml", text);
    let done = host.xav(&["run", &file]).expect(1);
    assert!(done.stderr.contains("exited with status 125"), "{done:?}");
    host.until_nothing_is_left();
}

#[test]
fn a_command_that_is_stopped_ends_by_itself_or_is_killed_and_leaves_no_container() {
    let Some(host) = Host::new() else { return };
    // A command that handles TERM has the time to say so.
    let command = "trap 'echo said at the end >&2; exit 3' TERM; echo x > out.txt; while :; do sleep 0.05; done";
    let done = host.run(command, "      timeout: 5s\n");
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.stderr.contains("said at the end"), "{done:?}");
    host.until_nothing_is_left();
    // One that does not, and its child in the background, are killed.
    let number = format!("1001.{}", std::process::id());
    let command = format!("trap '' TERM; sleep {number} & sleep {number}");
    let done = host.run(&command, "      timeout: 3s\n");
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.stderr.contains("timeout"), "{done:?}");
    assert_eq!(running(&number), Vec::<String>::new());
    host.until_nothing_is_left();
    // What a command leaves in the background ends with it.
    let done = host.run(&format!("(sleep {number} &); echo x > out.txt"), "");
    assert_eq!(done.status, Some(0), "{done:?}");
    assert_eq!(running(&number), Vec::<String>::new());
    assert_eq!(host.containers().as_deref(), Some(""));
}

#[test]
fn a_command_that_takes_too_much_memory_is_told_so_and_leaves_no_container() {
    let Some(host) = Host::new() else { return };
    // podman's own memory does not count.
    let done = host.run("echo x > out.txt", "      memory: 16MiB\n");
    assert_eq!(done.status, Some(0), "{done:?}");
    let command = "x=0123456789abcdef; while :; do x=$x$x; done";
    let done = host.run(command, "      memory: 64MiB\n");
    assert_eq!(done.status, Some(1), "{done:?}");
    assert!(done.stderr.contains("memory"), "{done:?}");
    host.until_nothing_is_left();
}

#[test]
fn containers_of_killed_programs_end_and_are_removed() {
    let Some(host) = Host::new() else { return };
    let number = format!("1002.{}", std::process::id());
    let file = host.sandbox.file(
        "contained.yaml",
        definition(IMAGE, &format!("echo x >> out.txt; sleep {number}"), ""),
    );
    // The executor and the command in its container, once it is another one than before.
    let until_it_runs = |before: Option<Pid>| {
        wait::until("a command in a container", || {
            let command = sleeping(&number).filter(|command| Some(*command) != before)?;
            Some((executor_under(&host.sandbox.runs())?, command))
        })
    };
    let until_it_ends = || {
        wait::until("the end of the command", || {
            running(&number).is_empty().then_some(())
        });
        host.until_nothing_is_left();
    };
    // The executor: its guardian ends what it started.
    let run = host
        .sandbox
        .start_with(("PATH", &host.path), &["run", &file]);
    let (executor, command) = until_it_runs(None);
    kill_process(executor, Signal::KILL).unwrap();
    // Its command runs again, as it has not ended by itself.
    until_it_runs(Some(command));
    run.signal(Signal::KILL);
    run.end();
    let executor = executor_under(&host.sandbox.runs());
    if let Some(executor) = executor {
        let _ = kill_process(executor, Signal::TERM);
    }
    until_it_ends();
    // Everything at once: the next executor finds what is left.
    let run = host.sandbox.start_with(("PATH", &host.path), &["resume"]);
    let (executor, command) = until_it_runs(None);
    let guardian = parent_of(executor);
    // In this order nobody starts another executor.
    run.signal(Signal::KILL);
    run.end();
    // Stopped first, so that neither acts on the end of the other.
    for signal in [Signal::STOP, Signal::KILL] {
        for pid in [guardian, executor] {
            kill_process(pid, signal).unwrap();
        }
    }
    assert_ne!(host.containers().as_deref(), Some(""));
    let run = host.sandbox.start_with(("PATH", &host.path), &["resume"]);
    until_it_runs(Some(command));
    wait::until("the removal of the container before", || {
        let listed = host.containers()?;
        (listed.lines().count() == 1).then_some(())
    });
    run.signal(Signal::INT);
    run.end();
    until_it_ends();
}

/// The process that sleeps so many seconds.
fn sleeping(number: &str) -> Option<Pid> {
    let line = format!("sleep\0{number}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut found = entries.filter(|entry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|bytes| bytes == line.as_bytes())
    });
    let name = found.next()?.file_name();
    Pid::from_raw(name.to_str()?.parse().ok()?)
}

fn parent_of(pid: Pid) -> Pid {
    let status = fs::read_to_string(format!("/proc/{}/status", pid.as_raw_pid())).unwrap();
    let mut lines = status.lines();
    let parent = lines.find_map(|line| line.strip_prefix("PPid:")).unwrap();
    Pid::from_raw(parent.trim().parse().unwrap()).unwrap()
}

#[test]
fn many_commands_in_containers_run_at_once() {
    let Some(host) = Host::new() else { return };
    let text = format!(
        "\
xavantes: 1
name: many
outputs: {{ all: gather.all }}
body:
  sequence:
    - for-each:
        item: n
        in: ${{ range(40) }}
        do:
          activity: one
          container: {IMAGE}
          run: {{ shell: 'echo ${{ n }} > out.txt; sleep 0.3' }}
          outputs: {{ out: out.txt }}
    - activity: gather
      container: {IMAGE}
      run: {{ shell: 'cat in/* > all.txt' }}
      inputs: {{ in/: 'one[*].out' }}
      outputs: {{ all: all.txt }}
"
    );
    let file = host.sandbox.file("many.yaml", text);
    let done = host.xav(&["run", &file, "--slots", "20", "--to", "results"]);
    assert_eq!(done.status, Some(0), "{done:?}");
    let all = fs::read_to_string(host.sandbox.path("results/all.txt")).unwrap();
    let mut numbers: Vec<u32> = all.lines().map(|line| line.parse().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..40).collect::<Vec<u32>>());
    assert_eq!(host.containers().as_deref(), Some(""));
}

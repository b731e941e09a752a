//! The environment, output and outcome of commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use activity_executor::Stream;
use model::Span;
use wire::executor::{Captured, Exit, Kept, NOTE_BYTES_MAX, Start, Stdin, ToExecutor};

use crate::bench::{Bench, attempt};

#[test]
fn ends_are_told_as_they_were() {
    let mut bench = Bench::new(2);
    let starts = vec![
        bench.start(0, &["true"]),
        bench.shell(1, "exit 77"),
        bench.shell(2, "kill -SEGV $$"),
        bench.shell(3, "i=0; while [ $i -lt 50000 ]; do i=$((i+1)); done"),
    ];
    bench.send(ToExecutor::Start(starts));
    let ended = bench.ended(4);
    assert_eq!(ended[&0].exit, Exit::Exited { code: 0 });
    assert_eq!(ended[&1].exit, Exit::Exited { code: 77 });
    assert_eq!(ended[&2].exit, Exit::Signaled { signal: 11 });
    assert_eq!(ended[&3].exit, Exit::Exited { code: 0 });
    assert_eq!(ended[&1].note, [1, 42]);
    assert_eq!(ended[&0].stdout, Captured::default());
    let busy = &ended[&3];
    assert!(busy.cpu_user > Span::from_millis(1), "{busy:?}");
    assert!(
        busy.wall >= busy.cpu_user && busy.peak_memory_bytes > 100_000,
        "{busy:?}"
    );
}

#[test]
fn streams_go_in_and_out() {
    let mut bench = Bench::new(1);
    let cat = Start {
        stdin: Stdin::Bytes(b"some input\0".repeat(20_000)),
        stdout_inline_max: 1 << 20,
        ..bench.shell(1, "cat; echo problem >&2")
    };
    let ended = bench.run(cat);
    assert_eq!(ended.stdout.inline, b"some input\0".repeat(20_000));
    assert_eq!(ended.stderr.inline, b"problem\n");
    assert_eq!(
        bench.log(1, Stream::Stdout, &ended.stdout),
        ended.stdout.inline
    );
    assert_eq!(bench.log(1, Stream::Stderr, &ended.stderr), b"problem\n");
    assert!(matches!(ended.stdout.kept, Kept::Log { .. }));

    fs::write(bench.path().join("in.txt"), "from a file").unwrap();
    let from_file = Start {
        stdin: Stdin::Path("in.txt".into()),
        ..bench.start(2, &["cat"])
    };
    assert_eq!(bench.run(from_file).stdout.inline, b"from a file");
    let from_nothing = bench.start(3, &["cat"]);
    assert_eq!(bench.run(from_nothing).stdout, Captured::default());
}

#[test]
fn long_streams_have_files_and_keep_the_right_end() {
    let mut bench = Bench::new(1);
    let start = Start {
        stdout_inline_max: 1_000,
        stderr_inline_max: 2_000,
        ..bench.shell(1, "seq 1 50000; seq 1 60000 >&2")
    };
    let ended = bench.run(start);
    let numbers = |last: u32| {
        (1..=last)
            .map(|n| format!("{n}\n"))
            .collect::<String>()
            .into_bytes()
    };
    let (stdout, stderr) = (numbers(50_000), numbers(60_000));
    assert_eq!(ended.stdout.bytes, stdout.len() as u64);
    assert_eq!(
        ended.stdout.kept,
        Kept::File {
            bytes: stdout.len() as u64
        }
    );
    assert_eq!(ended.stdout.inline, stdout[..1_000]);
    assert_eq!(ended.stderr.inline, stderr[stderr.len() - 2_000..]);
    assert_eq!(bench.log(1, Stream::Stdout, &ended.stdout), stdout);
    assert_eq!(bench.log(1, Stream::Stderr, &ended.stderr), stderr);
}

#[test]
fn commands_begin_clean() {
    let mut bench = Bench::new(3);
    let status = bench.start(1, &["grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status"]);
    let text = String::from_utf8(bench.run(status).stdout.inline).unwrap();
    // 32 and 33 belong to the C library, which lets nobody change them.
    let of_library = 0b11 << 31;
    let sets = text.lines().map(|line| line.split_once('\t').unwrap().1);
    let sets: Vec<u64> = sets
        .map(|set| u64::from_str_radix(set, 16).unwrap() & !of_library)
        .collect();
    assert_eq!(sets, [0, 0], "{text}");

    // Beside the three streams, ls has the directory itself open.
    let descriptors = bench.start(2, &["ls", "/proc/self/fd"]);
    assert_eq!(bench.run(descriptors).stdout.inline, b"0\n1\n2\n3\n");

    let environment = Start {
        env: vec![
            ("A".into(), "b=c".into()),
            ("XAVANTES_CORES".into(), "900".into()),
        ],
        cores: 2,
        ..bench.start(3, &["/usr/bin/env"])
    };
    assert_eq!(
        bench.run(environment).stdout.inline,
        b"A=b=c\nXAVANTES_CORES=2\n"
    );

    let group = bench.shell(4, "cut -d' ' -f1,5 /proc/$$/stat; pwd; ulimit -c; nice");
    let group = Start {
        nice: Some(5),
        ..group
    };
    let text = String::from_utf8(bench.run(group).stdout.inline).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let (pid, group) = lines[0].split_once(' ').unwrap();
    assert_eq!(pid, group);
    assert_eq!(lines[1..], [bench.path().to_str().unwrap(), "0", "5"]);
}

#[test]
fn programs_are_looked_up_beside_the_input_first() {
    let mut bench = Bench::new(1);
    let script = |name: &str, mode: u32, text: &str| {
        let path = bench.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    script("seq", 0o755, "#!/bin/sh\necho mine $1\n");
    script("cat", 0o644, "not executable");
    script("tools/run", 0o755, "#!/bin/sh\necho tool\n");
    let ours = bench.start(1, &["seq", "4"]);
    assert_eq!(bench.run(ours).stdout.inline, b"mine 4\n");
    let shadowed = bench.start(2, &["cat", "/dev/null"]);
    assert_eq!(bench.run(shadowed).exit, Exit::Exited { code: 0 });
    let relative = bench.start(3, &["tools/run"]);
    assert_eq!(bench.run(relative).stdout.inline, b"tool\n");
    let in_relative_path = Start {
        env: vec![("PATH".into(), "nowhere::tools".into())],
        ..bench.start(4, &["run"])
    };
    assert_eq!(bench.run(in_relative_path).stdout.inline, b"tool\n");
}

#[test]
fn failed_starts_name_the_reason() {
    let mut bench = Bench::new(2);
    let directory = bench.path().to_str().unwrap().to_owned();
    let file = |name: &str, mode: u32, text: &[u8]| {
        fs::write(bench.path().join(name), text).unwrap();
        let permissions = fs::Permissions::from_mode(mode);
        fs::set_permissions(bench.path().join(name), permissions).unwrap();
    };
    file("locked", 0o644, b"#!/bin/sh\n");
    file("noformat", 0o755, b"echo a script without its first line\n");
    file("nointerpreter", 0o755, b"#!/nowhere/sh\n");
    let starts = vec![
        bench.start(1, &["nosuch"]),
        bench.start(2, &["./locked"]),
        bench.start(3, &["locked"]),
        bench.start(4, &["noformat"]),
        bench.start(5, &["nointerpreter"]),
        Start {
            directory: "/nowhere/at/all".into(),
            ..bench.start(6, &["true"])
        },
        Start {
            directory: "here".into(),
            ..bench.start(7, &["true"])
        },
        bench.start(8, &[]),
        Start {
            cores: 3,
            ..bench.start(9, &["true"])
        },
        Start {
            stdin: Stdin::Path("nofile".into()),
            ..bench.start(10, &["cat"])
        },
        Start {
            stdin: Stdin::Path(".".into()),
            ..bench.start(11, &["cat"])
        },
        bench.start(12, &["echo", "a\0b"]),
        bench.start(13, &["/"]),
    ];
    bench.send(ToExecutor::Start(starts));
    let ended = bench.ended(13);
    let text: Vec<String> = ended
        .values()
        .map(|ended| match &ended.exit {
            Exit::NotStarted { errno, message } => {
                format!("{errno} {}", message.replace(&directory, "DIR"))
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        text,
        [
            "2 command not found: nosuch (searched DIR and PATH /usr/bin:/bin)",
            "13 permission denied: DIR/./locked is not an executable file",
            "13 permission denied: DIR/locked is not an executable file",
            "8 could not execute DIR/noformat: not an executable format (a script begins with a line such as #!/bin/sh)",
            "2 could not execute DIR/nointerpreter: the interpreter that its first line or header names was not found",
            "2 could not enter the directory /nowhere/at/all: No such file or directory (os error 2)",
            "22 the directory is not absolute: here",
            "22 the command line is empty",
            "0 could not start on 3 cores: there are 2",
            "2 could not open standard input DIR/nofile: No such file or directory (os error 2)",
            "22 standard input DIR/. is not a file",
            "22 the command line contains a NUL character",
            "13 permission denied: / is not an executable file",
        ]
    );
    assert_eq!(ended[&1].note, [1, 42]);
}

#[test]
fn two_hundred_commands_run_once_each_in_order() {
    let mut bench = Bench::new(1);
    let starts: Vec<Start> = (0..200)
        .map(|n| bench.shell(n, &format!("echo {n} >> order; echo {n}")))
        .collect();
    // Every start is sent twice.
    bench.send(ToExecutor::Start(starts[..100].to_vec()));
    bench.send(ToExecutor::Start(starts.clone()));
    bench.send(ToExecutor::Start(starts[50..].to_vec()));
    let ended = bench.ended(200);
    let order = fs::read_to_string(bench.path().join("order")).unwrap();
    let numbers: Vec<u32> = order.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(numbers, (0..200).collect::<Vec<u32>>());
    for (n, ended) in &ended {
        assert_eq!(ended.stdout.inline, format!("{n}\n").into_bytes());
        assert_eq!(
            bench.log(*n, Stream::Stdout, &ended.stdout),
            ended.stdout.inline
        );
    }
    // Ended attempts are answered, not run, until they are forgotten.
    assert_eq!(bench.run(starts[7].clone()).attempt, attempt(7));
    bench.send(ToExecutor::Forget(vec![attempt(7)]));
    assert_eq!(bench.run(starts[7].clone()).stdout.inline, b"7\n");
    let order = fs::read_to_string(bench.path().join("order")).unwrap();
    assert_eq!(order.lines().count(), 201);
}

#[test]
fn messages_of_failures_are_bounded() {
    let mut bench = Bench::new(1);
    let long = "x".repeat(100_000);
    let Exit::NotStarted { message, .. } = ({
        let start = bench.start(1, &[&long]);
        bench.run(start).exit
    }) else {
        panic!()
    };
    assert_eq!(message.len(), 4_096);
    let start = Start {
        note: vec![0; NOTE_BYTES_MAX + 1],
        ..bench.start(2, &["true"])
    };
    let ended = bench.run(start);
    let message = "could not take a note of 65537 bytes".to_owned();
    assert_eq!(ended.exit, Exit::NotStarted { errno: 0, message });
    assert!(ended.note.is_empty());
    let start = Start {
        note: vec![0; NOTE_BYTES_MAX],
        ..bench.start(3, &["true"])
    };
    assert_eq!(bench.run(start).note.len(), NOTE_BYTES_MAX);
}

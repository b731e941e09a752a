//! The daemon's connection: repeats, reconnects, garbage.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use wire::executor::{DaemonHello, FromExecutor, PROTOCOL, Start, ToExecutor};

use crate::bench::{Bench, PATIENCE, attempt, hello};

#[test]
fn retracted_attempts_never_run() {
    let mut bench = Bench::new(1);
    let running = bench.shell(1, "echo $$; sleep 1000");
    let queued = bench.shell(2, "touch ran");
    bench.send(ToExecutor::Start(vec![running, queued.clone()]));
    bench.written_pid(1);
    bench.send(ToExecutor::Retract(vec![
        attempt(1),
        attempt(2),
        attempt(3),
    ]));
    let (mut started, mut retracted) = (Vec::new(), Vec::new());
    while started.is_empty() || retracted.is_empty() {
        match bench.next() {
            FromExecutor::Started(more) => started = more,
            FromExecutor::Retracted(more) => retracted = more,
            _ => {}
        }
    }
    assert_eq!(started[0].attempt, attempt(1));
    assert_eq!(retracted, [attempt(2), attempt(3)]);
    // A start in flight comes too late, even with room for it.
    bench.send(ToExecutor::Stop(vec![attempt(1)]));
    bench.send(ToExecutor::Start(vec![queued]));
    let last = bench.start(4, &["true"]);
    bench.send(ToExecutor::Start(vec![last]));
    let ended = bench.ended(2);
    assert_eq!(ended.keys().copied().collect::<Vec<_>>(), [1, 4]);
    assert!(!bench.path().join("ran").exists());
}

#[test]
fn daemon_that_does_not_read_loses_nothing() {
    let mut bench = Bench::new(2);
    // 24 MB of outcomes, several times what is buffered, are read only at the end.
    let starts: Vec<Start> = (0..400)
        .map(|n| Start {
            stdout_inline_max: 100_000,
            ..bench.start(n, &["head", "-c", "60000", "/dev/zero"])
        })
        .collect();
    bench.send(ToExecutor::Start(starts));
    let ended = bench.ended(400);
    assert!(
        ended
            .values()
            .all(|ended| ended.stdout.inline == [0; 60_000])
    );
    // And all of them again to the next connection.
    let (_, held) = bench.reconnect(2);
    assert_eq!(held.len(), 400);
}

#[test]
fn nothing_starts_before_the_hello() {
    let mut bench = Bench::new(0);
    let start = bench.start(1, &["true"]);
    bench.send(ToExecutor::Start(vec![start]));
    bench.send(ToExecutor::Tail(attempt(1)));
    let FromExecutor::Output {
        attempt: asked,
        written: None,
    } = bench.next()
    else {
        panic!()
    };
    assert_eq!(asked, attempt(1));
    bench.send(hello(1));
    bench.ended(1);
}

#[test]
fn garbage_and_strangers_lose_their_connection_only() {
    let bench = Bench::new(1);
    let socket = bench.path().join("socket");
    let too_long = [0xff, 0xff, 0xff, 0x7f];
    let no_message = [3, 0, 0, 0, 0xff, 0xff, 0xff];
    let mut stranger = Vec::new();
    let other = DaemonHello {
        protocol: PROTOCOL + 1,
        cores: 1,
        linger: None,
        kill_grace: None,
        pace_since: None,
    };
    ToExecutor::Hello(other).append_frame(&mut stranger);
    for bytes in [&too_long[..], &no_message[..], &stranger[..]] {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(!rest.is_empty(), "the executor's hello comes first");
    }
    let mut bench = bench;
    bench.reconnect(1);
    let start = bench.shell(1, "echo fine");
    assert_eq!(bench.run(start).stdout.inline, b"fine\n");
}

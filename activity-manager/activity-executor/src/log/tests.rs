use super::*;

fn attempt(activity: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(1 << 40 | 7),
        activity: ActivityId(activity),
        number: 1,
    }
}

fn captured(kept: Kept) -> Captured {
    Captured {
        bytes: 1,
        inline: Vec::new(),
        kept,
    }
}

#[test]
fn records_are_read_back_by_later_executors_too() {
    let directory = tempfile::tempdir().unwrap();
    let mut places = Vec::new();
    for life in 0..3 {
        let mut log = Log::open(directory.path().to_owned()).unwrap();
        for activity in 0..10 {
            let stdout = format!("out {life} {activity}").into_bytes();
            let kept = log.record(attempt(life * 10 + activity), &stdout, &[b'e'; 5]);
            places.push((attempt(life * 10 + activity), kept, stdout));
        }
        log.flush();
    }
    for (attempt, kept, stdout) in places {
        let read = |stream| {
            read_log(directory.path(), attempt, stream, &captured(kept), u64::MAX).unwrap()
        };
        assert_eq!(read(Stream::Stdout), stdout);
        assert_eq!(read(Stream::Stderr), b"eeeee");
    }
}

#[test]
fn damage_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path().to_owned()).unwrap();
    let kept = log.record(attempt(1), b"hello", b"");
    log.flush();
    let read = |attempt, kept| {
        let error = read_log(
            directory.path(),
            attempt,
            Stream::Stdout,
            &captured(kept),
            100,
        )
        .unwrap_err();
        std::error::Error::source(&error).unwrap().to_string()
    };
    assert_eq!(read(attempt(2), kept), "it is a record of another attempt");
    let past = Kept::Log {
        segment: 1,
        offset: 1,
    };
    assert_eq!(read(attempt(1), past), "there is no record");
    let path = segment_path(directory.path(), 1);
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    assert_eq!(read(attempt(1), kept), "its checksum is wrong");
}

#[test]
fn segments_roll() {
    let directory = tempfile::tempdir().unwrap();
    let mut log = Log::open(directory.path().to_owned()).unwrap();
    let big = vec![b'x'; 1 << 20];
    let places: Vec<Kept> = (0..70)
        .map(|activity| log.record(attempt(activity), &big, b""))
        .collect();
    log.flush();
    assert!(matches!(
        places[0],
        Kept::Log {
            segment: 1,
            offset: 0
        }
    ));
    assert!(matches!(places[69], Kept::Log { segment: 2, .. }));
    for (activity, kept) in [(0, places[0]), (69, places[69])] {
        let captured = captured(kept);
        let read = read_log(
            directory.path(),
            attempt(activity),
            Stream::Stdout,
            &captured,
            10,
        );
        assert_eq!(read.unwrap(), b"xxxxxxxxxx");
    }
}

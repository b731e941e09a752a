use model::{ActivityId, ProcessId, Span};
use shell::InputReceiver;
use tempfile::TempDir;

use super::*;

struct Bench {
    dir: TempDir,
    blobs: Store,
    workers: Workers,
    receiver: InputReceiver<Input>,
}

impl Bench {
    fn new() -> Bench {
        Bench::beside(&Others::default())
    }

    fn beside(others: &Others) -> Bench {
        let dir = TempDir::new().unwrap();
        let blobs = Store::open(&dir.path().join("blobs")).unwrap();
        let (inbox, receiver) = shell::inbox();
        let workers = Workers::start(
            &Intermediates::new(blobs.clone()),
            &inbox,
            AtWork::default(),
            others,
        )
        .unwrap();
        Bench {
            dir,
            blobs,
            workers,
            receiver,
        }
    }

    fn directory(&self, number: u32) -> String {
        let path = self.dir.path().join(number.to_string());
        std::fs::create_dir_all(&path).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn next(&mut self) -> Input {
        self.receiver.next_within(Span::from_secs(20)).unwrap()
    }

    fn collected(&mut self) -> (AttemptId, Result<Vec<Artifact>, Trouble>) {
        let next = self.next();
        let Input::Collected { attempt, result } = next else {
            panic!("{next:?}")
        };
        (attempt, result)
    }
}

fn attempt(number: u32) -> AttemptId {
    AttemptId {
        process: ProcessId(1),
        activity: ActivityId(1),
        number,
    }
}

fn output(path: &str) -> Vec<Produced> {
    vec![Produced {
        name: "out".to_owned(),
        path: path.to_owned(),
    }]
}

/// A file that the first attempt has made.
fn made(bench: &mut Bench) -> Artifact {
    let directory = bench.directory(1);
    std::fs::write(format!("{directory}/a"), "hello").unwrap();
    bench.workers.give(&mut vec![Job::Collect {
        attempt: attempt(1),
        directory,
        outputs: output("a"),
        user: None,
    }]);
    bench.collected().1.unwrap()[0]
}

#[test]
fn inputs_that_cannot_all_be_laid_leave_nothing_behind() {
    let mut bench = Bench::new();
    let artifact = made(&mut bench);
    let second = bench.directory(2);
    // The second one finds its place taken.
    let inputs = vec![("in/b".to_owned(), artifact), ("in/b".to_owned(), artifact)];
    bench.workers.give(&mut vec![Job::Lay {
        attempt: attempt(2),
        workplace: Workplace {
            directory: second.clone(),
        },
        inputs,
        sources: Vec::new(),
    }]);
    let Input::Staged { result, .. } = bench.next() else {
        panic!("it is not told");
    };
    assert!(result.is_err());
    assert_eq!(std::fs::read_dir(second).unwrap().count(), 0);
}

#[test]
fn an_attempt_reads_outputs_of_another() {
    let mut bench = Bench::new();
    let artifact = made(&mut bench);
    let second = bench.directory(2);
    let workplace = Workplace {
        directory: second.clone(),
    };
    let inputs = vec![("in/b".to_owned(), artifact)];
    bench.workers.give(&mut vec![Job::Lay {
        attempt: attempt(2),
        workplace: workplace.clone(),
        inputs,
        sources: Vec::new(),
    }]);
    assert_eq!(
        bench.next(),
        Input::Staged {
            attempt: attempt(2),
            result: Ok(workplace)
        }
    );
    assert_eq!(
        std::fs::read_to_string(format!("{second}/in/b")).unwrap(),
        "hello"
    );
    assert!(!bench.workers.is_at(attempt(2)));
}

#[test]
fn an_output_that_is_missing_is_a_fault_with_its_name() {
    let mut bench = Bench::new();
    let directory = bench.directory(1);
    let job = Job::Collect {
        attempt: attempt(1),
        directory,
        outputs: output("a"),
        user: None,
    };
    bench.workers.give(&mut vec![job]);
    let trouble = bench.collected().1.unwrap_err();
    assert_eq!(trouble.name, FaultName::MissingOutput);
    assert_eq!(trouble.message, "output `out` is missing: there is no `a`");
}

#[test]
fn an_input_that_is_gone_is_told_by_its_place_and_nothing_is_left_of_the_others() {
    let mut bench = Bench::new();
    let artifact = bench.blobs.add_bytes(b"x").unwrap();
    let lost = Artifact {
        hash: model::Hash([7; 32]),
        ..artifact
    };
    let workplace = Workplace {
        directory: bench.directory(2),
    };
    let inputs = vec![("a".to_owned(), artifact), ("b".to_owned(), lost)];
    bench.workers.give(&mut vec![Job::Lay {
        attempt: attempt(2),
        workplace: workplace.clone(),
        inputs,
        sources: Vec::new(),
    }]);
    let lacking = Input::Lacking {
        attempt: attempt(2),
        inputs: vec![1],
        workplace: workplace.clone(),
    };
    assert_eq!(bench.next(), lacking);
    let mut left = std::fs::read_dir(&workplace.directory).unwrap();
    assert!(left.next().is_none());
}

#[test]
fn files_of_the_account_of_another_slot_are_no_outputs() {
    use std::os::unix::fs::MetadataExt;

    let here = TempDir::new().unwrap();
    let owner = std::fs::metadata(here.path()).unwrap().uid();
    let users: BTreeSet<u32> = [owner, owner + 1].into();
    let mut bench = Bench::beside(&Others {
        users,
        ..Others::default()
    });
    for (number, user) in [(1, owner), (2, owner + 1)] {
        let directory = bench.directory(number);
        std::fs::write(format!("{directory}/a"), "of the first").unwrap();
        bench.workers.give(&mut vec![Job::Collect {
            attempt: attempt(number),
            directory,
            outputs: output("a"),
            user: Some(user),
        }]);
        let result = bench.collected().1;
        assert_eq!(result.is_ok(), user == owner, "{result:?}");
    }
}

#[test]
fn many_jobs_are_each_done_once() {
    let mut bench = Bench::new();
    let mut jobs = Vec::new();
    for number in 0..200 {
        let directory = bench.directory(number);
        std::fs::write(format!("{directory}/a"), number.to_string()).unwrap();
        for _ in 0..2 {
            let (directory, outputs) = (directory.clone(), output("a"));
            jobs.push(Job::Collect {
                attempt: attempt(number),
                directory,
                outputs,
                user: None,
            });
        }
    }
    bench.workers.give(&mut jobs);
    let mut done: Vec<u32> = (0..200)
        .map(|_| {
            let (attempt, result) = bench.collected();
            assert_eq!(result.unwrap().len(), 1);
            attempt.number
        })
        .collect();
    done.sort_unstable();
    assert!(done.into_iter().eq(0..200));
    assert!(bench.receiver.next_within(Span::ZERO).is_none());
}

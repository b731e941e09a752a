use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;

use model::{ProcessId, Span};
use tempfile::TempDir;
use wire::client::{Phase, Progress, Totals};
use wire::frame;

use super::*;
use crate::client::ClientError;
use crate::inbox::{InputReceiver, inbox};
use crate::limits::{CLIENT_WAITING_BYTES_MAX, CLIENTS_MAX, CLIENTS_WAITING_MAX};

enum Input {
    Asked(u64, u64, Request),
    Gone(u64),
}

const CLIENT_INPUTS: ClientInputs<Input> = ClientInputs {
    request: |client, _, number, request| Input::Asked(client, number, request),
    gone: Input::Gone,
};

struct Bench {
    dir: TempDir,
    clients: Clients<Input>,
    receiver: InputReceiver<Input>,
}

impl Bench {
    fn new() -> Bench {
        let dir = TempDir::new().unwrap();
        let (inbox, receiver) = inbox();
        let mut clients = Clients::new(&inbox, CLIENT_INPUTS);
        clients.listen(&dir.path().join("s")).unwrap();
        Bench {
            dir,
            clients,
            receiver,
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("s")
    }

    fn next(&mut self) -> Input {
        self.receiver.next_within(Span::from_secs(60)).unwrap()
    }

    fn request(&mut self) -> (u64, u64, Request) {
        match self.next() {
            Input::Asked(client, number, request) => (client, number, request),
            Input::Gone(client) => panic!("client {client} has gone"),
        }
    }

    fn gone(&mut self) -> u64 {
        match self.next() {
            Input::Gone(client) => client,
            Input::Asked(_, _, request) => panic!("{request:?}"),
        }
    }
}

fn progress(phase: Phase) -> Answer {
    Answer::Progress(Box::new(Progress {
        process: ProcessId(5),
        revision: 1,
        phase,
        totals: Totals::default(),
        controllers: Vec::new(),
        running: Vec::new(),
        left: None,
        left_p90: None,
        rescheduled: None,
        n_rescheduled: 0,
        waiting_for: None,
        run_again: Vec::new(),
        n_run_again: 0,
        backoff: None,
        machines: Vec::new(),
    }))
}

#[test]
fn a_question_is_answered_over_the_socket_which_only_its_user_can_use() {
    let mut bench = Bench::new();
    assert_eq!(fs::metadata(bench.path()).unwrap().mode() & 0o777, 0o600);
    let path = bench.path();
    let asker = std::thread::spawn(move || {
        let mut client = Client::connect(&path).unwrap();
        let first = client.ask(Request::List).unwrap();
        (first, client.ask(Request::Cancel(ProcessId(1))).unwrap())
    });
    let answers = bench.clients.answers();
    let (client, number, request) = bench.request();
    assert_eq!(request, Request::List);
    answers.send(client, number, Answer::Processes(Vec::new()));
    let (client, number, request) = bench.request();
    assert_eq!(request, Request::Cancel(ProcessId(1)));
    answers.send(client, number, Answer::Unknown(ProcessId(1)));
    let expected = (Answer::Processes(Vec::new()), Answer::Unknown(ProcessId(1)));
    assert_eq!(asker.join().unwrap(), expected);
    assert_eq!(bench.gone(), client);
    answers.send(client, 9, Answer::Unknown(ProcessId(1)));
}

#[test]
fn a_watch_goes_on_until_the_process_has_ended() {
    let mut bench = Bench::new();
    let mut client = bench.clients.join().unwrap();
    let mut watch = client.watch(ProcessId(5)).unwrap();
    assert!(watch.next_within(Span::from_millis(1)).unwrap().is_none());
    let (asking, number, _) = bench.request();
    let answers = bench.clients.answers();
    for phase in [Phase::Running, Phase::Running, Phase::Completed] {
        answers.send(asking, number, progress(phase));
    }
    let phases: Vec<Phase> = watch
        .by_ref()
        .map(|progress| progress.unwrap().phase)
        .collect();
    assert_eq!(phases, [Phase::Running, Phase::Running, Phase::Completed]);
    assert!(watch.has_ended());
    let mut watch = client.watch(ProcessId(6)).unwrap();
    let (asking, number, _) = bench.request();
    answers.send(asking, number, Answer::Unknown(ProcessId(6)));
    let error = watch.next().unwrap().unwrap_err();
    assert!(matches!(error, ClientError::UnknownProcess(ProcessId(6))));
}

#[test]
fn malformed_requests_are_answered_or_end_the_connection() {
    let mut bench = Bench::new();
    let mut stream = UnixStream::connect(bench.path()).unwrap();
    let mut unknown = Vec::new();
    // An envelope with number 3 and a message whose variant has index 999.
    frame::append(&mut unknown, |out| {
        out.extend_from_slice(&[0x82, 3, 0x82, 0x19, 0x03, 0xe7, 0x80]);
    });
    stream.write_all(&unknown).unwrap();
    let mut body = Vec::new();
    assert!(frame::read(&mut stream, 1 << 20, &mut body).unwrap());
    let answer: Envelope<Answer> = wire::decode(&body).unwrap();
    assert!(matches!(
        answer,
        Envelope {
            number: 3,
            message: Some(Answer::Refused(_))
        }
    ));
    stream.write_all(&u32::MAX.to_le_bytes()).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(bench.gone(), 1);
    let mut stream = UnixStream::connect(bench.path()).unwrap();
    stream.write_all(&[3, 0, 0, 0, 0xff, 0xff, 0xff]).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    assert_eq!(bench.gone(), 2);
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let mut bench = Bench::new();
    let mut client = bench.clients.join().unwrap();
    let _watch = client.watch(ProcessId(5)).unwrap();
    let (asking, number, _) = bench.request();
    let answers = bench.clients.answers();
    let long = || Answer::Refused(vec!["x".repeat(1 << 20)]);
    for _ in 0..=CLIENT_WAITING_BYTES_MAX >> 20 {
        answers.send(asking, number, long());
    }
    assert_eq!(bench.gone(), asking);
}

#[test]
fn there_are_never_more_clients_than_the_limit() {
    let mut bench = Bench::new();
    let mut clients: Vec<Client> = (0..CLIENTS_MAX)
        .map(|_| bench.clients.join().unwrap())
        .collect();
    assert!(bench.clients.join().is_err());
    clients.pop();
    bench.gone();
    assert!(bench.clients.join().is_ok());
    drop(bench);
    assert!(matches!(
        clients[0].ask(Request::List),
        Err(ClientError::Closed | ClientError::Io { .. })
    ));
}

/// Clients that connect at once in the tests of the queue: more than have a place.
const MANY: usize = 300;

/// The number of clients that wait, as one of them is told.
fn n_waiting(stream: &mut impl Read) -> u32 {
    let mut body = Vec::new();
    assert!(frame::read(stream, 1 << 10, &mut body).unwrap());
    let told: Envelope<Answer> = wire::decode(&body).unwrap();
    let Some(Answer::Queued(n_waiting)) = told.message else {
        panic!("{told:?}");
    };
    n_waiting
}

#[test]
fn clients_beyond_the_limit_wait_for_their_turn() {
    let mut bench = Bench::new();
    let ask = |path: PathBuf| {
        let mut client = Client::connect(&path).unwrap();
        client.ask(Request::List).unwrap()
    };
    let askers: Vec<_> = (0..MANY)
        .map(|_| {
            let path = bench.path();
            std::thread::spawn(move || ask(path))
        })
        .collect();
    let served: Vec<(u64, u64, Request)> = (0..CLIENTS_MAX).map(|_| bench.request()).collect();
    // Nobody has left, so nobody else has a place, and this one hears that it waits.
    let mut late = UnixStream::connect(bench.path()).unwrap();
    assert!(n_waiting(&mut late) >= 1);
    let mut late = Client::over(late);
    let watch = late.watch(ProcessId(5)).unwrap();
    let answers = bench.clients.answers();
    for (client, number, _) in served {
        answers.send(client, number, Answer::Processes(Vec::new()));
    }
    let (mut n_asked, mut n_gone) = (CLIENTS_MAX, 0);
    // Whoever leaves after its answer makes room for the next.
    while n_asked <= MANY || n_gone < MANY {
        match bench.next() {
            Input::Asked(client, number, Request::List) => {
                n_asked += 1;
                answers.send(client, number, Answer::Processes(Vec::new()));
            }
            Input::Asked(client, number, request) => {
                assert_eq!(request, Request::Watch(ProcessId(5)));
                n_asked += 1;
                answers.send(client, number, progress(Phase::Completed));
            }
            Input::Gone(_) => n_gone += 1,
        }
    }
    for asker in askers {
        assert_eq!(asker.join().unwrap(), Answer::Processes(Vec::new()));
    }
    assert_eq!(watch.count(), 1);
}

#[test]
fn clients_that_wait_and_leave_cost_the_others_no_turn() {
    let mut bench = Bench::new();
    let connect = || UnixStream::connect(bench.path()).unwrap();
    let served: Vec<UnixStream> = (0..CLIENTS_MAX).map(|_| connect()).collect();
    let leaving: Vec<UnixStream> = (0..CLIENTS_WAITING_MAX).map(|_| connect()).collect();
    // The last one was told that it waits, so all of them are in the queue.
    let mut told = [0; 4];
    (&leaving[CLIENTS_WAITING_MAX - 1])
        .read_exact(&mut told)
        .unwrap();
    let mut refused = connect();
    assert_eq!(refused.read(&mut told).unwrap(), 0);
    drop(leaving);
    let mut last = Client::connect(&bench.path()).unwrap();
    let mut watch = last.watch(ProcessId(5)).unwrap();
    drop(served);
    let (client, number) = loop {
        match bench.next() {
            Input::Asked(client, number, _) => break (client, number),
            Input::Gone(_) => {}
        }
    };
    let answers = bench.clients.answers();
    answers.send(client, number, progress(Phase::Completed));
    assert!(watch.next().unwrap().is_ok());
}

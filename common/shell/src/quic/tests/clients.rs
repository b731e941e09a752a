//! Clients on other machines, admitted by certificates, together with those of the socket.

use std::io::{Read, Write};
use std::sync::{Arc, OnceLock};

use model::ProcessId;
use wire::client::{Answer, Phase, Progress, Request, Totals};

use super::*;
use crate::client::{Client, ClientError};
use crate::clients::{ClientInputs, Clients};
use crate::limits::{REMOTE_CONNECTIONS_EACH_MAX, REMOTE_MESSAGE_BYTES_MAX};

/// The address of clients.
const HERE: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

enum Input {
    Asked(u64, Option<Identity>, u64, Request),
    Gone,
}

const CLIENT_INPUTS: ClientInputs<Input> = ClientInputs {
    request: |client, who, number, request| Input::Asked(client, who.cloned(), number, request),
    gone: |_| Input::Gone,
};

/// A process manager that knows nothing and accepts clients.
struct Manager {
    links: Option<Links>,
    clients: Arc<OnceLock<Clients<Input>>>,
    came: InputReceiver<Input>,
    credentials: Credentials,
    state: TempDir,
}

impl Manager {
    fn new(group: &Group) -> Manager {
        let credentials = group.member(Role::Pm, 1);
        let (inbox, came) = inbox();
        let clients = Arc::new(OnceLock::new());
        assert!(clients.set(Clients::new(&inbox, CLIENT_INPUTS)).is_ok());
        let mut manager = Manager {
            links: None,
            clients,
            came,
            credentials,
            state: TempDir::new().unwrap(),
        };
        manager.listen(any_port());
        manager
    }

    fn listen(&mut self, address: SocketAddr) {
        let config = LinkConfig {
            address,
            credentials: self.credentials.clone(),
            epoch: LinkEpoch::begin(self.state.path()).unwrap(),
            resource: None,
            requests: None,
            accepts: vec![Role::User, Role::Admin],
        };
        let clients = Arc::clone(&self.clients);
        let links = Links::bind(config, move |event| {
            if let Event::Up(link) = event {
                match clients.get().unwrap().connect_as(&link.peer, link.address) {
                    Ok(stream) => link.carry(stream),
                    Err(_) => link.refuse(wire::hello::Refusal::Full),
                }
            }
        });
        self.links = Some(links.unwrap());
    }

    fn address(&self) -> SocketAddr {
        self.links.as_ref().unwrap().address()
    }

    /// Ends silently, and starts again with another epoch.
    fn start_again(&mut self) {
        let address = self.address();
        self.links.take().unwrap().vanish();
        self.listen(address);
    }

    fn dial(&self, group: &Group, n: u32) -> Result<Client, ClientError> {
        self.dial_as(&group.member(Role::User, n))
    }

    fn dial_as(&self, credentials: &Credentials) -> Result<Client, ClientError> {
        let peer = self.credentials.identity();
        Client::dial(credentials, &self.address().to_string(), peer)
    }

    /// The next request, and its sender.
    fn asked(&mut self) -> (u64, String, u64, Request) {
        loop {
            match self.came.next_within(PATIENCE).unwrap() {
                Input::Asked(client, who, number, request) => {
                    return (client, who.unwrap().to_string(), number, request);
                }
                Input::Gone => {}
            }
        }
    }

    fn answer(&self, client: u64, number: u64, answer: Answer) {
        let clients = self.clients.get().unwrap();
        clients.answers().send(client, number, answer);
    }
}

fn progress(revision: u64, phase: Phase) -> Answer {
    Answer::Progress(Box::new(Progress {
        process: ProcessId(5),
        revision,
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
fn each_client_is_told_apart_by_its_certificate_and_a_user_may_have_several() {
    let group = Group::new();
    let mut manager = Manager::new(&group);
    let mut clients: Vec<Client> = [2, 2, 3].map(|n| manager.dial(&group, n).unwrap()).into();
    let askers: Vec<_> = clients
        .drain(..)
        .map(|mut client| std::thread::spawn(move || client.ask(Request::List).unwrap()))
        .collect();
    let mut who = Vec::new();
    for _ in 0..3 {
        let (client, name, number, request) = manager.asked();
        assert_eq!(request, Request::List);
        who.push(name);
        manager.answer(client, number, Answer::Processes(Vec::new()));
    }
    who.sort();
    let user = |n: u32| format!("xav://grid/lab/user/n{n}");
    assert_eq!(who, [user(2), user(2), user(3)]);
    for asker in askers {
        assert_eq!(asker.join().unwrap(), Answer::Processes(Vec::new()));
    }
}

#[test]
fn unanswered_requests_are_repeated_to_the_next_epoch() {
    let group = Group::new();
    let mut manager = Manager::new(&group);
    let mut client = manager.dial(&group, 2).unwrap();
    let asker = std::thread::spawn(move || {
        let cancelled = client.ask(Request::Cancel(ProcessId(1))).unwrap();
        (cancelled, client.ask(Request::Forget(ProcessId(2))), client)
    });
    let (_, _, number, request) = manager.asked();
    assert_eq!(request, Request::Cancel(ProcessId(1)));
    manager.start_again();
    let (client, _, again, request) = manager.asked();
    assert_eq!((again, request), (number, Request::Cancel(ProcessId(1))));
    manager.answer(client, again, Answer::Cancelling(ProcessId(1)));
    // A process that was forgotten after the first request is unknown to the second.
    let (_, _, _, request) = manager.asked();
    assert_eq!(request, Request::Forget(ProcessId(2)));
    manager.start_again();
    let (client, _, number, _) = manager.asked();
    manager.answer(client, number, Answer::Unknown(ProcessId(2)));
    let (cancelled, forgotten, mut client) = asker.join().unwrap();
    assert_eq!(cancelled, Answer::Cancelling(ProcessId(1)));
    assert_eq!(forgotten.unwrap(), Answer::Forgotten(ProcessId(2)));
    // A first request for an unknown process just reports that.
    let asker = std::thread::spawn(move || client.ask(Request::Forget(ProcessId(3))).unwrap());
    let (client, _, number, _) = manager.asked();
    manager.answer(client, number, Answer::Unknown(ProcessId(3)));
    assert_eq!(asker.join().unwrap(), Answer::Unknown(ProcessId(3)));
}

#[test]
fn a_watch_goes_on_with_the_next_epoch() {
    let group = Group::new();
    let mut manager = Manager::new(&group);
    let mut client = manager.dial(&group, 2).unwrap();
    let watcher = std::thread::spawn(move || {
        let watch = client.watch(ProcessId(5)).unwrap();
        let all = watch.map(|progress| progress.unwrap().revision);
        all.collect::<Vec<u64>>()
    });
    let (client, _, number, _) = manager.asked();
    manager.answer(client, number, progress(7, Phase::Running));
    manager.start_again();
    let (client, _, number, request) = manager.asked();
    assert_eq!(request, Request::Watch(ProcessId(5)));
    manager.answer(client, number, progress(1, Phase::Running));
    manager.answer(client, number, progress(2, Phase::Completed));
    let seen = watcher.join().unwrap();
    // It is random whether the first request arrived before the end of that epoch.
    assert!(seen.ends_with(&[1, 2]), "{seen:?}");
}

#[test]
fn a_stranger_is_refused_with_the_reason() {
    let (group, other) = (Group::new(), Group::new());
    let manager = Manager::new(&group);
    let reason = |result: Result<Client, ClientError>| {
        let error = result.err().expect("nobody lets it in");
        let ClientError::Reach { source, .. } = error else {
            panic!("{error:?}")
        };
        source.to_string()
    };
    let why = reason(manager.dial(&other, 2));
    assert_eq!(
        why,
        "refused the peer: the certificate is of an authority that is not trusted"
    );
    let am = group.member(Role::Am, 4);
    let why = reason(manager.dial_as(&am));
    assert_eq!(
        why,
        "refused by the peer: the role in the certificate is not served here"
    );
    let user = group.member(Role::User, 2);
    let stranger = group.member(Role::Pm, 5).identity().clone();
    let why = reason(Client::dial(
        &user,
        &manager.address().to_string(),
        &stranger,
    ));
    assert_eq!(
        why,
        "refused the peer: the certificate is not of the one that was dialled"
    );
}

#[test]
fn one_user_takes_no_places_of_others() {
    let group = Group::new();
    let manager = Manager::new(&group);
    let clients = manager.clients.get().unwrap();
    let [ana, ben] = [2, 3].map(|n| group.member(Role::User, n).identity().clone());
    let mut remote: Vec<_> = (0..REMOTE_CONNECTIONS_EACH_MAX)
        .map(|_| clients.connect_as(&ana, HERE).unwrap())
        .collect();
    let refused = clients.connect_as(&ana, HERE).unwrap_err().to_string();
    assert_eq!(
        refused,
        format!("xav://grid/lab/user/n2 has {REMOTE_CONNECTIONS_EACH_MAX} connections")
    );
    remote.push(clients.connect_as(&ben, HERE).unwrap());
    assert!(clients.join().is_ok());
}

#[test]
fn a_remote_request_that_is_too_long_ends_its_own_connection() {
    let group = Group::new();
    let mut manager = Manager::new(&group);
    let clients = Arc::clone(&manager.clients);
    let ana = group.member(Role::User, 2).identity().clone();
    let mut stream = clients.get().unwrap().connect_as(&ana, HERE).unwrap();
    let mut neighbour = manager.dial(&group, 2).unwrap();
    let bytes = u32::try_from(REMOTE_MESSAGE_BYTES_MAX + 1).unwrap();
    stream.write_all(&bytes.to_le_bytes()).unwrap();
    assert_eq!(stream.read(&mut [0; 8]).unwrap(), 0);
    let asker = std::thread::spawn(move || neighbour.ask(Request::List).unwrap());
    let (client, _, number, _) = manager.asked();
    manager.answer(client, number, Answer::Processes(Vec::new()));
    assert_eq!(asker.join().unwrap(), Answer::Processes(Vec::new()));
}

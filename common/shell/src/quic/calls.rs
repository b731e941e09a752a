//! A client's connection to a manager on another machine: dialled when it is needed and again when
//! it is lost, so that the caller only sees one stream after another.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::net::UnixStream;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Epoch, Identity, Mono, Span};
use quinn::{ClientConfig, Endpoint, EndpointConfig, TokioRuntime};
use ring::rand::{SecureRandom, SystemRandom};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use wire::hello::{Hello, PROTOCOLS, Refusal};

use super::dialling::resolve;
use super::endpoint::{client_config, duration};
use super::error::{LinkError, code};
use super::forwarder::first;
use super::greeting::{self, Greeted};
use super::retry;
use super::socket;
use super::stream;
use super::trust::Trust;
use crate::clock;
use crate::identity::Credentials;
use crate::limits::{LINK_GREETING_MAX, LINK_RETRY_MAX};

/// Time for which the end waits for its farewell to be sent, which takes a turn of the thread; every
/// command waits for it. A manager that misses it notices silence instead.
pub(super) const FAREWELL: Duration = Duration::from_millis(1);

/// The streams to one manager, one at a time. Dropping it ends the last one.
pub(crate) struct Calls {
    shared: Arc<Shared>,
    thread: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// The manager to dial, and the credentials for it.
struct Target {
    address: String,
    peer: Identity,
    hello: Hello,
    client: ClientConfig,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// A connection that nobody has taken yet.
    stream: Option<UnixStream>,
    /// Why there is no stream, since the last one.
    trouble: Option<LinkError>,
    /// True if another try would fail alike.
    is_final: bool,
}

impl Calls {
    /// Dials a manager for as long as this is held. `address` is host and port, resolved at each
    /// attempt.
    pub(crate) fn begin(
        credentials: &Credentials,
        address: &str,
        peer: &Identity,
    ) -> Result<Calls, LinkError> {
        let trust = Trust::of(credentials).map_err(failed)?;
        let target = Target {
            address: address.to_owned(),
            peer: peer.clone(),
            hello: Hello {
                protocols: PROTOCOLS,
                identity: credentials.identity().to_string(),
                epoch: Epoch(0),
                resource: None,
                program: env!("CARGO_PKG_VERSION").to_owned(),
            },
            client: client_config(&trust),
        };
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed)?;
        let shared = Arc::new(Shared::default());
        let theirs = Arc::clone(&shared);
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new()
            .name("call".to_owned())
            .spawn(move || runtime.block_on(serve(&target, &theirs, stopped)))
            .map_err(failed)?;
        Ok(Calls {
            shared,
            thread: Some((stop, thread)),
        })
    }

    /// The next stream; none if there was none until then. An error means that there will be none.
    pub(crate) fn next(&self, until: Option<Mono>) -> Result<Option<UnixStream>, LinkError> {
        let mut state = self.shared.lock();
        loop {
            if let Some(stream) = state.stream.take() {
                return Ok(Some(stream));
            }
            if let (true, Some(error)) = (state.is_final, &state.trouble) {
                return Err(error.clone());
            }
            let changed = &self.shared.changed;
            state = match until {
                None => changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(until) => {
                    let left = duration(until.since(clock::mono()));
                    if left.is_zero() {
                        return Ok(None);
                    }
                    let waited = changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// The reason why there is no stream, if there is one.
    pub(crate) fn trouble(&self) -> Option<LinkError> {
        self.shared.lock().trouble.clone()
    }
}

impl Drop for Calls {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn say(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }
}

fn failed(error: impl fmt::Display) -> LinkError {
    LinkError::Failed(error.to_string())
}

/// Dials until it is told to stop or dialling is pointless.
async fn serve(target: &Target, shared: &Shared, stopped: oneshot::Receiver<()>) {
    let dialler = Dialler::default();
    let error = first([
        pin!(async {
            let _ = stopped.await;
            // Dropping the connection alone would tell the peer nothing.
            dialler.close();
            LinkError::Refused(Refusal::Stopping)
        }),
        pin!(call(target, shared, &dialler)),
    ])
    .await;
    shared.say(|state| {
        state.trouble = Some(error);
        state.is_final = true;
    });
    if let Some(endpoint) = dialler.close() {
        let _ = timeout(FAREWELL, endpoint.wait_idle()).await;
    }
}

/// The socket to dial from, opened once the address family is known.
#[derive(Default)]
struct Dialler(Mutex<Option<Endpoint>>);

impl Dialler {
    /// Ends all connections and notifies the peers. Returns the endpoint that ends.
    fn close(&self) -> Option<Endpoint> {
        let endpoint = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()?;
        let why = Refusal::Stopping;
        endpoint.close(code(why), why.to_string().as_bytes());
        Some(endpoint)
    }

    /// The endpoint that fits an address.
    fn towards(&self, target: SocketAddr) -> io::Result<Endpoint> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_fit = |kept: &Endpoint| {
            let own = kept.local_addr();
            own.is_ok_and(|own| own.is_ipv4() == target.is_ipv4())
        };
        let endpoint = match kept.take().filter(is_fit) {
            Some(endpoint) => endpoint,
            None => open(target)?,
        };
        Ok(kept.insert(endpoint).clone())
    }
}

/// Dials repeatedly. Returns the error that makes further tries pointless.
async fn call(target: &Target, shared: &Shared, dialler: &Dialler) -> LinkError {
    let mut n_failures = 0_u32;
    let mut n_silent = 0_u32;
    loop {
        let patience = retry::patience(n_silent);
        let longest = duration(patience + LINK_GREETING_MAX);
        let dialled = timeout(longest, dial(target, dialler, patience)).await;
        n_silent = match dialled {
            Ok(Err(LinkError::Silent)) | Err(_) => n_silent.saturating_add(1),
            Ok(_) => 0,
        };
        let error = match dialled.unwrap_or(Err(LinkError::Silent)) {
            Ok((greeted, ours, theirs)) => {
                shared.say(|state| {
                    state.stream = Some(ours);
                    state.trouble = None;
                });
                let began = tokio::time::Instant::now();
                let error = stream::run(greeted, theirs).await;
                if began.elapsed() > duration(LINK_RETRY_MAX) {
                    n_failures = 0;
                }
                error
            }
            Err(error) => error,
        };
        if is_final(&error) {
            return error;
        }
        shared.say(|state| state.trouble = Some(error));
        n_failures = n_failures.saturating_add(1);
        let mut drawn = [0; 4];
        // Without a random number the pause is the longest one.
        let _ = SystemRandom::new().fill(&mut drawn);
        let drawn = u32::from_le_bytes(drawn);
        sleep(duration(retry::pause(n_failures, drawn))).await;
    }
}

async fn dial(
    target: &Target,
    dialler: &Dialler,
    patience: Span,
) -> Result<(Greeted, UnixStream, UnixStream), LinkError> {
    let address = resolve(&target.address).await?;
    let connecting = dialler
        .towards(address)
        .map_err(failed)?
        // The name is not sent and not compared: the certificate names the peer otherwise.
        .connect_with(target.client.clone(), address, "xavantes")
        .map_err(failed)?;
    let connection = retry::reach_within(connecting, patience).await?;
    let greeted = greeting::greet(connection, &target.peer, &target.hello).await?;
    let (ours, theirs) = UnixStream::pair().map_err(failed)?;
    Ok((greeted, ours, theirs))
}

fn open(target: SocketAddr) -> io::Result<Endpoint> {
    let any = match target {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let (socket, runtime) = (socket::open(any)?, Arc::new(TokioRuntime));
    Endpoint::new(EndpointConfig::default(), None, socket, runtime)
}

/// Returns true if another try would fail alike. The answers of a manager that starts or is crowded
/// are not final.
fn is_final(error: &LinkError) -> bool {
    match error {
        LinkError::Refused(refusal) | LinkError::RefusedByPeer(refusal) => match refusal {
            Refusal::Protocol
            | Refusal::Greeting
            | Refusal::Pretender
            | Refusal::Role
            | Refusal::Group
            | Refusal::Stranger
            | Refusal::Authority
            | Refusal::Expired
            | Refusal::Revoked
            | Refusal::Certificate => true,
            Refusal::Stopping
            | Refusal::Replaced
            | Refusal::Late
            | Refusal::Epoch
            | Refusal::Full
            | Refusal::Number
            | Refusal::Slow
            | Refusal::TooLong
            | Refusal::Malformed => false,
        },
        LinkError::Silent
        | LinkError::Forgotten
        | LinkError::Ended(_)
        | LinkError::Failed(_)
        | LinkError::Address { .. } => false,
    }
}

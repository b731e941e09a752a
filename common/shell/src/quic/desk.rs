//! Questions and answers beside links: each on a stream of its own, on a connection for nothing
//! else. The only door through which somebody without a certificate gets a word in.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use model::{Identity, Span};
use quinn::{Connection, ReadExactError, RecvStream, SendStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::admin::{ASK_BYTES_MAX, MEMBER_ASK_BYTES_MAX, TOLD_BYTES_MAX};
use wire::frame::{self, HEADER_BYTES};
use wire::hello::Refusal;

use super::error::LinkError;
use super::greeting::refuse;
use super::links::duration;
use crate::clock;
use crate::identity::{Certificate, Revocations};
use crate::limits::{
    DESK_ANSWER_MAX, DESK_QUESTIONS_MAX, DESK_VISITS_EACH_MAX, DESK_VISITS_MAX, LINK_GREETING_MAX,
    STRANGER_QUESTION_MAX, STRANGER_QUESTIONS_MAX,
};

/// Who answers questions. It is called from a thread of its own, one question at a time.
pub trait Desk: Send {
    /// The answer to a question.
    fn answer(&mut self, asker: Asker<'_>, question: &[u8]) -> Vec<u8>;
}

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The certificate of the connection; none where a stranger asks.
    pub certificate: Option<&'a Certificate>,
    /// Where the question comes from.
    pub address: IpAddr,
}

/// A question that waits for its answer.
struct Question {
    certificate: Option<Certificate>,
    address: IpAddr,
    bytes: Vec<u8>,
    answer: oneshot::Sender<Vec<u8>>,
}

/// The desk of a program's links.
#[derive(Default)]
pub(super) struct Counter {
    questions: Mutex<Option<SyncSender<Question>>>,
    /// Questions of strangers that wait.
    n_of_strangers: AtomicUsize,
    /// Visits by the identities of their members.
    visits: Mutex<BTreeMap<String, usize>>,
}

impl Counter {
    /// Opens a desk. The thread ends with [`Counter::close`], and the desk with it.
    pub(super) fn open(&self, mut desk: Box<dyn Desk>) -> io::Result<JoinHandle<()>> {
        let (sender, questions): (_, Receiver<Question>) = sync_channel(DESK_QUESTIONS_MAX);
        let serve = move || {
            for question in questions {
                let asker = Asker {
                    certificate: question.certificate.as_ref(),
                    address: question.address,
                };
                let answer = desk.answer(asker, &question.bytes);
                // Whoever has gone needs no answer.
                let _ = question.answer.send(answer);
            }
        };
        let thread = std::thread::Builder::new()
            .name("desk".to_owned())
            .spawn(serve)?;
        *self.lock() = Some(sender);
        Ok(thread)
    }

    /// Takes no more questions.
    pub(super) fn close(&self) {
        self.lock().take();
    }

    pub(super) fn is_open(&self) -> bool {
        self.lock().is_some()
    }

    fn put(&self, question: Question) -> Result<(), Refusal> {
        let sender = self.lock().clone().ok_or(Refusal::Role)?;
        sender.try_send(question).map_err(|_| Refusal::Slow)
    }

    fn visits(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        // Nothing panics while it holds the lock.
        self.visits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Option<SyncSender<Question>>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The visit of a member at the desk.
struct Visit<'a> {
    counter: &'a Counter,
    identity: String,
}

impl<'a> Visit<'a> {
    /// None where there are too many visits, or too many of this member.
    fn begin(counter: &'a Counter, identity: &Identity) -> Option<Visit<'a>> {
        let identity = identity.to_string();
        let mut visits = counter.visits();
        let n_all: usize = visits.values().sum();
        let n_own = visits.get(&identity).copied().unwrap_or_default();
        if n_all >= DESK_VISITS_MAX || n_own >= DESK_VISITS_EACH_MAX {
            return None;
        }
        visits.insert(identity.clone(), n_own + 1);
        drop(visits);
        Some(Visit { counter, identity })
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        let mut visits = self.counter.visits();
        match visits.get_mut(&self.identity) {
            Some(n_own) if *n_own > 1 => *n_own -= 1,
            Some(_) | None => {
                visits.remove(&self.identity);
            }
        }
    }
}

/// A question of a stranger that waits.
struct Waiting<'a>(&'a Counter);

impl<'a> Waiting<'a> {
    /// None where too many of them wait.
    fn begin(counter: &'a Counter) -> Option<Waiting<'a>> {
        let before = counter.n_of_strangers.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(counter);
        (before < STRANGER_QUESTIONS_MAX).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.n_of_strangers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves a peer without a certificate: one question, asked at once.
pub(super) async fn serve_stranger(
    connection: &Connection,
    counter: &Counter,
    address: IpAddr,
) -> Result<(), LinkError> {
    let asking = async {
        let (send, mut recv) = connection.accept_bi().await?;
        let bytes = read(connection, &mut recv, ASK_BYTES_MAX).await?;
        Ok((send, bytes))
    };
    let asked = timeout(duration(STRANGER_QUESTION_MAX), asking).await;
    let (mut send, bytes) = asked.unwrap_or(Err(LinkError::Refused(Refusal::Late)))?;
    let waiting = Waiting::begin(counter).ok_or(LinkError::Refused(Refusal::Slow))?;
    answer(connection, counter, (None, address), bytes, &mut send).await?;
    drop(waiting);
    // The answer arrives before the end.
    let patience = duration(STRANGER_QUESTION_MAX);
    let _ = timeout(patience, connection.closed()).await;
    refuse(connection, Refusal::Stopping);
    Ok(())
}

/// Serves a member, which may ask for as long as it likes.
pub(super) async fn serve_member(
    connection: &Connection,
    counter: &Counter,
    member: (&Certificate, IpAddr),
    me: &Identity,
    revocations: impl Fn() -> Arc<Revocations>,
) -> LinkError {
    let identity = &member.0.identity;
    if (identity.grid(), identity.group()) != (me.grid(), me.group()) {
        return refuse(connection, Refusal::Group);
    }
    let Some(_visit) = Visit::begin(counter, identity) else {
        return refuse(connection, Refusal::Full);
    };
    loop {
        if let Err(error) = one_of(connection, counter, member, &revocations).await {
            return error;
        }
    }
}

/// A question of a member, which may have been revoked since the connection began.
async fn one_of(
    connection: &Connection,
    counter: &Counter,
    (member, address): (&Certificate, IpAddr),
    revocations: impl Fn() -> Arc<Revocations>,
) -> Result<(), LinkError> {
    let (mut send, mut recv) = connection.accept_bi().await?;
    if revocations().contains(&member.serial) {
        return Err(refuse(connection, Refusal::Revoked));
    }
    if clock::wall() > member.not_after {
        return Err(refuse(connection, Refusal::Expired));
    }
    let reading = read(connection, &mut recv, MEMBER_ASK_BYTES_MAX);
    let bytes = timeout(duration(LINK_GREETING_MAX), reading).await;
    let bytes = bytes.unwrap_or_else(|_| Err(refuse(connection, Refusal::Late)))?;
    let asker = (Some(member.clone()), address);
    answer(connection, counter, asker, bytes, &mut send).await
}

async fn answer(
    connection: &Connection,
    counter: &Counter,
    (certificate, address): (Option<Certificate>, IpAddr),
    bytes: Vec<u8>,
    send: &mut SendStream,
) -> Result<(), LinkError> {
    let (sender, answered) = oneshot::channel();
    let question = Question {
        certificate,
        address,
        bytes,
        answer: sender,
    };
    counter
        .put(question)
        .map_err(|refusal| refuse(connection, refusal))?;
    let told = timeout(duration(DESK_ANSWER_MAX), answered).await;
    let Ok(Ok(told)) = told else {
        return Err(refuse(connection, Refusal::Slow));
    };
    let writing = write(send, &told);
    let written = timeout(duration(DESK_ANSWER_MAX), writing).await;
    written.unwrap_or_else(|_| Err(refuse(connection, Refusal::Slow)))
}

/// Asks one question on a connection to a desk.
pub(super) async fn ask(connection: &Connection, question: &[u8]) -> Result<Vec<u8>, LinkError> {
    let (mut send, mut recv) = connection.open_bi().await?;
    write(&mut send, question).await?;
    read(connection, &mut recv, TOLD_BYTES_MAX).await
}

async fn write(send: &mut SendStream, body: &[u8]) -> Result<(), LinkError> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    frame::append(&mut bytes, |out| out.extend_from_slice(body));
    send.write_all(&bytes).await?;
    let _ = send.finish();
    Ok(())
}

async fn read(
    connection: &Connection,
    recv: &mut RecvStream,
    bytes_max: usize,
) -> Result<Vec<u8>, LinkError> {
    let unreadable = |error| match error {
        ReadExactError::FinishedEarly(_) => refuse(connection, Refusal::Malformed),
        ReadExactError::ReadError(error) => error.into(),
    };
    let mut header = [0; HEADER_BYTES];
    recv.read_exact(&mut header).await.map_err(unreadable)?;
    // The length is compared before there is room for it.
    let bytes = usize::try_from(u32::from_le_bytes(header))
        .ok()
        .filter(|bytes| *bytes <= bytes_max)
        .ok_or_else(|| refuse(connection, Refusal::TooLong))?;
    let mut body = vec![0; bytes];
    recv.read_exact(&mut body).await.map_err(unreadable)?;
    Ok(body)
}

/// How long somebody waits for an answer, the way there and back included.
pub(super) const PATIENCE: Span = Span(2 * LINK_GREETING_MAX.0 + DESK_ANSWER_MAX.0);

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter")
            .field("is_open", &self.is_open())
            .finish_non_exhaustive()
    }
}

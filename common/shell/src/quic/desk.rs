//! Questions and answers beside links: each on a stream of its own, on a connection for nothing
//! else. The only door through which somebody without a certificate gets a word in.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use model::{Identity, Span};
use quinn::{Connection, ReadExactError, RecvStream, SendStream};
use tokio::sync::oneshot;
use tokio::time::timeout;
use wire::admin::{ASK_BYTES_MAX, MEMBER_ASK_BYTES_MAX, TOLD_BYTES_MAX};
use wire::frame::{self, HEADER_BYTES};
use wire::hello::Refusal;

use super::error::LinkError;
use super::greeting::{certificate, refuse};
use super::links::duration;
use crate::clock;
use crate::identity::{Certificate, Revocations};
use crate::limits::{DESK_ANSWER_MAX, DESK_QUESTIONS_MAX, DESK_VISITS_MAX, LINK_GREETING_MAX};

/// Who answers questions. It is called from a thread of its own, one question at a time.
pub trait Desk: Send {
    /// The answer to a question; who asks is known by the certificate, if there is one.
    fn answer(&mut self, visitor: Option<&Certificate>, question: &[u8]) -> Vec<u8>;
}

/// A question that waits for its answer.
struct Question {
    visitor: Option<Certificate>,
    bytes: Vec<u8>,
    answer: oneshot::Sender<Vec<u8>>,
}

/// The desk of a program's links.
#[derive(Default)]
pub(super) struct Counter {
    questions: Mutex<Option<SyncSender<Question>>>,
    n_visits: AtomicUsize,
}

impl Counter {
    /// Opens a desk. The thread ends with [`Counter::close`], and the desk with it.
    pub(super) fn open(&self, mut desk: Box<dyn Desk>) -> io::Result<JoinHandle<()>> {
        let (sender, questions): (_, Receiver<Question>) = sync_channel(DESK_QUESTIONS_MAX);
        let serve = move || {
            for question in questions {
                let answer = desk.answer(question.visitor.as_ref(), &question.bytes);
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<SyncSender<Question>>> {
        self.questions
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place among the members that are at the desk.
struct Visit<'a>(&'a Counter);

impl<'a> Visit<'a> {
    fn begin(counter: &'a Counter) -> Option<Visit<'a>> {
        let before = counter.n_visits.fetch_add(1, Ordering::Relaxed);
        let visit = Visit(counter);
        (before < DESK_VISITS_MAX).then_some(visit)
    }
}

impl Drop for Visit<'_> {
    fn drop(&mut self) {
        self.0.n_visits.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Serves one who has come to the desk. `guest` is a place among those who have said nothing: a
/// stranger keeps it until the end, a member gives it back.
pub(super) async fn serve<G>(
    connection: &Connection,
    counter: &Counter,
    me: &Identity,
    revocations: impl Fn() -> Arc<Revocations>,
    guest: G,
) -> LinkError {
    let Some(member) = certificate(connection) else {
        if connection.peer_identity().is_some() {
            return refuse(connection, Refusal::Certificate);
        }
        let patience = duration(LINK_GREETING_MAX);
        let asked = timeout(patience, one(connection, counter, None)).await;
        let error = match asked {
            Ok(Ok(())) => {
                // The answer arrives before the end.
                let _ = timeout(patience, connection.closed()).await;
                refuse(connection, Refusal::Stopping)
            }
            Ok(Err(error)) => error,
            Err(_) => refuse(connection, Refusal::Late),
        };
        drop(guest);
        return error;
    };
    drop(guest);
    if (member.identity.grid(), member.identity.group()) != (me.grid(), me.group()) {
        return refuse(connection, Refusal::Group);
    }
    let Some(_visit) = Visit::begin(counter) else {
        return refuse(connection, Refusal::Full);
    };
    loop {
        if let Err(error) = one_of(connection, counter, &member, &revocations).await {
            return error;
        }
    }
}

/// A question of a member, who may have been revoked since the connection began.
async fn one_of(
    connection: &Connection,
    counter: &Counter,
    member: &Certificate,
    revocations: impl Fn() -> Arc<Revocations>,
) -> Result<(), LinkError> {
    let (send, recv) = connection.accept_bi().await?;
    if revocations().contains(&member.serial) {
        return Err(refuse(connection, Refusal::Revoked));
    }
    if clock::wall() > member.not_after {
        return Err(refuse(connection, Refusal::Expired));
    }
    answer(connection, counter, Some(member), send, recv).await
}

async fn one(
    connection: &Connection,
    counter: &Counter,
    visitor: Option<&Certificate>,
) -> Result<(), LinkError> {
    let (send, recv) = connection.accept_bi().await?;
    answer(connection, counter, visitor, send, recv).await
}

async fn answer(
    connection: &Connection,
    counter: &Counter,
    visitor: Option<&Certificate>,
    mut send: SendStream,
    mut recv: RecvStream,
) -> Result<(), LinkError> {
    let bytes_max = match visitor {
        Some(_) => MEMBER_ASK_BYTES_MAX,
        None => ASK_BYTES_MAX,
    };
    let reading = read(connection, &mut recv, bytes_max);
    let bytes = timeout(duration(LINK_GREETING_MAX), reading).await;
    let bytes = bytes.unwrap_or_else(|_| Err(refuse(connection, Refusal::Late)))?;
    let (sender, answered) = oneshot::channel();
    let question = Question {
        visitor: visitor.cloned(),
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
    let writing = write(&mut send, &told);
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

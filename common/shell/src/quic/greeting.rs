//! The first frames of a connection: both sides identify themselves, and their certificates must
//! agree.

use model::{Identity, Role};
use quinn::{Connection, ReadExactError, RecvStream, SendStream};
use rustls::pki_types::CertificateDer;
use wire::frame::{self, HEADER_BYTES};
use wire::hello::{HELLO_BYTES_MAX, Hello, PROTOCOLS, Refusal};

use super::error::{LinkError, code};
use crate::identity::Certificate;

/// A connection with an identified peer.
pub(super) struct Greeted {
    pub(super) connection: Connection,
    pub(super) send: SendStream,
    pub(super) recv: RecvStream,
    pub(super) certificate: Certificate,
    pub(super) hello: Hello,
    pub(super) protocol: u16,
}

/// The expected peer.
pub(super) enum Wanted<'a> {
    /// The peer of this name.
    Peer(&'a Identity),
    /// Peers of the own group with one of these roles.
    Roles(&'a [Role], &'a Identity),
}

/// Greets the dialled peer. Refusals close the connection with their number.
pub(super) async fn greet(
    connection: Connection,
    expected: &Identity,
    hello: &Hello,
) -> Result<Greeted, LinkError> {
    let certificate = known(&connection, &Wanted::Peer(expected))?;
    let (mut send, mut recv) = connection.open_bi().await?;
    say(&mut send, hello).await?;
    let (answer, protocol) = hear(&connection, &mut recv, &certificate).await?;
    Ok(Greeted {
        connection,
        send,
        recv,
        certificate,
        hello: answer,
        protocol,
    })
}

/// Receives the greeting of a dialling peer. [`answer`] answers it, once there is a place for the
/// link.
pub(super) async fn listen(
    connection: Connection,
    roles: &[Role],
    me: &Identity,
) -> Result<Greeted, LinkError> {
    let certificate = known(&connection, &Wanted::Roles(roles, me))?;
    let (send, mut recv) = connection.accept_bi().await?;
    let (hello, protocol) = hear(&connection, &mut recv, &certificate).await?;
    Ok(Greeted {
        connection,
        send,
        recv,
        certificate,
        hello,
        protocol,
    })
}

/// Tells the dialling peer that the link is established.
pub(super) async fn answer(greeted: &mut Greeted, hello: &Hello) -> Result<(), LinkError> {
    say(&mut greeted.send, hello).await
}

/// Closes a connection with a reason.
pub(super) fn refuse(connection: &Connection, refusal: Refusal) -> LinkError {
    connection.close(code(refusal), refusal.to_string().as_bytes());
    LinkError::Refused(refusal)
}

/// The certificate of the other side; none if it has none or the certificate has no identity.
pub(super) fn certificate(connection: &Connection) -> Option<Certificate> {
    let chain = connection.peer_identity()?;
    let chain = chain.downcast::<Vec<CertificateDer<'static>>>().ok()?;
    Certificate::read(chain.first()?).ok()
}

/// The certificate of an expected peer. Others are refused with the reason.
pub(super) fn known(
    connection: &Connection,
    wanted: &Wanted<'_>,
) -> Result<Certificate, LinkError> {
    let certificate =
        certificate(connection).ok_or_else(|| refuse(connection, Refusal::Certificate))?;
    let peer = &certificate.identity;
    let refusal = match wanted {
        Wanted::Peer(expected) => (!peer.has_name_of(expected)).then_some(Refusal::Stranger),
        Wanted::Roles(roles, me) => {
            if (peer.grid(), peer.group()) != (me.grid(), me.group()) {
                Some(Refusal::Group)
            } else {
                (!roles.contains(&peer.role())).then_some(Refusal::Role)
            }
        }
    };
    match refusal {
        None => Ok(certificate),
        Some(refusal) => Err(refuse(connection, refusal)),
    }
}

async fn say(send: &mut SendStream, hello: &Hello) -> Result<(), LinkError> {
    let mut frame = Vec::new();
    frame::append(&mut frame, |body| {
        body.extend_from_slice(&wire::encode(hello));
    });
    send.write_all(&frame).await?;
    Ok(())
}

async fn hear(
    connection: &Connection,
    recv: &mut RecvStream,
    certificate: &Certificate,
) -> Result<(Hello, u16), LinkError> {
    let unreadable = |error| match error {
        ReadExactError::FinishedEarly(_) => refuse(connection, Refusal::Greeting),
        ReadExactError::ReadError(error) => error.into(),
    };
    let mut header = [0; HEADER_BYTES];
    recv.read_exact(&mut header).await.map_err(unreadable)?;
    // The length is checked before memory is allocated.
    let bytes = u32::from_le_bytes(header);
    let bytes = usize::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes <= HELLO_BYTES_MAX)
        .ok_or_else(|| refuse(connection, Refusal::TooLong))?;
    let mut body = vec![0; bytes];
    recv.read_exact(&mut body).await.map_err(unreadable)?;
    let hello: Hello = wire::decode(&body).map_err(|_| refuse(connection, Refusal::Greeting))?;
    if hello.identity != certificate.identity.to_string() {
        return Err(refuse(connection, Refusal::Pretender));
    }
    let protocol = PROTOCOLS.common(hello.protocols);
    let protocol = protocol.ok_or_else(|| refuse(connection, Refusal::Protocol))?;
    Ok((hello, protocol))
}

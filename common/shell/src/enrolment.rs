//! Becoming a member of a group with a join token.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};
use std::path::{Path, PathBuf};
use std::{fs, io};

use model::{Identity, Role};
use thiserror::Error;
use wire::admin::{Join, Joined, Refused, Request, Response};
use wire::hello::Refusal;

use crate::environment;
use crate::identity::{Credentials, CredentialsError, JoinToken, KeyError, Revocations};
use crate::quic::{self, LinkError, Requester};

/// How often a group manager is asked that is crowded, or whose answer is lost.
const TRIES_MAX: u32 = 3;

/// Why somebody did not become a member.
#[derive(Debug, Error)]
pub enum EnrolmentError {
    /// The token is for something else.
    #[error("the join token is for {found}, not for {wanted}")]
    Role {
        /// What it is for.
        found: Role,
        /// What was to join.
        wanted: Role,
    },
    /// There is a certificate already.
    #[error("{} has a certificate already", .0.display())]
    Taken(PathBuf),
    /// No key could be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The group manager was not reached, or is not the one that made the token.
    #[error("could not ask the group manager at {address}")]
    Link {
        /// Where it should be.
        address: String,
        /// What happened.
        #[source]
        source: LinkError,
    },
    /// The group manager does not want it.
    #[error("refused by the group manager: {0}")]
    Refused(Refused),
    /// The group manager's answer is none.
    #[error("could not use the group manager's answer")]
    Unfit,
    /// The certificate cannot be used or written.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
}

/// Refuses a directory that has a certificate.
pub(crate) fn refuse_member(identity: &Path) -> Result<(), EnrolmentError> {
    if identity.join("certificate.pem").exists() {
        return Err(EnrolmentError::Taken(identity.to_owned()));
    }
    Ok(())
}

/// What somebody would like to be.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// Under this name or not at all.
    pub name: Option<&'a str>,
    /// The name where the token does not say one either.
    pub otherwise: &'a str,
    /// Where others dial it, as host and port.
    pub address: Option<&'a str>,
}

/// Asks the group manager that made a token for a certificate, and writes it with its key into the
/// directory `identity`. Where that has a key already, of a try that was interrupted, it is the one that
/// is used: with the same token, the answer is the same. Gives who that is, and whom to dial. Nothing is
/// said to anybody whose authority is not the token's.
pub fn join(
    token: &JoinToken,
    role: Role,
    wishes: &Wishes<'_>,
    identity: &Path,
) -> Result<(Identity, Joined), EnrolmentError> {
    if token.role != role {
        let found = token.role;
        return Err(EnrolmentError::Role {
            found,
            wanted: role,
        });
    }
    // Before anybody hears of it, and the one of a try that was interrupted: the group manager gives
    // the holder of a key the same answer again.
    let (key, made) = Credentials::key_of(identity)?;
    let ask = Request::Join(Join {
        secret: token.secret(),
        role: role.word().to_owned(),
        name: wishes.name.map(str::to_owned),
        request: key.request()?,
        address: wishes.address.map(str::to_owned),
        otherwise: Some(wishes.otherwise.to_owned()),
    });
    let requester = Requester::Stranger {
        authority: token.authority,
        grid: &token.grid,
        group: &token.group,
    };
    let question = wire::encode(&ask);
    let mut told = quic::ask(&token.address, requester, &question);
    for _ in 1..TRIES_MAX {
        match &told {
            // The same request has the same answer, if it was heard and the answer was lost.
            Err(LinkError::Silent | LinkError::Ended(_))
            | Err(LinkError::RefusedByPeer(Refusal::Full | Refusal::Slow)) => {
                told = quic::ask(&token.address, requester, &question);
            }
            Ok(_) | Err(_) => break,
        }
    }
    let told = told.map_err(|source| EnrolmentError::Link {
        address: token.address.clone(),
        source,
    })?;
    let joined = match wire::decode(&told) {
        Ok(Response::Joined(joined)) => joined,
        Ok(Response::Refused(refused)) => {
            // Nobody was told of this key: nothing is left behind.
            for path in made.iter().rev() {
                let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
            }
            return Err(EnrolmentError::Refused(refused));
        }
        Ok(_) | Err(_) => return Err(EnrolmentError::Unfit),
    };
    let credentials = Credentials::new(
        &joined.certificate,
        &key,
        &joined.authority,
        Revocations::default(),
    )?;
    let is_ours =
        credentials.fingerprint() == token.authority && credentials.identity().role() == role;
    if !is_ours {
        return Err(EnrolmentError::Unfit);
    }
    Credentials::save(identity, &joined.certificate, &key, &joined.authority)?;
    Ok((credentials.identity().clone(), joined))
}

/// The name that a machine has where nobody gives it one: the first part of its host name.
pub fn name_default() -> String {
    let host = environment::hostname().to_lowercase();
    let first = host.split('.').next().unwrap_or_default();
    let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let plain = first.chars().map(|letter| {
        if is_plain(letter) || letter == '-' {
            letter
        } else {
            '-'
        }
    });
    let name: String = plain.take(model::NAME_BYTES_MAX).collect();
    let name = name.trim_start_matches('-');
    if name.is_empty() {
        "machine".to_owned()
    } else {
        name.to_owned()
    }
}

/// The address of this machine from which `peer`, host and port, is reached; where others of its
/// network reach this one.
pub fn own_address(peer: &str) -> io::Result<IpAddr> {
    let mut found = peer.to_socket_addrs()?;
    let peer = found
        .next()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the name has no address"))?;
    let any: SocketAddr = if peer.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED, 0).into()
    } else {
        (Ipv6Addr::UNSPECIFIED, 0).into()
    };
    // Nothing is sent: the system only says which way it would go.
    let socket = UdpSocket::bind(any)?;
    socket.connect(peer)?;
    Ok(socket.local_addr()?.ip())
}

#[test]
fn a_machine_has_a_name_and_finds_itself() {
    let name = name_default();
    assert!(Identity::new("g", "g", Role::Am, &name).is_ok());
    assert_eq!(own_address("127.0.0.1:9").unwrap(), Ipv4Addr::LOCALHOST);
    assert!(own_address("nowhere").is_err());
}

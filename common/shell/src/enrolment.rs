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

/// Number of times that a group manager is asked that is crowded or whose answer is lost.
const TRIES_MAX: u32 = 3;

/// Why a join failed.
#[derive(Debug, Error)]
pub enum EnrolmentError {
    /// The token is for another role.
    #[error("the join token is for {found}, not for {wanted}")]
    Role {
        /// The role of the token.
        found: Role,
        /// The role of the daemon.
        wanted: Role,
    },
    /// The directory has a certificate already.
    #[error("{} has a certificate already", .0.display())]
    Taken(PathBuf),
    /// No key could be made.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The group manager was not reached, or it is not the one that made the token.
    #[error("could not ask the group manager at {address}")]
    Link {
        /// The dialled address.
        address: String,
        /// The error.
        #[source]
        source: LinkError,
    },
    /// The group manager refused the request.
    #[error("refused by the group manager: {0}")]
    Refused(Refused),
    /// The group manager's answer does not fit.
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

/// The wanted name and address of a new member.
#[derive(Clone, Copy, Debug)]
pub struct Wishes<'a> {
    /// The required name, if any.
    pub name: Option<&'a str>,
    /// The name to use where the token names nobody either.
    pub otherwise: &'a str,
    /// The address at which others dial it, as host and port.
    pub address: Option<&'a str>,
}

/// Requests a certificate from the group manager that made the token, and writes it with its key
/// into the directory `identity`. If an interrupted join has left a key there, that key is used, so
/// that the same token gives the same answer. Returns the new identity and the members to dial.
/// Sends nothing to a server whose authority is not the token's.
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
    // The key is stored before the request is sent and kept by an interrupted join: the group
    // manager repeats its answer for the same key.
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
            // The server repeats its answer for the same request, in case the first answer was
            // lost.
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
            // The server knows nothing of this key, so it is removed.
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

/// The default name of a machine: the first part of its host name.
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

/// The local address from which `peer` (host and port) is reached.
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
    // Connecting a UDP socket sends nothing; the system only selects the route.
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

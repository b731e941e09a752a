//! What a group manager answers beside its links: who joins, who is there, what counts no more.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::{Identity, Role, Span};
use shell::identity::{Certificate, Entry, Registrar, RegistrarError, Revocations, TokenId};
use shell::{Lack, clock};
use wire::admin::{
    Ask, CertificateLine, Contact, Join, Joined, LogWish, Presence, Present, Refused, Told, Trouble,
};

use crate::Handle;
use crate::members::Members;

/// The file of what was revoked, in a member's directory.
const REVOKED: &str = "revoked";

/// Answers of a group manager. What it answers is durable before it answers.
pub struct Desk {
    /// None where the authority is elsewhere: then nobody joins or renews here.
    pub registrar: Option<Arc<Mutex<Registrar>>>,
    /// The manager.
    pub manager: Arc<Handle>,
    /// Who it is.
    pub me: Identity,
    /// Where others dial it, as host and port.
    pub address: String,
    /// Where its certificate is.
    pub identity: PathBuf,
    /// Its log.
    pub log: PathBuf,
    /// Raised when something was revoked.
    pub has_news: Arc<AtomicBool>,
    /// Whoever has said that it is there.
    pub members: Members,
    /// Whether its own disk is full.
    pub lack: Lack,
}

/// Why there is no answer but a refusal.
type Answer = Result<Told, Refused>;

impl shell::quic::Desk for Desk {
    fn answer(&mut self, visitor: Option<&Certificate>, question: &[u8]) -> Vec<u8> {
        let told = match wire::decode::<Ask>(question) {
            Ok(ask) => self.tell(visitor, ask),
            Err(_) => Err(Refused::Unreadable),
        };
        wire::encode(&told.unwrap_or_else(Told::Refused))
    }
}

impl Desk {
    fn tell(&mut self, visitor: Option<&Certificate>, ask: Ask) -> Answer {
        let role = visitor.map(|visitor| visitor.identity.role());
        let only = |roles: &[Role], whom: &str| match role {
            Some(role) if roles.contains(&role) => Ok(()),
            Some(_) | None => Err(Refused::Role(whom.to_owned())),
        };
        let admins = || only(&[Role::Admin], "administrators");
        match ask {
            Ask::Join(join) => self.join(&join),
            Ask::CreateToken {
                role,
                name,
                lifetime,
            } => {
                admins()?;
                self.create_token(&role, name.as_deref(), lifetime)
            }
            Ask::Certificates => {
                admins()?;
                self.certificates()
            }
            Ask::Renew { request } => {
                let visitor = visitor.ok_or(Refused::Role("members".to_owned()))?;
                let mut registrar = self.registrar()?;
                let issued = registrar.renew(&visitor.serial, &request, clock::wall());
                let issued = issued.map_err(|error| refused(&error))?;
                tracing::info!(member = %visitor.identity, "a certificate was renewed");
                Ok(Told::Renewed {
                    certificate: issued.pem,
                })
            }
            Ask::Revoke { what } => {
                admins()?;
                self.revoke(&what)
            }
            Ask::Present(presence) => {
                only(&[Role::Pm, Role::Am], "process and activity managers")?;
                let visitor = visitor.ok_or(Refused::Unreadable)?;
                self.present(&visitor.identity, presence)
            }
            Ask::Nodes => {
                only(&[Role::Admin, Role::User, Role::Pm], "users")?;
                self.nodes()
            }
            Ask::Drain { name, is_drained } => {
                admins()?;
                match self.manager.drain(&name, is_drained) {
                    Some(true) => Ok(Told::Drained),
                    Some(false) => Err(Refused::Not(format!(
                        "there is no machine {:?}",
                        name.chars().take(80).collect::<String>()
                    ))),
                    None => Err(no_answer()),
                }
            }
            Ask::Log { lines, of, from } => {
                admins()?;
                self.log(of.as_deref(), LogWish { lines, from })
            }
            Ask::Written(part) => {
                only(&[Role::Pm, Role::Am], "process and activity managers")?;
                let visitor = visitor.ok_or(Refused::Unreadable)?;
                self.members.written(&visitor.identity, part);
                Ok(Told::Taken)
            }
        }
    }

    fn join(&self, join: &Join) -> Answer {
        let mut registrar = self.registrar()?;
        let now = clock::wall();
        let role: Role = join
            .role
            .parse()
            .map_err(|error| Refused::Not(format!("{error}")))?;
        let entry = Entry {
            token: TokenId::of(&join.secret),
            role,
            name: join.name.as_deref(),
            otherwise: join.otherwise.as_deref(),
            request: &join.request,
            address: join.address.as_deref(),
        };
        let issued = registrar.join(entry, now).map_err(|error| {
            tracing::warn!(token = %entry.token, %error, "somebody was not let in");
            refused(&error)
        })?;
        tracing::info!(member = %issued.certificate.identity, "a member has joined");
        Ok(Told::Joined(Joined {
            certificate: issued.pem,
            authority: registrar.authority().pem().to_owned(),
            group_manager: Contact {
                name: self.me.name().to_owned(),
                address: self.address.clone(),
            },
            process_managers: process_managers(&registrar),
        }))
    }

    fn create_token(&self, role: &str, name: Option<&str>, lifetime: Span) -> Answer {
        let role: Role = role
            .parse()
            .map_err(|error| Refused::Not(format!("{error}")))?;
        let mut registrar = self.registrar()?;
        let times = (clock::wall(), lifetime);
        let token = registrar.create_token(role, name, &self.address, times);
        let token = token.map_err(|error| refused(&error))?;
        tracing::info!(token = %token.id(), %role, "a join token was made");
        Ok(Told::Token {
            text: token.text(),
            expires: token.expires,
        })
    }

    fn certificates(&self) -> Answer {
        let registrar = self.registrar()?;
        let mut lines: Vec<CertificateLine> = registrar
            .roll()
            .iter()
            .map(|(serial, _)| line(&registrar, serial))
            .collect();
        lines.sort_by(|a, b| (a.not_before, &a.identity).cmp(&(b.not_before, &b.identity)));
        Ok(Told::Certificates(lines))
    }

    fn revoke(&self, what: &str) -> Answer {
        let mut registrar = self.registrar()?;
        let serials = registrar.revoke(what, (&self.me, clock::wall()));
        let serials = serials.map_err(|error| refused(&error))?;
        // The manager itself reads it again, and its links of those members end.
        let kept = registrar.revocations().save(&self.identity.join(REVOKED));
        kept.map_err(|error| Refused::Failed(error.to_string()))?;
        self.has_news.store(true, Ordering::Release);
        let lines: Vec<CertificateLine> = serials
            .iter()
            .map(|serial| line(&registrar, serial))
            .collect();
        for line in &lines {
            tracing::info!(member = line.identity, "a certificate was revoked");
        }
        Ok(Told::Revoked(lines))
    }

    fn present(&mut self, who: &Identity, presence: Presence) -> Answer {
        let known = presence.revision;
        let now = clock::mono();
        let log = self.members.present(who, presence, now);
        let Some(registrar) = &self.registrar else {
            let revision = known;
            return Ok(Told::Present(Present {
                revision,
                log,
                ..Present::default()
            }));
        };
        let registrar = lock(registrar);
        let revision = revision(registrar.revocations());
        Ok(Told::Present(Present {
            revision,
            revoked: (known != revision).then(|| registrar.revocations().render()),
            process_managers: process_managers(&registrar),
            log,
        }))
    }

    /// A part of a log. That of another daemon comes with what that says of itself next.
    fn log(&mut self, of: Option<&str>, wish: LogWish) -> Answer {
        let own = [Role::Gm.word(), self.me.name()];
        let is_own = |of: &str| own.contains(&of.strip_prefix("gm/").unwrap_or(of));
        let part = match of {
            Some(of) if !is_own(of) => {
                let nodes = self.manager.nodes().unwrap_or_default();
                let machines = nodes.into_iter().map(|node| (Role::Am, node.name));
                let managers = self.registrar().map(|it| process_managers(&it));
                let managers = managers.unwrap_or_default().into_iter();
                let managers = managers.map(|contact| (Role::Pm, contact.name));
                let others: Vec<(Role, String)> = managers.chain(machines).collect();
                match self.members.log(of, wish, &others, clock::mono())? {
                    Some(part) => part,
                    None => return Ok(Told::Awaited),
                }
            }
            Some(_) | None => shell::log_part(&self.log, &wish),
        };
        match part.trouble {
            Some(trouble) => Err(Refused::Failed(trouble)),
            None => Ok(Told::Log(part)),
        }
    }

    fn nodes(&self) -> Answer {
        let mut nodes = self.manager.nodes().ok_or_else(no_answer)?;
        for node in &mut nodes {
            if let Some(presence) = self.members.machine(&node.name) {
                node.program = Some(presence.program.clone());
                node.load = presence.load.clone();
            }
        }
        let own = self.lack.why().map(|why| Trouble {
            daemon: format!("{} {}", self.me.role(), self.me.name()),
            why,
        });
        let others = self.members.troubles(clock::mono());
        Ok(Told::Nodes(nodes, own.into_iter().chain(others).collect()))
    }

    fn registrar(&self) -> Result<MutexGuard<'_, Registrar>, Refused> {
        let registrar = self.registrar.as_ref().ok_or_else(|| {
            let text = "this group manager has no authority: its configuration names none";
            Refused::Not(text.to_owned())
        })?;
        Ok(lock(registrar))
    }
}

/// Counts up with what was revoked.
fn revision(revocations: &Revocations) -> u64 {
    revocations.iter().count() as u64
}

fn process_managers(registrar: &Registrar) -> Vec<Contact> {
    let contacts = registrar.contacts(Role::Pm, clock::wall()).into_iter();
    contacts
        .map(|(name, address)| Contact { name, address })
        .collect()
}

fn line(registrar: &Registrar, serial: &shell::identity::Serial) -> CertificateLine {
    let signed = registrar.roll().get(serial);
    let revoked = registrar.revocations().get(serial);
    CertificateLine {
        serial: serial.to_string(),
        identity: signed.map_or_else(String::new, |signed| signed.identity.to_string()),
        not_before: signed.map_or_else(Default::default, |signed| signed.not_before),
        not_after: signed.map_or_else(Default::default, |signed| signed.not_after),
        revoked: revoked.map(|revoked| revoked.at),
    }
}

fn refused(error: &RegistrarError) -> Refused {
    Refused::Not(error.to_string())
}

fn no_answer() -> Refused {
    Refused::Failed("its core does not answer".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

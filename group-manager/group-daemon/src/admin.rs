//! The group manager's answers to requests beside its links: joining, machines, certificates, logs.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use group_core::{GivenUp, Holder};
use model::{Identity, ProcessId, Role, Span};
use shell::audit::Audit;
use shell::identity::{Entry, OpenToken, Registrar, RegistrarError, Terms, TokenId};
use shell::program;
use shell::quic::RequestOrigin;
use shell::{Lack, Numbers, RefusalLine, RefusalLog, clock};
use wire::admin::{
    CertificateLine, Contact, Join, Joined, LogRequest, Presence, Present, Refused, Request,
    Response, TokenLine, Warning,
};

use crate::Handle;
use crate::audit::Asked;
use crate::members::Members;

/// The file of revocations, in a member's directory.
const REVOKED: &str = "revoked";

/// Answers requests to a group manager. Every answer is durable before it is sent.
pub struct AdminServer {
    /// None if the authority is elsewhere: then nobody can join or renew here.
    pub registrar: Option<Arc<Mutex<Registrar>>>,
    /// The manager.
    pub manager: Arc<Handle>,
    /// Its identity.
    pub me: Identity,
    /// The address that others dial, as host and port.
    pub address: String,
    /// The directory of its certificate.
    pub identity: PathBuf,
    /// Its log.
    pub log: PathBuf,
    /// Set when a certificate was revoked.
    pub has_news: Arc<AtomicBool>,
    /// The numbers of process managers.
    pub numbers: Arc<Mutex<Numbers>>,
    /// The members that report to it.
    pub members: Members,
    /// Reports that its own disk is full.
    pub lack: Lack,
    /// Refused attempts to join.
    pub not_let_in: RefusalLog,
    /// Who has changed what.
    pub audit: Audit,
}

/// A response, or the reason of a refusal.
type Answer = Result<Response, Refused>;

impl shell::quic::RequestHandler for AdminServer {
    fn answer(&mut self, origin: RequestOrigin<'_>, question: &[u8]) -> Vec<u8> {
        let told = match wire::decode::<Request>(question) {
            Ok(ask) => {
                let asked = Asked::of(&ask);
                let told = self.tell(origin, ask);
                if let Some(asked) = asked {
                    asked.tell(&self.audit, origin, &told);
                }
                told
            }
            Err(_) => Err(Refused::Unreadable),
        };
        wire::encode(&told.unwrap_or_else(Response::Refused))
    }
}

impl AdminServer {
    fn tell(&mut self, origin: RequestOrigin<'_>, ask: Request) -> Answer {
        let member = origin.certificate;
        let role = member.map(|member| member.identity.role());
        let only = |roles: &[Role], whom: &str| match role {
            Some(role) if roles.contains(&role) => Ok(()),
            Some(_) | None => Err(Refused::Role(whom.to_owned())),
        };
        let admins = || only(&[Role::Admin], "administrators");
        match ask {
            Request::Join(join) => self.join(&join, origin.address),
            Request::CreateToken {
                role,
                name,
                lifetime,
                takes_over,
            } => {
                admins()?;
                let made_by = member.map(|member| member.identity.clone());
                let terms = Terms {
                    name,
                    takes_over,
                    made_by,
                };
                self.create_token(&role, &terms, lifetime)
            }
            Request::Tokens => {
                admins()?;
                let tokens = self.registrar()?.open_tokens(clock::wall());
                let tokens = tokens.map_err(|error| refused(&error))?;
                Ok(Response::Tokens(tokens.iter().map(token_line).collect()))
            }
            Request::CancelToken { id } => {
                admins()?;
                let cancelled = self.registrar()?.cancel_token(&id, clock::wall());
                let cancelled = cancelled.map_err(|error| refused(&error))?;
                tracing::info!(token = %cancelled.id, "a join token was cancelled");
                Ok(Response::Tokens(vec![token_line(&cancelled)]))
            }
            Request::Certificates => {
                admins()?;
                self.certificates()
            }
            Request::Renew { request } => {
                let member = member.ok_or(Refused::Role("members".to_owned()))?;
                let mut registrar = self.registrar()?;
                let issued = registrar.renew(&member.serial, &request, clock::wall());
                let issued = issued.map_err(|error| refused(&error))?;
                let serial = &issued.certificate.serial;
                tracing::info!(member = %member.identity, %serial, "a certificate was renewed");
                Ok(Response::Renewed {
                    certificate: issued.pem,
                })
            }
            Request::Revoke { what } => {
                admins()?;
                self.revoke(&what)
            }
            Request::Present(presence) => {
                only(&[Role::Pm, Role::Am], "process and activity managers")?;
                let member = member.ok_or(Refused::Unreadable)?;
                self.present(&member.identity, presence)
            }
            Request::Nodes => {
                only(&[Role::Admin, Role::User, Role::Pm], "users")?;
                let user = member.filter(|member| member.identity.role() == Role::User);
                self.nodes(user.map(|user| user.identity.to_string()).as_deref())
            }
            Request::NodeHistory { name } => {
                only(&[Role::Admin, Role::User, Role::Pm], "users")?;
                match self.manager.history(&name).ok_or_else(no_answer)? {
                    Some(moments) => Ok(Response::NodeHistory(moments)),
                    None => Err(no_machine(&name)),
                }
            }
            Request::Drain { name, is_drained } => {
                admins()?;
                match self.manager.drain(&name, is_drained) {
                    Some(true) => Ok(Response::Drained),
                    Some(false) => Err(no_machine(&name)),
                    None => Err(no_answer()),
                }
            }
            Request::Release { what } => {
                admins()?;
                self.release(&what)
            }
            Request::Log { lines, of, from } => {
                admins()?;
                self.log(of.as_deref(), LogRequest { lines, from })
            }
            Request::Written(part) => {
                only(&[Role::Pm, Role::Am], "process and activity managers")?;
                let member = member.ok_or(Refused::Unreadable)?;
                self.members.written(&member.identity, part);
                Ok(Response::Taken)
            }
        }
    }

    fn join(&self, join: &Join, address: IpAddr) -> Answer {
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
            let source = address.to_canonical().to_string();
            if let Some(RefusalLine { source, n_more }) =
                self.not_let_in.note(&source, clock::mono())
            {
                let token = entry.token;
                tracing::warn!(source, %token, %error, n_more, "somebody was not let in");
            }
            refused(&error)
        })?;
        let (member, serial) = (&issued.certificate.identity, &issued.certificate.serial);
        tracing::info!(%member, %serial, "a member has joined");
        Ok(Response::Joined(Joined {
            certificate: issued.pem,
            authority: registrar.authority().pem().to_owned(),
            group_manager: Contact {
                name: self.me.name().to_owned(),
                address: self.address.clone(),
            },
            process_managers: process_managers(&registrar),
        }))
    }

    fn create_token(&self, role: &str, terms: &Terms, lifetime: Span) -> Answer {
        let role: Role = role
            .parse()
            .map_err(|error| Refused::Not(format!("{error}")))?;
        let mut registrar = self.registrar()?;
        let times = (clock::wall(), lifetime);
        let token = registrar.create_token(role, terms, &self.address, times);
        let token = token.map_err(|error| refused(&error))?;
        let name = terms.name.as_deref();
        let was_held = name.is_some_and(|name| registrar.was_held(role, name));
        tracing::info!(token = %token.id(), %role, "a join token was made");
        Ok(Response::Token {
            text: token.text(),
            expires: token.expires,
            was_held: was_held && !terms.takes_over,
        })
    }

    fn certificates(&self) -> Answer {
        let registrar = self.registrar()?;
        let mut lines: Vec<CertificateLine> = registrar
            .issued_certificates()
            .iter()
            .map(|(serial, _)| line(&registrar, serial))
            .collect();
        lines.sort_by(|a, b| (a.not_before, &a.identity).cmp(&(b.not_before, &b.identity)));
        Ok(Response::Certificates(lines))
    }

    fn revoke(&self, what: &str) -> Answer {
        let mut registrar = self.registrar()?;
        let serials = registrar.revoke(what, (&self.me, clock::wall()));
        let serials = serials.map_err(|error| refused(&error))?;
        // The manager itself reads it again, and its links to those members end.
        let kept = registrar.revocations().save(&self.identity.join(REVOKED));
        kept.map_err(|error| Refused::Failed(error.to_string()))?;
        self.has_news.store(true, Ordering::Release);
        let lines: Vec<CertificateLine> = serials
            .iter()
            .map(|serial| line(&registrar, serial))
            .collect();
        for line in &lines {
            let (member, serial) = (&line.identity, &line.serial);
            tracing::info!(member, serial, "a certificate was revoked");
            self.bar(&registrar, &line.identity);
        }
        Ok(Response::Revoked(lines))
    }

    /// Ends what a process or a process manager holds.
    fn release(&self, what: &str) -> Answer {
        let name = what.strip_prefix("pm/").unwrap_or(what);
        let number = lock(&self.numbers).known(name);
        let holder = match (number, what.parse::<ProcessId>()) {
            (Some(number), _) => Holder::Manager(number),
            (None, Ok(process)) => Holder::Process(process),
            (None, Err(_)) => {
                return Err(Refused::NoHolder(what.chars().take(80).collect()));
            }
        };
        match self.manager.give_up(holder).ok_or_else(no_answer)? {
            GivenUp::Ends { slots } => {
                tracing::info!(what, slots, "an administrator has released slots");
                Ok(Response::Released { slots })
            }
            GivenUp::Attached(number) => {
                let numbers = lock(&self.numbers);
                let name = numbers.name(number).unwrap_or("that holds them");
                Err(Refused::Not(format!(
                    "process manager {name} is connected: `xav cancel` ends its processes, which gives \
                     their slots back"
                )))
            }
        }
    }

    /// Tells the core of a process manager that has no certificate any more.
    fn bar(&self, registrar: &Registrar, identity: &str) {
        let Ok(identity) = identity.parse::<Identity>() else {
            return;
        };
        let newest = registrar.newest(identity.role(), identity.name());
        let is_renewed = newest
            .is_some_and(|signed| signed.identity == identity && signed.not_after > clock::wall());
        if identity.role() == Role::Pm && !is_renewed {
            let number = lock(&self.numbers).known(&identity.label());
            number.into_iter().for_each(|one| self.manager.bar(one));
        }
    }

    fn present(&mut self, who: &Identity, presence: Presence) -> Answer {
        let known = presence.revision;
        let now = clock::mono();
        if let Some(load) = self.members.changed_load(who, &presence, now) {
            self.manager.loaded(who.name(), load);
        }
        let log = self.members.present(who, presence, now);
        let Some(registrar) = &self.registrar else {
            let revision = known;
            return Ok(Response::Present(Present {
                revision,
                log,
                ..Present::default()
            }));
        };
        let registrar = lock(registrar);
        let revision = registrar.revocations().revision();
        Ok(Response::Present(Present {
            revision,
            revoked: (known != revision).then(|| registrar.revocations().render()),
            process_managers: process_managers(&registrar),
            log,
        }))
    }

    /// A part of a log. Another daemon sends its own with its next report.
    fn log(&mut self, of: Option<&str>, wanted: LogRequest) -> Answer {
        let own = [Role::Gm.word(), self.me.name()];
        let is_own = |of: &str| own.contains(&of.strip_prefix("gm/").unwrap_or(of));
        let part = match of {
            Some(of) if !is_own(of) => {
                let survey = self.manager.survey(None).unwrap_or_default();
                let machines = survey.nodes.into_iter().map(|node| (Role::Am, node.name));
                let managers = self.registrar().map(|it| process_managers(&it));
                let managers = managers.unwrap_or_default().into_iter();
                let managers = managers.map(|contact| (Role::Pm, contact.name));
                let others: Vec<(Role, String)> = managers.chain(machines).collect();
                match self.members.log(of, wanted, &others, clock::mono())? {
                    Some(part) => part,
                    None => return Ok(Response::Awaited),
                }
            }
            Some(_) | None => shell::log_part(&self.log, &wanted),
        };
        match part.trouble {
            Some(trouble) => Err(Refused::Failed(trouble)),
            None => Ok(Response::Log(part)),
        }
    }

    /// All machines; a user is told of own processes alone.
    fn nodes(&self, user: Option<&str>) -> Answer {
        let survey = self.manager.survey(user).ok_or_else(no_answer)?;
        let (mut nodes, owners) = (survey.nodes, survey.owners);
        for node in &mut nodes {
            if let Some(presence) = self.members.machine(&node.name) {
                node.program = Some(presence.program.clone());
                node.load = presence.load.clone();
            }
        }
        let own = self.lack.why().map(|why| Warning {
            daemon: format!("{} {}", self.me.role(), self.me.name()),
            why,
        });
        let others = self.members.warnings(clock::mono());
        let mut warnings: Vec<Warning> = own.into_iter().chain(others).collect();
        if let Ok(registrar) = self.registrar() {
            for node in &mut nodes {
                let newest = registrar.newest(Role::Am, &node.name);
                node.certificate_until = newest.map(|signed| signed.not_after);
            }
            warnings.extend(endings(&registrar));
        }
        Ok(Response::Nodes(nodes, warnings, owners))
    }

    fn registrar(&self) -> Result<MutexGuard<'_, Registrar>, Refused> {
        let registrar = self.registrar.as_ref().ok_or_else(|| {
            let text = "this group manager has no authority: its configuration names none";
            Refused::Not(text.to_owned())
        })?;
        let mut registrar = lock(registrar);
        let refreshed = registrar.refresh();
        refreshed.map_err(|error| Refused::Failed(program::chain(&error)))?;
        Ok(registrar)
    }
}

fn process_managers(registrar: &Registrar) -> Vec<Contact> {
    let contacts = registrar.contacts(Role::Pm, clock::wall()).into_iter();
    contacts
        .map(|(name, address)| Contact { name, address })
        .collect()
}

/// Warnings about managers whose certificates end soon: they renew them by themselves, so something
/// is wrong.
fn endings(registrar: &Registrar) -> Vec<Warning> {
    let endings = registrar.endings(clock::wall()).into_iter();
    let of_managers = endings.filter(|(identity, _)| identity.role().is_manager());
    of_managers
        .map(|(identity, ending)| Warning {
            daemon: format!("{} {}", identity.role(), identity.label()),
            why: format!("its certificate {ending}, and it has not renewed it"),
        })
        .collect()
}

fn line(registrar: &Registrar, serial: &shell::identity::Serial) -> CertificateLine {
    let signed = registrar.issued_certificates().get(serial);
    let revoked = registrar.revocations().get(serial);
    CertificateLine {
        serial: serial.to_string(),
        identity: signed.map_or_else(
            || "unknown".to_owned(),
            |signed| signed.identity.to_string(),
        ),
        not_before: signed.map_or_else(Default::default, |signed| signed.not_before),
        not_after: signed.map_or_else(Default::default, |signed| signed.not_after),
        revoked: revoked.map(|revoked| revoked.at),
    }
}

fn token_line(token: &OpenToken) -> TokenLine {
    let Terms {
        name,
        takes_over,
        made_by,
    } = &token.terms;
    TokenLine {
        id: token.id.to_string(),
        role: token.role.word().to_owned(),
        name: name.clone(),
        takes_over: *takes_over,
        made_by: made_by.as_ref().map(Identity::to_string),
        expires: token.expires,
    }
}

fn refused(error: &RegistrarError) -> Refused {
    // Without causes, which name files of this machine.
    if let RegistrarError::NotDue(due) = error {
        return Refused::NotDue(*due);
    }
    Refused::Not(error.to_string())
}

fn no_machine(name: &str) -> Refused {
    let name: String = name.chars().take(80).collect();
    Refused::Not(format!("there is no machine {name:?}"))
}

fn no_answer() -> Refused {
    Refused::Failed("its core does not answer".to_owned())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! `xavantes-gm issue`: a certificate from the authority itself, without a token and without the
//! network. An administrator whose certificate has expired, or is lost, regains access by it. The
//! group manager may run meanwhile.

use std::error::Error;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use model::{Identity, Role};
use shell::identity::{
    CERTIFICATE_LIFE, Credentials, Key, Registrar, Revocations, days, write_secret,
};
use shell::{clock, environment, program};
use wire::admin::Contact;

use crate::Service;
use crate::service::Settings;

pub(crate) const USAGE: &str = "\n       xavantes-gm issue --role admin|user|pm|am --name NAME --dir DIR [--config FILE]\n                                   \
     [--address HOST:PORT] [--take-over]\n                            \
     a certificate from the authority of this configuration (gm.toml), here";

/// The file in which users find the managers to dial.
const GRID_FILE: &str = "grid.toml";

struct Arguments {
    config: PathBuf,
    role: Role,
    name: String,
    directory: PathBuf,
    address: Option<String>,
    takes_over: bool,
}

/// Issues a certificate, and describes its holder and its place.
pub(crate) fn issue(given: &[OsString]) -> Result<String, Box<dyn Error>> {
    let arguments = parse(given)?;
    let Arguments {
        config,
        role,
        name,
        directory,
        address,
        takes_over,
    } = &arguments;
    let (place, settings) = program::settings::<Service>(config)?;
    let Settings {
        authority,
        address: own_address,
        certificate_life,
        holdings_end_after: _,
        forget_machines: _,
        policy: _,
    } = settings;
    let authority = authority.ok_or_else(|| {
        let config = config.display();
        format!("{config} names no authority: issue where the authority is")
    })?;
    if !environment::is_own(&authority)? {
        // The group manager could not read files that another account writes there.
        let authority = authority.display();
        return Err(format!("{authority} belongs to another account: issue as that one").into());
    }
    let mut registrar = Registrar::open(&authority, certificate_life.unwrap_or(CERTIFICATE_LIFE))?;
    let identity = directory.join("identity");
    let held = Held::of(&identity)?;
    if let Some(holder) = &held.holder {
        let fits = holder.role() == *role && holder.name() == name;
        if !fits || held.fingerprint != Some(registrar.authority().fingerprint()) {
            let identity = identity.display();
            return Err(format!(
                "{identity} has the certificate of {holder}: nothing is written over"
            )
            .into());
        }
    }
    let now = clock::wall();
    let request = held.key.request()?;
    let before = (held.holder.as_ref(), address.as_deref());
    let issued = registrar.admit_again(&request, (*role, name, *takes_over), before, now)?;
    let authority = registrar.authority().pem();
    // It can be read again, even if another program has made the key.
    Credentials::new(&issued.pem, &held.key, authority, Revocations::default())?;
    Credentials::save(&identity, &issued.pem, &held.key, authority)?;
    let gm = Contact {
        name: place.credentials(Role::Gm)?.identity().name().to_owned(),
        address: own_address.unwrap_or_else(|| place.listen.to_string()),
    };
    let certificate = issued.certificate;
    let mut told = format!(
        "{} has a certificate in {}, valid for {}.",
        certificate.identity,
        identity.display(),
        days(certificate.not_after.since(now))
    );
    let file = directory.join(GRID_FILE);
    if !role.is_manager() && !file.exists() {
        let pms = registrar.contacts(Role::Pm, now).into_iter();
        let pms: Vec<Contact> = pms
            .map(|(name, address)| Contact { name, address })
            .collect();
        write_secret(&file, &program::grid_file(&gm, &pms))?;
        told.push_str(&format!("\nUse it with --grid {}.", directory.display()));
    } else if role.is_manager() && held.holder.is_none() {
        let gm = program::contact(&gm);
        told.push_str(&format!(
            "\nIts configuration needs:\n\n  identity = \"identity\"\n  group-manager = {gm}"
        ));
    }
    Ok(told)
}

/// The content of an identity directory.
struct Held {
    /// The holder of the certificate, which may have expired.
    holder: Option<Identity>,
    fingerprint: Option<shell::identity::Fingerprint>,
    key: Key,
}

impl Held {
    /// The existing content, or a new key.
    fn of(identity: &Path) -> Result<Held, Box<dyn Error>> {
        if !identity.join("certificate.pem").exists() {
            return Ok(Held {
                holder: None,
                fingerprint: None,
                key: Key::generate()?,
            });
        }
        let credentials = Credentials::load(identity)?;
        Ok(Held {
            holder: Some(credentials.identity().clone()),
            fingerprint: Some(credentials.fingerprint()),
            key: Key::load(&identity.join("certificate.key"))?,
        })
    }
}

fn parse(given: &[OsString]) -> Result<Arguments, Box<dyn Error>> {
    let (mut role, mut name, mut directory, mut address) = (None, None, None, None);
    let mut config = PathBuf::from("gm.toml");
    let mut takes_over = false;
    let mut given = given.iter();
    while let Some(word) = given.next() {
        let word = word.to_str().ok_or("an argument is not text")?;
        if word == "--take-over" {
            takes_over = true;
            continue;
        }
        let value = given.next().and_then(|value| value.to_str());
        let value = value.ok_or_else(|| format!("{word} needs a value"))?;
        match word {
            "--config" => config = PathBuf::from(value),
            "--role" => role = Some(value.parse::<Role>()?),
            "--name" => name = Some(value.to_owned()),
            "--dir" => directory = Some(PathBuf::from(value)),
            "--address" => address = Some(value.to_owned()),
            _ => return Err(format!("there is no argument {word}").into()),
        }
    }
    let role = role.ok_or("--role is missing")?;
    if role == Role::Gm {
        return Err(
            "the group manager has its certificate already, and renews it by itself".into(),
        );
    }
    Ok(Arguments {
        config,
        role,
        name: name.ok_or("--name is missing")?,
        directory: directory.ok_or("--dir is missing")?,
        address,
        takes_over,
    })
}

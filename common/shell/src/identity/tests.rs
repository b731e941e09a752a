use std::os::unix::fs::PermissionsExt;

use model::{Identity, Role, Span, Wall};
use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Some day of 2027.
const NOW: Wall = Wall(1_800_000_000_000_000);
const DAY: Span = Span::from_secs(86_400);

fn days(n: u64) -> Span {
    Span(DAY.0 * n)
}

fn authority() -> Authority {
    Authority::create("grid", "lab", NOW, days(1_000)).unwrap()
}

fn identity(role: Role, name: &str) -> Identity {
    Identity::new("grid", "lab", role, name).unwrap()
}

#[test]
fn a_certificate_says_what_the_authority_says_and_nothing_of_the_request() {
    let authority = authority();
    // A request that asks for much more than a key.
    let mut params = rcgen::CertificateParams::default();
    params.subject_alt_names = vec![rcgen::SanType::URI(
        "xav://grid/lab/admin/eve".to_owned().try_into().unwrap(),
    )];
    params.key_usages = vec![rcgen::KeyUsagePurpose::KeyCertSign];
    let pair = rcgen::KeyPair::generate().unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let request = params.serialize_request(&pair).unwrap();
    let node = identity(Role::Am, "node-7");
    let issued = authority
        .issue(request.der(), &node, NOW, days(30))
        .unwrap();
    assert_eq!(issued.certificate.identity, node);
    assert_eq!(issued.certificate.not_after, Wall(NOW.0 + days(30).0));
    assert!(issued.certificate.not_before < NOW);
    use rustls::pki_types::{CertificateDer, pem::PemObject};
    let der = CertificateDer::from_pem_slice(issued.pem.as_bytes()).unwrap();
    let parsed = certificate::parse(&der).unwrap();
    assert!(!parsed.is_ca());
    let usage = parsed.key_usage().unwrap().unwrap().value;
    assert!(usage.digital_signature() && !usage.key_cert_sign());
    assert!(!issued.pem.contains("eve"));
    // Every certificate has a serial number of its own.
    let again = authority
        .issue(request.der(), &node, NOW, days(30))
        .unwrap();
    assert_ne!(again.certificate.serial, issued.certificate.serial);
    assert_eq!(Certificate::read(&der).unwrap(), issued.certificate);
}

#[test]
fn an_authority_refuses_what_it_must_not_sign() {
    let authority = authority();
    let request = Key::generate().unwrap().request().unwrap();
    let node = identity(Role::Am, "n");
    let elsewhere = Identity::new("grid", "other", Role::Am, "n").unwrap();
    let refused = |request: &[u8], identity: &Identity, now| {
        let refused = authority.issue(request, identity, now, DAY).unwrap_err();
        refused.to_string()
    };
    assert_eq!(
        refused(&request, &elsewhere, NOW),
        "xav://grid/other/am/n is not of the group \"lab\" of the grid \"grid\""
    );
    let late = Wall(NOW.0 + days(1_001).0);
    assert_eq!(
        refused(&request, &node, late),
        "the authority's own certificate has expired"
    );
    let unreadable = "the signing request cannot be read, or is not signed with its own key";
    assert_eq!(refused(&request[..100], &node, NOW), unreadable);
    assert_eq!(refused(&[0; 5_000], &node, NOW), unreadable);
    let mut forged = request.clone();
    *forged.last_mut().unwrap() ^= 1;
    assert_eq!(refused(&forged, &node, NOW), unreadable);
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let other = rcgen::CertificateParams::default().serialize_request(&pair);
    assert_eq!(
        refused(other.unwrap().der(), &node, NOW),
        "the signing request has a key of another kind than ECDSA on P-256 or Ed25519"
    );
    // No certificate outlives its authority.
    let long = authority.issue(&request, &node, NOW, days(5_000)).unwrap();
    assert_eq!(long.certificate.not_after, Wall(NOW.0 + days(1_000).0));
    assert!(Authority::create("Grid", "lab", NOW, DAY).is_err());
}

#[test]
fn an_authority_is_the_same_after_a_restart_and_its_key_is_its_own() {
    let dir = TempDir::new().unwrap();
    let before = authority();
    before.save(dir.path()).unwrap();
    let after = Authority::load(dir.path()).unwrap();
    assert_eq!((after.grid(), after.group()), ("grid", "lab"));
    assert_eq!(after.fingerprint(), before.fingerprint());
    assert_eq!(after.pem(), before.pem());
    let key = Key::generate().unwrap();
    let node = identity(Role::Gm, "gm");
    let issued = after
        .issue(&key.request().unwrap(), &node, NOW, DAY)
        .unwrap();
    Credentials::new(&issued.pem, &key, before.pem(), Revocations::default()).unwrap();

    let path = dir.path().join("authority.key");
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    let error = Authority::load(dir.path()).unwrap_err().to_string();
    assert!(
        error.ends_with("a key must be readable by its owner alone (chmod 600)"),
        "{error}"
    );
    // Another key under the same name is not mistaken for this authority.
    Key::generate().unwrap().save(&path).unwrap();
    let error = Authority::load(dir.path()).unwrap_err();
    assert!(
        matches!(error, AuthorityError::NotAnAuthority { .. }),
        "{error}"
    );
}

#[test]
fn credentials_are_read_as_they_were_written_and_only_with_their_own_key() {
    let dir = TempDir::new().unwrap();
    let authority = authority();
    let key = Key::generate().unwrap();
    let alice = identity(Role::User, "alice");
    let issued = authority
        .issue(&key.request().unwrap(), &alice, NOW, DAY)
        .unwrap();
    Credentials::save(dir.path(), &issued.pem, &key, authority.pem()).unwrap();
    let read = Credentials::load(dir.path()).unwrap();
    assert_eq!(read.certificate(), &issued.certificate);
    assert_eq!(read.fingerprint(), authority.fingerprint());
    assert!(!read.revocations().contains(&issued.certificate.serial));
    let mut revocations = Revocations::default();
    let revoked = Revoked {
        at: NOW,
        identity: Some(alice),
    };
    revocations
        .add(issued.certificate.serial.clone(), revoked)
        .unwrap();
    revocations.save(&dir.path().join("revoked")).unwrap();
    let read = Credentials::load(dir.path()).unwrap();
    assert!(read.revocations().contains(&issued.certificate.serial));

    let other = Key::generate().unwrap();
    let refused = |certificate: &str, key: &Key, authority: &str| {
        let refused = Credentials::new(certificate, key, authority, Revocations::default());
        refused.unwrap_err().to_string()
    };
    assert_eq!(
        refused(&issued.pem, &other, authority.pem()),
        "the key is not the one of the certificate"
    );
    assert_eq!(
        refused(&issued.pem, &key, &issued.pem),
        "could not use the certificate of the authority"
    );
    assert_eq!(
        refused(authority.pem(), &key, authority.pem()),
        "could not use the own certificate"
    );
}

#[test]
fn a_certificate_is_renewed_in_the_last_third_of_its_life() {
    let (from, to) = (Wall(1_000), Wall(4_000));
    for (now, wanted) in [
        (0, Renewal::At(Wall(3_000))),
        (2_999, Renewal::At(Wall(3_000))),
        (3_000, Renewal::Due),
        (4_000, Renewal::Due),
        (4_001, Renewal::Expired),
    ] {
        assert_eq!(renewal(from, to, Wall(now)), wanted, "{now}");
    }
    assert_eq!(renewal(to, from, Wall(0)), Renewal::At(from));
}

#[test]
fn revocations_are_a_file_for_people_too() {
    let text = "# Revoked certificates: serial number, seconds since 1970, whose it was.\n\
                01 1800000000 xav://grid/lab/am/n\n\
                40ff 1800000001 xav://grid/lab/user/eve\n";
    let read = Revocations::parse(text).unwrap();
    assert_eq!(read.render(), text);
    assert!(read.contains(&"0040ff".parse().unwrap()));
    assert!(!read.contains(&"02".parse().unwrap()));
    for (text, line) in [
        ("01 5", 1),
        ("\n\n# x\n01 5 xav://g/g/am/n y", 4),
        ("zz 5 xav://g/g/am/n", 1),
        ("00 5 xav://g/g/am/n", 1),
        ("01 x xav://g/g/am/n", 1),
        ("01 99999999999999999999 xav://g/g/am/n", 1),
        ("01 5 eve", 1),
        ("0\u{e9} 5 eve", 1),
    ] {
        let error = Revocations::parse(text).unwrap_err().to_string();
        assert_eq!(
            error,
            format!(
                "line {line} of the revoked certificates is not of the form SERIAL SECONDS IDENTITY"
            )
        );
    }
    let missing = Revocations::load(std::path::Path::new("/nowhere/revoked")).unwrap();
    assert_eq!(missing, Revocations::default());
}

fn token(expires: Wall) -> JoinToken {
    let authority = Fingerprint([7; 32]);
    let what = ("grid", "lab", Role::Am);
    JoinToken::create(authority, what, "gm.example:7400", expires).unwrap()
}

#[test]
fn a_token_is_read_as_it_is_shown_and_a_slip_is_noticed() {
    let token = token(NOW);
    let text = token.text();
    assert!(text.starts_with("xav1") && text.len() < 300, "{text}");
    assert_eq!(format!(" {text}\n").parse::<JoinToken>().unwrap(), token);
    assert!(!format!("{token:?}").contains(&text[text.len() - 40..]));
    assert_ne!(self::token(NOW).id(), token.id());
    assert_eq!("yav1".parse::<JoinToken>(), Err(TokenError::Form));
    assert_eq!("xav1".parse::<JoinToken>(), Err(TokenError::Sum));
    assert_eq!(
        format!("xav1{}", "0".repeat(2_000)).parse::<JoinToken>(),
        Err(TokenError::Form)
    );
    for at in 0..text.len() {
        let mut slipped = text.clone().into_bytes();
        slipped[at] = if slipped[at] == b'0' { b'1' } else { b'0' };
        let slipped = String::from_utf8(slipped).unwrap();
        assert!(slipped.parse::<JoinToken>().is_err(), "{at}");
        assert!(text[..at].parse::<JoinToken>().is_err(), "{at}");
    }
}

#[test]
fn a_token_is_used_once_and_in_time() {
    let dir = TempDir::new().unwrap();
    let tokens = Tokens::of(&dir.path().join("tokens"));
    let (good, late) = (token(Wall(NOW.0 + DAY.0)), token(NOW));
    let refused = |result: Result<(), TokensError>| result.unwrap_err().to_string();
    tokens.clear(NOW, DAY).unwrap();
    assert_eq!(
        refused(tokens.redeem(good.id(), Role::Am, NOW)),
        "the join token is not known here"
    );
    tokens.add(&good, &Terms::default(), NOW).unwrap();
    tokens.add(&late, &Terms::default(), NOW).unwrap();
    assert_eq!(
        refused(tokens.redeem(late.id(), Role::Am, NOW)),
        "the join token has expired"
    );
    assert_eq!(
        refused(tokens.redeem(good.id(), Role::Gm, NOW)),
        "the join token is for another role"
    );
    tokens.redeem(good.id(), Role::Am, NOW).unwrap();
    assert_eq!(
        refused(tokens.redeem(good.id(), Role::Am, NOW)),
        "the join token has been used"
    );
    tokens.clear(Wall(NOW.0 + days(3).0), DAY).unwrap();
    assert_eq!(
        refused(tokens.redeem(good.id(), Role::Am, NOW)),
        "the join token is not known here"
    );
}

#[test]
fn ended_tokens_take_no_places_and_the_oldest_are_forgotten() {
    let dir = TempDir::new().unwrap();
    let tokens = Tokens::of(dir.path());
    let path = |number: u64| dir.path().join(format!("{number:032x}.used"));
    for number in 0..10_005 {
        let text = format!("am {}", NOW.0 / 1_000_000 + number);
        std::fs::write(path(number), text).unwrap();
    }
    let good = token(Wall(NOW.0 + DAY.0));
    tokens.add(&good, &Terms::default(), NOW).unwrap();
    tokens.clear(NOW, DAY).unwrap();
    let counts = tokens.counts();
    assert_eq!((counts.n_open, counts.n_used), (1, 10_000));
    assert!(!path(4).exists() && path(5).exists());
}

#[test]
fn of_many_who_use_a_token_at_the_same_time_one_succeeds() {
    let dir = TempDir::new().unwrap();
    let tokens = Tokens::of(dir.path());
    let token = token(Wall(NOW.0 + DAY.0));
    tokens.add(&token, &Terms::default(), NOW).unwrap();
    let n_succeeded = std::thread::scope(|scope| {
        let redeem = || tokens.redeem(token.id(), Role::Am, NOW).is_ok();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(redeem)).collect();
        let results = threads.into_iter().map(|thread| thread.join().unwrap());
        results.filter(|&succeeded| succeeded).count()
    });
    assert_eq!(n_succeeded, 1);
}

proptest! {
    #[test]
    fn bytes_from_outside_are_refused_and_never_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..400),
        text in "\\PC{0,80}",
    ) {
        prop_assert!(Certificate::read(&bytes).is_err());
        prop_assert!(text.parse::<JoinToken>().is_err());
        let prefixed = ["xav1", &text].concat();
        prop_assert!(prefixed.parse::<JoinToken>().is_err());
        let _ = Revocations::parse(&text);
        let _ = text.parse::<Serial>();
        let _ = Serial::new(&bytes);
    }
}

use model::Identity;
use shell::identity::{Authority, Key};
use tempfile::TempDir;

use super::*;

/// Some day of 2027.
const NOW: Wall = Wall(1_800_000_000_000_000);
const DAY: Span = Span::from_secs(86_400);

#[test]
fn a_certificate_that_a_clock_ahead_has_signed_is_replaced_when_the_clock_is_right_again() {
    let dir = TempDir::new().unwrap();
    let authority = Authority::create("grid", "lab", NOW, AUTHORITY_LIFE).unwrap();
    let mut registrar = Registrar::create(&dir.path().join("authority"), authority).unwrap();
    let identity = dir.path().join("identity");
    let (key, me) = (
        Key::generate().unwrap(),
        Identity::new("grid", "lab", Role::Gm, "gm"),
    );
    let request = key.request().unwrap();
    let issued = registrar.admit(&request, &me.unwrap(), None, NOW).unwrap();
    Credentials::save(&identity, &issued.pem, &key, registrar.authority().pem()).unwrap();
    let mut renewed = |now| {
        let renewed = renew_own(&mut registrar, &identity, now).unwrap();
        let certificate = Credentials::load(&identity).unwrap().certificate().clone();
        let is_valid = certificate.not_before <= now && now < certificate.not_after;
        (renewed, is_valid)
    };
    assert_eq!(renewed(NOW), (false, true));
    let ahead = NOW + Span(70 * DAY.0);
    assert_eq!(renewed(ahead), (true, true));
    assert_eq!(renewed(NOW), (true, true));
    assert_eq!(renewed(NOW), (false, true));
}

use tempfile::TempDir;

use super::*;
use crate::identity::{Certificate, Key, Renewal, renewal};

/// Some day of 2027.
const NOW: Wall = Wall(1_800_000_000_000_000);
const HOUR: Span = Span::from_secs(3_600);
const DAY: Span = Span::from_secs(86_400);
const GM: &str = "gm.example:7400";

fn after(span: Span) -> Wall {
    Wall(NOW.0 + span.0)
}

struct Desk {
    _dir: TempDir,
    registrar: Registrar,
    me: Identity,
}

impl Desk {
    fn new() -> Desk {
        let dir = TempDir::new().unwrap();
        let authority = Authority::create("grid", "lab", NOW, AUTHORITY_LIFE).unwrap();
        let mut registrar = Registrar::create(dir.path(), authority).unwrap();
        let me = Identity::new("grid", "lab", Role::Gm, "gm").unwrap();
        registrar.admit(&request(), &me, Some(GM), NOW).unwrap();
        Desk {
            _dir: dir,
            registrar,
            me,
        }
    }

    fn token(&mut self, role: Role, name: Option<&str>) -> TokenId {
        let token = self.registrar.create_token(role, name, GM, (NOW, HOUR));
        token.unwrap().id()
    }

    fn join(
        &mut self,
        token: TokenId,
        role: Role,
        name: Option<&str>,
        now: Wall,
    ) -> Result<Certificate, String> {
        let request = request();
        let entry = Entry {
            token,
            role,
            name,
            otherwise: None,
            request: &request,
            address: (role == Role::Pm).then_some("pm.example:7401"),
        };
        let issued = self.registrar.join(entry, now);
        issued
            .map(|issued| issued.certificate)
            .map_err(|error| error.to_string())
    }

    fn again(&self) -> Registrar {
        Registrar::open(&self.registrar.directory, CERTIFICATE_LIFE).unwrap()
    }
}

fn request() -> Vec<u8> {
    Key::generate().unwrap().request().unwrap()
}

#[test]
fn a_token_lets_in_once_and_what_is_wrong_is_told_before_it_is_used_up() {
    let mut desk = Desk::new();
    let token = desk.token(Role::Am, None);
    let wrong = |result: Result<Certificate, String>| result.unwrap_err();
    assert_eq!(
        wrong(desk.join(token, Role::Pm, Some("a1"), NOW)),
        "the join token is for another role"
    );
    assert_eq!(
        wrong(desk.join(token, Role::Am, None, NOW)),
        "the join token is for no particular name: one must be given"
    );
    assert!(wrong(desk.join(token, Role::Am, Some("A 1"), NOW)).contains("cannot be"));
    let joined = desk.join(token, Role::Am, Some("a1"), NOW).unwrap();
    assert_eq!(joined.identity.to_string(), "xav://grid/lab/am/a1");
    assert_eq!(
        wrong(desk.join(token, Role::Am, Some("a2"), NOW)),
        "the join token has been used"
    );
    // So it is for a registrar that starts again.
    desk.registrar = desk.again();
    assert_eq!(
        wrong(desk.join(token, Role::Am, Some("a2"), NOW)),
        "the join token has been used"
    );

    let late = desk.token(Role::Am, None);
    assert_eq!(
        wrong(desk.join(late, Role::Am, Some("a2"), after(HOUR))),
        "the join token has expired"
    );
    let named = desk.token(Role::User, Some("ada"));
    assert_eq!(
        wrong(desk.join(named, Role::User, Some("bob"), NOW)),
        "the join token is for the name \"ada\""
    );
    let ada = desk.join(named, Role::User, None, NOW).unwrap();
    assert_eq!(ada.identity.name(), "ada");
    assert_eq!(
        wrong(desk.join(TokenId::of(b"drawn"), Role::Am, Some("a2"), NOW)),
        "the join token is not known here"
    );
}

#[test]
fn a_name_is_taken_until_its_certificate_is_over() {
    let mut desk = Desk::new();
    let first = desk.token(Role::Am, None);
    desk.join(first, Role::Am, Some("a1"), NOW).unwrap();
    let second = desk.token(Role::Am, None);
    let taken = desk.join(second, Role::Am, Some("a1"), NOW).unwrap_err();
    assert!(taken.starts_with("there is a member xav://grid/lab/am/a1 already"));
    let revoked = desk.registrar.revoke("am/a1", (&desk.me, NOW)).unwrap();
    assert_eq!(revoked.len(), 1);
    assert!(desk.again().revocations().contains(&revoked[0]));
    desk.join(second, Role::Am, Some("a1"), NOW).unwrap();
    let nobody = desk.registrar.revoke("am/a2", (&desk.me, NOW));
    assert!(nobody.unwrap_err().to_string().contains("am/a2"));
    let own = desk.registrar.revoke("gm/gm", (&desk.me, NOW));
    assert!(matches!(own, Err(RegistrarError::Own)));
    assert!(matches!(
        desk.registrar
            .create_token(Role::Admin, None, GM, (NOW, HOUR)),
        Err(RegistrarError::Role(Role::Admin))
    ));
}

#[test]
fn a_certificate_is_renewed_until_it_is_revoked_or_over() {
    let mut desk = Desk::new();
    let token = desk.token(Role::Pm, None);
    let old = desk.join(token, Role::Pm, Some("pm"), NOW).unwrap();
    let Renewal::At(due) = renewal(old.not_before, old.not_after, NOW) else {
        panic!("it is fresh")
    };
    assert_eq!(renewal(old.not_before, old.not_after, due), Renewal::Due);
    let issued = desk.registrar.renew(&old.serial, &request(), due).unwrap();
    let young = issued.certificate;
    assert_eq!(young.identity, old.identity);
    assert_eq!(young.not_after, Wall(due.0 + CERTIFICATE_LIFE.0));
    // Both count until the first one is over; one is dialled.
    assert_eq!(
        desk.registrar.contacts(Role::Pm, due),
        [("pm".to_owned(), "pm.example:7401".to_owned())]
    );
    let late = Wall(old.not_after.0 + DAY.0);
    assert!(matches!(
        desk.registrar.renew(&old.serial, &request(), late),
        Err(RegistrarError::NotRenewed)
    ));
    let revoked = desk.registrar.revoke("pm/pm", (&desk.me, due)).unwrap();
    assert_eq!(revoked.len(), 2);
    assert!(matches!(
        desk.registrar.renew(&young.serial, &request(), due),
        Err(RegistrarError::NotRenewed)
    ));
    assert_eq!(desk.registrar.contacts(Role::Pm, due), []);
    let again = desk.again();
    assert_eq!(again.roll(), desk.registrar.roll());
    assert_eq!(again.revocations(), desk.registrar.revocations());
}

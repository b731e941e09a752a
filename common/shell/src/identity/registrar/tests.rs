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

struct Bench {
    _dir: TempDir,
    registrar: Registrar,
    me: Identity,
}

impl Bench {
    fn new() -> Bench {
        let dir = TempDir::new().unwrap();
        let authority = Authority::create("grid", "lab", NOW, AUTHORITY_LIFE).unwrap();
        let mut registrar = Registrar::create(dir.path(), authority).unwrap();
        let me = Identity::new("grid", "lab", Role::Gm, "gm").unwrap();
        registrar.admit(&request(), &me, Some(GM), NOW).unwrap();
        Bench {
            _dir: dir,
            registrar,
            me,
        }
    }

    fn token(&mut self, role: Role, name: Option<&str>) -> TokenId {
        let name = name.map(str::to_owned);
        self.token_with(
            role,
            &Terms {
                name,
                ..Terms::default()
            },
        )
    }

    fn token_with(&mut self, role: Role, terms: &Terms) -> TokenId {
        let token = self.registrar.create_token(role, terms, GM, (NOW, HOUR));
        token.unwrap().id()
    }

    fn join(
        &mut self,
        token: TokenId,
        role: Role,
        name: Option<&str>,
        now: Wall,
    ) -> Result<Certificate, String> {
        self.join_with(token, (role, name), &request(), now)
    }

    fn join_with(
        &mut self,
        token: TokenId,
        (role, name): (Role, Option<&str>),
        request: &[u8],
        now: Wall,
    ) -> Result<Certificate, String> {
        let entry = Entry {
            token,
            role,
            name,
            otherwise: None,
            request,
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
    let mut bench = Bench::new();
    let token = bench.token(Role::Am, None);
    let wrong = |result: Result<Certificate, String>| result.unwrap_err();
    assert_eq!(
        wrong(bench.join(token, Role::Pm, Some("a1"), NOW)),
        "the join token is for another role"
    );
    assert_eq!(
        wrong(bench.join(token, Role::Am, None, NOW)),
        "the join token is for no particular name: one must be given"
    );
    assert!(wrong(bench.join(token, Role::Am, Some("A 1"), NOW)).contains("cannot be"));
    let joined = bench.join(token, Role::Am, Some("a1"), NOW).unwrap();
    assert_eq!(joined.identity.to_string(), "xav://grid/lab/am/a1");
    assert_eq!(
        wrong(bench.join(token, Role::Am, Some("a2"), NOW)),
        "the join token has been used"
    );
    // A registrar that is opened again gives the same answer.
    bench.registrar = bench.again();
    assert_eq!(
        wrong(bench.join(token, Role::Am, Some("a2"), NOW)),
        "the join token has been used"
    );

    let late = bench.token(Role::Am, None);
    assert_eq!(
        wrong(bench.join(late, Role::Am, Some("a2"), after(HOUR))),
        "the join token has expired"
    );
    let named = bench.token(Role::User, Some("ada"));
    assert_eq!(
        wrong(bench.join(named, Role::User, Some("bob"), NOW)),
        "the join token is for the name \"ada\""
    );
    let ada = bench.join(named, Role::User, None, NOW).unwrap();
    assert_eq!(ada.identity.name(), "ada");
    assert_eq!(
        wrong(bench.join(TokenId::of(b"drawn"), Role::Am, Some("a2"), NOW)),
        "the join token is not known here"
    );
}

#[test]
fn a_name_is_taken_until_its_certificate_is_over() {
    let mut bench = Bench::new();
    let first = bench.token(Role::Am, None);
    bench.join(first, Role::Am, Some("a1"), NOW).unwrap();
    let second = bench.token(Role::Am, None);
    let taken = bench.join(second, Role::Am, Some("a1"), NOW).unwrap_err();
    assert!(taken.starts_with("there is a member xav://grid/lab/am/a1 already"));
    let revoked = bench.registrar.revoke("am/a1", (&bench.me, NOW)).unwrap();
    assert_eq!(revoked.len(), 1);
    assert!(bench.again().revocations().contains(&revoked[0]));
    bench.join(second, Role::Am, Some("a1"), NOW).unwrap();
    let nobody = bench.registrar.revoke("am/a2", (&bench.me, NOW));
    assert!(nobody.unwrap_err().to_string().contains("am/a2"));
    let own = bench.registrar.revoke("gm/gm", (&bench.me, NOW));
    assert!(matches!(own, Err(RegistrarError::Own)));
    assert!(matches!(
        bench
            .registrar
            .create_token(Role::Gm, &Terms::default(), GM, (NOW, HOUR)),
        Err(RegistrarError::Role(Role::Gm))
    ));
}

#[test]
fn a_certificate_is_renewed_until_it_is_revoked_or_over() {
    let mut bench = Bench::new();
    let token = bench.token(Role::Pm, None);
    let old = bench.join(token, Role::Pm, Some("pm"), NOW).unwrap();
    let Renewal::At(due) = renewal(old.not_before, old.not_after, NOW) else {
        panic!("it is fresh")
    };
    assert_eq!(renewal(old.not_before, old.not_after, due), Renewal::Due);
    let issued = bench.registrar.renew(&old.serial, &request(), due).unwrap();
    let young = issued.certificate;
    assert_eq!(young.identity, old.identity);
    assert_eq!(young.not_after, Wall(due.0 + CERTIFICATE_LIFE.0));
    // Both are valid until the first one ends; only one is dialled.
    assert_eq!(
        bench.registrar.contacts(Role::Pm, due),
        [("pm".to_owned(), "pm.example:7401".to_owned())]
    );
    let late = Wall(old.not_after.0 + DAY.0);
    assert!(matches!(
        bench.registrar.renew(&old.serial, &request(), late),
        Err(RegistrarError::NotRenewed)
    ));
    let revoked = bench.registrar.revoke("pm/pm", (&bench.me, due)).unwrap();
    assert_eq!(revoked.len(), 2);
    assert!(matches!(
        bench.registrar.renew(&young.serial, &request(), due),
        Err(RegistrarError::NotRenewed)
    ));
    assert_eq!(bench.registrar.contacts(Role::Pm, due), []);
    let again = bench.again();
    assert_eq!(
        again.issued_certificates(),
        bench.registrar.issued_certificates()
    );
    assert_eq!(again.revocations(), bench.registrar.revocations());
}

#[test]
fn a_token_survives_a_request_that_is_not_served() {
    let mut bench = Bench::new();
    let token = bench.token(Role::Am, None);
    let wanted = (Role::Am, Some("a1"));
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let other = rcgen::CertificateParams::default().serialize_request(&pair);
    let other = other.unwrap().der().to_vec();
    for wrong in [&other[..], b"nothing", &[0; 5_000]] {
        let refused = bench.join_with(token, wanted, wrong, NOW).unwrap_err();
        assert!(refused.contains("the signing request"), "{refused}");
    }
    // The token is not used up if the certificate cannot be stored either.
    let list = bench.registrar.directory.join(ISSUED);
    std::fs::remove_file(&list).unwrap();
    std::fs::create_dir_all(list.join("in the way")).unwrap();
    assert!(bench.join(token, Role::Am, Some("a1"), NOW).is_err());
    std::fs::remove_dir_all(&list).unwrap();
    bench.join(token, Role::Am, Some("a1"), NOW).unwrap();
}

#[test]
fn a_repeated_request_gets_the_same_answer_and_no_other_request_does() {
    let mut bench = Bench::new();
    let token = bench.token(Role::Am, None);
    let (mine, wanted) = (request(), (Role::Am, Some("a1")));
    let first = bench.join_with(token, wanted, &mine, NOW).unwrap();
    bench.registrar = bench.again();
    assert_eq!(bench.join_with(token, wanted, &mine, NOW).unwrap(), first);
    let used = "the join token has been used";
    let others = bench.join_with(token, wanted, &request(), NOW);
    assert_eq!(others.unwrap_err(), used);
    assert_eq!(bench.registrar.valid(NOW).count(), 2);
    bench.registrar.revoke("am/a1", (&bench.me, NOW)).unwrap();
    let again = bench.join_with(token, wanted, &mine, NOW);
    assert_eq!(again.unwrap_err(), used);
}

#[test]
fn a_certificate_that_was_kept_when_its_token_was_not_used_up_is_in_nobodys_way() {
    let mut bench = Bench::new();
    let token = bench.token(Role::Am, None);
    let kept = bench
        .registrar
        .directory
        .join(TOKENS)
        .join(token.to_string());
    let text = std::fs::read(&kept).unwrap();
    let lost = bench.join(token, Role::Am, Some("a1"), NOW).unwrap();
    // The state after a power cut between the two writes.
    std::fs::write(&kept, text).unwrap();
    bench.registrar = bench.again();
    let joined = bench.join(token, Role::Am, Some("a1"), NOW).unwrap();
    assert_ne!(joined.serial, lost.serial);
    assert_eq!(bench.again().issued_certificates().get(&lost.serial), None);
}

/// When a certificate is due for renewal.
fn due(certificate: &Certificate) -> Wall {
    let (from, until) = (certificate.not_before, certificate.not_after);
    match renewal(from, until, from) {
        Renewal::At(due) => due,
        Renewal::Due | Renewal::Expired => panic!("it is fresh"),
    }
}

#[test]
fn a_certificate_has_one_successor_when_it_is_due() {
    let mut bench = Bench::new();
    let token = bench.token(Role::User, None);
    let mine = request();
    let wanted = (Role::User, Some("ana"));
    let old = bench.join_with(token, wanted, &mine, NOW).unwrap();
    let due = due(&old);
    let early = Wall(due.0 - 1);
    for _ in 0..100 {
        let refused = bench.registrar.renew(&old.serial, &mine, early);
        assert!(matches!(refused, Err(RegistrarError::NotDue(at)) if at == due));
    }
    let young = bench.registrar.renew(&old.serial, &mine, due).unwrap();
    for _ in 0..100 {
        let again = bench.registrar.renew(&old.serial, &mine, due).unwrap();
        assert_eq!(again.certificate, young.certificate);
    }
    bench.registrar = bench.again();
    let other = bench.registrar.renew(&old.serial, &request(), due);
    let other = other.unwrap_err().to_string();
    assert!(
        other.starts_with("the certificate was renewed already"),
        "{other}"
    );
    assert_eq!(bench.registrar.issued_certificates().iter().count(), 3);
}

#[test]
fn certificates_that_hardly_last_are_not_renewed_in_a_circle() {
    let mut bench = Bench::new();
    bench.registrar.life = Span::from_secs(60);
    let token = bench.token(Role::Am, None);
    let mine = request();
    let first = bench.join_with(token, (Role::Am, Some("a1")), &mine, NOW);
    let mut last = first.unwrap();
    let mut n_renewed = 0;
    for second in 0..120 {
        let now = after(Span::from_secs(second));
        if let Ok(issued) = bench.registrar.renew(&last.serial, &mine, now) {
            n_renewed += u32::from(issued.certificate.serial != last.serial);
            last = issued.certificate;
        }
    }
    assert_eq!(n_renewed, 4);
}

#[test]
fn the_next_holder_of_a_name_is_another_one_unless_the_administrator_says_so() {
    let mut bench = Bench::new();
    let holder = |joined: Result<Certificate, String>| joined.unwrap().identity.to_string();
    for role in [Role::User, Role::Pm] {
        let token = bench.token(role, Some("ana"));
        let first = bench.join(token, role, None, NOW).unwrap();
        let renewed = bench
            .registrar
            .renew(&first.serial, &request(), due(&first));
        assert_eq!(renewed.unwrap().certificate.identity, first.identity);
        let what = format!("{role}/ana");
        bench.registrar.revoke(&what, (&bench.me, NOW)).unwrap();
        assert!(bench.registrar.was_held(role, "ana"));
        let token = bench.token(role, Some("ana"));
        let second = holder(bench.join(token, role, None, NOW));
        assert_eq!(second, format!("xav://grid/lab/{role}/ana~2"));
        bench.registrar.revoke(&what, (&bench.me, NOW)).unwrap();
        let terms = Terms {
            name: Some("ana".to_owned()),
            takes_over: true,
            ..Terms::default()
        };
        let token = bench.token_with(role, &terms);
        assert_eq!(holder(bench.join(token, role, None, NOW)), second);
    }
    // The name of a machine identifies it, so it needs no holder number.
    for n in 0..2 {
        let token = bench.token(Role::Am, Some("a1"));
        let joined = holder(bench.join(token, Role::Am, None, NOW));
        assert_eq!(joined, "xav://grid/lab/am/a1", "{n}");
        bench.registrar.revoke("am/a1", (&bench.me, NOW)).unwrap();
    }
    let nobodys = Terms {
        takes_over: true,
        ..Terms::default()
    };
    let refused = bench
        .registrar
        .create_token(Role::User, &nobodys, GM, (NOW, HOUR));
    assert!(matches!(refused, Err(RegistrarError::TakesOver)));
}

#[test]
fn open_tokens_are_listed_with_their_terms_and_a_cancelled_one_admits_nobody() {
    let mut bench = Bench::new();
    let eve = Identity::new("grid", "lab", Role::Admin, "eve").unwrap();
    let terms = Terms {
        name: Some("ana".to_owned()),
        takes_over: true,
        made_by: Some(eve),
    };
    let of_ana = bench.token_with(Role::User, &terms);
    let (used, of_machine) = (bench.token(Role::Am, None), bench.token(Role::Am, None));
    bench.join(used, Role::Am, Some("a1"), NOW).unwrap();
    let ids = |bench: &Bench, now| -> Vec<TokenId> {
        let open = bench.registrar.open_tokens(now).unwrap();
        open.into_iter().map(|token| token.id).collect()
    };
    let mut both = vec![of_ana, of_machine];
    both.sort();
    assert_eq!(ids(&bench, NOW), both);
    let open = bench.registrar.open_tokens(NOW).unwrap();
    let shown = open.iter().find(|token| token.id == of_ana).unwrap();
    assert_eq!((shown.role, &shown.terms), (Role::User, &terms));
    let no = |bench: &mut Bench, prefix: &str| {
        let refused = bench.registrar.cancel_token(prefix, NOW);
        refused.unwrap_err().to_string()
    };
    for prefix in ["", "x", &used.to_string()] {
        let wanted = format!("there is no open join token whose ID begins with {prefix:?}");
        assert_eq!(no(&mut bench, prefix), wanted);
    }
    let prefix = &of_machine.to_string()[..16];
    let cancelled = bench.registrar.cancel_token(prefix, NOW).unwrap();
    assert_eq!(cancelled.id, of_machine);
    // After a restart, too.
    bench.registrar = bench.again();
    assert_eq!(ids(&bench, NOW), [of_ana]);
    let refused = bench.join(of_machine, Role::Am, Some("a2"), NOW);
    assert_eq!(refused.unwrap_err(), "the join token was cancelled");
    assert!(ids(&bench, after(HOUR)).is_empty(), "they expire");
}

#[test]
fn a_beginning_of_several_ids_cancels_none_of_them() {
    let mut bench = Bench::new();
    // There are sixteen first digits, so two of seventeen tokens begin alike.
    let all: Vec<String> = (0..17)
        .map(|_| bench.token(Role::Am, None).to_string())
        .collect();
    let alike = |first: &str| all.iter().filter(|id| id.starts_with(first)).count();
    let first = all.iter().map(|id| &id[..1]).find(|first| alike(first) > 1);
    let first = first.unwrap();
    let refused = bench.registrar.cancel_token(first, NOW).unwrap_err();
    let n_tokens = alike(first);
    assert_eq!(
        refused.to_string(),
        format!("the IDs of {n_tokens} open join tokens begin with {first:?}: give more of the ID")
    );
    assert_eq!(bench.registrar.open_tokens(NOW).unwrap().len(), 17);
}

#[test]
fn a_name_stays_its_first_holders_long_after_that_has_expired() {
    let mut bench = Bench::new();
    let token = bench.token(Role::User, Some("ana"));
    let first = bench.join(token, Role::User, None, NOW).unwrap();
    let token = bench.token(Role::Am, Some("a1"));
    let machine = bench.join(token, Role::Am, None, NOW).unwrap();
    let years = after(Span(900 * DAY.0));
    let later = bench
        .registrar
        .create_token(Role::User, &Terms::default(), GM, (years, HOUR));
    let later = later.unwrap().id();
    let second = bench.join(later, Role::User, Some("ana"), years).unwrap();
    assert_eq!(second.identity, first.identity.of_holder(2));
    bench.registrar = bench.again();
    assert_eq!(
        bench
            .registrar
            .issued_certificates()
            .last_holder(Role::User, "ana"),
        Some(2)
    );
    // Certificates of machines that ended long ago are dropped.
    assert_eq!(
        bench.registrar.issued_certificates().get(&machine.serial),
        None
    );
}

#[test]
fn registrars_of_one_directory_see_what_the_others_do() {
    let mut bench = Bench::new();
    let mut other = bench.again();
    let admin = other.admit_again(&request(), (Role::Admin, "eve", false), (None, None), NOW);
    let admin = admin.unwrap().certificate;
    let token = bench.token(Role::Am, None);
    bench.join(token, Role::Am, Some("a1"), NOW).unwrap();
    other.refresh().unwrap();
    assert_eq!(
        bench.registrar.issued_certificates(),
        other.issued_certificates()
    );
    let revoked = bench.registrar.revoke("admin/eve", (&bench.me, NOW));
    assert_eq!(revoked.unwrap(), [admin.serial]);
}

#[test]
fn a_certificate_is_issued_at_the_authority_after_the_first_one_has_ended() {
    let mut bench = Bench::new();
    let token = bench.token(Role::User, Some("ana"));
    let old = bench.join(token, Role::User, None, NOW).unwrap();
    let late = Wall(old.not_after.0 + DAY.0);
    let wanted = (Role::User, "ana", false);
    let mut admit = |before, now| {
        let admitted = bench
            .registrar
            .admit_again(&request(), wanted, (before, None), now);
        admitted.map(|issued| issued.certificate.identity.label())
    };
    let taken = admit(None, NOW);
    assert!(matches!(taken, Err(RegistrarError::Taken(_))));
    assert_eq!(admit(Some(&old.identity), late).unwrap(), "ana");
    let much_later = Wall(late.0 + 100 * DAY.0);
    assert_eq!(admit(None, much_later).unwrap(), "ana~2");
}

#[test]
fn a_list_of_an_earlier_version_is_read() {
    let bench = Bench::new();
    let path = bench.registrar.directory.join(ISSUED);
    let line = "4001 1800000000 1900000000 xav://grid/lab/pm/pm 10.0.0.1:7401\n";
    std::fs::write(&path, line).unwrap();
    let again = bench.again();
    let (_, signed) = again.issued_certificates().iter().next().unwrap();
    assert_eq!((signed.key, &signed.origin), (None, &None));
    assert_eq!(
        again.contacts(Role::Pm, NOW),
        [("pm".to_owned(), "10.0.0.1:7401".to_owned())]
    );
}

#[test]
fn a_certificate_that_a_restored_list_lacks_is_revoked_by_its_serial_number() {
    let mut bench = Bench::new();
    let path = bench.registrar.directory.join(ISSUED);
    let backup = std::fs::read(&path).unwrap();
    let token = bench.token(Role::Am, Some("a1"));
    let since = bench.join(token, Role::Am, None, NOW).unwrap().serial;
    std::fs::write(&path, backup).unwrap();
    bench.registrar = bench.again();
    let text = since.to_string();
    let mut revoke = |what: &str| bench.registrar.revoke(what, (&bench.me, NOW));
    for wrong in [&text[2..], &format!("{text}00"), "am/a1"] {
        let refused = revoke(wrong);
        assert!(matches!(refused, Err(RegistrarError::Nobody(_))), "{wrong}");
    }
    assert_eq!(revoke(&text).unwrap(), std::slice::from_ref(&since));
    let again = bench.again();
    let revoked = again.revocations().get(&since);
    assert_eq!(revoked.unwrap().identity, None);
}

#[test]
fn a_full_list_makes_room_by_certificates_that_have_ended() {
    let bench = Bench::new();
    let path = bench.registrar.directory.join(ISSUED);
    let admit = |days_ago: u64| {
        let until = (NOW.0 - days_ago * DAY.0) / 1_000_000;
        let line = |number| format!("{number:08x} 1 {until} xav://grid/lab/am/a1 - - -\n");
        let lines: String = (1..=50_000).map(line).collect();
        std::fs::write(&path, lines).unwrap();
        let mut registrar = bench.again();
        let admitted = registrar.admit(&request(), &bench.me, None, NOW);
        let admitted = admitted.map_err(|error| error.to_string());
        admitted.map(|_| bench.again().issued_certificates().iter().count())
    };
    assert_eq!(admit(40), Ok(1));
    assert_eq!(admit(2), Ok(50_000));
    let valid = std::fs::read_to_string(&path).unwrap();
    assert!(valid.contains("gm/gm") && !valid.contains("\n00000001 "));
}

#[test]
fn members_whose_certificates_end_soon_are_named() {
    let mut bench = Bench::new();
    let token = bench.token(Role::Am, Some("a1"));
    let old = bench.join(token, Role::Am, None, NOW).unwrap();
    let days_before = |days: u64| Wall(old.not_after.0 - days * DAY.0);
    let told = |bench: &Bench, now| -> Vec<String> {
        let endings = bench.registrar.endings(now).into_iter();
        endings
            .filter(|(identity, _)| identity.role() == Role::Am)
            .map(|(identity, ending)| format!("{} {ending}", identity.label()))
            .collect()
    };
    assert!(told(&bench, days_before(15)).is_empty());
    assert_eq!(told(&bench, days_before(13)), ["a1 ends in 13 days"]);
    let renewed = bench
        .registrar
        .renew(&old.serial, &request(), days_before(13));
    renewed.unwrap();
    assert!(told(&bench, days_before(13)).is_empty());
}

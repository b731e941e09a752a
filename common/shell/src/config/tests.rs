use super::*;

#[derive(Debug, PartialEq)]
struct Settings {
    directory: PathBuf,
    listen: SocketAddr,
    slots: Option<u32>,
    note: Option<String>,
    manager: PeerAddress,
    others: Vec<PeerAddress>,
}

fn read(text: &str) -> Result<Settings, ConfigError> {
    Config::read_text(Path::new("dir/x.toml"), text, |config| Settings {
        directory: config.path("directory"),
        listen: config.address("listen"),
        slots: config.optional_number("slots", 1..=100),
        note: config.optional_text("note"),
        manager: config.peer("group-manager"),
        others: config.peers("process-managers"),
    })
}

fn mistakes(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn a_file_is_read_whole() {
    let text = "# for tests\n\
                directory = \"state\"\n\
                listen = \"127.0.0.1:7400\"\n\
                slots = 0x10\n\
                group-manager = { name = \"gm\", address = \"host:1\" }\n\
                [[process-managers]]\n\
                name = \"pm\"\n\
                address = \"[::1]:7401\"\n";
    let peer = |name: &str, address: &str| PeerAddress {
        name: name.to_owned(),
        address: address.to_owned(),
    };
    let settings = read(text).unwrap();
    assert_eq!(
        settings,
        Settings {
            directory: PathBuf::from("dir/state"),
            listen: "127.0.0.1:7400".parse().unwrap(),
            slots: Some(16),
            note: None,
            manager: peer("gm", "host:1"),
            others: vec![peer("pm", "[::1]:7401")],
        }
    );
}

#[test]
fn all_mistakes_are_told_with_their_places() {
    let text = "directory = 7\n\
                listen = \"nowhere\"\n\
                slots = 101\n\
                 sluts = 5\n\
                group-manager = { name = \"GM\", address = \"host:1\" }\n\
                process-managers = []\n";
    assert_eq!(
        mistakes(text),
        "dir/x.toml:1:13: directory must be a text in quotes\n\
         dir/x.toml:2:10: listen must be an address and a port, such as \"0.0.0.0:7400\"\n\
         dir/x.toml:3:9: slots must be a number from 1 to 100\n\
         dir/x.toml:4:1: there is no setting \"sluts\"\n\
         dir/x.toml:5:17: group-manager must be { name = \"NAME\", address = \"HOST:PORT\" }\n\
         dir/x.toml:6:20: process-managers must be a list of 1 to 64 of \
         { name = \"NAME\", address = \"HOST:PORT\" }"
    );
    assert_eq!(
        mistakes("note = \"\u{e9}\" x\n"),
        "dir/x.toml:1:12: unexpected key or value, expected newline, `#`\n\
         dir/x.toml:2:1: directory is missing\n\
         dir/x.toml:2:1: group-manager is missing\n\
         dir/x.toml:2:1: listen is missing\n\
         dir/x.toml:2:1: process-managers is missing"
    );
}

#[test]
fn numbers_are_given_by_names_of_users() {
    let read = |text: &str| {
        Config::read_text(Path::new("gm.toml"), text, |config| {
            config.optional_numbers_by_user("share", 1..=9)
        })
    };
    let shares = read("share = { ana = 2, ana~2 = 9 }");
    assert!(shares.is_err(), "a bare key has no tilde");
    let shares = read("share = { ana = 2, \"ana~2\" = 9 }").unwrap();
    let shares: Vec<(String, u32)> = shares.into_iter().flatten().collect();
    assert_eq!(shares, [("ana".to_owned(), 2), ("ana~2".to_owned(), 9)]);
    assert_eq!(read("share = {}").unwrap(), Some(BTreeMap::new()));
    assert_eq!(read("").unwrap(), None);
    for wrong in [
        "{ ana = 0 }",
        "{ Ana = 1 }",
        "{ ana = \"2\" }",
        "{ \"user/ana\" = 1 }",
        "2",
    ] {
        let told = read(&format!("share = {wrong}")).unwrap_err().to_string();
        assert_eq!(
            told,
            "gm.toml:1:9: share must be numbers from 1 to 9 by names of users, such as { ana = 1 }",
            "{wrong}"
        );
    }
}

#[test]
fn the_examples_of_times_are_allowed_themselves() {
    let mistake = |least, most| {
        let range = Span::from_secs(least)..=Span::from_secs(most);
        let read = Config::read_text(Path::new("x.toml"), "time = \"0s\"", |config| {
            config.optional_span_in("time", range)
        });
        read.unwrap_err().to_string()
    };
    let told = [
        (5, 600, "from 5 to 600 seconds, such as \"30s\" or \"2m\""),
        (
            60,
            700_000,
            "from 60 to 700000 seconds, such as \"2m\" or \"7d\"",
        ),
        (1, 9, "from 1 to 9 seconds"),
    ];
    for (least, most, wanted) in told {
        let wanted = format!("x.toml:1:8: time must be a time {wanted}");
        assert_eq!(mistake(least, most), wanted);
    }
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("x.toml");
    let error = Config::read(&path, |_| ()).unwrap_err().to_string();
    assert_eq!(error, format!("could not read {}", path.display()));
    std::fs::write(&path, vec![b'#'; 70_000]).unwrap();
    let error = Config::read(&path, |_| ()).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("{} is longer than 65536 bytes", path.display())
    );
}

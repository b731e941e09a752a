//! Files of a user that others must not have: knowing their hashes is not enough. And files that are
//! damaged on one machine of a grid.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex};

use model::{Hash, Identity, ProcessId, Role};
use shell::identity::Credentials;
use shell::quic::{Arrival, Arriving, Bulk, BulkConfig, BulkError, Depot, Source};
use wire::bulk::Belongs;

use super::until_it_is;
use super::world::World;
use crate::blocked_process;
use crate::damaged_files::{definition, flip_bits};

/// Takes whatever comes.
#[derive(Clone, Default)]
struct Basket(Arc<Mutex<Vec<u8>>>);

impl Depot for Basket {
    fn open(&self, _: Hash) -> io::Result<Option<(File, u64)>> {
        Ok(None)
    }

    fn receive(&self, _: Hash) -> io::Result<Option<Box<dyn Arriving>>> {
        Ok(Some(Box::new(self.clone())))
    }
}

impl Arriving for Basket {
    fn bytes(&self) -> u64 {
        self.0.lock().unwrap().len() as u64
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Arrival> {
        Ok(Arrival::Sound)
    }
}

/// A user's own way to the first machine, past `xav`.
struct Way {
    bulk: Bulk,
    machine: Source,
}

impl Way {
    fn of(world: &World, home: &str) -> Way {
        let credentials = Credentials::load(&Path::new(home).join("identity")).unwrap();
        let port = fs::read_to_string(world.state_of(Role::Am).join("files-port")).unwrap();
        let bulk = Bulk::bind(BulkConfig {
            address: "127.0.0.1:0".parse().unwrap(),
            credentials,
            key: None,
            depot: None,
            rate: None,
            blob_bytes_max: 1 << 20,
        });
        Way {
            bulk: bulk.unwrap(),
            machine: Source {
                peer: Identity::new("grid", "lab", Role::Am, "am1").unwrap(),
                address: format!("127.0.0.1:{}", port.trim()),
            },
        }
    }

    fn get(&self, hash: Hash, of: Option<Belongs>) -> Result<Vec<u8>, String> {
        let basket = Basket::default();
        let sources = [self.machine.clone()];
        match self.bulk.fetch_of(&sources, (hash, of), &basket) {
            Ok(_) => Ok(basket.0.lock().unwrap().clone()),
            Err(BulkError::Refused(refusal)) => Err(refusal.to_string()),
            Err(error) => panic!("{error}"),
        }
    }

    fn put(
        &self,
        content: &[u8],
        hash: Hash,
        of: Option<Belongs>,
        bytes: u64,
    ) -> Result<(), String> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        let put = self.bulk.put_of(&self.machine, (hash, of), file, bytes);
        put.map_err(|error| {
            let BulkError::Refused(refusal) = error else {
                panic!("{error}")
            };
            refusal.to_string()
        })
    }
}

const GONE: &str = "the blob is not there";

#[test]
fn another_user_is_not_given_a_file_whose_hash_is_known() {
    let world = World::new(1, 1);
    let (ana, ben) = (world.user("ana"), world.user("ben"));
    let sandbox = &world.sandbox;
    blocked_process::open(sandbox);
    let given = format!("given={}", sandbox.file("given", "flour\n"));
    let file = definition(sandbox);
    let run = ["run", &file, "-i", &given, "--grid", &ana, "--json"];
    let done = sandbox.json(&run);
    let process: ProcessId = done["process"].as_str().unwrap().parse().unwrap();
    let used = &done["outputs"]["used"];
    let hash: Hash = used["hash"].as_str().unwrap().parse().unwrap();
    let of = |process, artifact| Some(Belongs { process, artifact });
    let (of_ana, of_ben) = (Way::of(&world, &ana), Way::of(&world, &ben));
    let content = b"made of flour\nflour\n".to_vec();
    assert_eq!(of_ana.get(hash, of(process, hash)), Ok(content));
    // For another user the process does not exist.
    let unknown = Hash([7; 32]);
    for (hash, of) in [
        (hash, of(process, hash)),
        (hash, of(ProcessId(1), hash)),
        (hash, None),
        (unknown, of(process, unknown)),
    ] {
        assert_eq!(of_ben.get(hash, of), Err(GONE.to_owned()));
    }
    // Nor may she have what is not of the process that she names.
    assert_eq!(of_ana.get(hash, of(process, unknown)), Err(GONE.to_owned()));
    assert_eq!(of_ana.get(hash, None), Err(GONE.to_owned()));
    // An administrator may.
    let admin = Way::of(&world, &world.admin("root"));
    assert!(admin.get(hash, None).is_ok());
}

#[test]
fn a_user_gives_files_for_a_process_alone_and_no_more_than_was_said() {
    let world = World::new(1, 1);
    let way = Way::of(&world, &world.user("ana"));
    let hash = Hash([7; 32]);
    let of = Some(Belongs {
        process: ProcessId(1),
        artifact: hash,
    });
    let refused = way.put(b"anything", hash, None, 8).unwrap_err();
    assert_eq!(refused, "it was not said for which process the file is");
    let refused = way.put(b"anything", hash, of, 8).unwrap_err();
    assert_eq!(refused, "what came is not what its name says");
    // More than the store may take at all.
    let refused = way.put(b"anything", hash, of, 1 << 39).unwrap_err();
    assert!(
        refused.starts_with("files that you have given there"),
        "{refused}"
    );
    let blobs = world.state_of(Role::Am).join("blobs/blobs");
    assert_eq!(fs::read_dir(blobs).unwrap().count(), 0);
}

#[test]
fn what_is_damaged_where_it_was_made_comes_from_a_copy() {
    let world = World::new(1, 2);
    let ana = world.user("ana");
    let sandbox = &world.sandbox;
    let given = format!("given={}", sandbox.file("given", "flour\n"));
    let file = definition(sandbox);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("name: damaged\n", "name: damaged\ncopies: 1\n"),
    )
    .unwrap();
    let submit = ["submit", &file, "-i", &given, "--grid", &ana];
    let id = sandbox.xav(&submit).expect(0).stdout;
    let id = id.trim_end();
    sandbox.wait_for_lines("log", 2);
    let status = crate::wait::until("a copy", || {
        let status = sandbox.json(&["status", id, "--grid", &ana, "--json"]);
        let make = &status["activity_list"][0];
        make["copy"].is_string().then_some(status)
    });
    let make = &status["activity_list"][0];
    let made_on = make["attempts"][0]["resource"].as_str().unwrap();
    let number: usize = made_on.trim_start_matches("am").parse().unwrap();
    let store = world.state_of_machine(number - 1).join("blobs");
    assert_eq!(flip_bits(&store, "made of"), 1);
    blocked_process::open(sandbox);
    until_it_is(&world, &ana, id, "completed");
    assert_eq!(sandbox.lines("log"), ["make", "hold", "use"]);
    let results = ["results", id, "--grid", &ana, "--to", "out"];
    sandbox.xav(&results).expect(0);
    let used = fs::read_to_string(sandbox.path("out/used")).unwrap();
    assert_eq!(used, "made of flour\nflour\n");
}

//! How the commands of documents are carried out that cannot be carried out as a reader would. Each entry has
//! its reason, and one that fits no command fails the test of its document.

use super::reader::Reader;

/// A command that no test carries out.
pub(super) struct Left {
    pub(super) document: &'static str,
    pub(super) command: &'static str,
    pub(super) reason: &'static str,
}

/// Words that stand in a command of a document, and those that are carried out in their place.
pub(super) struct Replaced {
    pub(super) document: &'static str,
    pub(super) written: &'static str,
    pub(super) carried_out: &'static str,
    pub(super) reason: &'static str,
}

/// The state that a document takes for granted before a command.
pub(super) struct Given {
    pub(super) document: &'static str,
    pub(super) command: &'static str,
    pub(super) make: fn(&mut Reader),
}

const IN_CONTAINER: &str = "it changes this machine; tests/it/packages/run does it in a container";

pub(super) const LEFT: &[Left] = &[
    Left {
        document: "README.md",
        command: "cargo test --workspace --release",
        reason: "this test is among them",
    },
    Left {
        document: "docs/operate.md",
        command: "apt install ./xavantes_0.1.0-1_amd64.deb",
        reason: IN_CONTAINER,
    },
    Left {
        document: "docs/operate.md",
        command: "dnf install ./xavantes-0.1.0-1.x86_64.rpm",
        reason: "it changes this machine; tests/it/packages/run installs it into a directory",
    },
    Left {
        document: "docs/operate.md",
        command: "systemd-creds encrypt --name=certificate.key /var/lib/xavantes/gm/identity/certificate.key /etc/credstore.encrypted/xavantes-gm.key",
        reason: "it writes into /etc; services.rs gives a daemon its keys as systemd does",
    },
    Left {
        document: "docs/operate.md",
        command: "rm /var/lib/xavantes/gm/identity/certificate.key",
        reason: "the key is needed where the command before was not carried out",
    },
    Left {
        document: "docs/operate.md",
        command: "nft add rule inet filter input udp dport 7400-7402 accept",
        reason: "it changes the packet filter of this machine",
    },
];

/// Other tests, and other programs of this machine, have ports too.
const PORT: &str = "a port that is free, which docs/grid.md says how to choose";

/// The documents say what root adds.
const ROOT: &str = "root says as whom commands run; anybody else says nothing";

pub(super) const REPLACED: &[Replaced] = &[
    Replaced {
        document: "README.md",
        written: "cargo run --profile quick --bin xav --",
        carried_out: "xav",
        reason: "the program is built already, as these tests are",
    },
    Replaced {
        document: "README.md",
        written: "grid init lab",
        carried_out: "grid init lab --port $FREE_PORT",
        reason: PORT,
    },
    Replaced {
        document: "README.md",
        written: "--run",
        carried_out: "--run $AS_ROOT",
        reason: ROOT,
    },
    Replaced {
        document: "docs/grid.md",
        written: "grid init lab",
        carried_out: "grid init lab --port $FREE_PORT",
        reason: PORT,
    },
    Replaced {
        document: "docs/grid.md",
        written: "--run",
        carried_out: "--run $AS_ROOT",
        reason: ROOT,
    },
    Replaced {
        document: "docs/experiments.md",
        written: "--repetitions 1000",
        carried_out: "--repetitions 1",
        reason: "so many take hours",
    },
    Replaced {
        document: "docs/experiments.md",
        written: "--repetitions 100 ",
        carried_out: "--repetitions 1 ",
        reason: "so many take minutes",
    },
    Replaced {
        document: "docs/experiments.md",
        written: "--check",
        carried_out: "--check --repetitions 2",
        reason: "the twenty that it has by itself take minutes",
    },
    Replaced {
        document: "docs/platforms.md",
        written: "FILE",
        carried_out: "workflows/samples/mosaic/mosaic.yaml",
        reason: "the document leaves the file to the reader",
    },
    Replaced {
        document: "docs/platforms.md",
        written: "DIR",
        carried_out: "tables",
        reason: "the document leaves the directory to the reader",
    },
    Replaced {
        document: "docs/operate.md",
        written: "/var/lib/xavantes",
        carried_out: "var/lib/xavantes",
        reason: "the directories of this machine stay as they are",
    },
    Replaced {
        document: "docs/operate.md",
        written: "--host gm.example.org",
        carried_out: "--host 127.0.0.1 --port $FREE_PORT",
        reason: "nobody has that name, and other tests have ports too",
    },
    Replaced {
        document: "docs/operate.md",
        written: "join TOKEN",
        carried_out: "join $(xav token create --role am --grid lab/client)",
        reason: "the document says that this is where it comes from",
    },
];

pub(super) const GIVEN: &[Given] = &[
    Given {
        document: "README.md",
        command: "xav rerun --file mended.yaml",
        make: |reader| {
            let text =
                "xavantes: 1\nname: sum\nbody: { activity: add, run: { shell: \"exit 3\" } }\n";
            reader.file("broken.yaml", text);
            reader.file("mended.yaml", &text.replace("exit 3", "expr 1 + 2"));
            reader.fails("xav run broken.yaml");
        },
    },
    Given {
        document: "docs/forecasting.md",
        command: "xav forecast planetlab.csv --against des",
        make: |reader| {
            let loads = |machine: usize| {
                let one = |at: usize| (at * at * (machine + 7) % 83).to_string();
                let loads: Vec<String> = (0..288).map(one).collect();
                format!("m{machine},{}\n", loads.join(","))
            };
            reader.file("planetlab.csv", &(0..3).map(loads).collect::<String>());
            let run = |at: usize| format!("m{},{}\n", at % 3, 100 + at * 31 % 17);
            let runs: String = (0..300).map(run).collect();
            reader.file("runs.csv", &format!("machine,ms\n{runs}"));
        },
    },
    Given {
        document: "docs/history.md",
        command: "xav history",
        make: |reader| reader.runs("xav run workflows/samples/mosaic/mosaic.yaml"),
    },
    Given {
        document: "docs/history.md",
        command: "xav history --grid lab",
        make: |reader| reader.reads_section("docs/grid.md", "## In five commands"),
    },
    Given {
        document: "docs/platforms.md",
        command: "xav plan FILE",
        make: |reader| {
            // The document's own files, under the names that its commands have for them.
            reader.file_of("docs/platforms.md", "machines: [{", "two-speeds.yaml");
            reader.file_of("docs/platforms.md", "xavantes-platform:", "grid.yaml");
            reader.file(
                "cloud.yaml",
                "machines:\n  \
                 - { name: small, count: 4, slots: 2, power: 1.0, price: 0.05 }\n  \
                 - { name: large, count: 2, slots: 4, power: 2.0, price: 0.4 }\n",
            );
            reader.file("tables/g-nodes.csv", "node,worker_nodes\na,2\nb,3\nc,0\n");
            reader.file("tables/g-links.csv", "a,b,mbit_s\na,c,100\nb,c,1000\n");
        },
    },
    Given {
        document: "docs/operate.md",
        command: "xav grid restore BACKUP /var/lib/xavantes/pm",
        make: |reader| {
            // The disk is lost.
            reader.systemctl("stop xavantes-pm");
            reader.runs("rm -r var/lib/xavantes/pm");
        },
    },
];

//! Platform files: which machines there are, in groups, and what lies between them.
//!
//! ```text
//! platform.rs   what such a file says, and the platform that it is
//! read.rs       text -> file, or everything that is wrong with it
//! read/         the powers over time and the costs of a machine
//! units.rs      bandwidths
//! import.rs     descriptions of real grids, as tables, -> file
//! ```

pub mod import;
mod read;
mod units;

use std::collections::BTreeMap;
use std::fmt::Write;

use model::{
    Bytes, GroupId, Network, NetworkLink, Platform, PlatformError, PowerSteps, Resource,
    ResourceId, Span,
};

use crate::diagnostic::Diagnostics;
use crate::tree::{self, Tree};

pub use units::parse_bandwidth;

/// Limits on platform files.
pub mod limits {
    use model::Span;

    /// Machines of one platform, as many as a planner takes.
    pub const MACHINES_MAX: usize = 100_000;
    /// Groups of one platform: what lies between them grows with its square.
    pub const GROUPS_MAX: usize = 1_000;
    /// Slots of one machine, as many as a planner takes.
    pub const SLOTS_MAX: u32 = 65_536;
    /// Bytes of a machine's or group's name: it may become the name of a directory.
    pub const NAME_BYTES_MAX: usize = 64;
    /// Steps of the power of one machine: as long a text as an executor takes as one argument.
    pub const POWER_STEPS_MAX: usize = 1_000;
    /// The latest time at which a step of power begins: 10 years are exact to the microsecond.
    pub const POWER_FROM_MAX: Span = Span::from_secs(3_650 * 86_400);
    /// Labels of one machine.
    pub const LABELS_MAX: usize = 64;
    /// The highest price, and the most watts, of one machine: sums of them stay exact enough.
    pub const RATE_MAX: f64 = 1e9;
}

/// Gigabit Ethernet: what lies between two machines where nothing else is said.
pub const LINK_DEFAULT: NetworkLink = NetworkLink {
    bandwidth: 1.25e8,
    latency: 1e-4,
};

/// The content of a platform file.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformFile {
    /// The groups, each with a name of its own. A file that lists machines only has one group.
    pub groups: Vec<PlatformGroup>,
    /// Between machines of one group that says nothing else.
    pub inside: NetworkLink,
    /// Between machines of two groups of which nothing else is said.
    pub between: NetworkLink,
    /// Between machines of two particular groups, by their places; each two once.
    pub links: Vec<((usize, usize), NetworkLink)>,
}

/// Machines near each other.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformGroup {
    /// Its name; empty where the file lists machines only.
    pub name: String,
    /// Between its machines, where it is something of its own.
    pub inside: Option<NetworkLink>,
    /// Its machines.
    pub machines: Vec<PlatformMachine>,
}

/// One machine, or several that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct PlatformMachine {
    /// Its name; if `count` is more than one, the machines are `NAME-1`, `NAME-2` and so on.
    pub name: String,
    /// Their number.
    pub count: u32,
    /// Slots of each.
    pub slots: u32,
    /// Reference seconds of work that one core of each does in a second, over time. The first is
    /// above 0.
    pub power: PowerSteps,
    /// Memory of each; none where nothing was said.
    pub memory: Option<Bytes>,
    /// The properties of each.
    pub labels: BTreeMap<String, String>,
    /// Money for a slot of each and an hour, in any currency; none where nothing was said.
    pub price: Option<f64>,
    /// The power that each draws; none where nothing was said.
    pub watts: Option<Watts>,
}

/// The power that a machine draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Watts {
    /// While nothing runs.
    pub idle: f64,
    /// While all its slots are busy.
    pub busy: f64,
}

/// Reads a platform file. `name` is the file's name as diagnostics show it.
///
/// The error holds everything that was found, in the order of the file.
pub fn compile(name: &str, text: &[u8]) -> Result<PlatformFile, Diagnostics> {
    let mut diagnostics = Diagnostics::new(name);
    let source = tree::source(text, &mut diagnostics);
    let file = source.and_then(|source| {
        if read::is_empty(source) {
            diagnostics.add(read::nothing());
            return None;
        }
        let tree = Tree::parse(source, &mut diagnostics)?;
        read::file(source, &tree, &mut diagnostics)
    });
    diagnostics.keep_source(source);
    diagnostics.sort();
    match file {
        Some(file) if !diagnostics.has_errors() => Ok(file),
        Some(_) | None => Err(diagnostics),
    }
}

impl PlatformFile {
    /// The machines one by one, in the order of the file: the place of the group, the name, what it
    /// is.
    pub fn machines(&self) -> impl Iterator<Item = (usize, String, &PlatformMachine)> {
        self.groups.iter().enumerate().flat_map(|(place, group)| {
            group
                .machines
                .iter()
                .flat_map(move |machine| machine.names().map(move |name| (place, name, machine)))
        })
    }

    /// The number of machines.
    pub fn n_machines(&self) -> usize {
        let counts = self.groups.iter().flat_map(|group| &group.machines);
        counts.fold(0, |sum, machine| sum.saturating_add(machine.count as usize))
    }

    /// The platform as a planner sees it. A machine of which no memory is told has enough.
    pub fn platform(&self) -> Result<Platform, PlatformError> {
        let group_id = |place: usize| GroupId::new(place as u64);
        let resources = (0..)
            .zip(self.machines())
            .map(|(number, (group, name, machine))| Resource {
                id: ResourceId::new(group_id(group), number),
                name,
                power: machine.power.at_start(),
                slots: machine.slots,
                memory: machine.memory.unwrap_or(Bytes(u64::MAX)),
                labels: machine.labels.clone(),
            });
        let inside_of = self.groups.iter().enumerate();
        let inside_of =
            inside_of.filter_map(|(place, group)| Some((group_id(place), group.inside?)));
        let between_pairs = self.links.iter().map(|&((one, other), link)| {
            let (one, other) = (group_id(one), group_id(other));
            ((one.min(other), one.max(other)), link)
        });
        let network = Network {
            inside: self.inside,
            between: self.between,
            inside_of: inside_of.collect(),
            between_pairs: between_pairs.collect(),
            ways: BTreeMap::new(),
        };
        let changing = (0..)
            .zip(self.machines())
            .filter(|(_, (.., one))| one.power.changes());
        let power_steps = changing.map(|(number, (group, _, machine))| {
            let id = ResourceId::new(group_id(group), number);
            (id, machine.power.clone())
        });
        let power_steps = power_steps.collect();
        Platform::new(resources.collect(), network)?.with_power_steps(power_steps)
    }

    /// The same as a file that reads back as this.
    pub fn yaml(&self) -> String {
        let mut text = String::from("xavantes-platform: 1\n");
        let writes = "writing to a text cannot fail";
        if let [
            PlatformGroup {
                name,
                inside: None,
                machines,
            },
        ] = self.groups.as_slice()
            && name.is_empty()
        {
            if self.inside != LINK_DEFAULT {
                writeln!(text, "inside: {{ {} }}", link(self.inside)).expect(writes);
            }
            text.push_str("machines:\n");
            for machine in machines {
                writeln!(text, "  - {}", machine.yaml()).expect(writes);
            }
            return text;
        }
        writeln!(text, "inside: {{ {} }}", link(self.inside)).expect(writes);
        writeln!(text, "between: {{ {} }}", link(self.between)).expect(writes);
        text.push_str("groups:\n");
        for group in &self.groups {
            writeln!(text, "  - name: {}", group.name).expect(writes);
            if let Some(inside) = group.inside {
                writeln!(text, "    inside: {{ {} }}", link(inside)).expect(writes);
            }
            text.push_str("    machines:\n");
            for machine in &group.machines {
                writeln!(text, "      - {}", machine.yaml()).expect(writes);
            }
        }
        if !self.links.is_empty() {
            text.push_str("links:\n");
        }
        for &((one, other), between) in &self.links {
            let names = [one, other].map(|place| self.groups[place].name.as_str());
            let names = names.join(", ");
            writeln!(text, "  - {{ groups: [{names}], {} }}", link(between)).expect(writes);
        }
        text
    }
}

impl PlatformMachine {
    fn names(&self) -> impl Iterator<Item = String> {
        (1..=self.count).map(|number| match self.count {
            1 => self.name.clone(),
            _ => format!("{}-{number}", self.name),
        })
    }

    fn yaml(&self) -> String {
        let mut text = format!("{{ name: {}", self.name);
        let mut add = |key: &str, value: &dyn std::fmt::Display| {
            write!(text, ", {key}: {value}").expect("writing to a text cannot fail");
        };
        if self.count != 1 {
            add("count", &self.count);
        }
        add("slots", &self.slots);
        match self.power.steps() {
            [only] => add("power", &only.power),
            steps => {
                let steps = steps.iter().map(|step| {
                    let micros = (step.from * 1e6).round();
                    format!("{{ from: {micros}us, is: {} }}", step.power)
                });
                let steps: Vec<String> = steps.collect();
                add("power", &format_args!("[{}]", steps.join(", ")));
            }
        }
        if let Some(Bytes(bytes)) = self.memory {
            add("memory", &format_args!("{bytes}B"));
        }
        if !self.labels.is_empty() {
            let labels = self.labels.iter().map(|(name, value)| {
                // JSON's quotes are YAML's.
                format!("{}: {}", quoted(name), quoted(value))
            });
            let labels: Vec<String> = labels.collect();
            add("labels", &format_args!("{{ {} }}", labels.join(", ")));
        }
        if let Some(price) = self.price {
            add("price", &price);
        }
        if let Some(Watts { idle, busy }) = self.watts {
            add("idle-watts", &idle);
            add("busy-watts", &busy);
        }
        text.push_str(" }");
        text
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// As the keys of a link. A latency is written in whole microseconds, rounded up.
fn link(link: NetworkLink) -> String {
    let Span(latency) = Span::from_seconds_up(link.latency);
    format!(
        "bandwidth: {}, latency: {latency}us",
        units::bandwidth(link.bandwidth)
    )
}

#[cfg(test)]
mod tests;

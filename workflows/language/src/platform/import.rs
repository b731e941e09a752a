//! Real grids, described by tables (CSV) of clusters and of the links between places, as platform
//! files.
//!
//! Two kinds of tables are known, told by their heads: clusters of alike nodes at sites with links
//! between cities (as Grid'5000 was described), and a network whose nodes have worker nodes or are
//! routers (as the LHC Computing Grid was).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use model::{NetworkLink, PowerSteps};
use thiserror::Error;

use super::{LINK_DEFAULT, PlatformFile, PlatformGroup, PlatformMachine};

/// Rows of one table: more than grids have sites, and ways between all of them are found in seconds.
const ROWS_MAX: usize = 500;

const CLUSTERS: &[&str] = &[
    "site",
    "cluster",
    "nodes",
    "gflops_per_node",
    "node_link_mbit_s",
    "node_link_latency_ms",
    "cluster_backbone_mbit_s",
    "cluster_backbone_latency_ms",
];
const CITY_LINKS: &[&str] = &["a", "b", "mbit_s", "latency_ms"];
const NODES: &[&str] = &["node", "worker_nodes"];
const NODE_LINKS: &[&str] = &["a", "b", "mbit_s"];

/// The place of the network through which a site is reached that is none itself: Orsay is a suburb
/// of Paris, and its nodes hang on the network there.
const REACHED_THROUGH: [(&str, &str); 1] = [("orsay", "paris")];

/// Why tables are not a platform.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportError {
    /// No known kind of table.
    #[error(
        "the first line of the table of machines is `{0}`; known are `site,cluster,nodes,...` and `node,worker_nodes,...`"
    )]
    Kind(String),
    /// A table without a column that is needed.
    #[error("the {table} has no column `{column}`")]
    Column {
        /// The table.
        table: &'static str,
        /// The missing column.
        column: &'static str,
    },
    /// A field that is not what it should be.
    #[error("line {line} of the {table}: `{text}` is not {wanted}")]
    Field {
        /// The table.
        table: &'static str,
        /// The line, from 1.
        line: usize,
        /// The value in the file.
        text: String,
        /// The expected value.
        wanted: &'static str,
    },
    /// Too many rows.
    #[error("the {0} has more than {ROWS_MAX} lines")]
    Long(&'static str),
    /// No machine in it.
    #[error("there is no machine in the tables")]
    Empty,
}

/// Reads a table of machines and one of links, and says what is assumed beside them.
pub fn tables(machines: &str, links: &str) -> Result<PlatformFile, ImportError> {
    let head = machines.lines().next().unwrap_or_default().trim();
    let has = |column: &str| head.split(',').any(|name| name.trim() == column);
    if has("cluster") {
        clusters(
            &Table::read("table of clusters", machines, CLUSTERS)?,
            &Table::read("table of links", links, CITY_LINKS)?,
        )
    } else if has("worker_nodes") {
        network(
            &Table::read("table of nodes", machines, NODES)?,
            &Table::read("table of links", links, NODE_LINKS)?,
        )
    } else {
        Err(ImportError::Kind(head.chars().take(100).collect()))
    }
}

/// A group a cluster; the slowest node of all has power 1. From node to node data crosses both
/// nodes' links and the clusters' backbones; between sites also the links between the cities, by
/// the widest way, and of those the one with the least latency.
fn clusters(clusters: &Table, links: &Table) -> Result<PlatformFile, ImportError> {
    struct Cluster {
        site: String,
        power: f64,
        node: NetworkLink,
        backbone: NetworkLink,
    }
    let mut groups = Vec::new();
    let mut known = Vec::new();
    for row in &clusters.rows {
        let link = |bandwidth, latency| -> Result<NetworkLink, ImportError> {
            Ok(NetworkLink {
                bandwidth: clusters.positive(row, bandwidth)? * 1.25e5,
                latency: clusters.number(row, latency)? / 1e3,
            })
        };
        let cluster = Cluster {
            site: clusters.text(row, 0).to_owned(),
            power: clusters.positive(row, 3)?,
            node: link(4, 5)?,
            backbone: link(6, 7)?,
        };
        let name = clusters.name(row, 1)?;
        let inside = series([cluster.node, cluster.backbone, cluster.node]);
        groups.push(PlatformGroup {
            name: name.clone(),
            inside: Some(inside),
            machines: vec![PlatformMachine {
                name,
                count: clusters.count(row, 2)?.max(1),
                slots: 1,
                power: PowerSteps::default(),
                memory: None,
                labels: BTreeMap::from([("site".to_owned(), cluster.site.clone())]),
                price: None,
                watts: None,
            }],
        });
        known.push(cluster);
    }
    let least = known
        .iter()
        .map(|cluster| cluster.power)
        .fold(f64::INFINITY, f64::min);
    for ((group, cluster), row) in groups.iter_mut().zip(&known).zip(&clusters.rows) {
        // Four digits are more than such figures are worth.
        let power = PowerSteps::constant((cluster.power / least * 1e4).round() / 1e4);
        group.machines[0].power =
            power.map_err(|_| clusters.wrong(row, 3, "comparable with the slowest node"))?;
    }
    let mut net = Net::default();
    for row in &links.rows {
        let link = NetworkLink {
            bandwidth: links.positive(row, 2)? * 1.25e5,
            latency: links.number(row, 3)? / 1e3,
        };
        net.add(links.text(row, 0), links.text(row, 1), link);
    }
    for (site, through) in REACHED_THROUGH {
        if !net.places.contains_key(site) && net.places.contains_key(through) {
            let link = NetworkLink {
                bandwidth: f64::INFINITY,
                latency: 0.0,
            };
            net.add(site, through, link);
        }
    }
    let mut between = Vec::new();
    for one in 0..known.len() {
        let ways = net.widest(&known[one].site);
        for other in one + 1..known.len() {
            let (here, there) = (&known[one], &known[other]);
            let ends = [here.node, here.backbone, there.backbone, there.node];
            let way = if here.site == there.site {
                Some(series(ends))
            } else {
                let place = net.places.get(&there.site);
                let way = place.and_then(|&place| ways.get(place).copied().flatten());
                way.map(|way| series([series(ends), way]))
            };
            between.extend(way.map(|way| ((one, other), way)));
        }
    }
    file(groups, between)
}

/// A group a node with worker nodes, which are all alike; routers only pass data on. The tables
/// tell no latencies, and nothing of what lies inside a site.
fn network(nodes: &Table, links: &Table) -> Result<PlatformFile, ImportError> {
    let mut groups = Vec::new();
    let mut names = Vec::new();
    for row in &nodes.rows {
        let count = nodes.count(row, 1)?;
        if count == 0 {
            continue;
        }
        let node = nodes.text(row, 0).to_owned();
        let name = format!("site-{}", nodes.name(row, 0)?);
        groups.push(PlatformGroup {
            name: name.clone(),
            inside: None,
            machines: vec![PlatformMachine {
                name,
                count,
                slots: 1,
                power: PowerSteps::default(),
                memory: None,
                labels: BTreeMap::new(),
                price: None,
                watts: None,
            }],
        });
        names.push(node);
    }
    let mut net = Net::default();
    for row in &links.rows {
        let link = NetworkLink {
            bandwidth: links.positive(row, 2)? * 1.25e5,
            latency: 0.0,
        };
        net.add(links.text(row, 0), links.text(row, 1), link);
    }
    let mut between = Vec::new();
    for one in 0..names.len() {
        let ways = net.widest(&names[one]);
        for (other, name) in names.iter().enumerate().skip(one + 1) {
            let place = net.places.get(name);
            let way = place.and_then(|&place| ways.get(place).copied().flatten());
            // Data leaves and enters by the machines' own links.
            let way = way.map(|way| series([LINK_DEFAULT, way]));
            between.extend(way.map(|way| ((one, other), way)));
        }
    }
    file(groups, between)
}

fn file(
    groups: Vec<PlatformGroup>,
    mut links: Vec<((usize, usize), NetworkLink)>,
) -> Result<PlatformFile, ImportError> {
    if groups.is_empty() {
        return Err(ImportError::Empty);
    }
    // The most frequent link becomes the default, so it is written once.
    let mut counts: BTreeMap<[u64; 2], (usize, NetworkLink)> = BTreeMap::new();
    for (_, link) in &links {
        let key = [link.bandwidth.to_bits(), link.latency.to_bits()];
        counts.entry(key).or_insert((0, *link)).0 += 1;
    }
    let most = counts.values().max_by_key(|(count, _)| *count);
    let between = most.map_or(LINK_DEFAULT, |(_, link)| *link);
    let n_groups = groups.len();
    if links.len() == n_groups * (n_groups - 1) / 2 {
        links.retain(|(_, link)| *link != between);
    }
    Ok(PlatformFile {
        groups,
        inside: LINK_DEFAULT,
        between,
        links,
    })
}

/// Links one after another: as wide as the narrowest.
fn series<const N: usize>(links: [NetworkLink; N]) -> NetworkLink {
    let bandwidths = links.iter().map(|link| link.bandwidth);
    let latency: f64 = links.iter().map(|link| link.latency).sum();
    NetworkLink {
        bandwidth: bandwidths.fold(f64::INFINITY, f64::min),
        // A sum of tenths of milliseconds is one again.
        latency: (latency * 1e9).round() / 1e9,
    }
}

/// Places and what links them.
#[derive(Default)]
struct Net {
    places: BTreeMap<String, usize>,
    links: Vec<Vec<(usize, NetworkLink)>>,
}

impl Net {
    fn add(&mut self, one: &str, other: &str, link: NetworkLink) {
        let [one, other] = [one, other].map(|name| {
            let next = self.places.len();
            let place = *self.places.entry(name.to_owned()).or_insert(next);
            self.links.resize_with(self.places.len(), Vec::new);
            place
        });
        self.links[one].push((other, link));
        self.links[other].push((one, link));
    }

    /// From a place to each: the widest way, of those the one with the least latency, of those the
    /// one with the fewest links. O(n² + e log e).
    fn widest(&self, from: &str) -> Vec<Option<NetworkLink>> {
        let Some(&from) = self.places.get(from) else {
            return Vec::new();
        };
        // First how wide the way to each place can be, then the shortest way that is as wide.
        let mut width = vec![0.0f64; self.places.len()];
        width[from] = f64::INFINITY;
        let mut open = BinaryHeap::from([(f64::INFINITY.to_bits(), from)]);
        while let Some((bits, place)) = open.pop() {
            let wide = f64::from_bits(bits);
            if wide < width[place] {
                continue;
            }
            for &(next, link) in &self.links[place] {
                let through = wide.min(link.bandwidth);
                if through > width[next] {
                    width[next] = through;
                    // Bits of numbers above 0 are in the order of the numbers.
                    open.push((through.to_bits(), next));
                }
            }
        }
        (0..width.len())
            .map(|to| {
                let latency = (width[to] > 0.0).then(|| self.shortest(from, to, width[to]))??;
                Some(NetworkLink {
                    bandwidth: width[to],
                    latency,
                })
            })
            .collect()
    }

    /// The least latency by links that are that wide.
    fn shortest(&self, from: usize, to: usize, width: f64) -> Option<f64> {
        let mut least = vec![f64::INFINITY; self.places.len()];
        least[from] = 0.0;
        let mut open = BinaryHeap::from([Reverse((0u64, from))]);
        while let Some(Reverse((bits, place))) = open.pop() {
            let latency = f64::from_bits(bits);
            if place == to {
                return Some(latency);
            }
            for &(next, link) in &self.links[place] {
                let through = latency + link.latency;
                if link.bandwidth >= width && through < least[next] {
                    least[next] = through;
                    open.push(Reverse((through.to_bits(), next)));
                }
            }
        }
        None
    }
}

/// The rows of a table, of which the wanted columns stand first.
struct Table {
    name: &'static str,
    rows: Vec<Row>,
}

struct Row {
    line: usize,
    fields: Vec<String>,
}

impl Table {
    fn read(
        name: &'static str,
        text: &str,
        columns: &'static [&'static str],
    ) -> Result<Table, ImportError> {
        let split = |line: &str| -> Vec<String> {
            line.split(',')
                .map(|field| field.trim().to_owned())
                .collect()
        };
        let mut lines = text.lines();
        let head = split(lines.next().unwrap_or_default());
        let mut places = Vec::with_capacity(columns.len());
        for column in columns {
            let place = head.iter().position(|known| known == column);
            let table = name;
            places.push(place.ok_or(ImportError::Column { table, column })?);
        }
        let mut rows = Vec::new();
        for (line, text) in (2..).zip(lines) {
            if text.trim().is_empty() {
                continue;
            }
            if rows.len() == ROWS_MAX {
                return Err(ImportError::Long(name));
            }
            let fields = split(text);
            let field = |&place: &usize| fields.get(place).cloned().unwrap_or_default();
            rows.push(Row {
                line,
                fields: places.iter().map(field).collect(),
            });
        }
        Ok(Table { name, rows })
    }

    fn text<'r>(&self, row: &'r Row, column: usize) -> &'r str {
        &row.fields[column]
    }

    fn number(&self, row: &Row, column: usize) -> Result<f64, ImportError> {
        let number = row.fields[column].parse::<f64>().ok();
        number
            .filter(|number| number.is_finite() && *number >= 0.0)
            .ok_or_else(|| self.wrong(row, column, "a number from 0 up"))
    }

    fn positive(&self, row: &Row, column: usize) -> Result<f64, ImportError> {
        let number = self.number(row, column).ok();
        number
            .filter(|number| *number > 0.0)
            .ok_or_else(|| self.wrong(row, column, "a number above 0"))
    }

    fn count(&self, row: &Row, column: usize) -> Result<u32, ImportError> {
        let count = row.fields[column].parse().ok();
        count
            .filter(|count| *count as usize <= super::limits::MACHINES_MAX)
            .ok_or_else(|| self.wrong(row, column, "a number of machines"))
    }

    /// A field that can be a name in a platform file.
    fn name(&self, row: &Row, column: usize) -> Result<String, ImportError> {
        let name = &row.fields[column];
        let is_name = name.len() <= 40
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if is_name {
            Ok(name.clone())
        } else {
            Err(self.wrong(row, column, "a name of letters and digits"))
        }
    }

    fn wrong(&self, row: &Row, column: usize, wanted: &'static str) -> ImportError {
        ImportError::Field {
            table: self.name,
            line: row.line,
            text: row.fields[column].chars().take(60).collect(),
            wanted,
        }
    }
}

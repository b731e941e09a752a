//! Scenarios that the simulator runs and that are measured on a real grid too, with the times that both are
//! judged by: [`Scenario::ten`].
//!
//! It submits nothing and measures nothing; `tests/sim` and `tests/compare` do.

use model::{Activity, Command, Draft, Join, Node, NodeId, NodeKind, Template, Work};
use serde_json::Value;

/// Ten processes of mixed shapes.
const FILE: &str = include_str!("mixed.json");
/// The part by which a time may be longer than what it is judged by.
pub const TOLERANCE: f64 = 0.05;

/// Processes, and the machines that they share.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Machines, all of the same power.
    pub machines: u32,
    /// Slots of each machine.
    pub slots: u32,
    /// In the order of their submission.
    pub processes: Vec<Shape>,
}

/// A process: layers of activities, of which each begins when the one before it has ended.
#[derive(Clone, Debug)]
pub struct Shape {
    /// Its name.
    pub name: String,
    /// Cores of each activity.
    pub cores: u32,
    /// Seconds of each activity.
    layers: Vec<Vec<u32>>,
}

impl Scenario {
    /// Ten processes of mixed shapes that are submitted together.
    pub fn ten() -> Scenario {
        let all: Value = serde_json::from_str(FILE).expect("the file is JSON");
        let processes = all["processes"].as_array().expect("processes are a list");
        Scenario {
            machines: whole(&all["machines"]),
            slots: whole(&all["slots"]),
            processes: processes.iter().map(Shape::read).collect(),
        }
    }

    /// The same processes, submitted in another order: one for each number.
    pub fn shuffled(&self, number: u64) -> Scenario {
        let mut shuffled = self.clone();
        let mut state = number;
        for last in (1..shuffled.processes.len()).rev() {
            let chosen = splitmix(&mut state) % (last as u64 + 1);
            shuffled.processes.swap(chosen as usize, last);
        }
        shuffled
    }

    fn all_slots(&self) -> u32 {
        self.machines * self.slots
    }

    /// No schedule takes fewer seconds for all of them.
    pub fn bound(&self) -> f64 {
        let work: u32 = self.processes.iter().map(Shape::work).sum();
        let shared = f64::from(work) / f64::from(self.all_slots());
        let paths = self.processes.iter().map(Shape::path);
        paths.map(f64::from).fold(shared, f64::max)
    }

    /// The second at which each process ends by first come, first served without backfill: it begins when
    /// one of its activities fits, not before the one that was submitted before it, on as many of the slots
    /// that are free then as it can use, and holds these to its end.
    pub fn without_backfill(&self) -> Vec<f64> {
        let mut free = vec![0; self.all_slots() as usize];
        let mut begins = 0;
        let ends = self.processes.iter().map(|shape| {
            free.sort_unstable();
            begins = free[shape.cores as usize - 1].max(begins);
            let n_free = free.iter().filter(|&&at| at <= begins).count() as u32;
            let width = shape.width().min(n_free - n_free % shape.cores);
            let ends = begins + shape.takes(width);
            free[..width as usize].fill(ends);
            f64::from(ends)
        });
        ends.collect()
    }
}

impl Shape {
    fn read(value: &Value) -> Shape {
        let layers = value["layers"].as_array().expect("layers are a list");
        let layers = layers.iter().map(|layer| {
            let layer = layer.as_array().expect("a layer is a list");
            layer.iter().map(whole).collect()
        });
        let cores = &value["cores"];
        Shape {
            name: value["name"].as_str().expect("a name is text").to_owned(),
            cores: if cores.is_null() { 1 } else { whole(cores) },
            layers: layers.collect(),
        }
    }

    /// Slot seconds of all activities.
    fn work(&self) -> u32 {
        self.cores * self.layers.iter().flatten().sum::<u32>()
    }

    /// Seconds from its begin to its end where nothing is lacking.
    fn path(&self) -> u32 {
        let longest = self.layers.iter().map(|layer| layer.iter().max());
        longest.flatten().sum()
    }

    /// The most slots that it can use at once.
    fn width(&self) -> u32 {
        let widths = self.layers.iter().map(Vec::len);
        self.cores * widths.max().unwrap_or(1) as u32
    }

    /// Seconds that it takes on so many slots, the longest activities of each layer first.
    fn takes(&self, slots: u32) -> u32 {
        let each = self.layers.iter().map(|layer| {
            let mut lanes = vec![0; (slots / self.cores) as usize];
            let mut activities = layer.clone();
            activities.sort_unstable_by(|one, other| other.cmp(one));
            for seconds in activities {
                lanes.sort_unstable();
                lanes[0] += seconds;
            }
            lanes.into_iter().max().unwrap_or(0)
        });
        each.sum()
    }

    /// The process, whose commands sleep for as long as their work says.
    pub fn draft(&self) -> Draft {
        let mut nodes = vec![group(NodeKind::Empty)];
        let mut layers = Vec::new();
        for layer in &self.layers {
            let first = nodes.len() as u32;
            layers.push(NodeId(first));
            if layer.len() > 1 {
                let children = (first + 1..).take(layer.len()).map(NodeId).collect();
                let links = Vec::new();
                nodes.push(group(NodeKind::Parallel { children, links }));
            }
            for &seconds in layer {
                let name = format!("a{}", nodes.len());
                nodes.push(self.activity(name, seconds));
            }
        }
        nodes[0].kind = NodeKind::Sequence(layers);
        Draft {
            name: self.name.clone(),
            nodes,
            ..Draft::default()
        }
    }

    fn activity(&self, name: String, seconds: u32) -> Node {
        let words = ["/bin/sleep".to_owned(), seconds.to_string()];
        let command = Command::List(words.map(Template).into());
        let activity = Activity {
            work: Some(Work::from_secs(seconds.into())),
            cores: self.cores,
            ..Activity::new(command)
        };
        Node {
            name,
            kind: NodeKind::Activity(Box::new(activity)),
            join: Join::All,
        }
    }
}

/// The next of a row of numbers that look random (S. Vigna's splitmix64).
fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn group(kind: NodeKind) -> Node {
    Node {
        name: String::new(),
        kind,
        join: Join::All,
    }
}

fn whole(value: &Value) -> u32 {
    let number = value.as_u64().expect("it is a whole number");
    u32::try_from(number).expect("it is small")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(cores: u32, layers: &[&[u32]]) -> Shape {
        Shape {
            name: "shape".to_owned(),
            cores,
            layers: layers.iter().map(|layer| layer.to_vec()).collect(),
        }
    }

    #[test]
    fn a_process_holds_the_slots_that_it_can_use_from_its_begin_to_its_end() {
        // 0 1 2 3 4 5 6 7 8 9
        // a a c c c c c        a holds both slots; c waits for both, and b, which comes after c, for c.
        // a . c . . . . b b
        let processes = vec![
            shape(1, &[&[1, 1], &[1]]),
            shape(2, &[&[5]]),
            shape(1, &[&[2]]),
        ];
        let scenario = Scenario {
            machines: 1,
            slots: 2,
            processes,
        };
        assert_eq!(scenario.without_backfill(), [2.0, 7.0, 9.0]);
        assert_eq!(scenario.bound(), 7.5);
    }

    #[test]
    fn the_ten_are_definitions() {
        let scenario = Scenario::ten();
        assert_eq!(scenario.processes.len(), 10);
        for shape in &scenario.processes {
            let n_activities: usize = shape.layers.iter().map(Vec::len).sum();
            let definition = shape.draft().check().unwrap();
            assert_eq!(definition.activities().len(), n_activities);
        }
    }
}

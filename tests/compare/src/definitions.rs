//! Definitions of the measured processes: the same commands as the plain loop starts.

use std::fmt::Write;

/// The command that does nothing: what is measured is everything around it.
pub(crate) const COMMAND: &str = "/bin/true";

const FLAT: usize = 10_000;
const CHAIN: usize = 500;
const LAYERS: usize = 10;
const WIDTH: usize = 100;

/// The dependencies between the commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// One command: what starting and ending cost.
    One,
    /// All at once.
    Flat,
    /// One after another.
    Chain,
    /// Layers with a barrier between two.
    Layers,
    /// Items of one for-each, all at once: as many as [`Shape::Flat`] has activities.
    Items,
}

impl Shape {
    pub(crate) const ALL: [Shape; 5] = [
        Shape::One,
        Shape::Flat,
        Shape::Chain,
        Shape::Layers,
        Shape::Items,
    ];

    pub(crate) fn name(self) -> String {
        match self {
            Shape::One => "one activity".to_owned(),
            Shape::Flat => format!("{FLAT} independent"),
            Shape::Chain => format!("chain of {CHAIN}"),
            Shape::Layers => format!("{LAYERS} layers of {WIDTH}"),
            Shape::Items => format!("{FLAT} items"),
        }
    }

    /// Commands of each layer; a layer begins when the one before it has ended.
    pub(crate) fn layers(self) -> Vec<usize> {
        match self {
            Shape::One => vec![1],
            Shape::Flat | Shape::Items => vec![FLAT],
            Shape::Chain => vec![1; CHAIN],
            Shape::Layers => vec![WIDTH; LAYERS],
        }
    }

    pub(crate) fn n_activities(self) -> usize {
        self.layers().iter().sum()
    }

    /// The shape in the definition language.
    pub(crate) fn definition(self) -> String {
        let run = format!("[{COMMAND}]");
        match self {
            Shape::One | Shape::Flat | Shape::Chain | Shape::Layers => {
                definition(&self.layers(), &run)
            }
            Shape::Items => format!(
                "xavantes: 1\nname: compare\nbody:\n  sequence:\n    - for-each:\n        item: number\n        \
                 in: ${{ range({FLAT}) }}\n        do:\n          activity: a\n          run: {run}\n          \
                 work: 1ms\n"
            ),
        }
    }
}

/// Layers of activities with a barrier between two, each of which runs this.
pub(crate) fn definition(layers: &[usize], run: &str) -> String {
    let mut text = String::from("xavantes: 1\nname: compare\nbody:\n  sequence:\n");
    let mut number = 0;
    for &width in layers {
        let indent = if width == 1 { "    " } else { "        " };
        if width > 1 {
            text.push_str("    - parallel:\n");
        }
        for _ in 0..width {
            writeln!(
                text,
                "{indent}- activity: a{number}\n{indent}  run: {run}\n{indent}  work: 1ms"
            )
            .expect("a string takes everything");
            number += 1;
        }
    }
    text
}

#[test]
fn a_definition_has_its_layers() {
    assert_eq!(Shape::Layers.n_activities(), 1_000);
    let text = Shape::Layers.definition();
    assert_eq!(text.matches("- parallel:").count(), 10);
    assert_eq!(text.matches("- activity: a").count(), 1_000);
    let items = Shape::Items.definition();
    assert!(items.ends_with("in: ${ range(10000) }\n        do:\n          activity: a\n          run: [/bin/true]\n          work: 1ms\n"), "{items}");
    assert_eq!(
        Shape::One.definition(),
        "xavantes: 1\nname: compare\nbody:\n  sequence:\n    - activity: a0\n      run: [/bin/true]\n      work: 1ms\n"
    );
}

//! Places for the steps of a graph: layers from top to bottom, each step below all that it waits for.
//!
//! The layers and the orders within them are those of Sugiyama, Tagawa and Toda, "Methods for Visual Understanding of
//! Hierarchical System Structures", 1981: longest paths give the layers, lines that pass a layer have a place in it,
//! and the means of the neighbours' places order each layer, to and fro. Lines against the order close cycles, which
//! loops and numbered names make.

use super::{Step, members};

/// The width of a step, in pixels.
pub(super) const WIDE: usize = 200;
/// Its height.
pub(super) const TALL: usize = 50;
/// The room between two things of a layer.
const BESIDE: usize = 14;
/// The room between two layers.
const BELOW: usize = 34;
/// The width of a line that passes a layer.
const PASSING: usize = 10;
/// The room around everything.
const MARGIN: usize = 8;
/// The room beside everything for lines that lead back.
pub(super) const BACK: usize = 44;
/// Passes over all layers that order them, to and fro: more change next to nothing.
const PASSES_MAX: usize = 6;

/// The drawing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Layout {
    /// Its width, in pixels.
    pub(super) wide: usize,
    /// Its height.
    pub(super) tall: usize,
    /// The left upper corner of each step.
    pub(super) corners: Vec<(usize, usize)>,
    /// Lines.
    pub(super) lines: Vec<Line>,
}

/// A line between two steps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// The step that comes first.
    pub(super) from: usize,
    /// The step that waits for it.
    pub(super) to: usize,
    /// Where it passes layers, at their tops; none if it leads back.
    pub(super) by: Option<Vec<(usize, usize)>>,
}

/// A thing in a layer: a step, or a line on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Thing {
    Step(usize),
    Passing(usize),
}

/// The steps in an order in which as few as may be come before what they wait for.
pub(super) fn order(steps: &[Step]) -> Vec<usize> {
    let mut placed = 0_u64;
    let mut order = Vec::new();
    while order.len() < steps.len() {
        // Where all that are left wait for each other, that one begins whose first activity can.
        let waits = |step: usize| steps[step].before & !placed & !(1 << step) != 0;
        let left = (0..steps.len()).filter(|&step| placed >> step & 1 == 0);
        let Some(next) = left.min_by_key(|&step| (waits(step), steps[step].first)) else {
            break;
        };
        placed |= 1 << next;
        order.push(next);
    }
    order
}

/// Places everything.
pub(super) fn layout(steps: &[Step]) -> Layout {
    let order = order(steps);
    let mut rank = vec![0; steps.len()];
    for (place, &step) in order.iter().enumerate() {
        rank[step] = place;
    }
    let is_ahead = |from: usize, to: usize| rank[from] < rank[to];
    let mut layer = vec![0; steps.len()];
    for &step in &order {
        let before = members(steps[step].before).filter(|&from| is_ahead(from, step));
        layer[step] = before.map(|from| layer[from] + 1).max().unwrap_or(0);
    }
    let lines: Vec<(usize, usize)> = (0..steps.len())
        .flat_map(|to| members(steps[to].before).map(move |from| (from, to)))
        .filter(|(from, to)| from != to)
        .collect();
    let ahead: Vec<bool> = lines.iter().map(|&(from, to)| is_ahead(from, to)).collect();
    let n_layers = layer.iter().max().map_or(0, |last| last + 1);
    let mut layers: Vec<Vec<Thing>> = vec![Vec::new(); n_layers];
    for &step in &order {
        layers[layer[step]].push(Thing::Step(step));
    }
    for (line, &(from, to)) in lines.iter().enumerate() {
        let passed = layer[from] + 1..layer[to].max(layer[from] + 1);
        for layer in passed.filter(|_| ahead[line]) {
            layers[layer].push(Thing::Passing(line));
        }
    }
    sort(&mut layers, &lines, &layer, &ahead);
    place(steps.len(), &layers, &lines, &ahead)
}

/// Orders the things of each layer by the means of their neighbours' places.
fn sort(layers: &mut [Vec<Thing>], lines: &[(usize, usize)], layer: &[usize], ahead: &[bool]) {
    for pass in 0..PASSES_MAX {
        let is_forth = pass % 2 == 0;
        for at in 1..layers.len() {
            let (own, other) = if is_forth {
                (at, at - 1)
            } else {
                let own = layers.len() - 1 - at;
                (own, own + 1)
            };
            let place = |thing: Thing| layers[other].iter().position(|one| *one == thing);
            let neighbour = |line: usize| {
                let (from, to) = lines[line];
                let end = if is_forth { from } else { to };
                place(match layer[end] == other {
                    true => Thing::Step(end),
                    false => Thing::Passing(line),
                })
            };
            let mean = |thing: &Thing| {
                let places: Vec<usize> = match thing {
                    Thing::Passing(line) => neighbour(*line).into_iter().collect(),
                    Thing::Step(step) => (0..lines.len())
                        .filter(|&line| ahead[line])
                        .filter(|&line| {
                            *step
                                == if is_forth {
                                    lines[line].1
                                } else {
                                    lines[line].0
                                }
                        })
                        .filter_map(neighbour)
                        .collect(),
                };
                let n = places.len();
                (n > 0).then(|| places.iter().sum::<usize>() as f64 / n as f64)
            };
            let mut keyed: Vec<(f64, Thing)> = (layers[own].iter().enumerate())
                .map(|(place, thing)| (mean(thing).unwrap_or(place as f64), *thing))
                .collect();
            keyed.sort_by(|one, next| one.0.total_cmp(&next.0));
            layers[own] = keyed.into_iter().map(|(_, thing)| thing).collect();
        }
    }
}

/// Gives everything its place in pixels, each layer in the middle of the width.
fn place(
    n_steps: usize,
    layers: &[Vec<Thing>],
    lines: &[(usize, usize)],
    ahead: &[bool],
) -> Layout {
    let width = |thing: &Thing| match thing {
        Thing::Step(_) => WIDE,
        Thing::Passing(_) => PASSING,
    };
    let widths = |layer: &Vec<Thing>| {
        let all: usize = layer.iter().map(width).sum();
        all + BESIDE * layer.len().saturating_sub(1)
    };
    let widest = layers.iter().map(widths).max().unwrap_or(0);
    let mut corners = vec![(0, 0); n_steps];
    let mut passed: Vec<Vec<(usize, usize)>> = vec![Vec::new(); lines.len()];
    for (number, layer) in layers.iter().enumerate() {
        let top = MARGIN + number * (TALL + BELOW);
        let mut left = MARGIN + (widest - widths(layer)) / 2;
        for thing in layer {
            match thing {
                Thing::Step(step) => corners[*step] = (left, top),
                Thing::Passing(line) => passed[*line].push((left + PASSING / 2, top)),
            }
            left += width(thing) + BESIDE;
        }
    }
    let goes_back = ahead.iter().any(|is_ahead| !is_ahead);
    let drawn = lines.iter().zip(passed).zip(ahead);
    let drawn = drawn.map(|((&(from, to), passed), &is_ahead)| Line {
        from,
        to,
        by: is_ahead.then_some(passed),
    });
    Layout {
        wide: 2 * MARGIN + widest + if goes_back { BACK } else { 0 },
        tall: (2 * MARGIN + layers.len() * (TALL + BELOW)).saturating_sub(BELOW),
        corners,
        lines: drawn.collect(),
    }
}

#[cfg(test)]
mod tests;

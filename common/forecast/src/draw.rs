//! Pictures of series: as SVG, and for terminals.

use std::fmt::Write;

/// Colours that are told from each other; the first one is for the series itself.
const COLOURS: [&str; 6] = [
    "#888888", "#d62728", "#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e",
];
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 320.0;
/// Room for the numbers on the left, and for the names above.
const LEFT: f64 = 70.0;
const TOP: f64 = 40.0;
/// Levels of a terminal's cell: a braille cell has two columns of four dots.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// A curve; a gap is a place without a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Its values from the left to the right.
    pub values: Vec<Option<f64>>,
}

/// Curves over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// The line above it.
    pub title: String,
    /// The place of the first value, for the numbers below.
    pub first: u64,
    /// The series first; [`Picture::CURVES_MAX`] at most are drawn.
    pub curves: Vec<Curve>,
}

impl Picture {
    /// Curves that are drawn.
    pub const CURVES_MAX: usize = COLOURS.len();

    fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.curves.iter().take(Picture::CURVES_MAX)
    }

    fn n(&self) -> usize {
        self.curves()
            .map(|curve| curve.values.len())
            .max()
            .unwrap_or(0)
    }

    /// The least and the largest value; apart from each other.
    fn range(&self) -> (f64, f64) {
        let all = || {
            self.curves()
                .flat_map(|curve| &curve.values)
                .flatten()
                .copied()
        };
        let least = all().fold(f64::INFINITY, f64::min);
        let most = all().fold(f64::NEG_INFINITY, f64::max);
        match (least, most) {
            _ if least > most => (0.0, 1.0),
            _ if least == most => (least - 0.5, most + 0.5),
            range => range,
        }
    }

    /// As a document of its own.
    pub fn svg(&self) -> String {
        let (least, most) = self.range();
        let last = self.n().saturating_sub(1).max(1) as f64;
        let x = |at: usize| LEFT + at as f64 / last * (WIDTH - LEFT - 10.0);
        let y = |value: f64| TOP + (most - value) / (most - least) * (HEIGHT - TOP - 30.0);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n<text x=\"{LEFT}\" y=\"16\">{}</text>\n",
            escaped(&self.title)
        );
        for value in [least, 0.5 * (least + most), most] {
            let y = y(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{:.1}\" y2=\"{y:.1}\" stroke=\"#dddddd\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - 10.0,
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        for (at, anchor) in [(0, "start"), (self.n().saturating_sub(1), "end")] {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{}</text>",
                x(at),
                HEIGHT - 10.0,
                self.first + at as u64
            );
        }
        for (place, (curve, colour)) in self.curves().zip(COLOURS).enumerate() {
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"32\" fill=\"{colour}\">{}</text>",
                LEFT + 140.0 * place as f64,
                escaped(&curve.name)
            );
            let mut path = String::new();
            let mut is_down = false;
            for (at, value) in curve.values.iter().enumerate() {
                match value {
                    Some(value) => {
                        let command = if is_down { 'L' } else { 'M' };
                        let _ = write!(path, "{command}{:.1} {:.1}", x(at), y(*value));
                        is_down = true;
                    }
                    None => is_down = false,
                }
            }
            let _ = writeln!(
                svg,
                "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1\"/>"
            );
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The first curve in dots of a terminal, `width` cells wide and `height` high. Where a cell
    /// stands for several values, each column of dots spans from the least to the largest.
    pub fn terminal(&self, width: usize, height: usize) -> String {
        let (least, most) = self.range();
        let labels = [number(most), number(least)];
        let room = labels
            .iter()
            .map(|label| label.chars().count())
            .max()
            .unwrap_or(0);
        let width = width.saturating_sub(room + 2).clamp(1, 400);
        let height = height.clamp(1, 100);
        let mut cells = vec![vec![0u32; width]; height];
        let n = self.n();
        let columns = (2 * width).min(n.max(1));
        let rows = (4 * height - 1) as f64;
        let values = self
            .curves
            .first()
            .map(|curve| curve.values.as_slice())
            .unwrap_or_default();
        for column in 0..columns {
            let (from, to) = (
                column * n / columns,
                ((column + 1) * n / columns).max(column * n / columns + 1),
            );
            let part = || {
                values
                    .get(from..to.min(values.len()))
                    .unwrap_or_default()
                    .iter()
                    .flatten()
            };
            let low = part().copied().fold(f64::INFINITY, f64::min);
            let high = part().copied().fold(f64::NEG_INFINITY, f64::max);
            if low > high {
                continue;
            }
            let row = |value: f64| {
                ((most - value) / (most - least) * rows)
                    .round()
                    .clamp(0.0, rows) as usize
            };
            for dot in row(high)..=row(low) {
                cells[dot / 4][column / 2] |= DOTS[column % 2][dot % 4];
            }
        }
        let mut text = String::new();
        for (place, row) in cells.iter().enumerate() {
            let label = match place {
                0 => labels[0].as_str(),
                _ if place + 1 == height => labels[1].as_str(),
                _ => "",
            };
            let dots: String = row
                .iter()
                .filter_map(|cell| char::from_u32(0x2800 + cell))
                .collect();
            let _ = writeln!(text, "{label:>room$} {}", dots.trim_end_matches('\u{2800}'));
        }
        text
    }
}

/// A number with four digits that count.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size != 0.0 && !(1e-3..1e7).contains(&size) {
        return format!("{value:.3e}");
    }
    let decimals = match size {
        _ if size >= 1000.0 => 0,
        _ if size >= 100.0 => 1,
        _ if size >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.decimals$}");
    if decimals == 0 {
        return text;
    }
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c if c.is_control() => escaped.push('?'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;

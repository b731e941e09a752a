//! Line charts as SVG: curves with bands of confidence, told apart by dashes and markers as well as
//! by colour, with a legend beside the curves.

use std::fmt::Write;

use crate::statistics::Estimate;

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 420.0;
/// The edges of the area of the curves; the legend is right of it.
const LEFT: f64 = 76.0;
const RIGHT: f64 = 620.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 364.0;
/// The distance of two lines of the legend.
const LINE: f64 = 24.0;
/// The most numbers of the horizontal axis.
const PLACES_MAX: usize = 12;
/// Half the size of a marker.
const MARKER: f64 = 4.0;
/// Okabe and Ito's colours, which also those tell apart who see few; none is so light that it is
/// lost in grey.
const COLOURS: [&str; Chart::CURVES_MAX] = [
    "#0072b2", "#d55e00", "#009e73", "#7a3b69", "#000000", "#8a6d00", "#56728f", "#b0003a",
    "#555555", "#1b5e20",
];
const DASHES: [&str; Chart::CURVES_MAX] = [
    "",
    "8 4",
    "2 3",
    "10 3 2 3",
    "14 4",
    "5 2",
    "1 4",
    "12 3 2 3 2 3",
    "6 6",
    "3 1",
];

/// Curves over a common axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The line above it.
    pub title: String,
    /// The name of the horizontal axis.
    pub x: String,
    /// The name of the vertical axis, with its unit.
    pub y: String,
    /// The curves; [`Chart::CURVES_MAX`] at most are drawn.
    pub curves: Vec<Curve>,
}

/// A curve with its band of confidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The name in the legend.
    pub name: String,
    /// Its colour, dashes and marker, below [`Chart::CURVES_MAX`]: the same thing looks the same in
    /// all charts.
    pub style: usize,
    /// Its points, from the left to the right.
    pub points: Vec<(f64, Estimate)>,
}

/// An axis: the place of a value between two edges.
struct Axis {
    least: f64,
    most: f64,
    from: f64,
    to: f64,
}

impl Chart {
    /// Curves that are told apart.
    pub const CURVES_MAX: usize = 10;

    /// As a document of its own.
    pub fn svg(&self) -> String {
        let curves = &self.curves[..self.curves.len().min(Chart::CURVES_MAX)];
        let points = || curves.iter().flat_map(|curve| &curve.points);
        let xs = points().map(|&(x, _)| x);
        let ys = points().flat_map(|(_, y)| [low(y), high(y)]);
        let x = Axis::new(xs, (LEFT, RIGHT), 0.02);
        let y = Axis::new(ys, (BOTTOM, TOP), 0.06);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"15\">{title}</text>\n",
            title = escaped(&self.title)
        );
        self.frame(&mut svg, &x, &y);
        for curve in curves {
            band(&mut svg, curve, &x, &y);
        }
        for (place, curve) in curves.iter().enumerate() {
            line(&mut svg, curve, &x, &y);
            legend(&mut svg, curve, place);
        }
        svg.push_str("</svg>\n");
        svg
    }

    /// The numbers of the horizontal axis, which are whole: those of the points where they are few.
    fn places(&self, x: &Axis) -> Vec<f64> {
        let points = self.curves.iter().flat_map(|curve| &curve.points);
        let mut places: Vec<f64> = points.map(|&(x, _)| x).collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        match places.len() <= PLACES_MAX {
            true => places,
            false => ticks(x.least, x.most, PLACES_MAX as u32, 1.0),
        }
    }

    /// The grid with the numbers and names of the axes.
    fn frame(&self, svg: &mut String, x: &Axis, y: &Axis) {
        let marks = ticks(y.least, y.most, 7, 0.0);
        let digits = marks.iter().map(|&mark| decimals(mark)).max().unwrap_or(0);
        for value in marks {
            let at = y.place(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" y1=\"{at:.1}\" x2=\"{RIGHT}\" y2=\"{at:.1}\" stroke=\"#dddddd\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                at + 4.5,
                format_args!("{value:.digits$}")
            );
        }
        for value in self.places(x) {
            let at = x.place(value);
            let _ = writeln!(
                svg,
                "<line x1=\"{at:.1}\" y1=\"{BOTTOM}\" x2=\"{at:.1}\" y2=\"{:.1}\" stroke=\"black\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                BOTTOM + 5.0,
                BOTTOM + 20.0,
                format_args!("{value:.0}")
            );
        }
        let (middle_x, middle_y) = (0.5 * (LEFT + RIGHT), 0.5 * (TOP + BOTTOM));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {TOP}V{BOTTOM}H{RIGHT}\" fill=\"none\" stroke=\"black\"/>\n\
             <text x=\"{middle_x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text x=\"20\" y=\"{middle_y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 20 {middle_y:.1})\">{}</text>",
            HEIGHT - 14.0,
            escaped(&self.x),
            escaped(&self.y)
        );
    }
}

impl Curve {
    fn style(&self) -> usize {
        self.style % Chart::CURVES_MAX
    }
}

impl Axis {
    /// From the least to the largest value and a margin, a part of their distance, between two
    /// edges.
    fn new(values: impl Iterator<Item = f64>, (from, to): (f64, f64), margin: f64) -> Axis {
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| {
            (least.min(v), most.max(v))
        });
        let (least, most) = match least < most {
            true => (least, most),
            false if least == most => (least - 0.5, most + 0.5),
            false => (0.0, 1.0),
        };
        let room = margin * (most - least);
        // Shares and times do not go below 0, so the axis does not either.
        let low = if least >= 0.0 {
            (least - room).max(0.0)
        } else {
            least - room
        };
        Axis {
            least: low,
            most: most + room,
            from,
            to,
        }
    }

    fn place(&self, value: f64) -> f64 {
        let part = (value - self.least) / (self.most - self.least);
        self.from + part * (self.to - self.from)
    }
}

/// The ends of the band; of one number, which has none, the number itself.
fn low(estimate: &Estimate) -> f64 {
    if estimate.half_width.is_finite() {
        estimate.low()
    } else {
        estimate.mean
    }
}

fn high(estimate: &Estimate) -> f64 {
    if estimate.half_width.is_finite() {
        estimate.high()
    } else {
        estimate.mean
    }
}

fn band(svg: &mut String, curve: &Curve, x: &Axis, y: &Axis) {
    let colour = COLOURS[curve.style()];
    let upper = curve.points.iter().map(|(at, e)| (*at, high(e)));
    let lower = curve.points.iter().rev().map(|(at, e)| (*at, low(e)));
    let mut path = String::new();
    for (at, value) in upper.chain(lower) {
        let command = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{command}{:.1} {:.1}", x.place(at), y.place(value));
    }
    let _ = writeln!(
        svg,
        "<path d=\"{path}Z\" fill=\"{colour}\" fill-opacity=\"0.15\"/>"
    );
}

fn line(svg: &mut String, curve: &Curve, x: &Axis, y: &Axis) {
    let mut path = String::new();
    let places: Vec<(f64, f64)> = curve
        .points
        .iter()
        .map(|(at, e)| (x.place(*at), y.place(e.mean)))
        .collect();
    for (at, value) in &places {
        let command = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{command}{at:.1} {value:.1}");
    }
    stroke(svg, &path, curve.style());
    for place in places {
        marker(svg, place, curve.style());
    }
}

fn stroke(svg: &mut String, path: &str, style: usize) {
    let dashes = match DASHES[style] {
        "" => String::new(),
        dashes => format!(" stroke-dasharray=\"{dashes}\""),
    };
    let _ = writeln!(
        svg,
        "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.6\"{dashes}/>",
        COLOURS[style]
    );
}

/// Five forms, filled for the first five styles and open for the others.
fn marker(svg: &mut String, (x, y): (f64, f64), style: usize) {
    let m = MARKER;
    let form = match style % 5 {
        0 => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{m}\""),
        1 => format!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{}\" height=\"{}\"",
            x - m,
            y - m,
            2.0 * m,
            2.0 * m
        ),
        2 => format!(
            "<path d=\"M{:.1} {:.1}l{m} {}h-{}Z\"",
            x,
            y - m,
            2.0 * m,
            2.0 * m
        ),
        3 => format!(
            "<path d=\"M{:.1} {:.1}l{m} {m}l-{m} {m}l-{m} -{m}Z\"",
            x,
            y - m
        ),
        _ => format!(
            "<path d=\"M{:.1} {:.1}l{m} -{}h-{}Z\"",
            x,
            y + m,
            2.0 * m,
            2.0 * m
        ),
    };
    let colour = COLOURS[style];
    let fill = if style < 5 { colour } else { "white" };
    let _ = writeln!(
        svg,
        "{form} fill=\"{fill}\" stroke=\"{colour}\" stroke-width=\"1.2\"/>"
    );
}

fn legend(svg: &mut String, curve: &Curve, place: usize) {
    let (x, y) = (RIGHT + 14.0, TOP + 8.0 + LINE * place as f64);
    stroke(svg, &format!("M{x} {y}h40"), curve.style());
    marker(svg, (x + 20.0, y), curve.style());
    let _ = writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\">{}</text>",
        x + 48.0,
        y + 4.5,
        escaped(&curve.name)
    );
}

/// Round numbers between two values, at most so many and no nearer than `step_least`.
fn ticks(least: f64, most: f64, at_most: u32, step_least: f64) -> Vec<f64> {
    let rough = (most - least) / f64::from(at_most);
    let magnitude = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * magnitude)
        .find(|&step| step >= rough)
        .unwrap_or(rough)
        .max(step_least);
    let first = (least / step).ceil() as i64;
    let last = (most / step + 1e-9).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

/// The digits behind the point that a round number needs, up to three.
fn decimals(value: f64) -> usize {
    let text = format!("{value:.3}");
    let shown = text.trim_end_matches('0').len();
    shown - text.find('.').map_or(shown, |point| point + 1)
}

fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(name: &str, style: usize, values: &[f64]) -> Curve {
        let point = |(place, &value): (usize, &f64)| {
            (
                place as f64 + 2.0,
                Estimate::of(&[value - 0.1, value + 0.1]),
            )
        };
        Curve {
            name: name.to_owned(),
            style,
            points: values.iter().enumerate().map(point).collect(),
        }
    }

    #[test]
    fn a_chart_has_its_names_a_band_and_a_marker_for_each_point() {
        let chart = Chart {
            title: "PCH < HEFT & CPOP".to_owned(),
            x: "groups".to_owned(),
            y: "SLR".to_owned(),
            curves: vec![
                curve("a", 0, &[1.0, 2.0, 3.0]),
                curve("b", 1, &[3.0, 2.0, 1.0]),
            ],
        };
        let svg = chart.svg();
        assert_eq!(svg.matches("fill-opacity").count(), 2);
        assert_eq!(svg.matches("<circle").count(), 3 + 1);
        assert_eq!(svg.matches("stroke-dasharray").count(), 2);
        assert!(svg.contains("PCH &lt; HEFT &amp; CPOP"));
        for name in ["groups", "SLR", ">a<", ">b<"] {
            assert!(svg.contains(name), "{name}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
    }

    #[test]
    fn one_repetition_and_no_curve_are_drawn_too() {
        let one = Estimate::of(&[2.0]);
        let mut chart = Chart {
            title: String::new(),
            x: String::new(),
            y: String::new(),
            curves: vec![Curve {
                name: "one".to_owned(),
                style: 12,
                points: vec![(2.0, one)],
            }],
        };
        assert!(!chart.svg().contains("NaN") && !chart.svg().contains("inf"));
        chart.curves.clear();
        assert!(!chart.svg().contains("NaN"));
    }

    #[test]
    fn ticks_are_round_and_inside() {
        let texts = |values: Vec<f64>| values.iter().map(|v| format!("{v:.1}")).collect::<Vec<_>>();
        let wanted = ["2.0", "2.2", "2.4", "2.6", "2.8", "3.0"];
        assert_eq!(texts(ticks(1.9, 3.1, 7, 0.0)), wanted);
        assert_eq!(ticks(1.6, 25.4, 12, 1.0).len(), 12);
        assert_eq!(ticks(1.9, 3.1, 12, 1.0), [2.0, 3.0]);
        assert_eq!([0.25, 20.0, 1.9].map(decimals), [2, 0, 1]);
    }
}

//! A chart as an SVG file of its own: no script, nothing from elsewhere, light and dark.

use std::fmt::Write;

use super::{Bar, Chart, Row, Transfer, time};

/// Pixels of the whole picture, and of what lies beside the bars.
const WIDTH: f64 = 1400.0;
const MARGIN: f64 = 16.0;
const HEAD: f64 = 64.0;
const AXIS: f64 = 26.0;
/// Pixels of a line's name, per character at this size of letters.
const CHAR: f64 = 6.4;
const LABEL_CHARS_MAX: usize = 28;
/// Pixels of a line: many lines are thinner, so that the picture stays one.
const ROW_MAX: f64 = 22.0;
const ROW_MIN: f64 = 3.0;
const ROWS_HEIGHT: f64 = 900.0;
/// Bars thinner than this that touch each other are drawn as one.
const PIXEL: f64 = 0.5;
/// Transfers that are drawn; of more, only those on the critical path.
const TRANSFERS_MAX: usize = 1_500;
/// Bars that tell their name and times when they are pointed at: each costs some 100 bytes.
const TITLES_MAX: usize = 20_000;

/// Fills told from each other by those who do not see all colours (Tol's light scheme); the last
/// one is for everything else.
const FILLS: [&str; 10] = [
    "#77aadd", "#ee8866", "#44bb99", "#ffaabb", "#eedd88", "#99ddff", "#bbcc33", "#cc99cc",
    "#aaaa00", "#bbbbbb",
];

const STYLE: &str = "\
:root{color-scheme:light dark}\
text{font:11px system-ui,sans-serif;fill:#222}\
.t{font-size:16px;font-weight:600}.s{fill:#555}\
.p{fill:#fff}.r{fill:#f4f4f4}.g{stroke:#ccc;stroke-width:1}\
.b{stroke:#fff;stroke-width:.5}.c{stroke:#c00000;stroke-width:1.6}\
.n{fill:#000;font-size:10px}\
.m{stroke:#777;stroke-width:.7;fill:none;opacity:.45}.k{stroke:#c00000;stroke-width:1.4;fill:none}\
@media(prefers-color-scheme:dark){\
text{fill:#ddd}.s{fill:#aaa}.p{fill:#16181c}.r{fill:#1f2228}.g{stroke:#3a3d44}.b{stroke:#16181c}\
.n{fill:#000}.c{stroke:#ff5a4d}.k{stroke:#ff5a4d}.m{stroke:#999}}";

/// Coordinates of the picture.
struct Layout {
    left: f64,
    right: f64,
    row: f64,
    seconds: f64,
}

/// A bar, or several that could not be told from each other.
struct Piece<'a> {
    /// The first of them.
    bar: &'a Bar,
    from: f64,
    to: f64,
    n_bars: usize,
    is_critical: bool,
}

impl Chart {
    /// The chart as SVG, with a title and a line of what there is to say.
    pub fn svg(&self, title: &str, said: &str) -> String {
        let labels: Vec<String> = self.rows.iter().map(label).collect();
        let label_chars = labels.iter().map(|label| label.chars().count()).max();
        let label_width = label_chars.unwrap_or(0) as f64 * CHAR;
        let layout = Layout {
            left: MARGIN + label_width + 8.0,
            right: WIDTH - MARGIN,
            row: (ROWS_HEIGHT / self.rows.len().max(1) as f64).clamp(ROW_MIN, ROW_MAX),
            seconds: self.seconds,
        };
        let rows_height = layout.row * self.rows.len() as f64;
        let notes = self.notes();
        let height = HEAD + rows_height + AXIS + 24.0 + 16.0 * notes.len() as f64 + MARGIN;
        let mut svg = Svg(String::with_capacity(200 * self.bars.len() + 10_000));
        svg.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" role=\"img\">\n<title>{}</title>\n<style>{STYLE}</style>\n<rect class=\"p\" width=\"100%\" height=\"100%\"/>\n",
            escaped(title)
        ));
        svg.text(MARGIN, 28.0, "t", "start", title);
        svg.text(MARGIN, 48.0, "s", "start", said);
        self.background(&mut svg, &layout, &labels);
        // Names come last, so that no line crosses them.
        let mut names = Svg(String::new());
        self.all_bars(&mut svg, &mut names, &layout);
        self.all_transfers(&mut svg, &layout);
        svg.0.push_str(&names.0);
        self.foot(&mut svg, HEAD + rows_height + AXIS + 16.0, &notes);
        svg.0.push_str("</svg>\n");
        svg.0
    }

    /// Stripes a machine each, names of lines, and the axis of time.
    fn background(&self, svg: &mut Svg, layout: &Layout, labels: &[String]) {
        let mut machine = 0;
        let mut last_label = f64::NEG_INFINITY;
        for (at, row) in self.rows.iter().enumerate() {
            if at > 0 && self.rows[at - 1].host != row.host {
                machine += 1;
            }
            let y = layout.y(at);
            if machine % 2 == 0 {
                svg.add(format_args!(
                    "<rect class=\"r\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
                    layout.left,
                    layout.right - layout.left,
                    layout.row
                ));
            }
            // Names have room where lines are high enough; else every few.
            if y - last_label >= 11.0 {
                let middle = y + layout.row / 2.0 + 4.0;
                svg.text(layout.left - 6.0, middle, "", "end", &labels[at]);
                last_label = y;
            }
        }
        const TICKS: u32 = 8;
        let (top, bottom) = (HEAD, layout.y(self.rows.len()));
        for tick in 0..=TICKS {
            let part = f64::from(tick) / f64::from(TICKS);
            let x = layout.left + (layout.right - layout.left) * part;
            svg.add(format_args!(
                "<line class=\"g\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>\n"
            ));
            let anchor = match tick {
                0 => "start",
                TICKS => "end",
                _ => "middle",
            };
            svg.text(x, bottom + 15.0, "s", anchor, &time(self.seconds * part));
        }
    }

    fn all_bars(&self, svg: &mut Svg, names: &mut Svg, layout: &Layout) {
        let titles = self.bars.len() <= TITLES_MAX;
        let mut critical = Vec::new();
        let mut at = 0;
        while let Some(bar) = self.bars.get(at) {
            let (from, mut to) = layout.span(bar);
            let mut n_bars = 1;
            // A bar that is too narrow to tell from its neighbour is drawn with it.
            if to - from < PIXEL {
                while let Some(next) = self.bars.get(at + n_bars) {
                    let (next_from, next_to) = layout.span(next);
                    let alike = next.row == bar.row && next.colour == bar.colour;
                    if !alike || next_from > to + PIXEL || next_to - next_from >= PIXEL {
                        break;
                    }
                    to = to.max(next_to);
                    n_bars += 1;
                }
            }
            let of = &self.bars[at..at + n_bars];
            let piece = Piece {
                bar,
                from,
                to: to.max(from + PIXEL),
                n_bars,
                is_critical: of.iter().any(|bar| bar.is_critical),
            };
            if piece.is_critical {
                critical.push(piece);
            } else {
                self.piece(svg, layout, &piece, titles);
                self.name(names, layout, &piece);
            }
            at += n_bars;
        }
        // On top, so that what lies beside does not hide their lines.
        for piece in critical {
            self.piece(svg, layout, &piece, titles);
            self.name(names, layout, &piece);
        }
    }

    fn piece(&self, svg: &mut Svg, layout: &Layout, piece: &Piece<'_>, titles: bool) {
        let Piece { bar, from, to, .. } = *piece;
        let (y, width) = (layout.y(bar.row), to - from);
        let known = bar.colour < self.legend.len();
        let fill = FILLS[if known { bar.colour } else { FILLS.len() - 1 }];
        let pad = if layout.row >= 6.0 { 1.0 } else { 0.0 };
        // Lines around what is thinner than they are would be all that is seen.
        let class = match piece.is_critical {
            true => "b c",
            false if width < 3.0 => "",
            false => "b",
        };
        svg.add(format_args!(
            "<rect class=\"{class}\" x=\"{from:.2}\" y=\"{:.1}\" width=\"{width:.2}\" height=\"{:.1}\" fill=\"{fill}\"",
            y + pad,
            layout.row - 2.0 * pad
        ));
        if !titles {
            svg.add(format_args!("/>\n"));
            return;
        }
        let name = match piece.n_bars {
            1 => bar.name.clone(),
            n => format!("{} and {} more", bar.name, n - 1),
        };
        svg.add(format_args!(
            "><title>{} on {}, {} to {}</title></rect>\n",
            escaped(&name),
            escaped(&self.rows[bar.row].machine),
            time(bar.start),
            time(bar.finish)
        ));
    }

    /// The name in a bar that has room for some of it.
    fn name(&self, svg: &mut Svg, layout: &Layout, piece: &Piece<'_>) {
        let bar = piece.bar;
        let room = ((piece.to - piece.from - 4.0) / CHAR) as usize;
        if !bar.is_first || piece.n_bars > 1 || layout.row < 11.0 || room < 3 {
            return;
        }
        let shown: String = if bar.name.chars().count() <= room {
            bar.name.clone()
        } else {
            bar.name.chars().take(room - 1).chain(['…']).collect()
        };
        let (x, y) = (layout.x(bar.start) + 3.0, layout.y(bar.row));
        svg.text(x, y + layout.row / 2.0 + 3.5, "n", "start", &shown);
    }

    fn all_transfers(&self, svg: &mut Svg, layout: &Layout) {
        let all = self.transfers.len() <= TRANSFERS_MAX;
        let shown = self.transfers.iter().filter(|one| all || one.is_critical);
        let (critical, others): (Vec<&Transfer>, Vec<&Transfer>) =
            shown.partition(|one| one.is_critical);
        for one in others.into_iter().chain(critical) {
            let (from, to) = (layout.x(one.start), layout.x(one.finish));
            let (high, low) = (
                layout.y(one.from) + layout.row / 2.0,
                layout.y(one.to) + layout.row / 2.0,
            );
            let class = if one.is_critical { "k" } else { "m" };
            svg.add(format_args!(
                "<path class=\"{class}\" d=\"M{from:.1} {high:.1}L{to:.1} {low:.1}\"/>\n"
            ));
        }
    }

    /// The legend of the colours, and the notes.
    fn foot(&self, svg: &mut Svg, top: f64, notes: &[String]) {
        let mut x = MARGIN;
        let others = self.bars.iter().any(|bar| bar.colour >= self.legend.len());
        let names = self.legend.iter().map(String::as_str).zip(FILLS);
        let grey =
            (others && !self.legend.is_empty()).then_some(("others", FILLS[FILLS.len() - 1]));
        let mut y = top;
        for (name, fill) in names.chain(grey) {
            let shown: String = name.chars().take(LABEL_CHARS_MAX).collect();
            let width = 16.0 + CHAR * shown.chars().count() as f64 + 14.0;
            if x + width > WIDTH - MARGIN && x > MARGIN {
                x = MARGIN;
                y += 16.0;
            }
            svg.add(format_args!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"11\" height=\"11\" fill=\"{fill}\"/>\n",
                y - 9.0
            ));
            svg.text(x + 16.0, y, "", "start", &shown);
            x += width;
        }
        for (place, note) in notes.iter().enumerate() {
            svg.text(MARGIN, y + 18.0 + 16.0 * place as f64, "s", "start", note);
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.critical.is_empty() {
            notes.push(
                "outlined in red: the critical path, what decides when the plan ends".to_owned(),
            );
        }
        if self.n_slots_idle > 0 {
            let idle = match self.n_slots_idle {
                1 => "1 slot has".to_owned(),
                n => format!("{n} slots have"),
            };
            notes.push(format!("{idle} nothing to do"));
        }
        if self.transfers.len() > TRANSFERS_MAX {
            let n = self.transfers.len();
            notes.push(format!(
                "{n} transfers, of which those on the critical path are drawn"
            ));
        } else if !self.transfers.is_empty() {
            notes.push("thin lines: data on its way from machine to machine".to_owned());
        }
        notes
    }
}

impl Layout {
    fn x(&self, seconds: f64) -> f64 {
        let part = if self.seconds > 0.0 {
            (seconds / self.seconds).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.left + (self.right - self.left) * part
    }

    fn y(&self, row: usize) -> f64 {
        HEAD + self.row * row as f64
    }

    fn span(&self, bar: &Bar) -> (f64, f64) {
        (self.x(bar.start), self.x(bar.finish))
    }
}

struct Svg(String);

impl Svg {
    fn add(&mut self, text: std::fmt::Arguments<'_>) {
        self.0
            .write_fmt(text)
            .expect("writing to a text cannot fail");
    }

    fn text(&mut self, x: f64, y: f64, class: &str, anchor: &str, text: &str) {
        self.add(format_args!(
            "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>\n",
            escaped(text)
        ));
    }
}

fn label(row: &Row) -> String {
    let mut label = row.machine.clone();
    if row.has_others {
        label.push_str(&format!(" :{}", row.slot));
    }
    if label.chars().count() > LABEL_CHARS_MAX {
        label = label
            .chars()
            .take(LABEL_CHARS_MAX - 1)
            .chain(['…'])
            .collect();
    }
    label
}

/// Text for XML. Control characters, which XML cannot have, are left out before.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

//! A chart as text: a line a slot, or a machine or a group where there are many.

use super::{Bar, Chart, Row, time};

/// Characters of a line's name.
const LABEL_CHARS_MAX: usize = 24;
/// Characters below which a bar has no room for itself and counts as a part of what is busy.
const BAR_CHARS_MIN: usize = 3;
/// Cells of the time axis at least, whatever the terminal's width.
const CELLS_MIN: usize = 20;
/// The use of a cell, in quarters.
const DENSITIES: [char; 4] = ['░', '▒', '▓', '█'];
/// The codes of the colours of bars, beside those of bold text and of an end: backgrounds of the 256-colour table, all
/// with black text readable on them. The last one is for everything else.
pub const STYLES: [&str; 10] = [
    "\x1b[30;48;5;75m",
    "\x1b[30;48;5;215m",
    "\x1b[30;48;5;114m",
    "\x1b[30;48;5;183m",
    "\x1b[30;48;5;222m",
    "\x1b[30;48;5;80m",
    "\x1b[30;48;5;210m",
    "\x1b[30;48;5;150m",
    "\x1b[30;48;5;147m",
    "\x1b[30;48;5;250m",
];

/// The abilities of a terminal for a chart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Characters of a line.
    pub width: usize,
    /// Lines of machines; more are put together.
    pub rows_max: usize,
}

/// The slots that one line stands for.
struct Line {
    label: String,
    /// Rows of the chart, from and up to.
    rows: std::ops::Range<usize>,
}

impl Chart {
    /// The chart for a terminal, with ANSI codes for colours, which may be left out without loss.
    /// Bars are `[name=]`, or `[name#]` on the critical path; where there is no room for bars,
    /// shades tell how much is busy.
    pub fn terminal(&self, look: Look) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let lines = self.lines(look.rows_max.max(1));
        let label_width = lines
            .iter()
            .map(|line| line.label.chars().count())
            .max()
            .unwrap_or(0);
        let n_cells = look.width.saturating_sub(label_width + 3).max(CELLS_MIN);
        let mut text = String::new();
        for line in &lines {
            let pad = label_width - line.label.chars().count();
            text.push_str(&line.label);
            text.extend(std::iter::repeat_n(' ', pad + 1));
            text.push('│');
            text.push_str(&self.line(line, n_cells));
            text.push_str("│\n");
        }
        text.push_str(&axis(self.seconds, label_width + 2, n_cells));
        if self.n_slots_idle > 0 {
            let idle = match self.n_slots_idle {
                1 => "1 slot has".to_owned(),
                n => format!("{n} slots have"),
            };
            text.push_str(&format!("{idle} nothing to do\n"));
        }
        text.push_str(&self.legend_in(look.width));
        text
    }

    /// Slots, or machines where slots are too many, or groups, or groups put together.
    fn lines(&self, rows_max: usize) -> Vec<Line> {
        let slot = |row: &Row| {
            if row.has_others {
                format!("{}:{}", row.machine, row.slot)
            } else {
                row.machine.clone()
            }
        };
        let slots: Vec<Line> = self
            .rows
            .iter()
            .enumerate()
            .map(|(at, row)| Line {
                label: short(&slot(row)),
                rows: at..at + 1,
            })
            .collect();
        if slots.len() <= rows_max {
            return slots;
        }
        let machines = self.merged(|row| row.host, |row| row.machine.clone());
        if machines.len() <= rows_max {
            return machines;
        }
        let groups = self.merged(|row| row.group, |row| self.groups[&row.group].clone());
        if groups.len() <= rows_max {
            return groups;
        }
        let each = groups.len().div_ceil(rows_max);
        groups
            .chunks(each)
            .filter_map(|chunk| {
                let (first, last) = (chunk.first()?, chunk.last()?);
                Some(Line {
                    label: short(&format!("{} … {}", first.label, last.label)),
                    rows: first.rows.start..last.rows.end,
                })
            })
            .collect()
    }

    fn merged<K: PartialEq>(
        &self,
        key: impl Fn(&Row) -> K,
        label: impl Fn(&Row) -> String,
    ) -> Vec<Line> {
        let mut lines: Vec<(K, Line)> = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            match lines.last_mut() {
                Some((known, line)) if *known == key(row) => line.rows.end = at + 1,
                Some(_) | None => lines.push((
                    key(row),
                    Line {
                        label: short(&label(row)),
                        rows: at..at + 1,
                    },
                )),
            }
        }
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn line(&self, line: &Line, n_cells: usize) -> String {
        let first = self.bars.partition_point(|bar| bar.row < line.rows.start);
        let end = self.bars.partition_point(|bar| bar.row < line.rows.end);
        let bars = &self.bars[first..end];
        // Bars that have room are drawn by themselves, the others as how much of a cell they fill.
        let cells_of = |bar: &Bar| {
            let from = self.cell(bar.start, n_cells).round() as usize;
            let to = (self.cell(bar.finish, n_cells).round() as usize).min(n_cells);
            let has_room = line.rows.len() == 1 && to.saturating_sub(from) >= BAR_CHARS_MIN;
            has_room.then_some(from..to)
        };
        let mut busy = vec![0.0; n_cells];
        for bar in bars.iter().filter(|bar| cells_of(bar).is_none()) {
            self.add_busy(&mut busy, bar);
        }
        let n_rows = line.rows.len() as f64;
        let mut cells: Vec<String> = busy.iter().map(|&busy| shade(busy / n_rows)).collect();
        for bar in bars {
            if let Some(place) = cells_of(bar) {
                put(&mut cells[place], bar, self.legend.len());
            }
        }
        cells.concat()
    }

    /// A time in cells from the left.
    fn cell(&self, seconds: f64, n_cells: usize) -> f64 {
        if self.seconds > 0.0 {
            (seconds / self.seconds).clamp(0.0, 1.0) * n_cells as f64
        } else {
            0.0
        }
    }

    fn add_busy(&self, busy: &mut [f64], bar: &Bar) {
        let (from, to) = (
            self.cell(bar.start, busy.len()),
            self.cell(bar.finish, busy.len()),
        );
        let last = busy.len() - 1;
        for (at, cell) in busy
            .iter_mut()
            .enumerate()
            .take((to as usize).min(last) + 1)
            .skip(from as usize)
        {
            let at = at as f64;
            *cell += (to.min(at + 1.0) - from.max(at)).max(0.0);
        }
    }

    fn legend_in(&self, width: usize) -> String {
        let used = |colour: usize| self.bars.iter().any(|bar| bar.colour == colour);
        let mut names: Vec<(usize, &str)> = Vec::new();
        for (colour, name) in self.legend.iter().enumerate() {
            names.push((colour, name));
        }
        if used(self.legend.len()) && !self.legend.is_empty() {
            names.push((self.legend.len(), "others"));
        }
        // One colour tells nothing.
        if names.len() < 2 {
            return String::new();
        }
        let mut lines: Vec<String> = Vec::new();
        let mut filled = 0;
        for (colour, name) in names {
            let name = short(name);
            let n_chars = name.chars().count() + 3;
            let entry = format!("{}  \x1b[0m {name}", background(colour, self.legend.len()));
            match lines.last_mut() {
                Some(line) if filled + 2 + n_chars <= width => {
                    line.push_str("  ");
                    line.push_str(&entry);
                    filled += 2 + n_chars;
                }
                Some(_) | None => {
                    lines.push(entry);
                    filled = n_chars;
                }
            }
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// A bar over its cells, three at least.
fn put(cells: &mut [String], bar: &Bar, n_colours: usize) {
    let room = cells.len() - 2;
    let filler = if bar.is_critical { '#' } else { '=' };
    let mut inner: Vec<char> = bar.name.chars().take(room).collect();
    if bar.name.chars().count() > room && room > 3 {
        inner[room - 1] = '…';
    }
    inner.resize(room, filler);
    let weight = if bar.is_critical { "\x1b[1m" } else { "" };
    let colour = background(bar.colour, n_colours);
    let mut shown = std::iter::once('[')
        .chain(inner)
        .chain(std::iter::once(']'));
    let last = cells.len() - 1;
    for (at, cell) in cells.iter_mut().enumerate() {
        cell.clear();
        if at == 0 {
            cell.push_str(colour);
            cell.push_str(weight);
        }
        cell.extend(shown.next());
        if at == last {
            cell.push_str("\x1b[0m");
        }
    }
}

fn background(colour: usize, n_known: usize) -> &'static str {
    let place = if colour >= n_known {
        STYLES.len() - 1
    } else {
        colour
    };
    STYLES[place.min(STYLES.len() - 1)]
}

fn shade(busy: f64) -> String {
    // Less than a hundredth is nothing, but that may be all that a line has: it is shown as the
    // least shade.
    if busy <= 0.0 {
        return " ".to_owned();
    }
    let quarter = (busy * 4.0).ceil().clamp(1.0, 4.0) as usize - 1;
    DENSITIES[quarter].to_string()
}

fn short(label: &str) -> String {
    if label.chars().count() <= LABEL_CHARS_MAX {
        return label.to_owned();
    }
    let kept: String = label.chars().take(LABEL_CHARS_MAX - 1).collect();
    format!("{kept}…")
}

/// A line of times below the cells.
fn axis(seconds: f64, before: usize, n_cells: usize) -> String {
    const TICKS: usize = 4;
    let mut line = vec![' '; before + n_cells];
    let mut free_from = 0;
    for tick in 0..=TICKS {
        let label = time(seconds * tick as f64 / TICKS as f64);
        let n_chars = label.chars().count();
        let at = before + n_cells * tick / TICKS;
        // The first begins at the left end, the last ends at the right one.
        let start = match tick {
            0 => before,
            TICKS => at.saturating_sub(n_chars),
            _ => at.saturating_sub(n_chars / 2),
        };
        if start < free_from {
            continue;
        }
        for (offset, c) in label.chars().enumerate() {
            if let Some(cell) = line.get_mut(start + offset) {
                *cell = c;
            }
        }
        free_from = start + n_chars + 1;
    }
    let line: String = line.into_iter().collect();
    format!("{}\n", line.trim_end())
}

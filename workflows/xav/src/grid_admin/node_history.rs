//! `xav nodes NAME --history`: the powers and loads that a machine had, drawn or as JSON.

use model::{Span, Wall};
use serde_json::{Value, json};
use wire::admin::Moment;

use crate::failure::Outcome;
use crate::{screen, text};

/// Columns of a drawing, each as much time as any other.
const COLUMNS: usize = 60;

/// The bars from nothing to the most.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Prints a history, which is in order.
pub(super) fn show(moments: &[Moment], is_json: bool) -> Outcome {
    if is_json {
        let documents: Value = moments.iter().map(document).collect();
        screen::json(&documents)?;
    } else {
        screen::out(&drawn(moments))?;
    }
    Ok(0)
}

fn document(moment: &Moment) -> Value {
    json!({
        "at": text::moment_for_programs(moment.at),
        "power": moment.power,
        "shown_part": moment.shown.map(|shown| f64::from(shown) / 1e3),
        "others_cores": moment.others,
        "others_expected_cores": moment.others_expected,
    })
}

/// A row of bars for the power that processes had, and one for the cores that others used.
fn drawn(moments: &[Moment]) -> String {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return "Nothing is known of its past.\n".to_owned();
    };
    let power = |one: &Moment| {
        let part = one.shown.map_or(1.0, |shown| f64::from(shown) / 1e3);
        Some(f64::from(one.power) * part)
    };
    let others = |one: &Moment| one.others.map(f64::from);
    let mut lines = row("power", moments, "", &power);
    lines += &row("others", moments, " cores", &others);
    let (from, to) = (text::moment(first.at), text::moment(last.at));
    lines += &format!("        {from} to {to}\n");
    if let Some(shown) = last.shown {
        lines += &format!(
            "Its measured power is {:.2}; processes had {} % of that, which fades while nobody tells it.\n",
            last.power,
            shown / 10
        );
    }
    if let Some(expected) = last.others_expected {
        lines += &format!("Others are expected to use {expected:.1} cores over the next minute.\n");
    }
    lines
}

fn row(
    name: &str,
    moments: &[Moment],
    unit: &str,
    value: &dyn Fn(&Moment) -> Option<f64>,
) -> String {
    let known: Vec<f64> = moments.iter().filter_map(value).collect();
    let Some(last) = known.last() else {
        return format!("{name:<7} unknown\n");
    };
    let most = known.iter().copied().fold(0.0, f64::max);
    let least = known.iter().copied().fold(f64::INFINITY, f64::min);
    let bar = |value: Option<f64>| match value {
        None => ' ',
        Some(value) if most > 0.0 => {
            let step = (value / most * BARS.len() as f64).ceil() as usize;
            BARS[step.clamp(1, BARS.len()) - 1]
        }
        Some(_) => BARS[0],
    };
    let bars: String = columns(moments)
        .map(|moment| bar(moment.and_then(value)))
        .collect();
    format!("{name:<7} {bars} {last:.2}{unit}, {least:.2} to {most:.2}\n")
}

/// The moment that each column shows: the last one before its end.
fn columns(moments: &[Moment]) -> impl Iterator<Item = Option<&Moment>> {
    let first = moments.first().map_or(Wall(0), |one| one.at);
    let length = moments.last().map_or(Span::ZERO, |one| one.at.since(first));
    let n = COLUMNS.min(moments.len().max(1) * 4) as u64;
    (1..=n).map(move |column| {
        let part = u128::from(length.0) * u128::from(column) / u128::from(n);
        let until = first + Span(u64::try_from(part).unwrap_or(u64::MAX));
        let n_before = moments.partition_point(|one| one.at <= until);
        n_before.checked_sub(1).and_then(|place| moments.get(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(minute: u64, shown: Option<u32>, others: Option<f32>) -> Moment {
        Moment {
            at: Wall(1_700_000_000_000_000 + minute * 60_000_000),
            power: 2.0,
            shown,
            others,
            others_expected: others,
        }
    }

    #[test]
    fn columns_are_as_much_time_each_and_begin_with_what_was_before() {
        // Half the power for the last third of the time, with a change that takes no time.
        let moments = [
            moment(0, None, None),
            moment(20, Some(500), Some(1.0)),
            moment(20, Some(500), Some(4.0)),
            moment(30, Some(500), Some(4.0)),
        ];
        let drawn = drawn(&moments);
        let mut lines = drawn.lines();
        let power = lines.next().unwrap();
        assert_eq!(power, "power   ██████████▄▄▄▄▄▄ 1.00, 1.00 to 2.00");
        let others = lines.next().unwrap();
        assert_eq!(others, "others            ██████ 4.00 cores, 1.00 to 4.00");
        assert!(drawn.contains("processes had 50 % of that"), "{drawn}");
        assert!(drawn.contains("to use 4.0 cores"), "{drawn}");
    }

    #[test]
    fn one_moment_and_no_load_are_shown_too() {
        let one = drawn(&[moment(0, None, None)]);
        assert!(
            one.starts_with("power   ████ 2.00, 2.00 to 2.00\n"),
            "{one}"
        );
        assert!(one.contains("others  unknown\n"), "{one}");
        assert_eq!(drawn(&[]), "Nothing is known of its past.\n");
        let idle = drawn(&[moment(0, None, Some(0.0))]);
        assert!(idle.contains("others  ▁▁▁▁ 0.00 cores"), "{idle}");
    }
}

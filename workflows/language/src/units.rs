//! Numbers with units.

use model::{Bytes, Span};

/// Why a text is not an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The mistake.
    pub message: String,
    /// The correction.
    pub hint: String,
}

struct Unit {
    names: &'static [&'static str],
    /// Its value in the smallest unit.
    worth: u64,
}

const fn unit(names: &'static [&'static str], worth: u64) -> Unit {
    Unit { names, worth }
}

/// In microseconds, the largest first.
const DURATIONS: [Unit; 6] = [
    unit(&["d"], 86_400_000_000),
    unit(&["h"], 3_600_000_000),
    unit(&["m", "min"], 60_000_000),
    unit(&["s"], 1_000_000),
    unit(&["ms"], 1_000),
    unit(&["us", "µs"], 1),
];

/// In bytes.
const SIZES: [Unit; 9] = [
    unit(&["TiB"], 1 << 40),
    unit(&["TB"], 1_000_000_000_000),
    unit(&["GiB"], 1 << 30),
    unit(&["GB"], 1_000_000_000),
    unit(&["MiB"], 1 << 20),
    unit(&["MB"], 1_000_000),
    unit(&["KiB"], 1 << 10),
    unit(&["kB", "KB"], 1_000),
    unit(&["B"], 1),
];

const DURATION_HINT: &str =
    "durations are written with a unit: `500ms`, `30s`, `2m`, `1h30m`, `1d`";
const SIZE_HINT: &str = "sizes are written with a unit: `100B`, `10MB`, `512MiB`, `2.5GiB`";

/// A duration: `500ms`, `30s`, `2m`, `1.5h`, `1h30m`, `1d`. Rounded up to the microsecond.
pub fn parse_duration(text: &str) -> Result<Span, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        hint: DURATION_HINT.to_owned(),
    };
    let mut rest = text.trim();
    let mut total = 0u64;
    let mut last = usize::MAX;
    if rest.is_empty() {
        return Err(wrong("a duration is wanted".to_owned()));
    }
    while !rest.is_empty() {
        let (number, after) =
            number(rest).ok_or_else(|| wrong(format!("`{text}` is not a duration")))?;
        let (name, after) = word(after);
        if name.is_empty() {
            return Err(wrong(format!("`{text}` is a duration without a unit")));
        }
        let place = place(&DURATIONS, name)
            .ok_or_else(|| wrong(format!("`{name}` is not a unit of duration")))?;
        if last != usize::MAX && place <= last {
            return Err(wrong(format!(
                "`{text}`: the larger unit comes first, each once"
            )));
        }
        last = place;
        let too_long = || wrong(format!("`{text}` is too long a duration"));
        let part = amount(number, DURATIONS[place].worth).ok_or_else(too_long)?;
        total = total.checked_add(part).ok_or_else(too_long)?;
        rest = after.trim_start();
    }
    Ok(Span(total))
}

/// A size: `100B`, `10MB`, `512MiB`, `2.5GiB`. Rounded up to the byte.
pub fn parse_size(text: &str) -> Result<Bytes, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        hint: SIZE_HINT.to_owned(),
    };
    let not = || wrong(format!("`{text}` is not a size"));
    let (number, after) = number(text.trim()).ok_or_else(not)?;
    let (name, rest) = word(after);
    if !rest.is_empty() {
        return Err(not());
    }
    if name.is_empty() {
        return Err(wrong(format!("`{text}` is a size without a unit")));
    }
    let Some(place) = place(&SIZES, name) else {
        let meant = SIZES.iter().flat_map(|unit| unit.names).find(|known| {
            known.eq_ignore_ascii_case(name) || known[..known.len() - 1].eq_ignore_ascii_case(name)
        });
        let mut error = wrong(format!("`{name}` is not a unit of size"));
        if let Some(meant) = meant {
            error.hint = format!("did you mean `{meant}`?");
        }
        return Err(error);
    };
    let bytes = amount(number, SIZES[place].worth);
    bytes
        .map(Bytes)
        .ok_or_else(|| wrong(format!("`{text}` is too large a size")))
}

fn place(units: &[Unit], name: &str) -> Option<usize> {
    units.iter().position(|unit| unit.names.contains(&name))
}

/// The whole part and the fraction's digits of the number at the beginning, and what follows.
fn number(text: &str) -> Option<((&str, &str), &str)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let n_whole = digits(text);
    let after = &text[n_whole..];
    let n_fraction = after.strip_prefix('.').map_or(0, digits);
    if n_whole == 0 || (after.starts_with('.') && n_fraction == 0) {
        return None;
    }
    let end = if n_fraction > 0 {
        n_whole + 1 + n_fraction
    } else {
        n_whole
    };
    let fraction = if n_fraction > 0 {
        &text[n_whole + 1..end]
    } else {
        ""
    };
    Some(((&text[..n_whole], fraction), &text[end..]))
}

fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_alphabetic())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn amount((whole, fraction): (&str, &str), worth: u64) -> Option<u64> {
    /// Digits of a fraction that count; further ones are less than the smallest unit.
    const DIGITS_MAX: usize = 15;
    let fraction = &fraction[..fraction.len().min(DIGITS_MAX)];
    let scale = 10u128.pow(fraction.len() as u32);
    let part: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let whole = u128::from(whole.parse::<u64>().ok()?) * u128::from(worth);
    u64::try_from(whole + (part * u128::from(worth)).div_ceil(scale)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_read() {
        for (text, micros) in [
            ("30s", 30_000_000),
            ("500ms", 500_000),
            ("2m", 120_000_000),
            ("1h", 3_600_000_000),
            ("1h30m", 5_400_000_000),
            ("1d 2h", 93_600_000_000),
            ("1.5h", 5_400_000_000),
            ("0.0000001s", 1),
            ("7us", 7),
            ("0s", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(Span(micros)), "{text}");
        }
        for (text, bytes) in [
            ("100B", 100),
            ("10MB", 10_000_000),
            ("512MiB", 512 << 20),
            ("2.5GiB", 5 << 29),
            ("1 TB", 1_000_000_000_000),
            ("0.3B", 1),
        ] {
            assert_eq!(parse_size(text), Ok(Bytes(bytes)), "{text}");
        }
    }

    #[test]
    fn slips_with_units_are_explained() {
        for (text, message) in [
            ("30", "`30` is a duration without a unit"),
            ("", "a duration is wanted"),
            ("soon", "`soon` is not a duration"),
            ("3 weeks", "`weeks` is not a unit of duration"),
            ("30m1h", "`30m1h`: the larger unit comes first, each once"),
            ("-3s", "`-3s` is not a duration"),
            ("1.s", "`1.s` is not a duration"),
            ("99999999999d", "`99999999999d` is too long a duration"),
            (
                "99999999999999999999999d",
                "`99999999999999999999999d` is too long a duration",
            ),
        ] {
            assert_eq!(
                parse_duration(text).map_err(|error| error.message),
                Err(message.to_owned())
            );
        }
        for (text, message, hint) in [
            ("512", "`512` is a size without a unit", SIZE_HINT),
            ("512mb", "`mb` is not a unit of size", "did you mean `MB`?"),
            ("2G", "`G` is not a unit of size", "did you mean `GB`?"),
            ("2 apples", "`apples` is not a unit of size", SIZE_HINT),
            ("MiB", "`MiB` is not a size", SIZE_HINT),
        ] {
            let error = UnitError {
                message: message.to_owned(),
                hint: hint.to_owned(),
            };
            assert_eq!(parse_size(text), Err(error));
        }
    }
}

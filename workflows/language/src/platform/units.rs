//! Bandwidths as people write them.

use crate::units::UnitError;

/// The names of units and what they are in bytes a second, the largest of each family first.
const UNITS: [(&str, f64); 14] = [
    ("Tbit/s", 1.25e11),
    ("Gbit/s", 1.25e8),
    ("Mbit/s", 1.25e5),
    ("kbit/s", 1.25e2),
    ("bit/s", 0.125),
    ("TB/s", 1e12),
    ("GB/s", 1e9),
    ("MB/s", 1e6),
    ("kB/s", 1e3),
    ("B/s", 1.0),
    ("TiB/s", 1_099_511_627_776.0),
    ("GiB/s", 1_073_741_824.0),
    ("MiB/s", 1_048_576.0),
    ("KiB/s", 1_024.0),
];

const HINT: &str = "bandwidths are written with a unit: `10Mbit/s`, `1Gbit/s`, `125MB/s`";

/// A bandwidth, in bytes a second: `10Mbit/s`, `1Gbit/s`, `1.5 MB/s`. It is above 0.
pub fn parse_bandwidth(text: &str) -> Result<f64, UnitError> {
    let wrong = |message: String| UnitError {
        message,
        hint: HINT.to_owned(),
    };
    let text = text.trim();
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '+');
    let end = text.find(|c| !of_number(c)).unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim());
    let number: f64 = number
        .parse()
        .map_err(|_| wrong(format!("`{text}` is not a bandwidth")))?;
    if unit.is_empty() {
        return Err(wrong(format!("`{text}` is a bandwidth without a unit")));
    }
    let Some((_, worth)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let bare = unit.trim_end_matches("/s").trim_end_matches("ps");
        let near = |name: &str| {
            let known = name.trim_end_matches("/s");
            name.eq_ignore_ascii_case(unit)
                || known.eq_ignore_ascii_case(bare)
                || known.trim_end_matches("it").eq_ignore_ascii_case(bare)
        };
        // `mb` is not told from `MB` by its letters, and `Mb` is a megabit.
        let meant = UNITS.iter().find(|(name, _)| near(name));
        let mut error = wrong(format!("`{unit}` is not a unit of bandwidth"));
        if let Some((meant, _)) = meant {
            error.hint = format!("did you mean `{meant}`?");
        }
        return Err(error);
    };
    let bandwidth = number * worth;
    if bandwidth > 0.0 && bandwidth.is_finite() {
        Ok(bandwidth)
    } else {
        Err(wrong(format!(
            "a bandwidth of `{text}`: nothing would ever arrive"
        )))
    }
}

/// A bandwidth as text that is read back as the same number.
pub(crate) fn bandwidth(bytes_a_second: f64) -> String {
    let exact = UNITS.iter().find(|(_, worth)| {
        let number = bytes_a_second / worth;
        number >= 1.0 && number.fract() == 0.0 && number * worth == bytes_a_second
    });
    match exact {
        Some((name, worth)) => format!("{}{name}", bytes_a_second / worth),
        None => format!("{bytes_a_second}B/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bandwidths_are_read_and_written() {
        for (text, bytes) in [
            ("10Mbit/s", 1.25e6),
            ("1Gbit/s", 1.25e8),
            ("1.5 MB/s", 1.5e6),
            ("64KiB/s", 65_536.0),
            ("0.5bit/s", 0.0625),
        ] {
            assert_eq!(parse_bandwidth(text), Ok(bytes), "{text}");
            assert_eq!(parse_bandwidth(&bandwidth(bytes)), Ok(bytes), "{text}");
        }
        assert_eq!(bandwidth(1.25e6), "10Mbit/s");
        assert_eq!(bandwidth(1.0 / 3.0), "0.3333333333333333B/s");
        assert_eq!(bandwidth(1.3e9 + 0.5), "10400000004bit/s");
    }

    #[test]
    fn slips_with_bandwidths_are_explained() {
        for (text, message, hint) in [
            ("10", "`10` is a bandwidth without a unit", HINT),
            ("fast", "`fast` is not a bandwidth", HINT),
            ("", "`` is not a bandwidth", HINT),
            ("NaNMbit/s", "`NaNMbit/s` is not a bandwidth", HINT),
            (
                "10Mbit",
                "`Mbit` is not a unit of bandwidth",
                "did you mean `Mbit/s`?",
            ),
            (
                "10mbit/s",
                "`mbit/s` is not a unit of bandwidth",
                "did you mean `Mbit/s`?",
            ),
            (
                "10Mbps",
                "`Mbps` is not a unit of bandwidth",
                "did you mean `Mbit/s`?",
            ),
            ("10parsecs", "`parsecs` is not a unit of bandwidth", HINT),
            (
                "0Mbit/s",
                "a bandwidth of `0Mbit/s`: nothing would ever arrive",
                HINT,
            ),
            (
                "-1Mbit/s",
                "a bandwidth of `-1Mbit/s`: nothing would ever arrive",
                HINT,
            ),
        ] {
            let error = UnitError {
                message: message.to_owned(),
                hint: hint.to_owned(),
            };
            assert_eq!(parse_bandwidth(text), Err(error));
        }
    }
}

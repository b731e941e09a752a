//! The conditions under which a machine's owner lends it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::Wall;

/// The part of the ceiling below which the load of others must fall before the machine is lent
/// again. Without this gap it would oscillate.
const OPENS_BELOW: f64 = 0.8;

/// Minutes of a day.
const DAY: u32 = 24 * 60;

/// The owner's conditions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ceilings {
    /// Cores that others may use before nothing is lent.
    pub load_max: Option<f64>,
    /// The hours in which the machine is lent.
    pub hours: Option<Hours>,
}

/// A part of each day, by the machine's own clock; it may span midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    from: u32,
    until: u32,
}

impl Hours {
    /// Parses `20:00-06:00`; none if it has another form, or is empty.
    pub fn parse(text: &str) -> Option<Hours> {
        let (from, until) = text.split_once('-')?;
        let hours = Hours {
            from: minute(from)?,
            until: minute(until)?,
        };
        (hours.from != hours.until).then_some(hours)
    }

    fn contains(self, minute: u32) -> bool {
        let Hours { from, until } = self;
        if from < until {
            (from..until).contains(&minute)
        } else {
            minute >= from || minute < until
        }
    }
}

impl std::fmt::Display for Hours {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Hours { from, until } = self;
        let (a, b) = (from / 60, from % 60);
        let (c, d) = (until / 60, until % 60);
        write!(f, "{a:02}:{b:02}-{c:02}:{d:02}")
    }
}

fn minute(text: &str) -> Option<u32> {
    let (hour, minute) = text.trim().split_once(':')?;
    let (hour, minute): (u32, u32) = (hour.parse().ok()?, minute.parse().ok()?);
    let at = hour.checked_mul(60)?.checked_add(minute)?;
    (minute < 60 && at <= DAY).then_some(at % DAY)
}

/// The minute of the day in this machine's time zone.
pub fn minute_of_day(now: Wall) -> u32 {
    let micros = i64::try_from(now.0).unwrap_or(i64::MAX);
    let Ok(at) = Timestamp::from_microsecond(micros) else {
        return 0;
    };
    let at = at.to_zoned(TimeZone::system());
    let minute = i32::from(at.hour()) * 60 + i32::from(at.minute());
    u32::try_from(minute).unwrap_or(0)
}

impl Ceilings {
    /// The reason why nothing is lent at this minute of the day under this load of others; none if
    /// the machine is lent.
    pub fn closed(
        &self,
        others: f64,
        minute: impl FnOnce() -> u32,
        was_closed: bool,
    ) -> Option<String> {
        if let Some(hours) = self.hours.filter(|hours| !hours.contains(minute())) {
            let (from, minute) = (hours.from / 60, hours.from % 60);
            return Some(format!(
                "closed until {from:02}:{minute:02} by its clock: its owner lends it {hours}"
            ));
        }
        let ceiling = self.load_max?;
        let limit = if was_closed {
            ceiling * OPENS_BELOW
        } else {
            ceiling
        };
        (others > limit).then(|| {
            let opens = ceiling * OPENS_BELOW;
            format!(
                "closed until others use less than {opens:.1} cores of it: they used {others:.1}, and {ceiling:.1} are the ceiling"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_may_go_over_midnight() {
        let night = Hours::parse("20:00-06:00").unwrap();
        let lends = |hour: u32| night.contains(hour * 60);
        assert!(lends(20) && lends(23) && lends(0) && lends(5));
        assert!(!lends(6) && !lends(12) && !lends(19));
        let day = Hours::parse("08:30-24:00").unwrap();
        assert!(day.contains(8 * 60 + 30) && day.contains(DAY - 1) && !day.contains(8 * 60 + 29));
        assert_eq!(day.to_string(), "08:30-00:00");
        for odd in [
            "",
            "20-06",
            "25:00-01:00",
            "10:60-12:00",
            "06:00-06:00",
            "a:b-c:d",
        ] {
            assert_eq!(Hours::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_busy_machine_closes_and_opens_with_a_gap() {
        let ceilings = Ceilings {
            load_max: Some(1.0),
            hours: None,
        };
        assert_eq!(ceilings.closed(1.0, || 0, false), None);
        let why = "closed until others use less than 0.8 cores of it: they used 1.1, and 1.0 are the ceiling";
        assert_eq!(ceilings.closed(1.1, || 0, false).as_deref(), Some(why));
        assert!(ceilings.closed(0.9, || 0, true).is_some());
        assert_eq!(ceilings.closed(0.8, || 0, true), None);
        let night = Ceilings {
            hours: Hours::parse("20:00-06:00"),
            ..ceilings
        };
        let why = night.closed(0.0, || 12 * 60, false);
        assert_eq!(
            why.as_deref(),
            Some("closed until 20:00 by its clock: its owner lends it 20:00-06:00")
        );
        assert_eq!(night.closed(0.0, || 21 * 60, false), None);
        assert_eq!(Ceilings::default().closed(99.0, || 0, false), None);
    }
}

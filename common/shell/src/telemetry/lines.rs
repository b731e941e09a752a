//! Lines of a log for programs: an object of JSON each.

use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// Writes `{"time": ..., "level": ..., "target": ..., "message": ..., FIELD: ...}`.
pub(super) struct JsonLines;

impl<S, N> FormatEvent<S, N> for JsonLines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let metadata = event.metadata();
        let mut line = Line {
            text: String::from("{\"time\":"),
        };
        quote(&mut line.text, &time);
        line.key("level");
        quote(&mut line.text, metadata.level().as_str());
        line.key("target");
        quote(&mut line.text, metadata.target());
        event.record(&mut line);
        writeln!(writer, "{}}}", line.text)
    }
}

struct Line {
    text: String,
}

impl Line {
    fn key(&mut self, name: &str) {
        self.text.push(',');
        quote(&mut self.text, name);
        self.text.push(':');
    }

    fn bare(&mut self, field: &Field, value: impl fmt::Display) {
        self.key(field.name());
        write!(self.text, "{value}").expect("a String takes every text");
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.key(field.name());
        quote(&mut self.text, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.key(field.name());
        quote(&mut self.text, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.bare(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.bare(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.bare(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.bare(field, value);
        } else {
            self.record_debug(field, &value);
        }
    }
}

/// A text as JSON has it (RFC 8259, 7).
fn quote(to: &mut String, text: &str) {
    to.push('"');
    for letter in text.chars() {
        match letter {
            '"' => to.push_str("\\\""),
            '\\' => to.push_str("\\\\"),
            '\n' => to.push_str("\\n"),
            letter if u32::from(letter) < 0x20 => {
                write!(to, "\\u{:04x}", u32::from(letter)).expect("a String takes every text");
            }
            letter => to.push(letter),
        }
    }
    to.push('"');
}

#[test]
fn a_line_is_one_object_whatever_is_in_it() {
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl std::io::Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let kept = Kept::default();
    let writer = kept.clone();
    let log = tracing_subscriber::fmt()
        .event_format(JsonLines)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(log, || {
        tracing::warn!(
            n = 7_u64,
            part = 0.5,
            none = f64::NAN,
            who = "a \"b\"\n\u{1}",
            "it \\ fell"
        );
    });
    let bytes = kept.0.lock().unwrap().clone();
    let line = String::from_utf8(bytes).unwrap();
    let (time, rest) = line.split_once(",\"level\"").unwrap();
    assert!(
        time.starts_with("{\"time\":\"20") && time.ends_with("Z\""),
        "{time}"
    );
    assert_eq!(
        rest,
        ":\"WARN\",\"target\":\"shell::telemetry::lines\",\"message\":\"it \\\\ fell\",\"n\":7,\
         \"part\":0.5,\"none\":\"NaN\",\"who\":\"a \\\"b\\\"\\n\\u0001\"}\n"
    );
}

//! Records as lines of text, for tests that hold the bytes of each release: a name, a colon, and the
//! encoded bytes as hexadecimal digits.

use crate::Codec;

/// The line of a record, with its end of line.
pub fn line(name: &str, record: &impl Codec) -> String {
    let mut bytes = Vec::new();
    record.encode(&mut bytes);
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{name}: {digits}\n")
}

/// Reads the record of a line.
///
/// # Errors
/// The line has no name, something else than pairs of digits, or bytes that are no such record.
pub fn read<T: Codec>(line: &str) -> Result<T, minicbor::decode::Error> {
    let wrong = minicbor::decode::Error::message;
    let (_, digits) = line.trim_end().split_once(": ").ok_or(wrong("no name"))?;
    let pairs = digits.as_bytes().chunks(2).map(|pair| {
        let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        u8::from_str_radix(pair, 16).ok()
    });
    let bytes: Option<Vec<u8>> = pairs.collect();
    T::decode(&bytes.ok_or(wrong("no pairs of digits"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_from_its_line_and_from_no_other_text() {
        let record = (5_u32, "five".to_owned());
        let line = line("five", &record);
        assert_eq!(line, "five: 82056466697665\n");
        assert_eq!(read::<(u32, String)>(&line).unwrap(), record);
        for wrong in [
            "82056466697665",
            "five: 8205646669766",
            "five: 8205646669766x",
            "five: 82056466",
        ] {
            assert!(read::<(u32, String)>(wrong).is_err(), "{wrong}");
        }
    }
}

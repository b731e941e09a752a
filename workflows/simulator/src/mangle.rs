//! Messages that arrive with other bytes than were sent. Most are still messages, and mean something
//! else: what a peer says that has gone wrong, or bad.

use minicbor::Decoder;
use minicbor::data::Type;

use crate::random::{Random, Rate};

/// Numbers at which arithmetic goes wrong.
const NUMBERS: [u64; 12] = [
    0,
    1,
    2,
    23,
    255,
    65_535,
    1 << 20,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 40,
    i64::MAX as u64,
    u64::MAX,
];

/// The same for fractions.
const FRACTIONS: [f64; 6] = [
    0.0,
    -1.0,
    f64::NAN,
    f64::INFINITY,
    f64::MAX,
    f64::MIN_POSITIVE,
];

/// The first byte of a fraction.
const FRACTION: u8 = 0xfb;

/// Changes that one message has at most.
const CHANGES_MAX: u64 = 3;

/// Changes a message: mostly a value for another one, now and then any byte.
pub(crate) fn mangle(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.between(1, CHANGES_MAX) {
        let values = values(bytes);
        let picked = values.get(random.index(values.len().max(1))).cloned();
        match picked {
            Some(value) if random.happens(Rate::percent(85)) => {
                let other = match random.below(3) {
                    _ if bytes[value.start] == FRACTION => wire::encode(&random.pick(&FRACTIONS)),
                    0 => bytes[values[random.index(values.len())].clone()].to_vec(),
                    1 => wire::encode(&random.pick(&NUMBERS)),
                    _ => wire::encode(&random.draw()),
                };
                bytes.splice(value, other);
            }
            Some(_) | None => change_bytes(bytes, random),
        }
    }
}

fn change_bytes(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.index(bytes.len().max(1));
    match random.below(4) {
        0 => bytes.truncate(at),
        1 => bytes.insert(at.min(bytes.len()), random.draw() as u8),
        2 => drop((at < bytes.len()).then(|| bytes.remove(at))),
        _ => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// The places of the values of a message that hold no others.
fn values(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let mut decoder = Decoder::new(bytes);
    let mut values = Vec::new();
    while let Ok(kind) = decoder.datatype() {
        let from = decoder.position();
        let passed = if matches!(kind, Type::Array | Type::ArrayIndef) {
            decoder.array().map(drop)
        } else if matches!(kind, Type::Map | Type::MapIndef) {
            decoder.map().map(drop)
        } else {
            let passed = decoder.skip();
            passed.map(|()| values.push(from..decoder.position()))
        };
        if passed.is_err() {
            break;
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_within_others() {
        let bytes = wire::encode(&(7_u8, vec!["a".to_owned()], Some(300_u32)));
        let found: Vec<&[u8]> = values(&bytes).into_iter().map(|at| &bytes[at]).collect();
        assert_eq!(found, [&[7][..], b"\x61a", &[0x19, 1, 44]]);
        assert!(values(&[]).is_empty());
    }

    #[test]
    fn many_are_still_messages() {
        let mut random = Random::new(3);
        let sent = (7_u64, vec![1_u64, 2, 3], Some(5_u64));
        let n_read = (0..1_000)
            .filter(|_| {
                let mut bytes = wire::encode(&sent);
                mangle(&mut bytes, &mut random);
                let read = wire::decode::<(u64, Vec<u64>, Option<u64>)>(&bytes);
                read.is_ok_and(|read| read != sent)
            })
            .count();
        assert!((300..1_000).contains(&n_read), "{n_read}");
    }
}

//! The action of a process on a fault, as it is recorded: the first processes could only stop, or go on, which
//! was false and true.

use minicbor::data::Type;
use minicbor::decode::Error as DecodeError;
use minicbor::encode::{Error as EncodeError, Write};
use minicbor::{Decode, Decoder, Encoder};
use model::OnFault;

pub(super) fn encode<C, W: Write>(
    on_fault: &OnFault,
    encoder: &mut Encoder<W>,
    cx: &mut C,
) -> Result<(), EncodeError<W::Error>> {
    match on_fault {
        OnFault::Stop => encoder.bool(false)?.ok(),
        OnFault::Continue => encoder.bool(true)?.ok(),
        OnFault::Finish => minicbor::Encode::encode(on_fault, encoder, cx),
    }
}

pub(super) fn decode<C>(decoder: &mut Decoder<'_>, cx: &mut C) -> Result<OnFault, DecodeError> {
    if decoder.datatype()? != Type::Bool {
        return OnFault::decode(decoder, cx);
    }
    Ok(match decoder.bool()? {
        true => OnFault::Continue,
        false => OnFault::Stop,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_as_it_was_written() {
        let bytes = |on_fault: OnFault| {
            let mut bytes = Vec::new();
            encode(&on_fault, &mut Encoder::new(&mut bytes), &mut ()).unwrap();
            bytes
        };
        for on_fault in OnFault::ALL {
            let bytes = bytes(on_fault);
            assert_eq!(
                decode(&mut Decoder::new(&bytes), &mut ()).unwrap(),
                on_fault
            );
        }
        assert_eq!(bytes(OnFault::Stop), [0xf4]);
        assert_eq!(bytes(OnFault::Continue), [0xf5]);
        assert!(decode(&mut Decoder::new(&[0x07]), &mut ()).is_err());
    }
}

//! Words and numbers at the beginning of a text.

/// Digits that surely fit a `u64`.
const DIGITS: usize = 19;

/// Whether a byte ends a word.
#[inline(always)]
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r')
}

/// The word at the beginning of a text.
pub(super) fn word(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|&byte| is_space(byte));
    &text[..end.unwrap_or(text.len())]
}

#[inline(always)]
fn ends_at(text: &[u8], length: usize) -> bool {
    text.get(length).is_none_or(|&byte| is_space(byte))
}

/// The non-negative integer at the beginning of a text and its length; too large ones become
/// `u64::MAX`.
#[inline(always)]
pub(super) fn integer(text: &[u8]) -> Option<(u64, usize)> {
    let (mut value, mut length) = (0_u64, 0);
    while let Some(digit) = text.get(length).map(|byte| byte.wrapping_sub(b'0'))
        && digit < 10
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    let value = if length <= DIGITS { value } else { u64::MAX };
    (length > 0 && ends_at(text, length)).then_some((value, length))
}

/// The number at the beginning of a text, rounded to nearest, and its length.
///
/// The parser finds the end of the number as it reads it. The one of the standard library has to be given the word, and read
/// files with 16 digits an entry at two thirds of the speed.
#[inline(always)]
pub(super) fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    match fast_float2::parse_partial::<f64, _>(text) {
        Ok((value, length)) if ends_at(text, length) => Some((value, length)),
        _ => fortran_decimal(word(text)),
    }
}

/// A number with `D` for the `E` of Fortran's double precision.
#[cold]
fn fortran_decimal(word: &[u8]) -> Option<(f64, usize)> {
    let text = std::str::from_utf8(word).ok()?;
    let value = text.replace(['d', 'D'], "e").parse().ok()?;
    Some((value, word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_end_with_their_word() {
        let numbers = "0 -0 +1.5 1. .5 -1e-5 1e23 1e-400 1e400 nan -Inf 12345678901234567890123";
        for text in numbers.split(' ') {
            let expected: f64 = text.parse().unwrap();
            let (value, length) = decimal(format!("{text} 7").as_bytes()).unwrap();
            let is_same = value.to_bits() == expected.to_bits() || value.is_nan();
            assert!(is_same, "{text}");
            assert_eq!(length, text.len());
        }
        assert_eq!(decimal(b"1.0D+05"), Some((1e5, 7)));
        assert_eq!(decimal(b"12345d-3\n"), Some((12.345, 8)));
    }

    #[test]
    fn words_are_not_numbers() {
        for text in "|-|.|e5|1e|1e+|1.5x|--1|0x10|1,5|1_0|\u{e9}".split('|') {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decimal(b"1\xff"), None);
    }

    #[test]
    fn integers_saturate() {
        assert_eq!(integer(b"12 3"), Some((12, 2)));
        assert_eq!(integer(b"99999999999999999999999").unwrap().0, u64::MAX);
        for text in ["", "-1", "1.0"] {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}

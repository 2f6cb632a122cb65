//! Decimal numbers, fast where that is exact.

/// The powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
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

/// The non-negative integer at the beginning of a text and its length; too large ones become
/// `u64::MAX`.
#[inline(always)]
pub(super) fn integer(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    let mut length = 0;
    while let Some(digit) = digit_at(text, length) {
        value = value.saturating_mul(10).saturating_add(digit);
        length += 1;
    }
    let ends = text.get(length).is_none_or(|&byte| is_space(byte));
    (length > 0 && ends).then_some((value, length))
}

/// The number at the beginning of a text, rounded to nearest, and its length.
#[inline(always)]
pub(super) fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    short_decimal(text).or_else(|| any_decimal(word(text)))
}

/// A number whose digits and power of ten are both exact doubles: one rounding makes it right
/// (Clinger 1990).
#[inline(always)]
fn short_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let mut at = usize::from(negative || text.first() == Some(&b'+'));
    let start = at;
    let mut mantissa = digits(text, &mut at, 0);
    let mut count = at - start;
    let mut exponent = 0;
    if text.get(at) == Some(&b'.') {
        at += 1;
        let start = at;
        mantissa = digits(text, &mut at, mantissa);
        count += at - start;
        exponent = -((at - start) as i64);
    }
    if matches!(text.get(at), Some(b'e' | b'E' | b'd' | b'D')) {
        at += 1;
        exponent += signed(text, &mut at)?;
    }
    let ends = text.get(at).is_none_or(|&byte| is_space(byte));
    let exact = (1..=DIGITS).contains(&count) && mantissa <= 1 << 53;
    let power = POWERS.get(exponent.unsigned_abs() as usize)?;
    if !ends || !exact {
        return None;
    }
    let value = match exponent < 0 {
        true => mantissa as f64 / power,
        false => mantissa as f64 * power,
    };
    Some((if negative { -value } else { value }, at))
}

/// Appends the digits at `at` to `value`; wraps where there are too many.
#[inline(always)]
fn digits(text: &[u8], at: &mut usize, mut value: u64) -> u64 {
    while let Some(digit) = digit_at(text, *at) {
        value = value.wrapping_mul(10).wrapping_add(digit);
        *at += 1;
    }
    value
}

#[inline(always)]
fn digit_at(text: &[u8], at: usize) -> Option<u64> {
    let digit = text.get(at)?.wrapping_sub(b'0');
    (digit < 10).then_some(u64::from(digit))
}

/// A short exponent with or without a sign.
#[inline(always)]
fn signed(text: &[u8], at: &mut usize) -> Option<i64> {
    let negative = text.get(*at) == Some(&b'-');
    *at += usize::from(negative || text.get(*at) == Some(&b'+'));
    let start = *at;
    let value = digits(text, at, 0) as i64;
    (1..=4)
        .contains(&(*at - start))
        .then_some(if negative { -value } else { value })
}

/// Any number, infinities and NaN included; Fortran writes `D` for the `E` of double precision.
#[cold]
fn any_decimal(word: &[u8]) -> Option<(f64, usize)> {
    let text = std::str::from_utf8(word).ok()?;
    let value = text
        .parse()
        .or_else(|_| text.replace(['d', 'D'], "e").parse())
        .ok()?;
    Some((value, word.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        let words = [
            "0",
            "-0",
            "1",
            "+1.5",
            "1.",
            ".5",
            "-1e-5",
            "6.02214076E+23",
            "1e22",
            "1e23",
            "9007199254740993",
            "0.1",
            "123456789012345678901234567890",
            "1e-400",
            "2.2250738585072014e-308",
            "1e400",
            "0.30000000000000004",
            "00001.5000",
            "1e0005",
            "1e00000005",
        ];
        for text in words {
            let expected: f64 = text.parse().unwrap();
            let (value, length) = decimal(format!("{text} 7").as_bytes()).unwrap();
            assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
            assert_eq!(length, text.len());
        }
    }

    #[test]
    fn fortran_exponents_are_read() {
        assert_eq!(decimal(b"1.0D+05"), Some((1e5, 7)));
        assert_eq!(
            decimal(b"12345678901234567890d-3\n").unwrap().0,
            12345678901234567.890
        );
    }

    #[test]
    fn words_are_not_numbers() {
        for text in [
            "", "-", ".", "e5", "1e", "1e+", "1.5x", "--1", "0x10", "1,5", "1_0", "\u{e9}",
        ] {
            assert_eq!(decimal(text.as_bytes()), None, "{text}");
        }
        assert_eq!(decimal(b"1\xff"), None);
    }

    #[test]
    fn integers_saturate() {
        assert_eq!(integer(b"12 3"), Some((12, 2)));
        assert_eq!(integer(b"99999999999999999999999").unwrap().0, u64::MAX);
        assert_eq!(
            (integer(b""), integer(b"-1"), integer(b"1.0")),
            (None, None, None)
        );
    }
}

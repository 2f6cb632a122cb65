//! Decimal numbers, fast where that is exact.

/// The powers of ten that a double holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];
/// The powers of five that fit 64 bits.
const FIVES: [u64; 28] = {
    let mut powers = [1; 28];
    let mut exponent = 1;
    while exponent < powers.len() {
        powers[exponent] = 5 * powers[exponent - 1];
        exponent += 1;
    }
    powers
};
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
    let mut length = 0;
    let value = digits(text, &mut length, 0);
    let ends = text.get(length).is_none_or(|&byte| is_space(byte));
    let value = if length <= DIGITS { value } else { u64::MAX };
    (length > 0 && ends).then_some((value, length))
}

/// The number at the beginning of a text, rounded to nearest, and its length.
#[inline(always)]
pub(super) fn decimal(text: &[u8]) -> Option<(f64, usize)> {
    short_decimal(text).or_else(|| any_decimal(word(text)))
}

/// A number of few digits and a moderate exponent.
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
        mantissa = eights(text, &mut at, mantissa);
        mantissa = digits(text, &mut at, mantissa);
        count += at - start;
        exponent = -((at - start) as i64);
    }
    if matches!(text.get(at), Some(b'e' | b'E' | b'd' | b'D')) {
        at += 1;
        exponent += signed(text, &mut at)?;
    }
    let ends = text.get(at).is_none_or(|&byte| is_space(byte));
    if !ends || !(1..=DIGITS).contains(&count) {
        return None;
    }
    let value = scaled(mantissa, exponent)?;
    Some((if negative { -value } else { value }, at))
}

/// `mantissa 10^exponent`, rounded to nearest; where both parts are exact doubles, one operation
/// does it (Clinger 1990).
#[inline(always)]
fn scaled(mantissa: u64, exponent: i64) -> Option<f64> {
    let power = exponent.unsigned_abs() as usize;
    if mantissa > 1 << 53 || power >= POWERS.len() {
        return scaled_integer(mantissa, exponent < 0, *FIVES.get(power)?, power as i32);
    }
    Some(match exponent < 0 {
        true => mantissa as f64 / POWERS[power],
        false => mantissa as f64 * POWERS[power],
    })
}

/// `mantissa 10^power`, or divided by it, from `five = 5^power`: exact in 128 bits up to the
/// rounding at the end, that of an integer. A remainder shows in its last bit, far below the
/// half of the last place that decides.
fn scaled_integer(mantissa: u64, divide: bool, five: u64, power: i32) -> Option<f64> {
    if mantissa == 0 {
        return Some(0.0);
    }
    if !divide {
        let product = u128::from(mantissa) * u128::from(five);
        return Some(product as f64 * power_of_two(power));
    }
    // With the highest bit set in both, the quotient has 63 or 64 bits.
    let (shift, shift_five) = (mantissa.leading_zeros(), five.leading_zeros());
    let numerator = u128::from(mantissa << shift) << 63;
    let five = u128::from(five << shift_five);
    let quotient = numerator / five;
    let inexact = quotient * five != numerator;
    let quotient = quotient as u64 | u64::from(inexact);
    let exponent = shift_five as i32 - shift as i32 - 63 - power;
    Some(quotient as f64 * power_of_two(exponent))
}

/// `2^exponent`, of those a normal double has.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

/// Appends digits at `at` to `value`, eight at a time.
#[inline(always)]
fn eights(text: &[u8], at: &mut usize, mut value: u64) -> u64 {
    while let Some(eight) = text.get(*at..).and_then(<[u8]>::first_chunk) {
        let Some(digits) = eight_digits(u64::from_le_bytes(*eight)) else {
            break;
        };
        value = value.wrapping_mul(100_000_000).wrapping_add(digits);
        *at += 8;
    }
    value
}

/// The value of eight bytes, the first the lowest, if all are digits: neighbours are joined to
/// numbers of two, four and eight digits.
#[inline(always)]
fn eight_digits(bytes: u64) -> Option<u64> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    let digits = bytes ^ (ONES * u64::from(b'0'));
    // Adding 118 reaches the highest bit from 10 on; other bytes have it set or are above that.
    let beyond = (digits & (ONES * 0x7F)).wrapping_add(ONES * 118) | digits;
    if beyond & (ONES * 0x80) != 0 {
        return None;
    }
    let twos = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (twos * 100 + (twos >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
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
            "0.12345678901234567",
            "-9.8765432109876543e-11",
            "9007199254740993e27",
            "9007199254740993e-27",
            "18014398509481985e-1",
            "0.0000000000000000000",
            "1e-27",
            "1e27",
            "1e-28",
        ];
        words.into_iter().for_each(assert_as_standard);
    }

    fn assert_as_standard(text: &str) {
        let expected: f64 = text.parse().unwrap();
        let (value, length) = decimal(format!("{text} 7").as_bytes()).unwrap();
        assert_eq!(value.to_bits(), expected.to_bits(), "{text}");
        assert_eq!(length, text.len());
    }

    #[test]
    fn many_digits_round_as_the_standard_library_rounds() {
        let mut bits = 1_u64;
        for step in 0..100_000 {
            bits = bits.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(step);
            let number = f64::from_bits(bits >> 12 | (1023 - 60 + step % 120) << 52);
            assert_as_standard(&format!("{number:.16e}"));
            assert_as_standard(&format!(
                "{}e{}",
                bits % 10_u64.pow(18),
                step as i64 % 28 - 14
            ));
            // Halfway between two doubles, and next to it.
            let odd = (1 << 53 | bits >> 11) | 1;
            assert_as_standard(&format!("{odd}"));
            assert_as_standard(&format!("{}e-2", odd.wrapping_mul(25)));
        }
    }

    #[test]
    fn eight_bytes_are_digits_or_not() {
        let read = |text: &[u8; 8]| eight_digits(u64::from_le_bytes(*text));
        assert_eq!(read(b"12345678"), Some(12_345_678));
        assert_eq!(
            (read(b"00000000"), read(b"99999999")),
            (Some(0), Some(99_999_999))
        );
        for byte in (0..=u8::MAX).filter(|byte| !byte.is_ascii_digit()) {
            for place in 0..8 {
                let mut text = *b"12345678";
                text[place] = byte;
                assert_eq!(read(&text), None, "{byte} at {place}");
            }
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

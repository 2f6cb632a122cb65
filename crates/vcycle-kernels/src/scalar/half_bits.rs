//! Half precision to and from single precision without branches, so that loops over it
//! vectorise. Bit for bit what the processor's own instructions do, NaNs included.

use super::{bf16, f16};

/// Exact. A NaN keeps its payload and becomes quiet.
#[inline(always)]
pub fn f16_to_f32(value: f16) -> f32 {
    let bits = u32::from(value.to_bits());
    let (sign, magnitude) = ((bits & 0x8000) << 16, bits & 0x7FFF);
    let shifted = magnitude << 13;
    // A subnormal as 2^-14 times (1 + its fraction), less that 1.
    let small = f32::from_bits(shifted + (113 << 23)) - f32::from_bits(113 << 23);
    let normal = shifted + (112 << 23);
    let quiet = u32::from(magnitude > 0x7C00) << 22;
    let special = shifted | 0x7F80_0000 | quiet;
    let finite = if magnitude < 0x0400 {
        small.to_bits()
    } else {
        normal
    };
    f32::from_bits(sign | if magnitude >= 0x7C00 { special } else { finite })
}

/// To nearest, ties to even. A NaN keeps the upper bits of its payload and becomes quiet.
#[inline(always)]
pub fn f32_to_f16(value: f32) -> f16 {
    let bits = value.to_bits();
    let (sign, magnitude) = ((bits >> 16) & 0x8000, bits & 0x7FFF_FFFF);
    // Next to 1/2 the last place of a single is that of a subnormal half: the addition rounds.
    let small = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0.5_f32.to_bits());
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xFFF + odd) >> 13;
    let nan = 0x7E00 | ((magnitude >> 13) & 0x3FF);
    let finite = if magnitude < 113 << 23 { small } else { normal };
    let large = if magnitude > 0x7F80_0000 { nan } else { 0x7C00 };
    // From 65520 on, halfway to 65536, the nearest half is infinity.
    let rounded = if magnitude >= 0x477F_F000 {
        large
    } else {
        finite
    };
    f16::from_bits((sign | rounded) as u16)
}

/// Exact. A NaN becomes quiet.
#[inline(always)]
pub(super) fn bf16_to_f32(value: bf16) -> f32 {
    let bits = u32::from(value.to_bits()) << 16;
    let quiet = u32::from(bits & 0x7FFF_FFFF > 0x7F80_0000) << 22;
    f32::from_bits(bits | quiet)
}

/// To nearest, ties to even. A NaN keeps the upper bits of its payload and becomes quiet.
#[inline(always)]
pub(super) fn f32_to_bf16(value: f32) -> bf16 {
    let bits = value.to_bits();
    let nearest = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x0040;
    let is_nan = bits & 0x7FFF_FFFF > 0x7F80_0000;
    bf16::from_bits(if is_nan { nan } else { nearest } as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Around every boundary of every half: the places where rounding could go wrong.
    fn telling_floats() -> impl Iterator<Item = f32> {
        let near = |bits: u32| (-2..=2).map(move |step| bits.wrapping_add_signed(step));
        let halves = (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32().to_bits());
        let edges = halves.flat_map(move |bits| near(bits).chain(near(bits.wrapping_add(0x1000))));
        let upper = (0..=u16::MAX).map(|bits| u32::from(bits) << 16);
        let brains = upper.flat_map(move |bits| near(bits).chain(near(bits | 0x8000)));
        let scattered = (0..200_000_u32).map(|index| index.wrapping_mul(0x9E37_79B9));
        edges.chain(brains).chain(scattered).map(f32::from_bits)
    }

    #[test]
    fn every_half_becomes_the_single_it_is() {
        for bits in 0..=u16::MAX {
            let (half, brain) = (f16::from_bits(bits), bf16::from_bits(bits));
            assert_eq!(
                f16_to_f32(half).to_bits(),
                half.to_f32().to_bits(),
                "{bits:x}"
            );
            assert_eq!(
                bf16_to_f32(brain).to_bits(),
                brain.to_f32().to_bits(),
                "{bits:x}"
            );
        }
    }

    #[test]
    fn singles_round_as_the_half_crate_rounds() {
        for value in telling_floats() {
            let (half, brain) = (f16::from_f32(value), bf16::from_f32(value));
            assert_eq!(f32_to_f16(value).to_bits(), half.to_bits(), "{value:e}");
            assert_eq!(f32_to_bf16(value).to_bits(), brain.to_bits(), "{value:e}");
        }
    }
}

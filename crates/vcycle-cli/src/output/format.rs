//! Numbers as people read them.

use std::time::Duration;

use indicatif::HumanCount;

/// `1234567` as `1,234,567`.
pub fn count(value: usize) -> String {
    HumanCount(value as u64).to_string()
}

/// Bytes in the unit that leaves one to three digits before the point.
pub fn bytes(value: usize) -> String {
    let scaled = |power: i32| value as f64 / 1000_f64.powi(power);
    let units = ["kB", "MB", "GB", "TB"].into_iter().zip(1..);
    let fitting = units.take_while(|&(_, power)| scaled(power) >= 1.0);
    match fitting.last() {
        None => format!("{value} B"),
        Some((unit, power)) => format!("{:.1} {unit}", scaled(power)),
    }
}

/// A time in s, ms or µs.
pub fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 {
        format!("{seconds:.2} s")
    } else if seconds >= 1e-3 {
        format!("{:.1} ms", seconds * 1e3)
    } else {
        format!("{:.0} µs", seconds * 1e6)
    }
}

/// A time given in seconds.
pub fn seconds(value: f64) -> String {
    duration(Duration::from_secs_f64(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_and_scaled() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(12_345_678), "12.3 MB");
        assert_eq!(duration(Duration::from_micros(1500)), "1.5 ms");
    }
}

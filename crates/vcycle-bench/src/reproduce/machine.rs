//! What machine it is, and what day.

use std::time::{SystemTime, UNIX_EPOCH};

/// The processor and how many of its cores there are, and the device.
pub(super) fn name(device: &str) -> String {
    match vcycle_gpu::Device::open(device) {
        Ok(opened) if device != "cpu" => opened.properties().model.clone(),
        _ => processor(),
    }
}

fn processor() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find(|line| line.starts_with("model name"));
    let model = named.and_then(|line| line.split(':').nth(1));
    let model = model.map_or(std::env::consts::ARCH, str::trim);
    format!("{cores} cores of {model}")
}

/// The day in Greenwich, as `2026-11-17`.
pub(super) fn today() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    date(since.map_or(0, |since| since.as_secs() / 86_400))
}

/// The date of a day after 1970-01-01, by counting years of 365 or 366 days.
fn date(mut days: u64) -> String {
    let is_leap =
        |year: u64| year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400);
    let mut year = 1970;
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(20_773), "2026-11-16");
        assert_eq!(date(20_818), "2026-12-31");
    }
}

//! Sizes and times as manifests write them.

use std::time::Duration;

use super::{KIB, MIB};

/// Reads `64 MiB`, `512 KiB` or `1 GiB`.
pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    let units = [("KiB", KIB), ("MiB", MIB), ("GiB", 1024 * MIB)];
    parse_number(text, &units).ok_or_else(|| format!("`{text}` is not a size: write it like `64 MiB`"))
}

/// Reads `60 s`, `500 ms` or `2 min`.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let units = [("ms", 1), ("s", 1000), ("min", 60_000)];
    let milliseconds = parse_number(text, &units);
    milliseconds.map(Duration::from_millis).ok_or_else(|| format!("`{text}` is not a time: write it like `60 s`"))
}

fn parse_number(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// `value` as a manifest writes it, for people.
pub fn show_bytes(value: u64) -> String {
    if value.is_multiple_of(MIB) { format!("{} MiB", value / MIB) } else { format!("{value} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_read() {
        assert_eq!(parse_bytes("64 MiB"), Ok(64 * MIB));
        assert_eq!(parse_bytes("512KiB"), Ok(512 * KIB));
        assert_eq!(parse_duration("60 s"), Ok(Duration::from_secs(60)));
        assert_eq!(parse_duration("250 ms"), Ok(Duration::from_millis(250)));
        for bad in ["", "64", "MiB", "64 MB", "-1 MiB", "1.5 GiB", "99999999999999999999 GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_duration("1 h").unwrap_err(), "`1 h` is not a time: write it like `60 s`");
    }
}

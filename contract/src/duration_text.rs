//! Durations as people write them in configuration files: `10s`, `2m`, `500ms`.
//!
//! For `#[serde(with = "dispatch_contract::duration_text")]` on a [`Duration`].

use std::time::Duration;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serializer, de, ser};

/// Writes a duration as such a text.
pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    let signed = SignedDuration::try_from(*duration).map_err(ser::Error::custom)?;
    serializer.collect_str(&format_args!("{signed:#}"))
}

/// Reads a duration from such a text.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(de::Error::custom)
}

/// The duration that a text means; negative ones and those without a unit are refused.
pub fn parse(text: &str) -> Result<Duration, String> {
    let refused = || format!("`{text}` is not a duration; expected one such as 10s or 2m");
    let signed: SignedDuration = text.parse().map_err(|_| refused())?;
    Duration::try_from(signed).map_err(|_| refused())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::seconds("10s", Ok(Duration::from_secs(10)))]
    #[case::minutes("2m", Ok(Duration::from_mins(2)))]
    #[case::milliseconds("500ms", Ok(Duration::from_millis(500)))]
    #[case::composed("1m 30s", Ok(Duration::from_secs(90)))]
    #[case::no_unit("10", Err(()))]
    #[case::negative("-10s", Err(()))]
    #[case::empty("", Err(()))]
    fn a_duration_is_a_number_with_a_unit(
        #[case] text: &str,
        #[case] expected: Result<Duration, ()>,
    ) {
        assert_eq!(parse(text).map_err(|_| ()), expected);
    }
}

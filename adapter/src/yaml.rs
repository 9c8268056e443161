//! Reading YAML that people write, JSON included.

use serde::de::DeserializeOwned;

/// Reads plain YAML: no anchors, no bare words that become booleans, no numbers that lose digits.
/// An error says line and column.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        leading_zero_numbers_as_strings: true,
        underscored_numbers_as_strings: true,
        budget: serde_saphyr::budget! { max_aliases: 0, max_anchors: 0, max_depth: 32 },
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn words_and_numbers_stay_what_people_wrote() {
        let read: Value = read("{a: no, b: 012, c: true, d: 12}").unwrap();
        assert_eq!(read, json!({"a": "no", "b": "012", "c": true, "d": 12}));
    }
}

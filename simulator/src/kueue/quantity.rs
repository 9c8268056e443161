//! Quantities of resources, as Kueue counts them.

use serde_json::Value;

use crate::quantity;

/// A quantity, in thousandths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Quantity(i128);

/// Suffixes, and what they multiply thousandths by.
const DECIMAL: [(&str, i128); 7] = [
    ("E", 10_i128.pow(21)),
    ("P", 10_i128.pow(18)),
    ("T", 10_i128.pow(15)),
    ("G", 10_i128.pow(12)),
    ("M", 10_i128.pow(9)),
    ("k", 10_i128.pow(6)),
    ("", 1000),
];

const BINARY: [(&str, i128); 6] = [
    ("Ei", 1000 << 60),
    ("Pi", 1000 << 50),
    ("Ti", 1000 << 40),
    ("Gi", 1000 << 30),
    ("Mi", 1000 << 20),
    ("Ki", 1000 << 10),
];

impl Quantity {
    /// Of an object: a text or a number. None where it is no quantity, or finer than thousandths.
    pub(super) fn of(value: &Value) -> Option<Self> {
        quantity::thousandths(value).map(Self)
    }

    /// As Kueue writes it for a resource (Kueue `pkg/resources`, `ResourceQuantityString`).
    pub(super) fn text(self, resource: &str) -> String {
        let binary = matches!(resource, "memory" | "ephemeral-storage")
            || resource.starts_with("hugepages-");
        let scales: &[(&str, i128)] = if binary { &BINARY } else { &DECIMAL };
        let fits = |(_, scale): &&(&str, i128)| self.0 != 0 && self.0 % scale == 0;
        match scales.iter().find(fits) {
            Some((suffix, scale)) => format!("{}{suffix}", self.0 / scale),
            None if self.0 % 1000 == 0 => (self.0 / 1000).to_string(),
            None => format!("{}m", self.0),
        }
    }

    /// So many times as much.
    pub(super) fn times(self, count: i64) -> Self {
        Self(self.0 * i128::from(count))
    }

    /// This divided by so many, rounded down.
    pub(super) fn divided_by(self, count: i64) -> Self {
        Self(if count == 0 { 0 } else { self.0 / i128::from(count) })
    }
}

impl std::ops::Add for Quantity {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl std::ops::Sub for Quantity {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("1", "cpu", "1")]
    #[case("1000m", "cpu", "1")]
    #[case("1.5", "cpu", "1500m")]
    #[case("1e3", "cpu", "1k")]
    #[case("1Ki", "cpu", "1024")]
    #[case("1024Mi", "memory", "1Gi")]
    #[case("1000", "memory", "1000")]
    #[case("0", "cpu", "0")]
    fn a_quantity_is_written_by_its_resource(
        #[case] text: &str,
        #[case] resource: &str,
        #[case] written: &str,
    ) {
        assert_eq!(Quantity::of(&json!(text)).unwrap().text(resource), written);
    }
}

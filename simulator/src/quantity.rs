//! Quantities of resources, as Kubernetes writes them.

use serde_json::Value;

/// Decimal suffixes, smallest first, each a thousand times the last.
const DECIMAL: [&str; 8] = ["m", "", "k", "M", "G", "T", "P", "E"];

/// Binary suffixes, smallest first, each 1024 times the last.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// A quantity in thousandths, of an object's text or number. None where it is no quantity, or finer.
pub fn thousandths(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text).map(|(amount, _)| amount),
        Value::Number(number) => parse(&number.to_string()).map(|(amount, _)| amount),
        _ => None,
    }
}

/// Writes a quantity as every Go type writes it when it is decoded and encoded again: `1000m` as `1`,
/// `1024Mi` as `1Gi` (Kubernetes `apimachinery/pkg/api/resource`, `Quantity.CanonicalizeBytes`).
/// None where it is no quantity.
pub fn canonical(value: &Value) -> Option<String> {
    let (amount, binary) = match value {
        Value::String(text) => parse(text)?,
        Value::Number(number) => parse(&number.to_string())?,
        _ => return None,
    };
    if binary && amount % 1000 == 0 {
        return Some(reduced(amount / 1000, 1024, &BINARY));
    }
    Some(reduced(amount, 1000, &DECIMAL))
}

/// Writes every quantity of `requests` and `limits` in the canonical way.
pub fn canonicalize(resources: &mut Value) {
    for part in ["requests", "limits"] {
        let Some(all) = resources.get_mut(part).and_then(Value::as_object_mut) else { continue };
        for quantity in all.values_mut() {
            if let Some(text) = canonical(quantity) {
                *quantity = text.into();
            }
        }
    }
}

fn reduced(mut amount: i128, step: i128, suffixes: &[&str]) -> String {
    let mut at = 0;
    while at + 1 < suffixes.len() && amount != 0 && amount % step == 0 {
        amount /= step;
        at += 1;
    }
    if amount == 0 { "0".to_owned() } else { format!("{amount}{}", suffixes[at]) }
}

/// In thousandths, and whether its suffix is binary.
fn parse(text: &str) -> Option<(i128, bool)> {
    let end = text
        .find(|it: char| !(it.is_ascii_digit() || matches!(it, '.' | '+' | '-')))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let (scale, binary) = scale(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let parts = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = digits.checked_mul(scale)?;
    (scaled % parts == 0).then_some((scaled / parts, binary))
}

fn scale(suffix: &str) -> Option<(i128, bool)> {
    let power = |base: i128, at: usize| base.checked_pow(u32::try_from(at).ok()?);
    if let Some(at) = DECIMAL.iter().position(|it| *it == suffix) {
        return Some((power(1000, at)?, false));
    }
    if let Some(at) = BINARY.iter().position(|it| *it == suffix) {
        return Some((power(1024, at)?.checked_mul(1000)?, true));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    Some((10_i128.checked_pow(exponent)?.checked_mul(1000)?, false))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case("1000m", Some("1"))]
    #[case("1.5", Some("1500m"))]
    #[case("2", Some("2"))]
    #[case("1024Mi", Some("1Gi"))]
    #[case("1e3", Some("1k"))]
    #[case("0", Some("0"))]
    #[case("x", None)]
    #[case("", None)]
    fn a_quantity_is_written_in_one_way(#[case] text: &str, #[case] written: Option<&str>) {
        assert_eq!(canonical(&json!(text)).as_deref(), written);
    }

    #[test]
    fn numbers_are_quantities_too() {
        assert_eq!(thousandths(&json!(2)), Some(2000));
        assert_eq!(thousandths(&json!("1Ki")), Some(1_024_000));
        let mut resources = json!({"requests": {"cpu": 2, "memory": "2048Ki"}});
        canonicalize(&mut resources);
        assert_eq!(resources, json!({"requests": {"cpu": "2", "memory": "2Mi"}}));
    }
}

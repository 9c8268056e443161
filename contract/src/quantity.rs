//! Quantities of resources, compared by value.
//!
//! The webhooks of Kueue and Trainer decode a `TrainJob` and encode it again, and what comes back
//! has the canonical text of every quantity: `1` for `1000m`, `1Gi` for `1024Mi`, a text for a
//! number. That is no change.

use serde_json::Value;

/// Kubernetes keeps nothing finer than this: smaller quantities are rounded up.
const NANO: i32 = -9;

/// Whether both are quantities, of the same value.
pub fn equal(one: &Value, other: &Value) -> bool {
    match (nanos(one), nanos(other)) {
        (Some(one), Some(other)) => one == other,
        _ => false,
    }
}

/// The value in units of 10^-9, rounded up as Kubernetes does. `None` for what is no quantity, or
/// too great to be one.
fn nanos(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => parse(text),
        Value::Number(number) => parse(&number.to_string()),
        _ => None,
    }
}

fn parse(text: &str) -> Option<i128> {
    let (negative, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let end = unsigned
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (binary, decimal) = scale(suffix)?;
    let exponent = decimal - i32::try_from(fraction.len()).ok()? - NANO;
    let scaled = digits.checked_mul(1_i128.checked_shl(binary)?)?;
    let magnitude = if exponent >= 0 {
        scaled.checked_mul(10_i128.checked_pow(exponent.unsigned_abs())?)?
    } else {
        let divisor = 10_i128.checked_pow(exponent.unsigned_abs())?;
        (scaled + divisor - 1) / divisor
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// What a suffix stands for: a power of two, and a power of ten.
fn scale(suffix: &str) -> Option<(u32, i32)> {
    Some(match suffix {
        "n" => (0, -9),
        "u" => (0, -6),
        "m" => (0, -3),
        "" => (0, 0),
        "k" => (0, 3),
        "M" => (0, 6),
        "G" => (0, 9),
        "T" => (0, 12),
        "P" => (0, 15),
        "E" => (0, 18),
        "Ki" => (10, 0),
        "Mi" => (20, 0),
        "Gi" => (30, 0),
        "Ti" => (40, 0),
        "Pi" => (50, 0),
        "Ei" => (60, 0),
        _ => (0, suffix.strip_prefix(['e', 'E'])?.parse().ok().filter(|e: &i32| e.abs() <= 18)?),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case::thousandths(json!("1000m"), json!("1"))]
    #[case::a_number(json!(1), json!("1"))]
    #[case::a_fraction(json!(0.5), json!("500m"))]
    #[case::binary(json!("1024Mi"), json!("1Gi"))]
    #[case::binary_fraction(json!("0.5Gi"), json!("512Mi"))]
    #[case::decimal(json!("1000k"), json!("1M"))]
    #[case::exponent(json!("1e3"), json!("1k"))]
    #[case::plus(json!("+1"), json!("1"))]
    #[case::trailing_zeros(json!("1.500"), json!("1500m"))]
    #[case::rounded_up(json!("0.1n"), json!("1n"))]
    #[case::greatest(json!("8Ei"), json!("9223372036854775808"))]
    fn equal_quantities_are_written_in_several_ways(#[case] one: Value, #[case] other: Value) {
        assert!(equal(&one, &other));
    }

    #[rstest]
    #[case::twice(json!("1"), json!("2"))]
    #[case::decimal_and_binary(json!("1G"), json!("1Gi"))]
    #[case::sign(json!("-1"), json!("1"))]
    #[case::no_quantity(json!("x"), json!("x"))]
    #[case::empty(json!(""), json!(""))]
    #[case::two_points(json!("1.2.3"), json!("1.2.3"))]
    #[case::list(json!([1]), json!([1]))]
    fn other_values_are_not_equal_quantities(#[case] one: Value, #[case] other: Value) {
        assert!(!equal(&one, &other));
    }
}

//! Numbers in flags that are written as constant expressions, such as `10/3` or `2*pi`.

use odec_lang::source::Source;
use odec_lang::{Overrides, check};

/// Longest expression in a flag, in bytes.
const LONGEST: usize = 200;

/// The value of a number or a constant expression; `None` if the text is neither, or if its value is not defined. An
/// expression means what it means in a model, so a small model computes it.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim().replace('−', "-");
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    let inside = |c: char| c.is_ascii_alphanumeric() || "+-*/^()., ".contains(c);
    // an expression contains a digit or the name of a number, and at least one operator or call
    if text.len() > LONGEST || !text.chars().all(inside) || !text.contains(['+', '-', '*', '/', '^', '(']) {
        return None;
    }
    let model = check(&Source::new("flag", format!("const flag_ = ({text})\nstate x_ = 0\nx_' = flag_\n"))).model?;
    let value = *model.values(&Overrides::default()).ok()?.constants.first()?;
    (!value.is_nan()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn expressions_have_their_values_and_other_texts_none() {
        let cases = [("10/3", 10.0 / 3.0), ("-2^2", -4.0), ("1e-3*2", 2e-3), ("sqrt(2)", 2f64.sqrt()), (" 5 ", 5.0)];
        for (text, value) in cases {
            assert_eq!(number(text), Some(value), "{text}");
        }
        assert_eq!(number("2*pi"), Some(2.0 * std::f64::consts::PI));
        for text in ["abc", "", "k/2", "1;2", "1)\nstate y = (1", "0/0", "10/", "f(2)", "1/2 [mV]"] {
            assert_eq!(number(text), None, "{text}");
        }
        assert_eq!(number("1/0"), Some(f64::INFINITY));
    }
}

//! Writes numbers, strings and comments as C literals without loss.

/// A number as text that reads back with the same bits, except the payload of a NaN; negative numbers are in
/// parentheses.
pub(crate) fn number(value: f64) -> String {
    let text = if value.is_nan() {
        "(double)NAN".to_string()
    } else if value.is_infinite() {
        "(double)INFINITY".to_string()
    } else {
        // The shortest decimal that reads back as this number.
        format!("{:?}", value.abs())
    };
    if value.is_sign_negative() && !value.is_nan() { format!("(-{text})") } else { text }
}

/// A quoted string in ASCII: other bytes are octal, and so are question marks, which could form trigraphs.
pub(crate) fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' | 0..=31 | 127..=255 => literal.push_str(&format!("\\{byte:03o}")),
            _ => literal.push(char::from(byte)),
        }
    }
    literal.push('"');
    literal
}

/// Text without the start or end of a comment.
pub(crate) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_alphanumeric() || "_'.,()+- ".contains(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back() {
        for x in [0.0, -0.0, 1.0, 0.1, -1e-5, 5e-324, f64::MAX, f64::MIN_POSITIVE, 1e22, 123456789.125] {
            let text = number(x);
            let bare = text.trim_matches(['(', ')']);
            assert_eq!(bare.parse::<f64>().unwrap().to_bits(), x.to_bits(), "{text}");
            assert!(bare.contains(['.', 'e']), "{text} would be an integer");
        }
        assert_eq!(number(f64::NEG_INFINITY), "(-(double)INFINITY)");
        assert_eq!(number(-f64::NAN), "(double)NAN");
    }

    #[test]
    fn strings_are_ascii_and_closed() {
        assert_eq!(string("x'"), "\"x'\"");
        assert_eq!(string("Ω \"q\" \\ ??="), "\"\\316\\251 \\042q\\042 \\134 \\077\\077=\"");
        assert_eq!(comment("a */ /* b"), "a __ __ b");
    }
}

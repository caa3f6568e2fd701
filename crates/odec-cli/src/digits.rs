//! Numbers as text. Small models spend more time here than in their steps, so nothing is formatted twice.

/// Up to this length a number is written without an exponent.
const SHORT: usize = 4;
/// Longest text of a number that [`zmij`] writes.
const LONGEST: usize = 24;

/// The shortest digits that read back as the same number, with an exponent if that is shorter.
pub fn number(out: &mut Vec<u8>, v: f64) {
    if v.is_nan() {
        return out.extend_from_slice(b"nan");
    }
    if v.is_sign_negative() {
        out.push(b'-');
    }
    if v.is_infinite() {
        return out.extend_from_slice(b"inf");
    }
    let sign = usize::from(v.is_sign_negative());
    let mut buffer = zmij::Buffer::new();
    let Decimal { digits, count, point } = Decimal::of(buffer.format_finite(v.abs()));
    let digits = &digits[..count];
    let exponent = point - 1;
    let plain = match usize::try_from(point) {
        Ok(whole) if whole > 0 => {
            if whole < count {
                count + 1
            } else {
                whole
            }
        }
        _ => 2 + usize::try_from(-point).unwrap_or(0) + count,
    };
    let scientific = count + usize::from(count > 1) + 1 + length(exponent);
    if sign + plain <= SHORT || plain <= scientific {
        write_plain(out, digits, point);
    } else {
        out.push(digits[0]);
        if count > 1 {
            out.push(b'.');
            out.extend_from_slice(&digits[1..]);
        }
        out.push(b'e');
        if exponent < 0 {
            out.push(b'-');
        }
        let size = exponent.unsigned_abs();
        for unit in [100, 10, 1] {
            if size >= unit || unit == 1 {
                out.push(b'0' + (size / unit % 10) as u8);
            }
        }
    }
}

/// Number of characters of an exponent.
fn length(exponent: i32) -> usize {
    let size = exponent.unsigned_abs();
    usize::from(exponent < 0) + 1 + usize::from(size >= 10) + usize::from(size >= 100)
}

/// Writes digits without an exponent.
fn write_plain(out: &mut Vec<u8>, digits: &[u8], point: i32) {
    let zeros = |out: &mut Vec<u8>, count: usize| out.resize(out.len() + count, b'0');
    match usize::try_from(point) {
        Ok(whole) if whole >= digits.len() => {
            out.extend_from_slice(digits);
            zeros(out, whole - digits.len());
        }
        Ok(whole) if whole > 0 => {
            out.extend_from_slice(&digits[..whole]);
            out.push(b'.');
            out.extend_from_slice(&digits[whole..]);
        }
        _ => {
            out.extend_from_slice(b"0.");
            zeros(out, usize::try_from(-point).unwrap_or(0));
            out.extend_from_slice(digits);
        }
    }
}

/// A nonnegative number: 0.d1 d2 d3 ... times 10 to the power `point`, without leading or trailing zeros; 0 has the
/// digit 0.
struct Decimal {
    digits: [u8; LONGEST],
    count: usize,
    point: i32,
}

impl Decimal {
    /// Parses `12.5`, `0.125`, `1.25e-7`.
    fn of(text: &str) -> Decimal {
        let mut decimal = Decimal { digits: [b'0'; LONGEST], count: 0, point: 0 };
        let (mut whole, mut exponent) = (true, 0);
        for (k, &c) in text.as_bytes().iter().enumerate() {
            match c {
                b'.' => whole = false,
                b'e' => {
                    exponent = text[k + 1..].parse().unwrap_or(0);
                    break;
                }
                _ => {
                    let leads = c == b'0' && decimal.count == 0;
                    if !leads {
                        decimal.digits[decimal.count] = c;
                        decimal.count += 1;
                    }
                    decimal.point += match (whole, leads) {
                        (true, false) => 1,
                        (false, true) => -1,
                        _ => 0,
                    };
                }
            }
        }
        if decimal.count == 0 {
            return Decimal { count: 1, point: 1, ..decimal };
        }
        while decimal.digits[decimal.count - 1] == b'0' {
            decimal.count -= 1;
        }
        decimal.point += exponent;
        decimal
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// Reference from the standard library: the shorter of both notations.
    fn expected(v: f64) -> Vec<u8> {
        if v.is_nan() {
            return b"nan".to_vec();
        }
        let (mut plain, mut scientific) = (vec![], vec![]);
        write!(plain, "{v}").expect("a vector takes everything");
        write!(scientific, "{v:e}").expect("a vector takes everything");
        let longer = plain.len() > SHORT && v.is_finite() && scientific.len() < plain.len();
        if longer { scientific } else { plain }
    }

    fn compare(v: f64) {
        let mut out = b"x".to_vec();
        number(&mut out, v);
        let (found, expected) = (String::from_utf8_lossy(&out[1..]).into_owned(), expected(v));
        let expected = String::from_utf8_lossy(&expected);
        // halfway between two neighbours, one rounds the last digit to even and the other up
        let differ = |a: &str, b: &str| a.bytes().zip(b.bytes()).filter(|(a, b)| a != b).count();
        assert!(found.len() == expected.len() && differ(&found, &expected) <= 1, "{found}, not {expected}");
        assert!(v.is_nan() || found.parse::<f64>().expect("a number").to_bits() == v.to_bits());
    }

    #[test]
    fn the_text_of_a_number_is_that_of_the_standard_library() {
        let edges =
            [0.0, 1.0, 10.0, 0.1, 0.25, 12.5, 100.0, 0.01, 0.001, 1e4, 12345.0, 1e15, 1e16, 1e17, 123e15, 1e21, 1e22];
        let odd =
            [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE, 5e-324, 1e100, 1e-9, 1e-10, 1.5e-10, 1e-5, 9.5e-5];
        for v in edges.into_iter().chain(odd) {
            compare(v);
            compare(-v);
        }
        let mut bits = 0x9E37_79B9_7F4A_7C15_u64;
        for k in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            compare(f64::from_bits(bits ^ (bits >> 32)));
            // few digits, around the length at which an exponent is shorter
            let few = (bits >> 40) as f64 * 10f64.powi((bits % 40) as i32 - 20);
            compare(few);
            compare((few * 1e3).round() / 1e3);
            compare(f64::from(k) / 100.0);
        }
    }
}

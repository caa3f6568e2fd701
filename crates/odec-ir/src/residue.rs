//! Numbers modulo a prime, whose arithmetic has no rounding: two formulas that agree for random residues are equal.
//!
//! Arithmetic is exact; numbers become the fractions that their digits represent. A formula that is zero for a random
//! residue is zero everywhere, except with a probability of its degree over the prime: J. T. Schwartz, J. ACM 27
//! (1980) 701. Other functions give a residue that depends on their name and arguments, so that equal terms stay
//! equal. The residue of a difference decides which quantity is larger.

use crate::broken;
use crate::builtin::Builtin;
use crate::number::Number;

/// The prime: 2^61 - 1.
pub const PRIME: u64 = (1 << 61) - 1;
/// Significant digits of a decimal number; later digits count as rounding errors.
const DIGITS: usize = 15;
/// Units in the last place by which a number may have been rounded.
const ROUNDING: f64 = 2.0;
/// Largest denominator of a fraction that replaces a number with more digits.
const DENOMINATOR: u64 = 100_000;
/// Powers of two between the largest product of numerator and denominator and the prime. A residue that represents no
/// such fraction is mistaken for one with a probability of about 2^-`MARGIN`.
const MARGIN: u32 = 10;
/// Largest integer exponent of a computed power.
const EXPONENT: f64 = 1e6;
/// Functions with f(-x) = -f(x), and with f(-x) = f(x).
const ODD: [&str; 10] = ["sin", "tan", "asin", "atan", "sinh", "tanh", "asinh", "atanh", "erf", "cbrt"];
const EVEN: [&str; 2] = ["cos", "cosh"];

/// A number modulo the prime.
#[derive(Clone, Copy, Debug)]
pub struct Residue {
    /// `None`: undefined.
    residue: Option<u64>,
    /// The value; NaN if it depends on drawn quantities.
    fixed: f64,
}

impl Residue {
    /// A quantity with an arbitrary value, drawn from `seed`.
    pub fn drawn(seed: u64) -> Residue {
        Residue::of(scatter(seed))
    }

    fn of(residue: u64) -> Residue {
        Residue { residue: Some(residue % PRIME), fixed: f64::NAN }
    }

    /// The residue; `None` if undefined.
    pub fn get(self) -> Option<u64> {
        self.residue
    }

    fn truth(holds: bool) -> Residue {
        Residue::constant(f64::from(u8::from(holds)))
    }

    fn is_fixed(self) -> bool {
        !self.fixed.is_nan()
    }

    fn is_true(self) -> bool {
        if self.is_fixed() { self.fixed != 0.0 } else { self.residue != Some(0) }
    }

    /// True if a is larger than b: by value if both are fixed.
    fn exceeds(a: Residue, b: Residue) -> Option<bool> {
        if a.is_fixed() && b.is_fixed() {
            return Some(a.fixed > b.fixed);
        }
        match (a.fixed.is_infinite(), b.fixed.is_infinite()) {
            (true, _) => Some(a.fixed > 0.0),
            (_, true) => Some(b.fixed < 0.0),
            _ => Some((1..=PRIME / 2).contains(&subtract(a.residue?, b.residue?))),
        }
    }
}

/// Products and powers modulo the prime.
pub fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(PRIME)) as u64
}

/// The difference.
pub fn subtract(a: u64, b: u64) -> u64 {
    (a + PRIME - b) % PRIME
}

fn power(mut base: u64, mut exponent: u64) -> u64 {
    let mut product = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = multiply(product, base);
        }
        base = multiply(base, base);
        exponent >>= 1;
    }
    product
}

/// The reciprocal; 0 has none.
pub fn invert(a: u64) -> Option<u64> {
    (a != 0).then(|| power(a, PRIME - 2))
}

/// The reduced fraction that a residue represents: the one with the smallest product of numerator and denominator, by
/// Euclid's algorithm (P. S. Wang, SYMSAC 1981, p. 212). `None` if that product is not far below the prime.
pub fn fraction(residue: u64) -> Option<(i64, i64)> {
    let (mut r, mut s) = ((i128::from(PRIME), i128::from(residue)), (0i128, 1i128));
    let mut best: Option<(i128, i128)> = None;
    while r.1 != 0 {
        if best.is_none_or(|(n, d)| (r.1 * s.1).abs() < (n * d).abs()) {
            best = Some((r.1, s.1));
        }
        let quotient = r.0 / r.1;
        r = (r.1, r.0 - quotient * r.1);
        s = (s.1, s.0 - quotient * s.1);
    }
    let (n, d) = best.unwrap_or((0, 1));
    ((n * d).unsigned_abs() < u128::from(PRIME >> MARGIN)).then_some(())?;
    let sign = if d < 0 { -1 } else { 1 };
    Some((i64::try_from(sign * n).ok()?, i64::try_from(d.abs()).ok()?))
}

/// The residue of a number: from its decimal digits, or from the simple fraction that it was rounded from.
fn exactly(x: f64) -> u64 {
    let signed = |residue: u64| if x < 0.0 { subtract(0, residue) } else { residue };
    let x_abs = x.abs();
    let near = |y: f64| (y - x_abs).abs() <= ROUNDING * f64::EPSILON * x_abs;
    let shortest = format!("{x_abs:e}");
    let digits = shortest.chars().take_while(|c| *c != 'e').filter(char::is_ascii_digit).count();
    if digits > DIGITS {
        let rounded = format!("{x_abs:.*e}", DIGITS - 1);
        if rounded.parse().is_ok_and(near) {
            return signed(decimal(&rounded));
        }
        if let Some((n, d)) = simple(x_abs).filter(|(n, d)| near(*n as f64 / *d as f64)) {
            return signed(multiply(
                n % PRIME,
                invert(d).unwrap_or_else(|| broken("a denominator that the prime divides")),
            ));
        }
    }
    signed(decimal(&shortest))
}

/// `1.25e-3` as a residue.
fn decimal(text: &str) -> u64 {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let number: u64 =
        format!("{whole}{part}").parse().unwrap_or_else(|_| broken("a number with other digits than its own"));
    let exponent =
        exponent.parse::<i64>().unwrap_or_else(|_| broken("an exponent that is no integer")) - part.len() as i64;
    let ten = power(10, exponent.unsigned_abs());
    let inverse = || invert(ten).unwrap_or_else(|| broken("a power of ten that the prime divides"));
    multiply(number % PRIME, if exponent < 0 { inverse() } else { ten })
}

/// The convergent of the continued fraction of x with the largest denominator that is permitted.
fn simple(x: f64) -> Option<(u64, u64)> {
    let (mut n, mut d) = ((1u64, x.floor() as u64), (0u64, 1u64));
    let mut rest = x - x.floor();
    while rest > 1e-9 {
        let next = 1.0 / rest;
        let quotient = next.floor() as u64;
        rest = next - next.floor();
        let denominator = quotient.checked_mul(d.1)?.checked_add(d.0)?;
        if denominator > DENOMINATOR {
            break;
        }
        n = (n.1, quotient.checked_mul(n.1)?.checked_add(n.0)?);
        d = (d.1, denominator);
    }
    Some((n.1, d.1))
}

/// Scatters a seed over all residues: the finaliser of SplitMix64.
fn scatter(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % PRIME
}

/// A residue that depends on a name and arguments.
fn named(name: &str, args: &[u64]) -> u64 {
    let start = name.bytes().fold(7, |h, byte| scatter(h ^ u64::from(byte)));
    args.iter().fold(start, |h, x| scatter(h.rotate_left(17) ^ *x))
}

impl Number for Residue {
    fn constant(x: f64) -> Residue {
        Residue { residue: x.is_finite().then(|| exactly(x)), fixed: x }
    }

    fn value(self) -> f64 {
        self.fixed
    }

    fn call(row: &'static Builtin, args: &[Residue]) -> Residue {
        let fixed = if args.iter().all(|x| x.is_fixed()) {
            let values: Vec<f64> = args.iter().map(|x| x.fixed).collect();
            (row.value)(&values)
        } else {
            f64::NAN
        };
        let chosen = match (row.name, args) {
            ("if", [c, a, b]) => return if c.is_true() { *a } else { *b },
            ("smooth", [a]) => return *a,
            ("min", [a, b]) => Residue::exceeds(*a, *b).map(|first| if first { *b } else { *a }),
            ("max", [a, b]) => Residue::exceeds(*a, *b).map(|first| if first { *a } else { *b }),
            _ => None,
        };
        if let Some(chosen) = chosen {
            return chosen;
        }
        if let Some(residue) = exact(row.name, args) {
            return Residue { residue: Some(residue), fixed };
        }
        if !fixed.is_nan() {
            return Residue::constant(fixed);
        }
        let residues: Option<Vec<u64>> = args.iter().map(|x| x.residue).collect();
        Residue { residue: residues.and_then(|args| opaque(row, args)), fixed }
    }

    fn looked_up(value: f64, argument: Residue, table: usize) -> Residue {
        if argument.is_fixed() {
            return Residue::constant(value);
        }
        Residue { residue: argument.residue.map(|x| named("lookup", &[x, table as u64])), fixed: f64::NAN }
    }
}

/// The result of arithmetic and comparisons.
fn exact(name: &str, args: &[Residue]) -> Option<u64> {
    let r = |k: usize| args[k].residue;
    let truth = |holds: bool| Residue::truth(holds).residue;
    match name {
        "add" => Some((r(0)? + r(1)?) % PRIME),
        "sub" => Some(subtract(r(0)?, r(1)?)),
        "mul" => Some(multiply(r(0)?, r(1)?)),
        "div" => Some(multiply(r(0)?, invert(r(1)?)?)),
        "neg" => Some(subtract(0, r(0)?)),
        "fma" => Some((multiply(r(0)?, r(1)?) + r(2)?) % PRIME),
        "pow" => {
            let n = args[1].fixed;
            (n.fract() == 0.0 && n.abs() <= EXPONENT).then_some(())?;
            let value = power(r(0)?, n.abs() as u64);
            if n < 0.0 { invert(value) } else { Some(value) }
        }
        "lt" => truth(Residue::exceeds(args[1], args[0])?),
        "le" => truth(!Residue::exceeds(args[0], args[1])?),
        "eq" => truth(r(0)? == r(1)?),
        "ne" => truth(r(0)? != r(1)?),
        "and" => truth(args[0].is_true() && args[1].is_true()),
        "or" => truth(args[0].is_true() || args[1].is_true()),
        "not" => truth(!args[0].is_true()),
        "abs" | "sign" => {
            let x = r(0)?;
            let negative = Residue::exceeds(Residue::constant(0.0), args[0])?;
            let size = if name == "abs" { x } else { u64::from(x != 0) };
            Some(if negative { subtract(0, size) } else { size })
        }
        _ => None,
    }
}

/// A residue for any other function, with the symmetries of the function.
fn opaque(row: &'static Builtin, mut args: Vec<u64>) -> Option<u64> {
    if matches!(row.name, "add" | "sub" | "mul" | "div" | "neg" | "fma") {
        // a sum with an undefined term, or a division by zero
        return None;
    }
    if row.commutative {
        args.sort_unstable();
    }
    let negative = args.len() == 1 && args[0] > PRIME / 2;
    if negative && (ODD.contains(&row.name) || EVEN.contains(&row.name) || row.name == "exp") {
        let mirrored = named(row.name, &[subtract(0, args[0])]);
        return match row.name {
            "exp" => invert(mirrored),
            even if EVEN.contains(&even) => Some(mirrored),
            _ => Some(subtract(0, mirrored)),
        };
    }
    Some(named(row.name, &args))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::find;

    fn call(name: &str, args: &[Residue]) -> Residue {
        Residue::call(find(name).unwrap().0, args)
    }

    #[test]
    fn numbers_are_the_fractions_that_their_digits_tell() {
        let sum = call("add", &[Residue::constant(0.1), Residue::constant(0.2)]);
        assert_eq!(sum.get(), Residue::constant(0.3).get());
        assert_eq!(Residue::constant(0.1 * 3.0).get(), sum.get());
        let third = call("div", &[Residue::constant(1.0), Residue::constant(3.0)]);
        assert_eq!(Residue::constant(1.0 / 3.0).get(), third.get());
        assert_ne!(Residue::constant(1.0 + 1e-14).get(), Residue::constant(1.0).get());
        let tiny = call("mul", &[Residue::constant(-2.5e-300), Residue::constant(4e300)]);
        assert_eq!(tiny.get(), Residue::constant(-10.0).get());
    }

    #[test]
    fn equal_expressions_have_equal_residues() {
        let (x, y) = (Residue::drawn(1), Residue::drawn(2));
        let difference = call("sub", &[x, y]);
        let other = call("sub", &[y, x]);
        for odd in ["tanh", "sin", "sign", "cbrt"] {
            let sum = call("add", &[call(odd, &[difference]), call(odd, &[other])]);
            assert_eq!(sum.get(), Some(0), "{odd}");
        }
        let product = call("mul", &[call("exp", &[difference]), call("exp", &[other])]);
        assert_eq!(product.get(), Some(1));
        let larger = call("add", &[call("max", &[x, y]), call("min", &[x, y])]);
        assert_eq!(larger.get(), call("add", &[x, y]).get());
        assert_ne!(call("sqrt", &[x]).get(), call("sqrt", &[y]).get());
        let less = call("lt", &[x, y]);
        assert_eq!(call("not", &[less]).get(), call("le", &[y, x]).get());
        assert_eq!(call("pow", &[x, Residue::constant(-2.0)]).get(), {
            let square = call("mul", &[x, x]);
            call("div", &[Residue::constant(1.0), square]).get()
        });
    }

    #[test]
    fn fractions_come_back() {
        for (n, d) in [(0i64, 1i64), (1, 1), (-7, 3), (12_300, 4567), (999_983, 1000), (-1, 720)] {
            let residue = call("div", &[Residue::constant(n as f64), Residue::constant(d as f64)]).get().unwrap();
            assert_eq!(fraction(residue), Some((n, d)));
        }
        assert_eq!(fraction(Residue::drawn(5).get().unwrap()), None);
    }

    #[test]
    fn undefined_values_stay_undefined() {
        let zero = call("sub", &[Residue::drawn(3), Residue::drawn(3)]);
        assert_eq!(call("div", &[Residue::constant(1.0), zero]).get(), None);
        assert_eq!(call("add", &[Residue::constant(f64::NAN), Residue::drawn(1)]).get(), None);
        assert_eq!(call("min", &[Residue::constant(f64::INFINITY), Residue::drawn(1)]).get(), Residue::drawn(1).get());
    }
}

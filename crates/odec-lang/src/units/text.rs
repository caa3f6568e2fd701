//! Parses units and writes them: `m/s^2`, `kg m² s⁻³`, `mol/(L*s)`.

use super::rational::Rational;
use super::table::{DIMENSIONS, WITH_OFFSET};
use super::vector::{Atom, Key, Vector};

/// Deepest nesting of brackets.
const MAX_DEPTH: usize = 16;
/// Largest exponent that is accepted.
const MAX_EXPONENT: i64 = 99;
/// Largest number of digits in a unit.
const MAX_DIGITS: usize = 18;

/// Largest divisor that is tried when a number in a unit is factored. The rest then counts as one prime factor. If two
/// such numbers share a larger divisor, their quotient is not reduced, but its value is still right.
const MAX_DIVISOR: u64 = 1 << 12;

/// A parsed unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Read {
    /// The unit itself.
    pub unit: Vector,
    /// The text after the first `/`, if a product follows a quotient: many people read `J/kg*K` as `J/(kg*K)`. A
    /// product of quotients, such as `1/min^2*L/mU`, has one reading.
    pub doubtful: Option<String>,
}

/// An error in a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A name of no unit.
    Unknown(String),
    /// The zero of the unit has an offset.
    Offset(String),
    /// The text cannot be parsed, for this reason.
    Form(String),
}

/// A power of ten as a scale.
pub fn power_of_ten(ten: i32) -> Vector {
    let power = Rational::whole(i64::from(ten));
    Vector::of(Atom::Prime(2)).product(&Vector::of(Atom::Prime(5))).power(power)
}

/// An integer as a scale: its small prime factors, and the rest as one factor.
fn factors(mut n: u64) -> Vector {
    let mut out = Vector::default();
    let mut prime = 2u64;
    while prime <= MAX_DIVISOR && prime * prime <= n {
        while n.is_multiple_of(prime) {
            out = out.product(&Vector::of(Atom::Prime(prime)));
            n /= prime;
        }
        prime += if prime == 2 { 1 } else { 2 };
    }
    if n > 1 { out.product(&Vector::of(Atom::Prime(n))) } else { out }
}

/// A decimal number as a scale.
fn number(text: &str) -> Option<Vector> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{}", after.trim_end_matches('0'));
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() || digits.len() > MAX_DIGITS {
        return None;
    }
    let ten: i32 = exponent.parse().ok().filter(|e: &i32| e.abs() <= 60)?;
    // trailing zeros need no factoring
    let bare = digits.trim_end_matches('0');
    let zeros = (digits.len() - bare.len()) as i32 - after.trim_end_matches('0').len() as i32;
    Some(factors(bare.parse().ok()?).product(&power_of_ten(ten + zeros)))
}

/// Parses a unit; `find` looks up names.
pub fn read(text: &str, find: &dyn Fn(&str) -> Option<Vector>) -> Result<Read, Mistake> {
    let folded = text.replace("**", "^").replace('\u{b5}', "\u{3bc}");
    let mut reader = Reader { rest: &folded, find, doubtful: None };
    let unit = reader.product(0)?;
    if reader.rest.is_empty() {
        if unit.is_lost() {
            return Err(Mistake::Form("an exponent is too large".to_owned()));
        }
        return Ok(Read { unit, doubtful: reader.doubtful });
    }
    Err(Mistake::Form(format!("unexpected `{}`", reader.rest)))
}

struct Reader<'a> {
    rest: &'a str,
    find: &'a dyn Fn(&str) -> Option<Vector>,
    doubtful: Option<String>,
}

fn raised(c: char) -> Option<char> {
    "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().position(|r| r == c).and_then(|i| char::from_digit(i as u32, 10))
}

impl<'a> Reader<'a> {
    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, signs: &[char]) -> bool {
        match self.rest.strip_prefix(signs) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn product(&mut self, depth: usize) -> Result<Vector, Mistake> {
        if depth > MAX_DEPTH {
            return Err(Mistake::Form("too many brackets".to_owned()));
        }
        self.skip_blanks();
        let mut unit = self.factor(depth)?;
        let mut divided: Option<&'a str> = None;
        loop {
            let before = self.rest;
            self.skip_blanks();
            if self.take(&['/']) {
                divided = Some(self.rest);
                self.skip_blanks();
                unit = unit.quotient(&self.factor(depth)?);
                continue;
            }
            let times = self.take(&['*', '·', '⋅', '×', '.']);
            let blank = before.len() > self.rest.len();
            if self.rest.is_empty() || self.rest.starts_with(')') {
                if times {
                    return Err(Mistake::Form("a unit is missing after the operator".to_owned()));
                }
                return Ok(unit);
            }
            if !times && !blank && !self.rest.starts_with('(') {
                return Err(Mistake::Form(format!("unexpected `{}`", self.rest)));
            }
            self.skip_blanks();
            unit = unit.product(&self.factor(depth)?);
            if let Some(after) = divided
                && depth == 0
                && !self.rest.trim_start().starts_with('/')
            {
                let bottom = after.split('/').next().unwrap_or(after).trim();
                self.doubtful.get_or_insert(bottom.to_owned());
            }
        }
    }

    fn factor(&mut self, depth: usize) -> Result<Vector, Mistake> {
        let base = if self.take(&['(']) {
            let inner = self.product(depth + 1)?;
            self.skip_blanks();
            if !self.take(&[')']) {
                return Err(Mistake::Form("a bracket is not closed".to_owned()));
            }
            inner
        } else if self.rest.starts_with(|c: char| c.is_ascii_digit()) {
            self.scale()?
        } else {
            self.name()?
        };
        let power = self.power()?;
        Ok(if power == Rational::ONE { base } else { base.power(power) })
    }

    /// `1`, `1000`, `0.5`, `1e-3`.
    fn scale(&mut self) -> Result<Vector, Mistake> {
        let bytes = self.rest.as_bytes();
        let digits = |from: usize| bytes[from..].iter().take_while(|b| b.is_ascii_digit()).count();
        let mut end = digits(0);
        if bytes.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'-' | b'+')));
            if digits((end + 1 + sign).min(bytes.len())) > 0 {
                end += 1 + sign + digits(end + 1 + sign);
            }
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        number(text).ok_or_else(|| Mistake::Form(format!("`{text}` is not a factor of a unit")))
    }

    fn name(&mut self) -> Result<Vector, Mistake> {
        let inside = |c: char| {
            (crate::words::is_name_char(c) && raised(c).is_none()) || matches!(c, '%' | '‰' | '°' | '℃' | '℉')
        };
        let end = self.rest.find(|c: char| !inside(c)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if name.is_empty() {
            let found = self.rest.chars().next();
            return Err(Mistake::Form(
                found.map_or("a unit is missing".to_owned(), |c| format!("`{c}` is not a unit")),
            ));
        }
        self.rest = rest;
        // `deg C` is no product of an angle and a charge
        let scale = rest.strip_prefix(' ').filter(|_| matches!(name, "deg" | "°" | "degree" | "degrees"));
        if let Some(letter) = scale.and_then(|rest| rest.chars().next().filter(|c| "CF".contains(*c)))
            && !rest[2..].starts_with(inside)
        {
            return Err(Mistake::Offset(format!("{name} {letter}")));
        }
        match name {
            _ if WITH_OFFSET.contains(&name) => Err(Mistake::Offset(name.to_owned())),
            "pi" | "π" => Ok(Vector::of(Atom::Pi)),
            _ => (self.find)(name).ok_or_else(|| Mistake::Unknown(name.to_owned())),
        }
    }

    /// Parses `^2`, `^-1`, `^(1/2)`, `^0.5`, `²`, `⁻¹`; 1 without a power.
    fn power(&mut self) -> Result<Rational, Mistake> {
        if self.rest.starts_with(|c: char| c == '⁻' || raised(c).is_some()) {
            let end = self.rest.find(|c: char| c != '⁻' && raised(c).is_none()).unwrap_or(self.rest.len());
            let (text, rest) = self.rest.split_at(end);
            self.rest = rest;
            let plain: String = text.chars().map(|c| raised(c).unwrap_or('-')).collect();
            return exponent(&plain);
        }
        if !self.take(&['^']) {
            return Ok(Rational::ONE);
        }
        let end = match self.rest.strip_prefix('(') {
            Some(_) => self.rest.find(')').map_or(self.rest.len(), |i| i + 1),
            None => {
                let digit = |c: char| c.is_ascii_digit() || c == '.';
                let signs = self.rest.len() - self.rest.trim_start_matches(['-', '−', '+']).len();
                self.rest[signs..].find(|c: char| !digit(c)).map_or(self.rest.len(), |i| signs + i)
            }
        };
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        exponent(text.trim_start_matches('(').trim_end_matches(')'))
    }
}

fn exponent(text: &str) -> Result<Rational, Mistake> {
    let wrong =
        || Mistake::Form(format!("`{text}` is not an exponent: write a number or a fraction, `m^2`, `m^(1/2)`"));
    let part = |text: &str| text.trim().replace('−', "-").parse::<f64>().ok().and_then(Rational::of_number);
    let value = match text.split_once('/') {
        Some((top, bottom)) => part(top).zip(part(bottom)).map(|(top, bottom)| top / bottom),
        None => part(text),
    };
    value.filter(|r| !r.is_lost() && r.to_f64().abs() <= MAX_EXPONENT as f64).ok_or_else(wrong)
}

/// Writes a unit: by its name if `name` has one, otherwise as a product of dimensions with a factor.
pub fn write(unit: &Vector, name: &dyn Fn(&Vector) -> Option<String>, atom: &dyn Fn(Atom) -> String) -> String {
    if unit.is_one() {
        return "1".to_owned();
    }
    if let Some(known) = name(unit) {
        return known;
    }
    let scale: Vector = unit
        .iter()
        .filter(|(key, _)| matches!(key.atom, Atom::Prime(_) | Atom::Pi))
        .fold(Vector::default(), |scale, (key, r)| scale.times(&Vector::of(key.atom), r));
    let (mut top, mut bottom) = (Vec::new(), Vec::new());
    let factor = scale.scale();
    for (key, r) in unit.iter() {
        if matches!(key.atom, Atom::Prime(_) | Atom::Pi) && key.exponent == 0 {
            continue;
        }
        let power = if r.is_negative() { -r } else { r };
        let base = written(key, atom);
        let text = if power == Rational::ONE { base } else { format!("{base}^{power}") };
        if r.is_negative() { bottom.push(text) } else { top.push(text) }
    }
    let head = match (factor == 1.0, top.is_empty()) {
        (true, true) => "1".to_owned(),
        (true, false) => top.join("*"),
        (false, true) => shortest(factor),
        (false, false) => format!("{} {}", shortest(factor), top.join("*")),
    };
    match bottom.len() {
        0 => head,
        1 => format!("{head}/{}", bottom[0]),
        _ => format!("{head}/({})", bottom.join("*")),
    }
}

fn shortest(x: f64) -> String {
    let (plain, scientific) = (format!("{x}"), format!("{x:e}"));
    if plain.len() <= scientific.len() + 2 { plain } else { scientific }
}

fn written(key: Key, atom: &dyn Fn(Atom) -> String) -> String {
    let base = match key.atom {
        Atom::Dimension(d) => DIMENSIONS.get(usize::from(d)).map_or_else(|| atom(key.atom), |s| (*s).to_owned()),
        Atom::Prime(p) => p.to_string(),
        Atom::Pi => "pi".to_owned(),
        Atom::Variable(_) => atom(key.atom),
    };
    if key.exponent == 0 { base } else { format!("{base}^n") }
}

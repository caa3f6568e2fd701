//! The table of units, read once from `units.txt`, and the SI prefixes.

use std::collections::HashMap;
use std::sync::OnceLock;

use super::text;
use super::vector::{Atom, Vector};

/// Symbols of the SI dimensions and of the other dimensions of the table, by number.
pub const DIMENSIONS: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "IU"];
/// The number of the dimension of time.
pub const TIME: u16 = 2;

/// Symbols, words and powers of ten of the prefixes.
const PREFIXES: &[(&str, &str, i32)] = &[
    ("da", "deca", 1),
    ("Q", "quetta", 30),
    ("R", "ronna", 27),
    ("Y", "yotta", 24),
    ("Z", "zetta", 21),
    ("E", "exa", 18),
    ("P", "peta", 15),
    ("T", "tera", 12),
    ("G", "giga", 9),
    ("M", "mega", 6),
    ("k", "kilo", 3),
    ("h", "hecto", 2),
    ("d", "deci", -1),
    ("c", "centi", -2),
    ("m", "milli", -3),
    ("u", "micro", -6),
    ("\u{3bc}", "micro", -6),
    ("\u{b5}", "micro", -6),
    ("n", "nano", -9),
    ("p", "pico", -12),
    ("f", "femto", -15),
    ("a", "atto", -18),
    ("z", "zepto", -21),
    ("y", "yocto", -24),
    ("r", "ronto", -27),
    ("q", "quecto", -30),
];

/// Units whose zero has an offset, so that no factor converts them.
pub const WITH_OFFSET: &[&str] =
    &["degC", "°C", "ºC", "℃", "celsius", "Celsius", "degF", "°F", "ºF", "℉", "fahrenheit", "Fahrenheit"];

/// One row of the table.
struct Row {
    definition: &'static str,
    prefixed: bool,
    /// True if the name is a symbol and takes prefixes that are symbols.
    symbol: bool,
    /// The unit, once it has been requested.
    value: OnceLock<Option<Vector>>,
}

fn rows() -> &'static HashMap<&'static str, Row> {
    static ROWS: OnceLock<HashMap<&'static str, Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let mut rows = HashMap::new();
        for line in include_str!("units.txt").lines().filter(|l| !l.starts_with('#') && !l.trim().is_empty()) {
            let mut cells = line.split('|').map(str::trim);
            let (symbols, words) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
            let definition = cells.next().unwrap_or_default();
            let prefixed = cells.next() == Some("yes");
            let both = symbols.split(' ').map(|n| (n, true)).chain(words.split(' ').map(|n| (n, false)));
            for (name, symbol) in both.filter(|(name, _)| !name.is_empty()) {
                rows.insert(name, Row { definition, prefixed, symbol, value: OnceLock::new() });
            }
        }
        rows
    })
}

impl Row {
    fn unit(&self) -> Option<Vector> {
        let compute = || match self.definition.strip_prefix("base ") {
            Some(number) => Some(Vector::of(Atom::Dimension(number.parse().ok()?))),
            None => text::read(self.definition, &|name| find(name)).ok().map(|read| read.unit),
        };
        self.value.get_or_init(compute).clone()
    }
}

/// The unit with this name: a row of the table, possibly with a prefix. A complete name comes first: `min` is not a
/// milli-inch.
pub fn find(name: &str) -> Option<Vector> {
    let rows = rows();
    if let Some(row) = rows.get(name) {
        return row.unit();
    }
    PREFIXES.iter().find_map(|&(symbol, word, ten)| {
        let by = |prefix: &str, is_symbol: bool| {
            let row = rows.get(name.strip_prefix(prefix)?)?;
            (row.prefixed && row.symbol == is_symbol).then_some(row)
        };
        let row = by(symbol, true).or_else(|| by(word, false))?;
        Some(row.unit()?.product(&text::power_of_ten(ten)))
    })
}

/// All names of the table, for suggestions.
pub fn names() -> std::vec::IntoIter<&'static str> {
    let mut names: Vec<&'static str> = rows().keys().copied().collect();
    names.sort_unstable();
    names.into_iter()
}

#[cfg(test)]
mod tests {
    use super::{find, rows};

    #[test]
    fn every_row_has_a_unit() {
        for (name, row) in rows() {
            assert!(row.unit().is_some(), "{name} = {}", row.definition);
        }
    }

    #[test]
    fn factors_are_exact() {
        let factor = |a: &str, b: &str| {
            let quotient = find(a).expect(a).quotient(&find(b).expect(b));
            assert!(!quotient.has_dimension(), "{a} and {b}");
            quotient.scale()
        };
        assert_eq!(factor("mV", "V").to_bits(), 1e-3f64.to_bits());
        assert_eq!(factor("eV", "J").to_bits(), 1.602_176_634e-19f64.to_bits());
        assert_eq!(factor("h", "min").to_bits(), 60.0f64.to_bits());
        assert_eq!(factor("day", "hour").to_bits(), 24.0f64.to_bits());
        assert_eq!(factor("torr", "Pa").to_bits(), (101_325.0f64 / 760.0).to_bits());
        assert_eq!(factor("deg", "rad").to_bits(), (std::f64::consts::PI / 180.0).to_bits());
        assert_eq!(factor("kilometre", "mile").to_bits(), (1000.0f64 / 1609.344).to_bits());
        assert_eq!(factor("uM", "mM").to_bits(), 1e-3f64.to_bits());
        assert_eq!(factor("\u{b5}g", "mg").to_bits(), 1e-3f64.to_bits());
    }

    #[test]
    fn a_whole_name_counts_before_a_prefix() {
        for (name, same) in [("min", "minute"), ("ft", "foot"), ("cd", "candela"), ("Pa", "pascal"), ("mol", "mole")] {
            assert_eq!(find(name), find(same), "{name}");
        }
        for none in ["sex", "kkg", "kmin", "millivolt s", "millV", "kilovolts2", ""] {
            assert_eq!(find(none), None, "{none}");
        }
        assert_eq!(find("millivolt"), find("mV"));
    }
}

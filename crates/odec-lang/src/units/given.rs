//! The units of a checked model: the units of its quantities, and conversions from other units.

use std::collections::HashMap;

use super::compose;
use super::pool::QuickMap;
use super::rational::Rational;
use super::table::{self, DIMENSIONS, TIME};
use super::text::{self, Mistake, Read};
use super::vector::{Atom, Vector};
use crate::diagnostic::{Diagnostic, codes};
use crate::suggest;

/// Longest name for which all spellings in capitals and small letters are tried.
const MAX_SPELLED: usize = 6;

/// Powers of a unit of the model that [`Units::composed`] tries.
const COMPOSED: [i64; 6] = [-1, -2, -3, 1, 2, 3];

/// Strictness of the unit check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No checks. Units are shown, and numbers are used as written.
    Off,
    /// A number without a unit takes the unit of the operand that it is added to or compared with.
    #[default]
    Relaxed,
    /// A number without a unit is a pure number.
    Strict,
}

/// The units of a model.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// Strictness with which the model was checked.
    pub mode: Mode,
    /// True if any unit occurs in the model. Otherwise nothing has a unit, not even time.
    pub used: bool,
    /// Units that the model declares, each with its own dimension.
    pub bases: Vec<String>,
    /// The unit of time.
    pub time: Vector,
    /// Positions in `distinct` of the units of names, declared or inferred.
    pub(crate) of: QuickMap<String, u32>,
    /// The units of names, each once.
    pub(crate) distinct: Vec<Vector>,
    /// The spelling of each unit in the model. If there are several, the first one in the text is used.
    pub spelled: HashMap<Vector, String>,
    /// Number of atoms processed: the cost of the check.
    pub work: u64,
}

impl Units {
    /// The unit with this name.
    pub(crate) fn find(&self, name: &str) -> Option<Vector> {
        match self.bases.iter().position(|base| base == name) {
            Some(i) => Some(Vector::of(Atom::Dimension((DIMENSIONS.len() + i) as u16))),
            None => table::find(name),
        }
    }

    /// True if a text is a unit: `mg/L`.
    pub fn knows(&self, text: &str) -> bool {
        self.read(text).is_ok()
    }

    /// Parses a unit.
    pub(crate) fn read(&self, text: &str) -> Result<Read, Mistake> {
        text::read(text, &|name| self.find(name))
    }

    /// A unit as text: as the model writes it, or by its name in the table.
    pub fn text(&self, unit: &Vector) -> String {
        self.text_with(unit, &|_| "?".to_owned())
    }

    /// Like [`Self::text`], with names for unknown units.
    pub(crate) fn text_with(&self, unit: &Vector, open: &dyn Fn(u32) -> String) -> String {
        let by_name = |unit: &Vector| {
            let known = self.spelled.get(unit).cloned().or_else(|| named(unit));
            let scaled = unit.iter().any(|(key, _)| matches!(key.atom, Atom::Prime(_)));
            known.or_else(|| {
                Some(unit).filter(|unit| scaled && unit.has_dimension()).and_then(|unit| self.composed(unit))
            })
        };
        let atom = |atom: Atom| match atom {
            Atom::Dimension(d) => {
                let base = usize::from(d).checked_sub(DIMENSIONS.len()).and_then(|i| self.bases.get(i));
                base.cloned().unwrap_or_default()
            }
            Atom::Variable(v) => open(v),
            _ => String::new(),
        };
        text::write(unit, &by_name, &atom)
    }

    /// The single names in the units that the model writes, each with its unit, such as `cm` from `[mS/cm^2]`.
    pub(crate) fn words(&self) -> Vec<(&str, Vector)> {
        let names = self.spelled.values().flat_map(|text| text.split(|c: char| !c.is_alphabetic()));
        let mut words: Vec<(&str, Vector)> = names.filter_map(|name| Some((name, self.find(name)?))).collect();
        words.push(("s", Self::second()));
        words.sort_by_key(|word| word.0);
        words.dedup_by_key(|word| word.0);
        words
    }

    /// Writes a unit as a name and a power of one of [`Self::words`]: `uA/cm^2`.
    fn composed(&self, unit: &Vector) -> Option<String> {
        let mut found: Vec<String> = Vec::new();
        for (word, base) in self.words() {
            for power in COMPOSED {
                let rest = unit.times(&base, Rational::whole(-power));
                let above = if rest.is_one() {
                    Some("1".to_owned())
                } else {
                    self.spelled.get(&rest).cloned().or_else(|| named(&rest))
                };
                let Some(above) = above.filter(|text| text.chars().all(char::is_alphanumeric)) else { continue };
                let raised = if power.abs() == 1 { word.to_owned() } else { format!("{word}^{}", power.abs()) };
                found.push(match (power > 0, above.as_str()) {
                    (true, "1") => raised,
                    (true, above) => format!("{above}*{raised}"),
                    (false, above) => format!("{above}/{raised}"),
                });
            }
        }
        found
            .into_iter()
            .min_by_key(|text| (text.len(), text.clone()))
            .or_else(|| compose::product(unit, &self.words()))
    }

    /// Writes a factor with these dimensions in a unit that the model uses: `1/cm^2`.
    pub(crate) fn of_dimensions(&self, dimensions: &Vector) -> Option<String> {
        let words = self.words();
        let fits = |base: &Vector, power: i64| base.power(Rational::whole(power)).dimensions() == *dimensions;
        let single = words.iter().find_map(|(word, base)| {
            let power = COMPOSED.into_iter().find(|&power| base.has_dimension() && fits(base, power))?;
            Some((*word, power))
        });
        let Some((word, power)) = single else {
            return named(dimensions).or_else(|| compose::of_dimensions(dimensions, &words));
        };
        let raised = if power.abs() == 1 { word.to_owned() } else { format!("{word}^{}", power.abs()) };
        Some(if power > 0 { raised } else { format!("1/{raised}") })
    }

    /// A unit of the same dimensions without a further factor: `m/s^2` for `deg^2*m/s^2`.
    pub(crate) fn without_factor(&self, unit: &Vector) -> String {
        let dimensions = unit.dimensions();
        let written = self.spelled.iter().filter(|(other, _)| other.dimensions() == dimensions);
        let plain = written.filter(|(other, _)| !other.iter().any(|(key, _)| key.atom == Atom::Pi));
        if let Some((_, text)) = plain.min_by_key(|(_, text)| (text.len(), text.as_str())) {
            return text.clone();
        }
        let words = self.words();
        let words: Vec<(&str, Vector)> = words
            .iter()
            .filter(|(_, word)| word.has_dimension() && !word.iter().any(|(key, _)| key.atom == Atom::Pi))
            .map(|(text, word)| (*text, word.dimensions()))
            .collect();
        named(&dimensions).or_else(|| compose::product(&dimensions, &words)).unwrap_or_else(|| self.text(&dimensions))
    }

    /// The unit of a quantity, possibly with primes: `V`, `x''`, `t`; `None` if it has no unit or the unit is unknown.
    pub fn unit_of(&self, name: &str, time: &str) -> Option<Vector> {
        let base: String = name.chars().filter(|&c| c != '\'').collect();
        let primes = name.chars().filter(|&c| c == '\'').count();
        let base = without_indices(&base);
        let whole = base.split('.').next().unwrap_or_default();
        let of = |name: &str| Some(&self.distinct[*self.of.get(name)? as usize]);
        // `p.x` is a component of `p`; `c.p.x` one of `c.p`
        let of_component = || base.rsplit_once('.').and_then(|(vector, _)| of(vector));
        let unit =
            if *base == *time { Some(&self.time) } else { of(&base).or_else(of_component).or_else(|| of(whole)) };
        Some(unit?.times(&self.time, super::rational::Rational::whole(-(primes as i64))))
    }

    /// True if the model writes no unit but those of times and rates. The units that follow from them for other quantities
    /// are accidents of pure numbers: in `N' = 0.1*N^2`, N is a rate.
    pub fn only_of_time(&self) -> bool {
        let power = |k: i64| self.time.power(super::rational::Rational::whole(k)).dimensions();
        let powers: Vec<Vector> = (-2..=2).map(power).collect();
        self.spelled.keys().all(|unit| powers.contains(&unit.dimensions()))
    }

    /// The unit of a quantity, or of a derivative `d(x)/d(k)`, as text; `None` if it has none.
    pub fn text_of(&self, name: &str, time: &str) -> Option<String> {
        if !self.used || self.mode == Mode::Off {
            return None;
        }
        let unit = match name.strip_prefix("d(").and_then(|rest| rest.strip_suffix(')')?.split_once(")/d(")) {
            Some((of, by)) => self.unit_of(of, time)?.quotient(&self.unit_of(by, time)?),
            None => self.unit_of(name, time)?,
        };
        (!unit.is_one()).then(|| self.text(&unit))
    }

    /// Converts a number with a unit to the unit of `name`. If no factor converts it, the error names both units.
    pub fn number_in(&self, value: f64, unit: &str, name: &str, time: &str) -> Result<f64, Diagnostic> {
        let given = self.read(unit).map_err(|mistake| self.mistake(&mistake, unit))?.unit;
        if self.mode == Mode::Off {
            let headline = format!("odec cannot convert [{unit}]: the model says `units off`");
            return Err(
                Diagnostic::error(&codes::E0570, headline).help(format!("give `{name}` as a number without a unit"))
            );
        }
        let Some(wanted) = self.unit_of(name, time).filter(|_| self.used) else {
            let headline = format!("`{name}` has no unit, but {value} [{unit}] has one");
            let help = format!("give `{name}` as a number, or declare its unit in the model");
            return Err(Diagnostic::error(&codes::E0570, headline).help(help));
        };
        let factor = given.quotient(&wanted);
        if factor.is_lost() || factor.has_dimension() || factor.is_open() || factor.has_named_exponent() {
            let headline = format!("`{name}` is in [{}], but {value} [{unit}] is not", self.text(&wanted));
            let help = format!("give it in [{}], or in a unit of the same dimension", self.text(&wanted));
            return Err(Diagnostic::error(&codes::E0570, headline).help(help));
        }
        Ok(if factor.is_one() { value } else { value * factor.scale() })
    }

    /// True if two texts mean the same unit: `min` and `minute`. Texts that cannot be parsed are compared as they are.
    pub fn are_equal(&self, a: &str, b: &str) -> bool {
        match (self.read(a), self.read(b)) {
            (Ok(a), Ok(b)) => a.unit == b.unit,
            _ => a.split_whitespace().eq(b.split_whitespace()),
        }
    }

    /// The units whose names differ from this one only in capitals: `kg` for `Kg`. Common ones exclude others.
    fn in_other_case(&self, name: &str) -> Vec<String> {
        if !name.bytes().all(|byte| byte.is_ascii_alphabetic()) || name.is_empty() {
            return Vec::new();
        }
        let letters = name.to_ascii_lowercase();
        let spell = |mask: u32| -> String {
            let case = |(k, c): (usize, char)| if mask >> k & 1 == 1 { c.to_ascii_uppercase() } else { c };
            letters.chars().enumerate().map(case).collect()
        };
        // of long names only the usual spelling
        let spellings = if letters.len() <= MAX_SPELLED { 1u32 << letters.len() } else { 2 };
        let mut known: Vec<String> = (0..spellings).map(spell).filter(|other| self.find(other).is_some()).collect();
        if known.iter().any(|other| SHOWN.contains(&other.as_str())) {
            known.retain(|other| SHOWN.contains(&other.as_str()));
        }
        known.truncate(3);
        known
    }

    /// The message about a unit that cannot be parsed, without a location.
    pub(crate) fn mistake(&self, mistake: &Mistake, whole: &str) -> Diagnostic {
        match mistake {
            Mistake::Unknown(name) => {
                let report = Diagnostic::error(&codes::E0571, format!("there is no unit `{name}`"));
                // `[mg per mL]`, `[per hour]`
                let words = format!(" {whole} ").replace(" per ", "/").replace(" times ", "*");
                let quotient = words.trim().to_owned();
                let quotient = if quotient.starts_with('/') { format!("1{quotient}") } else { quotient };
                if matches!(name.as_str(), "per" | "times") && quotient != whole {
                    return report.help(format!("write `[{quotient}]`"));
                }
                if let Some((_, better)) = ELSEWHERE.iter().find(|(other, _)| other == name) {
                    let divisor = better.contains(['/', '*']) && whole.contains(&format!("/{name}"));
                    let better = if divisor { format!("({better})") } else { (*better).to_owned() };
                    return report.help(format!("write `[{}]`", whole.replacen(name, &better, 1)));
                }
                if name == "Hg" && whole.contains("mm Hg") {
                    return report.help(format!("write `[{}]`", whole.replacen("mm Hg", "mmHg", 1)));
                }
                if matches!(whole.trim(), "a.u." | "a.u") {
                    return report.help("write `[1]` for arbitrary units, or declare your own: `unit au`");
                }
                if name == "ppt" {
                    return report.help("write parts per trillion as `[1e-12]`, and parts per thousand as `[‰]`");
                }
                if let Some((_, value)) = UNSUPPORTED.iter().find(|(other, _)| other == name) {
                    return report.help(format!("convert the value: {value}"));
                }
                let own = format!("to count in your own unit, declare it: `unit {name}`");
                if matches!(name.as_str(), "counts" | "items") {
                    return report.help(own);
                }
                let alike = self.in_other_case(name);
                if !alike.is_empty() {
                    let alike: Vec<&str> = alike.iter().map(String::as_str).collect();
                    return report.help(format!("did you mean {}? {}", suggest::any_of(&alike), capital(&own)));
                }
                let names: Vec<&str> = self.bases.iter().map(String::as_str).chain(table::names()).collect();
                let names = names.into_iter();
                match (power_meant(name, whole, self), suggest::nearest(name, names).first()) {
                    (Some(power), _) => report.help(format!("write `[{}]`", whole.replacen(name, &power, 1))),
                    (None, Some(near)) => report.help(format!("did you mean `{near}`? {}", capital(&own))),
                    (None, None) => report.help(own),
                }
            }
            Mistake::Offset(name) => {
                let kelvin = "write a temperature with the function `celsius(20)`, which is in [K], and a difference in \
                              [K]; for data in degrees, leave out their unit and write `celsius(Tc(t))` for an input \
                              `Tc`; for an output in degrees, write `output Tc = T - celsius(0)`";
                let rankine = "convert it to kelvin: `(68 + 459.67)*5/9 [K]`";
                let fahrenheit = name.contains(['F', 'f']);
                Diagnostic::error(
                    &codes::E0572,
                    format!("the scale of `{name}` has an offset, so a factor alone cannot convert it"),
                )
                .help(if fahrenheit { rankine } else { kelvin })
            }
            Mistake::Form(why) => {
                let report = Diagnostic::error(&codes::E0571, format!("odec cannot read `[{whole}]` as a unit: {why}"));
                if matches!(whole.trim(), "" | "-" | "–" | "—") {
                    return report.help("write `[1]` for a pure number");
                }
                // `[/s]`
                let better = if whole.starts_with('/') { format!("1{whole}") } else { with_signs(whole) };
                if self.read(&better).is_ok() {
                    return report.help(format!("write `[{better}]`"));
                }
                report.help("write a product of powers: `[m/s^2]`, `[mol/(L*s)]`, `[kg^(1/2)]`")
            }
        }
    }
}

/// A text with a capital at its beginning.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Spellings of other tools, and those of odec.
const ELSEWHERE: [(&str, &str); 88] = [
    ("bpm", "1/min"),
    ("dimensionless", "1"),
    ("none", "1"),
    ("unitless", "1"),
    ("adim", "1"),
    ("Nm", "N*m"),
    ("kNm", "kN*m"),
    ("mNm", "mN*m"),
    ("Ns", "N*s"),
    ("Nms", "N*m*s"),
    ("Js", "J*s"),
    ("Vs", "V*s"),
    ("As", "A*s"),
    ("Ws", "W*s"),
    ("Pas", "Pa*s"),
    ("mPas", "mPa*s"),
    ("number", "1"),
    ("fraction", "1"),
    ("frac", "1"),
    ("proportion", "1"),
    ("nondimensional", "1"),
    ("nd", "1"),
    ("ratio", "1"),
    ("mol%", "%"),
    ("wt%", "%"),
    ("vol%", "%"),
    ("w%", "%"),
    ("v%", "%"),
    ("microM", "uM"),
    ("microL", "uL"),
    ("microg", "ug"),
    ("kcals", "kcal"),
    ("cals", "cal"),
    ("mho", "S"),
    ("mmho", "mS"),
    ("pct", "%"),
    ("perc", "%"),
    ("kph", "km/h"),
    ("kmh", "km/h"),
    ("kmph", "km/h"),
    ("cfs", "ft^3/s"),
    ("cfm", "ft^3/min"),
    ("amu", "Da"),
    ("psia", "psi"),
    ("mcg", "ug"),
    ("mcL", "uL"),
    ("mcl", "uL"),
    ("mcM", "uM"),
    ("mcmol", "umol"),
    ("cc", "mL"),
    ("gm", "g"),
    ("gms", "g"),
    ("kgs", "kg"),
    ("hrs", "h"),
    ("msec", "ms"),
    ("usec", "us"),
    ("yrs", "yr"),
    ("micron", "um"),
    ("microns", "um"),
    ("Tag", "day"),
    ("Tage", "day"),
    ("Tagen", "day"),
    ("jour", "day"),
    ("jours", "day"),
    ("día", "day"),
    ("días", "day"),
    ("giorno", "day"),
    ("giorni", "day"),
    ("Std", "h"),
    ("Stunde", "h"),
    ("Stunden", "h"),
    ("heure", "h"),
    ("heures", "h"),
    ("hora", "h"),
    ("horas", "h"),
    ("Minute", "min"),
    ("Minuten", "min"),
    ("Sekunde", "s"),
    ("Sekunden", "s"),
    ("Sek", "s"),
    ("seconde", "s"),
    ("secondes", "s"),
    ("Jahr", "yr"),
    ("Jahre", "yr"),
    ("Woche", "week"),
    ("Wochen", "week"),
    ("semaine", "week"),
    ("Liter", "L"),
];

/// Units of other tools that odec does not have, and what they are.
const UNSUPPORTED: [(&str, &str); 26] = [
    ("degreeC", "a temperature of 25 °C is `celsius(25)`, and a difference of temperatures is in [K]"),
    ("degC", "a temperature of 25 °C is `celsius(25)`, and a difference of temperatures is in [K]"),
    ("gal", "1 US gallon is 3.785411784 [L], 1 imperial gallon is 4.54609 [L]"),
    ("gallon", "1 US gallon is 3.785411784 [L], 1 imperial gallon is 4.54609 [L]"),
    ("gallons", "1 US gallon is 3.785411784 [L], 1 imperial gallon is 4.54609 [L]"),
    ("gpm", "1 US gallon per minute is 3.785411784 [L/min]"),
    ("bbl", "1 barrel of oil is 158.987294928 [L]"),
    ("barrel", "1 barrel of oil is 158.987294928 [L]"),
    ("acre", "1 acre is 4046.8564224 [m^2]"),
    ("acres", "1 acre is 4046.8564224 [m^2]"),
    ("BTU", "1 BTU is 1055.05585262 [J]"),
    ("Btu", "1 BTU is 1055.05585262 [J]"),
    ("kgf", "1 kgf is 9.80665 [N]"),
    ("slug", "1 slug is 14.59390294 [kg]"),
    ("inHg", "1 inch of mercury is 3386.389 [Pa]"),
    ("darcy", "1 darcy is 9.869233e-13 [m^2]"),
    ("Eq", "1 equivalent is the amount in [mol] times the charge"),
    ("mEq", "1 milliequivalent is the amount in [mmol] times the charge"),
    ("dpm", "1 decay per minute is 1 [1/min]"),
    ("cpm", "1 count per minute is 1 [1/min]"),
    ("dB", "a level of 20 dB is the ratio `10^(20/10)` of two powers"),
    ("barn", "1 barn is 1e-28 [m^2]"),
    ("barns", "1 barn is 1e-28 [m^2]"),
    ("bp", "a number of base pairs is a pure number, [1]"),
    ("kb", "1000 base pairs are a pure number, 1000 [1]"),
    ("mD", "1 millidarcy is 9.869233e-16 [m^2]"),
];

/// `m2` means `m^2`; in `W/m2K`, `m2K` means `(m^2*K)`.
fn power_meant(name: &str, whole: &str, units: &Units) -> Option<String> {
    let mut factors = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (base, tail) = rest.split_at(letters);
        let digits = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        let (power, tail) = tail.split_at(digits);
        if base.is_empty() || units.find(base).is_none() {
            return None;
        }
        factors.push(if power.is_empty() { base.to_owned() } else { format!("{base}^{power}") });
        rest = tail;
    }
    let product = factors.join("*");
    let divisor = factors.len() > 1 && whole.contains(&format!("/{name}"));
    (product != name).then(|| if divisor { format!("({product})") } else { product })
}

/// `m s-2` means `m s^-2`, `N-m` means `N*m`.
fn with_signs(whole: &str) -> String {
    let letters: Vec<char> = whole.chars().collect();
    let mut better = String::new();
    for (k, &c) in letters.iter().enumerate() {
        let after_name = k > 0 && letters[k - 1].is_alphabetic();
        match letters.get(k + 1) {
            Some(next) if c == '-' && after_name && next.is_ascii_digit() => better.push_str("^-"),
            Some(next) if c == '-' && after_name && next.is_alphabetic() => better.push('*'),
            _ => better.push(c),
        }
    }
    better
}

/// A name without its subscripts: `c.u` for `c[3].u[1,2]` and for `c[].u[,]`.
pub(crate) fn without_indices(name: &str) -> std::borrow::Cow<'_, str> {
    if !name.contains('[') {
        return name.into();
    }
    let mut depth = 0usize;
    let mut plain = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ if depth == 0 => plain.push(c),
            _ => {}
        }
    }
    plain.into()
}

/// Symbols that messages use for units that the model does not write itself. No hertz: 1/s can be the unit of an angular
/// frequency.
const SHOWN: &[&str] = &[
    "%", "N", "Pa", "J", "W", "C", "V", "F", "ohm", "S", "Wb", "T", "H", "M", "mM", "uM", "nM", "mV", "kV", "mA", "uA",
    "nA", "pA", "mS", "uS", "nS", "pF", "nF", "uF", "kJ", "MJ", "kW", "MW", "kPa", "bar", "ms", "us", "ns", "min", "h",
    "day", "km", "cm", "mm", "um", "nm", "g", "mg", "ug", "L", "mL", "mmol", "umol", "nmol", "kN", "m", "kg", "s", "A",
    "K", "mol", "cd", "IU", "deg",
];

pub(crate) fn named(unit: &Vector) -> Option<String> {
    SHOWN.iter().find(|name| table::find(name).is_some_and(|known| known == *unit)).map(|name| (*name).to_owned())
}

impl Units {
    /// The second.
    pub(crate) fn second() -> Vector {
        Vector::of(Atom::Dimension(TIME))
    }
}

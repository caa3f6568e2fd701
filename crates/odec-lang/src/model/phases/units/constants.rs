//! Constants of nature without a unit: `R = 8.314` gets its unit from its use, where another number may be its value.

use crate::diagnostic::codes;
use odec_ir::Span;

use super::Checker;
use crate::suggest;
use crate::syntax::tree::{ExprId, ExprKind};
use crate::units::Mode;
use crate::units::vector::{Key, Vector};

/// A constant of nature.
struct Known {
    name: &'static str,
    value: f64,
    unit: &'static str,
    /// Its unit without [K], if it occurs next to a temperature whose unit may be open.
    without_kelvin: Option<&'static str>,
}

const fn known(name: &'static str, value: f64, unit: &'static str) -> Known {
    Known { name, value, unit, without_kelvin: None }
}

/// The constants (CODATA 2018), in units of the SI.
const KNOWN: [Known; 12] = [
    Known { without_kelvin: Some("J/mol"), ..known("the gas constant", 8.314_462_618, "J/(mol*K)") },
    Known { without_kelvin: Some("J"), ..known("the Boltzmann constant", 1.380_649e-23, "J/K") },
    known("the Faraday constant", 96_485.332_12, "C/mol"),
    known("the Avogadro constant", 6.022_140_76e23, "1/mol"),
    known("the elementary charge", 1.602_176_634e-19, "C"),
    known("the speed of light", 299_792_458.0, "m/s"),
    known("the Planck constant", 6.626_070_15e-34, "J*s"),
    known("the gravitational constant", 6.674_30e-11, "m^3/(kg*s^2)"),
    known("the Stefan-Boltzmann constant", 5.670_374_419e-8, "W/(m^2*K^4)"),
    known("the electric constant", 8.854_187_812_8e-12, "F/m"),
    known("the magnetic constant", 1.256_637_062_12e-6, "N/A^2"),
    known("the acceleration of gravity", 9.806_65, "m/s^2"),
];
/// A number is taken for a constant within this relative distance: 8.31, 96500, 9.8.
const NEAR: f64 = 1e-3;
/// A scale differs from that of the SI if it is this far from 1.
const SCALED: f64 = 1e-9;
/// Number of digits of a value in a message.
const DIGITS: i32 = 6;

/// A number that is a constant, and a unit in which it is not.
struct Finding {
    name: String,
    declared: Span,
    number: String,
    constant: &'static Known,
    /// The inferred unit as text, if it is known.
    unit: Option<String>,
    /// The value of the constant in it.
    value: f64,
    /// Other constants without a unit on which its unit depends.
    others: Vec<String>,
}

/// A constant without a unit whose unit is not known: its variable, its unit in the SI, and its name.
struct Open {
    key: Key,
    unit: Vector,
    name: String,
}

impl Checker<'_> {
    /// Warns about constants of nature whose unit is inferred with another scale than that of their number.
    pub(super) fn report_constants(&mut self) {
        if self.units.mode == Mode::Strict || !self.clashes.is_empty() {
            return;
        }
        let found = &self.names.found;
        let declared = found.parameters.iter().chain(&found.constants);
        let named = declared.filter_map(|item| Some((*self.by_name.get(item.target.name.name.as_str())?, item.value?)));
        let defined = found.definitions.iter().enumerate().filter(|(_, item)| item.pieces.is_empty());
        let all: Vec<(usize, ExprId)> =
            named.chain(defined.map(|(k, item)| (self.first_definition + k, item.value))).collect();
        let open = self.open_constants(&all);
        for (at, value) in all {
            let Some(finding) = self.constant(at, value, &open) else { continue };
            let Finding { name, declared, number, constant, unit, value, others } = finding;
            let place = unit.map_or_else(
                || "a unit from its use that is none of the SI".to_owned(),
                |unit| format!("the unit [{unit}] from its use"),
            );
            let headline = format!("`{name}` gets {place}; {} is {value} there, not {number}", constant.name);
            let report = crate::report::warning(&codes::W0527, headline, declared, "declared without a unit");
            let also = match others.as_slice() {
                [] => String::new(),
                [one] => format!(", and that of `{one}`"),
                several => format!(", and those of {}", suggest::list(several.iter().map(String::as_str))),
            };
            let help =
                format!("if it is {}, write its unit: `{name} = {number} [{}]`{also}", constant.name, constant.unit);
            self.reports.say(report.help(help));
        }
    }

    /// The constant that a quantity without a declared unit is by its number.
    fn known_number(&self, at: usize, value: ExprId) -> Option<&'static Known> {
        let ExprKind::Number(x) = self.input.tree.exprs[value.0 as usize].kind else { return None };
        let near = |known: &&Known| (x / known.value - 1.0).abs() < NEAR;
        KNOWN.iter().find(near).filter(|_| self.quantities[at].bracket.is_none())
    }

    /// The constants whose units nothing determines. Each of them is taken in units of the SI when others depend on it.
    fn open_constants(&mut self, all: &[(usize, ExprId)]) -> Vec<Open> {
        let mut open = Vec::new();
        for &(at, value) in all {
            let Some(known) = self.known_number(at, value) else { continue };
            let id = self.reduced(self.quantities[at].unit);
            let Some((key, _)) = id.as_variable().and_then(|_| self.pool[id].iter().next()) else { continue };
            if let Ok(read) = self.units.read(known.unit) {
                open.push(Open { key, unit: read.unit, name: self.quantities[at].name.to_owned() });
            }
        }
        open
    }

    /// True if [`Self::report_constants`] reports a quantity.
    pub(super) fn is_constant(&mut self, at: usize, value: ExprId) -> bool {
        self.constant(at, value, &[]).is_some()
    }

    fn constant(&mut self, at: usize, value: ExprId, open: &[Open]) -> Option<Finding> {
        let constant = self.known_number(at, value)?;
        let id = self.reduced(self.quantities[at].unit);
        let mut unit = self.pool[id].clone();
        let mut others = Vec::new();
        if unit.is_open() && id.as_variable().is_none() {
            let with = open.iter().filter(|other| !unit.get(other.key).is_zero()).collect::<Vec<_>>();
            let closed = with.iter().fold(unit.clone(), |unit, other| {
                let power = unit.get(other.key);
                unit.replaced(other.key, &other.unit, power)
            });
            if !closed.is_open() {
                others = with.into_iter().map(|other| other.name.clone()).collect();
                unit = closed;
            }
        }
        let is_known = !self.pool[id].is_open();
        if unit.is_lost() || unit.has_named_exponent() || (unit.scale() - 1.0).abs() < SCALED {
            return None;
        }
        let dimensions =
            |text: &str| self.units.read(text).ok().map(|read: crate::units::text::Read| read.unit.dimensions());
        let expected: Vector = dimensions(if unit.is_open() { constant.without_kelvin? } else { constant.unit })?;
        if unit.dimensions() != expected {
            return None;
        }
        let size = 10f64.powi(DIGITS - 1 - (constant.value / unit.scale()).abs().log10().floor() as i32);
        let quantity = &self.quantities[at];
        Some(Finding {
            name: quantity.name.to_owned(),
            declared: quantity.span,
            number: self.input.text(self.span(value)).to_owned(),
            constant,
            value: (constant.value / unit.scale() * size).round() / size,
            unit: is_known.then(|| self.words(id)),
            others,
        })
    }
}

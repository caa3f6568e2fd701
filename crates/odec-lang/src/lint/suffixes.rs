//! Units at the ends of names: `tau_ms = 5 [s]`, and `tau_ms = 5` in a model that declares no units.

use odec_ir::Span;

use super::Page;
use crate::diagnostic::{Diagnostic, codes};
use crate::report::{Build, warning};
use crate::syntax::tree::{Declared, ExprKind, Ident, StatementKind, Unit};
use crate::units::Mode;

/// Units at the ends of names, grouped by quantity: `tau_ms`. Common endings of other names (`_s`, `_min`) are left out.
const ENDINGS: [&[&str]; 15] = [
    &["ns", "us", "ms", "sec", "hours", "days", "years"],
    &["nm", "um", "mm", "cm", "km"],
    &["ug", "mg", "kg"],
    &["deg", "rad"],
    &["Hz", "kHz", "MHz"],
    &["uV", "mV", "kV"],
    &["pA", "nA", "uA", "mA"],
    &["nM", "uM", "mM"],
    &["uL", "mL"],
    &["kPa", "MPa", "hPa", "mmHg"],
    &["kJ", "kcal"],
    &["nmol", "umol", "mmol"],
    &["ohm", "kohm"],
    &["kW"],
    &["kN"],
];
/// Declared units of the same quantities, in addition to [`ENDINGS`].
const DECLARED: [&[&str]; 15] = [
    &["s", "min", "h", "hour", "day", "d", "yr", "year"],
    &["m"],
    &["g"],
    &["degree", "degrees", "°"],
    &[],
    &["V"],
    &["A"],
    &["M"],
    &["L"],
    &["Pa", "bar", "atm"],
    &["J", "cal"],
    &["mol"],
    &["Ohm"],
    &["W", "MW"],
    &["N"],
];

/// Endings that more often mean something else: `k_deg` is a rate of degradation, `km` a constant of Michaelis and Menten.
const DOUBTFUL: [&str; 7] = ["deg", "rad", "km", "us", "um", "nm", "ns"];

/// A name with a number and no unit: its ending and its number as text.
type Bare<'a> = (&'a Ident, &'a str, &'a str);

pub(super) fn lint(page: &Page<'_>, found: &mut Vec<Diagnostic>) {
    let (mut bare, mut all): (Vec<Bare<'_>>, Vec<&Ident>) = (Vec::new(), Vec::new());
    for statement in &page.tree.statements {
        // a definition has the unit of its value
        if let StatementKind::Equation { lhs, rhs, .. } = &statement.kind
            && let (ExprKind::Name(name), ExprKind::Quantity(_, unit)) = (&page.expr(*lhs).kind, &page.expr(*rhs).kind)
            && name.primes == 0
        {
            found.extend(ending(&name.name, unit));
        }
        let (StatementKind::Param(items)
        | StatementKind::Const(items)
        | StatementKind::State(items)
        | StatementKind::Discrete(items)
        | StatementKind::Unknown(items)) = &statement.kind
        else {
            continue;
        };
        for item in items.iter().filter(|item| item.target.primes == 0) {
            let name = &item.target.name;
            match &item.unit {
                Some(unit) => found.extend(ending(name, unit)),
                None => found.extend(taken(page, name)),
            }
            bare.extend(without_unit(page, item));
            all.extend(item.unit.is_none().then_some(name));
        }
    }
    found.extend(no_units(&bare, &all));
}

fn without_unit<'a>(page: &Page<'a>, item: &'a Declared) -> Option<Bare<'a>> {
    let name = &item.target.name;
    let (stem, ending) = name.name.rsplit_once('_')?;
    let unit = ENDINGS.iter().any(|group| group.contains(&ending)) && !DOUBTFUL.contains(&ending);
    // `k_mm`: a rate between two things
    let rate = stem.len() <= 2 && stem.starts_with(['k', 'K']);
    let value = item.value.filter(|value| matches!(page.expr(*value).kind, ExprKind::Number(_)))?;
    let units = page.model.units.used || page.model.units.mode == Mode::Off;
    (unit && !rate && !units && item.unit.is_none()).then(|| (name, ending, page.text(value)))
}

/// The group of the unit at the end of a name, and the unit.
fn group(name: &Ident) -> Option<(usize, &str)> {
    let (_, ending) = name.name.rsplit_once('_')?;
    let of = |k: &usize| ENDINGS[*k].contains(&ending) || DECLARED[*k].contains(&ending);
    (0..ENDINGS.len()).find(of).map(|k| (k, ending))
}

/// Two names that end in different units of one quantity: `tau_ms` and `T_s`.
fn mixed<'a>(bare: &[Bare<'a>], all: &[&'a Ident]) -> Option<(&'a Ident, &'a Ident, &'a str)> {
    bare.iter().find_map(|&(name, ending, _)| {
        let (kind, _) = group(name)?;
        let other = |other: &&&'a Ident| group(other).is_some_and(|(k, unit)| k == kind && unit != ending);
        let other = *all.iter().find(other)?;
        Some((name, other, group(other)?.1))
    })
}

/// `tau_ms = 5` in a model without units.
fn no_units<'a>(bare: &[Bare<'a>], all: &[&'a Ident]) -> Option<Diagnostic> {
    let ((name, ending, value), others) = bare.split_first()?;
    let headline = match others {
        [] => format!("the name `{}` suggests a unit, but the model declares none", name.name),
        _ => format!("the names of {} values suggest units, but the model declares none", bare.len()),
    };
    let better = format!("{} = {value} [{ending}]", name.name);
    if let Some((one, other, unit)) = mixed(bare, all) {
        let headline = format!(
            "`{}` and `{}` suggest two units of one quantity, but the model declares none",
            one.name, other.name
        );
        let first = one.name.rsplit('_').next().unwrap_or_default();
        let report = warning(&codes::W0511, headline, one.span, format!("in {first}?"));
        return Some(
            report
                .label(other.span, format!("in {unit}?"))
                .help(format!("odec does not convert them; with units, as `{better}`, it does")),
        );
    }
    let report = warning(&codes::W0511, headline, name.span, format!("in {ending}?"));
    let places: Vec<Span> = others.iter().map(|(name, ..)| name.span).collect();
    let help = format!("odec takes the numbers as they are; with units, `{better}`, it checks and converts them");
    Some(report.also_all(places, "and here").help(help))
}

/// Warns about a name whose ending is another unit of the same quantity.
fn ending(name: &Ident, unit: &Unit) -> Option<Diagnostic> {
    let text = unit.text.trim();
    let ending = contradicted(name, text)?;
    let headline = format!("`{}` is declared in [{text}], but its name suggests {ending}", name.name);
    let report = warning(&codes::W0511, headline, unit.span, format!("[{text}]"));
    let report = report.label(name.span, format!("ends in `_{ending}`"));
    Some(report.help("odec uses the unit in brackets: give the value in this unit, and rename the quantity"))
}

/// The ending of a name if it is another unit of the same quantity as `unit`.
fn contradicted<'a>(name: &'a Ident, unit: &str) -> Option<&'a str> {
    let (_, ending) = name.name.rsplit_once('_')?;
    let group = ENDINGS.iter().position(|group| group.contains(&ending))?;
    let same = ENDINGS[group].contains(&unit) || DECLARED[group].contains(&unit);
    (same && unit != ending && !(ending == "deg" && matches!(unit, "deg" | "degree" | "degrees" | "°" | "arcdeg")))
        .then_some(ending)
}

/// Warns about a name without a declared unit, if the equations give it another unit than its ending: `tau_ms = 5` in a
/// model with `time t [s]`.
fn taken(page: &Page<'_>, name: &Ident) -> Option<Diagnostic> {
    // writing a unit takes long
    let (_, ending) = name.name.rsplit_once('_')?;
    ENDINGS.iter().any(|group| group.contains(&ending)).then_some(())?;
    let unit = page.model.units.text_of(&name.name, &page.model.time.name)?;
    let ending = contradicted(name, &unit)?;
    let headline = format!("`{}` is in [{unit}] in the equations, but its name suggests {ending}", name.name);
    let report = warning(&codes::W0511, headline, name.span, "no unit is declared");
    Some(report.help(format!("declare its unit, [{ending}] or [{unit}]: odec converts it")))
}

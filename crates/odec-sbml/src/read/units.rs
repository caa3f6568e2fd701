//! Units of a file, as texts of odec's language: `mmol`, `1/(60*s)`.
//!
//! In SBML, units never change a number. In odec they do: where two units of one dimension meet, odec inserts a factor.
//! So the import writes units only if no factor results (`written` in the root of the crate).

use std::collections::BTreeMap;

use crate::model::{Compartment, Model, Species};
use crate::plan::{amount, concentration};
use crate::xml::{Element, attribute, list};

/// The units of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UnitTable {
    /// Unit definitions.
    definitions: BTreeMap<String, Unit>,
    /// The unit that the file gives to a compartment, species or parameter, by its id.
    given: BTreeMap<String, String>,
    /// Units of the model: `time`, `substance`, `volume`, `area` and `length`.
    defaults: BTreeMap<&'static str, String>,
    /// True if the file mentions a unit.
    mentioned: bool,
    /// Why the units cannot be written.
    left_out: Option<String>,
}

/// Factors with their exponents.
type Unit = Vec<(String, f64)>;

/// Kinds of SBML and their symbols in odec.
const KINDS: [(&str, &str); 34] = [
    ("ampere", "A"),
    ("becquerel", "Bq"),
    ("candela", "cd"),
    ("coulomb", "C"),
    ("dimensionless", ""),
    ("farad", "F"),
    ("gram", "g"),
    ("gray", "Gy"),
    ("henry", "H"),
    ("hertz", "Hz"),
    ("item", "item"),
    ("joule", "J"),
    ("katal", "kat"),
    ("kelvin", "K"),
    ("kilogram", "kg"),
    ("liter", "L"),
    ("litre", "L"),
    ("lumen", "lm"),
    ("lux", "lx"),
    ("meter", "m"),
    ("metre", "m"),
    ("mole", "mol"),
    ("newton", "N"),
    ("ohm", "ohm"),
    ("pascal", "Pa"),
    ("radian", ""),
    ("second", "s"),
    ("siemens", "S"),
    ("sievert", "Sv"),
    ("steradian", ""),
    ("tesla", "T"),
    ("volt", "V"),
    ("watt", "W"),
    ("weber", "Wb"),
];

/// Prefixes, by powers of ten.
const PREFIXES: [(i32, &str); 9] =
    [(-15, "f"), (-12, "p"), (-9, "n"), (-6, "u"), (-3, "m"), (-2, "c"), (-1, "d"), (0, ""), (3, "k")];

impl UnitTable {
    /// The units of a model, from its element.
    pub fn of(level: u32, node: Element<'_>) -> UnitTable {
        let mut table = UnitTable::default();
        for part in list(node, "listOfUnitDefinitions") {
            let id = attribute(part, if level == 1 { "name" } else { "id" }).unwrap_or_default().to_string();
            match list(part, "listOfUnits").map(unit).collect::<Result<Vec<Unit>, String>>() {
                Ok(units) => _ = table.definitions.insert(id, merged(units.into_iter().flatten())),
                Err(why) => table.leave_out(&why),
            }
            table.mentioned = true;
        }
        for name in ["time", "substance", "volume", "area", "length"] {
            let given = attribute(node, &format!("{name}Units")).map(str::to_string);
            table.mentioned |= given.is_some();
            // before Level 3, a unit definition can have such a name
            let unit = given.or_else(|| (level < 3).then(|| name.to_string()));
            table.defaults.extend(unit.map(|unit| (name, unit)));
        }
        if level < 3 {
            let builtin = [("time", "s", 1.0), ("substance", "mol", 1.0), ("volume", "L", 1.0)];
            for (name, symbol, power) in builtin.into_iter().chain([("area", "m", 2.0), ("length", "m", 1.0)]) {
                table.definitions.entry(name.to_string()).or_insert_with(|| vec![(symbol.to_string(), power)]);
            }
        }
        table
    }

    /// Notes the unit of a compartment, species or parameter.
    pub fn note(&mut self, id: &str, node: Element<'_>) {
        let unit = attribute(node, "units").or_else(|| attribute(node, "substanceUnits"));
        if let Some(unit) = unit.filter(|unit| !unit.is_empty()) {
            self.given.insert(id.to_string(), unit.to_string());
            self.mentioned = true;
        }
    }

    /// Gives up the units, for a reason that the text names.
    pub fn leave_out(&mut self, why: &str) {
        self.left_out.get_or_insert_with(|| why.to_string());
    }

    fn find(&self, id: &str) -> Result<Unit, String> {
        let kind = || KINDS.iter().find(|(kind, _)| *kind == id).map(|(_, symbol)| of_symbol(symbol));
        self.definitions.get(id).cloned().or_else(kind).ok_or_else(|| format!("odec does not know the unit `{id}`"))
    }

    /// A given unit, or that of the model.
    fn unit(&self, id: &str, default: &str) -> Result<Option<Unit>, String> {
        let name = self.given.get(id).or_else(|| self.defaults.get(default));
        name.map(|name| self.find(name)).transpose()
    }

    fn size(&self, compartment: &Compartment) -> Result<Option<Unit>, String> {
        let default = [(3.0, "volume"), (2.0, "area"), (1.0, "length")];
        let default = default.iter().find(|(n, _)| *n == compartment.dimensions).map_or("", |(_, name)| *name);
        self.unit(&compartment.base.id, default)
    }

    fn species(&self, species: &Species, model: &Model) -> Result<[Option<Unit>; 2], String> {
        let amount = self.unit(&species.base.id, "substance")?;
        let compartment = model.compartments.iter().find(|c| c.base.id == species.compartment);
        let size = compartment.map(|compartment| self.size(compartment)).transpose()?.flatten();
        let both = amount.clone().zip(size);
        let per_size =
            both.map(|(amount, size)| merged(amount.into_iter().chain(size.into_iter().map(|(s, n)| (s, -n)))));
        Ok([amount, per_size])
    }

    /// The units of all quantities, by key; `None` if the file mentions no unit.
    ///
    /// # Errors
    /// The reason for which there are none, as a sentence without its end.
    pub fn written(model: &Model) -> Option<Result<UnitTexts, String>> {
        let table = &model.units;
        table.mentioned.then(|| table.texts(model))
    }

    fn texts(&self, model: &Model) -> Result<UnitTexts, String> {
        if let Some(why) = &self.left_out {
            return Err(why.clone());
        }
        let mut found = BTreeMap::new();
        let mut add = |key: String, unit: Option<Unit>| _ = unit.map(|unit| found.insert(key, written(&unit)));
        for compartment in &model.compartments {
            add(compartment.base.id.clone(), self.size(compartment)?);
        }
        for species in &model.species {
            let [all, per_size] = self.species(species, model)?;
            add(amount(&species.base.id), all);
            add(concentration(&species.base.id), per_size);
        }
        for parameter in &model.parameters {
            add(parameter.base.id.clone(), self.unit(&parameter.base.id, "")?);
        }
        let time = self.defaults.get("time").map(|name| self.find(name)).transpose()?;
        let items = found.values().any(|text| text.contains("item"));
        Ok(UnitTexts { time: time.map(|unit| written(&unit)), of: found, items })
    }
}

/// The units of a model in odec's language.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitTexts {
    /// That of the time.
    pub time: Option<String>,
    /// Those of quantities, by key.
    pub of: BTreeMap<String, String>,
    /// True if they contain `item`, which the text must declare.
    pub items: bool,
}

fn of_symbol(symbol: &str) -> Unit {
    if symbol.is_empty() { vec![] } else { vec![(symbol.to_string(), 1.0)] }
}

/// One `<unit>`: (multiplier * 10^scale * kind)^exponent.
fn unit(node: Element<'_>) -> Result<Unit, String> {
    let kind = attribute(node, "kind").unwrap_or_default();
    let Some((_, symbol)) = KINDS.iter().find(|(name, _)| *name == kind) else {
        return Err(format!("odec does not know the unit `{kind}`"));
    };
    let number = |name: &str, default: f64| match attribute(node, name) {
        None => Ok(default),
        Some(text) => text.parse::<f64>().ok().filter(|v| v.is_finite()).ok_or(format!("`{text}` is not a number")),
    };
    let (exponent, multiplier) = (number("exponent", 1.0)?, number("multiplier", 1.0)?);
    let (scale, offset) = (number("scale", 0.0)?, number("offset", 0.0)?);
    if offset != 0.0 || multiplier <= 0.0 || scale.fract() != 0.0 || scale.abs() > 60.0 {
        return Err(format!("odec has no such multiple of the unit `{kind}`"));
    }
    let scale = scale as i32;
    let prefix = PREFIXES.iter().find(|(power, _)| *power == scale).map(|(_, prefix)| *prefix);
    let plain = multiplier == 1.0 && scale == 0;
    let named = match (*symbol, multiplier, prefix) {
        (symbol, ..) if plain => Some(symbol.to_string()),
        ("s", 60.0, Some("")) => Some("min".to_string()),
        ("s", 3600.0, Some("")) => Some("h".to_string()),
        ("s", 86400.0, Some("")) => Some("day".to_string()),
        ("kg", 1.0, Some("m")) => Some("g".to_string()),
        ("kg" | "item" | "", ..) => None,
        (symbol, 1.0, Some(prefix)) => Some(format!("{prefix}{symbol}")),
        _ => None,
    };
    let scaled = || {
        let number = if scale == 0 { format!("{multiplier}") } else { format!("{multiplier}e{scale}") };
        if symbol.is_empty() { number } else { format!("({number}*{symbol})") }
    };
    Ok(match named.unwrap_or_else(scaled) {
        empty if empty.is_empty() => vec![],
        base => vec![(base, exponent)],
    })
}

/// Factors with equal bases become one.
fn merged(unit: impl Iterator<Item = (String, f64)>) -> Unit {
    let mut found: Unit = vec![];
    for (base, exponent) in unit {
        match found.iter_mut().find(|(known, _)| *known == base) {
            Some((_, sum)) => *sum += exponent,
            None => found.push((base, exponent)),
        }
    }
    found.retain(|(_, exponent)| *exponent != 0.0);
    found
}

/// `mol/(L*s)`
fn written(unit: &Unit) -> String {
    let power = |base: &str, n: f64| if n == 1.0 { base.to_string() } else { format!("{base}^{n}") };
    let side = |sign: f64| -> Vec<String> {
        let there = unit.iter().filter(|(_, n)| n * sign > 0.0);
        there.map(|(base, n)| power(base, n.abs())).collect()
    };
    let (top, bottom) = (side(1.0), side(-1.0));
    let top = if top.is_empty() { "1".to_string() } else { top.join("*") };
    match bottom.as_slice() {
        [] => top,
        [one] => format!("{top}/{one}"),
        many => format!("{top}/({})", many.join("*")),
    }
}

//! The elements and attributes of SBML, by level. Anything else is an error: the reader only searches for known
//! names, so it would ignore a misspelt `listOfRulez`.

use std::collections::BTreeMap;

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;

use crate::report::Report;
use crate::xml::{Element, span};

/// An element: its name, its attributes, and the elements in it. `size@23` exists in Levels 2 and 3. `*` follows the
/// elements of a list, which may occur several times.
type Row = (&'static str, &'static str, &'static str);

/// Attributes that every element may have. Before Level 3 Version 2, ids and names exist on fewer elements; on the
/// others they mean nothing.
const EVERYWHERE: &str = "id name metaid sboTerm";

/// Elements that every element may contain. `annotations` is the name in Level 1 Version 1.
const INSIDE_ALL: &str = "notes annotation annotations";

const ROWS: &[Row] = &[
    ("sbml", "level version", "model"),
    (
        "model",
        "substanceUnits@3 timeUnits@3 volumeUnits@3 areaUnits@3 lengthUnits@3 extentUnits@3 conversionFactor@3",
        "listOfFunctionDefinitions@23 listOfUnitDefinitions listOfCompartmentTypes@2 listOfSpeciesTypes@2 \
         listOfCompartments listOfSpecies listOfParameters listOfInitialAssignments@23 listOfRules \
         listOfConstraints@23 listOfReactions listOfEvents@23",
    ),
    ("listOfFunctionDefinitions", "", "functionDefinition*"),
    ("listOfUnitDefinitions", "", "unitDefinition*"),
    ("listOfCompartmentTypes", "", "compartmentType*"),
    ("listOfSpeciesTypes", "", "speciesType*"),
    ("listOfCompartments", "", "compartment*"),
    ("listOfSpecies", "", "species* specie*@1"),
    ("listOfParameters", "", "parameter*"),
    ("listOfLocalParameters", "", "localParameter*"),
    ("listOfInitialAssignments", "", "initialAssignment*"),
    (
        "listOfRules",
        "",
        "algebraicRule* assignmentRule*@23 rateRule*@23 compartmentVolumeRule*@1 speciesConcentrationRule*@1 \
         specieConcentrationRule*@1 parameterRule*@1",
    ),
    ("listOfConstraints", "", "constraint*"),
    ("listOfReactions", "", "reaction*"),
    ("listOfEvents", "", "event*"),
    ("listOfUnits", "", "unit*"),
    ("listOfReactants", "", "speciesReference* specieReference*@1"),
    ("listOfProducts", "", "speciesReference* specieReference*@1"),
    ("listOfModifiers", "", "modifierSpeciesReference*"),
    ("listOfEventAssignments", "", "eventAssignment*"),
    ("functionDefinition", "", "math"),
    ("unitDefinition", "", "listOfUnits"),
    ("unit", "kind exponent scale multiplier@23 offset@2", ""),
    ("compartmentType", "", ""),
    ("speciesType", "", ""),
    ("compartment", "units outside@12 volume@1 spatialDimensions@23 size@23 constant@23 compartmentType@2", ""),
    ("species", SPECIES, ""),
    ("specie", SPECIES, ""),
    ("parameter", "units value constant@23", ""),
    ("localParameter", "units value", ""),
    ("initialAssignment", "symbol", "math"),
    ("algebraicRule", "formula@1 type@1 units@1", "math"),
    ("assignmentRule", "variable", "math"),
    ("rateRule", "variable", "math"),
    ("compartmentVolumeRule", RULE, ""),
    ("speciesConcentrationRule", RULE, ""),
    ("specieConcentrationRule", RULE, ""),
    ("parameterRule", RULE, ""),
    ("constraint", "", "math message"),
    ("reaction", "reversible fast compartment@3", "listOfReactants listOfProducts listOfModifiers@23 kineticLaw"),
    ("speciesReference", REFERENCE, "stoichiometryMath@2"),
    ("specieReference", REFERENCE, ""),
    ("modifierSpeciesReference", "species", ""),
    ("stoichiometryMath", "", "math"),
    ("kineticLaw", "formula@1 substanceUnits@12 timeUnits@12", "math listOfParameters@12 listOfLocalParameters@3"),
    ("event", "timeUnits@2 useValuesFromTriggerTime@23", "trigger delay priority@3 listOfEventAssignments"),
    ("trigger", "persistent@3 initialValue@3", "math"),
    ("delay", "", "math"),
    ("priority", "", "math"),
    ("eventAssignment", "variable", "math"),
];

const SPECIES: &str = "compartment initialAmount initialConcentration@23 substanceUnits@23 spatialSizeUnits@2 units@1 \
                       hasOnlySubstanceUnits@23 boundaryCondition charge constant@23 speciesType@2 \
                       conversionFactor@3";
const RULE: &str = "formula type units compartment species specie";
const REFERENCE: &str = "species specie@1 stoichiometry denominator@1 constant@3";

/// Attributes that Level 3 requires, and what odec assumes without them.
const REQUIRED: [(&str, &str, &str); 9] = [
    ("compartment", "constant", "false"),
    ("species", "hasOnlySubstanceUnits", "false"),
    ("species", "boundaryCondition", "false"),
    ("species", "constant", "false"),
    ("parameter", "constant", "false"),
    ("speciesReference", "constant", "false"),
    ("event", "useValuesFromTriggerTime", "true"),
    ("trigger", "persistent", "true"),
    ("trigger", "initialValue", "true"),
];

/// The names of a row in one level, and whether they may occur several times.
fn names(list: &'static str, level: u32) -> impl Iterator<Item = (&'static str, bool)> {
    list.split_whitespace().filter_map(move |word| {
        let (name, levels) = word.split_once('@').unwrap_or((word, "123"));
        let here = levels.contains(&level.to_string());
        here.then(|| (name.trim_end_matches('*'), name.ends_with('*')))
    })
}

/// Checks an element and its contents.
pub fn check(level: u32, node: Element<'_>, report: &mut Report) {
    let core = node.document().root_element().tag_name().namespace().map(str::to_string);
    let mut checker = Checker { level, core, report, missing: BTreeMap::new() };
    let root = if node.has_tag_name("sbml") { "sbml" } else { "model" };
    checker.element(root, node);
    checker.required();
}

struct Checker<'r> {
    level: u32,
    /// The namespace of the level.
    core: Option<String>,
    report: &'r mut Report,
    /// Missing required attributes, with their number and first place.
    missing: BTreeMap<usize, (usize, Span)>,
}

impl Checker<'_> {
    /// Checks an element of this kind.
    fn element(&mut self, kind: &'static str, node: Element<'_>) {
        let Some((_, attributes, children)) = ROWS.iter().find(|(name, ..)| *name == kind) else { return };
        self.attributes(kind, attributes, node);
        let mut seen: Vec<&str> = vec![];
        for child in node.children() {
            if child.is_text() && child.text().is_some_and(|text| !text.trim().is_empty()) {
                let range = child.range();
                let headline = format!("`<{kind}>` contains text");
                self.report.error(&codes::E0813, headline, Span::new(range.start, range.end), "SBML has no text here");
            }
            if child.is_element() {
                self.child(kind, children, child, &mut seen);
            }
        }
    }

    fn attributes(&mut self, kind: &str, allowed: &'static str, node: Element<'_>) {
        for attribute in node.attributes().filter(|attribute| attribute.namespace().is_none()) {
            let known = || names(allowed, self.level).chain(names(EVERYWHERE, self.level)).map(|(name, _)| name);
            if !known().any(|name| name == attribute.name()) {
                let range = attribute.range();
                let headline =
                    format!("`<{kind}>` has no attribute `{}`{}", attribute.name(), self.in_level(attribute.name()));
                let near = suggest::nearest(attribute.name(), known());
                self.unknown(headline, Span::new(range.start, range.end), &near);
            }
        }
        if self.level == 3 {
            for (k, (of, name, _)) in REQUIRED.iter().enumerate() {
                if *of == kind && node.attribute(*name).is_none() {
                    self.missing.entry(k).or_insert((0, span(node))).0 += 1;
                }
            }
        }
    }

    fn child(&mut self, kind: &str, allowed: &'static str, child: Element<'_>, seen: &mut Vec<&'static str>) {
        let name = child.tag_name().name();
        let namespace = child.tag_name().namespace().filter(|namespace| !namespace.is_empty());
        if namespace != self.core.as_deref() && name != "math" {
            // packages and private additions have namespaces of their own
            let sbml = namespace.is_none_or(|n| n.starts_with("http://www.sbml.org/sbml/level") && is_core(n));
            if sbml {
                let headline = format!("`<{name}>` is not in the namespace of the file");
                let label = format!("its namespace: {}", namespace.unwrap_or("none"));
                self.report.error(&codes::E0813, headline, span(child), label);
            }
            return;
        }
        if names(INSIDE_ALL, self.level).any(|(known, _)| known == name) {
            return;
        }
        // the reader reports a `<math>` outside the namespace of MathML
        let known = || names(allowed, self.level).filter(|(name, _)| *name != "math" || self.level > 1);
        let Some((name, several)) = known().find(|(known, _)| *known == name) else {
            let headline = format!("`<{kind}>` contains no `<{name}>`{}", self.in_level(name));
            let near = suggest::nearest(name, known().map(|(name, _)| name));
            return self.unknown(headline, span(child), &near);
        };
        if !several && seen.contains(&name) {
            let headline = format!("`<{kind}>` contains `<{name}>` twice");
            self.report.error(&codes::E0813, headline, span(child), "the second one");
        }
        seen.push(name);
        if name != "math" {
            self.element(name, child);
        }
    }

    /// The levels of a name that exists elsewhere.
    fn in_level(&self, name: &str) -> String {
        let somewhere = |list: &'static str| (1..=3).any(|level| names(list, level).any(|(known, _)| known == name));
        let known = ROWS.iter().flat_map(|(_, a, b)| [*a, *b]).any(somewhere);
        if known { format!(" in Level {}", self.level) } else { String::new() }
    }

    fn unknown(&mut self, headline: String, at: Span, near: &[&str]) {
        let report = Diagnostic::error(&codes::E0813, headline).label(at, "not in SBML");
        self.report.push(match near {
            [] => report,
            [one] => report.help(format!("did you mean `{one}`?")),
            several => report.help(format!("did you mean {}?", suggest::any_of(several))),
        });
    }

    /// Warns of required attributes that are missing, once for each.
    fn required(&mut self) {
        for (k, (count, first)) in &self.missing {
            let (kind, name, value) = REQUIRED[*k];
            let headline = match count {
                1 => format!("`<{kind}>` has no `{name}`, so odec uses `{value}`"),
                _ => format!("{count} elements `<{kind}>` have no `{name}`, so odec uses `{value}`"),
            };
            self.report.warning(&codes::W0804, headline, *first, "Level 3 requires this attribute");
        }
    }
}

/// True for the namespace of SBML itself in some level, rather than that of a package.
fn is_core(namespace: &str) -> bool {
    let rest = namespace.trim_start_matches("http://www.sbml.org/sbml/level");
    !rest.contains('/') || rest.ends_with("/core") || rest.starts_with("2/version")
}

//! A model as the files of an FMU, for FMI 3.0 model exchange: `modelDescription.xml`, the C source of the model, and
//! `runtime/fmi3.c` with the functions of the standard (<https://fmi-standard.org/docs/3.0/>).
//!
//! | value references | variables |
//! |---|---|
//! | 0 | time |
//! | 1, ... | states, then their derivatives, parameters, discretes, outputs, indicators of events |

use std::collections::HashSet;
use std::fmt::Write;

use odec_ir::derive::along_solution;
use odec_ir::interface::events::{EventFunction, EventInterface};
use odec_ir::interface::{self, BoundForExport, Content};
use odec_ir::interpret::{Inputs, Interpreter};
use odec_ir::switch::{EventDraft, LocatedSwitches, Switching};
use odec_ir::{KernelRole, Program, Role};

use crate::{EmitError, Options, hybrid, literal};

/// The functions of the standard, in C, for a model named `model`.
const FUNCTIONS: &str = include_str!("runtime/fmi3.c");

/// Prefix of the C names in the sources of an FMU.
const PREFIX: &str = "model";

/// Largest number of variables of an FMU: each is an element of `modelDescription.xml`, which importers load completely.
pub const MAX_VARIABLES: usize = 100_000;

/// Smallest nominal value: FMI does not permit 0, which `atol = 0` would give.
const MIN_NOMINAL: f64 = 1e-200;

/// Smallest tolerance of the default experiment: that of solvers in double precision.
const MIN_TOLERANCE: f64 = 1e-13;

/// A unit in base units of the SI.
#[derive(Clone, Debug, PartialEq)]
pub struct FmuUnit {
    /// The unit as written in the model.
    pub name: String,
    /// Names of base units with their exponents, and the factor; `None` if FMI has no such unit.
    pub base: Option<(Vec<(&'static str, i64)>, f64)>,
}

/// Facts about the model that the program does not contain.
pub struct FmuContext<'a> {
    /// The name of time.
    pub time: &'a str,
    /// All units.
    pub units: Vec<FmuUnit>,
    /// The unit of a quantity.
    pub unit_of: &'a dyn Fn(&str) -> Option<String>,
    /// Start and end of its run, if it has one.
    pub span: [Option<f64>; 2],
    /// The relative tolerance of its run.
    pub rtol: f64,
    /// The absolute tolerances of the states: one for all, or one for each.
    pub atol: Vec<f64>,
}

impl FmuContext<'_> {
    /// The nominal value of a state with this absolute tolerance. Importers multiply it by their relative tolerance,
    /// some also by 0.01: the product is at most the tolerance of the model.
    fn nominal(&self, atol: f64) -> f64 {
        (atol / self.tolerance()).clamp(MIN_NOMINAL, 1.0 / MIN_NOMINAL)
    }

    fn atol_at(&self, state: usize) -> f64 {
        if let [one] = self.atol[..] { one } else { self.atol[state] }
    }

    /// The tolerance of the default experiment.
    fn tolerance(&self) -> f64 {
        self.rtol.max(MIN_TOLERANCE)
    }
}

/// The files of an FMU, except for compiled ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Fmu {
    /// Name of the compiled library, without its extension.
    pub identifier: String,
    /// Paths and texts.
    pub files: Vec<(String, String)>,
    /// The files to compile.
    pub sources: Vec<String>,
}

/// Writes the files of an FMU. `switching` describes the modes of the program, if it has any.
///
/// # Errors
/// [`EmitError::BadPrefix`], [`EmitError::NotExplicit`], [`EmitError::TooManyVariables`], extents that do not fit.
pub fn fmu(
    program: &Program,
    switching: Option<&Switching>,
    options: &Options,
    context: &FmuContext<'_>,
) -> Result<Fmu, EmitError> {
    let identifier = crate::checked_prefix(options)?.to_string();
    if program.mass.is_some() || program.has(KernelRole::Mass) {
        return Err(EmitError::NotExplicit);
    }
    let none;
    let switching = match switching {
        Some(switching) => switching,
        None => {
            none = LocatedSwitches::default().finish(program, EventDraft::default(), None);
            &none
        }
    };
    let mut events = EventInterface::of(program, switching)?;
    events.functions.push(slopes(program)?);
    let settled = BoundForExport::of(program)?;
    let source = hybrid::source_of(&settled, &events, PREFIX)?;
    let inner = Options { prefix: PREFIX.to_string() };
    let header = hybrid::header_of(program, &settled, &events, &inner)?;
    let token = token(&[&source, &header]);
    let description = Description::of(&settled, &events, context)?;
    let xml = description.xml(program, &identifier, &token);
    let nominals: Vec<String> = context.atol.iter().map(|atol| literal::number(context.nominal(*atol))).collect();
    let functions = FUNCTIONS.replace("@TOKEN@", &token).replace("@NOMINALS@", &nominals.join(", "));
    let sources = vec!["model.c".to_string(), "fmi3.c".to_string()];
    let files = [
        ("modelDescription.xml", xml),
        ("sources/buildDescription.xml", build(&identifier, &sources)),
        ("sources/model.c", source),
        ("sources/model.h", header),
        ("sources/fmi3.c", functions),
    ];
    let files = files.map(|(path, text)| (path.to_string(), text));
    Ok(Fmu { identifier, files: files.to_vec(), sources })
}

/// The derivatives of outputs along the direction (w, 1) in (y, t).
fn slopes(program: &Program) -> Result<EventFunction, EmitError> {
    let mut changed = program.clone();
    changed.kernels =
        program.kernels_of(KernelRole::Outputs).map(|kernel| along_solution(kernel, &program.arrays)).collect();
    changed.jacobian = odec_ir::Pattern::default();
    changed.parameter_jacobian = odec_ir::Pattern::default();
    let settled = BoundForExport::of(&changed)?;
    Ok(EventFunction { suffix: "slopes", doc: "directional derivatives of the outputs along y' = w, t' = 1", settled })
}

/// A hash of these texts (FNV-1a with 128 bits, Fowler, Noll & Vo).
fn token(texts: &[&str]) -> String {
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for byte in texts.iter().flat_map(|text| text.bytes()) {
        hash = (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    }
    format!("{{{hash:032x}}}")
}

/// A variable.
struct Variable {
    name: String,
    unit: Option<String>,
    about: Option<String>,
    /// Attributes other than name, value reference, unit and description.
    rest: String,
    reference: usize,
}

/// The variables and lists of the XML.
struct Description<'a> {
    context: &'a FmuContext<'a>,
    variables: Vec<Variable>,
    outputs: Vec<usize>,
    rates: Vec<usize>,
    indicators: Vec<usize>,
    /// Variables that the importer does not set.
    unknown: Vec<usize>,
}

impl<'a> Description<'a> {
    fn of(
        settled: &BoundForExport,
        events: &EventInterface,
        context: &'a FmuContext<'a>,
    ) -> Result<Description<'a>, EmitError> {
        let texts = |suffix: &str| {
            let all = settled.constants().into_iter().chain(events.constants.iter().cloned());
            match all.into_iter().find(|constant| constant.suffix == suffix).map(|constant| constant.content) {
                Some(Content::Texts(list)) => list,
                _ => Vec::new(),
            }
        };
        let relations = list(events, "guard_left").len();
        let (n, np) = (settled.layout.n, settled.layout.np);
        let (states, parameters, discretes) = (texts("state_names"), texts("parameter_names"), texts("discrete_names"));
        let recorded = texts("output_names").into_iter().take(settled.layout.outputs).collect::<Vec<_>>();
        let total = 1 + 2 * n + np + discretes.len() + recorded.len() + relations;
        if total > MAX_VARIABLES {
            return Err(EmitError::TooManyVariables(total));
        }
        let taken = HashSet::new();
        let (outputs, rates, indicators, unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut all = Description { context, variables: Vec::new(), outputs, rates, indicators, unknown };
        let mut names = Names { taken, docs: docs(&settled.program) };
        all.add(&mut names, context.time, 0, "causality=\"independent\" variability=\"continuous\"".to_string());
        let (p, starts) = starts(settled);
        for (i, name) in states.iter().enumerate() {
            let (start, nominal) = (number(starts[i]), number(context.nominal(context.atol_at(i))));
            let rest = "causality=\"output\" variability=\"continuous\" initial=\"exact\"";
            let rest = format!("{rest} start=\"{start}\" nominal=\"{nominal}\"");
            all.add(&mut names, name, 1 + i, rest);
            all.outputs.push(1 + i);
        }
        for (i, name) in states.iter().enumerate() {
            let of = 1 + i;
            let rest = "causality=\"local\" variability=\"continuous\" initial=\"calculated\"";
            let rest = format!("{rest} derivative=\"{of}\"");
            all.add_as(&mut names, &format!("der({name})"), &format!("{name}'"), 1 + n + i, rest);
            all.rates.push(1 + n + i);
            all.unknown.push(1 + n + i);
        }
        for (i, name) in parameters.iter().enumerate() {
            let start = number(p[i]);
            let rest = format!("causality=\"parameter\" variability=\"fixed\" initial=\"exact\" start=\"{start}\"");
            all.add(&mut names, name, 1 + 2 * n + i, rest);
        }
        let first = 1 + 2 * n + np + discretes.len();
        for (i, name) in recorded.iter().enumerate() {
            // a state or parameter of this name already exists
            if names.taken.contains(name) {
                continue;
            }
            let variability = if discretes.contains(name) { "discrete" } else { "continuous" };
            let rest = format!("causality=\"output\" variability=\"{variability}\" initial=\"calculated\"");
            all.add(&mut names, name, first + i, rest);
            all.outputs.push(first + i);
            all.unknown.push(first + i);
        }
        // the numbers of counters and the ends of their intervals have no names in the model
        let counters = list(events, "counter_places");
        let first_discrete = settled.layout.p_len() - settled.layout.modes - settled.layout.discretes;
        for (i, name) in discretes.iter().enumerate() {
            if names.taken.contains(name) || counters.contains(&((first_discrete + i) as i32)) {
                continue;
            }
            let rest = "causality=\"local\" variability=\"discrete\" initial=\"calculated\"".to_string();
            all.add(&mut names, name, 1 + 2 * n + np + i, rest);
        }
        for i in 0..relations {
            let reference = first + recorded.len() + i;
            let rest = "causality=\"local\" variability=\"continuous\" initial=\"calculated\"".to_string();
            all.add_as(&mut names, &format!("surface({i})"), "", reference, rest);
            all.indicators.push(reference);
        }
        Ok(all)
    }

    fn add(&mut self, names: &mut Names, name: &str, reference: usize, rest: String) {
        self.add_as(names, name, name, reference, rest);
    }

    /// A variable with the unit of a quantity.
    fn add_as(&mut self, names: &mut Names, name: &str, quantity: &str, reference: usize, rest: String) {
        let unit = if quantity.is_empty() { None } else { (self.context.unit_of)(quantity) };
        let unit = unit.filter(|unit| self.context.units.iter().any(|known| known.name == *unit));
        names.taken.insert(name.to_string());
        let base = name.split('[').next().unwrap_or(name);
        let about = names.docs.iter().find(|(of, _)| of == base).map(|(_, about)| about.clone());
        self.variables.push(Variable { name: name.to_string(), unit, about, rest, reference });
    }

    fn xml(&self, program: &Program, identifier: &str, token: &str) -> String {
        let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        let name = escaped(&program.name);
        let _ = writeln!(
            xml,
            "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"{name}\" instantiationToken=\"{token}\" \
             generationTool=\"odec {}\" variableNamingConvention=\"flat\">",
            env!("CARGO_PKG_VERSION")
        );
        let _ = writeln!(
            xml,
            "  <ModelExchange modelIdentifier=\"{identifier}\" canGetAndSetFMUState=\"true\" \
             providesDirectionalDerivatives=\"true\" needsCompletedIntegratorStep=\"true\"/>"
        );
        self.units(&mut xml);
        let [start, end] = self.context.span;
        let named = [("startTime", start), ("stopTime", end), ("tolerance", Some(self.context.tolerance()))];
        let given: String =
            named.into_iter().filter_map(|(name, value)| Some(format!(" {name}=\"{}\"", number(value?)))).collect();
        xml.push_str("  <LogCategories>\n    <Category name=\"info\"/>\n    <Category name=\"error\"/>\n");
        xml.push_str("  </LogCategories>\n");
        let _ = writeln!(xml, "  <DefaultExperiment{given}/>");
        xml.push_str("  <ModelVariables>\n");
        for variable in &self.variables {
            let attribute = |name: &str, value: &Option<String>| {
                value.as_ref().map_or(String::new(), |value| format!(" {name}=\"{}\"", escaped(value)))
            };
            let _ = writeln!(
                xml,
                "    <Float64 name=\"{}\" valueReference=\"{}\"{}{} {}/>",
                escaped(&variable.name),
                variable.reference,
                attribute("unit", &variable.unit),
                attribute("description", &variable.about),
                variable.rest
            );
        }
        xml.push_str("  </ModelVariables>\n  <ModelStructure>\n");
        let lists = [
            ("Output", &self.outputs),
            ("ContinuousStateDerivative", &self.rates),
            ("InitialUnknown", &self.unknown),
            ("EventIndicator", &self.indicators),
        ];
        for (element, list) in lists {
            for reference in list {
                let _ = writeln!(xml, "    <{element} valueReference=\"{reference}\"/>");
            }
        }
        xml.push_str("  </ModelStructure>\n</fmiModelDescription>\n");
        xml
    }

    fn units(&self, xml: &mut String) {
        if self.context.units.is_empty() {
            return;
        }
        xml.push_str("  <UnitDefinitions>\n");
        for unit in &self.context.units {
            let name = escaped(&unit.name);
            let Some((exponents, factor)) = &unit.base else {
                let _ = writeln!(xml, "    <Unit name=\"{name}\"/>");
                continue;
            };
            let exponents: String = exponents.iter().map(|(base, power)| format!(" {base}=\"{power}\"")).collect();
            let factor = if *factor == 1.0 { String::new() } else { format!(" factor=\"{}\"", number(*factor)) };
            let _ = writeln!(xml, "    <Unit name=\"{name}\">\n      <BaseUnit{exponents}{factor}/>\n    </Unit>");
        }
        xml.push_str("  </UnitDefinitions>\n");
    }
}

/// A table of the interface.
fn list<'a>(events: &'a EventInterface, suffix: &str) -> &'a [i32] {
    match events.constants.iter().find(|constant| constant.suffix == suffix).map(|constant| &constant.content) {
        Some(Content::Integers(list)) => list,
        _ => &[],
    }
}

/// The names in use, and the attributes of quantities in the model.
struct Names {
    taken: HashSet<String>,
    docs: Vec<(String, String)>,
}

fn docs(program: &Program) -> Vec<(String, String)> {
    let about = |array: &odec_ir::Array| Some((array.name.clone(), array.doc.clone()?));
    let shown = |role: Role| !matches!(role, Role::Mode | Role::Side | Role::Staged | Role::Table | Role::Size);
    program.arrays.iter().filter(|array| shown(array.role)).filter_map(about).collect()
}

/// Values of the parameters, and initial values of the states at time 0.
fn starts(settled: &BoundForExport) -> (Vec<f64>, Vec<f64>) {
    let (program, layout) = (&settled.program, &settled.layout);
    let mut p = vec![0.0; layout.p_len()];
    for constant in settled.constants() {
        if let (interface::Content::Numbers(defaults), "defaults") = (&constant.content, constant.suffix) {
            p[..defaults.len().min(layout.np)].copy_from_slice(&defaults[..defaults.len().min(layout.np)]);
        }
    }
    let data = settled.data();
    p[layout.np + layout.staged..][..data.len()].copy_from_slice(&data);
    let still = vec![0.0; layout.n];
    let interpreter = Interpreter::new(program);
    let mut prepared = p.clone();
    let inputs = Inputs { t: 0.0, y: &still, p: &p, w: &still };
    interpreter.run(program, &settled.bound, KernelRole::Prepare, inputs, &mut prepared);
    let mut y = vec![0.0; layout.n];
    let inputs = Inputs { t: 0.0, y: &still, p: &prepared, w: &still };
    interpreter.run(program, &settled.bound, KernelRole::Initial, inputs, &mut y);
    (prepared, y)
}

/// The build description.
fn build(identifier: &str, sources: &[String]) -> String {
    let files: String = sources.iter().map(|name| format!("      <SourceFile name=\"{name}\"/>\n")).collect();
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<fmiBuildDescription fmiVersion=\"3.0\">\n  \
         <BuildConfiguration modelIdentifier=\"{identifier}\">\n    <SourceFileSet language=\"C99\">\n{files}    \
         </SourceFileSet>\n  </BuildConfiguration>\n</fmiBuildDescription>\n"
    )
}

/// A number as text in XML.
fn number(value: f64) -> String {
    if value.is_nan() {
        "NaN".to_string()
    } else if value.is_infinite() {
        if value > 0.0 { "INF" } else { "-INF" }.to_string()
    } else {
        format!("{value:?}")
    }
}

/// Text for an attribute of XML. Characters that XML does not permit become spaces.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for sign in text.chars() {
        match sign {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            sign => escaped.push(sign),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::{escaped, number, token};

    #[test]
    fn attributes_hold_any_text() {
        assert_eq!(escaped("x' < \"1\" & y\n"), "x&apos; &lt; &quot;1&quot; &amp; y ");
        assert_eq!([0.1, 1e-300, f64::INFINITY].map(number), ["0.1", "1e-300", "INF"]);
        assert_ne!(token(&["a", "b"]), token(&["b", "a"]));
    }
}

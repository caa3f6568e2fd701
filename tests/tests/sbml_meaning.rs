//! Semantics of SBML for amounts, volumes, events and names: small models with solutions by hand.
//!
//! Formulas are lists, operator first: `(times k (plus A 1))`. `time` is the time, `(rateOf x)` a derivative, `(delay
//! x 1)` an earlier value.

use std::collections::BTreeMap;

use odec_tests::command::{run_in, scratch};

const MATHML: &str = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";

/// A formula as MathML.
pub fn math(formula: &str) -> String {
    let spaced = formula.replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let content = element(&mut words);
    assert!(words.next().is_none(), "{formula}");
    format!("{MATHML}{content}</math>")
}

fn element<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> String {
    let symbol =
        |name: &str| format!("<csymbol encoding='text' definitionURL='http://www.sbml.org/sbml/symbols/{name}'/>");
    let word = words.next().expect("a formula");
    if word != "(" {
        return match word {
            "time" => symbol("time"),
            number if number.parse::<f64>().is_ok() => format!("<cn>{number}</cn>"),
            id => format!("<ci>{id}</ci>"),
        };
    }
    let head = words.next().expect("an operator");
    let mut operands = vec![];
    while words.peek() != Some(&")") {
        operands.push(element(words));
    }
    words.next();
    let all = operands.concat();
    match head {
        "rateOf" | "delay" => format!("<apply>{}{all}</apply>", symbol(head)),
        "piecewise" => {
            let pieces = operands.chunks(2).map(|pair| match pair {
                [value, condition] => format!("<piece>{value}{condition}</piece>"),
                rest => format!("<otherwise>{}</otherwise>", rest.concat()),
            });
            format!("<piecewise>{}</piecewise>", pieces.collect::<String>())
        }
        function if function.starts_with("f_") => format!("<apply><ci>{function}</ci>{all}</apply>"),
        operator => format!("<apply><{operator}/>{all}</apply>"),
    }
}

/// The parts of a model of Level 3.
#[derive(Default)]
pub struct Parts {
    pub attributes: String,
    functions: String,
    compartments: String,
    species: String,
    parameters: String,
    initial: String,
    rules: String,
    pub reactions: String,
    events: String,
}

impl Parts {
    pub fn compartment(mut self, id: &str, size: f64) -> Self {
        self.compartments += &format!("<compartment id='{id}' spatialDimensions='3' size='{size}' constant='false'/>");
        self
    }

    /// `rest`: further attributes.
    pub fn species(mut self, id: &str, compartment: &str, rest: &str) -> Self {
        let flag = |name: &str| if rest.contains(name) { String::new() } else { format!(" {name}='false'") };
        let flags = ["hasOnlySubstanceUnits", "boundaryCondition", "constant"].map(flag).concat();
        self.species += &format!("<species id='{id}' compartment='{compartment}' {rest}{flags}/>");
        self
    }

    pub fn parameter(mut self, id: &str, value: f64) -> Self {
        self.parameters += &format!("<parameter id='{id}' value='{value}' constant='false'/>");
        self
    }

    pub fn constant(mut self, id: &str, value: f64) -> Self {
        self.parameters += &format!("<parameter id='{id}' value='{value}' constant='true'/>");
        self
    }

    pub fn function(mut self, id: &str, arguments: &[&str], body: &str) -> Self {
        let bound: String = arguments.iter().map(|a| format!("<bvar><ci>{a}</ci></bvar>")).collect();
        let body = math(body).replace(MATHML, "").replace("</math>", "");
        self.functions += &format!(
            "<functionDefinition id='{id}'>{MATHML}<lambda>{bound}{body}</lambda></math></functionDefinition>"
        );
        self
    }

    pub fn initial(mut self, id: &str, formula: &str) -> Self {
        self.initial += &format!("<initialAssignment symbol='{id}'>{}</initialAssignment>", math(formula));
        self
    }

    pub fn rate(mut self, id: &str, formula: &str) -> Self {
        self.rules += &format!("<rateRule variable='{id}'>{}</rateRule>", math(formula));
        self
    }

    pub fn is(mut self, id: &str, formula: &str) -> Self {
        self.rules += &format!("<assignmentRule variable='{id}'>{}</assignmentRule>", math(formula));
        self
    }

    pub fn zero(mut self, formula: &str) -> Self {
        self.rules += &format!("<algebraicRule>{}</algebraicRule>", math(formula));
        self
    }

    /// Participants are `2 A`, or `n:A` with an id; `locals` are attributes of local parameters.
    pub fn reaction(mut self, id: &str, sides: (&[&str], &[&str]), law: &str, locals: &[(&str, f64)]) -> Self {
        let side = |name: &str, list: &[&str]| {
            let one = |participant: &&str| match participant.split_once(':') {
                Some((id, species)) => {
                    format!("<speciesReference id='{id}' species='{species}' stoichiometry='1' constant='false'/>")
                }
                None => {
                    let (n, species) = participant.split_once(' ').unwrap_or(("1", participant));
                    format!("<speciesReference species='{species}' stoichiometry='{n}' constant='true'/>")
                }
            };
            let all: String = list.iter().map(one).collect();
            if all.is_empty() { String::new() } else { format!("<listOf{name}>{all}</listOf{name}>") }
        };
        let (left, right) = (side("Reactants", sides.0), side("Products", sides.1));
        let locals: String =
            locals.iter().map(|(id, value)| format!("<localParameter id='{id}' value='{value}'/>")).collect();
        let locals = format!("<listOfLocalParameters>{locals}</listOfLocalParameters>");
        self.reactions += &format!(
            "<reaction id='{id}' reversible='false'>{left}{right}<kineticLaw>{}{locals}</kineticLaw></reaction>",
            math(law)
        );
        self
    }

    /// `clauses`: `early`, `late`, `cancel`, `first` (false before the start), `delay F`, `priority F`, separated by `;`.
    pub fn event(mut self, trigger: &str, clauses: &str, sets: &[(&str, &str)]) -> Self {
        let clauses: Vec<&str> = clauses.split(';').map(str::trim).collect();
        let has = |word: &str| clauses.contains(&word);
        let formula = |word: &str| {
            let found = clauses.iter().find_map(|c| c.strip_prefix(word));
            found.map_or(String::new(), |f| format!("<{word}>{}</{word}>", math(f)))
        };
        let all: String = sets
            .iter()
            .map(|(id, f)| format!("<eventAssignment variable='{id}'>{}</eventAssignment>", math(f)))
            .collect();
        self.events += &format!(
            "<event useValuesFromTriggerTime='{}'><trigger initialValue='{}' persistent='{}'>{}</trigger>{}{}\
             <listOfEventAssignments>{all}</listOfEventAssignments></event>",
            !has("late"),
            !has("first"),
            !has("cancel"),
            math(trigger),
            formula("priority"),
            formula("delay"),
        );
        self
    }

    pub fn text(&self) -> String {
        let list = |name: &str, content: &str| {
            if content.is_empty() { String::new() } else { format!("<listOf{name}>{content}</listOf{name}>") }
        };
        let lists = [
            list("FunctionDefinitions", &self.functions),
            list("Compartments", &self.compartments),
            list("Species", &self.species),
            list("Parameters", &self.parameters),
            list("InitialAssignments", &self.initial),
            list("Rules", &self.rules),
            list("Reactions", &self.reactions),
            list("Events", &self.events),
        ];
        let head = "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model";
        format!("{head} {}>{}</model></sbml>", self.attributes, lists.concat())
    }
}

pub fn model() -> Parts {
    Parts::default()
}

/// Rows from 0 to 4 in steps of a half, by column.
pub fn rows(text: &str) -> BTreeMap<String, Vec<f64>> {
    rows_from(text, "0..4")
}

/// Rows at eight equal steps of a span, by column.
pub fn rows_from(text: &str, span: &str) -> BTreeMap<String, Vec<f64>> {
    // tests run side by side, each in a thread of its name
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let folder = scratch(&format!("sbml-meaning-{test}"));
    std::fs::write(folder.join("m.xml"), text).expect("a folder");
    let fixed = ["run", "m.xml", "--quiet", "--t", span, "--samples", "8", "--rtol", "1e-10", "--atol", "1e-12"];
    let out = run_in(&folder, &fixed, b"").success().text();
    let mut lines = out.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let values: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|v| v.parse().expect("a number")).collect()).collect();
    head.iter().enumerate().map(|(k, name)| ((*name).to_owned(), values.iter().map(|row| row[k]).collect())).collect()
}

/// Columns follow functions of the time.
#[track_caller]
pub fn follow(parts: &Parts, expected: &[(&str, &dyn Fn(f64) -> f64)]) {
    let rows = rows(&parts.text());
    for (column, wanted) in expected {
        let values = rows.get(*column).unwrap_or_else(|| panic!("no column {column}: {:?}", rows.keys()));
        assert_eq!(values.len(), 9);
        for (t, value) in rows["t"].iter().zip(values) {
            let wanted = wanted(*t);
            let same = (value - wanted).abs() <= 1e-8 * (1.0 + wanted.abs()) || value.is_nan() && wanted.is_nan();
            assert!(same, "{column} at {t}: {value}, expected {wanted}");
        }
    }
}

/// The code of the first error.
pub fn refused(text: &str) -> Option<&'static str> {
    odec_sbml::import(text).diagnostics.iter().find(|d| d.is_error()).map(|d| d.code.code)
}

/// Text of the labels of the errors.
pub fn refused_with(text: &str) -> Vec<String> {
    let errors = odec_sbml::import(text).diagnostics.into_iter().filter(odec_lang::diagnostic::Diagnostic::is_error);
    errors.flat_map(|d| d.labels.into_iter().map(|label| label.text).collect::<Vec<_>>()).collect()
}

/// `late`: both events read the values at their execution. In either order, the second one reads the value that the
/// first one has set.
#[test]
fn late_events_at_one_instant_alternate() {
    let swap = model().parameter("a", 1.0).parameter("b", 2.0).event("(gt time 1.25)", "late", &[("a", "b")]).event(
        "(gt time 1.25)",
        "late",
        &[("b", "a")],
    );
    let rows = rows(&swap.text());
    assert_eq!((rows["a"][2], rows["b"][2]), (1.0, 2.0));
    assert!((3..9).all(|k| rows["a"][k] == rows["b"][k]), "{:?} {:?}", rows["a"], rows["b"]);
    // with priorities there is one order: a = 2, then b = 2 + 1
    let ranked = model()
        .parameter("a", 1.0)
        .parameter("b", 2.0)
        .event("(gt time 1.25)", "late; priority 2", &[("a", "b")])
        .event("(gt time 1.25)", "late; priority 1", &[("b", "(plus a 1)")]);
    follow(&ranked, &[("a", &|t| if t < 1.25 { 1.0 } else { 2.0 }), ("b", &|t| if t < 1.25 { 2.0 } else { 3.0 })]);
}

/// A trigger that reads a rule makes a switch of it. In the row at the instant, the rule still has its value before.
#[test]
fn a_rule_that_a_trigger_reads_has_its_value_at_its_instant() {
    let parts = model().parameter("a", 0.0).parameter("n", 0.0).is("a", "(piecewise 3 (leq time 2) 1)").event(
        "(lt a 2)",
        "early; delay 1",
        &[("n", "(plus n 1)")],
    );
    let n = |t: f64| if t > 3.0 { 1.0 } else { 0.0 };
    follow(&parts, &[("a", &|t| if t <= 2.0 { 3.0 } else { 1.0 }), ("n", &n)]);
}

/// Values of the trigger do not depend on the order: a true swap.
#[test]
fn early_events_at_one_instant_swap() {
    let parts = model().parameter("a", 1.0).parameter("b", 2.0).event("(gt time 1.25)", "early", &[("a", "b")]).event(
        "(gt time 1.25)",
        "early",
        &[("b", "a")],
    );
    follow(&parts, &[("a", &|t| if t < 1.25 { 1.0 } else { 2.0 }), ("b", &|t| if t < 1.25 { 2.0 } else { 1.0 })]);
}

/// Between two events of one instant, a and b differ: the third one detects this in any order.
#[test]
fn values_between_two_events_of_one_instant_are_seen() {
    let parts = model()
        .parameter("a", 0.0)
        .parameter("b", 0.0)
        .parameter("seen", 0.0)
        .event("(gt time 1.25)", "early", &[("a", "1")])
        .event("(gt time 1.25)", "early", &[("b", "1")])
        .event("(neq a b)", "early; priority 5", &[("seen", "(plus seen 1)")]);
    follow(&parts, &[("seen", &|t| f64::from(t > 1.25)), ("a", &|t| f64::from(t > 1.25))]);
}

/// Two events that set one quantity: the one with the lower priority is the last. Without priorities the result is
/// one of both.
#[test]
fn events_that_set_one_quantity_alternate() {
    let parts = |first, second| {
        model().parameter("a", 0.0).event("(gt time 1.25)", first, &[("a", "1")]).event(
            "(geq time 1.25)",
            second,
            &[("a", "2")],
        )
    };
    follow(&parts("early; priority 1", "early; priority 2"), &[("a", &|t| f64::from(t > 1.25))]);
    let last = rows(&parts("early", "early").text())["a"][8];
    assert!(last == 1.0 || last == 2.0, "{last}");
}

/// Each of two events prevents the other one, repeatedly: both are chosen, with equal frequency.
#[test]
fn random_numbers_choose_between_exclusive_events() {
    let due = "(geq (minus time last) 0.01)";
    let parts = model()
        .parameter("q", 0.0)
        .parameter("r", 0.0)
        .parameter("last", 0.0)
        .event(due, "early; cancel; priority 3", &[("q", "(plus q 1)"), ("last", "time")])
        .event(due, "early; cancel; priority 3", &[("r", "(plus r 1)"), ("last", "time")]);
    let rows = rows(&parts.text());
    let (q, r) = (rows["q"][8], rows["r"][8]);
    assert!((q + r - 400.0).abs() <= 1.0, "{q} + {r}");
    // five standard deviations of 400 throws of a coin are 50
    assert!((q - 200.0).abs() < 50.0, "{q} of 400");
}

/// A concentration is set in the compartment as it is: 3 per litre in 2 litres. Then the compartment grows to 4.
#[test]
fn a_concentration_is_set_before_the_size() {
    let parts = model()
        .compartment("V", 2.0)
        .species("S", "V", "initialAmount='2'")
        .species("R", "V", "initialConcentration='1' boundaryCondition='true'")
        .rate("R", "0")
        .event("(gt time 1.25)", "early", &[("S", "3"), ("V", "4"), ("R", "5")]);
    follow(
        &parts,
        &[
            ("S", &|t| if t < 1.25 { 2.0 } else { 6.0 }),
            ("[S]", &|t| if t < 1.25 { 1.0 } else { 1.5 }),
            ("[R]", &|t| if t < 1.25 { 1.0 } else { 2.5 }),
            ("R", &|t| if t < 1.25 { 2.0 } else { 10.0 }),
        ],
    );
}

/// An event with the values of its trigger comes after one that makes the compartment larger: the amount is 3 times
/// the new size.
#[test]
fn a_concentration_is_set_in_the_compartment_of_the_execution() {
    let parts = model()
        .compartment("V", 1.0)
        .species("S", "V", "initialAmount='2'")
        .event("(gt time 1.25)", "early; priority 2", &[("V", "2")])
        .event("(gt time 1.25)", "early; priority 1", &[("S", "(plus S 1)")]);
    follow(&parts, &[("S", &|t| if t < 1.25 { 2.0 } else { 6.0 }), ("[S]", &|t| if t < 1.25 { 2.0 } else { 3.0 })]);
}

/// A delayed event sets a concentration of its trigger in a compartment that grows meanwhile: V(1) = 2, V(2.25) = 3.25.
#[test]
fn a_delayed_event_sets_the_concentration_of_its_trigger() {
    let parts = model().compartment("V", 1.0).species("S", "V", "initialAmount='4'").rate("V", "1").event(
        "(gt time 1)",
        "early; delay 1.25",
        &[("S", "(times 3 S)")],
    );
    let amount = |t: f64| if t < 2.25 { 4.0 } else { 6.0 * 3.25 };
    follow(&parts, &[("S", &amount), ("[S]", &|t| amount(t) / (1.0 + t))]);
}

/// Amounts are unchanged if an event changes a size, even if a concentration has a rate, and for substance-only species.
#[test]
fn amounts_stay_where_a_size_jumps() {
    let parts = model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='6' hasOnlySubstanceUnits='true'")
        .species("C", "V", "initialConcentration='3' boundaryCondition='true'")
        .species("D", "V", "initialConcentration='3'")
        .parameter("a", 0.0)
        .rate("C", "1")
        .is("a", "(plus A D)")
        .event("(gt time 1.25)", "late; delay 0.5", &[("V", "(times 2 V)")]);
    let volume = |t: f64| if t < 1.75 { 2.0 } else { 4.0 };
    follow(
        &parts,
        &[
            ("A", &|_| 6.0),
            ("D", &|_| 6.0),
            ("a", &|t| 6.0 + 6.0 / volume(t)),
            ("[C]", &|t| if t < 1.75 { 3.0 + t } else { 4.75 / 2.0 + t - 1.75 }),
        ],
    );
}

/// `rateOf` of a concentration in a compartment that grows: A'/V - [A]*V'/V, and of an amount A'.
#[test]
fn derivatives_of_concentrations_know_the_size() {
    let parts = model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='8'")
        .species("N", "V", "initialAmount='8' hasOnlySubstanceUnits='true'")
        .parameter("ra", 0.0)
        .parameter("rn", 0.0)
        .rate("V", "0.5")
        .is("ra", "(rateOf A)")
        .is("rn", "(rateOf N)")
        .reaction("J", (&["A", "N"], &[]), "1", &[]);
    let v = |t: f64| 2.0 + 0.5 * t;
    follow(
        &parts,
        &[("ra", &|t| -1.0 / v(t) - (8.0 - t) * 0.5 / (v(t) * v(t))), ("rn", &|_| -1.0), ("N", &|t| 8.0 - t)],
    );
}

/// Factors of the model and of a species, with stoichiometries that vary, in a compartment that varies.
#[test]
fn conversion_factors_multiply_amounts() {
    let mut parts = model()
        .compartment("V", 1.0)
        .species("A", "V", "initialAmount='100'")
        .species("B", "V", "initialAmount='0' conversionFactor='fb'")
        .constant("fa", 2.0)
        .constant("fb", 0.25)
        .is("V", "(plus 1 time)")
        .is("n", "(times 2 time)")
        .reaction("J", (&["3 A"], &["n:B"]), "(times k V)", &[("k", 0.5)]);
    parts.attributes = "conversionFactor='fa'".to_owned();
    let extent = |t: f64| 0.5 * (t + t * t / 2.0);
    follow(
        &parts,
        &[
            ("A", &|t| 100.0 - 6.0 * extent(t)),
            ("[A]", &|t| (100.0 - 6.0 * extent(t)) / (1.0 + t)),
            // the integral of 2*t*0.5*(1 + t), a quarter of it
            ("B", &|t| 0.25 * (t * t / 2.0 + t * t * t / 3.0)),
        ],
    );
}

/// A parameter of a reaction hides quantities of the same name there; so do arguments of functions.
#[test]
fn inner_names_hide_outer_ones() {
    let parts = model()
        .compartment("V", 2.0)
        .species("A", "V", "initialAmount='10'")
        .species("B", "V", "initialAmount='10'")
        .parameter("k", 100.0)
        .parameter("y", 0.0)
        .function("f_half", &["A", "k"], "(divide A k)")
        .is("y", "(f_half k 4)")
        .reaction("J", (&["A"], &[]), "(times k V)", &[("k", 0.5), ("V", 3.0)])
        .reaction("K", (&["B"], &[]), "(f_half B 2)", &[("B", 3.0)]);
    follow(&parts, &[("A", &|t| 10.0 - 1.5 * t), ("B", &|t| 10.0 - 1.5 * t), ("y", &|_| 25.0), ("k", &|_| 100.0)]);
}

/// An initial assignment gives the stoichiometry; an event changes another one.
#[test]
fn stoichiometries_begin_and_jump() {
    let parts = model()
        .compartment("V", 1.0)
        .species("A", "V", "initialAmount='0'")
        .species("B", "V", "initialAmount='0'")
        .constant("k", 3.0)
        .initial("n", "(plus k 1)")
        .reaction("J", (&[], &["n:A", "m:B"]), "k", &[])
        .event("(gt time 1.25)", "early", &[("m", "(plus n m)")]);
    follow(&parts, &[("A", &|t| 12.0 * t), ("B", &|t| 3.0 * t + 12.0 * (t - 1.25).max(0.0)), ("n", &|_| 4.0)]);
}

/// A delayed event that is not persistent is dropped; a trigger that counts as false before the start happens there.
#[test]
fn triggers_are_cancelled_and_begin() {
    let parts = model()
        .parameter("dropped", 0.0)
        .parameter("kept", 0.0)
        .parameter("begun", 0.0)
        .parameter("silent", 0.0)
        .event("(and (gt time 1.25) (lt time 2.25))", "early; cancel; delay 1.5", &[("dropped", "1")])
        .event("(and (gt time 1.25) (lt time 2.25))", "early; delay 1.5", &[("kept", "time")])
        .event("(lt time 2.25)", "early; first", &[("begun", "1")])
        .event("(lt time 2.25)", "early", &[("silent", "1")]);
    follow(
        &parts,
        &[
            ("dropped", &|_| 0.0),
            ("kept", &|t| if t < 2.75 { 0.0 } else { 1.25 }),
            ("begun", &|_| 1.0),
            ("silent", &|_| 0.0),
        ],
    );
}

/// All values of an event are those of its trigger, or all those of its execution: none reads a value that another
/// assignment sets.
#[test]
fn assignments_of_one_event_are_made_together() {
    let sets: &[(&str, &str)] = &[("a", "(plus b 1)"), ("b", "(plus a 1)"), ("c", "x")];
    let parts = |clauses: &str| {
        let parameters = model().parameter("a", 1.0).parameter("b", 5.0).parameter("c", 0.0).parameter("x", 0.0);
        parameters.rate("x", "1").event("(gt time 1.25)", clauses, sets)
    };
    for (clauses, c) in [("early; delay 1", 1.25), ("late; delay 1", 2.25)] {
        follow(
            &parts(clauses),
            &[
                ("a", &|t| if t < 2.25 { 1.0 } else { 6.0 }),
                ("b", &|t| if t < 2.25 { 5.0 } else { 2.0 }),
                ("c", &|t| if t < 2.25 { 0.0 } else { c }),
            ],
        );
    }
}

/// No piece holds and there is no default: NaN. Pieces are evaluated in order.
#[test]
fn piecewise_without_otherwise_is_nan() {
    let parts = model()
        .parameter("x", 0.0)
        .parameter("y", 0.0)
        .is("x", "(piecewise 1 (lt time 2.25))")
        .is("y", "(piecewise 1 (lt time 1.25) 2 (lt time 2.25) 3)");
    follow(
        &parts,
        &[
            ("x", &|t| if t < 2.25 { 1.0 } else { f64::NAN }),
            ("y", &|t| {
                if t < 1.25 {
                    1.0
                } else if t < 2.25 {
                    2.0
                } else {
                    3.0
                }
            }),
        ],
    );
}

/// Units of the time do not change numbers.
#[test]
fn units_do_not_change_numbers() {
    let mut parts = model().parameter("x", 0.0).rate("x", "time");
    parts.attributes = "timeUnits='minute' extentUnits='mole'".to_owned();
    follow(&parts, &[("x", &|t| t * t / 2.0)]);
}

/// Formulas of Level 1: a sign binds more tightly than a power, and powers associate to the left.
#[test]
fn powers_of_level_1_associate_to_the_left() {
    let parameter = |id: &str| format!("<parameter name='{id}' value='3'/>");
    let rule = |id: &str, f: &str| format!("<parameterRule name='{id}' formula='{f}'/>");
    let text = format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level1' level='1' version='2'><model>\
         <listOfCompartments><compartment name='V'/></listOfCompartments>\
         <listOfParameters>{}{}{}{}</listOfParameters><listOfRules>{}{}{}</listOfRules></model></sbml>",
        parameter("s"),
        parameter("a"),
        parameter("b"),
        parameter("c"),
        rule("a", "-s^2"),
        rule("b", "2^s^2"),
        rule("c", "12/s*2 - 4 - 3"),
    );
    let rows = rows(&text);
    assert_eq!((rows["a"][0], rows["b"][0], rows["c"][0]), (9.0, 64.0, 1.0));
}

/// Functions that call themselves, and initial values that are not known: refused with a location. A trigger on an
/// edge is known.
#[test]
fn values_that_are_not_determined_are_refused() {
    let circle = model()
        .function("f_a", &["x"], "(f_b x)")
        .function("f_b", &["x"], "(f_a x)")
        .parameter("p", 1.0)
        .event("(gt (f_a time) 1)", "early", &[("p", "2")]);
    assert_eq!(refused(&circle.text()), Some("E0806"));
    // a formula that no MathML reader would find must not be lost, nor the second of two
    let rule = model().parameter("k", 1.0).rate("k", "1").text();
    let plain = rule.replace(" xmlns='http://www.w3.org/1998/Math/MathML'", "");
    assert_ne!(plain, rule);
    assert_eq!(refused(&plain), Some("E0806"));
    let two = rule.replace("</math>", "<cn> 2 </cn></math>");
    assert_ne!(two, rule);
    assert_eq!(refused(&two), Some("E0806"));
    let unknown = |z: f64| {
        let parts = model().parameter("x", 2.0).parameter("z", z).parameter("d", 0.0).initial("d", "(times 3 z)");
        parts.rate("x", "0").zero("(minus z (times x x))")
    };
    assert_eq!(refused(&unknown(1.0).text()), Some("E0808"));
    follow(&unknown(4.0), &[("d", &|_| 12.0), ("z", &|_| 4.0)]);
    let edge = model().parameter("p", 0.0).event("(geq (sin time) 0)", "early", &[("p", "1")]);
    follow(&edge, &[("p", &|_| 0.0)]);
}

//! SBML through the command: the rows of models with known solutions, the text of an import, and files without models.

use std::collections::BTreeMap;

use odec_tests::command::{run, run_in, scratch};
use odec_tests::{files, root, snapshot, stem, text};

/// The rows of a fixture by column.
fn rows(name: &str, more: &[&str]) -> BTreeMap<String, Vec<f64>> {
    let file = format!("tests/fixtures/sbml/{name}.xml");
    let fixed = ["run", &file, "--quiet", "--rtol", "1e-10", "--atol", "1e-12"];
    let arguments: Vec<&str> = fixed.iter().chain(more).copied().collect();
    table(&run(&arguments).success().text())
}

fn table(text: &str) -> BTreeMap<String, Vec<f64>> {
    let mut lines = text.lines();
    let head: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let mut table: BTreeMap<String, Vec<f64>> = head.iter().map(|h| ((*h).to_owned(), vec![])).collect();
    for line in lines {
        for (name, field) in head.iter().zip(line.split(',')) {
            table.get_mut(*name).expect("a column").push(field.parse().expect("a number"));
        }
    }
    table
}

/// Compares a column with a function of the time.
#[track_caller]
fn follows(rows: &BTreeMap<String, Vec<f64>>, column: &str, expected: impl Fn(f64) -> f64) {
    let times = rows.get("t").or_else(|| rows.get("time_")).unwrap_or_else(|| panic!("no time: {:?}", rows.keys()));
    let values = rows.get(column).unwrap_or_else(|| panic!("no column {column}: {:?}", rows.keys()));
    assert!(times.len() > 1);
    for (t, value) in times.iter().zip(values) {
        let wanted = expected(*t);
        let same = (value - wanted).abs() <= 1e-7 * (1.0 + wanted.abs()) || value.to_bits() == wanted.to_bits();
        assert!(same || value.is_nan() && wanted.is_nan(), "{column} at {t}: {value}, expected {wanted}");
    }
}

/// One model in five levels: 3 per litre of S1 in 2 litres decay to twice as much S2.
#[test]
fn every_level_gives_the_same_rows() {
    let mut first = None;
    for level in ["l3v2", "l3v1", "l2v5", "l2v1", "l1v2"] {
        let rows = rows(&format!("decay-{level}"), &["--t-end", "4", "--samples", "8"]);
        follows(&rows, "S1", |t| 6.0 * (-0.5 * t).exp());
        follows(&rows, "[S1]", |t| 3.0 * (-0.5 * t).exp());
        follows(&rows, "S2", |t| 12.0 * (1.0 - (-0.5 * t).exp()));
        follows(&rows, "J", |t| 3.0 * (-0.5 * t).exp());
        follows(&rows, "cell", |_| 2.0);
        assert!(first.get_or_insert_with(|| rows.clone()) == &rows, "{level}");
    }
}

/// In a growing compartment, reactions and constancy preserve amounts; a rate rule of a species applies to its
/// concentration.
#[test]
fn a_growing_compartment_dilutes_amounts() {
    let rows = rows("growing", &["--t-end", "3", "--samples", "6"]);
    let volume = |t: f64| 2.0 * (0.1 * t).exp();
    let a = |t: f64| 4.0 * (-0.3 * t).exp();
    follows(&rows, "V", volume);
    follows(&rows, "A", a);
    follows(&rows, "[A]", |t| a(t) / volume(t));
    follows(&rows, "B", |t| 3.0 * (4.0 - a(t)));
    follows(&rows, "[C]", |t| (-t).exp());
    follows(&rows, "C", |t| (-t).exp() * volume(t));
    follows(&rows, "D", |_| 10.0);
    follows(&rows, "[D]", |t| 10.0 / volume(t));
    follows(&rows, "[E]", |t| a(t) / volume(t) + 1.0);
    // an initial assignment reads concentrations at the start, and is constant
    follows(&rows, "start", |_| 4.0);
}

/// The stoichiometry of A is 2, and 3 after an event at 2.5; that of B is 2*t. Factors are 2, and 0.5 for B.
#[test]
fn stoichiometries_change_and_amounts_are_converted() {
    let rows = rows("stoichiometry", &["--t-end", "4", "--samples", "16"]);
    follows(&rows, "A", |t| 10.0 - 4.0 * t - 2.0 * (t - 2.5).max(0.0));
    follows(&rows, "B", |t| 0.5 * t * t);
    follows(&rows, "F", |_| 7.0);
    follows(&rows, "nA", |t| if t < 2.5 { 2.0 } else { 3.0 });
}

/// Every operator of MathML that has another name in odec, or does not exist there.
#[test]
fn operators_of_mathml_have_their_values() {
    let rows = rows("functions", &["--t-end", "2", "--samples", "4"]);
    let x: f64 = 0.5;
    let constants = [
        ("a_sec", 1.0 / x.cos()),
        ("a_csc", 1.0 / x.sin()),
        ("a_cot", 1.0 / x.tan()),
        ("a_sech", 1.0 / x.cosh()),
        ("a_csch", 1.0 / x.sinh()),
        ("a_coth", 1.0 / x.tanh()),
        ("a_arcsec", 0.5_f64.acos()),
        ("a_arccsc", 0.5_f64.asin()),
        ("a_arccot", 0.5_f64.atan()),
        ("a_arcsech", 2.0_f64.acosh()),
        ("a_arccsch", 0.5_f64.asinh()),
        ("a_arccoth", 0.5_f64.atanh()),
        ("a_log", 4.0),
        ("a_log10", 3.0),
        ("a_root", 3.0),
        ("a_root5", 2.0),
        ("a_factorial", 120.0),
        // the quotient is cut towards 0, and the remainder has the sign of the first operand
        ("a_quotient", -3.0),
        ("a_rem", -1.0),
        ("a_max", 5.0),
        ("a_min", 2.0),
        ("a_xor", 1.0),
        ("a_implies", 0.0),
        ("a_chain", 1.0),
        ("a_power", 0.125),
        ("a_call", 16.0 / 17.0),
        ("a_nested", 1.0),
        ("a_not", 7.0),
        ("a_e", std::f64::consts::E),
        ("a_nan", f64::NAN),
        ("a_inf", f64::NEG_INFINITY),
        ("a_none", 3.0),
        ("a_bool", 2.0),
        ("a_exp", std::f64::consts::E),
        ("a_ceil", -1.0),
        ("a_abs", 2.0),
        ("a_avogadro", 1.0),
    ];
    for (name, value) in constants {
        follows(&rows, name, |_| value);
    }
    follows(&rows, "x", |t| t * t);
    follows(&rows, "y", |t| t * t * t);
    // a trigger that calls a function: x > 2 at the root of 2
    follows(&rows, "low", |t| if t < 2.0_f64.sqrt() { 0.0 } else { 2.0_f64.sqrt() });
}

#[test]
fn events_are_delayed_cancelled_and_ordered() {
    let rows = rows("events", &["--t-end", "4", "--samples", "8"]);
    follows(&rows, "early", |t| if t < 3.0 { 0.0 } else { 1.0 });
    follows(&rows, "late", |t| if t < 3.0 { 0.0 } else { 3.0 });
    follows(&rows, "dropped", |_| 0.0);
    follows(&rows, "first", |_| 1.0);
    // priority 2 multiplies n by 10; then priority 1 reads the 10
    follows(&rows, "n", |t| if t < 3.25 { 1.0 } else { 11.0 });
    follows(&rows, "m", |t| if t < 3.25 { 1.0 } else { 10.0 });
}

#[test]
fn an_algebraic_rule_determines_what_nothing_else_does() {
    let rows = rows("algebraic", &["--t-end", "4", "--samples", "8"]);
    let a = |t: f64| 3.0 * (-0.5 * t).exp();
    follows(&rows, "[A]", a);
    follows(&rows, "[B]", |t| 3.0 - a(t));
    follows(&rows, "B", |t| 6.0 - 2.0 * a(t));
    follows(&rows, "speed", |t| -0.5 * a(t));
}

/// A submodel with minutes that are seconds of the whole model, with a parameter replaced through a port (twice its
/// value), one replaced two levels deep, a part that replaces one of the whole, and a deleted rule.
#[test]
fn submodels_become_parts_of_the_model() {
    let rows = rows("submodels", &["--t-end", "40", "--samples", "8"]);
    let x = |t: f64| (3.0 * t / 60.0).exp();
    follows(&rows, "A__x", x);
    follows(&rows, "A__y", |t| x(t) + t / 60.0);
    follows(&rows, "A__z", |_| 7.0);
    follows(&rows, "out", |_| 11.0);
    follows(&rows, "A__B__double", |_| 10.0);
    assert!(!rows.contains_key("A__k") && !rows.contains_key("A__w") && !rows.contains_key("A__B__deep"));
}

const MATHML: &str = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";

/// A model of Level 3 with these parts.
fn model(parts: &str) -> String {
    let head = "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model>";
    format!("{head}{parts}</model></sbml>")
}

/// Parameters x and y that change, where x' = -1, and events `(trigger, attributes of the trigger, priority, assignments)`.
fn with_events(x: f64, events: &[(&str, &str, &str, &str)]) -> String {
    let event = |(trigger, attributes, priority, set): &(&str, &str, &str, &str)| {
        format!(
            "<event useValuesFromTriggerTime='true'><trigger {attributes}>{MATHML}{trigger}</math></trigger>\
             <priority>{MATHML}<cn>{priority}</cn></math></priority>\
             <listOfEventAssignments><eventAssignment variable='{set}'>{MATHML}<cn>9</cn></math></eventAssignment>\
             </listOfEventAssignments></event>"
        )
    };
    let parameter = |id: &str, value: f64| format!("<parameter id='{id}' value='{value}' constant='false'/>");
    model(&format!(
        "<listOfParameters>{}{}{}</listOfParameters>\
         <listOfRules><rateRule variable='x'>{MATHML}<cn>-1</cn></math></rateRule></listOfRules>\
         <listOfEvents>{}</listOfEvents>",
        parameter("x", x),
        parameter("y", 0.0),
        parameter("z", 0.0),
        events.iter().map(event).collect::<String>()
    ))
}

/// Of two events that cancel each other, SBML executes one by chance. They take turns in the text. An order by
/// priority removes the chance.
#[test]
fn events_that_cancel_each_other_alternate() {
    let late =
        "<apply><and/><apply><lt/><ci>x</ci><cn>-1</cn></apply><apply><lt/><ci>OTHER</ci><cn>1</cn></apply></apply>";
    let (on_y, on_z) = (late.replace("OTHER", "y"), late.replace("OTHER", "z"));
    let cancelled = "initialValue='true' persistent='false'";
    let turns = |first: &str| {
        let events = [(on_y.as_str(), cancelled, first, "z"), (on_z.as_str(), cancelled, "1", "y")];
        odec_sbml::import(&with_events(1.0, &events)).text.expect("a model").matches(" alone ").count()
    };
    assert_eq!((turns("1"), turns("2")), (2, 0));
}

/// The instant of `time <= 2` belongs to the time before it, that of `time < 3` to the time after it.
#[test]
fn rules_have_their_values_at_the_instants_of_their_conditions() {
    let until = |sign: &str, end: f64| {
        let time = "<csymbol definitionURL='http://www.sbml.org/sbml/symbols/time'>t</csymbol>";
        format!(
            "{MATHML}<piecewise><piece><cn>1</cn><apply><{sign}/>{time}<cn>{end}</cn></apply></piece>\
             <otherwise><cn>5</cn></otherwise></piecewise></math>"
        )
    };
    let text = model(&format!(
        "<listOfParameters><parameter id='a' constant='false'/><parameter id='b' constant='false'/></listOfParameters>\
         <listOfRules><assignmentRule variable='a'>{}</assignmentRule><assignmentRule variable='b'>{}</assignmentRule>\
         </listOfRules>",
        until("leq", 2.0),
        until("lt", 3.0)
    ));
    let folder = scratch("sbml-rule-instants");
    std::fs::write(folder.join("m.xml"), text).expect("a folder");
    let rows = run_in(&folder, &["run", "m.xml", "--quiet", "--t-end", "4", "--samples", "4"], b"").success();
    let rows = table(&rows.text());
    assert_eq!((rows["a"].as_slice(), rows["b"].as_slice()), (&[1., 1., 1., 5., 5.][..], &[1., 1., 1., 5., 5.][..]));
}

/// Words that odec has another use for: columns have the names of the file.
#[test]
fn columns_have_the_names_of_the_file() {
    let out = run(&["run", "tests/fixtures/sbml/names.xml", "--quiet", "--t-end", "2", "--samples", "2"]).success();
    let rows = out.text();
    let head: Vec<&str> = rows.lines().next().unwrap_or_default().split(',').collect();
    assert_eq!(head[1..].iter().filter(|h| **h == "time").count(), 1, "{head:?}");
    for name in ["t", "time", "pi", "state", "if", "S_conc", "sin", "at", "S", "[S]", "when"] {
        assert!(head[1..].contains(&name), "{name}: {head:?}");
    }
    let last: Vec<f64> = rows.lines().last().unwrap_or_default().split(',').map(|v| v.parse().expect("v")).collect();
    let value = |name: &str| last[1 + head[1..].iter().position(|h| *h == name).expect("a column")];
    assert!((value("t") - 3.0).abs() < 1e-6 && (value("S") - (-10.0_f64).exp()).abs() < 1e-6, "{rows}");
}

/// The text of an import is the reviewed one, `odec check` accepts it, and it has the rows of the file.
#[test]
fn an_import_is_a_model_of_its_own() {
    let folder = scratch("sbml-import");
    let mut differences = vec![];
    for file in files(&root().join("tests/fixtures/sbml"), "xml") {
        let path = file.to_string_lossy().into_owned();
        run_in(&folder, &["import", &path, "-o", "m.ode"], b"").success();
        let imported = text(&folder.join("m.ode"));
        differences.extend(snapshot::check(&file.with_extension("ode"), &imported).err());
        run_in(&folder, &["check", "m.ode"], b"").success();
        let both = [path.as_str(), "m.ode"].map(|name| {
            let out =
                run_in(&folder, &["run", name, "--quiet", "--t-end", "1", "--samples", "4"], b"").success().text();
            out.split_once('\n').map(|(_, rows)| rows.to_owned())
        });
        assert!(both[0].as_ref().is_some_and(|rows| rows.lines().count() == 5) && both[0] == both[1], "{path}");
    }
    snapshot::report(&differences);
}

/// The file has the columns of the model with the same values: equations, functions, switches, all kinds of events in SBML.
#[test]
fn an_exported_model_has_the_rows_of_its_original() {
    let folder = scratch("sbml-export");
    let own = "param k = 0.5, n = 2\nconst big = 1e-7\nfn hill(x, h) = x^h/(1 + x^h)\nstate a = 4*n, b = 0, v = 1\n\
               discrete d = 1\nunknown z = 1\nz^2 + z = a + 6\nrate = k*a*d\na' = -rate\n\
               b' = rate - 0.1*sqrt(b + big)*hill(b, n) + (if t > 1.5 then sign(a - 1) else 0)\n\
               v' = min(v, 2) - max(v, 1)/3 + abs(sin(2*t)) - z/10\n\
               when b > 2 after 0.25 { d := 0.3 + 0.1*a }\nwhen a < 2 late priority 3 { b += a }\n\
               at [0.7, 1.9] { a := a + 1; v -= 0.2 }\noutput rate\nrun { t = 0 .. 4 }\n";
    std::fs::write(folder.join("own.ode"), own).expect("a folder");
    let model = |name: &str| root().join(format!("models/{name}.ode")).to_string_lossy().into_owned();
    let own = "own.ode".to_owned();
    for file in [model("lorenz"), model("mapk_cascade"), model("circadian_clock"), model("glycolysis"), own] {
        run_in(&folder, &["export", "--to", "sbml", &file, "-o", "m.xml"], b"").success();
        let rows = [file.as_str(), "m.xml"].map(|name| {
            let fixed = ["run", name, "--quiet", "--t", "0..4", "--samples", "8", "--rtol", "1e-9", "--atol", "1e-12"];
            table(&run_in(&folder, &fixed, b"").success().text())
        });
        for (column, values) in &rows[0] {
            let found = rows[1].get(column).unwrap_or_else(|| panic!("{file}: no column {column}"));
            for (a, b) in values.iter().zip(found) {
                assert!((a - b).abs() <= 1e-6 * (1e-3 + a.abs()), "{file}: {column}: {a}, {b}");
            }
            assert_eq!(values.len(), 9);
        }
    }
}

/// `sign` of NaN is NaN, as in odec, and 0 only if its operand is 0.
#[test]
fn an_exported_sign_propagates_nan() {
    let folder = scratch("sbml-export-sign");
    std::fs::write(folder.join("m.ode"), "state x = 1\nx' = -sign(x)\nrun { t = 0 .. 0.5 }\n").expect("a folder");
    run_in(&folder, &["export", "--to", "sbml", "m.ode", "-o", "m.xml"], b"").success();
    let xml: String = text(&folder.join("m.xml")).split_whitespace().collect();
    assert!(xml.contains("<otherwise><ci>x</ci></otherwise>"), "{xml}");
}

/// Other commands read a file too, and none overwrites it.
#[test]
fn every_command_takes_a_file() {
    let file = "tests/fixtures/sbml/decay-l3v2.xml";
    assert!(run(&["dump", file]).success().text().contains("S1_conc"));
    let swept = run(&["sweep", file, "--set", "J_k=0.1:0.5:2", "--t-end", "1", "--quiet"]).success().text();
    assert!(swept.lines().next().is_some_and(|head| head.contains("[S1]")) && swept.lines().count() == 3, "{swept}");
    let own = run(&["import", file, "-o", file]);
    assert_eq!(own.code, Some(2), "{}", own.err);
    assert!(text(&root().join(file)).starts_with("<?xml"));
}

/// An import of any text gives a model or a message, and no panic.
fn judge(text: &str) -> bool {
    let imported = odec_sbml::import(text);
    let errors = imported.diagnostics.iter().filter(|d| d.is_error()).count();
    assert_eq!(imported.text.is_none(), errors > 0, "{text}");
    for label in imported.diagnostics.iter().flat_map(|d| &d.labels) {
        assert!(text.get(label.span.range()).is_some(), "a place outside of the text: {:?}\n{text}", label.span);
    }
    imported.text.is_some()
}

#[test]
fn hostile_files_get_a_message() {
    let rule = |math: &str| {
        let parameter = "<listOfParameters><parameter id='x' value='1' constant='false'/></listOfParameters>";
        let math = format!("<math xmlns='http://www.w3.org/1998/Math/MathML'>{math}</math>");
        model(&format!("{parameter}<listOfRules><rateRule variable='x'>{math}</rateRule></listOfRules>"))
    };
    assert!(judge(&rule("<ci>x</ci>")), "the frame of these files is a model");
    let deep = |n: usize| format!("{}<ci>x</ci>{}", "<apply><minus/>".repeat(n), "</apply>".repeat(n));
    assert!(judge(&rule(&deep(100))));
    let bomb: String = (0..60).map(|k| format!("<!ENTITY e{} '&e{k};&e{k};&e{k};'>", k + 1)).collect();
    let attributes: String = (0..100_000).map(|k| format!(" a{k}=''")).collect();
    let spaces: String = (0..60_000).map(|k| format!("<a xmlns:b{k}='c'>")).collect();
    for text in [
        format!("<!DOCTYPE a [<!ENTITY e0 'x'>{bomb}]><a>&e60;</a>"),
        rule(&deep(200_000)),
        "<a>".repeat(1_000_000),
        model(&"<a/>".repeat(2_000_000)),
        model(&format!("<a{attributes}/>")),
        spaces,
        model(&format!("<notes>{}</notes>", "<".repeat(100_000))),
    ] {
        assert!(!judge(&text), "{}", text.get(..200).unwrap_or(&text));
    }
    // functions that call each other twice do not grow
    let twice = |k: usize| {
        let call = |f: usize| format!("<apply><ci>f{f}</ci><ci>a</ci></apply>");
        let body = format!("<apply><and/>{0}{0}</apply>", if k == 0 { "<ci>a</ci>".to_owned() } else { call(k - 1) });
        let math = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";
        format!(
            "<functionDefinition id='f{k}'>{math}<lambda><bvar><ci>a</ci></bvar>{body}</lambda></math></functionDefinition>"
        )
    };
    let functions: String = (0..60).map(twice).collect();
    let trigger = "<trigger initialValue='true' persistent='true'><math xmlns='http://www.w3.org/1998/Math/MathML'>\
                   <apply><ci>f59</ci><ci>x</ci></apply></math></trigger>";
    let event = format!(
        "<event useValuesFromTriggerTime='true'>{trigger}<listOfEventAssignments><eventAssignment variable='x'>\
         <math xmlns='http://www.w3.org/1998/Math/MathML'><cn>1</cn></math></eventAssignment></listOfEventAssignments></event>"
    );
    let grown = odec_sbml::import(&model(&format!(
        "<listOfFunctionDefinitions>{functions}</listOfFunctionDefinitions>\
         <listOfParameters><parameter id='x' value='1' constant='false'/></listOfParameters>\
         <listOfEvents>{event}</listOfEvents>"
    )));
    assert!(grown.text.is_some_and(|text| text.len() < 1_000_000), "{:?}", grown.diagnostics);
}

/// Each fixture of the errors has a place in its XML, if it is read from a file.
#[test]
fn messages_point_at_the_xml() {
    let folder = root().join("tests/fixtures/errors");
    let mut count = 0;
    for file in files(&folder, "xml") {
        let imported = odec_sbml::import(&text(&file));
        let found = imported.diagnostics.first().unwrap_or_else(|| panic!("{}: nothing", file.display()));
        assert!(stem(&file).starts_with(found.code.code) && found.span().is_some(), "{}", file.display());
        count += 1;
    }
    assert!(count >= 13, "{count}");
}

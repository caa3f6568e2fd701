//! FMUs: the XML satisfies FMI, and a host that loads the library like an importer gets the rows of `odec run` and
//! the exact derivatives. `tests/fmu` has the same tests with FMPy.

use std::path::Path;
use std::process::Command;

use odec_lang::source::Source;
use odec_tests::command::{finish, run_in, scratch};
use odec_tests::fuzz::skipped;
use odec_tests::root;
use odec_tests::share::Share;

/// The files of an archive without compression, in its order.
fn unpacked(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut at = 0;
    while bytes[at..].starts_with(b"PK\x03\x04") {
        let word = |k: usize| u32::from_le_bytes(bytes[at + k..at + k + 4].try_into().expect("a header")) as usize;
        let (size, name) = (word(18), word(26) & 0xffff);
        let path = String::from_utf8(bytes[at + 30..at + 30 + name].to_vec()).expect("a path");
        let start = at + 30 + name;
        files.push((path, bytes[start..start + size].to_vec()));
        at = start + size;
    }
    files
}

/// Value of an attribute at its first occurrence after a text.
fn attribute<'a>(xml: &'a str, behind: &str, name: &str) -> &'a str {
    let rest = &xml[xml.find(behind).unwrap_or_else(|| panic!("no `{behind}`"))..];
    let rest = &rest[rest.find(&format!(" {name}=\"")).expect("the attribute") + name.len() + 3..];
    &rest[..rest.find('"').expect("an end")]
}

fn emitted(folder: &Path, model: &Path) -> Vec<(String, Vec<u8>)> {
    let model = model.to_string_lossy().into_owned();
    run_in(folder, &["emit", model.as_str(), "--to", "fmu", "-o", "m.fmu", "--prefix", "m"], b"").success();
    let bytes = std::fs::read(folder.join("m.fmu")).expect("a file");
    unpacked(&bytes)
}

fn xml_of(files: &[(String, Vec<u8>)]) -> String {
    let (path, bytes) = &files[0];
    assert_eq!(path, "modelDescription.xml");
    String::from_utf8(bytes.clone()).expect("text")
}

#[test]
fn the_xml_lists_variables_units_and_structure() {
    let folder = scratch("fmu-xml");
    let text = "model tank & \"pipe\"\nparam k = 0.5 [1/min]   ## how fast it empties\nindex i = 1..2\n\
                state V = 3 [L], u[i] = i\ndiscrete n = 1\nV' = -k*V\nu[i]' = -u[i]\nwhen V < 1 [L] { V += 1 [L]; n += 1 }\n\
                output n, half = V/2\nrun { t = 0 .. 7 }\n";
    let text = text.replace(" & \"pipe\"", "");
    std::fs::write(folder.join("tank.ode"), text).expect("a file");
    let files = emitted(&folder, &folder.join("tank.ode"));
    let xml = xml_of(&files);
    assert_eq!(attribute(&xml, "<fmiModelDescription", "fmiVersion"), "3.0");
    assert_eq!(attribute(&xml, "<ModelExchange", "modelIdentifier"), "m");
    for flag in ["providesDirectionalDerivatives", "needsCompletedIntegratorStep", "canGetAndSetFMUState"] {
        assert_eq!(attribute(&xml, "<ModelExchange", flag), "true");
    }
    assert_eq!(attribute(&xml, "<DefaultExperiment", "stopTime"), "7.0");
    for (name, attributes) in [
        ("V", [("unit", "L"), ("start", "3.0"), ("causality", "output"), ("variability", "continuous")]),
        ("u[2]", [("start", "2.0"), ("initial", "exact"), ("causality", "output"), ("valueReference", "3")]),
        ("der(V)", [("derivative", "1"), ("unit", "L/s"), ("causality", "local"), ("valueReference", "4")]),
        (
            "k",
            [("unit", "1/min"), ("start", "0.5"), ("causality", "parameter"), ("description", "how fast it empties")],
        ),
        (
            "n",
            [("causality", "output"), ("variability", "discrete"), ("initial", "calculated"), ("valueReference", "9")],
        ),
        ("half", [("unit", "L"), ("causality", "output"), ("variability", "continuous"), ("valueReference", "10")]),
    ] {
        for (attribute_name, value) in attributes {
            let found = attribute(&xml, &format!("<Float64 name=\"{name}\""), attribute_name);
            assert_eq!(found, value, "{name} {attribute_name}\n{xml}");
        }
    }
    assert_eq!(attribute(&xml, "<Unit name=\"L\">", "m"), "3");
    assert_eq!(attribute(&xml, "<Unit name=\"L\">", "factor"), "0.001");
    let count = |element: &str| xml.matches(&format!("<{element} ")).count();
    assert_eq!(["Output", "ContinuousStateDerivative", "InitialUnknown", "EventIndicator"].map(count), [5, 3, 5, 1]);
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(paths[1..5], ["sources/buildDescription.xml", "sources/model.c", "sources/model.h", "sources/fmi3.c"]);
    // another parameter value is another model
    let token = attribute(&xml, "<fmiModelDescription", "instantiationToken").to_string();
    run_in(&folder, &["emit", "tank.ode", "--to", "fmu", "-o", "o.fmu", "--set", "k=0.25"], b"").success();
    let other = xml_of(&unpacked(&std::fs::read(folder.join("o.fmu")).expect("a file")));
    assert_eq!(attribute(&other, "<Float64 name=\"k\"", "start"), "0.25");
    assert_ne!(attribute(&other, "<fmiModelDescription", "instantiationToken"), token);
}

#[test]
fn nominal_values_and_the_default_experiment_give_the_tolerances_of_the_run() {
    let folder = scratch("fmu-nominal");
    let of = |text: &str| {
        std::fs::write(
            folder.join("m.ode"),
            format!("index i = 1..2\nstate x = 1, u[i] = 1\nx' = -x\nu[i]' = -u[i]\n{text}"),
        )
        .expect("a file");
        let files = emitted(&folder, &folder.join("m.ode"));
        let xml = xml_of(&files);
        let tolerance: f64 = attribute(&xml, "<DefaultExperiment", "tolerance").parse().expect("a number");
        let product = |name: &str| {
            let nominal = attribute(&xml, &format!("<Float64 name=\"{name}\""), "nominal");
            tolerance * nominal.parse::<f64>().expect("a number")
        };
        let source = files.iter().find(|(path, _)| path == "sources/fmi3.c").expect("a source");
        let source = String::from_utf8_lossy(&source.1).into_owned();
        let list = source.split("nominal[] = {").nth(1).and_then(|rest| rest.split('}').next()).expect("the list");
        (tolerance, ["x", "u[1]", "u[2]"].map(product), list.to_string())
    };
    let near = |found: f64, right: f64| (found - right).abs() <= 1e-15 * right;
    for (run, rtol, atol, listed) in [
        // without a run block the defaults of `odec run`
        ("", 1e-6, [1e-9; 3], 1),
        ("run { t = 0 .. 1; rtol = 1e-4; atol = 1e-12 }", 1e-4, [1e-12; 3], 1),
        ("param p = 2\nrun { t = 0 .. 1; atol = p*1e-8; atol(u[2]) = 1e-3 }", 1e-6, [2e-8, 2e-8, 1e-3], 3),
        ("run a { t = 0 .. 1; rtol = 1e-4 }\nrun b { t = 0 .. 1; rtol = 1e-5 }", 1e-6, [1e-9; 3], 1),
    ] {
        let (tolerance, products, list) = of(run);
        assert!(near(tolerance, rtol), "{run}: {tolerance}");
        assert!(products.iter().zip(atol).all(|(found, right)| near(*found, right)), "{run}: {products:?}");
        assert_eq!(list.split(", ").count(), listed, "{list}");
    }
    // FMI permits no nominal value of 0
    let (_, products, list) = of("run { t = 0 .. 1; atol = 0 }");
    assert!(products.iter().all(|product| *product > 0.0 && *product < 1e-100), "{products:?} {list}");
}

/// Rows of numbers, without other lines.
fn rows(text: &str) -> Vec<Vec<f64>> {
    let numbers = |line: &str| line.split(',').map(|x| x.parse().ok()).collect::<Option<Vec<f64>>>();
    text.lines().filter_map(numbers).collect()
}

/// Output of the host; `None` without a C compiler.
fn imported(folder: &Path, files: &[(String, Vec<u8>)], end: &str, samples: &str) -> Option<String> {
    if Command::new("cc").arg("--version").output().is_err() || !cfg!(target_os = "linux") {
        skipped("FMUs, because there is no `cc`, or this is not Linux");
        return None;
    }
    let (_, library) = files.iter().find(|(path, _)| path.starts_with("binaries/")).expect("a library");
    std::fs::write(folder.join("m.so"), library).expect("a file");
    let mut cc = Command::new("cc");
    cc.current_dir(folder).args(["-std=gnu99", "-O2", "-Wall", "-Wextra", "-Werror"]);
    cc.arg(root().join("tests/fixtures/embedding/importer.c")).args(["-o", "importer", "-ldl"]);
    finish(cc, b"").success();
    let xml = xml_of(files);
    let parameters = xml.matches("causality=\"parameter\"").count().to_string();
    let mut host = Command::new(folder.join("importer"));
    host.arg(folder.join("m.so")).arg(attribute(&xml, "<fmiModelDescription", "instantiationToken"));
    host.args([parameters.as_str(), end, samples]);
    Some(finish(host, b"").success().text())
}

#[test]
fn an_importer_gets_the_rows_of_a_run_and_exact_derivatives() {
    let mut share = Share::one_of(2);
    for (model, end, samples) in [
        ("models/lorenz.ode", "2", "20"),
        ("models/bouncing_ball.ode", "5", "25"),
        ("models/thermostat.ode", "4", "40"),
        ("tests/fixtures/embedding/room.ode", "4", "40"),
        ("tests/fixtures/embedding/quantiser.ode", "8", "40"),
        ("tests/fixtures/embedding/rest.ode", "6", "60"),
        ("tests/fixtures/embedding/starts_on.ode", "2", "20"),
    ]
    .into_iter()
    .filter(|_| share.takes())
    {
        let folder = scratch("fmu-import");
        let path = root().join(model);
        let files = emitted(&folder, &path);
        let xml = xml_of(&files);
        let Some(found) = imported(&folder, &files, end, samples) else { return };
        let (name, t) = (path.to_string_lossy().into_owned(), format!("0..{end}"));
        let run = ["run", &name, "--t", &t, "--samples", samples, "--quiet", "--rtol", "1e-10", "--atol", "1e-12"];
        let expected = rows(&run_in(&folder, &run, b"").success().text());
        let (imported, n) = (rows(&found), found.matches("slope").count());
        // the host prints all variables after the parameters, but not the derivatives
        let parameters = xml.matches("causality=\"parameter\"").count();
        let references = xml.split("<Output valueReference=\"").skip(1 + n);
        let first = references.filter_map(|rest| rest.split('"').next()?.parse::<usize>().ok()).min();
        let before = first.map_or(1 + n, |first| first - n - parameters);
        assert_eq!(imported.len(), expected.len(), "{model}");
        for (row, expected) in imported.iter().zip(&expected) {
            let outputs = &row[before..];
            let row = row[..1 + n].iter().chain(outputs.iter().take(expected.len() - 1 - n));
            for (found, right) in row.zip(expected) {
                assert!(
                    (found - right).abs() <= 2e-6 * (1.0 + right.abs()),
                    "{model}: {found}, not {right}\n{expected:?}"
                );
            }
        }
        if model == "models/lorenz.ode" {
            exact(&path, &imported[imported.len() - 1], &found);
        }
    }
}

/// The columns are those of the Jacobian of the interpreter, bit for bit.
fn exact(path: &Path, row: &[f64], found: &str) {
    let model = odec_lang::check(&Source::new("m", odec_tests::text(path))).model.expect("a model");
    let program = odec_lang::lower(&model, &odec_lang::Overrides::default()).expect("a program");
    let layout = odec_ir::Layout::of(&program);
    let mut p = layout.inputs(&program);
    let (y, still) = (&row[1..1 + layout.n], vec![0.0; layout.n]);
    let before = p.clone();
    odec_ir::interpret::run(&program, odec_ir::KernelRole::Prepare, 0.0, &still, &before, &still, &mut p);
    let mut entries = vec![0.0; program.jacobian.row_idx.len()];
    odec_ir::interpret::run(&program, odec_ir::KernelRole::Jacobian, row[0], y, &p, &still, &mut entries);
    for (column, line) in found.lines().filter(|line| line.starts_with("slope")).enumerate() {
        let slopes: Vec<f64> = line.split(' ').skip(1).map(|x| x.parse().expect("a number")).collect();
        let mut right = vec![0.0; layout.n];
        for k in program.jacobian.col_ptr[column]..program.jacobian.col_ptr[column + 1] {
            right[program.jacobian.row_idx[k as usize] as usize] = entries[k as usize];
        }
        assert_eq!(slopes, right, "column {column}");
    }
}

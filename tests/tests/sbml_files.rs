//! SBML models whose submodels are in other files (package `comp`).

use std::path::{Path, PathBuf};

use odec_tests::command::{run_in, scratch};

const HEAD: &str = "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' \
                    xmlns:comp='http://www.sbml.org/sbml/level3/version1/comp/version1' level='3' version='2' \
                    comp:required='true'>";

/// File with a model of this id, and the text after the model.
fn file(id: &str, model: &str, rest: &str) -> String {
    format!("{HEAD}\n<model id='{id}'>{model}</model>{rest}</sbml>")
}

fn external(list: &[(&str, &str, &str)]) -> String {
    let one = |(id, source, model): &(&str, &str, &str)| {
        let model = if model.is_empty() { String::new() } else { format!(" comp:modelRef='{model}'") };
        format!("\n<comp:externalModelDefinition comp:id='{id}' comp:source='{source}'{model}/>")
    };
    let list: String = list.iter().map(one).collect();
    format!("<comp:listOfExternalModelDefinitions>{list}</comp:listOfExternalModelDefinitions>")
}

fn submodels(list: &[(&str, &str)]) -> String {
    let list: String =
        list.iter().map(|(id, of)| format!("<comp:submodel comp:id='{id}' comp:modelRef='{of}'/>")).collect();
    format!("<comp:listOfSubmodels>{list}</comp:listOfSubmodels>")
}

/// `x' = rate*x`, x(0) = 1
fn growth(rate: &str) -> String {
    format!(
        "<listOfParameters><parameter id='x' value='1' constant='false'/></listOfParameters><listOfRules>\n\
         <rateRule variable='x'><math xmlns='http://www.w3.org/1998/Math/MathML'><apply><times/><cn>{rate}</cn>\
         <ci>x</ci></apply></math></rateRule></listOfRules>"
    )
}

fn folder(name: &str, files: &[(&str, String)]) -> PathBuf {
    let folder = scratch(&format!("sbml-files-{name}"));
    for (name, text) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new(""))).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    folder
}

/// The main model takes `A` from the model of another file, which has a part from a third one, in a folder below; and
/// `B` and `C` by name.
#[test]
fn submodels_come_from_other_files() {
    let main = submodels(&[("A", "whole"), ("B", "named"), ("C", "further")]);
    let sources = [
        ("whole", "parts/outer.xml", ""),
        ("named", "parts/inner.xml", "slow"),
        ("further", "parts/outer.xml", "next"),
    ];
    let inner = format!(
        "<comp:listOfModelDefinitions><modelDefinition id='slow'>{}</modelDefinition></comp:listOfModelDefinitions>",
        growth("-0.25")
    );
    let folder = folder(
        "found",
        &[
            ("main.xml", file("main", &main, &external(&sources))),
            (
                "parts/outer.xml",
                file("outer", &submodels(&[("D", "next")]), &external(&[("next", "inner.xml", "inner")])),
            ),
            ("parts/inner.xml", file("inner", &growth("-2"), &inner)),
        ],
    );
    let rows = run_in(&folder, &["run", "main.xml", "--quiet", "--t-end", "1", "--samples", "1"], b"").success().text();
    let mut lines = rows.lines();
    assert_eq!(lines.next(), Some("t,A__D__x,B__x,C__x"));
    let last: Vec<f64> = lines.last().expect("rows").split(',').map(|v| v.parse().expect("a number")).collect();
    for (value, expected) in last[1..].iter().zip([-2f64, -0.25, -2.0]) {
        assert!((value - expected.exp()).abs() < 1e-5, "{last:?}");
    }
    // every command reads the files, and the text of an import needs none
    let text = run_in(&folder, &["import", "main.xml"], b"").success().text();
    assert!(text.contains("A__D__x' = (-2)*A__D__x"), "{text}");
    for command in ["check", "dump"] {
        run_in(&folder, &[command, "main.xml"], b"").success();
    }
}

/// A mistake in another file is reported there.
#[test]
fn messages_point_at_the_file_of_the_mistake() {
    let main = |source, model| file("main", &submodels(&[("A", "a")]), &external(&[("a", source, model)]));
    let said = |name: &str, main: String, others: &[(&str, String)]| {
        let files: Vec<(&str, String)> = [("main.xml", main)].into_iter().chain(others.iter().cloned()).collect();
        let run = run_in(&folder(name, &files), &["check", "main.xml"], b"");
        assert_eq!(run.code, Some(1), "{}", run.err);
        run.err
    };
    let wrong = file("b", &growth("-2").replace("<ci>x</ci>", "<ci>y</ci>"), "");
    let shown = said("wrong", main("b.xml", ""), &[("b.xml", wrong)]);
    assert!(shown.contains("b.xml:3:") && shown.contains("`A__y`"), "{shown}");
    for (name, main, others, code, part) in [
        ("none", main("b.xml", ""), vec![], "E0808", "there is no file `b.xml`"),
        ("outside", main("../b.xml", ""), vec![], "E0808", "no file"),
        ("model", main("b.xml", "c"), vec![("b.xml", file("b", &growth("1"), ""))], "E0805", "no model `c`"),
        ("cut", main("b.xml", ""), vec![("b.xml", format!("{HEAD}<model"))], "E0801", "b.xml:1:"),
        ("itself", main("main.xml", "main"), vec![], "E0803", "nested deeper"),
        (
            "circle",
            main("b.xml", "c"),
            vec![("b.xml", file("b", "", &external(&[("c", "main.xml", "a")])))],
            "E0805",
            "leads back to itself",
        ),
    ] {
        let shown = said(name, main, &others);
        assert!(shown.contains(code) && shown.contains(part), "{name}: {shown}");
    }
}

/// Submodels are counted before they are inserted: fifty definitions of two submodels each are 2^49 models, empty or not.
#[test]
fn a_file_that_asks_for_too_many_submodels_is_refused_before_they_are_made() {
    let named = |k: usize| format!("m{k}");
    for (name, leaf) in [("grown", growth("1")), ("empty", String::new())] {
        let definition = |k: usize| {
            let inside = if k == 0 { leaf.clone() } else { submodels(&[("A", &named(k - 1)), ("B", &named(k - 1))]) };
            format!("<comp:modelDefinition id='{}'>{inside}</comp:modelDefinition>", named(k))
        };
        let definitions: String = (0..49).map(definition).collect();
        let list = format!("<comp:listOfModelDefinitions>{definitions}</comp:listOfModelDefinitions>");
        let top = submodels(&[("A", "m48"), ("B", "m48")]);
        let folder = folder(&format!("bomb-{name}"), &[("main.xml", file("main", &top, &list))]);
        let run = run_in(&folder, &["check", "main.xml"], b"");
        assert!(run.code == Some(1) && run.err.contains("E0803") && run.err.contains("200000"), "{}", run.err);
    }
}

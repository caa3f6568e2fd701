//! Units of SBML in the text of an import: SBML never converts a number, so the text contains units if no factor results.

use odec_tests::command::{run_in, scratch};

/// Unit: kind, exponent, scale, multiplier.
type Unit = (&'static str, &'static str, i32, f64);

fn definitions(list: &[(&str, &[Unit])]) -> String {
    let unit = |(kind, exponent, scale, multiplier): &Unit| {
        format!("<unit kind='{kind}' exponent='{exponent}' scale='{scale}' multiplier='{multiplier}'/>")
    };
    let one = |(id, units): &(&str, &[Unit])| {
        let units: String = units.iter().map(unit).collect();
        format!("<unitDefinition id='{id}'><listOfUnits>{units}</listOfUnits></unitDefinition>")
    };
    format!("<listOfUnitDefinitions>{}</listOfUnitDefinitions>", list.iter().map(one).collect::<String>())
}

/// S decays in a cell of `size`, and an event sets its concentration.
fn model(attributes: &str, units: &str, size: &str, k: &str) -> String {
    let math = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";
    format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model id='m' {attributes}>{units}\
         <listOfCompartments><compartment id='cell' spatialDimensions='3' {size} constant='true'/></listOfCompartments>\
         <listOfSpecies><species id='S' compartment='cell' initialConcentration='3' hasOnlySubstanceUnits='false' \
         boundaryCondition='false' constant='false'/></listOfSpecies>\
         <listOfParameters><parameter id='k' value='0.5' {k} constant='true'/></listOfParameters>\
         <listOfReactions><reaction id='J' reversible='false'><listOfReactants><speciesReference species='S' \
         stoichiometry='1' constant='true'/></listOfReactants><kineticLaw>{math}<apply><times/><ci>k</ci><ci>S</ci>\
         <ci>cell</ci></apply></math></kineticLaw></reaction></listOfReactions>\
         <listOfEvents><event useValuesFromTriggerTime='true'><trigger initialValue='true' persistent='true'>{math}<apply>\
         <gt/><csymbol definitionURL='http://www.sbml.org/sbml/symbols/time'>t</csymbol><cn>1.5</cn></apply></math></trigger>\
         <listOfEventAssignments><eventAssignment variable='S'>{math}<cn>2</cn></math></eventAssignment>\
         </listOfEventAssignments></event></listOfEvents></model></sbml>"
    )
}

/// Text of an import, after a check that its rows are those of the file, bit by bit.
#[track_caller]
fn imported(name: &str, text: &str) -> String {
    let folder = scratch(&format!("sbml-units-{name}"));
    std::fs::write(folder.join("m.xml"), text).expect("a folder");
    run_in(&folder, &["import", "m.xml", "-o", "m.ode", "--quiet"], b"").success();
    run_in(&folder, &["check", "m.ode", "--quiet"], b"").success();
    let rows = |file: &str| {
        let rows = run_in(&folder, &["run", file, "--quiet", "--t-end", "4", "--samples", "8"], b"").success().text();
        rows.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rows("m.xml"), rows("m.ode"));
    std::fs::read_to_string(folder.join("m.ode")).expect("a text")
}

fn has_lines(text: &str, lines: &[&str]) {
    for line in lines {
        assert!(text.contains(line), "no {line} in\n{text}");
    }
}

#[test]
fn consistent_units_are_in_the_text() {
    let units = definitions(&[
        ("minute", &[("second", "1", 0, 60.0)]),
        ("mM_size", &[("litre", "1", -3, 1.0)]),
        ("amount", &[("mole", "1", -6, 1.0)]),
        ("per_minute", &[("second", "-1", 0, 60.0)]),
    ]);
    let text = model(
        "timeUnits='minute' substanceUnits='amount' extentUnits='amount' volumeUnits='mM_size'",
        &units,
        "size='2'",
        "units='per_minute'",
    );
    let text = imported("consistent", &text);
    has_lines(
        &text,
        &[
            "time t [min]",
            "param k = 0.5 [1/min]",
            "param cell = 2 [mL]",
            "state S = (3 [umol/mL]*cell) [umol]",
            "S := 2 [umol/mL]*cell",
        ],
    );
    assert!(!text.contains("Units"), "{text}");
}

#[test]
fn units_that_odec_would_convert_are_left_out() {
    // k is in 1/s, and the time in minutes: the numbers are the same for any units
    let units = definitions(&[("minute", &[("second", "1", 0, 60.0)]), ("per_second", &[("second", "-1", 0, 1.0)])]);
    let text = model(
        "timeUnits='minute' substanceUnits='mole' extentUnits='mole'",
        &units,
        "size='2' units='litre'",
        "units='per_second'",
    );
    let text = imported("converted", &text);
    assert!(
        text.contains("# Units are left out: odec would convert them into each other.") && !text.contains('['),
        "{text}"
    );
    // an amount per time from a constant without a unit
    let text = model(
        "timeUnits='second' substanceUnits='mole' extentUnits='mole'",
        "",
        "size='2' units='litre'",
        "units='mole'",
    );
    let text = imported("wrong", &text);
    assert!(text.contains("# Units are left out: ") && !text.contains("param k = 0.5 ["), "{text}");
    // kinds and multiples that odec does not have
    for (name, unit) in
        [("Celsius", ("Celsius", "1", 0, 1.0)), ("negative", ("mole", "1", 0, -2.0)), ("huge", ("mole", "1", 99, 1.0))]
    {
        let units = definitions(&[("amount", &[unit])]);
        let text = imported(name, &model("substanceUnits='amount'", &units, "size='2'", ""));
        assert!(text.contains("# Units are left out: odec ") && !text.contains('['), "{text}");
    }
    // a file without units gives no remark
    let text = imported("none", &model("", "", "size='2'", ""));
    assert!(!text.contains("Units") && !text.contains('['), "{text}");
}

/// Multiples without a name, items, powers that are not integers.
#[test]
fn any_multiple_can_be_written() {
    let units = definitions(&[
        ("dozen", &[("item", "1", 0, 12.0)]),
        ("size", &[("metre", "3", -1, 2.0)]),
        ("rate", &[("second", "-1", 0, 7.0)]),
        ("week", &[("second", "1", 0, 7.0)]),
    ]);
    let text = model(
        "timeUnits='week' substanceUnits='dozen' extentUnits='dozen' volumeUnits='size'",
        &units,
        "size='2'",
        "units='rate'",
    );
    let text = imported("multiples", &text);
    has_lines(
        &text,
        &[
            "unit item",
            "time t [(7*s)]",
            "param cell = 2 [(2e-1*m)^3]",
            "param k = 0.5 [1/(7*s)]",
            "[(12*item)/(2e-1*m)^3]*cell",
        ],
    );
}

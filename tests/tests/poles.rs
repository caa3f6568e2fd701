//! Quantities that divide by a state which falls to 0: the run ends soon, and the message names the division.

use odec_tests::command::{run_in, scratch};

use crate::events::odec;

/// Number of steps and attempts that such a run may take.
const FEW: u64 = 1_000;

/// Accepted and rejected steps of a summary.
fn attempts(summary: &str) -> u64 {
    let line = summary.lines().find(|line| line.starts_with("steps")).expect("a line of the summary");
    line.split(|c: char| c.is_whitespace()).filter_map(|word| word.replace(',', "").parse::<u64>().ok()).sum()
}

/// A condition on a concentration jumps from one infinity to the other when the volume is 0.
#[test]
fn a_condition_on_a_concentration_ends_where_the_volume_is_zero() {
    let falling = "state V = 1, a = 2, b = 2, c = 2\nbc = b/V\ncc = c/V\nV' = -0.7\n\
                   r = bc/(0.3*(if V > 0.2 then 1 else 2) + bc)\ns = 0.5*V*bc*a/V\n\
                   a' = s + 0.5*b\nb' = -r - 0.1*b - s - 0.5*b\nc' = r + 0.1*b\n";
    let turning = "state V = 1, a = 0.5, b = 1\nac = a/V\nbc = b/V\nV' = -0.2 - 0.3*sin(t)^2\n\
                   r = 0.1*V*bc^2/(0.1 + bc^2)\ns = 100*V*ac\nw = 3*b*a\n\
                   a' = -1 - a + r - s + w\nb' = 1 + a - r + s - w\n";
    // at 1e-5, a step of `auto` passes the pole of the first one, with W0622: its second run ends there
    for (text, condition) in [(falling, "cc > 100"), (turning, "bc > 1.5")] {
        let text = format!(
            "{text}discrete n = 0\nwhen {condition} {{ n += 1 }}\noutput n\nrun {{ t = 0 .. 10; samples = 3 }}\n"
        );
        let ran = odec(&scratch("poles-conditions"), &text, &["run", "M", "--max-steps", "20000", "--rtol", "1e-6"]);
        assert_eq!(ran.code, Some(3), "{}", ran.err);
        // a step that ends before the pole becomes too short, and one behind it shows the condition with the other sign
        let at_pole = ran.err.contains("error[E0623]") && ran.err.contains("at a pole at t =");
        assert!(at_pole || ran.err.contains("error[E0604]"), "{}", ran.err);
        assert!(ran.err.contains("V = 0") && ran.err.contains("`V` falls to 0 at t ="), "{}", ran.err);
        assert!(attempts(&ran.err) < FEW, "{}", ran.err);
    }
}

/// Without a condition, the steps become too short, and the message names the division.
#[test]
fn a_division_by_a_state_that_falls_to_zero_is_named() {
    let text = "state V = 1, c = 1\nV' = -1\nc' = -c^2*(1/V)\nrun { t = 0 .. 3; samples = 3 }\n";
    let ran = odec(&scratch("poles-plain"), text, &["run", "M"]);
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    for part in ["error[E0604]", "this is inf", "V = 0", "`V` falls to 0 at t = 1"] {
        assert!(ran.err.contains(part), "{part}: {}", ran.err);
    }
}

/// The pole of a term at a time that is known beforehand: by rounding, the divisor is not exactly 0 there.
#[test]
fn no_step_passes_a_pole_at_a_known_time() {
    for term in ["-c + c/V", "c/V", "1 - c + 2*c/V"] {
        for method in ["auto", "vern7", "tsit5", "dopri5", "rodas5p", "bdf"] {
            let text = format!(
                "state V = 1, c = 1\nV' = -1\nc' = {term}\nrun {{ t = 0 .. 4; samples = 3; method = {method} }}\n"
            );
            let ran = odec(&scratch("poles-known"), &text, &["run", "M"]);
            assert_eq!(ran.code, Some(3), "{method}: {}", ran.err);
            assert!(ran.err.contains("`V` falls to 0 at t = 1"), "{method}: {}", ran.err);
        }
    }
    // the pole of a term that no equation reads
    let text = "state V = 1, c = 1\nV' = -1\nc' = if c < 0 then c/V else -c\nrun { t = 0 .. 4; samples = 3 }\n";
    let ran = odec(&scratch("poles-known"), text, &["run", "M"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}

/// A compartment whose size falls to 0, with a reaction in it and an event on a concentration.
#[test]
fn a_compartment_that_shrinks_to_nothing_ends_the_run() {
    let math = |content: &str| format!("<math xmlns='http://www.w3.org/1998/Math/MathML'>{content}</math>");
    let species = |id: &str, start: &str| {
        format!(
            "<species id='{id}' compartment='C' initialConcentration='{start}' hasOnlySubstanceUnits='false' \
             boundaryCondition='false' constant='false'/>"
        )
    };
    let reference = |id: &str| format!("<speciesReference species='{id}' stoichiometry='1' constant='true'/>");
    let text = format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version1/core' level='3' version='1'><model id='m'>\n\
         <listOfCompartments><compartment id='C' spatialDimensions='3' size='1' constant='false'/>\
         </listOfCompartments>\n\
         <listOfSpecies>{}{}</listOfSpecies>\n\
         <listOfParameters><parameter id='n' value='0' constant='false'/></listOfParameters>\n\
         <listOfRules><rateRule variable='C'>{}</rateRule></listOfRules>\n\
         <listOfReactions><reaction id='R' reversible='false' fast='false'>\
         <listOfReactants>{}</listOfReactants><listOfProducts>{}</listOfProducts>\
         <kineticLaw>{}</kineticLaw></reaction></listOfReactions>\n\
         <listOfEvents><event useValuesFromTriggerTime='true'><trigger initialValue='true' persistent='true'>{}\
         </trigger>\
         <listOfEventAssignments><eventAssignment variable='n'>{}</eventAssignment></listOfEventAssignments></event>\
         </listOfEvents>\n</model></sbml>\n",
        species("S", "1"),
        species("P", "0"),
        math("<cn>-1</cn>"),
        reference("S"),
        reference("P"),
        math("<apply><times/><cn>0.1</cn><ci>C</ci><ci>S</ci></apply>"),
        math("<apply><gt/><ci>P</ci><cn>1.5</cn></apply>"),
        math("<cn>1</cn>"),
    );
    let folder = scratch("poles-sbml");
    std::fs::write(folder.join("m.xml"), text).expect("a folder");
    let ran = run_in(&folder, &["run", "m.xml", "--t", "0..10", "--samples", "3", "--max-steps", "20000"], b"");
    assert_eq!(ran.code, Some(3), "{}", ran.err);
    assert!(ran.err.contains("`C` falls to 0 at t = 1"), "{}", ran.err);
    assert!(attempts(&ran.err) < FEW, "{}", ran.err);
}

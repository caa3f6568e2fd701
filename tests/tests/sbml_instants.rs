//! Triggers with `=` and `!=` of continuous quantities: SBML executes the events at the instant of the equality, or just
//! after it, and at the start only if the trigger becomes true there.

use odec_tests::command::{run_in, scratch};

const TIME: &str = "<csymbol encoding='text' definitionURL='http://www.sbml.org/sbml/symbols/time'>t</csymbol>";

/// Model in which x counts the executions of one event, y grows like the time, and z is discrete.
fn counting(trigger: &str, initially: bool, more: &str) -> String {
    let math = |content: &str| format!("<math xmlns='http://www.w3.org/1998/Math/MathML'>{content}</math>");
    let parameters = ["x", "y", "z"].map(|id| format!("<parameter id='{id}' value='0' constant='false'/>")).concat();
    format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model id='m'>\n\
         <listOfParameters>{parameters}</listOfParameters>\n\
         <listOfRules><rateRule variable='y'>{}</rateRule></listOfRules>\n\
         <listOfEvents><event useValuesFromTriggerTime='true'><trigger initialValue='{initially}' persistent='true'>\
         {}</trigger>{more}<listOfEventAssignments><eventAssignment variable='x'>{}</eventAssignment>\
         </listOfEventAssignments></event></listOfEvents>\n</model></sbml>\n",
        math("<cn>1</cn>"),
        math(trigger),
        math("<apply><plus/><ci>x</ci><cn>1</cn></apply>"),
    )
}

fn apply(operator: &str, operands: &str) -> String {
    format!("<apply><{operator}/>{operands}</apply>")
}

/// Number of executions at the start, and up to 4; and the messages.
fn counted(text: &str) -> ([f64; 2], String) {
    // tests run side by side, and each has a thread with its name
    let test = std::thread::current().name().unwrap_or_default().replace("::", "-");
    let folder = scratch(&format!("sbml-instants-{test}"));
    std::fs::write(folder.join("m.xml"), text).expect("a folder");
    let out = run_in(&folder, &["run", "m.xml", "--t", "0..4", "--samples", "1", "--record", "x"], b"");
    assert_eq!(out.code, Some(0), "{text}{}", out.err);
    let rows = out.text();
    let value = |row: usize| rows.lines().nth(row)?.rsplit(',').next()?.parse().ok();
    ([value(1).expect("a row"), value(2).expect("a row")], out.err.clone())
}

#[test]
fn equalities_happen_when_one_quantity_passes_the_other() {
    for (a, passed) in [("<ci>y</ci>", true), (TIME, true), ("<ci>z</ci>", false)] {
        for (at, start) in [("<cn>2</cn>", false), ("<cn>0</cn>", true)] {
            let sides = format!("{a}{at}");
            let (equal, unequal) = (apply("eq", &sides), apply("neq", &sides));
            // whether the condition holds at the start, and whether it begins to hold at or after the start
            for (trigger, holds, begins) in [
                (equal.clone(), start, passed && !start),
                (unequal.clone(), !start, passed),
                (apply("not", &equal), !start, passed),
                (apply("not", &unequal), start, passed && !start),
            ] {
                for initially in [true, false] {
                    let (counts, said) = counted(&counting(&trigger, initially, ""));
                    let first = f64::from(u8::from(holds && !initially));
                    let all = first + f64::from(u8::from(begins));
                    // an inequality that begins to hold right after the start happens there
                    let at_once = if start && begins { all } else { first };
                    assert_eq!(counts, [at_once, all], "{trigger} {initially}\n{said}");
                    assert!(!said.contains("W0805"), "{said}");
                }
            }
        }
    }
}

/// Inside a larger condition, the instant is not detected, and a warning is given.
#[test]
fn equalities_inside_larger_conditions_give_a_warning() {
    let passing = apply("neq", "<ci>y</ci><cn>2</cn>");
    let both = apply("and", &format!("{passing}{}", apply("gt", "<ci>y</ci><cn>1</cn>")));
    let chosen = format!("<piecewise><piece><cn>1</cn>{passing}</piece><otherwise><cn>0</cn></otherwise></piecewise>");
    for (trigger, told) in [
        (both, true),
        (apply("gt", &format!("{chosen}<cn>0.5</cn>")), true),
        (
            apply("and", &format!("{}{}", apply("eq", "<ci>z</ci><cn>0</cn>"), apply("gt", "<ci>y</ci><cn>1</cn>"))),
            false,
        ),
    ] {
        let (_, said) = counted(&counting(&trigger, true, ""));
        assert_eq!(said.contains("warning[W0805]"), told, "{trigger}\n{said}");
    }
    let delay = "<delay><math xmlns='http://www.w3.org/1998/Math/MathML'><cn>1</cn></math></delay>";
    let cancelled = counting(&passing, true, delay).replace("persistent='true'", "persistent='false'");
    let folder = scratch("sbml-instants-cancelled");
    std::fs::write(folder.join("m.xml"), &cancelled).expect("a folder");
    let out = run_in(&folder, &["run", "m.xml", "--t", "0..4"], b"");
    assert!(out.code == Some(1) && out.err.contains("E0808"), "{}", out.err);
    let (counts, _) = counted(&counting(&passing, true, delay));
    assert_eq!(counts, [0.0, 1.0]);
}

//! Invalid SBML: the file is refused, or gets a warning, and no part of it is dropped silently.

use odec_tests::command::{run_in, scratch};

const MATH: &str = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";

fn sbml(content: &str) -> String {
    format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model id='m'>\n\
         <listOfCompartments><compartment id='c' size='1' constant='true'/></listOfCompartments>\n\
         <listOfSpecies><species id='A' compartment='c' initialAmount='3' hasOnlySubstanceUnits='false' \
         boundaryCondition='false' constant='false'/></listOfSpecies>\n\
         <listOfParameters><parameter id='k' value='1' constant='true'/>\
         <parameter id='x' value='1' constant='false'/></listOfParameters>\n\
         {content}</model></sbml>\n"
    )
}

/// A rule and a reaction: x' = 2, A -> 0 with the rate k*A.
fn content() -> String {
    format!(
        "<listOfRules><rateRule variable='x'>{MATH}<cn>2</cn></math></rateRule></listOfRules>\n\
         <listOfReactions><reaction id='R' reversible='false'><listOfReactants>\
         <speciesReference species='A' stoichiometry='1' constant='true'/></listOfReactants><kineticLaw>{MATH}\
         <apply><times/><ci>k</ci><ci>A</ci></apply></math></kineticLaw></reaction></listOfReactions>\n\
         <listOfEvents><event id='e' useValuesFromTriggerTime='true'><trigger initialValue='true' persistent='true'>\
         {MATH}<apply><gt/><ci>x</ci><cn>2</cn></apply></math></trigger><listOfEventAssignments>\
         <eventAssignment variable='x'>{MATH}<cn>0</cn></math></eventAssignment></listOfEventAssignments></event>\
         </listOfEvents>\n"
    )
}

/// Original text, its replacement, the code, and a part of the message.
const MISTAKES: [(&str, &str, &str, &str); 27] = [
    ("listOfRules", "listOfRulez", "E0813", "did you mean `listOfRules`?"),
    ("rateRule", "ratRule", "E0813", "did you mean `rateRule`?"),
    ("kineticLaw", "kineticlaw", "E0813", "did you mean `kineticLaw`?"),
    ("listOfReactants", "listOfReactant", "E0813", "did you mean `listOfReactants`?"),
    ("speciesReference", "speciesRef", "E0813", "contains no `<speciesRef>`"),
    ("initialAmount", "initialAmmount", "E0813", "did you mean `initialAmount`?"),
    ("boundaryCondition", "boundarycondition", "E0813", "did you mean `boundaryCondition`?"),
    ("trigger", "triger", "E0813", "did you mean `trigger`?"),
    ("<kineticLaw>", "<kineticLaw formula='k'>", "E0813", "no attribute `formula` in Level 3"),
    ("<kineticLaw>", "<kineticLaw><listOfParameters/>", "E0813", "no `<listOfParameters>` in Level 3"),
    ("<kineticLaw>", "<kineticLaw/><kineticLaw>", "E0813", "contains `<kineticLaw>` twice"),
    ("<listOfEvents>", "<listOfRules/><listOfEvents>", "E0813", "contains `<listOfRules>` twice"),
    ("<listOfEvents>", "<listOfEvents xmlns=''>", "E0813", "not in the namespace of the file"),
    ("<listOfEvents>", "listOfRules><listOfEvents>", "E0813", "contains text"),
    ("</model>", "</model><model/>", "E0813", "contains `<model>` twice"),
    ("<cn>2</cn></math></rateRule>", "<cn>2</cn></math></rateRule>text", "E0813", "contains text"),
    ("<cn>2</cn></math>", "<cn>2</cn></math><math xmlns='http://www.w3.org/1998/Math/MathML'/>", "E0813", "twice"),
    ("<apply><times/>", "<apply><times/><degree><cn>2</cn></degree>", "E0806", "`<degree>` is not allowed"),
    ("variable='x'", "variable='k'", "E0814", "changes `k`, but `k` is constant"),
    (
        "boundaryCondition='false' constant='false'",
        "boundaryCondition='false' constant='true'",
        "E0814",
        "consumes `A`",
    ),
    (
        "</listOfEventAssignments>",
        "<eventAssignment variable='x'><math xmlns='http://www.w3.org/1998/Math/MathML'><cn>1</cn></math>\
         </eventAssignment></listOfEventAssignments>",
        "E0809",
        "the event has two assignments to `x`",
    ),
    (
        "<listOfRules>",
        "<listOfInitialAssignments>\
         <initialAssignment symbol='x'><math xmlns='http://www.w3.org/1998/Math/MathML'><cn>1</cn></math>\
         </initialAssignment>\
         <initialAssignment symbol='x'><math xmlns='http://www.w3.org/1998/Math/MathML'><cn>2</cn></math>\
         </initialAssignment></listOfInitialAssignments><listOfRules>",
        "E0809",
        "two initial assignments to `x`",
    ),
    ("initialAmount='3'", "initialAmount='3' initialConcentration='3'", "E0809", "both an initial amount and"),
    (
        "<parameter id='x' value='1' constant='false'/>",
        "<parameter id='x' value='1'/>",
        "W0804",
        "so odec uses `false`",
    ),
    (" hasOnlySubstanceUnits='false'", "", "W0804", "so odec uses `false`"),
    (" persistent='true'", "", "W0804", "so odec uses `true`"),
    ("<rateRule variable='x'>", "<rateRule variable='x' units='s'>", "E0813", "no attribute `units` in Level 3"),
];

#[test]
fn no_part_is_dropped_silently() {
    let folder = scratch("sbml-valid");
    let valid = sbml(&content());
    let run = |text: &str| {
        std::fs::write(folder.join("m.xml"), text).expect("a folder");
        run_in(&folder, &["run", "m.xml", "--t", "0..2", "--samples", "1"], b"")
    };
    let out = run(&valid);
    assert!(out.code == Some(0) && !out.err.contains("warning["), "{valid}{}", out.err);
    for (good, bad, code, says) in MISTAKES {
        assert!(valid.contains(good), "{good}");
        let out = run(&valid.replace(good, bad));
        let kind = if code.starts_with('W') { "warning" } else { "error" };
        assert!(out.err.contains(&format!("{kind}[{code}]")), "{bad}\n{}", out.err);
        let said = out.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(says), "{says}\n{}", out.err);
        assert_eq!(out.code == Some(0), kind == "warning", "{bad}\n{}", out.err);
    }
}

/// Parts of packages, notes and annotations are not parts of SBML itself.
#[test]
fn additions_are_not_mistakes() {
    let folder = scratch("sbml-additions");
    let own = "<notes><p xmlns='http://www.w3.org/1999/xhtml'>text <b>bold</b></p></notes>\
               <annotation><x xmlns='urn:x' listOfRulez='1'>text</x></annotation>";
    let text = sbml(&content()).replace("<model id='m'>", &format!("<model id='m' metaid='_m' sboTerm='SBO:1'>{own}"));
    let text = text.replace("<kineticLaw>", "<kineticLaw xmlns:p='urn:p' p:law='2'><p:more>text</p:more>");
    std::fs::write(folder.join("m.xml"), &text).expect("a folder");
    let out = run_in(&folder, &["run", "m.xml", "--t", "0..2", "--samples", "1"], b"");
    assert!(out.code == Some(0) && !out.err.contains("warning["), "{text}{}", out.err);
}

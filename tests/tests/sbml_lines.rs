//! Reactions of SBML as lines with arrows: the lines of an import, and words that have another meaning in lines.

use odec_tests::command::{run_in, scratch};
use odec_tests::share::Share;

const MATHML: &str = "<math xmlns='http://www.w3.org/1998/Math/MathML'>";

/// A model of Level 3 with parameters k = 0.5 and f = 2, a compartment V = 2, these species and these reactions.
fn model(species: &str, reactions: &str) -> String {
    format!(
        "<sbml xmlns='http://www.sbml.org/sbml/level3/version2/core' level='3' version='2'><model>\
         <listOfCompartments><compartment id='V' spatialDimensions='3' size='2' constant='true'/></listOfCompartments>\
         <listOfSpecies>{species}</listOfSpecies><listOfParameters><parameter id='k' value='0.5' constant='true'/>\
         <parameter id='f' value='2' constant='true'/></listOfParameters>\
         <listOfReactions>{reactions}</listOfReactions></model></sbml>"
    )
}

/// A species of amount 6 whose id means its amount; `more` are attributes.
fn species(id: &str, more: &str) -> String {
    let boundary = if more.contains("boundary") { "" } else { " boundaryCondition='false'" };
    format!(
        "<species id='{id}' compartment='V' initialAmount='6' hasOnlySubstanceUnits='true' constant='false'{boundary} {more}/>"
    )
}

/// Participants are `2 A`; `n:A` has an id. The rate is k times a species.
fn reaction(id: &str, left: &[&str], right: &[&str], of: &str) -> String {
    let side = |name: &str, list: &[&str]| {
        let one = |participant: &&str| {
            let (id, rest) = participant
                .split_once(':')
                .map_or((String::new(), *participant), |(id, rest)| (format!(" id='{id}'"), rest));
            let (n, species) = rest.split_once(' ').unwrap_or(("1", rest));
            format!("<speciesReference{id} species='{species}' stoichiometry='{n}' constant='true'/>")
        };
        let all: String = list.iter().map(one).collect();
        if all.is_empty() { String::new() } else { format!("<listOf{name}>{all}</listOf{name}>") }
    };
    format!(
        "<reaction id='{id}' reversible='false'>{}{}<kineticLaw>{MATHML}<apply><times/><ci>k</ci><ci>{of}</ci></apply>\
         </math></kineticLaw></reaction>",
        side("Reactants", left),
        side("Products", right)
    )
}

/// The lines of an import that have an arrow or an equation of a derivative.
fn lines(text: &str) -> Vec<String> {
    let imported = odec_sbml::import(text).text.expect("a model");
    let is_line = |line: &&str| {
        let code = line.split('#').next().unwrap_or_default();
        code.contains("->") || code.contains("' =")
    };
    imported.lines().filter(is_line).map(str::to_owned).collect()
}

/// Numbers come before species; a name, a conversion factor or a minus multiplies the rate or changes sides.
#[test]
fn lines_hold_what_reactions_do() {
    let all = ["A", "B", "C"].map(|id| species(id, "")).concat();
    let found = |reactions: &[String]| lines(&model(&all, &reactions.concat()));
    assert_eq!(found(&[reaction("J", &["A", "2 B"], &["0.5 C"], "A")]), ["J: A + 2 B -> 0.5 C  rate k*A"]);
    assert_eq!(found(&[reaction("J", &["A", "A"], &["A", "B"], "A")]), ["J: 2 A -> A + B  rate k*A"]);
    assert_eq!(found(&[reaction("J", &[], &["B"], "A")]), ["J: 0 -> B  rate k*A"]);
    // a reactant with a negative number is a product
    assert_eq!(
        found(&[reaction("J", &["A", "-2 B"], &["0 C"], "A")]),
        ["C' = 0", "J: A -> 2 B  rate k*A   # A + -2 B -> 0 C"]
    );
    // a stoichiometry with a name
    assert_eq!(found(&[reaction("J", &["A", "n:3 B"], &["C"], "A")]), ["A -> C  rate J", "B -> 0  rate n*J"]);
    let odd = [species("A", "conversionFactor='f'"), species("B", "conversionFactor='f'"), species("C", "")].concat();
    assert_eq!(
        lines(&model(&odd, &reaction("J", &["A"], &["2 B", "C"], "A"))),
        ["A -> 2 B  rate f*J", "0 -> C  rate J"]
    );
    let boundary = [species("A", ""), species("B", "boundaryCondition='true'")].concat();
    assert_eq!(lines(&model(&boundary, &reaction("J", &["A", "B"], &["2 B"], "B"))), ["J: A + $B -> 2 $B  rate k*B"]);
    // a reaction without reactants and products is a rate
    assert_eq!(lines(&model(&all, &reaction("J", &[], &[], "A"))), ["elapsed' = 1"]);
}

/// The same values as the sum of rates in SBML, by hand.
#[test]
fn lines_have_the_values_of_sums() {
    let odd =
        [species("A", "conversionFactor='f'"), species("B", ""), species("C", "boundaryCondition='true'")].concat();
    let parts = [
        reaction("J", &["A", "C"], &["n:3 B", "-1 B"], "A"),
        reaction("reaction_1", &["0.25 B"], &["0 A"], "B"),
        reaction("L", &["C"], &[], "C"),
    ];
    let folder = scratch("sbml-lines");
    std::fs::write(folder.join("m.xml"), model(&odd, &parts.concat())).expect("a folder");
    let fixed = ["run", "m.xml", "--quiet", "--t", "0..2", "--samples", "4", "--rtol", "1e-10", "--atol", "1e-12"];
    let out = run_in(&folder, &fixed, b"").success().text();
    let head: Vec<&str> = out.lines().next().unwrap_or_default().split(',').collect();
    let column = |name: &str| head.iter().position(|h| *h == name).unwrap_or_else(|| panic!("{name}: {head:?}"));
    for line in out.lines().skip(1) {
        let row: Vec<f64> = line.split(',').map(|v| v.parse().expect("a number")).collect();
        let t = row[0];
        // A' = -2*J, J = A/2; B' = (3 - 1)*J - B/8
        let a = 6.0 * (-t).exp();
        let b = 6.0 * (-t / 8.0).exp() + 6.0 / (1.0 - 0.125) * ((-t / 8.0).exp() - (-t).exp());
        for (name, wanted) in [("A", a), ("B", b), ("C", 6.0), ("J", a / 2.0), ("reaction_1", b / 2.0), ("L", 3.0)] {
            let value = row[column(name)];
            assert!((value - wanted).abs() < 1e-8 * (1.0 + wanted), "{name} at {t}: {value}, expected {wanted}");
        }
    }
}

/// Words of laws and clauses as names of species and reactions.
#[test]
fn words_of_the_language_are_names_of_species() {
    let mut share = Share::one_of(3);
    let words = [
        "rate",
        "mass",
        "flow",
        "compartment",
        "in",
        "state",
        "when",
        "use",
        "axis",
        "index",
        "stop",
        "e4",
        "E",
        "if",
        "conserve",
        "expect",
        "from",
        "sum",
    ];
    let folder = scratch("sbml-words");
    for word in words {
        for (a, b, j) in
            [(word, "P0", "J0"), ("A0", word, "J0"), ("A0", "P0", word)].into_iter().filter(|_| share.takes())
        {
            let both = [species(a, ""), species(b, "")].concat();
            std::fs::write(folder.join("m.xml"), model(&both, &reaction(j, &[a, a], &[b], a))).expect("a folder");
            run_in(&folder, &["import", "m.xml", "-o", "m.ode"], b"").success();
            for file in ["m.xml", "m.ode"] {
                let fixed = ["run", file, "--quiet", "--t-end", "1", "--samples", "1", "--rtol", "1e-9"];
                let out = run_in(&folder, &fixed, b"").success().text();
                let last = out.lines().last().unwrap_or_default();
                // A' = -2*k*A
                let wanted = 6.0 * (-1.0_f64).exp();
                let found = last.split(',').any(|v| v.parse::<f64>().is_ok_and(|v| (v - wanted).abs() < 1e-6));
                assert!(found, "{word}: {a}, {b}, {j} in {file}: {out}");
            }
        }
    }
}

/// Warnings of the check and errors of a run show the element of the XML with its id, in every form.
#[test]
fn messages_about_a_model_point_at_its_xml() {
    let rule = format!(
        "<listOfRules>\n<rateRule variable='x'>{MATHML}<apply><times/><ci>x</ci><ci>x</ci></apply></math></rateRule></listOfRules>\n\
         <listOfReactions>\n"
    );
    let reaction = reaction("J", &["A"], &[], "B");
    let whole = model(&[species("A", ""), species("B", "")].concat(), &reaction);
    let whole =
        whole.replace("</listOfParameters>", "<parameter id='x' value='1' constant='false'/></listOfParameters>\n");
    let folder = scratch("sbml-places");
    std::fs::write(folder.join("m.xml"), whole.replace("<listOfReactions>", &rule)).expect("a folder");
    let out = run_in(&folder, &["run", "m.xml", "--t-end", "2", "--quiet"], b"").err;
    for part in ["E0604", "m.xml:3:1", "<rateRule variable='x'>", "odec imports this as `x' = x*x`"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let out = run_in(&folder, &["check", "m.xml"], b"").err;
    for part in ["W0520", "m.xml:5:1", "<reaction id='J' reversible='false'>", "`J: A -> 0  rate k*B`"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let out = run_in(&folder, &["check", "m.xml", "--message-format", "json"], b"").err;
    assert!(out.contains("\"file\":\"m.xml\"") && out.contains("\"line\":5"), "{out}");
}

/// Reactions remain reactions in an export, even if units multiply their rates, and have the rows of the model.
#[test]
fn exported_reactions_have_the_rows_of_their_model() {
    let networks = [
        // plain, with a catalyst, a source that reads rates, and a state with its own equation
        (
            4,
            "param kon = 2, koff = 0.5\nn = 2*kon\nstate E = 1, S = n + 1, ES = 0, P = 0, D = 0, w = 1\nw' = -0.3*w*ES\n\
          bind: E + S <-> ES  mass (kon, koff)\nES -> E + P  mass 1.5\n2 P -> D  mass 0.3\n\
          0 -> S  rate 0.1*w*bind/(1 + bind^2)\noutput bind\nrun { t = 0 .. 4 }\n",
        ),
        // rates in minutes, states in seconds
        (
            2,
            "time t [s]\nparam k = 30 [1/min]\nstate A = 2 [uM], B = 0 [uM]\nfall: A -> 2 B  mass k\n\
          B -> 0  mass 0.5 [1/s]\noutput fall\nrun { t = 0 .. 4 }\n",
        ),
        // one volume: concentrations. A flow and a volume that grows have equations
        (1, "compartment V = 3\nstate A = 2 in V, B = 0 in V\nA -> B  mass 0.7\nrun { t = 0 .. 4 }\n"),
        (
            1,
            "compartment V = 3, W = 2\nstate A = 2 in V, B = 0 in W, C = 1 in W, D = 4, F = 0\ngo: A -> B  flow A - B\n\
          B -> C  mass 0.7\nD -> F  mass 0.1\noutput go\nrun { t = 0 .. 4 }\n",
        ),
        (0, "state V = 1\nV' = 0.5\ncompartment cell = V\nstate A = 2 in cell\nA -> 0  mass 0.3\nrun { t = 0 .. 4 }\n"),
        // an event changes a species
        (1, "state A = 2, B = 0\nA -> B  mass 1\nwhen B > 1 { A += 1 }\nrun { t = 0 .. 4 }\n"),
    ];
    let folder = scratch("sbml-networks");
    for (reactions, text) in networks {
        std::fs::write(folder.join("m.ode"), text).expect("a folder");
        run_in(&folder, &["export", "--to", "sbml", "m.ode", "-o", "m.xml"], b"").success();
        let written = odec_tests::text(&folder.join("m.xml"));
        assert_eq!(written.matches("<reaction ").count(), reactions, "{text}");
        let rows = ["m.ode", "m.xml"].map(|name| {
            let fixed = ["run", name, "--quiet", "--t", "0..4", "--samples", "8", "--rtol", "1e-10", "--atol", "1e-12"];
            let out = run_in(&folder, &fixed, b"").success().text();
            let rows: Vec<Vec<String>> = out.lines().map(|l| l.split(',').map(str::to_owned).collect()).collect();
            rows
        });
        for (k, name) in rows[0][0].iter().enumerate() {
            let other = rows[1][0].iter().position(|n| n == name).unwrap_or_else(|| panic!("no {name}: {text}"));
            for (a, b) in rows[0].iter().zip(&rows[1]).skip(1) {
                let (a, b): (f64, f64) = (a[k].parse().expect("a number"), b[other].parse().expect("a number"));
                assert!((a - b).abs() <= 1e-8 * (1.0 + a.abs()), "{name}: {a}, {b}: {text}");
            }
        }
    }
}

/// Values of the command line, and of the parameter set of the run, are in the file.
#[test]
fn an_export_has_the_values_of_its_command() {
    let folder = scratch("sbml-values");
    let text = "param k = 1, c = 2\nparams fast { k = 5 }\nstate A = 2*k\ndiscrete d = 1\nhalf = k/2\n\
                A' = -k*A*d + half\nwhen t > 1 { d := c }\noutput half\nrun { t = 0 .. 2 }\n";
    std::fs::write(folder.join("m.ode"), text).expect("a folder");
    for set in [
        &["--set", "k=3", "--set", "A=7"][..],
        &["--params", "fast"],
        &["--set", "d=0.25"],
        &["--params", "fast", "--set", "c=0"],
    ] {
        let export = [&["export", "m.ode", "-o", "m.xml"], set].concat();
        run_in(&folder, &export, b"").success();
        let last = |arguments: &[&str]| {
            let fixed = ["--quiet", "--t", "0..2", "--samples", "4", "--rtol", "1e-10", "--atol", "1e-12"];
            let out = run_in(&folder, &[arguments, &fixed].concat(), b"").success().text();
            let head: Vec<&str> = out.lines().next().unwrap_or_default().split(',').collect();
            let at = head.iter().position(|h| *h == "A").expect("a column");
            out.lines()
                .skip(1)
                .map(|line| line.split(',').nth(at).expect("A").parse().expect("a number"))
                .collect::<Vec<f64>>()
        };
        let own = last(&[&["run", "m.ode"], set].concat());
        for (a, b) in own.iter().zip(last(&["run", "m.xml"])) {
            assert!((a - b).abs() < 1e-8 * (1.0 + a.abs()), "{set:?}: {a}, {b}");
        }
    }
    assert_ne!(run_in(&folder, &["export", "m.ode", "--set", "q=3"], b"").code, Some(0));
}

//! Ten models in the nine levels and versions of SBML, with their different spellings: the rows are equal.

use odec_tests::command::{run_in, scratch};

use crate::sbml_meaning::math;

const LEVELS: [(u32, u32); 9] = [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (2, 4), (2, 5), (3, 1), (3, 2)];

/// Formulas are lists, operator first, with the operators of Level 1.
struct Model {
    compartments: &'static [(&'static str, f64)],
    /// Name, compartment, amount, boundary.
    species: &'static [(&'static str, &'static str, f64, bool)],
    parameters: &'static [(&'static str, f64)],
    /// Variable of a rule, whether it is a rate, and the formula. A rule without a name is algebraic.
    rules: &'static [(&'static str, bool, &'static str)],
    /// Reactants, products, law and its local parameters.
    reactions: &'static [Reaction],
}

type Side = &'static [(u32, &'static str)];
type Reaction = (Side, Side, &'static str, &'static [(&'static str, f64)]);

const CELL: &[(&str, f64)] = &[("cell", 2.0)];

const MODELS: [Model; 10] = [
    // decay with a local parameter
    Model {
        compartments: CELL,
        species: &[("A", "cell", 6.0, false), ("B", "cell", 0.0, false)],
        parameters: &[],
        rules: &[],
        reactions: &[(&[(1, "A")], &[(2, "B")], "(times cell (times k A))", &[("k", 0.5)])],
    },
    // an enzyme, with a reaction each way
    Model {
        compartments: CELL,
        species: &[
            ("E", "cell", 1.0, false),
            ("S", "cell", 5.0, false),
            ("ES", "cell", 0.0, false),
            ("P", "cell", 0.0, false),
        ],
        parameters: &[("kon", 2.0), ("koff", 0.5)],
        rules: &[],
        reactions: &[
            (&[(1, "E"), (1, "S")], &[(1, "ES")], "(times cell (minus (times kon (times E S)) (times koff ES)))", &[]),
            (&[(1, "ES")], &[(1, "E"), (1, "P")], "(times cell (times kcat ES))", &[("kcat", 1.5)]),
        ],
    },
    // a boundary species feeds
    Model {
        compartments: CELL,
        species: &[("X", "cell", 3.0, true), ("A", "cell", 0.0, false)],
        parameters: &[("k", 0.4)],
        rules: &[],
        reactions: &[(&[(1, "X")], &[(1, "A")], "(times k X)", &[]), (&[(1, "A")], &[], "(times k A)", &[("k", 0.9)])],
    },
    // two compartments
    Model {
        compartments: &[("c1", 1.0), ("c2", 4.0)],
        species: &[("A", "c1", 8.0, false), ("B", "c2", 1.0, false)],
        parameters: &[("p", 0.7)],
        rules: &[],
        reactions: &[(&[(1, "A")], &[(1, "B")], "(times p (minus A B))", &[])],
    },
    // a rate rule, an assignment rule that reads it
    Model {
        compartments: CELL,
        species: &[("A", "cell", 2.0, false)],
        parameters: &[("x", 1.0), ("y", 0.0)],
        rules: &[("x", true, "(times -0.3 x)"), ("y", false, "(plus 1 (times 2 x))")],
        reactions: &[(&[(1, "A")], &[], "(times y A)", &[])],
    },
    // rules of species mean concentrations
    Model {
        compartments: CELL,
        species: &[("A", "cell", 2.0, true), ("B", "cell", 0.0, true), ("C", "cell", 1.0, false)],
        parameters: &[("k", 0.25)],
        rules: &[("A", true, "(times -0.5 A)"), ("B", false, "(plus A 3)")],
        reactions: &[(&[(1, "B")], &[(1, "C")], "(times k B)", &[])],
    },
    // a compartment that grows
    Model {
        compartments: CELL,
        species: &[("A", "cell", 2.0, false)],
        parameters: &[("g", 0.2)],
        rules: &[("cell", true, "(times g cell)")],
        reactions: &[(&[(1, "A")], &[], "(times 0.3 (times A cell))", &[])],
    },
    // an algebraic rule
    Model {
        compartments: CELL,
        species: &[("A", "cell", 4.0, false)],
        parameters: &[("z", 1.0)],
        rules: &[("", false, "(minus (plus z (times 2 A)) 10)")],
        reactions: &[(&[(1, "A")], &[], "(times 0.4 (times A cell))", &[])],
    },
    // functions and powers
    Model {
        compartments: CELL,
        species: &[("A", "cell", 4.0, false), ("B", "cell", 1.0, false)],
        parameters: &[("n", 2.0), ("y", 0.0)],
        rules: &[("y", false, "(plus (exp (minus A)) (abs (sin B)))")],
        reactions: &[(&[(3, "A")], &[(1, "B")], "(divide (power A n) (plus 1 (power A n)))", &[])],
    },
    // only a rule
    Model {
        compartments: CELL,
        species: &[],
        parameters: &[("x", 1.0), ("v", 0.0)],
        rules: &[("x", true, "v"), ("v", true, "(minus x)")],
        reactions: &[],
    },
];

/// The formula as Level 1 writes it.
fn infix(formula: &str) -> String {
    let spaced = formula.replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (text, rest) = part(&words);
    assert!(rest.is_empty(), "{formula}");
    text
}

fn part<'w, 'a>(words: &'w [&'a str]) -> (String, &'w [&'a str]) {
    if words[0] != "(" {
        let number = words[0].starts_with('-');
        return (if number { format!("({})", words[0]) } else { words[0].to_owned() }, &words[1..]);
    }
    let (operator, mut rest) = (words[1], &words[2..]);
    let mut operands = vec![];
    while rest[0] != ")" {
        let (operand, after) = part(rest);
        operands.push(operand);
        rest = after;
    }
    let sign = match operator {
        "plus" => "+",
        "minus" => "-",
        "times" => "*",
        "divide" => "/",
        "power" => "^",
        function => return (format!("{function}({})", operands.join(", ")), &rest[1..]),
    };
    let text =
        if operands.len() == 1 { format!("({sign}{})", operands[0]) } else { format!("({})", operands.join(sign)) };
    (text, &rest[1..])
}

impl Model {
    fn has_rule(&self, name: &str) -> bool {
        self.rules.iter().any(|(of, ..)| *of == name || of.is_empty() && name == "z")
    }

    fn text(&self, (level, version): (u32, u32)) -> String {
        let (one, key) = (level == 1, if level == 1 { "name" } else { "id" });
        let species = if (level, version) == (1, 1) { "specie" } else { "species" };
        let list =
            |name: &str, all: String| if all.is_empty() { all } else { format!("<listOf{name}>{all}</listOf{name}>") };
        let constant = |name: &str| if one { String::new() } else { format!(" constant='{}'", !self.has_rule(name)) };
        let formula =
            |list: &str| if one { format!(" formula='{}'>", infix(list)) } else { format!(">{}", math(list)) };
        let compartment = |(name, size): &(&str, f64)| {
            let size = if one { format!("volume='{size}'") } else { format!("size='{size}'") };
            let three = if level == 3 { " spatialDimensions='3'" } else { "" };
            format!("<compartment {key}='{name}' {size}{three}{}/>", constant(name))
        };
        let substance = |(name, place, amount, boundary): &(&str, &str, f64, bool)| {
            let rest = if level == 3 { " hasOnlySubstanceUnits='false' constant='false'" } else { "" };
            format!(
                "<{species} {key}='{name}' compartment='{place}' initialAmount='{amount}' boundaryCondition='{boundary}'{rest}/>"
            )
        };
        let parameter =
            |(name, value): &(&str, f64)| format!("<parameter {key}='{name}' value='{value}'{}/>", constant(name));
        let rule = |(name, rate, list): &(&str, bool, &str)| {
            let is_species = self.species.iter().any(|(of, ..)| of == name);
            let (element, variable, kind) = match (one, name.is_empty()) {
                (_, true) => ("algebraicRule".to_owned(), String::new(), ""),
                (false, _) => {
                    (if *rate { "rateRule" } else { "assignmentRule" }.to_owned(), format!(" variable='{name}'"), "")
                }
                (true, _) => {
                    let kind = if *rate { " type='rate'" } else { " type='scalar'" };
                    if is_species {
                        (format!("{species}ConcentrationRule"), format!(" {species}='{name}'"), kind)
                    } else if *name == "cell" {
                        ("compartmentVolumeRule".to_owned(), format!(" compartment='{name}'"), kind)
                    } else {
                        ("parameterRule".to_owned(), format!(" name='{name}'"), kind)
                    }
                }
            };
            format!("<{element}{variable}{kind}{}</{element}>", formula(list))
        };
        let reaction = |(k, (left, right, law, own)): (usize, &Reaction)| {
            let side = |name: &str, side: Side| {
                let rest = if level == 3 { " constant='true'" } else { "" };
                let one =
                    |(n, of): &(u32, &str)| format!("<{species}Reference {species}='{of}' stoichiometry='{n}'{rest}/>");
                list(name, side.iter().map(one).collect())
            };
            let (lists, local) =
                if level == 3 { ("LocalParameters", "localParameter") } else { ("Parameters", "parameter") };
            let own = own.iter().map(|(name, value)| format!("<{local} {key}='{name}' value='{value}'/>")).collect();
            let fast = if (level, version) == (3, 1) { " fast='false'" } else { "" };
            format!(
                "<reaction {key}='J{k}' reversible='false'{fast}>{}{}<kineticLaw{}{}</kineticLaw></reaction>",
                side("Reactants", left),
                side("Products", right),
                formula(law),
                list(lists, own)
            )
        };
        let space = match (level, version) {
            (1, _) => "level1".to_owned(),
            (2, 1) => "level2".to_owned(),
            (2, v) => format!("level2/version{v}"),
            (_, v) => format!("level3/version{v}/core"),
        };
        format!(
            "<sbml xmlns='http://www.sbml.org/sbml/{space}' level='{level}' version='{version}'><model {key}='m'>{}{}{}{}{}</model></sbml>",
            list("Compartments", self.compartments.iter().map(compartment).collect()),
            list("Species", self.species.iter().map(substance).collect()),
            list("Parameters", self.parameters.iter().map(parameter).collect()),
            list("Rules", self.rules.iter().map(rule).collect()),
            list("Reactions", self.reactions.iter().enumerate().map(reaction).collect()),
        )
    }
}

#[test]
fn ten_models_have_the_same_rows_in_every_level() {
    let folder = scratch("sbml-levels");
    for (k, model) in MODELS.iter().enumerate() {
        let mut first: Option<String> = None;
        for level in LEVELS {
            std::fs::write(folder.join("m.xml"), model.text(level)).expect("a folder");
            let rows =
                run_in(&folder, &["run", "m.xml", "--quiet", "--t", "0..4", "--samples", "8"], b"").success().text();
            assert_eq!(rows.lines().count(), 10, "{rows}");
            let moves = rows.lines().nth(1) != rows.lines().nth(9);
            assert!(moves && !rows.contains("nan"), "model {k}: {rows}");
            assert_eq!(first.get_or_insert_with(|| rows.clone()), &rows, "model {k}, level {level:?}");
        }
    }
}

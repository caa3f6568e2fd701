//! A second front end: models that are built in Rust, without a text, are checked, compiled and run like all others,
//! and messages use the labels of their parts.

use std::ops::ControlFlow;

use odec_ir::nest::Edge;
use odec_lang::model::Reduction;
use odec_lang::model::parts::{At, Built, ExprRef, Part, Parts};
use odec_ode::{Failure, Sink, SolveError, solve};
use odec_sim::bind::{Bound, Purpose, RunPlan};
use odec_sim::blame;
use odec_sim::choices::Choices;
use odec_sim::{Session, Simulation};

/// Ignores rows.
struct Nothing;

impl Sink for Nothing {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

fn bound(built: &Built, choices: &Choices) -> Bound {
    let model = built.model.as_ref().unwrap_or_else(|| panic!("{}\n{:?}", built.source.text, built.diagnostics));
    let plan = RunPlan::new(model, choices, Purpose::Rows).expect("a plan");
    let program = odec_lang::lower(model, &plan.overrides).unwrap_or_else(|e| panic!("{}\n{e:?}", built.source.text));
    plan.bind(model, &built.source, program).expect("a bound model")
}

fn run(bound: &Bound) -> Result<Vec<f64>, Box<Failure>> {
    let Bound { executor, problem, options, samples, .. } = bound;
    match solve(executor, problem, bound.choice.method, options, samples, &mut Nothing) {
        Ok(outcome) => Ok(outcome.y),
        Err(SolveError::Failed(failure)) => Err(failure),
        Err(refused) => panic!("{refused:?}"),
    }
}

fn sum(m: &mut Parts, terms: &[ExprRef]) -> ExprRef {
    terms[1..].iter().fold(terms[0], |a, &b| m.apply("add", &[a, b]))
}

/// Robertson's three reactions (H. Robertson, The solution of a set of reaction rate equations, 1966), as an importer
/// of reactions would name them.
fn robertson() -> Built {
    let mut m = Parts::new("robertson");
    let mut rate = |name: &str, value: f64| {
        let value = m.number(value);
        m.parameter(Part::new(name, &format!("rate constant {name}")), value)
    };
    let constants = [rate("k1", 0.04), rate("k2", 3e7), rate("k3", 1e4)];
    let species = ["A", "B", "C"].map(|name| (m.state(Part::new(name, &format!("species {name}"))), name));
    for (k, (state, name)) in species.into_iter().enumerate() {
        let start = m.number(if k == 0 { 1.0 } else { 0.0 });
        m.start(state, 0, start, &format!("species {name}"));
    }
    let [a, b, c] = species.map(|(state, _)| m.read(state));
    let [k1, k2, k3] = constants.map(|k| m.read(k));
    let flows = [(k1, vec![a]), (k2, vec![b, b]), (k3, vec![b, c])];
    let mut laws = Vec::new();
    for (k, (constant, reactants)) in flows.into_iter().enumerate() {
        let law = reactants.into_iter().fold(constant, |product, x| m.apply("mul", &[product, x]));
        let name = format!("R{}", k + 1);
        let law = m.definition(Part::new(&name, &format!("kinetic law of reaction {name}")), law);
        laws.push(m.read(law));
    }
    let first = m.apply("sub", &[laws[2], laws[0]]);
    let second = m.apply("sub", &[laws[0], laws[1]]);
    let rates = [first, m.apply("sub", &[second, laws[2]]), laws[1]];
    for ((state, name), rate) in species.into_iter().zip(rates) {
        m.equation(state, 1, &[], rate, &format!("balance of species {name}"));
    }
    let (zero, end) = (m.number(0.0), m.number(40.0));
    m.run(None, zero, end, "simulation settings");
    m.finish()
}

#[test]
fn robertson_without_a_text_has_the_values_of_the_literature() {
    let built = robertson();
    assert!(built.source.text.contains("R2 = k2*B*B  # kinetic law of reaction R2"), "{}", built.source.text);
    let end = run(&bound(&built, &Choices { rtol: Some(1e-9), ..Choices::default() })).expect("a run to its end");
    // E. Hairer, G. Wanner, Solving ordinary differential equations II, section IV.10: y(40)
    for (found, expected) in end.iter().zip([0.715_827_068_7, 9.185_534_764e-6, 0.284_163_745_7]) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
    }
}

#[test]
fn a_session_runs_a_model_without_a_text() {
    let built = robertson();
    let loaded = Session::new().adopt(built.source, built.model.expect("a model"));
    let choices = Choices { rtol: Some(1e-9), ..Choices::default() };
    let simulation = loaded.simulate(&choices, Purpose::Rows).expect("a simulation");
    let changed = simulation.with(&[("k1", 0.0)]).expect("another value of a parameter");
    let end = |simulation: &Simulation, name: &str| {
        let solution = simulation.solve().expect("a run to its end");
        solution.column(name).and_then(Iterator::last).expect("a column with rows")
    };
    assert!((end(&simulation, "A") / 0.715_827_068_7 - 1.0).abs() < 1e-6);
    assert_eq!(end(&changed, "A"), 1.0);
}

/// The listing reads back as the same model: the parts of the importer and the language have the same meaning.
#[test]
fn the_listing_is_a_text_of_the_language() {
    let built = robertson();
    let again = odec_lang::check(&built.source);
    let model = again.model.unwrap_or_else(|| panic!("{}\n{:?}", built.source.text, again.diagnostics));
    assert_eq!(model.to_string(), built.model.expect("a model").to_string());
}

/// Heat in a rod of n cells, with a fixed left end and a loss that depends on the sum of all cells.
fn rod(right: Option<Edge>) -> Built {
    let mut m = Parts::new("rod");
    let (one, ten) = (m.number(1.0), m.number(10.0));
    let n = m.constant(Part::new("n", "mesh"), ten);
    let last = m.read(n);
    let cells = m.index_set("i", one, last, "mesh");
    let i = m.bind(cells, "i");
    let u = m.state(Part::new("u", "temperature of the cells").over(&[i]));
    let start = m.index(i);
    m.start(u, 0, start, "initial temperature");
    let at = |m: &mut Parts, by: f64| {
        let (here, by) = (m.index(i), m.number(by));
        let place = m.apply("add", &[here, by]);
        m.element(u, 0, &[place])
    };
    let (left, here, next) = (at(&mut m, -1.0), at(&mut m, 0.0), at(&mut m, 1.0));
    let minus = m.number(-2.0);
    let middle = m.apply("mul", &[minus, here]);
    let flow = sum(&mut m, &[left, middle, next]);
    m.equation(u, 1, &[At::Each(i)], flow, "conduction");
    let zero = m.number(0.0);
    m.boundary(u, 0, &[At::One(zero)], zero, "cooled end");
    if let Some(edge) = right {
        let j = m.number(11.0);
        let ten = m.number(10.0);
        let inside = m.element(u, 0, &[ten]);
        assert_eq!(edge, Edge::Clamp, "the other end keeps its heat");
        m.boundary(u, 0, &[At::One(j)], inside, "insulated end");
    }
    let k = m.bind(cells, "k");
    let place = m.index(k);
    let term = m.element(u, 0, &[place]);
    let total = m.reduce(Reduction::Sum, &[k], None, term);
    let total = m.definition(Part::new("heat", "heat content"), total);
    m.output(total, "report");
    let (from, to) = (m.number(0.0), m.number(0.5));
    m.run(None, from, to, "simulation settings");
    m.finish()
}

#[test]
fn arrays_without_a_text_are_loops() {
    let built = rod(Some(Edge::Clamp));
    let bound = bound(&built, &Choices::default());
    assert_eq!(bound.problem.y0, (1..=10).map(f64::from).collect::<Vec<_>>());
    let end = run(&bound).expect("a run to its end");
    let text = "const n = 10\nindex i = 1..n\nstate u[i] = i\nu[i]' = u[i-1] - 2*u[i] + u[i+1]\nboundary u[0] = 0, u[11] = u[10]\nrun { t = 0 .. 0.5 }\n";
    let source = odec_lang::source::Source::new("rod", text);
    let model = odec_lang::check(&source).model.expect("a model");
    let plan = RunPlan::new(&model, &Choices::default(), Purpose::Rows).expect("a plan");
    let program = odec_lang::lower(&model, &plan.overrides).expect("a program");
    let same = run(&plan.bind(&model, &source, program).expect("a bound model")).expect("a run to its end");
    for (a, b) in end.iter().zip(same) {
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
}

#[test]
fn mistakes_in_a_part_are_reported_by_its_label() {
    let built = rod(None);
    let model = built.model.as_ref().expect("a model");
    let said = odec_lang::lower(model, &odec_lang::Overrides::default()).err().expect("an element outside");
    assert_eq!(said[0].code, "E0520");
    assert_eq!(built.origin(said[0].span().expect("a place")), Some("conduction"));
}

#[test]
fn a_run_that_fails_blames_the_part_by_its_label() {
    let mut m = Parts::new("fading");
    let x = m.state(Part::new("x", "species S1"));
    let y = m.state(Part::new("y", "species S2"));
    let one = m.number(1.0);
    m.start(x, 0, one, "species S1");
    m.start(y, 0, one, "species S2");
    let now = m.read(x);
    let law = m.apply("ln", &[now]);
    let law = m.definition(Part::new("law", "kinetic law of reaction R7"), law);
    let minus = m.number(-1.0);
    m.equation(x, 1, &[], minus, "balance of species S1");
    let law = m.read(law);
    m.equation(y, 1, &[], law, "balance of species S2");
    let (from, to) = (m.number(0.0), m.number(3.0));
    m.run(None, from, to, "simulation settings");
    let built = m.finish();
    let bound = bound(&built, &Choices::default());
    let failure = run(&bound).expect_err("the logarithm of a negative number");
    let model = built.model.as_ref().expect("a model");
    let said = blame::failed(model, &built.source, &bound, &failure);
    let place = said.span().expect("a place");
    assert_eq!(&built.source.text[place.range()], "ln(x)", "{said:?}");
    assert_eq!(built.origin(place), Some("kinetic law of reaction R7"));
    assert!(said.headline.contains("y'"), "{said:?}");
    let loaded = Session::new().adopt(built.source.clone(), built.model.clone().expect("a model"));
    let simulation = loaded.simulate(&Choices::default(), Purpose::Rows).expect("a simulation");
    let error = simulation.solve().expect_err("the same failure");
    assert_eq!(error.diagnostics[0].span().and_then(|place| built.origin(place)), Some("kinetic law of reaction R7"));
}

#[test]
fn parts_that_do_not_fit_are_refused_with_their_names() {
    let mut m = Parts::new("wrong");
    let (one, two) = (m.number(1.0), m.number(2.0));
    let set = m.index_set("i", one, two, "mesh");
    let i = m.bind(set, "i");
    let free = m.index(i);
    let k = m.parameter(Part::new("k", "row 1"), free);
    m.parameter(Part::new("k", "row 2"), one);
    m.element(k, 0, &[one]);
    m.element(k, 1, &[]);
    m.apply("sinus", &[one]);
    m.apply("sin", &[one, two]);
    let x = m.state(Part::new("x", "species").over(&[i]));
    m.equation(x, 1, &[], one, "balance");
    m.equation(k, 1, &[], one, "rule");
    let built = m.finish();
    assert!(built.model.is_none());
    let codes: Vec<&str> = built.diagnostics.iter().map(|d| d.code.code).collect();
    assert_eq!(codes, ["E0511", "E0202", "E0513", "E0302", "E0203", "E0204", "E0513", "E0513", "E0302"]);
}

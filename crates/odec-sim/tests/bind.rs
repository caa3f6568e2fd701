//! Plan of a run: block, overrides and defaults together, and refusals.

use odec_lang::Model;
use odec_lang::source::Source;
use odec_ode::problem::Samples;
use odec_sim::bind::{Bound, DEFAULT_ATOL, DEFAULT_RTOL, Purpose, RunPlan};
use odec_sim::choices::{Choices, RecordRule, SampleRule, StepChoice};
use odec_sim::columns::Column;

fn model(text: &str) -> (Model, Source) {
    let source = Source::new("test", text);
    let (tree, _) = odec_lang::parse(&source);
    let (model, diagnostics) = odec_lang::analyse(&tree, &source);
    (model.unwrap_or_else(|| panic!("{diagnostics:?}")), source)
}

fn bind(text: &str, choices: &Choices, purpose: Purpose) -> Result<Bound, String> {
    let (model, source) = model(text);
    let code =
        |list: Vec<odec_lang::diagnostic::Diagnostic>| list.iter().map(|d| d.code.code).collect::<Vec<_>>().join(" ");
    let plan = RunPlan::new(&model, choices, purpose).map_err(code)?;
    let program = odec_lang::lower(&model, &plan.overrides).map_err(code)?;
    plan.bind(&model, &source, program).map_err(code)
}

fn rows(text: &str, choices: &Choices) -> Result<Bound, String> {
    bind(text, choices, Purpose::Rows)
}

const BARE: &str = "state x = 1, x' = 0\nstate y = 2\nx'' = -x\ny' = -y\n";

#[test]
fn a_model_without_a_block_needs_only_an_end() {
    assert_eq!(rows(BARE, &Choices::default()).err().as_deref(), Some("E0709"));
    let bound = rows(BARE, &Choices { t_end: Some(3.0), ..Choices::default() }).expect("a run");
    assert_eq!((bound.problem.t0, bound.problem.t_end), (0.0, 3.0));
    assert_eq!((bound.options.rtol, bound.options.atol.clone()), (DEFAULT_RTOL, vec![DEFAULT_ATOL]));
    assert_eq!(bound.choice.method.name, "auto");
    assert!(bound.choice.automatic && bound.choice.needs.time_derivative);
    assert!(matches!(&bound.samples, Samples::Even(200)));
    // positions, velocities, the rest; columns in the order of the text
    assert_eq!(bound.problem.y0, [1.0, 0.0, 2.0]);
    let names: Vec<_> = bound.columns.names().collect();
    assert_eq!(names, ["t", "x", "x'", "y"]);
    assert_eq!(bound.columns.at(2), Some(Column::State(1)));
}

#[test]
fn a_step_means_constant_steps_and_their_rows() {
    let text = format!("{BARE}run {{ t = 0 .. 1; step = 0.1; method = rk4 }}\n");
    let bound = rows(&text, &Choices::default()).expect("a run");
    assert!(bound.options.fixed && bound.options.step == Some(0.1));
    assert!(matches!(bound.samples, Samples::Steps));
    let choices = Choices { step: Some(StepChoice::Auto), ..Choices::default() };
    let bound = rows(&text, &choices).expect("a run");
    assert!(!bound.options.fixed && bound.options.step.is_none());
}

#[test]
fn tolerances_of_single_states_find_their_place() {
    let text = format!("{BARE}run {{ t = 0 .. 1; atol = 1e-7; atol(y) = 1e-5 }}\n");
    let choices = Choices { atol_for: vec![("x'".to_string(), 1e-3)], ..Choices::default() };
    assert_eq!(rows(&text, &choices).expect("a run").options.atol, [1e-7, 1e-3, 1e-5]);
    let choices = Choices { atol_for: vec![("z".to_string(), 1e-3)], ..Choices::default() };
    assert_eq!(rows(&text, &choices).err().as_deref(), Some("E0706"));
}

#[test]
fn tolerances_of_single_elements_find_their_place() {
    let text = "const N = 4\nindex i = 1..N\nstate u[i] = 1, v = 1\nu[i]' = -u[i]\nv' = -v\n\
                run { t = 0 .. 1; atol = 1e-7; atol(u[1]) = 1e-3; atol(u[3..N]) = 1e-5; atol(u) = 1e-6 }\n";
    let bound = rows(text, &Choices::default()).expect("a run");
    assert_eq!(bound.options.atol, [1e-3, 1e-6, 1e-5, 1e-5, 1e-7]);
    // of two settings the later one counts, and an index names all of its elements
    let text = text.replace("atol(u) = 1e-6", "atol(u[i]) = 1e-6; atol(u[i in 2..3]) = 1e-4");
    let bound = rows(&text, &Choices::default()).expect("a run");
    assert_eq!(bound.options.atol, [1e-6, 1e-4, 1e-4, 1e-6, 1e-7]);
    // an element that a changed size has not
    let choices = Choices { set: vec![("N".into(), 2.0)], ..Choices::default() };
    assert_eq!(rows(&text, &choices).err().as_deref(), Some("E0406 E0406"));
}

#[test]
fn the_default_method_of_a_run() {
    let text: String = (0..220).map(|k| format!("state x{k} = 1\nx{k}' = -x{k}\n")).collect();
    let bound = rows(&text, &Choices { t_end: Some(1.0), ..Choices::default() }).expect("a run");
    assert_eq!(bound.choice.method.name, "auto");
    // bdf next to the explicit method needs no df/dt
    assert!(bound.choice.needs.jacobian && !bound.choice.needs.time_derivative);
    let choices = Choices { t_end: Some(1.0), step: Some(StepChoice::Fixed(0.1)), ..Choices::default() };
    assert_eq!(rows(&text, &choices).expect("a run").choice.method.name, "rodas4");
}

#[test]
fn senseless_requests_are_refused() {
    let end = Choices { t_end: Some(1.0), ..Choices::default() };
    let with = |change: fn(&mut Choices)| {
        let mut choices = end.clone();
        change(&mut choices);
        rows(BARE, &choices).err().unwrap_or_default()
    };
    assert_eq!(with(|c| c.t0 = Some(1.0)), "E0710");
    assert_eq!(with(|c| c.method = Some("radau7".into())), "E0611");
    assert_eq!(with(|c| c.method = Some("bdf9".into())), "E0612");
    assert_eq!(with(|c| c.samples = Some(SampleRule::Times(vec![5.0]))), "E0618");
    assert_eq!(with(|c| c.record = Some(RecordRule::Names(vec!["z".into()]))), "E0706");
    assert_eq!(with(|c| c.set = vec![("x".into(), f64::INFINITY)]), "E0610");
    assert_eq!(with(|_| ()), "");
}

#[test]
fn a_test_runs_to_its_last_expectation() {
    let text = format!("{BARE}expect x(7) = cos(7) within 1e-3\nexpect y(2) = 1 within 9\n");
    let bound = bind(&text, &Choices::default(), Purpose::Test).expect("a run");
    assert_eq!(bound.problem.t_end, 7.0);
    assert!(matches!(&bound.samples, Samples::Times(list) if list.contains(&2.0) && list.last() == Some(&7.0)));
}

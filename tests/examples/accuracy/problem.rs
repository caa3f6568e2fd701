//! The problems: the models in `tests/problems`, bound to machine code.

use std::ops::ControlFlow;

use odec_ode::method::Method;
use odec_ode::problem::{Options, Samples, SolveError, Stats};
use odec_sim::Session;
use odec_sim::Simulation;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::columns::{Column, Columns};
use odec_sim::sample::{self, Recorder};
use odec_tests::{files, root, stem, text};

/// Rows of a run after the first.
const ROWS: u32 = 1_000;
/// Largest number of attempted steps of a run with few unknowns, and in total for runs with many.
const STEPS: u64 = 100_000;
const WORK: u64 = 5_000_000;

/// A model with its name.
pub struct Problem {
    /// Stem of its file.
    pub name: String,
    simulation: Simulation,
}

impl Problem {
    /// Machine code, start and end.
    pub fn bound(&self) -> &odec_sim::bind::Bound {
        self.simulation.bound()
    }

    /// Number of unknowns.
    pub fn n(&self) -> usize {
        self.bound().problem.y0.len()
    }

    /// The times of the rows, without the start.
    pub fn times(&self) -> Vec<f64> {
        let odec_ode::Problem { t0, t_end, .. } = self.bound().problem;
        let time = |k| if k == ROWS { t_end } else { t0 + (t_end - t0) * f64::from(k) / f64::from(ROWS) };
        (1..=ROWS).map(time).collect()
    }

    /// A run as the command makes it: where the equations switch, steps end there. `row` gets its rows.
    pub fn run(
        &self,
        method: &'static Method,
        options: Options,
        samples: Samples,
        row: &mut dyn FnMut(f64, &[f64]),
    ) -> Result<Stats, SolveError> {
        let mut bound = self.bound().fork();
        (bound.options, bound.choice.method, bound.samples) = (options, method, samples);
        bound.columns = Columns::new("t", bound.states.clone(), bound.states.clone());
        bound.columns.add_states();
        let mut states = States { columns: &bound.columns, y: vec![f64::NAN; self.n()], row };
        sample::solve(&bound, &mut states).0.map(|outcome| outcome.stats)
    }

    /// Settings of a run at a tolerance. `floor` is the absolute tolerance relative to the relative one.
    pub fn options(&self, rtol: f64, floor: f64) -> Options {
        Options {
            rtol,
            atol: vec![rtol * floor],
            fixed: false,
            step: None,
            max_step: None,
            max_steps: STEPS.min(WORK / self.n() as u64),
            ..self.bound().options.clone()
        }
    }
}

/// Passes the states of each row on, in their order in y.
struct States<'a> {
    columns: &'a Columns,
    y: Vec<f64>,
    row: &'a mut dyn FnMut(f64, &[f64]),
}

impl Recorder for States<'_> {
    fn row(&mut self, values: &[f64]) -> ControlFlow<()> {
        for (k, v) in values.iter().enumerate() {
            if let Some(Column::State(place)) = self.columns.at(k) {
                self.y[place] = *v;
            }
        }
        (self.row)(values[0], &self.y);
        ControlFlow::Continue(())
    }

    fn watched(&self) -> bool {
        false
    }
}

/// Problems whose names start with one of `only`; all problems if it is empty.
pub fn all(only: &[String]) -> Vec<Problem> {
    let mut found = vec![];
    for path in files(&root().join("tests/problems"), "ode") {
        let name = stem(&path);
        if !only.is_empty() && !only.iter().any(|o| name.starts_with(o.as_str())) {
            continue;
        }
        let choices = Choices { method: Some("auto".into()), ..Choices::default() };
        let loaded = Session::new().load(&name, &text(&path));
        match loaded.and_then(|loaded| loaded.simulate(&choices, Purpose::Rows)) {
            Ok(simulation) => {
                odec_sim::compare::warm(simulation.bound());
                found.push(Problem { name, simulation });
            }
            Err(error) => panic!("{name}: {error}"),
        }
    }
    found
}

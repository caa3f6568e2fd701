//! Derivatives by parameters across instants, against differences of runs.

use super::model::Recorded;
use crate::dense::tolerances;
use odec_ode::hybrid::{
    AffineRows, Derived, Event, EventDerivatives, HybridCause, HybridError, HybridEvents, HybridRelations,
    HybridRunner, HybridSystem, HybridTimes, Relation, Times, Write,
};
use odec_ode::system::{EvalError, Shape, System};
use odec_ode::{Problem, Samples, method};

/// Ball under g with restitution e above a floor at `floor`, with derivatives with respect to all three: height,
/// speed, then the derivatives of both with respect to each parameter.
struct Ball {
    p: [f64; 3],
    relations: [Relation; 1],
    events: Vec<Event>,
    rows: AffineRows,
    modes: [f64; 1],
    derived: Derived,
}

fn ball(p: [f64; 3]) -> Ball {
    Ball {
        p,
        relations: [Relation::default()],
        events: vec![Event::when(vec![Write::state(1)])],
        rows: AffineRows::of(&[Some((vec![(0, -1.0)], 0.0))]),
        modes: [0.0],
        derived: Derived { states: vec![0, 1], rows: vec![2, 3, 4, 5, 6, 7], ..Derived::default() },
    }
}

impl System for Ball {
    fn shape(&self) -> Shape {
        Shape { n: 8, second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(&[y[1], -self.p[0], y[3], -1.0, y[5], 0.0, y[7], 0.0]);
        Ok(())
    }
    fn autonomous(&self) -> bool {
        true
    }
}

impl HybridSystem for Ball {
    fn system(&self) -> &dyn System {
        self
    }

    fn modes(&self) -> &[f64] {
        &self.modes
    }

    fn modes_mut(&mut self) -> &mut [f64] {
        &mut self.modes
    }

    fn derived(&self) -> Option<(&Derived, &dyn EventDerivatives)> {
        Some((&self.derived, self))
    }
}

impl HybridRelations for Ball {
    fn relations(&self) -> &[Relation] {
        &self.relations
    }

    fn affine(&self) -> Option<&AffineRows> {
        Some(&self.rows)
    }

    fn sides(&self, _: f64, y: &[f64], left: &mut [f64], right: &mut [f64]) -> Result<(), EvalError> {
        (left[0], right[0]) = (self.p[2], y[0]);
        Ok(())
    }
}

impl HybridEvents for Ball {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn conditions(&self, _: f64, _: &[f64], conditions: &mut [bool]) {
        conditions[0] = self.modes[0] != 0.0;
    }

    fn values(&self, _: usize, _: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        values[0] = -self.p[1] * y[1];
        Ok(())
    }
}

impl HybridTimes for Ball {}

impl EventDerivatives for Ball {
    fn sides_by(&self, parameter: usize, _: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out[0] = if parameter == 2 { 1.0 } else { 0.0 } - y[2 + 2 * parameter];
        Ok(())
    }
    fn values_by(
        &self,
        _: usize,
        parameter: usize,
        _: f64,
        y: &[f64],
        _: f64,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        out[0] = -self.p[1] * y[3 + 2 * parameter] - if parameter == 1 { y[1] } else { 0.0 };
        Ok(())
    }
    fn delay_by(&self, _: usize, _: usize, _: f64, _: &[f64], _: f64) -> f64 {
        0.0
    }
    fn time_by(&self, list: usize, _: u64, _: usize) -> f64 {
        unreachable!("there is no list {list}")
    }
}

fn end(model: &mut dyn HybridSystem, y0: &[f64], t_end: f64, name: &str) -> Result<(Vec<f64>, Recorded), HybridError> {
    let mut kept = Recorded::default();
    let problem = Problem { t0: 0.0, t_end, y0: y0.to_vec() };
    let mut runner = HybridRunner::new(model, method::find(name).unwrap(), &tolerances(1e-11, 1e-11))?;
    let outcome = runner.run(model, &problem, &Samples::Steps, &mut kept)?;
    Ok((outcome.outcome.y, kept))
}

#[test]
fn derivatives_of_a_ball_agree_with_differences() {
    let (p, start) = ([9.81, 0.8, 0.1], [1.0, 0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    for name in ["tsit5", "vern9", "dop853", "abm"] {
        let (y, kept) = end(&mut ball(p), &start, 2.0, name).unwrap();
        assert_eq!(kept.instants.len(), 3, "{name}");
        for k in 0..3 {
            let apart = 1e-5;
            let [above, below] = [apart, -apart].map(|apart| {
                let mut near = p;
                near[k] += apart;
                end(&mut ball(near), &start, 2.0, name).unwrap().0
            });
            for i in 0..2 {
                let difference = (above[i] - below[i]) / (2.0 * apart);
                let own = y[2 + 2 * k + i];
                assert!(
                    (own - difference).abs() < 1e-6 * difference.abs().max(1.0),
                    "{name}, {k}, {i}: {own} {difference}"
                );
            }
        }
    }
}

/// x' = -x + 3 (p < t) + d. At 1.5 p: x += 2 + p sin t. When x > 1.1, after p/4: d := x, late, and x := x/2.
/// Unknowns x and dx/dp, discretes d and dd/dp.
struct Dosed {
    p: f64,
    times: [[f64; 1]; 2],
    relations: [Relation; 1],
    events: Vec<Event>,
    modes: [f64; 2],
    discretes: [f64; 2],
    derived: Derived,
}

fn dosed(p: f64) -> Dosed {
    let late = Event { late: true, ..Event::when(vec![Write::discrete(0), Write::state(0)]) };
    Dosed {
        p,
        times: [[p], [1.5 * p]],
        relations: [Relation::default()],
        events: vec![Event::at(1, vec![Write::state(0).adding()]), late],
        modes: [0.0; 2],
        discretes: [0.0; 2],
        derived: Derived { states: vec![0], rows: vec![1], discretes: vec![0], positions: vec![1], bends: vec![] },
    }
}

impl System for Dosed {
    fn shape(&self) -> Shape {
        Shape { n: 2, second: 0 }
    }
    fn rhs(&self, _: f64, y: &[f64], f: &mut [f64]) -> Result<(), EvalError> {
        f.copy_from_slice(&[-y[0] + 3.0 * self.modes[1] + self.discretes[0], -y[1] + self.discretes[1]]);
        Ok(())
    }
}

impl HybridSystem for Dosed {
    fn system(&self) -> &dyn System {
        self
    }

    fn modes(&self) -> &[f64] {
        &self.modes
    }

    fn modes_mut(&mut self) -> &mut [f64] {
        &mut self.modes
    }

    fn discretes(&self) -> &[f64] {
        &self.discretes
    }

    fn discretes_mut(&mut self) -> &mut [f64] {
        &mut self.discretes
    }

    fn derived(&self) -> Option<(&Derived, &dyn EventDerivatives)> {
        Some((&self.derived, self))
    }
}

impl HybridRelations for Dosed {
    fn relations(&self) -> &[Relation] {
        &self.relations
    }

    fn sides(&self, _: f64, y: &[f64], left: &mut [f64], right: &mut [f64]) -> Result<(), EvalError> {
        (left[0], right[0]) = (y[0], 1.1);
        Ok(())
    }

    fn rates(&self, _: f64, _: &[f64], w: &[f64], rates: &mut [f64]) -> Result<(), EvalError> {
        rates[0] = w[0];
        Ok(())
    }
}

impl HybridEvents for Dosed {
    fn events(&self) -> &[Event] {
        &self.events
    }

    fn conditions(&self, _: f64, _: &[f64], conditions: &mut [bool]) {
        conditions[1] = self.modes[0] != 0.0;
    }

    fn values(&self, event: usize, t: f64, y: &[f64], values: &mut [f64]) -> Result<(), EvalError> {
        match event {
            0 => values[0] = 2.0 + self.p * t.sin(),
            _ => values.copy_from_slice(&[y[0], 0.5 * y[0]]),
        }
        Ok(())
    }

    fn delay(&self, event: usize, _: f64, _: &[f64]) -> f64 {
        if event == 1 { 0.25 * self.p } else { 0.0 }
    }
}

impl HybridTimes for Dosed {
    fn lists(&self) -> usize {
        2
    }

    fn times(&self, list: usize) -> Times<'_> {
        Times::List(&self.times[list])
    }

    fn at_stops(&mut self, passed: &[u64]) {
        self.modes[1] = passed[0] as f64;
    }
}

impl EventDerivatives for Dosed {
    fn sides_by(&self, _: usize, _: f64, y: &[f64], out: &mut [f64]) -> Result<(), EvalError> {
        out[0] = y[1];
        Ok(())
    }
    fn values_by(
        &self,
        event: usize,
        _: usize,
        t: f64,
        y: &[f64],
        time: f64,
        out: &mut [f64],
    ) -> Result<(), EvalError> {
        match event {
            0 => out[0] = t.sin() + self.p * t.cos() * time,
            _ => out.copy_from_slice(&[y[1], 0.5 * y[1]]),
        }
        Ok(())
    }
    fn delay_by(&self, event: usize, _: usize, _: f64, _: &[f64], _: f64) -> f64 {
        if event == 1 { 0.25 } else { 0.0 }
    }
    fn time_by(&self, list: usize, _: u64, _: usize) -> f64 {
        [1.0, 1.5][list]
    }
}

#[test]
fn derivatives_by_a_parameter_of_times_agree_with_differences() {
    for name in ["tsit5", "vern9", "dopri5"] {
        for p in [0.4, 0.7] {
            let (y, kept) = end(&mut dosed(p), &[0.2, 0.0], 3.0, name).unwrap();
            assert!(!kept.times(0).is_empty() && !kept.times(1).is_empty(), "{name}: {:?}", kept.instants);
            let [above, below] =
                [1e-5, -1e-5].map(|apart| end(&mut dosed(p + apart), &[0.2, 0.0], 3.0, name).unwrap().0[0]);
            let difference = (above - below) / 2e-5;
            assert!((y[1] - difference).abs() < 1e-6 * difference.abs().max(1.0), "{name}, {p}: {} {difference}", y[1]);
        }
    }
}

#[test]
fn terms_without_a_derivative_are_named() {
    let cause = |model: &mut Dosed| match end(model, &[0.2, 0.0], 3.0, "tsit5") {
        Err(HybridError::Hybrid(failure)) => failure.cause.clone(),
        other => panic!("{:?}", other.map(|(y, _)| y)),
    };
    // two times at one instant, one of which moves faster with p
    let mut model = dosed(0.4);
    model.times[1] = model.times[0];
    assert_eq!(cause(&mut model), HybridCause::TwoTimes { list: 1 });
    // a discrete without a derivative is set to a value that has one
    let mut model = dosed(0.4);
    (model.derived.discretes, model.derived.positions) = (vec![], vec![]);
    assert_eq!(cause(&mut model), HybridCause::NoDerivative { event: 1 });
}

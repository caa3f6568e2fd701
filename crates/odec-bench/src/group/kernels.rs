//! Nanoseconds of single calls: f and Jacobian of odec and in C, LU and solve in C.

use odec_ode::system::System;

use super::Row;
use crate::page::tables::figure;
use crate::peer::{limit, odec};
use crate::problem::{Kind, Problem};

/// A row for each small problem.
pub fn measure(problems: &[Problem]) -> Vec<Row> {
    let mut rows = vec![];
    for problem in problems {
        let Kind::Small(id) = problem.kind else { continue };
        let figures = match odec::load(problem) {
            Ok(loaded) => calls(problem, &loaded, &limit::small(id)),
            Err(why) => vec![why],
        };
        rows.push(Row { what: problem.title.clone(), figures });
    }
    rows
}

fn calls(problem: &Problem, loaded: &odec::Loaded, small: &limit::Small) -> Vec<String> {
    let system = &loaded.bound.executor;
    let y = &problem.reference;
    let (mut f, mut values) =
        (vec![0.0; y.len()], vec![0.0; system.jacobian().pattern().map_or(0, |pattern| pattern.entries())]);
    // these functions only report whether y is finite
    let own = [
        limit::nanoseconds(|| _ = system.rhs(0.0, y, &mut f)),
        limit::nanoseconds(|| _ = system.jacobian_values(0.0, y, &mut values)),
    ];
    let [in_f, in_jacobian, lu, solve] = small.kernels(y);
    [own[0], in_f, own[1], in_jacobian, lu, solve].map(figure).to_vec()
}

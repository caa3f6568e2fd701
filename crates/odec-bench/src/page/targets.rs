//! The performance targets, compared with the measurements.

use crate::curve::ERRORS;
use crate::page::tables::figure;
use crate::peer::{cvode, diffsol, heyoka, limit, lsoda, odec};
use crate::problem::Kind;
use crate::results::{Measured, Results, Target};

/// Worst ratio over the errors, and its error: the largest ratio if `largest` is set, else the smallest.
fn worst(ratio: impl Fn(f64) -> Option<f64>, errors: &[f64], largest: bool) -> Option<(f64, f64)> {
    let list = errors.iter().filter_map(|e| ratio(*e).map(|r| (r, *e)));
    list.reduce(|a, b| if (b.0 > a.0) == largest { b } else { a })
}

fn at_most(number: u32, what: &str, m: &Measured, bound: f64, ratio: impl Fn(f64) -> Option<f64>) -> Target {
    let found = worst(ratio, &ERRORS, true);
    row(number, what, m, format!("at most {bound}"), found, |r| r <= bound)
}

fn at_least(
    number: u32,
    what: &str,
    m: &Measured,
    bound: f64,
    errors: &[f64],
    ratio: impl Fn(f64) -> Option<f64>,
) -> Target {
    let found = worst(ratio, errors, false);
    row(number, what, m, format!("at least {bound}"), found, |r| r >= bound)
}

fn row(
    number: u32,
    what: &str,
    m: &Measured,
    wanted: String,
    found: Option<(f64, f64)>,
    fits: impl Fn(f64) -> bool,
) -> Target {
    Target {
        number,
        what: what.into(),
        place: m.problem.title.clone(),
        wanted,
        found: found.map_or("-".into(), |(r, e)| format!("{} (at {e:.0e})", figure(r))),
        reached: found.map(|(r, _)| fits(r)),
    }
}

/// Targets for all measured problems.
pub fn curves(results: &Results) -> Vec<Target> {
    let mut targets = vec![];
    for m in &results.measured {
        let peer = |name: &'static str| move |e: f64| m.ratio(name, e);
        let over_limit = |e: f64| m.ratio(limit::NAME, e).map(|r| 1.0 / r);
        match m.problem.kind {
            Kind::Small(_) => {
                let bound = if m.problem.n() >= 20 { 1.3 } else { 1.5 };
                targets.push(at_most(1, "auto over the limit", m, bound, over_limit));
                for name in [cvode::NAME, diffsol::NAME] {
                    let what = format!("{name} over auto");
                    targets.push(at_least(1, &what, m, 4.0, &[1e-5], peer(name)));
                    targets.push(at_least(1, &what, m, 2.0, &[1e-9], peer(name)));
                    targets.push(at_least(1, &what, m, 1.0, &ERRORS, peer(name)));
                }
                targets.push(at_least(1, "lsoda over auto", m, 1.0, &ERRORS, peer(lsoda::NAME)));
            }
            Kind::NonStiff(_) => {
                let same = |e: f64| {
                    let own = m.of(odec::NAME).find(|c| c.method == "dopri5")?.time(e)?;
                    Some(own / m.of(limit::NAME).find(|c| c.method == "dopri5")?.time(e)?)
                };
                targets.push(at_most(2, "dopri5 over dopri5 in C", m, 1.1, same));
                for name in [limit::NAME, cvode::NAME, diffsol::NAME, lsoda::NAME, heyoka::NAME] {
                    targets.push(at_least(2, &format!("{name} over auto"), m, 1.0, &ERRORS, peer(name)));
                }
            }
            Kind::Line(_) => targets.push(at_most(3, "auto over the limit", m, 1.5, over_limit)),
            Kind::Torus(_) | Kind::Square(_) => {
                for (what, method, bound) in [
                    ("the best of CVODE over auto", "by hand", 1.0),
                    ("tuned preconditioned Krylov of CVODE over auto", "tuned", 2.0),
                    ("CVODE with KLU over auto", "KLU", 50.0),
                ] {
                    let ratio = |e: f64| m.ratio_of(cvode::NAME, method, e);
                    targets.push(at_least(3, what, m, bound, &ERRORS, ratio));
                }
            }
        }
    }
    // peers that did not take part have no targets
    targets.retain(|t| t.reached.is_some());
    targets
}

/// A row for something that was measured in milliseconds.
pub fn milliseconds(number: u32, what: &str, place: &str, bound: f64, found: f64) -> Target {
    Target {
        number,
        what: what.into(),
        place: place.into(),
        wanted: format!("below {bound} ms"),
        found: format!("{} ms", figure(found)),
        reached: Some(found < bound),
    }
}

/// A row for a ratio.
pub fn ratio(number: u32, what: &str, place: &str, wanted: &str, found: f64, reached: bool) -> Target {
    Target {
        number,
        what: what.into(),
        place: place.into(),
        wanted: wanted.into(),
        found: figure(found),
        reached: Some(reached),
    }
}

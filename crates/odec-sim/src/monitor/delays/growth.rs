//! The linearised growth of small states at places of a run, and its integral along them.

use nalgebra::DMatrix;

use super::NEGLIGIBLE_SIZE;
use crate::monitor::Moment;
use crate::monitor::report::CheckedRun;
use crate::spectrum;

/// Place of a run at which growth is computed.
pub(super) struct Place {
    pub(super) at: Moment,
    /// The states below their tolerance.
    pub(super) small: Vec<usize>,
    /// Its linearised equations, with the signs of a run forwards.
    matrix: DMatrix<f64>,
    /// Upper bound of the real parts of all eigenvalues: the logarithmic norm for the maximum norm (Gershgorin).
    pub(super) most: f64,
    /// Rate at which the other states feed each state, with the sign of a run forwards.
    fed: Vec<f64>,
}

impl Place {
    /// Computes the matrix at a moment; `None` if the equations do not give it.
    pub(super) fn new(checked: &CheckedRun<'_>, at: Moment) -> Option<Place> {
        let bound = checked.bound;
        let small: Vec<usize> = (0..at.y.len()).filter(|k| at.y[*k].abs() < NEGLIGIBLE_SIZE * bound.atol(*k)).collect();
        // small states are replaced by 0, because their values in the run are errors
        let mut without = at.y.clone();
        for k in &small {
            without[*k] = 0.0;
        }
        let executor = checked.executor_before(at.t)?;
        let all = spectrum::linearised(&*executor, at.t, &without)?;
        let sign = if checked.backwards() { -1.0 } else { 1.0 };
        let m = small.len();
        let matrix = DMatrix::from_fn(m, m, |i, j| sign * all[(small[i], small[j])]);
        let others = |i: usize| (0..m).filter(|j| *j != i).map(|j| matrix[(i, j)].abs()).sum::<f64>();
        let most = (0..m).map(|i| matrix[(i, i)] + others(i)).fold(f64::NEG_INFINITY, f64::max);
        let rates = spectrum::rates(&*executor, at.t, &without)?;
        let fed = small.iter().map(|k| sign * rates[*k]).collect();
        Some(Place { at, small, matrix, most, fed })
    }

    /// Rows of the states that feed a state and that it feeds, directly or through other states.
    pub(super) fn loops(&self, place: usize) -> Option<Vec<usize>> {
        let mine = self.small.iter().position(|k| *k == place)?;
        let m = self.small.len();
        let reached = |along: &dyn Fn(usize, usize) -> f64| {
            let (mut seen, mut open) = (vec![false; m], vec![mine]);
            seen[mine] = true;
            while let Some(i) = open.pop() {
                let next: Vec<usize> = (0..m).filter(|j| !seen[*j] && along(i, *j) != 0.0).collect();
                for j in &next {
                    seen[*j] = true;
                }
                open.extend(next);
            }
            seen
        };
        let (down, up) = (reached(&|i, j| self.matrix[(j, i)]), reached(&|i, j| self.matrix[(i, j)]));
        Some((0..m).filter(|k| down[*k] && up[*k]).collect())
    }

    /// Rate at which other states feed the states that form a loop with a state.
    fn feed(&self, rows: &[usize]) -> f64 {
        let small = |k: usize| self.at.y[self.small[k]].abs();
        let others = |i: usize| (0..self.small.len()).filter(|j| !rows.contains(j)).map(move |j| (i, j));
        let fed =
            |i: &usize| self.fed[*i].abs() + others(*i).map(|(i, j)| self.matrix[(i, j)].abs() * small(j)).sum::<f64>();
        rows.iter().map(fed).sum()
    }

    /// Rate of the fastest growth, or slowest decay, of the states that form a loop with a state.
    pub(super) fn rate(&self, place: usize) -> Option<Rate> {
        let rows = self.loops(place)?;
        let part = DMatrix::from_fn(rows.len(), rows.len(), |i, j| self.matrix[(rows[i], rows[j])]);
        let values = spectrum::eigenvalues(&part)?;
        let rate = values.iter().map(|value| value.re).fold(f64::NEG_INFINITY, f64::max);
        let driven = self.driven(&rows, &part);
        Some(Rate { value: rate, fed: self.feed(&rows), driven, with: rows.iter().map(|k| self.small[*k]).collect() })
    }

    /// Rate at which the large states drive the states of a loop away from 0, all in one direction; 0 if they do not.
    fn driven(&self, rows: &[usize], part: &DMatrix<f64>) -> f64 {
        let total: f64 = rows.iter().map(|i| self.fed[*i]).sum();
        let m = rows.len();
        let supports = (0..m).all(|i| (0..m).all(|j| i == j || part[(i, j)] >= 0.0));
        let alike = rows.iter().all(|i| self.fed[*i] * total >= 0.0);
        if supports && alike { total } else { 0.0 }
    }

    /// True if the run has this state on the other side of 0 than the large states drive it.
    pub(super) fn is_opposite(&self, place: usize) -> bool {
        let own = self.small.iter().position(|k| *k == place);
        own.is_some_and(|own| self.fed[own] * self.at.y[place] < 0.0)
    }
}

/// Growth rate at a place.
pub(super) struct Rate {
    pub(super) value: f64,
    /// Rate at which other states feed it.
    fed: f64,
    /// See [`Place::driven`].
    pub(super) driven: f64,
    pub(super) with: Vec<usize>,
}

/// Logarithm at each place of a lower bound of a state that the large states drive: from 0, with the smaller of the
/// rates at both ends of each interval. Below a tolerance, a state may have any sign in the run; the exact state has
/// the sign of what drives it.
pub(super) fn driven(places: &[&Place], rates: &[Rate]) -> Vec<f64> {
    let mut size = f64::NEG_INFINITY;
    let mut list = vec![size];
    for (pair, rates) in places.windows(2).zip(rates.windows(2)) {
        let h = (pair[1].at.t - pair[0].at.t).abs();
        let rate = rates[0].value.min(rates[1].value);
        let same = rates[0].driven * rates[1].driven > 0.0;
        let by = if same { rates[0].driven.abs().min(rates[1].driven.abs()) } else { 0.0 };
        // the integral of exp(rate*(h - s)) over s in 0 .. h, by which the drive is multiplied
        let exponent = rate * h;
        let held = match exponent {
            x if x.abs() < 1e-6 => h.ln(),
            x if x > 0.0 => x + (-(-x).exp_m1() / rate).ln(),
            x => (x.exp_m1() / rate).ln(),
        };
        let (grown, more) = (size + exponent, by.ln() + held);
        let larger = grown.max(more);
        size = if larger == f64::NEG_INFINITY { larger } else { larger + (-(grown - more).abs()).exp().ln_1p() };
        list.push(size);
    }
    list
}

/// Logarithm, at the last place, of a size that grows at these rates and is fed.
pub(super) fn fed(places: &[&Place], rates: &[Rate], start: f64) -> f64 {
    let mut size = start;
    for (pair, rates) in places.windows(2).zip(rates.windows(2)) {
        let h = (pair[1].at.t - pair[0].at.t).abs();
        let grown = size + 0.5 * (rates[0].value + rates[1].value) * h;
        let more = (rates[0].fed.max(rates[1].fed) * h).ln();
        size = grown.max(more) + (-(grown - more).abs()).exp().ln_1p();
    }
    size
}

/// Logarithm at each place of a size that grows at these rates, by the trapezoidal rule.
pub(super) fn integrated(places: &[&Place], rates: &[f64], start: f64) -> Vec<f64> {
    let mut size = start;
    let mut list = vec![start];
    for (pair, rates) in places.windows(2).zip(rates.windows(2)) {
        size += 0.5 * (rates[0] + rates[1]) * (pair[1].at.t - pair[0].at.t).abs();
        list.push(size);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(t: f64, rows: &[f64]) -> Place {
        let m = rows.len().isqrt();
        let at = Moment { t, y: vec![1.0; m] };
        Place {
            at,
            small: (0..m).collect(),
            matrix: DMatrix::from_row_slice(m, m, rows),
            most: f64::NAN,
            fed: vec![0.0; m],
        }
    }

    #[test]
    fn growth_is_integrated_along_a_run() {
        let places: Vec<Place> = (0..=40).map(|k| place(f64::from(k), &[f64::from(k) - 20.0])).collect();
        let rates: Vec<f64> = places.iter().map(|place| place.rate(0).expect("a rate").value).collect();
        let sizes = integrated(&places.iter().collect::<Vec<_>>(), &rates, -3.0);
        assert!((sizes[20] + 203.0).abs() < 1e-12 && (sizes[40] + 3.0).abs() < 1e-12, "{sizes:?}");
    }

    #[test]
    fn a_driven_state_emerges_when_its_rate_becomes_positive() {
        // y' = r*y + 1e-12, r = -5 until t = 20 and 5 after it: 2e-13 at t = 20
        let at = |t: f64| if t < 20.0 { -5.0 } else { 5.0 };
        let places: Vec<Place> = (0..=400)
            .map(|k| Place { fed: vec![1e-12], ..place(0.1 * f64::from(k), &[at(0.1 * f64::from(k))]) })
            .collect();
        let rates: Vec<Rate> = places.iter().map(|place| place.rate(0).expect("a rate")).collect();
        let sizes = driven(&places.iter().collect::<Vec<_>>(), &rates);
        assert!((sizes[200] - 2e-13f64.ln()).abs() < 1e-9, "{}", sizes[200]);
        let exact = (4e-13f64).ln() + 50.0;
        assert!((sizes[300] - exact).abs() < 1e-3, "{} {exact}", sizes[300]);
    }

    #[test]
    fn only_what_makes_a_loop_with_a_state_makes_it_grow_by_itself() {
        // 0 and 1 feed each other; 2 grows by itself and is fed by 1
        let place = place(0.0, &[-1.0, 2.0, 0.0, 2.0, -1.0, 0.0, 0.0, 5.0, 9.0]);
        let Rate { value: rate, with, fed, .. } = place.rate(0).expect("a rate");
        assert!((rate - 1.0).abs() < 1e-12 && with == [0, 1] && fed == 0.0, "{rate} {with:?}");
        let Rate { value: rate, with, fed, .. } = place.rate(2).expect("a rate");
        assert!((rate - 9.0).abs() < 1e-12 && with == [2] && fed == 5.0, "{rate} {with:?}");
    }
}

//! The vectors of a Rosenbrock step, padded with zeros to whole groups of numbers, so that every loop over them has
//! no remainder. Each stage takes one loop before f and one after it.

use crate::simd::{Pass, vectorised};

/// Numbers in a group.
const GROUP: usize = 4;

type Group = [f64; GROUP];

/// Length of a padded vector of `n` numbers.
pub(super) fn padded(n: usize) -> usize {
    n.next_multiple_of(GROUP)
}

#[inline(always)]
fn groups(x: &[f64]) -> &[Group] {
    x.as_chunks().0
}

#[inline(always)]
fn groups_mut(x: &mut [f64]) -> &mut [Group] {
    x.as_chunks_mut().0
}

/// The coefficients of a stage.
#[derive(Clone, Debug)]
pub(super) struct Stage {
    /// False if f at the start of the step is used.
    pub moved: bool,
    /// Coefficients of the state at which f is evaluated, one for each earlier stage.
    pub a: Vec<f64>,
    /// True if that state is the state of the previous stage plus the last term.
    pub extends: bool,
    /// Coefficients of the coupling terms.
    pub c: Vec<f64>,
}

/// Before f: `state` = y + sum_j a_j u_j and `coupling` = sum_j c_j u_j, where the u are consecutive in `u`. The last
/// term of `state` is added last, because it becomes known last.
pub(super) fn before(stage: &Stage, y: &[f64], u: &[f64], state: &mut [f64], coupling: &mut [f64]) {
    match stage.c.len() {
        1 => before_of::<1>(stage, y, u, state, coupling),
        2 => before_of::<2>(stage, y, u, state, coupling),
        3 => before_of::<3>(stage, y, u, state, coupling),
        4 => before_of::<4>(stage, y, u, state, coupling),
        5 => before_of::<5>(stage, y, u, state, coupling),
        6 => before_of::<6>(stage, y, u, state, coupling),
        7 => before_of::<7>(stage, y, u, state, coupling),
        // the first stage; no table has more stages
        _ => {}
    }
}

fn before_of<const S: usize>(stage: &Stage, y: &[f64], u: &[f64], state: &mut [f64], coupling: &mut [f64]) {
    let (y, u, state, coupling) = (groups(y), groups(u), groups_mut(state), groups_mut(coupling));
    // up to eight unknowns, no loop is needed
    match y.len() {
        1 => pass::<S>(1, stage, y, u, state, coupling),
        2 => pass::<S>(2, stage, y, u, state, coupling),
        m => vectorised(GROUP * m, EarlierStages::<S> { stage, y, u, state, coupling }),
    }
}

struct EarlierStages<'a, const S: usize> {
    stage: &'a Stage,
    y: &'a [Group],
    u: &'a [Group],
    state: &'a mut [Group],
    coupling: &'a mut [Group],
}

impl<const S: usize> Pass for EarlierStages<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        pass::<S>(self.y.len(), self.stage, self.y, self.u, self.state, self.coupling);
    }
}

#[inline(always)]
fn pass<const S: usize>(
    m: usize,
    stage: &Stage,
    y: &[Group],
    u: &[Group],
    state: &mut [Group],
    coupling: &mut [Group],
) {
    let (y, state, coupling) = (&y[..m], &mut state[..m], &mut coupling[..m]);
    let u: [&[Group]; S] = std::array::from_fn(|j| &u[j * m..][..m]);
    let c: &[f64; S] = stage.c.first_chunk().unwrap_or(&[0.0; S]);
    let a: &[f64; S] = stage.a.first_chunk().unwrap_or(&[0.0; S]);
    if stage.extends {
        let last = a[S - 1];
        for k in 0..m {
            let mut sum = [-0.0; GROUP];
            for j in 0..S {
                for l in 0..GROUP {
                    sum[l] += c[j] * u[j][k][l];
                }
            }
            coupling[k] = sum;
            for l in 0..GROUP {
                state[k][l] += last * u[S - 1][k][l];
            }
        }
    } else {
        for k in 0..m {
            // -0 leaves every number unchanged
            let (mut sum, mut at) = ([-0.0; GROUP], [-0.0; GROUP]);
            for j in 0..S {
                for l in 0..GROUP {
                    sum[l] += c[j] * u[j][k][l];
                }
            }
            for j in 0..S - 1 {
                for l in 0..GROUP {
                    at[l] += a[j] * u[j][k][l];
                }
            }
            coupling[k] = sum;
            for l in 0..GROUP {
                state[k][l] = (y[k][l] + at[l]) + a[S - 1] * u[S - 1][k][l];
            }
        }
    }
}

/// out += scale * x.
#[inline]
pub(super) fn accumulate(out: &mut [f64], scale: f64, x: &[f64]) {
    for (out, x) in groups_mut(out).iter_mut().zip(groups(x)) {
        for l in 0..GROUP {
            out[l] += scale * x[l];
        }
    }
}

/// The end of a step.
pub(super) struct End {
    /// Sum of the squares of the errors over their tolerances.
    pub squares: f64,
    /// False if a state is not finite.
    pub finite: bool,
}

/// y1 = `state` + u, where u is also the error, and its weighted norm with the larger of |y| and |y1|.
pub(super) fn end(y: &[f64], state: &[f64], u: &[f64], tolerances: (f64, &[f64]), y1: &mut [f64]) -> End {
    match groups(y).len() {
        1 => end_of(1, y, state, u, tolerances, y1),
        2 => end_of(2, y, state, u, tolerances, y1),
        m => vectorised(GROUP * m, Ending { y, state, u, tolerances, y1 }),
    }
}

struct Ending<'a> {
    y: &'a [f64],
    state: &'a [f64],
    u: &'a [f64],
    tolerances: (f64, &'a [f64]),
    y1: &'a mut [f64],
}

impl Pass for Ending<'_> {
    type Output = End;

    #[inline(always)]
    fn run(self) -> End {
        end_of(groups(self.y).len(), self.y, self.state, self.u, self.tolerances, self.y1)
    }
}

#[inline(always)]
fn end_of(m: usize, y: &[f64], state: &[f64], u: &[f64], (rtol, atol): (f64, &[f64]), y1: &mut [f64]) -> End {
    let (y, state, u, atol, y1) = (groups(y), groups(state), groups(u), groups(atol), groups_mut(y1));
    let (y, state, u, atol, y1) = (&y[..m], &state[..m], &u[..m], &atol[..m], &mut y1[..m]);
    let (mut squares, mut rests) = ([0.0; GROUP], [0.0; GROUP]);
    for k in 0..m {
        for l in 0..GROUP {
            let value = state[k][l] + u[k][l];
            y1[k][l] = value;
            let (old, new) = (y[k][l].abs(), value.abs());
            let scale = atol[k][l] + rtol * if old > new { old } else { new };
            let scale = if scale > f64::MIN_POSITIVE { scale } else { f64::MIN_POSITIVE };
            let q = u[k][l] / scale;
            squares[l] += q * q;
            // zero, or NaN where the value is not finite
            rests[l] += value * 0.0;
        }
    }
    let sum = |x: [f64; GROUP]| (x[0] + x[2]) + (x[1] + x[3]);
    End { squares: sum(squares), finite: sum(rests) == 0.0 }
}

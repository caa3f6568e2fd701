//! Linear combinations of stage vectors, each formed in a single pass over the state.

/// Largest number of vectors in one pass; longer combinations take several passes.
pub const WIDTH: usize = 8;

/// out = base + sum_j coefficients_j * vectors_j, where vector j is `stages[index_j*n..][..n]`.
pub fn combine(out: &mut [f64], base: &[f64], stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    let mut chunks = terms.chunks(WIDTH);
    match chunks.next() {
        None => out.copy_from_slice(base),
        Some(first) => dispatch(out, Some(base), stages, scale, first),
    }
    for chunk in chunks {
        dispatch(out, None, stages, scale, chunk);
    }
}

/// Like [`combine`], but the last term is added after the sum of all others, so that only this addition waits for the
/// newest stage.
pub fn advance(out: &mut [f64], base: &[f64], stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    let Some((last, before)) = terms.split_last() else { return out.copy_from_slice(base) };
    // the last group, which may be full, joins the pass of the last term
    let end = before.len().saturating_sub(1) / WIDTH * WIDTH;
    let mut base = Some(base);
    for chunk in before[..end].chunks(WIDTH) {
        dispatch(out, base.take(), stages, scale, chunk);
    }
    let chunk = &before[end..];
    match chunk.len() {
        0 => late::<0>(out, base, stages, scale, chunk, *last),
        1 => late::<1>(out, base, stages, scale, chunk, *last),
        2 => late::<2>(out, base, stages, scale, chunk, *last),
        3 => late::<3>(out, base, stages, scale, chunk, *last),
        4 => late::<4>(out, base, stages, scale, chunk, *last),
        5 => late::<5>(out, base, stages, scale, chunk, *last),
        6 => late::<6>(out, base, stages, scale, chunk, *last),
        7 => late::<7>(out, base, stages, scale, chunk, *last),
        _ => late::<8>(out, base, stages, scale, chunk, *last),
    }
}

/// out += sum_j coefficients_j * vectors_j.
pub fn add(out: &mut [f64], stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    for chunk in terms.chunks(WIDTH) {
        dispatch(out, None, stages, scale, chunk);
    }
}

/// out = sum_j coefficients_j * vectors_j.
pub fn sum(out: &mut [f64], stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    out.fill(0.0);
    add(out, stages, scale, terms);
}

/// The nonzero terms of a row of a tableau.
pub fn terms(row: &[f64]) -> Vec<(usize, f64)> {
    row.iter().enumerate().filter(|(_, c)| **c != 0.0).map(|(j, c)| (j, *c)).collect()
}

fn dispatch(out: &mut [f64], base: Option<&[f64]>, stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    match terms.len() {
        1 => pass::<1>(out, base, stages, scale, terms),
        2 => pass::<2>(out, base, stages, scale, terms),
        3 => pass::<3>(out, base, stages, scale, terms),
        4 => pass::<4>(out, base, stages, scale, terms),
        5 => pass::<5>(out, base, stages, scale, terms),
        6 => pass::<6>(out, base, stages, scale, terms),
        7 => pass::<7>(out, base, stages, scale, terms),
        8 => pass::<8>(out, base, stages, scale, terms),
        _ => {}
    }
}

#[inline]
fn pass<const S: usize>(out: &mut [f64], base: Option<&[f64]>, stages: &[f64], scale: f64, terms: &[(usize, f64)]) {
    let n = out.len();
    let coefficients: [f64; S] = std::array::from_fn(|j| scale * terms[j].1);
    let vectors: [&[f64]; S] = std::array::from_fn(|j| &stages[terms[j].0 * n..][..n]);
    match base {
        Some(base) => {
            let base = &base[..n];
            for i in 0..n {
                out[i] = base[i] + weighed(&coefficients, &vectors, i);
            }
        }
        None => {
            for i in 0..n {
                out[i] += weighed(&coefficients, &vectors, i);
            }
        }
    }
}

#[inline]
fn late<const S: usize>(
    out: &mut [f64],
    base: Option<&[f64]>,
    stages: &[f64],
    scale: f64,
    terms: &[(usize, f64)],
    (last, a): (usize, f64),
) {
    let n = out.len();
    let coefficients: [f64; S] = std::array::from_fn(|j| scale * terms[j].1);
    let vectors: [&[f64]; S] = std::array::from_fn(|j| &stages[terms[j].0 * n..][..n]);
    let (a, last) = (scale * a, &stages[last * n..][..n]);
    match base {
        Some(base) => {
            let base = &base[..n];
            for i in 0..n {
                out[i] = (base[i] + weighed(&coefficients, &vectors, i)) + a * last[i];
            }
        }
        None => {
            for i in 0..n {
                out[i] = (out[i] + weighed(&coefficients, &vectors, i)) + a * last[i];
            }
        }
    }
}

/// Weighted sum for unknown i; the start value -0 leaves every number unchanged.
#[inline(always)]
fn weighed<const S: usize>(coefficients: &[f64; S], vectors: &[&[f64]; S], i: usize) -> f64 {
    let mut sum = -0.0;
    for j in 0..S {
        sum += coefficients[j] * vectors[j][i];
    }
    sum
}

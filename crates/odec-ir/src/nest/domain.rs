//! The points of a nest at values of its extents: ranges of loops, the interior box, the points of a boundary region.

use super::bind::{BindError, MAX_ELEMENTS, MAX_ENTRIES};
use super::{Kernel, Margin, Region, positions};
use crate::program::Program;

/// The whole numbers `first..first + count`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Range {
    pub first: i64,
    pub count: u64,
}

impl Range {
    /// `first..=last`; `None` if an end or the number of indices does not fit.
    pub fn of(first: Option<i64>, last: Option<i64>) -> Option<Range> {
        let (first, last) = (first?, last?);
        let count = (i128::from(last) - i128::from(first) + 1).max(0);
        Some(Range { first, count: u64::try_from(count).ok().filter(|&c| i64::try_from(c).is_ok())? })
    }

    /// Last index; less than the first if the range is empty.
    pub fn last(self) -> i64 {
        self.first.wrapping_add(self.count as i64).wrapping_sub(1)
    }
}

/// The points of a nest.
pub(super) struct Domain {
    /// For each loop: all its indices.
    pub full: Vec<Range>,
    /// For each loop: the indices that the code runs over as a loop. Differs from `full` in an interior.
    pub run: Vec<Range>,
    /// Number of points of the iteration loops.
    pub points: u64,
    /// The points of a boundary region in lexicographic order: for each iteration loop, the offsets from its first index.
    pub boundary: Option<Vec<Vec<u32>>>,
}

impl Domain {
    /// The points of a nest.
    ///
    /// # Errors
    /// More points than `limit`, or more than [`MAX_ENTRIES`] in a boundary region.
    pub fn of(program: &Program, nest: &Kernel, limit: u64) -> Result<Domain, BindError> {
        let too_many = |entries| BindError::TooManyEntries { role: nest.role, entries };
        let range = |l: &super::Loop| Range::of(l.first.value(&program.extents), l.last.value(&program.extents));
        let full: Vec<Range> = nest.space.loops().iter().map(range).collect::<Option<_>>().ok_or(too_many(u64::MAX))?;
        let mut run = full.clone();
        let all = product(nest.iterates.iter().map(|l| full[l.0 as usize].count));
        let mut points = all;
        let mut boundary = None;
        if nest.region != Region::Whole && all > 0 {
            let inner = interior(program, nest, &full);
            let inside = product(inner.iter().map(|r| r.count));
            if nest.region == Region::Interior {
                for (l, range) in nest.iterates.iter().zip(&inner) {
                    run[l.0 as usize] = *range;
                }
                points = inside;
            } else {
                points = all.saturating_sub(inside);
                let outer: Vec<Range> = nest.iterates.iter().map(|l| full[l.0 as usize]).collect();
                let rows = product(outer.iter().rev().skip(1).map(|r| r.count));
                if points > limit.min(MAX_ENTRIES)
                    || rows > MAX_ELEMENTS
                    || outer.iter().any(|r| r.count > MAX_ELEMENTS)
                {
                    return Err(too_many(points));
                }
                boundary = Some(around(&outer, &inner, points as usize));
            }
        } else if nest.region == Region::Boundary {
            boundary = Some(vec![Vec::new(); nest.iterates.len()]);
        }
        if points > limit {
            return Err(too_many(points));
        }
        Ok(Domain { full, run, points, boundary })
    }
}

fn product(counts: impl Iterator<Item = u64> + Clone) -> u64 {
    if counts.clone().any(|c| c == 0) { 0 } else { counts.fold(1, u64::saturating_mul) }
}

/// The part of each iteration loop in which the subscript of every margin stays in its axis for all values of the
/// other loops. A subscript in several iteration loops restricts the outermost of them.
fn interior(program: &Program, nest: &Kernel, full: &[Range]) -> Vec<Range> {
    let mut low: Vec<i128> = nest.iterates.iter().map(|l| i128::from(full[l.0 as usize].first)).collect();
    let mut high: Vec<i128> = nest.iterates.iter().map(|l| i128::from(full[l.0 as usize].last())).collect();
    let mut empty = false;
    for margin in &nest.margins {
        empty |= restrict(program, nest, full, margin, &mut low, &mut high).is_none();
    }
    let ranges = low.iter().zip(&high).zip(&nest.iterates);
    let mut inner: Vec<Range> = ranges
        .map(|((&low, &high), l)| match i64::try_from(low) {
            Ok(first) if low <= high => Range { first, count: (high - low + 1) as u64 },
            _ => Range { first: full[l.0 as usize].first, count: 0 },
        })
        .collect();
    if empty || inner.iter().any(|r| r.count == 0) {
        for (range, l) in inner.iter_mut().zip(&nest.iterates) {
            *range = Range { first: full[l.0 as usize].first, count: 0 };
        }
    }
    inner
}

/// Shrinks the box to where a margin is in range; `None` if that is empty.
fn restrict(
    program: &Program,
    nest: &Kernel,
    full: &[Range],
    Margin { sub, axis }: &Margin,
    low: &mut [i128],
    high: &mut [i128],
) -> Option<()> {
    if sub.loops.iter().any(|&(l, _)| full[l.0 as usize].count == 0) {
        return Some(());
    }
    let axis = positions::range(&program.axes[axis.0 as usize], program);
    let (first, last) = (i128::from(axis.first), i128::from(axis.last()));
    // The subscript equals factor * (index of loop `cut`) + something within rest.0..=rest.1.
    let cut = nest.iterates.iter().position(|l| sub.loops.iter().any(|&(other, _)| other == *l));
    let start = positions::constant(sub, program);
    let (mut rest, mut factor) = ((start, start), 0);
    for &(l, c) in &sub.loops {
        if cut.is_some_and(|k| nest.iterates[k] == l) {
            factor = i128::from(c);
            continue;
        }
        let range = full[l.0 as usize];
        let [a, b] = [range.first, range.last()].map(|x| i128::from(x) * i128::from(c));
        rest = (rest.0.saturating_add(a.min(b)), rest.1.saturating_add(a.max(b)));
    }
    let (least, most) = (first.saturating_sub(rest.0), last.saturating_sub(rest.1));
    match cut {
        Some(k) if factor != 0 => {
            let (from, to) = if factor > 0 { (least, most) } else { (most, least) };
            low[k] = low[k].max(ceil_div(from, factor));
            high[k] = high[k].min(floor_div(to, factor));
        }
        _ if least > 0 || most < 0 => return None,
        _ => {}
    }
    Some(())
}

fn floor_div(a: i128, b: i128) -> i128 {
    let (q, r) = (a / b, a % b);
    if r != 0 && (r < 0) != (b < 0) { q - 1 } else { q }
}

fn ceil_div(a: i128, b: i128) -> i128 {
    -floor_div(-a, b)
}

/// The points of a box outside an inner box, in lexicographic order, as offsets from the first index of each loop.
/// Takes time in proportion to the points and to the rows of the box.
fn around(outer: &[Range], inner: &[Range], points: usize) -> Vec<Vec<u32>> {
    let mut offsets: Vec<Vec<u32>> = outer.iter().map(|_| Vec::with_capacity(points)).collect();
    let Some((last, rows)) = outer.split_last() else { return offsets };
    let bounds = |k: usize| {
        let start = inner[k].first.wrapping_sub(outer[k].first) as u64;
        start..start.saturating_add(inner[k].count)
    };
    let skipped = bounds(rows.len());
    let mut row = vec![0u64; rows.len()];
    loop {
        let inside = (0..rows.len()).all(|k| bounds(k).contains(&row[k]));
        let runs = if inside && !skipped.is_empty() {
            [0..skipped.start, skipped.end..last.count]
        } else {
            [0..last.count, last.count..last.count]
        };
        for run in runs {
            let length = run.end.saturating_sub(run.start) as usize;
            for (k, &offset) in row.iter().enumerate() {
                offsets[k].extend(std::iter::repeat_n(offset as u32, length));
            }
            offsets[rows.len()].extend(run.map(|x| x as u32));
        }
        let Some(k) = (0..rows.len()).rev().find(|&k| row[k] + 1 < rows[k].count) else { return offsets };
        row[k] += 1;
        row[k + 1..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn division_rounds_to_the_named_side() {
        for a in -20..=20i128 {
            for b in [-3i128, -2, -1, 1, 2, 3] {
                let exact = a as f64 / b as f64;
                assert_eq!(floor_div(a, b), exact.floor() as i128, "{a}/{b}");
                assert_eq!(ceil_div(a, b), exact.ceil() as i128, "{a}/{b}");
            }
        }
    }

    #[test]
    fn a_shell_is_the_rest_of_the_box_in_order() {
        let range = |first, count| Range { first, count };
        for (outer, inner) in [
            ([range(1, 4), range(0, 5)], [range(2, 2), range(1, 3)]),
            ([range(1, 4), range(0, 5)], [range(1, 4), range(1, 3)]),
            ([range(1, 4), range(0, 5)], [range(1, 4), range(0, 5)]),
            ([range(1, 3), range(7, 1)], [range(1, 0), range(7, 0)]),
            ([range(-2, 3), range(-7, 2)], [range(0, 1), range(-6, 1)]),
        ] {
            let mut expected: [Vec<u32>; 2] = Default::default();
            for i in 0..outer[0].count {
                for j in 0..outer[1].count {
                    let at = |k: usize, x: u64| {
                        let x = outer[k].first + x as i64;
                        x >= inner[k].first && x < inner[k].first + inner[k].count as i64
                    };
                    if !(at(0, i) && at(1, j)) {
                        expected[0].push(i as u32);
                        expected[1].push(j as u32);
                    }
                }
            }
            assert_eq!(around(&outer, &inner, expected[0].len()), expected);
        }
    }

    /// For every margin in one iteration loop, the box contains exactly the indices at which the margin is in range
    /// for all rounds of the reduction's loop.
    #[test]
    fn the_interior_is_the_largest_box() {
        use crate::nest::Affine;
        use crate::testing::{Random, pad::Sheet};
        let mut random = Random::new(3);
        let mut shares = [0; 2];
        for _ in 0..500 {
            let mut sheet = Sheet::default();
            let i = sheet.axis("i", Affine::constant(-2), Affine::constant(random.below(9) as i64));
            let j = sheet.axis("j", Affine::constant(1), Affine::constant(1 + random.below(6) as i64));
            let pad = sheet.nest(crate::KernelRole::Rhs, Region::Interior, &[i, j]);
            let reduction = pad.inner("k", Affine::constant(-1), Affine::constant(random.below(3) as i64 - 1));
            let subs: Vec<(usize, [i64; 3])> = (0..1 + random.below(3))
                .map(|_| {
                    let mut number = |n: i64| random.below(2 * n as usize + 1) as i64 - n;
                    let (c, d, constant) = (number(2), number(1), number(3));
                    (random.below(2), [c, d, constant])
                })
                .collect();
            for &(k, [c, d, constant]) in &subs {
                let loops = [(pad.over(k), c), (reduction, d)].into_iter().filter(|&(_, c)| c != 0).collect();
                pad.margin(Affine { constant, loops, ..Affine::default() }, i);
            }
            sheet.push(pad);
            let program = sheet.finish("box");
            let nest = Kernel { role: crate::KernelRole::Rhs, ..program.kernels[0].clone() };
            let range = |a: crate::nest::AxisId| positions::range(&program.axes[a.0 as usize], &program);
            let rounds =
                nest.space.loops()[2..].iter().map(|l| Range::of(l.first.value(&[]), l.last.value(&[])).unwrap());
            let rounds = rounds.chain([Range { first: 0, count: 1 }]).next().unwrap();
            let inside = |at: [i64; 2]| {
                subs.iter().all(|&(k, [c, d, constant])| {
                    let rounds = if d == 0 { 0..=0 } else { rounds.first..=rounds.last() };
                    rounds
                        .map(|r| c * at[k] + d * r + constant)
                        .all(|x| (range(i).first..=range(i).last()).contains(&x))
                })
            };
            let domain = Domain::of(&program, &nest, u64::MAX).unwrap();
            let mut expected = 0;
            for x in range(i).first..=range(i).last() {
                for y in range(j).first..=range(j).last() {
                    let at = |k: usize, x: i64| (domain.run[k].first..=domain.run[k].last()).contains(&x);
                    let boxed = at(0, x) && at(1, y);
                    assert_eq!(boxed, inside([x, y]), "{subs:?} at {x}, {y}");
                    expected += u64::from(boxed);
                }
            }
            assert_eq!(domain.points, expected);
            shares[usize::from(expected > 0)] += 1;
        }
        assert!(shares.iter().all(|&n| n > 50), "{shares:?}");
    }
}

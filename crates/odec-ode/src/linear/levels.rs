//! Triangles of a matrix in level order: the rows of a level do not depend on each other. On a grid their entries lie
//! at fixed distances, so they are stored by distance and solved in SIMD lanes, without an index for every entry.

use std::sync::Arc;

use crate::linear::band::inverse;
use crate::linear::krylov::Real;
use crate::linear::right_side::{GROUP, Row, Start, group, take};
use crate::pattern::Pattern;

const NONE: u32 = u32::MAX;
/// Largest number of entries of a row that is stored by distances.
const MAX_DISTANCES: usize = 6;
/// Smallest number of rows that get a loop of their own.
const MIN_LOOP_ROWS: usize = GROUP;
/// Number of zeros that may be added to rows so that they form one loop: the first number, plus one zero for every
/// (second number) entries.
const ZEROS: (usize, usize) = (12, 16);

/// Fraction of the dropped fill that is subtracted from the pivots (Gustafsson, BIT 18 (1978)): the remaining errors
/// are then smooth, and do not reduce the step size.
const MODIFIED: f64 = 0.9;
/// Smallest share of a pivot that this subtraction may leave.
const LEAST_MODIFIED: f64 = 0.3;
/// Number of rows that are eliminated at a time.
const PIECE: usize = 64;

/// Rows `first..first + len`.
struct Segment {
    first: u32,
    len: u32,
    /// Start of its values.
    values: u32,
    kind: SegmentKind,
}

enum SegmentKind {
    /// `count` distances, starting at `LevelTriangle::distances[at]`; the values of one distance are contiguous.
    Even { at: u32, count: u32 },
    /// Consecutive rows; their columns are in `LevelTriangle::cols`, at positions that start with
    /// `LevelTriangle::starts[at]`.
    Listed { at: u32 },
}

/// A matrix by rows in the original order; for each entry, its column in the order of elimination and its number.
pub(super) struct Rows {
    start: Vec<u32>,
    entries: Vec<(u32, u32)>,
}

impl Rows {
    /// `position` gives the position of each column in the order of elimination.
    pub fn new(pattern: &Pattern, position: &[u32]) -> Self {
        let mut start = vec![0u32; pattern.rows as usize + 1];
        for row in &pattern.row_idx {
            start[*row as usize + 1] += 1;
        }
        for i in 1..start.len() {
            start[i] += start[i - 1];
        }
        let mut next = start.clone();
        let mut entries = vec![(0, 0); pattern.entries()];
        for (entry, (i, j)) in pattern.positions().enumerate() {
            entries[next[i] as usize] = (position[j], entry as u32);
            next[i] += 1;
        }
        Rows { start, entries }
    }

    fn of(&self, i: usize) -> &[(u32, u32)] {
        &self.entries[self.start[i] as usize..self.start[i + 1] as usize]
    }
}

/// The positions of the entries of one triangle, without its diagonal.
pub(super) struct Shape {
    below: bool,
    segments: Vec<Segment>,
    distances: Vec<u32>,
    /// For each distance of a segment, the start of its operands among the values that are known before the segment
    /// is solved.
    reads: Vec<u32>,
    starts: Vec<u32>,
    cols: Vec<u32>,
    /// Entry of the matrix at each position; `NONE` for an added zero.
    source: Vec<u32>,
}

/// One triangle without its diagonal.
pub(super) struct LevelTriangle<T> {
    shape: Arc<Shape>,
    values: Vec<T>,
}

/// Units of the unknowns: the solver works on S W S^-1 with a diagonal S.
pub(super) struct Units {
    /// S.
    pub by: Vec<f64>,
    /// S^-1.
    pub of: Vec<f64>,
}

/// Entry of a matrix; zero for `NONE`.
#[inline(always)]
fn entry(entries: &[f64], source: u32) -> f64 {
    if source == NONE { 0.0 } else { entries[source as usize] }
}

/// Positions of row `r` of a listed segment.
#[inline(always)]
fn listed(starts: &[u32], s: &Segment, at: u32, r: usize) -> std::ops::Range<usize> {
    let starts = &starts[at as usize..];
    let from = s.values as usize;
    from + (starts[r] - starts[0]) as usize..from + (starts[r + 1] - starts[0]) as usize
}

/// The pivot minus most of the dropped fill of its row, unless that leaves too little. If nothing is left, the entry
/// itself is used.
#[inline(always)]
fn usable(pivot: f64, dropped: f64, own: f64) -> Option<f64> {
    let modified = pivot - MODIFIED * dropped;
    let pivot = if modified.abs() >= LEAST_MODIFIED * pivot.abs() && modified * pivot > 0.0 { modified } else { pivot };
    let pivot = if pivot.abs() >= f64::EPSILON * own.abs() && pivot != 0.0 { pivot } else { own };
    (pivot != 0.0 && pivot.is_finite()).then_some(pivot)
}

/// The inputs of an incomplete elimination besides the lower triangle.
pub(super) struct Above<'a> {
    /// The diagonal.
    pub diagonal: &'a [f64],
    /// For each position of the lower triangle, the entry across the diagonal.
    pub opposite: &'a [u32],
    /// Sums of the rows of the upper triangle.
    pub sums: &'a [f64],
}

/// Rows that will become a segment, and the union of their distances.
struct Open {
    first: usize,
    len: usize,
    distances: Vec<u32>,
    entries: usize,
}

impl Open {
    /// Adds a row if the loop then does not read what it writes and needs few zeros. False if the row is not added.
    fn take(&mut self, row: &[(u32, u32)], n: usize, below: bool) -> bool {
        let (len, before) = (self.len + 1, self.distances.len());
        for (d, _) in row {
            if !self.distances[..before].contains(d) {
                self.distances.push(*d);
            }
        }
        let count = self.distances.len();
        let zeros = count * len - self.entries - row.len();
        let room = if below { self.first } else { n - self.first - len };
        let fits = count <= MAX_DISTANCES
            && self.distances.iter().all(|d| (len..=room).contains(&(*d as usize)))
            && zeros <= ZEROS.0 + count * len / ZEROS.1;
        if fits {
            self.len = len;
            self.entries += row.len();
        } else {
            self.distances.truncate(before);
        }
        fits
    }
}

impl Shape {
    /// The triangle below or above the diagonal, in an order of elimination.
    pub fn new(below: bool, rows: &Rows, order: &[u32]) -> Self {
        let n = order.len();
        let mut t = Shape {
            below,
            segments: Vec::new(),
            distances: Vec::new(),
            reads: Vec::new(),
            starts: Vec::new(),
            cols: Vec::new(),
            source: Vec::new(),
        };
        // For each row, the ascending distances of its entries, and the entries.
        let mut start = Vec::with_capacity(n + 1);
        let mut all: Vec<(u32, u32)> = Vec::with_capacity(rows.entries.len() / 2);
        start.push(0);
        for (k, i) in order.iter().enumerate() {
            let from = all.len();
            for (c, entry) in rows.of(*i as usize) {
                if if below { (*c as usize) < k } else { *c as usize > k } {
                    all.push(((*c as usize).abs_diff(k) as u32, *entry));
                }
            }
            all[from..].sort_unstable();
            start.push(all.len());
        }
        let row = |k: usize| &all[start[k]..start[k + 1]];
        let mut runs: Vec<Open> = Vec::new();
        for k in 0..n {
            if !runs.last_mut().is_some_and(|open| open.take(row(k), n, below)) {
                let distances = row(k).iter().map(|(d, _)| *d).collect();
                runs.push(Open { first: k, len: 1, distances, entries: row(k).len() });
            }
        }
        let column = |k: usize, d: u32| if below { k - d as usize } else { k + d as usize };
        for run in runs {
            let values = t.source.len() as u32;
            let (first, len) = (run.first as u32, run.len as u32);
            if run.len >= MIN_LOOP_ROWS && run.distances.len() <= MAX_DISTANCES {
                for d in &run.distances {
                    let entry = |k: usize| row(k).iter().find(|(own, _)| own == d).map_or(NONE, |(_, entry)| *entry);
                    t.source.extend((run.first..run.first + run.len).map(entry));
                }
                let kind = SegmentKind::Even { at: t.distances.len() as u32, count: run.distances.len() as u32 };
                t.distances.extend(&run.distances);
                // Above the diagonal, the known values start behind the current rows.
                t.reads.extend(run.distances.iter().map(|d| if below { first - d } else { d - len }));
                t.segments.push(Segment { first, len, values, kind });
                continue;
            }
            if let Some(Segment { kind: SegmentKind::Listed { .. }, len: before, .. }) = t.segments.last_mut() {
                *before += len;
            } else {
                let kind = SegmentKind::Listed { at: t.starts.len() as u32 };
                t.starts.push(t.cols.len() as u32);
                t.segments.push(Segment { first, len, values, kind });
            }
            for k in run.first..run.first + run.len {
                for (d, entry) in row(k) {
                    t.cols.push(column(k, *d) as u32);
                    t.source.push(*entry);
                }
                t.starts.push(t.cols.len() as u32);
            }
        }
        t
    }

    /// Number of stored entries, including zeros.
    pub fn entries(&self) -> usize {
        self.source.len()
    }

    /// Every position with its row and column.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        self.segments.iter().flat_map(|s| (0..s.len as usize).flat_map(|r| self.row(s, r)))
    }

    /// (position, row, column) in row `first + r` of a segment.
    #[inline(always)]
    fn row<'a>(&'a self, s: &'a Segment, r: usize) -> impl Iterator<Item = (usize, usize, usize)> + 'a {
        let k = s.first as usize + r;
        let (count, step, from) = match s.kind {
            SegmentKind::Even { count, .. } => (count as usize, s.len as usize, r),
            SegmentKind::Listed { at } => {
                let starts = &self.starts[at as usize + r..];
                ((starts[1] - starts[0]) as usize, 1, (starts[0] - self.starts[at as usize]) as usize)
            }
        };
        (0..count).map(move |c| {
            let column = match s.kind {
                SegmentKind::Even { at, .. } => {
                    let d = self.distances[at as usize + c] as usize;
                    if self.below { k - d } else { k + d }
                }
                SegmentKind::Listed { at } => self.cols[self.starts[at as usize + r] as usize + c] as usize,
            };
            (s.values as usize + from + c * step, k, column)
        })
    }
}

impl<T: Real> LevelTriangle<T> {
    /// A triangle of zeros on this shape.
    pub fn new(shape: Arc<Shape>) -> Self {
        LevelTriangle { values: vec![T::ZERO; shape.entries()], shape }
    }

    /// Loads the values of a matrix, converted to units; writes the row sums of the unconverted values to `sums`.
    pub fn load(&mut self, entries: &[f64], units: &Units, sums: &mut [f64]) {
        let LevelTriangle { shape, values } = self;
        let Shape { below, segments, distances, starts, cols, source, .. } = &**shape;
        for s in segments {
            let (first, len) = (s.first as usize, s.len as usize);
            let (rows, by) = (&mut sums[first..first + len], &units.by[first..first + len]);
            match s.kind {
                SegmentKind::Even { at, count } => {
                    rows.fill(0.0);
                    let places = s.values as usize..s.values as usize + count as usize * len;
                    let (values, source) = (&mut values[places.clone()], &source[places]);
                    let distances = &distances[at as usize..(at + count) as usize];
                    for ((values, source), d) in
                        values.chunks_exact_mut(len).zip(source.chunks_exact(len)).zip(distances)
                    {
                        let from = if *below { first - *d as usize } else { first + *d as usize };
                        let of = &units.of[from..from + len];
                        for r in 0..len {
                            let value = entry(entries, source[r]);
                            rows[r] += value;
                            values[r] = T::of(value * (by[r] * of[r]));
                        }
                    }
                }
                SegmentKind::Listed { at } => {
                    for r in 0..len {
                        rows[r] = 0.0;
                        let cols = &cols[starts[at as usize + r] as usize..];
                        for (place, column) in listed(starts, s, at, r).zip(cols) {
                            let value = entry(entries, source[place]);
                            rows[r] += value;
                            values[place] = T::of(value * (by[r] * units.of[*column as usize]));
                        }
                    }
                }
            }
        }
    }

    /// Multiplies rows by factors.
    pub fn scale(&mut self, factors: &[f64]) {
        let LevelTriangle { shape, values } = self;
        let Shape { segments, starts, .. } = &**shape;
        for s in segments {
            let rows = &factors[s.first as usize..(s.first + s.len) as usize];
            match s.kind {
                SegmentKind::Even { count, .. } => {
                    let values = &mut values[s.values as usize..][..count as usize * rows.len()];
                    for values in values.chunks_exact_mut(rows.len()) {
                        for (value, factor) in values.iter_mut().zip(rows) {
                            *value *= T::of(*factor);
                        }
                    }
                }
                SegmentKind::Listed { at } => {
                    for (r, factor) in rows.iter().enumerate() {
                        for value in &mut values[listed(starts, s, at, r)] {
                            *value *= T::of(*factor);
                        }
                    }
                }
            }
        }
    }

    /// Incomplete elimination, which changes only the diagonal: loads the lower triangle of a matrix, makes
    /// `reciprocal` the reciprocals of the pivots, and multiplies the rows, in units, by them. The error is a row
    /// without a pivot.
    pub fn eliminate(
        &mut self,
        entries: &[f64],
        matrix: &Above<'_>,
        units: &Units,
        reciprocal: &mut [f64],
    ) -> Result<(), usize> {
        let Above { diagonal, opposite, sums } = *matrix;
        let LevelTriangle { shape, values } = self;
        let Shape { segments, distances, starts, cols, source, .. } = &**shape;
        let mut dropped = [0.0; PIECE];
        for s in segments {
            let (first, len) = (s.first as usize, s.len as usize);
            match s.kind {
                SegmentKind::Even { at, count } => {
                    let (known, pivots) = reciprocal.split_at_mut(first);
                    let pivots = &mut pivots[..len];
                    pivots.copy_from_slice(&diagonal[first..first + len]);
                    let distances = &distances[at as usize..(at + count) as usize];
                    for from in (0..len).step_by(PIECE) {
                        let m = PIECE.min(len - from);
                        let (dropped, pivots) = (&mut dropped[..m], &mut pivots[from..from + m]);
                        let by = &units.by[first + from..][..m];
                        dropped.fill(0.0);
                        for (c, d) in distances.iter().enumerate() {
                            let places = s.values as usize + c * len + from..;
                            let (values, source) = (&mut values[places.clone()][..m], &source[places.clone()][..m]);
                            let opposite = &opposite[places][..m];
                            let columns = first + from - *d as usize..;
                            let (known, sums) = (&known[columns.clone()][..m], &sums[columns.clone()][..m]);
                            let of = &units.of[columns][..m];
                            for r in 0..m {
                                let value = entry(entries, source[r]);
                                values[r] = T::of(value * (by[r] * of[r]));
                                let across = entry(entries, opposite[r]);
                                let multiplier = value * known[r];
                                pivots[r] -= multiplier * across;
                                dropped[r] += multiplier * (sums[r] - across);
                            }
                        }
                        for (r, (pivot, dropped)) in pivots.iter_mut().zip(dropped).enumerate() {
                            let row = first + from + r;
                            *pivot = 1.0 / usable(*pivot, *dropped, diagonal[row]).ok_or(row)?;
                        }
                    }
                    let values = &mut values[s.values as usize..][..distances.len() * len];
                    for values in values.chunks_exact_mut(len) {
                        for (value, factor) in values.iter_mut().zip(&*pivots) {
                            *value *= T::of(*factor);
                        }
                    }
                }
                SegmentKind::Listed { at } => {
                    for r in 0..len {
                        let (mut pivot, mut dropped) = (diagonal[first + r], 0.0);
                        let row = listed(starts, s, at, r);
                        let cols = &cols[starts[at as usize + r] as usize..];
                        for (place, column) in row.clone().zip(cols) {
                            let value = entry(entries, source[place]);
                            values[place] = T::of(value * (units.by[first + r] * units.of[*column as usize]));
                            let across = entry(entries, opposite[place]);
                            let multiplier = value * reciprocal[*column as usize];
                            pivot -= multiplier * across;
                            dropped += multiplier * (sums[*column as usize] - across);
                        }
                        let factor = 1.0 / usable(pivot, dropped, diagonal[first + r]).ok_or(first + r)?;
                        reciprocal[first + r] = factor;
                        for value in &mut values[row] {
                            *value *= T::of(factor);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Solves (I + T) x = start, where T is this triangle.
    #[inline(always)]
    pub fn solve(&self, x: &mut [T], start: impl Start<T>) {
        if self.shape.below {
            self.sweep::<true>(x, start);
        } else {
            self.sweep::<false>(x, start);
        }
    }

    #[expect(clippy::needless_pass_by_value, reason = "a start is a reference or two")]
    #[inline(always)]
    fn sweep<const BELOW: bool>(&self, x: &mut [T], start: impl Start<T>) {
        let Shape { segments, reads, starts, cols, .. } = &*self.shape;
        for place in 0..segments.len() {
            let s = &segments[if BELOW { place } else { segments.len() - 1 - place }];
            let (first, len) = (s.first as usize, s.len as usize);
            let from = start.of(first, len);
            match s.kind {
                SegmentKind::Even { at, count } => {
                    // Split x into known values and values to solve for.
                    let (known, own) = if BELOW {
                        let (before, rest) = x.split_at_mut(first);
                        (&*before, &mut rest[..len])
                    } else {
                        let (rest, after) = x.split_at_mut(first + len);
                        (&*after, &mut rest[first..])
                    };
                    let reads = &reads[at as usize..][..count as usize];
                    let values = &self.values[s.values as usize..];
                    match count {
                        0 => rows::<0, _, _>(own, values, known, reads, from),
                        1 => rows::<1, _, _>(own, values, known, reads, from),
                        2 => rows::<2, _, _>(own, values, known, reads, from),
                        3 => rows::<3, _, _>(own, values, known, reads, from),
                        4 => rows::<4, _, _>(own, values, known, reads, from),
                        5 => rows::<5, _, _>(own, values, known, reads, from),
                        _ => {
                            const { assert!(MAX_DISTANCES == 6, "there is a case for each number of distances") };
                            rows::<MAX_DISTANCES, _, _>(own, values, known, reads, from);
                        }
                    }
                }
                SegmentKind::Listed { at } => {
                    let starts = &starts[at as usize..][..len + 1];
                    let values = &self.values[s.values as usize..][..(starts[len] - starts[0]) as usize];
                    let cols = &cols[starts[0] as usize..starts[len] as usize];
                    for k in 0..len {
                        let r = if BELOW { k } else { len - 1 - k };
                        let row = (starts[r] - starts[0]) as usize..(starts[r + 1] - starts[0]) as usize;
                        let mut sum = from.at(r);
                        for (value, column) in values[row.clone()].iter().zip(&cols[row]) {
                            sum -= *value * x[*column as usize];
                        }
                        x[first + r] = sum;
                    }
                }
            }
        }
    }
}

/// A loop over at least four rows with the same distances, four at a time. The last group may overlap the one before:
/// rows do not depend on each other, so some rows are solved twice. This is a separate function, so that the compiler
/// knows that `x` does not alias its inputs.
#[inline(never)]
fn rows<const C: usize, T: Real, R: Row<T>>(x: &mut [T], values: &[T], known: &[T], reads: &[u32], from: R) {
    let len = x.len();
    assert!(len >= GROUP && reads.len() == C, "a loop has four rows and {C} distances");
    let (last, reads) = (len - GROUP, <&[u32; C]>::try_from(reads).expect("the length was checked"));
    let values: [&[T]; C] = std::array::from_fn(|c| &values[c * len..][..len]);
    let known: [&[T]; C] = std::array::from_fn(|c| &known[reads[c] as usize..][..len]);
    let from = from.rows(len);
    let mut r = 0;
    loop {
        let mut sum = from.group(r);
        for c in 0..C {
            take(&mut sum, group(values[c], r), group(known[c], r));
        }
        x[r..r + GROUP].copy_from_slice(&sum);
        if r == last {
            break;
        }
        r = (r + GROUP).min(last);
    }
}

/// Sorts rows by levels; the result is equivalent to the given order. A row is one level above the highest of its
/// neighbours that precede it in that order. Also returns the number of levels.
pub(super) fn by_levels(graph: &Pattern, base: &[u32]) -> (Vec<u32>, usize) {
    let n = base.len();
    let position = inverse(base);
    let mut level = vec![0u32; n];
    let mut highest = 0;
    for (k, i) in base.iter().enumerate() {
        let mut own = 0;
        for j in &graph.row_idx[graph.column(*i as usize)] {
            if (position[*j as usize] as usize) < k {
                own = own.max(level[*j as usize] + 1);
            }
        }
        level[*i as usize] = own;
        highest = highest.max(own);
    }
    let levels = if n == 0 { 0 } else { highest as usize + 1 };
    let mut next = vec![0u32; levels + 1];
    for l in &level {
        next[*l as usize + 1] += 1;
    }
    for l in 0..levels {
        next[l + 1] += next[l];
    }
    let mut order = vec![0u32; n];
    for i in base {
        let at = &mut next[level[*i as usize] as usize];
        order[*at as usize] = *i;
        *at += 1;
    }
    (order, levels)
}

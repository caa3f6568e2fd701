//! Multifrontal LU (Duff & Reid, ACM Trans. Math. Softw. 9 (1983)) with one analysis. A matching of rows and columns
//! fills the diagonal; pivots stay there and are exchanged only within a front. Products of dense blocks do the work.

use crate::linear::analysis::{Analysis, analyse};
use crate::linear::band::{inverse, symmetric};
use crate::linear::choice::{LinearReport, MAX_FILL, SolverKind};
use crate::linear::dissection::nested_dissection;
use crate::linear::matching::{Matching, match_rows};
use crate::linear::ordering::{Ordering, minimum_degree, of_graph};
use crate::linear::pivoting::pivoting;
use crate::linear::product::{self, PANEL, Packed};
use crate::linear::{Assembled, Factor, FactorDiagnostics, PivotChoice, Scalar};
use crate::pattern::Pattern;

/// A diagonal entry below this fraction of its column calls for a matching.
const WEAK: f64 = 1e-6;
const NONE: u32 = u32::MAX;

/// Factorisations with more operations than this use dense fronts.
const FRONTS_PAY: f64 = 1e6;

/// If minimum degree needs fewer operations than this, no other order is tried: its analysis would cost more than a
/// few factorisations save.
const DISSECTION_PAYS: f64 = 2e7;

/// The algorithm of a sparse factorisation.
pub(super) enum SparseAlgorithm {
    /// Column by column, for few operations.
    Columns(Ordering),
    /// In dense fronts.
    Multifrontal(Ordered),
}

/// An order of elimination and its analysis.
pub(super) struct Ordered {
    analysis: Analysis,
    name: &'static str,
}

/// Minimum degree; if that needs many operations, nested dissection if it needs fewer. `None` if L + U has more than
/// `limit` entries.
pub(super) fn plan(pattern: &Pattern, limit: u64) -> Option<SparseAlgorithm> {
    let graph = symmetric(pattern);
    let degree = of_graph(&graph, limit, f64::INFINITY);
    let analysed = degree.as_ref().and_then(|o| analyse(&graph, &o.order, limit));
    match (degree, &analysed) {
        (Some(ordering), Some(analysis)) if analysis.flops < FRONTS_PAY => {
            return Some(SparseAlgorithm::Columns(ordering));
        }
        _ => {}
    }
    better(&graph, analysed, limit).map(SparseAlgorithm::Multifrontal)
}

/// Like [`plan`], but always with dense fronts.
#[cfg(test)]
pub(super) fn plan_fronts(pattern: &Pattern) -> Option<Ordered> {
    let graph = symmetric(pattern);
    let degree = minimum_degree(pattern, u64::MAX).and_then(|o| analyse(&graph, &o.order, u64::MAX));
    better(&graph, degree, u64::MAX)
}

fn better(graph: &Pattern, degree: Option<Analysis>, limit: u64) -> Option<Ordered> {
    let degree = match degree {
        Some(analysis) if analysis.flops < DISSECTION_PAYS => {
            return Some(Ordered { analysis, name: "minimum degree" });
        }
        degree => degree,
    };
    match (degree, analyse(graph, &nested_dissection(graph), limit)) {
        (Some(degree), Some(dissection)) if degree.flops <= dissection.flops => {
            Some(Ordered { analysis: degree, name: "minimum degree" })
        }
        (_, Some(analysis)) => Some(Ordered { analysis, name: "nested dissection" }),
        (Some(analysis), None) => Some(Ordered { analysis, name: "minimum degree" }),
        (None, None) => None,
    }
}

/// The position of the data of one front.
struct Place {
    /// Its entries of the matrix, in `Fronts::entries`.
    entries: std::ops::Range<usize>,
    /// Columns of L with the block of the pivots, then rows of U, in `Fronts::factors`.
    factors: usize,
    /// Positions of its rows in the parent front, in `Fronts::relative`.
    relative: usize,
    /// The size of its contribution block, from the start of `Fronts::stack`.
    left: usize,
    /// Its last child with a contribution block, and the previous such child of its parent; `NONE` without one.
    child: u32,
    sibling: u32,
}

/// Structure and values.
pub(super) struct Multifrontal<S> {
    analysis: Analysis,
    /// Row of the matrix on the diagonal of each column, in the order of elimination.
    rows: Vec<u32>,
    places: Vec<Place>,
    /// Entry of the matrix, and its position in the front.
    entries: Vec<(u32, u32)>,
    relative: Vec<u32>,
    factors: Vec<S>,
    /// Row exchanges within the fronts: for each column, the position of its pivot in the front.
    pivots: Vec<u32>,
    stack: Vec<S>,
    front: Vec<S>,
    packed: Packed,
    x: Vec<S>,
    /// True if the rows have been matched with the values of the first matrix.
    matched: bool,
    report: LinearReport,
    health: FactorDiagnostics,
}

/// The positions of the data of all fronts, and the memory that they need.
struct Placed {
    places: Vec<Place>,
    relative: Vec<u32>,
    factors: usize,
    deepest: usize,
    largest: usize,
}

/// Lays out the fronts. `by_front` lists the entries of the matrix in the order of their fronts; `local` gives the
/// row of a front at a position of the elimination.
fn placed(analysis: &Analysis, by_front: &[(u32, u32, u32)], local: &dyn Fn(usize, usize) -> usize) -> Placed {
    let mut places: Vec<Place> = Vec::with_capacity(analysis.fronts.len());
    let mut relative = Vec::new();
    let (mut entry, mut factors, mut largest) = (0, 0, 0);
    // Contribution blocks form a stack: a parent pops the blocks of its children.
    let (mut height, mut deepest) = (0, 0);
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (f, front) in analysis.fronts.iter().enumerate() {
        let from = entry;
        while by_front.get(entry).is_some_and(|(owner, ..)| *owner as usize == f) {
            entry += 1;
        }
        let (mut child, mut before) = (NONE, None);
        while let Some((own, start)) = open.last().copied().filter(|(c, _)| analysis.fronts[*c].parent == f) {
            open.pop();
            height = start;
            match before {
                None => child = own as u32,
                Some(later) => places[later as usize].sibling = own as u32,
            }
            before = Some(own as u32);
        }
        let left = height;
        places.push(Place { entries: from..entry, factors, relative: relative.len(), left, child, sibling: NONE });
        let (w, r) = (front.width, front.rows.len());
        factors += w * (w + 2 * r);
        largest = largest.max(front.size() * front.size());
        if r > 0 {
            relative.extend(front.rows.iter().map(|k| local(front.parent, *k as usize) as u32));
            open.push((f, height));
            height += r * r;
            deepest = deepest.max(height);
        }
    }
    Placed { places, relative, factors, deepest, largest }
}

impl<S: Scalar> Multifrontal<S> {
    /// Prepares for matrices on a pattern.
    pub fn new(pattern: &Pattern, ordered: Ordered) -> Self {
        let same: Vec<u32> = (0..pattern.cols() as u32).collect();
        let report = LinearReport { ordering: ordered.name, ..LinearReport::new(SolverKind::Multifrontal, pattern) };
        Self::with(pattern, ordered, &same, &report)
    }

    /// `matching` gives the row of the matrix on the diagonal of each column.
    fn with(pattern: &Pattern, ordered: Ordered, matching: &[u32], report: &LinearReport) -> Self {
        let analysis = ordered.analysis;
        let n = pattern.cols();
        let position = inverse(&analysis.order);
        let (mut row_position, mut owner) = (vec![0u32; n], vec![0u32; n]);
        for (column, row) in matching.iter().enumerate() {
            row_position[*row as usize] = position[column];
        }
        for (f, front) in analysis.fronts.iter().enumerate() {
            owner[front.first..front.first + front.width].fill(f as u32);
        }
        let local = |f: usize, k: usize| {
            let front = &analysis.fronts[f];
            match k.checked_sub(front.first) {
                Some(inside) if inside < front.width => inside,
                _ => match front.rows.binary_search(&(k as u32)) {
                    Ok(row) => front.width + row,
                    Err(place) => panic!("row {k} is not in the front that eliminates its column, at {place}"),
                },
            }
        };
        let mut by_front: Vec<(u32, u32, u32)> = pattern
            .positions()
            .enumerate()
            .map(|(source, (i, j))| {
                let (i, j) = (row_position[i] as usize, position[j] as usize);
                let f = owner[i.min(j)] as usize;
                let at = local(f, j) * analysis.fronts[f].size() + local(f, i);
                (f as u32, source as u32, at as u32)
            })
            .collect();
        by_front.sort_unstable();
        let Placed { places, relative, factors, deepest, largest } = placed(&analysis, &by_front, &local);
        let rows = analysis.order.iter().map(|j| matching[*j as usize]).collect();
        Multifrontal {
            rows,
            places,
            entries: by_front.into_iter().map(|(_, source, at)| (source, at)).collect(),
            relative,
            factors: vec![S::ZERO; factors],
            pivots: vec![0; n],
            stack: vec![S::ZERO; deepest],
            front: vec![S::ZERO; largest],
            packed: Packed::new::<S>(),
            x: vec![S::ZERO; n],
            matched: false,
            report: LinearReport { fill: analysis.fill, ordering: ordered.name, ..report.clone() },
            health: FactorDiagnostics { pivot_ratio: 0.0 },
            analysis,
        }
    }

    /// For the first matrix: matches rows if the diagonal is weak, and repeats the analysis.
    fn match_first(&mut self, matrix: &Assembled<S>) {
        self.matched = true;
        if let Matching::Exchanged(matching) = match_rows(matrix, WEAK) {
            let mut renamed = vec![0u32; matching.len()];
            for (column, row) in matching.iter().enumerate() {
                renamed[*row as usize] = column as u32;
            }
            let pattern = matrix.pattern();
            let n = pattern.cols();
            let exchanged = Pattern::from_positions(n, n, pattern.positions().map(|(i, j)| (renamed[i] as usize, j)));
            let graph = symmetric(&exchanged);
            let degree = minimum_degree(&exchanged, MAX_FILL).and_then(|o| analyse(&graph, &o.order, MAX_FILL));
            if let Some(ordered) = better(&graph, degree, MAX_FILL) {
                *self = Self::with(&pattern, ordered, &matching, &self.report);
                self.matched = true;
            }
        }
    }
}

/// Eliminates the first `w` columns of a front of size `m`. Rows are exchanged only among its first `w` rows;
/// `pivots` receives their positions. Returns the smallest and the largest pivot. The error is a column without a
/// pivot.
fn eliminate<S: Scalar>(
    front: &mut [S],
    m: usize,
    w: usize,
    pivots: &mut [u32],
    packed: &mut Packed,
) -> Result<(f64, f64), usize> {
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
    for from in (0..w).step_by(PANEL) {
        let to = (from + PANEL).min(w);
        for k in from..to {
            let column = &front[k * m..(k + 1) * m];
            let mut pivot = k;
            for i in k + 1..w {
                if column[i].magnitude() > column[pivot].magnitude() {
                    pivot = i;
                }
            }
            // Keep the diagonal as pivot if it is large enough: then most fronts move no rows.
            if column[k].magnitude() >= 0.1 * column[pivot].magnitude() {
                pivot = k;
            }
            let size = column[pivot].magnitude();
            if !(size > 0.0 && size.is_finite()) {
                return Err(k);
            }
            (smallest, largest) = (smallest.min(size), largest.max(size));
            pivots[k] = pivot as u32;
            if pivot != k {
                for column in front.chunks_exact_mut(m) {
                    column.swap(k, pivot);
                }
            }
            let (left, right) = front.split_at_mut((k + 1) * m);
            let column = &mut left[k * m..];
            let scale = S::ONE / column[k];
            for v in &mut column[k + 1..] {
                *v = *v * scale;
            }
            for other in right.chunks_exact_mut(m).take(to - k - 1) {
                let top = other[k];
                for (x, l) in other[k + 1..].iter_mut().zip(&column[k + 1..]) {
                    *x -= top * *l;
                }
            }
        }
        let (left, right) = front.split_at_mut(to * m);
        let panel = &left[from * m..];
        for column in right.chunks_exact_mut(m) {
            for k in from..to {
                let top = column[k];
                let l = &panel[(k - from) * m..];
                for (x, l) in column[k + 1..to].iter_mut().zip(&l[k + 1..to]) {
                    *x -= top * *l;
                }
            }
        }
        if to < m {
            product::update(panel, right, m, (from, to), packed);
        }
    }
    Ok((smallest, largest))
}

impl<S: Scalar> Factor<S> for Multifrontal<S> {
    fn factor(&mut self, matrix: &Assembled<S>) -> Result<(), usize> {
        if !self.matched {
            self.match_first(matrix);
        }
        let values = matrix.values();
        let (mut smallest, mut largest) = (f64::INFINITY, 0.0f64);
        for (f, front) in self.analysis.fronts.iter().enumerate() {
            let place = &self.places[f];
            let (m, w, r) = (front.size(), front.width, front.rows.len());
            let a = &mut self.front[..m * m];
            a.fill(S::ZERO);
            for (source, at) in &self.entries[place.entries.clone()] {
                a[*at as usize] += values[*source as usize];
            }
            let mut child = place.child;
            while child != NONE {
                let held = &self.places[child as usize];
                let size = self.analysis.fronts[child as usize].rows.len();
                let to = &self.relative[held.relative..held.relative + size];
                let left = &self.stack[held.left..held.left + size * size];
                for (column, j) in left.chunks_exact(size).zip(to) {
                    let a = &mut a[*j as usize * m..(*j as usize + 1) * m];
                    for (v, i) in column.iter().zip(to) {
                        a[*i as usize] += *v;
                    }
                }
                child = held.sibling;
            }
            let pivots = &mut self.pivots[front.first..front.first + w];
            let (least, most) = eliminate(a, m, w, pivots, &mut self.packed)
                .map_err(|k| self.analysis.order[front.first + k] as usize)?;
            (smallest, largest) = (smallest.min(least), largest.max(most));
            let kept = &mut self.factors[place.factors..place.factors + w * (w + 2 * r)];
            let (lower, upper) = kept.split_at_mut(w * m);
            lower.copy_from_slice(&a[..w * m]);
            for (u, column) in upper.chunks_exact_mut(w).zip(a[w * m..].chunks_exact(m)) {
                u.copy_from_slice(&column[..w]);
            }
            if r > 0 {
                let left = &mut self.stack[place.left..place.left + r * r];
                for (to, column) in left.chunks_exact_mut(r).zip(a[w * m..].chunks_exact(m)) {
                    to.copy_from_slice(&column[w..]);
                }
            }
        }
        self.health = FactorDiagnostics { pivot_ratio: smallest / largest };
        Ok(())
    }

    fn solve(&mut self, b: &mut [S]) {
        let x = &mut self.x[..];
        for (x, row) in x.iter_mut().zip(&self.rows) {
            *x = b[*row as usize];
        }
        for (front, place) in self.analysis.fronts.iter().zip(&self.places) {
            let (m, w, first) = (front.size(), front.width, front.first);
            let (head, tail) = x.split_at_mut(first + w);
            let own = &mut head[first..];
            let lower = &self.factors[place.factors..place.factors + w * m];
            for k in 0..w {
                own.swap(k, self.pivots[first + k] as usize);
            }
            for (k, column) in lower.chunks_exact(m).enumerate() {
                let top = own[k];
                for (x, l) in own[k + 1..].iter_mut().zip(&column[k + 1..w]) {
                    *x -= top * *l;
                }
                for (row, l) in front.rows.iter().zip(&column[w..]) {
                    tail[*row as usize - first - w] -= top * *l;
                }
            }
        }
        for (front, place) in self.analysis.fronts.iter().zip(&self.places).rev() {
            let (m, w, first, r) = (front.size(), front.width, front.first, front.rows.len());
            let (head, tail) = x.split_at_mut(first + w);
            let own = &mut head[first..];
            let kept = &self.factors[place.factors..place.factors + w * (w + 2 * r)];
            let (lower, upper) = kept.split_at(w * m);
            for (row, column) in front.rows.iter().zip(upper.chunks_exact(w)) {
                let x = tail[*row as usize - first - w];
                for (own, u) in own.iter_mut().zip(column) {
                    *own -= x * *u;
                }
            }
            for k in (0..w).rev() {
                let column = &lower[k * m..];
                own[k] = own[k] / column[k];
                let x = own[k];
                for (own, u) in own[..k].iter_mut().zip(column) {
                    *own -= x * *u;
                }
            }
        }
        for (x, column) in x.iter().zip(&self.analysis.order) {
            b[*column as usize] = *x;
        }
    }

    fn health(&self) -> FactorDiagnostics {
        self.health
    }

    fn report(&self) -> LinearReport {
        self.report.clone()
    }

    fn pivot_choice(&self) -> PivotChoice {
        PivotChoice::Fixed
    }

    fn pivoting(&self, pattern: &Pattern) -> Option<Box<dyn Factor<S>>> {
        Some(pivoting(pattern))
    }
}

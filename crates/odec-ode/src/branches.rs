//! Checks whether a step has kept the algebraic unknowns on the same solution of their equations.
//!
//! The equations without a derivative often have several solutions: a charge balance has one with a negative
//! concentration of protons. Where two solutions come close, a step of any method may end on the other one. Its error
//! estimate does not notice, because each solution is smooth. Along one solution the determinant of dg/dz keeps its
//! sign, and no unknown passes a pole of its equation, such as the 0 of `Kw/h`. A step that violates either rule has
//! left its solution and is rejected. The check treats each group of coupled equations separately.

use crate::evaluator::Evaluator;
use crate::pattern::Pattern;
use crate::problem::Cause;

/// Largest group of equations whose determinant is computed; the cost grows with the third power of the size.
const MAX_GROUP: usize = 40;
/// A pivot below this fraction of the largest entry of its row leaves the sign undetermined.
const UNSURE: f64 = 1e-10;
/// Distance from 0 at which an unknown is tested for a pole of its equations.
const NEAR_ZERO: f64 = 1e-180;
/// A residual above this size at that distance means a pole.
const INFINITE: f64 = 1e90;

/// A sparse vector: (index, value) of each entry.
type Sparse = Vec<(usize, f64)>;

/// N^T J Z, where N spans the combinations of equations without a derivative, and Z the combinations of unknowns
/// without one.
#[derive(Default)]
pub(crate) struct Reduced {
    /// Row and column of each entry, ascending.
    pub cells: Vec<(usize, usize)>,
    /// The terms of each entry: the entry, an entry of J, a factor.
    terms: Vec<(usize, usize, f64)>,
}

impl Reduced {
    /// The structure for a pattern of J.
    pub fn of(pattern: &Pattern, left: &[Sparse], right: &[Sparse]) -> Reduced {
        let by_place = |list: &[Sparse]| {
            let mut of: Vec<Sparse> = vec![Vec::new(); pattern.cols()];
            for (k, vector) in list.iter().enumerate() {
                for (place, x) in vector {
                    of[*place].push((k, *x));
                }
            }
            of
        };
        let (of_row, of_col) = (by_place(left), by_place(right));
        let mut found = Vec::new();
        for (entry, (row, col)) in pattern.positions().enumerate() {
            for &(k, x) in &of_row[row] {
                found.extend(of_col[col].iter().map(|&(l, z)| (k, l, entry, x * z)));
            }
        }
        found.sort_by_key(|&(k, l, entry, _)| (k, l, entry));
        let (mut cells, mut terms) = (Vec::new(), Vec::with_capacity(found.len()));
        for (k, l, entry, factor) in found {
            if cells.last() != Some(&(k, l)) {
                cells.push((k, l));
            }
            terms.push((cells.len() - 1, entry, factor));
        }
        Reduced { cells, terms }
    }

    /// Computes the entries from the entries of J.
    pub fn values(&self, jacobian: &[f64], out: &mut Vec<f64>) {
        out.clear();
        out.resize(self.cells.len(), 0.0);
        for &(cell, entry, factor) in &self.terms {
            out[cell] += factor * jacobian[entry];
        }
    }
}

/// Compares the states at both ends of each step of one system.
pub(crate) struct Branches {
    groups: Vec<Group>,
    /// Unknowns, and rows without a derivative, that no combination mixes with others: null vectors with a single entry.
    unknowns: Vec<usize>,
    rows: Vec<usize>,
    /// The signs of the determinants at the last state, and that state; empty before the first one.
    signs: Vec<i8>,
    at: Vec<f64>,
    found: Vec<i8>,
    dense: Vec<f64>,
    f: Vec<f64>,
    tried: Vec<f64>,
}

/// Equations that are coupled by their unknowns: for each entry of N^T J Z, its row and column in the group.
struct Group {
    size: usize,
    /// The unknown that messages name for the group.
    unknown: usize,
    entries: Vec<(usize, usize, usize)>,
}

impl Branches {
    /// The groups of a system of `n` equations.
    pub fn of(n: usize, reduced: &Reduced, left: &[Sparse], right: &[Sparse]) -> Branches {
        let single = |list: &[Sparse]| list.iter().filter(|v| v.len() == 1).map(|v| v[0].0).collect();
        Branches {
            groups: groups(reduced, left.len(), right),
            unknowns: single(right),
            rows: single(left),
            signs: Vec::new(),
            at: Vec::new(),
            found: Vec::new(),
            dense: Vec::new(),
            f: vec![0.0; n],
            tried: vec![0.0; n],
        }
    }

    /// Starts a run.
    pub fn clear(&mut self) {
        self.signs.clear();
        self.at.clear();
    }

    /// True if the signs at this state are known.
    pub fn has_signs_at(&self, y: &[f64]) -> bool {
        !self.at.is_empty() && self.at == y
    }

    /// Stores the signs at a state with these entries of N^T J Z.
    pub fn store_signs(&mut self, entries: &[f64], y: &[f64]) {
        self.take_signs(entries);
        std::mem::swap(&mut self.signs, &mut self.found);
        self.at.clear();
        self.at.extend_from_slice(y);
    }

    /// An unknown of a group whose determinant has changed its sign since the stored state.
    pub fn sign_change(&mut self, entries: &[f64]) -> Option<usize> {
        if self.signs.is_empty() {
            return None;
        }
        self.take_signs(entries);
        let pairs = self.signs.iter().zip(&self.found);
        let sign_change = pairs.zip(&self.groups).find(|((a, b), _)| i32::from(**a) * i32::from(**b) < 0);
        sign_change.map(|(_, group)| group.unknown)
    }

    /// An unknown that passes 0 between two states and whose equations have a pole there.
    pub fn passes_a_pole(&mut self, eval: &mut Evaluator<'_>, t: f64, from: &[f64], to: &[f64]) -> Option<usize> {
        for &unknown in &self.unknowns {
            if from[unknown] * to[unknown] >= 0.0 {
                continue;
            }
            self.tried.copy_from_slice(to);
            self.tried[unknown] = NEAR_ZERO.copysign(to[unknown]);
            let infinite = match eval.rhs(t, &self.tried, &mut self.f) {
                Ok(()) => self.rows.iter().any(|row| self.f[*row].abs() > INFINITE),
                Err(Cause::Fatal | Cause::Internal { .. }) => false,
                Err(_) => true,
            };
            if infinite {
                return Some(unknown);
            }
        }
        None
    }

    fn take_signs(&mut self, entries: &[f64]) {
        self.found.clear();
        for group in &self.groups {
            self.found.push(group.sign(entries, &mut self.dense));
        }
    }
}

impl Group {
    /// The sign of the determinant by elimination with equilibrated rows and columns; 0 if it is undetermined.
    fn sign(&self, values: &[f64], dense: &mut Vec<f64>) -> i8 {
        let n = self.size;
        dense.clear();
        dense.resize(n * n, 0.0);
        for &(entry, row, col) in &self.entries {
            dense[row * n + col] = values[entry];
        }
        if !(scale(dense, n, |i, j| i * n + j) && scale(dense, n, |i, j| j * n + i)) {
            return 0;
        }
        let mut sign = 1;
        for k in 0..n {
            let size = |i: usize| dense[i * n + k].abs();
            let pivot = (k..n).fold(k, |best, i| if size(i) > size(best) { i } else { best });
            if !(size(pivot) > UNSURE) {
                return 0;
            }
            if pivot != k {
                (0..n).for_each(|j| dense.swap(k * n + j, pivot * n + j));
                sign = -sign;
            }
            let top = dense[k * n + k];
            if top < 0.0 {
                sign = -sign;
            }
            for i in k + 1..n {
                let part = dense[i * n + k] / top;
                if part != 0.0 {
                    (k..n).for_each(|j| dense[i * n + j] -= part * dense[k * n + j]);
                }
            }
        }
        sign
    }
}

/// Divides each line of a matrix by its largest entry; false if a line is zero.
fn scale(dense: &mut [f64], n: usize, place: impl Fn(usize, usize) -> usize) -> bool {
    (0..n).all(|i| {
        let largest = (0..n).fold(0.0f64, |most, j| most.max(dense[place(i, j)].abs()));
        (0..n).for_each(|j| dense[place(i, j)] /= largest);
        largest > 0.0 && largest.is_finite()
    })
}

/// The connected parts of N^T J Z.
fn groups(reduced: &Reduced, left: usize, right: &[Sparse]) -> Vec<Group> {
    // union-find over the combinations of equations, followed by the combinations of unknowns
    let mut parent: Vec<usize> = (0..left + right.len()).collect();
    for &(k, l) in &reduced.cells {
        let (a, b) = (root(&mut parent, k), root(&mut parent, left + l));
        parent[a.max(b)] = a.min(b);
    }
    let mut members: Vec<(Vec<usize>, Vec<usize>)> = vec![Default::default(); parent.len()];
    let mut place = vec![0; parent.len()];
    for k in 0..parent.len() {
        let (rows, cols) = &mut members[root(&mut parent, k)];
        let list = if k < left { rows } else { cols };
        place[k] = list.len();
        list.push(k);
    }
    let mut found: Vec<Group> = Vec::new();
    let mut number = vec![usize::MAX; parent.len()];
    for (k, (rows, cols)) in members.iter().enumerate() {
        if !rows.is_empty() && rows.len() == cols.len() && rows.len() <= MAX_GROUP {
            let Some(&(unknown, ..)) = right[cols[0] - left].first() else { continue };
            number[k] = found.len();
            found.push(Group { size: rows.len(), unknown, entries: Vec::new() });
        }
    }
    for (entry, &(k, l)) in reduced.cells.iter().enumerate() {
        if let Some(group) = found.get_mut(number[root(&mut parent, k)]) {
            group.entries.push((entry, place[k], place[left + l]));
        }
    }
    found
}

fn root(parent: &mut [usize], mut i: usize) -> usize {
    while parent[i] != i {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    i
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(positions: &[(usize, usize)], vectors: &[Sparse]) -> (Reduced, Branches) {
        let pattern = Pattern::from_positions(3, 3, positions.iter().copied());
        let reduced = Reduced::of(&pattern, vectors, vectors);
        let branches = Branches::of(3, &reduced, vectors, vectors);
        (reduced, branches)
    }

    /// Rows 1 and 2 have no derivative. The pattern decides whether they form one group or two.
    #[test]
    fn the_sign_of_each_group_is_that_of_its_determinant() {
        let vectors = [vec![(1, 1.0)], vec![(2, 1.0)]];
        let (_, mut branches) = of(&[(0, 0), (1, 1), (2, 2)], &vectors);
        branches.store_signs(&[2.0, -3.0], &[0.0; 3]);
        assert_eq!(branches.signs, [1, -1]);
        assert_eq!((branches.sign_change(&[2.0, 3.0]), branches.sign_change(&[1e-300, -1e300])), (Some(2), None));
        let (_, mut branches) = of(&[(1, 1), (2, 1), (1, 2), (2, 2)], &vectors);
        branches.store_signs(&[1.0, 3.0, 2.0, 4.0], &[0.0; 3]);
        assert_eq!(branches.signs, [-1]);
        assert_eq!(branches.sign_change(&[1.0, 3.0, 2.0, 8.0]), Some(1));
        // singular up to rounding: the sign is undetermined, so no change is reported
        assert_eq!(branches.sign_change(&[1.0, 3.0, 2.0, 6.0]), None);
    }

    /// Equations that combine derivatives: (1, 1) and (1, -1), each divided by the square root of 2.
    #[test]
    fn combinations_of_equations_add_up_entries_of_the_jacobian() {
        let r = 0.5f64.sqrt();
        let (reduced, _) = of(&[(0, 0), (1, 0), (1, 1)], &[vec![(0, r), (1, r)]]);
        let mut values = Vec::new();
        reduced.values(&[3.0, 5.0, 7.0], &mut values);
        assert!(reduced.cells == [(0, 0)] && (values[0] - 7.5).abs() < 1e-14, "{values:?}");
    }
}

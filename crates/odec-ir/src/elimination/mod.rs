//! Gaussian elimination on a fixed pattern with fixed pivots, as kernels without loops. Every multiplication of the
//! factorisation and of the triangular solves is a node, so the machine code has neither indices nor branches.
//!
//! The Kinetic PreProcessor writes such code in C for chemical mechanisms (Damian et al. 2002). Here it works for any
//! pattern and pivot order, and for complex matrices as pairs of reals.

mod field;

use std::collections::BTreeMap;

use crate::graph::{Graph, NodeId};
use crate::nest::{Kernel, Store, Target};
use crate::program::{Array, ArrayId, KernelRole, Pattern, Program, Role};
use crate::span::Span;
pub use field::Field;
pub(crate) use field::{Arithmetic, Number};

/// Largest number of multiplications and divisions of a factorisation that is unrolled. Beyond it, compiling takes
/// longer than most runs, and the code no longer fits into the cache.
pub const MAX_OPERATIONS: u64 = 50_000;

/// The source of the entries of the matrix.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// The entries are inputs, in the order of the pattern.
    Given,
    /// The matrix is alpha*M - J, and J, alpha and M are inputs. J and M are real.
    IterationMatrix {
        /// For each value of J, its entry in the matrix. No entry occurs twice.
        jacobian: &'a [u32],
        /// For each value of M, its entry in the matrix. No entry occurs twice.
        mass: &'a [u32],
        /// True if all values of M are 1, and therefore not inputs.
        unit: bool,
    },
}

/// The matrix and the order of its elimination.
#[derive(Clone, Copy, Debug)]
pub struct PivotOrder<'a> {
    /// The pattern of the matrix, by columns.
    pub pattern: &'a Pattern,
    /// The source of the entries.
    pub source: Source<'a>,
    /// The row that is the k-th pivot row.
    pub rows: &'a [u32],
    /// The column that is the k-th pivot column.
    pub columns: &'a [u32],
    /// Real or complex numbers.
    pub field: Field,
    /// True if `a + b*c` is rounded once, as in [`crate::builtin::arithmetic::FMA`]. On a processor with this
    /// instruction, each step of a substitution then waits for one operation instead of two.
    pub fused: bool,
    /// The largest backward error with which a solution passes [`Elimination::check`].
    pub bound: f64,
}

/// The kernels, each of which is the `Outputs` kernel of a separate program. `y` has the values of the matrix, or
/// those of J. In the second case, `p` begins with alpha and with the values of M, unless they are 1.
#[derive(Clone)]
pub struct Elimination {
    /// `out` = values of the factors.
    pub factor: Program,
    /// `y` = values of the factors, `p` = right-hand side, `out` = solution.
    pub solve: Program,
    /// `p` = the part of `p` for the matrix A, then the right-hand side b, then x. For each row,
    /// `out` = |b - A x|_i - bound (|b|_i + |a_i x_i|), where a_i x_i is the term of the row's pivot. If none is
    /// positive, the componentwise backward error (Oettli & Prager 1964) is within the bound. The magnitude of a
    /// complex number is |re| + |im|.
    pub check: Program,
    /// Length of the factors, in doubles.
    pub factors: usize,
    /// Number of multiplications and divisions of the factorisation.
    pub operations: u64,
}

/// Collects the results of a kernel as outputs of a program.
#[derive(Default)]
struct Results {
    stores: Vec<Store>,
}

impl Results {
    /// Stores a number at this position and, if it is complex, the next one.
    fn push(&mut self, place: usize, number: Number) {
        let mut store = |slot: usize, node| {
            self.stores.push(Store { target: Target::set(ArrayId(slot as u32)), node });
        };
        match number {
            Number::Real(a) => store(place, a),
            Number::Complex(re, im) => {
                store(place, re);
                store(place + 1, im);
            }
        }
    }
}

/// A program with this `Outputs` kernel and these numbers of states, parameters and outputs.
fn program(name: &str, [states, parameters, outputs]: [usize; 3], graph: Graph, stores: Vec<Store>) -> Program {
    let array = |prefix: &str, i: usize, role| Array {
        name: format!("{prefix}{i}"),
        role,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    };
    let arrays = (0..states)
        .map(|i| array("a", i, Role::FirstOrder))
        .chain((0..parameters).map(|i| array("b", i, Role::Parameter)))
        .chain((0..outputs).map(|i| array("x", i, Role::Output)))
        .collect();
    let kernels = vec![Kernel::scalar(KernelRole::Outputs, graph, stores)];
    crate::derive::assemble(name.to_owned(), arrays, Vec::new(), Vec::new(), kernels)
}

/// One row of the factors. Let A = -W for the matrix W, and A = L U, where L has a unit diagonal. The row contains
/// -l_ik, -1/pivot, and the entries u_ij to the right of the diagonal. Stored are -l_ik, -1/pivot and -u_ij/pivot.
/// Then every update is a sum, and in the solution of W x = b each unknown waits only for one multiplication with
/// addition after the unknown before it. Columns are positions in the pivot order.
#[derive(Default)]
struct Row {
    lower: Vec<(usize, Number)>,
    inverse: Option<Number>,
    upper: Vec<(usize, Number)>,
}

/// Position of a number of the factors, and whether it is complex.
#[derive(Clone, Copy)]
struct Stored {
    place: usize,
    pair: bool,
}

/// Positions of the values of J and of M for one entry, among the inputs. The inner option of M is `None` if the value
/// is 1.
type Parts = (Option<usize>, Option<Option<usize>>);

impl PivotOrder<'_> {
    /// Arithmetic of the field, with an empty graph.
    pub(crate) fn arithmetic(&self) -> Arithmetic {
        Arithmetic::new(self.field, self.fused)
    }

    /// Number of doubles for one number of the field.
    fn width(&self) -> usize {
        match self.field {
            Field::Real => 1,
            Field::Complex => 2,
        }
    }

    /// Lengths of `y`, and of the part of `p`, that determine the matrix.
    fn inputs(&self) -> [usize; 2] {
        match self.source {
            Source::Given => [self.width() * self.pattern.len(), 0],
            Source::IterationMatrix { jacobian, mass, unit } => {
                [jacobian.len(), self.width() + if unit { 0 } else { mass.len() }]
            }
        }
    }

    /// The positions of the values of J and of M for each entry of the matrix.
    fn parts(&self) -> Option<Vec<Parts>> {
        let mut parts = vec![(None, None); self.pattern.len()];
        let Source::IterationMatrix { jacobian, mass, unit } = self.source else { return Some(parts) };
        for (k, &entry) in jacobian.iter().enumerate() {
            parts.get_mut(entry as usize)?.0 = Some(k);
        }
        let first = jacobian.len() + self.width();
        for (k, &entry) in mass.iter().enumerate() {
            parts.get_mut(entry as usize)?.1 = Some((!unit).then_some(first + k));
        }
        Some(parts)
    }

    /// The entries of J - alpha*M, or the negative of the given entries. `double` reads a position of the inputs.
    fn entries(&self, field: &mut Arithmetic, double: &mut Read<'_>) -> Option<Vec<Number>> {
        let mut number = |field: &mut Arithmetic, first: usize, element: usize| match field.field {
            Field::Real => Number::Real(double(field, first + element)),
            Field::Complex => {
                Number::Complex(double(field, first + 2 * element), double(field, first + 2 * element + 1))
            }
        };
        let Source::IterationMatrix { jacobian, .. } = self.source else {
            let negative = |entry| {
                let number = number(field, 0, entry);
                field.negative(number)
            };
            return Some((0..self.pattern.len()).map(negative).collect());
        };
        let alpha = number(field, jacobian.len(), 0);
        let minus = field.negative(alpha);
        let mut entry = |(jacobian, mass): (Option<usize>, Option<Option<usize>>)| -> Number {
            let jacobian = jacobian.map(|place| double(field, place));
            let scaled = mass.map(|mass| match mass.map(|place| double(field, place)) {
                Some(mass) => field.multiply(minus, Number::Real(mass)),
                None => minus,
            });
            match (jacobian, scaled) {
                (Some(j), None) => Number::Real(j),
                (None, Some(scaled)) => scaled,
                (Some(j), Some(Number::Real(m))) => Number::Real(field.graph.add(j, m)),
                (Some(j), Some(Number::Complex(re, im))) => Number::Complex(field.graph.add(j, re), im),
                (None, None) => Number::Real(field.graph.constant(0.0)),
            }
        };
        Some(self.parts()?.into_iter().map(&mut entry).collect())
    }

    /// The rows of the matrix in the order of pivots; each maps column positions to positions in the values. `None`
    /// unless the orders are permutations of the size of the pattern.
    fn rows_in_order(&self) -> Option<Vec<BTreeMap<usize, usize>>> {
        let n = self.pattern.columns();
        let inverse = |order: &[u32]| -> Option<Vec<usize>> {
            let mut inverse = vec![usize::MAX; n];
            for (k, &i) in order.iter().enumerate() {
                let slot = inverse.get_mut(i as usize).filter(|slot| **slot == usize::MAX)?;
                *slot = k;
            }
            (order.len() == n).then_some(inverse)
        };
        let (row_of, column_of) = (inverse(self.rows)?, inverse(self.columns)?);
        let mut rows = vec![BTreeMap::new(); n];
        for (value, (i, j)) in self.pattern.entries().enumerate() {
            rows.get_mut(*row_of.get(i)?)?.insert(column_of[j], value);
        }
        Some(rows)
    }

    /// Number of multiplications and divisions, and the pattern of each row of the factors; `None` beyond `limit`.
    fn symbolic(rows: &[BTreeMap<usize, usize>], limit: u64) -> Option<(u64, Vec<Vec<usize>>)> {
        let mut operations = 0u64;
        let mut patterns: Vec<Vec<usize>> = Vec::with_capacity(rows.len());
        for (i, row) in rows.iter().enumerate() {
            let mut columns: std::collections::BTreeSet<usize> = row.keys().copied().collect();
            columns.insert(i);
            let mut next = columns.first().copied();
            while let Some(k) = next.filter(|&k| k < i) {
                let pivot: &[usize] = &patterns[k];
                let right = &pivot[pivot.partition_point(|&j| j <= k)..];
                operations += 1 + right.len() as u64;
                if operations > limit {
                    return None;
                }
                columns.extend(right);
                next = columns.range(k + 1..).next().copied();
            }
            operations += 1;
            patterns.push(columns.into_iter().collect());
        }
        Some((operations, patterns))
    }

    /// The kernels of this elimination. `None` if it needs more than `limit` operations (usually [`MAX_OPERATIONS`]),
    /// if the orders are not permutations, or if a value of J or M has no entry.
    pub fn eliminate(&self, limit: u64) -> Option<Elimination> {
        let rows = self.rows_in_order()?;
        let (operations, patterns) = Self::symbolic(&rows, limit)?;
        let (factor, stored, factors) = self.factor(&rows, &patterns)?;
        let solve = self.solve(&patterns, &stored, factors);
        let check = self.check()?;
        Some(Elimination { factor, solve, check, factors, operations })
    }

    /// The factorisation, where each of its numbers is stored, and their length in doubles.
    fn factor(
        &self,
        rows: &[BTreeMap<usize, usize>],
        patterns: &[Vec<usize>],
    ) -> Option<(Program, Vec<Vec<Stored>>, usize)> {
        let mut field = self.arithmetic();
        let entries = self.entries(&mut field, &mut Arithmetic::double)?;
        let [states, parameters] = self.inputs();
        let (mut results, mut stored, mut length) = (Results::default(), Vec::with_capacity(rows.len()), 0);
        for numbers in factors(&mut field, &entries, rows, patterns) {
            let mut store = |number: Number| {
                let place = length;
                results.push(states + parameters + place, number);
                length += number.width();
                Stored { place, pair: number.width() == 2 }
            };
            stored.push(numbers.into_iter().map(&mut store).collect());
        }
        Some((program("factor", [states, parameters, length], field.graph, results.stores), stored, length))
    }

    fn solve(&self, patterns: &[Vec<usize>], stored: &[Vec<Stored>], factors: usize) -> Program {
        let mut field = self.arithmetic();
        let (width, n) = (self.width(), patterns.len());
        let mut factor = |field: &mut Arithmetic, row: usize, k: usize| {
            let Stored { place, pair } = stored[row][k];
            if pair {
                Number::Complex(field.double(place), field.double(place + 1))
            } else {
                Number::Real(field.double(place))
            }
        };
        let mut results = Results::default();
        for (column, x) in
            self.substitute(&mut field, patterns, &mut factor, &mut |field, row| field.read(factors, row))
        {
            results.push(factors + width * n + width * column, x);
        }
        program("solve", [factors, width * n, width * n], field.graph, results.stores)
    }

    /// The solution for the right-hand side `b`. The entries come in the order in which their unknowns become known.
    /// `factor` returns the k-th number of a row of the factors.
    fn substitute(
        &self,
        field: &mut Arithmetic,
        patterns: &[Vec<usize>],
        factor: &mut dyn FnMut(&mut Arithmetic, usize, usize) -> Number,
        b: &mut dyn FnMut(&mut Arithmetic, usize) -> Number,
    ) -> Vec<(usize, Number)> {
        let mut x: Vec<Number> = Vec::with_capacity(patterns.len());
        for (i, pattern) in patterns.iter().enumerate() {
            let mut value = b(field, self.rows[i] as usize);
            for (at, &k) in pattern.iter().enumerate().take_while(|(_, k)| **k < i) {
                let multiplier = factor(field, i, at);
                value = field.accumulate(value, multiplier, x[k]);
            }
            x.push(value);
        }
        let mut solution = Vec::with_capacity(patterns.len());
        for (i, pattern) in patterns.iter().enumerate().rev() {
            let diagonal = pattern.partition_point(|&j| j < i);
            let inverse = factor(field, i, diagonal);
            let mut value = field.multiply(x[i], inverse);
            // add first what is known first, so that as little as possible waits for the newest value
            for (at, &j) in pattern.iter().enumerate().skip(diagonal + 1).rev() {
                let u = factor(field, i, at);
                value = field.accumulate(value, u, x[j]);
            }
            x[i] = value;
            solution.push((self.columns[i] as usize, value));
        }
        solution
    }

    /// The residual of a solution, row by row.
    fn check(&self) -> Option<Program> {
        let mut field = self.arithmetic();
        let (width, n) = (self.width(), self.pattern.columns());
        let [states, own] = self.inputs();
        let (right, solution) = (states + own, states + own + width * n);
        let parameters = own + 2 * width * n;
        let entries = self.entries(&mut field, &mut Arithmetic::double)?;
        let (mut b, mut x) = (
            |field: &mut Arithmetic, i: usize| field.read(right, i),
            |field: &mut Arithmetic, j: usize| field.read(solution, j),
        );
        let mut results = Results::default();
        for (i, excess) in self.excess(&mut field, &entries, &mut b, &mut x)?.into_iter().enumerate() {
            results.push(states + parameters + i, Number::Real(excess));
        }
        Some(program("check", [states, parameters, n], field.graph, results.stores))
    }

    /// |b - A x|_i - bound (|b|_i + |a_i x_i|) for each row, as in [`Elimination::check`]. `entries` are the entries of -A.
    fn excess(
        &self,
        field: &mut Arithmetic,
        entries: &[Number],
        b: &mut dyn FnMut(&mut Arithmetic, usize) -> Number,
        x: &mut dyn FnMut(&mut Arithmetic, usize) -> Number,
    ) -> Option<Vec<NodeId>> {
        let n = self.pattern.columns();
        let mut pivots = vec![None; n];
        for (&row, &column) in self.rows.iter().zip(self.columns) {
            *pivots.get_mut(row as usize)? = Some(column as usize);
        }
        let mut rows: Vec<Vec<(usize, Number)>> = vec![Vec::new(); n];
        for ((i, j), number) in self.pattern.entries().zip(entries) {
            rows.get_mut(i)?.push((j, *number));
        }
        let bound = field.graph.constant(self.bound);
        let mut excesses = Vec::with_capacity(n);
        for (i, row) in rows.into_iter().enumerate() {
            let b = b(field, i);
            let (mut rest, mut scale) = (b, field.magnitude(b));
            for (j, number) in row {
                let x = x(field, j);
                rest = field.accumulate(rest, number, x);
                if pivots[i] == Some(j) {
                    let term = field.multiply(number, x);
                    let size = field.magnitude(term);
                    scale = field.graph.add(scale, size);
                }
            }
            let size = field.magnitude(rest);
            excesses.push(field.subtract_product(size, bound, scale));
        }
        Some(excesses)
    }

    /// The elimination as a part of the larger graph of `field`. `double` returns the node for a position of the
    /// inputs. `None` under the same conditions as [`PivotOrder::eliminate`].
    pub(crate) fn inlined(&self, field: &mut Arithmetic, double: &mut Read<'_>, limit: u64) -> Option<Inlined<'_>> {
        let rows = self.rows_in_order()?;
        let (_, patterns) = Self::symbolic(&rows, limit)?;
        let entries = self.entries(field, double)?;
        let factors = factors(field, &entries, &rows, &patterns);
        Some(Inlined { plan: *self, patterns, entries, factors })
    }
}

/// Returns the node for a position of the inputs.
pub(crate) type Read<'a> = dyn FnMut(&mut Arithmetic, usize) -> NodeId + 'a;

/// The factors of a real matrix that the same graph computes.
pub(crate) struct Inlined<'a> {
    plan: PivotOrder<'a>,
    patterns: Vec<Vec<usize>>,
    entries: Vec<Number>,
    factors: Vec<Vec<Number>>,
}

impl Inlined<'_> {
    /// The solution for a right-hand side.
    pub(crate) fn solve(&self, field: &mut Arithmetic, b: &[NodeId]) -> Vec<NodeId> {
        let mut factor = |_: &mut Arithmetic, row: usize, k: usize| self.factors[row][k];
        let solution = self.plan.substitute(field, &self.patterns, &mut factor, &mut |_, i| Number::Real(b[i]));
        let mut x = b.to_vec();
        for (column, value) in solution {
            if let (Number::Real(value), Some(x)) = (value, x.get_mut(column)) {
                *x = value;
            }
        }
        x
    }

    /// The same as [`Elimination::check`].
    pub(crate) fn excess(&self, field: &mut Arithmetic, b: &[NodeId], x: &[NodeId]) -> Option<Vec<NodeId>> {
        let (mut b, mut x) =
            (|_: &mut Arithmetic, i: usize| Number::Real(b[i]), |_: &mut Arithmetic, j: usize| Number::Real(x[j]));
        self.plan.excess(field, &self.entries, &mut b, &mut x)
    }
}

/// The numbers of the factors, row by row in the order of the pattern: -l_ik, -1/pivot, -u_ij/pivot.
fn factors(
    field: &mut Arithmetic,
    entries: &[Number],
    rows: &[BTreeMap<usize, usize>],
    patterns: &[Vec<usize>],
) -> Vec<Vec<Number>> {
    let mut done: Vec<Row> = Vec::with_capacity(rows.len());
    for (i, (row, pattern)) in rows.iter().zip(patterns).enumerate() {
        let mut values: BTreeMap<usize, Option<Number>> = pattern.iter().map(|&j| (j, None)).collect();
        values.extend(row.iter().map(|(&j, &entry)| (j, Some(entries[entry]))));
        let mut factored = Row::default();
        for &k in pattern.iter().take_while(|&&k| k < i) {
            let (Some(Some(a)), Some(inverse)) = (values.get(&k).copied(), done[k].inverse) else { continue };
            let multiplier = field.multiply(a, inverse);
            factored.lower.push((k, multiplier));
            for &(j, u) in &done[k].upper {
                let value = match values.get(&j).copied().flatten() {
                    Some(a) => field.accumulate(a, multiplier, u),
                    None => field.multiply(multiplier, u),
                };
                values.insert(j, Some(value));
            }
        }
        for (j, value) in values.range(i..) {
            // an entry that nothing fills is zero, and so is a diagonal entry without a value
            let value = value.unwrap_or_else(|| Number::Real(field.graph.constant(0.0)));
            if *j == i {
                factored.inverse = Some(field.negative_inverse(value));
            } else {
                factored.upper.push((*j, value));
            }
        }
        done.push(factored);
    }
    let numbers = |row: &Row| -> Vec<Number> {
        let scaled: Vec<Number> = match row.inverse {
            Some(inverse) => row.upper.iter().map(|u| field.multiply(u.1, inverse)).collect(),
            None => Vec::new(),
        };
        row.lower.iter().map(|l| l.1).chain(row.inverse).chain(scaled).collect()
    };
    done.iter().map(numbers).collect()
}

//! Gaussian elimination on a fixed pattern with fixed pivots, as kernels without loops: every multiplication of the
//! factorisation and of the triangular solves is a node, so that machine code of it has neither indices nor branches.
//!
//! This is what the Kinetic PreProcessor writes as C for chemical mechanisms (Damian et al. 2002), here for any pattern
//! and order of pivots, and for complex matrices as pairs of reals.

use std::collections::BTreeMap;

use crate::builtin::arithmetic;
use crate::graph::{Graph, NodeId};
use crate::program::{Array, ArrayId, Kernel, KernelRole, Pattern, Program, Role, Store, Target};
use crate::span::Span;

/// Most multiplications and divisions of a factorisation that is written out: beyond, compiling takes longer than most
/// runs, and the code leaves the processor's cache.
pub const MAX_OPERATIONS: u64 = 50_000;

/// Which numbers the matrix holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Field {
    /// Reals.
    Real,
    /// Complex numbers, each as its real and imaginary part, one after the other, in all buffers.
    Complex,
}

/// What is eliminated in which order.
#[derive(Clone, Copy, Debug)]
pub struct Plan<'a> {
    /// Entries of the matrix, by columns.
    pub pattern: &'a Pattern,
    /// The row that is the k-th pivot row.
    pub rows: &'a [u32],
    /// The column that is the k-th pivot column.
    pub columns: &'a [u32],
    /// Reals or complex numbers.
    pub field: Field,
    /// True if `a - b*c` is to be rounded once, as [`crate::builtin::arithmetic::FMA`]: for processors that have the
    /// instruction, where it halves the time that each step of a substitution waits for the one before.
    pub fused: bool,
}

/// The two kernels, each as the `Outputs` kernel of a program of its own.
#[derive(Clone)]
pub struct Elimination {
    /// `y` = values of the matrix in the order of the pattern, `out` = values of the factors.
    pub factor: Program,
    /// `y` = values of the factors, `p` = right side, `out` = solution.
    pub solve: Program,
    /// Length of the factors, in doubles.
    pub factors: usize,
    /// Multiplications and divisions of the factorisation.
    pub operations: u64,
}

/// A number of the matrix as nodes.
#[derive(Clone, Copy)]
enum Number {
    Real(NodeId),
    Complex(NodeId, NodeId),
}

/// Arithmetic of the field on a graph.
struct Arithmetic {
    graph: Graph,
    field: Field,
    fused: bool,
}

impl Arithmetic {
    /// The number at this element of the input whose first array is `first`.
    fn read(&mut self, first: usize, element: usize) -> Number {
        let mut node = |slot: usize| self.graph.read(ArrayId((first + slot) as u32));
        match self.field {
            Field::Real => Number::Real(node(element)),
            Field::Complex => Number::Complex(node(2 * element), node(2 * element + 1)),
        }
    }

    fn multiply(&mut self, a: Number, b: Number) -> Number {
        let g = &mut self.graph;
        match (a, b) {
            (Number::Complex(ar, ai), Number::Complex(br, bi)) => {
                let (rr, ii, ri, ir) = (g.mul(ar, br), g.mul(ai, bi), g.mul(ar, bi), g.mul(ai, br));
                Number::Complex(g.sub(rr, ii), g.add(ri, ir))
            }
            (Number::Real(a) | Number::Complex(a, _), Number::Real(b) | Number::Complex(b, _)) => {
                Number::Real(g.mul(a, b))
            }
        }
    }

    fn negative(&mut self, a: Number) -> Number {
        let g = &mut self.graph;
        match a {
            Number::Real(a) => Number::Real(g.neg(a)),
            Number::Complex(re, im) => Number::Complex(g.neg(re), g.neg(im)),
        }
    }

    /// `a - b*c`
    fn subtract_product(&mut self, a: Number, b: Number, c: Number) -> Number {
        let fused = self.fused;
        let g = &mut self.graph;
        let mut less = |a, b, c| {
            if fused {
                let b = g.neg(b);
                g.apply(&arithmetic::FMA, &[b, c, a])
            } else {
                let product = g.mul(b, c);
                g.sub(a, product)
            }
        };
        match (a, b, c) {
            (Number::Complex(ar, ai), Number::Complex(br, bi), Number::Complex(cr, ci)) if fused => {
                let (re, im) = (less(ar, br, cr), less(ai, br, ci));
                Number::Complex(g.apply(&arithmetic::FMA, &[bi, ci, re]), {
                    let b = g.neg(bi);
                    g.apply(&arithmetic::FMA, &[b, cr, im])
                })
            }
            (Number::Complex(ar, ai), Number::Complex(..), Number::Complex(..)) => {
                let product = self.multiply(b, c);
                let Number::Complex(re, im) = product else { return product };
                Number::Complex(self.graph.sub(ar, re), self.graph.sub(ai, im))
            }
            (
                Number::Real(a) | Number::Complex(a, _),
                Number::Real(b) | Number::Complex(b, _),
                Number::Real(c) | Number::Complex(c, _),
            ) => Number::Real(less(a, b, c)),
        }
    }

    /// 1/a; of a complex number by conj(a)/|a|^2.
    fn inverse(&mut self, a: Number) -> Number {
        let g = &mut self.graph;
        let one = g.constant(1.0);
        match a {
            Number::Real(a) => Number::Real(g.div(one, a)),
            Number::Complex(re, im) => {
                let (rr, ii) = (g.mul(re, re), g.mul(im, im));
                let square = g.add(rr, ii);
                let imaginary = g.div(im, square);
                Number::Complex(g.div(re, square), g.neg(imaginary))
            }
        }
    }
}

/// Collects the results of a kernel as outputs of a program.
#[derive(Default)]
struct Results {
    stores: Vec<Store>,
}

impl Results {
    /// Appends a number; `first` is the array of the first output.
    fn push(&mut self, first: usize, element: usize, number: Number) {
        let mut store = |slot: usize, node| {
            self.stores.push(Store { target: Target::Element(ArrayId((first + slot) as u32)), node });
        };
        match number {
            Number::Real(a) => store(element, a),
            Number::Complex(re, im) => {
                store(2 * element, re);
                store(2 * element + 1, im);
            }
        }
    }
}

/// The program whose `Outputs` kernel is this: so many states, parameters and outputs.
fn program(name: &str, [states, parameters, outputs]: [usize; 3], graph: Graph, stores: Vec<Store>) -> Program {
    let array = |prefix: &str, i: usize, role| Array {
        name: format!("{prefix}{i}"),
        role,
        axes: Vec::new(),
        default: 0.0,
        data: Vec::new(),
        unit: None,
        doc: None,
        span: Span::default(),
    };
    let arrays = (0..states)
        .map(|i| array("a", i, Role::FirstOrder))
        .chain((0..parameters).map(|i| array("b", i, Role::Parameter)))
        .chain((0..outputs).map(|i| array("x", i, Role::Output)))
        .collect();
    let kernels = vec![Kernel { role: KernelRole::Outputs, graph, stores }];
    crate::derive::assemble(name.to_owned(), arrays, kernels)
}

/// One row of the factors: columns (as positions in the order of pivots) left of the diagonal, the inverse pivot, and right of it.
#[derive(Default)]
struct Row {
    lower: Vec<(usize, Number)>,
    inverse: Option<Number>,
    upper: Vec<(usize, Number)>,
}

impl Plan<'_> {
    /// Rows of the matrix in the order of pivots: column position to position in the values. `None` unless the orders
    /// are permutations of the pattern's size.
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

    /// Multiplications and divisions, and the pattern of each row of the factors; `None` beyond `limit`.
    fn symbolic(&self, rows: &[BTreeMap<usize, usize>], limit: u64) -> Option<(u64, Vec<Vec<usize>>)> {
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

    /// The kernels of this elimination; `None` if it takes more than `limit` operations (usually [`MAX_OPERATIONS`]) or
    /// the orders are no permutations.
    pub fn eliminate(&self, limit: u64) -> Option<Elimination> {
        let rows = self.rows_in_order()?;
        let (operations, patterns) = self.symbolic(&rows, limit)?;
        let width = if self.field == Field::Complex { 2 } else { 1 };
        let inputs = width * self.pattern.len();
        let factors = width * patterns.iter().map(Vec::len).sum::<usize>();
        let factor = self.factor(&rows, &patterns, inputs, factors);
        let solve = self.solve(&patterns, factors, width);
        Some(Elimination { factor, solve, factors, operations })
    }

    fn factor(
        &self,
        rows: &[BTreeMap<usize, usize>],
        patterns: &[Vec<usize>],
        inputs: usize,
        factors: usize,
    ) -> Program {
        let mut field = Arithmetic { graph: Graph::new(), field: self.field, fused: self.fused };
        let mut done: Vec<Row> = Vec::with_capacity(rows.len());
        let mut results = Results::default();
        let mut element = 0;
        for (i, (row, pattern)) in rows.iter().zip(patterns).enumerate() {
            let mut values: BTreeMap<usize, Option<Number>> = pattern.iter().map(|&j| (j, None)).collect();
            for (&j, &value) in row {
                let number = field.read(0, value);
                values.insert(j, Some(number));
            }
            let mut factored = Row::default();
            for &k in pattern.iter().take_while(|&&k| k < i) {
                let (Some(Some(a)), Some(inverse)) = (values.get(&k).copied(), done[k].inverse) else { continue };
                let multiplier = field.multiply(a, inverse);
                factored.lower.push((k, multiplier));
                for &(j, u) in &done[k].upper {
                    let value = match values.get(&j).copied().flatten() {
                        Some(a) => field.subtract_product(a, multiplier, u),
                        None => {
                            let product = field.multiply(multiplier, u);
                            field.negative(product)
                        }
                    };
                    values.insert(j, Some(value));
                }
            }
            for (j, value) in values.range(i..) {
                // an entry that nothing fills is zero: so is a diagonal without one
                let zero = |field: &mut Arithmetic| {
                    let zero = field.graph.constant(0.0);
                    if field.field == Field::Complex { Number::Complex(zero, zero) } else { Number::Real(zero) }
                };
                let value = value.unwrap_or_else(|| zero(&mut field));
                if *j == i {
                    factored.inverse = Some(field.inverse(value));
                } else {
                    factored.upper.push((*j, value));
                }
            }
            for number in factored.lower.iter().map(|l| l.1).chain(factored.inverse) {
                results.push(inputs, element, number);
                element += 1;
            }
            for &(_, number) in &factored.upper {
                results.push(inputs, element, number);
                element += 1;
            }
            done.push(factored);
        }
        program("factor", [inputs, 0, factors], field.graph, results.stores)
    }

    fn solve(&self, patterns: &[Vec<usize>], factors: usize, width: usize) -> Program {
        let mut field = Arithmetic { graph: Graph::new(), field: self.field, fused: self.fused };
        let unknowns = width * patterns.len();
        let mut starts = Vec::with_capacity(patterns.len());
        let mut x: Vec<Number> = Vec::with_capacity(patterns.len());
        let mut start = 0;
        for (i, pattern) in patterns.iter().enumerate() {
            starts.push(start);
            let mut value = field.read(factors, self.rows[i] as usize);
            for (at, &k) in pattern.iter().enumerate().take_while(|&(_, &k)| k < i) {
                let multiplier = field.read(0, start + at);
                value = field.subtract_product(value, multiplier, x[k]);
            }
            x.push(value);
            start += pattern.len();
        }
        let mut results = Results::default();
        for (i, pattern) in patterns.iter().enumerate().rev() {
            let diagonal = pattern.partition_point(|&j| j < i);
            let mut value = x[i];
            for (at, &j) in pattern.iter().enumerate().skip(diagonal + 1) {
                let u = field.read(0, starts[i] + at);
                value = field.subtract_product(value, u, x[j]);
            }
            let inverse = field.read(0, starts[i] + diagonal);
            x[i] = field.multiply(value, inverse);
            results.push(factors + unknowns, self.columns[i] as usize, x[i]);
        }
        program("solve", [factors, unknowns, unknowns], field.graph, results.stores)
    }
}

//! The divisors of the equations as a list of operations on the states, so that their signs can be followed from step
//! to step. In models with arrays, each element has its own divisor; of many elements, every second, third, ... is
//! followed.

use std::collections::{BTreeSet, HashMap};

use odec_ir::builtin::{Op, find};
use odec_ir::nest::{AccessId, Affine, Edge, LoopId, ReduceOp, Region, Sub, Subscript};
use odec_ir::{ArrayId, Element, Graph, Kernel, KernelRole, Layout, Node, NodeId, Program, Role, Span};

/// Largest number of operations of all divisors.
const MAX_OPERATIONS: usize = 2048;
/// Largest number of operations below each other in a divisor.
const MAX_DEPTH: usize = 32;
/// Largest number of elements for which a divisor is followed.
const MAX_POINTS: u64 = 256;

/// An operation; its operands are numbers of earlier ones.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Number(f64),
    Time,
    State(usize),
    Neg(usize),
    Add(usize, usize),
    Sub(usize, usize),
    Mul(usize, usize),
    Div(usize, usize),
    Call(Op, [usize; 3]),
}

/// A divisor at one element.
#[derive(Clone, Debug)]
pub(super) struct Divisor {
    /// The operation that computes it.
    at: usize,
    /// Its source location.
    pub span: Option<Span>,
}

/// The divisors that may change their sign, as far as they depend on states.
#[derive(Clone, Debug, Default)]
pub(super) struct Divisors {
    operations: Vec<Operation>,
    pub list: Vec<Divisor>,
    /// The results of the operations.
    values: Vec<f64>,
}

impl Divisors {
    /// The divisors of the equations with these parameters.
    pub fn of(program: &Program, layout: &Layout, p: &[f64]) -> Divisors {
        let mut found = Divisors::default();
        for kernel in program.kernels_of(KernelRole::Rhs) {
            let candidates = candidates(&kernel.graph, kernel.stores.iter().map(|store| store.node));
            if !candidates.is_empty() {
                let at = vec![0; kernel.space.loops().len()];
                let known = HashMap::new();
                Walk { program, layout, p, kernel, at, into: &mut found, known }.follow(&candidates);
            }
        }
        found.values = vec![0.0; found.operations.len()];
        found
    }

    /// The number of operations.
    pub fn work(&self) -> usize {
        self.operations.len()
    }

    /// Computes all divisors at (t, y); [`Divisors::value`] gives their values.
    pub fn evaluate(&mut self, t: f64, y: &[f64]) {
        for k in 0..self.operations.len() {
            let v = &self.values;
            self.values[k] = match self.operations[k] {
                Operation::Number(x) => x,
                Operation::Time => t,
                Operation::State(place) => y[place],
                Operation::Neg(a) => -v[a],
                Operation::Add(a, b) => v[a] + v[b],
                Operation::Sub(a, b) => v[a] - v[b],
                Operation::Mul(a, b) => v[a] * v[b],
                Operation::Div(a, b) => v[a] / v[b],
                Operation::Call(op, args) => (op.0.value)(&args.map(|a| v[a])[..usize::from(op.0.arity)]),
            };
        }
    }

    /// The value of a divisor at the last evaluation.
    pub fn value(&self, divisor: &Divisor) -> f64 {
        self.values[divisor.at]
    }

    /// The sum of the sizes of the terms of a divisor at the last evaluation.
    pub fn size(&self, divisor: &Divisor) -> f64 {
        self.size_of(divisor.at)
    }

    fn size_of(&self, at: usize) -> f64 {
        match self.operations[at] {
            Operation::Add(a, b) | Operation::Sub(a, b) => self.size_of(a) + self.size_of(b),
            Operation::Neg(a) => self.size_of(a),
            _ => self.values[at].abs(),
        }
    }

    /// The states that a divisor reads, by their indices in y, ascending.
    pub fn states(&self, divisor: &Divisor) -> Vec<usize> {
        let (mut needed, mut found) = (BTreeSet::from([divisor.at]), BTreeSet::new());
        while let Some(at) = needed.pop_last() {
            match self.operations[at] {
                Operation::Number(_) | Operation::Time => {}
                Operation::State(place) => _ = found.insert(place),
                Operation::Neg(a) => _ = needed.insert(a),
                Operation::Add(a, b) | Operation::Sub(a, b) | Operation::Mul(a, b) | Operation::Div(a, b) => {
                    needed.extend([a, b]);
                }
                Operation::Call(op, args) => needed.extend(&args[..usize::from(op.0.arity)]),
            }
        }
        found.into_iter().collect()
    }
}

/// What is known about the sign of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sign {
    NotNegative,
    NotPositive,
    Any,
}

impl Sign {
    fn of(x: f64) -> Sign {
        match x {
            _ if x >= 0.0 => Sign::NotNegative,
            _ if x <= 0.0 => Sign::NotPositive,
            _ => Sign::Any,
        }
    }

    fn opposite(self) -> Sign {
        match self {
            Sign::NotNegative => Sign::NotPositive,
            Sign::NotPositive => Sign::NotNegative,
            Sign::Any => Sign::Any,
        }
    }

    /// The sign of a sum, or of one of two values.
    fn and(self, other: Sign) -> Sign {
        if self == other { self } else { Sign::Any }
    }

    fn times(self, other: Sign) -> Sign {
        match (self, other) {
            (Sign::NotNegative, sign) | (sign, Sign::NotNegative) => sign,
            (Sign::NotPositive, sign) | (sign, Sign::NotPositive) => sign.opposite(),
            _ => Sign::Any,
        }
    }
}

/// A node at one point: a number that is known before the run, or an operation.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Term {
    Number(f64),
    Computed(usize, Sign),
}

impl Term {
    fn sign(self) -> Sign {
        match self {
            Term::Number(x) => Sign::of(x),
            Term::Computed(_, sign) => sign,
        }
    }

    fn number(self) -> Option<f64> {
        match self {
            Term::Number(x) => Some(x),
            Term::Computed(..) => None,
        }
    }
}

/// Divisors and bases of negative powers, without the operations that keep a zero: of a product its factors, of a
/// power its base.
fn candidates(graph: &Graph, roots: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut stack = Vec::new();
    for (_, node) in graph.live(roots) {
        let Node::Call(op, args) = node else { continue };
        match op.0.name {
            "div" => stack.push(args[1]),
            "pow" if graph.as_constant(args[1]).is_some_and(|exponent| exponent < 0.0) => stack.push(args[0]),
            _ => {}
        }
    }
    let mut found = BTreeSet::new();
    while let Some(id) = stack.pop() {
        match graph.node(id) {
            Node::Constant(_) => {}
            Node::Call(op, args) if op.0.name == "mul" => stack.extend(&args[..2]),
            Node::Call(op, args) if matches!(op.0.name, "div" | "neg" | "pow") => stack.push(args[0]),
            _ => _ = found.insert(id),
        }
    }
    found.into_iter().collect()
}

/// A kernel at one point of its loops.
struct Walk<'a> {
    program: &'a Program,
    layout: &'a Layout,
    p: &'a [f64],
    kernel: &'a Kernel,
    /// The index of each loop.
    at: Vec<i64>,
    into: &'a mut Divisors,
    /// The nodes at this point.
    known: HashMap<NodeId, Option<Term>>,
}

impl Walk<'_> {
    /// Adds the divisors at all points, or at some of them.
    fn follow(&mut self, candidates: &[NodeId]) {
        for &id in candidates {
            let Some(loops) = self.loops_of(id) else { continue };
            let Some(ranges) = self.ranges(&loops) else { continue };
            let points = ranges.iter().fold(1u64, |n, (first, last)| n.saturating_mul((last - first + 1) as u64));
            let every = points.div_ceil(MAX_POINTS).max(1);
            let span = self.kernel.graph.spans(id).first().copied();
            for k in (0..points).step_by(every as usize) {
                let mut rest = k;
                for (&l, &(first, last)) in loops.iter().zip(&ranges).rev() {
                    let count = (last - first + 1) as u64;
                    self.at[l.0 as usize] = first + (rest % count) as i64;
                    rest /= count;
                }
                self.known.clear();
                let before = self.into.operations.len();
                match (!self.elsewhere()).then(|| self.term(id, MAX_DEPTH)).flatten() {
                    Some(Term::Computed(at, Sign::Any)) => self.into.list.push(Divisor { at, span }),
                    _ => self.into.operations.truncate(before),
                }
            }
        }
    }

    /// True if another kernel computes the equations at this point.
    fn elsewhere(&self) -> bool {
        let inside = self.kernel.margins.iter().all(|margin| {
            let (first, last) = self.program.ends(margin.axis);
            self.affine(&margin.sub).is_some_and(|value| (first..=last).contains(&value))
        });
        match self.kernel.region {
            Region::Whole => false,
            Region::Interior => !inside,
            Region::Boundary => inside,
        }
    }

    /// First and last index of the loops, and sets the other loops to their first index; `None` if one is empty.
    fn ranges(&mut self, loops: &[LoopId]) -> Option<Vec<(i64, i64)>> {
        let extents = &self.program.extents;
        for (of, at) in self.kernel.space.loops().iter().zip(&mut self.at) {
            *at = of.first.value(extents)?;
        }
        let ends = |l: &LoopId| {
            let of = &self.kernel.space.loops()[l.0 as usize];
            Some((of.first.value(extents)?, of.last.value(extents)?))
        };
        loops.iter().map(|l| ends(l).filter(|(first, last)| first <= last)).collect()
    }

    /// The loops that a node depends on; `None` if the node is too deep.
    fn loops_of(&self, id: NodeId) -> Option<Vec<LoopId>> {
        let mut found = BTreeSet::new();
        self.add_loops(id, MAX_DEPTH, &mut found)?;
        Some(found.into_iter().collect())
    }

    fn add_loops(&self, id: NodeId, depth: usize, found: &mut BTreeSet<LoopId>) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        match self.kernel.graph.node(id) {
            Node::Index(l) => _ = found.insert(l),
            Node::Read(Element::At(access)) => found.extend(self.kernel.space.loops_of(access)),
            Node::Reduce(_, over, term) => {
                let mut inner = BTreeSet::new();
                self.add_loops(term, depth, &mut inner)?;
                inner.remove(&over);
                found.append(&mut inner);
            }
            node => {
                for &operand in node.operands() {
                    self.add_loops(operand, depth, found)?;
                }
            }
        }
        Some(())
    }

    fn push(&mut self, operation: Operation, sign: Sign) -> Option<Term> {
        if self.into.operations.len() >= MAX_OPERATIONS {
            return None;
        }
        self.into.operations.push(operation);
        Some(Term::Computed(self.into.operations.len() - 1, sign))
    }

    fn place(&mut self, term: Term) -> Option<usize> {
        match term {
            Term::Computed(at, _) => Some(at),
            Term::Number(x) => match self.push(Operation::Number(x), Sign::Any)? {
                Term::Computed(at, _) => Some(at),
                Term::Number(_) => None,
            },
        }
    }

    /// The node with at most this many operations below each other; `None` if it is not followed.
    fn term(&mut self, id: NodeId, depth: usize) -> Option<Term> {
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let term = depth.checked_sub(1).and_then(|depth| self.made(id, depth));
        self.known.insert(id, term);
        term
    }

    fn made(&mut self, id: NodeId, depth: usize) -> Option<Term> {
        match self.kernel.graph.node(id) {
            Node::Constant(bits) => Some(Term::Number(f64::from_bits(bits))),
            Node::Time => self.push(Operation::Time, Sign::Any),
            Node::Index(l) => Some(Term::Number(self.at[l.0 as usize] as f64)),
            Node::Read(element) => self.read(element),
            Node::Direction(_) => None,
            Node::Reduce(reduction, over, term) => self.reduced(reduction, over, term, depth),
            Node::Call(op, _) if op.lookup().is_some() => None,
            Node::Call(op, args) => {
                let arity = usize::from(op.0.arity);
                let mut terms = [Term::Number(0.0); 3];
                for (term, &id) in terms.iter_mut().zip(&args[..arity]) {
                    *term = self.term(id, depth)?;
                }
                self.call(op, &terms[..arity])
            }
        }
    }

    fn read(&mut self, element: Element) -> Option<Term> {
        let (array, place) = match element {
            Element::Scalar(array) => (array, self.layout.start(array)),
            Element::At(access) => (self.kernel.array(element), self.position(access)?),
        };
        match self.program.arrays[array.0 as usize].role {
            Role::Position | Role::Velocity | Role::FirstOrder => self.push(Operation::State(place), Sign::Any),
            Role::Parameter | Role::Staged | Role::Size | Role::Table => self.p.get(place).copied().map(Term::Number),
            // events change the others
            _ => None,
        }
    }

    fn reduced(&mut self, reduction: ReduceOp, over: LoopId, term: NodeId, depth: usize) -> Option<Term> {
        let (name, neutral) = match reduction {
            ReduceOp::Sum => ("add", 0.0),
            ReduceOp::Product => ("mul", 1.0),
            _ => return None,
        };
        let op = find(name)?;
        let of = &self.kernel.space.loops()[over.0 as usize];
        let (first, last) = (of.first.value(&self.program.extents)?, of.last.value(&self.program.extents)?);
        if last.saturating_sub(first) > MAX_OPERATIONS as i64 {
            return None;
        }
        let outside = (self.at[over.0 as usize], std::mem::take(&mut self.known));
        let mut sum = Some(Term::Number(neutral));
        for k in first..=last {
            self.at[over.0 as usize] = k;
            self.known.clear();
            sum = match (sum, self.term(term, depth)) {
                (Some(sum), Some(term)) => self.call(op, &[sum, term]),
                _ => None,
            };
        }
        (self.at[over.0 as usize], self.known) = outside;
        sum
    }

    /// An operation on terms; on numbers, its result.
    fn call(&mut self, op: Op, terms: &[Term]) -> Option<Term> {
        let numbers: Option<Vec<f64>> = terms.iter().map(|term| term.number()).collect();
        if let Some(numbers) = numbers {
            return Some(Term::Number((op.0.value)(&numbers)));
        }
        match (op.0.name, terms) {
            ("add", [Term::Number(0.0), term]) | ("mul", [Term::Number(1.0), term]) => return Some(*term),
            _ => {}
        }
        let sign = sign_of(op.0.name, terms);
        let mut args = [0; 3];
        for (arg, term) in args.iter_mut().zip(terms) {
            *arg = self.place(*term)?;
        }
        let [a, b, _] = args;
        let operation = match op.0.name {
            "neg" => Operation::Neg(a),
            "add" => Operation::Add(a, b),
            "sub" => Operation::Sub(a, b),
            "mul" => Operation::Mul(a, b),
            "div" => Operation::Div(a, b),
            _ => Operation::Call(op, args),
        };
        self.push(operation, sign)
    }

    /// The index of an element in its buffer; `None` if it does not exist at this point.
    fn position(&self, id: AccessId) -> Option<usize> {
        let access = self.kernel.space.access(id);
        if let Some(guard) = access.guard
            && self.condition(guard, MAX_DEPTH)? == 0.0
        {
            return None;
        }
        Some(self.layout.start(access.array) + self.offset(access.array, &access.subs)?)
    }

    fn offset(&self, array: ArrayId, subs: &[Subscript]) -> Option<usize> {
        let axes = &self.program.arrays[array.0 as usize].axes;
        if axes.is_empty() {
            // the subscript of a scalar is a distance in its buffer
            return subs.first().map_or(Some(0), |sub| self.subscript(sub, (0, i64::MAX - 1))?.try_into().ok());
        }
        let mut place = 0i64;
        for (sub, axis) in subs.iter().zip(axes) {
            let (first, last) = self.program.ends(*axis);
            place = place.checked_mul(last - first + 1)?.checked_add(self.subscript(sub, (first, last))? - first)?;
        }
        place.try_into().ok()
    }

    fn subscript(&self, subscript: &Subscript, (first, last): (i64, i64)) -> Option<i64> {
        let value = match &subscript.sub {
            Sub::Affine(affine) => self.affine(affine)?,
            Sub::Lookup { table, subs, shift } => {
                let place = self.layout.start(*table) + self.offset(*table, subs)?;
                (*self.p.get(place)? as i64).checked_add(*shift)?
            }
        };
        match subscript.edge {
            _ if (first..=last).contains(&value) => Some(value),
            Edge::Inside => None,
            Edge::Periodic => Some(first + value.checked_sub(first)?.rem_euclid(last - first + 1)),
            Edge::Clamp => Some(value.clamp(first, last)),
        }
    }

    fn affine(&self, affine: &Affine) -> Option<i64> {
        let fixed = Affine { loops: Vec::new(), ..affine.clone() }.value(&self.program.extents)?;
        affine.loops.iter().try_fold(fixed, |sum, &(l, c)| sum.checked_add(c.checked_mul(self.at[l.0 as usize])?))
    }

    /// The value of a guard.
    fn condition(&self, id: NodeId, depth: usize) -> Option<f64> {
        let depth = depth.checked_sub(1)?;
        match self.kernel.space.guards.node(id) {
            Node::Constant(bits) => Some(f64::from_bits(bits)),
            Node::Index(l) => Some(self.at[l.0 as usize] as f64),
            Node::Read(Element::At(access)) => self.p.get(self.position(access)?).copied(),
            Node::Call(op, args) if op.lookup().is_none() => {
                let args = &args[..usize::from(op.0.arity)];
                let values: Option<Vec<f64>> = args.iter().map(|&arg| self.condition(arg, depth)).collect();
                Some((op.0.value)(&values?))
            }
            _ => None,
        }
    }
}

/// What follows for the sign of an operation from its operands.
fn sign_of(name: &str, terms: &[Term]) -> Sign {
    match (name, terms) {
        ("neg", [a]) => a.sign().opposite(),
        ("add" | "min" | "max" | "hypot" | "atan2", [a, b]) if a.sign() == b.sign() => a.sign(),
        ("max", [a, b]) if [a.sign(), b.sign()].contains(&Sign::NotNegative) => Sign::NotNegative,
        ("min", [a, b]) if [a.sign(), b.sign()].contains(&Sign::NotPositive) => Sign::NotPositive,
        ("sub", [a, b]) => a.sign().and(b.sign().opposite()),
        ("mul", [a, b]) if a == b => Sign::NotNegative,
        ("mul" | "div", [a, b]) => a.sign().times(b.sign()),
        ("if", [_, a, b]) => a.sign().and(b.sign()),
        // of a negative base, only whole powers are numbers
        ("pow", [a, b]) => match b.number() {
            Some(exponent) if exponent.fract() == 0.0 && exponent % 2.0 != 0.0 => a.sign(),
            Some(_) => Sign::NotNegative,
            None if a.sign() == Sign::NotNegative => Sign::NotNegative,
            None => Sign::Any,
        },
        ("abs" | "exp" | "sqrt" | "cosh" | "hypot" | "lt" | "le" | "eq" | "ne" | "and" | "or" | "not", _) => {
            Sign::NotNegative
        }
        ("sinh" | "tanh" | "atan" | "cbrt" | "expm1" | "log1p" | "asinh" | "erf" | "sign", [a]) => a.sign(),
        _ => Sign::Any,
    }
}

#[cfg(test)]
impl Divisors {
    /// The first state plus a number.
    pub(super) fn sum(x: f64) -> Divisors {
        let operations = vec![Operation::State(0), Operation::Number(x), Operation::Add(0, 1)];
        let list = vec![Divisor { at: 2, span: None }];
        Divisors { values: vec![0.0; operations.len()], operations, list }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_of_some_operations_is_known() {
        let (x, one) = (Term::Computed(0, Sign::Any), Term::Number(1.0));
        let square = Term::Computed(1, sign_of("mul", &[x, x]));
        let cases = [
            ("add", [square, one], Sign::NotNegative),
            ("add", [x, one], Sign::Any),
            ("sub", [square, one], Sign::Any),
            ("pow", [x, Term::Number(4.0)], Sign::NotNegative),
            ("pow", [x, Term::Number(3.0)], Sign::Any),
            ("pow", [square, Term::Number(1.5)], Sign::NotNegative),
            ("max", [x, one], Sign::NotNegative),
            ("min", [x, one], Sign::Any),
        ];
        for (name, terms, sign) in cases {
            assert_eq!(sign_of(name, &terms), sign, "{name} {terms:?}");
        }
    }

    #[test]
    fn the_size_of_a_divisor_is_that_of_its_terms() {
        let mut divisors = Divisors::sum(0.5);
        divisors.evaluate(0.0, &[-2.0]);
        let divisor = divisors.list[0].clone();
        assert_eq!((divisors.value(&divisor), divisors.size(&divisor)), (-1.5, 2.5));
        assert_eq!(divisors.states(&divisor), [0]);
    }
}

//! The arguments of terms of states that change rapidly where the argument passes through 0: pulses such as
//! `exp(-(x/0.01)^2)`, and steps such as `tanh(1e9*x)`.
//!
//! If the argument changes by many widths within one step, no stage sees the pulse, or only by chance, and the error
//! estimate says nothing about it. So runs shorten steps over such a place, until they resolve it. For another exponent that
//! may have a maximum, such as that of `exp(k*(cos(x) - 1))`, runs find the maximum inside a step.

use odec_ir::builtin::{Op, arithmetic};
use odec_ir::nest::BoundProgram;
use odec_ir::{KernelRole, Node, NodeId, Program};
use odec_ode::accelerated::Transition;

use super::Term;
use super::terms::{Clocks, Kind, Nest, Writer, nests};

/// Largest number of terms; further arguments are left out.
const MAX_TERMS: u64 = 50_000;
/// Largest mean number of terms of an argument: sums over many states would take as long as f.
const MAX_TERMS_OF_ONE: usize = 24;
/// Functions that rise from one value to another around 0, and those that decay on both sides.
const STEPS: [&str; 5] = ["tanh", "erf", "erfc", "atan", "cosh"];

/// Largest number of exponents that may have a maximum: each is evaluated at several places of every step.
const MAX_PEAKS: usize = 16;

/// A term whose argument counts: its node, the node of the argument, and what the argument is multiplied with.
struct Found {
    node: NodeId,
    argument: NodeId,
    scale: Scale,
    /// True for an exponent that may have a maximum.
    peak: bool,
}

/// A factor for an argument: (sign * product of factors / product of divisors / base)^(1/power).
#[derive(Clone, Default)]
struct Scale {
    factors: Vec<NodeId>,
    divisors: Vec<NodeId>,
    negative: bool,
    /// 0 for an argument without a factor.
    power: u32,
}

/// The arguments of one model.
#[derive(Default)]
pub(crate) struct Transitions {
    terms: Vec<Term>,
    /// The arguments, and from `peaks` on exponents that may have a maximum.
    arguments: Vec<u32>,
    peaks: usize,
}

/// The value of a term as far as it is known without the state.
#[derive(Clone, Copy)]
enum Value {
    Number(f64),
    /// `scale*y[state] + shift`.
    Linear(usize, f64, f64),
    Other,
}

impl Transitions {
    /// The arguments in f; `None` if there are none.
    pub(crate) fn of(program: &Program, bound: &BoundProgram) -> Option<Transitions> {
        let has = program.kernels.iter().filter(|kernel| kernel.role == KernelRole::Rhs).any(|kernel| {
            kernel.live().any(|(_, node)| {
                matches!(node, Node::Call(op, _) if STEPS.contains(&op.0.name) || matches!(op.0.name, "exp" | "div" | "sqrt"))
            })
        });
        if !has {
            return None;
        }
        let nests = nests(program, bound, KernelRole::Rhs, &Clocks::new());
        let found: Vec<Vec<Found>> = nests.iter().map(Nest::transitions).collect();
        if found.iter().all(Vec::is_empty) {
            return None;
        }
        let written = |peaks| Transitions::written(bound.layout.inputs(program), nests.iter().zip(&found), peaks);
        let has_peaks = found.iter().flatten().any(|found| found.peak);
        has_peaks.then(|| written(true)).flatten().or_else(|| written(false))
    }

    /// The arguments, with or without exponents; `None` if there are none, or they take too many terms.
    fn written<'a>(
        inputs: Vec<f64>,
        found: impl Iterator<Item = (&'a Nest<'a>, &'a Vec<Found>)>,
        with_peaks: bool,
    ) -> Option<Transitions> {
        let mut writer = Writer::of_states(inputs, MAX_TERMS);
        let (mut arguments, mut exponents) = (Vec::new(), Vec::new());
        for (nest, found) in found {
            for found in found.iter().filter(|found| with_peaks || !found.peak) {
                writer.arguments(nest, found, if found.peak { &mut exponents } else { &mut arguments });
            }
        }
        for list in [&mut arguments, &mut exponents] {
            list.sort_unstable();
            list.dedup();
        }
        if exponents.len() > MAX_PEAKS {
            return None;
        }
        let peaks = arguments.len();
        arguments.append(&mut exponents);
        let terms = writer.into_terms();
        let is_cheap = terms.len() <= MAX_TERMS_OF_ONE * arguments.len();
        (is_cheap && !arguments.is_empty()).then_some(Transitions { terms, arguments, peaks })
    }

    /// The arguments for these parameters, without those that are constant.
    pub(crate) fn at(&self, p: &[f64]) -> Vec<Transition> {
        let mut values: Vec<Value> = Vec::with_capacity(self.terms.len());
        for term in &self.terms {
            let value = linear(term, p, &values);
            values.push(value);
        }
        let of = |(k, argument): (usize, &u32)| match values[*argument as usize] {
            Value::Other if k >= self.peaks => Some(Transition::Peak(k)),
            _ if k >= self.peaks => None,
            Value::Linear(state, scale, shift) if scale.is_finite() && shift.is_finite() => {
                Some(Transition::Linear { state, scale, shift })
            }
            Value::Other => Some(Transition::Other(k)),
            Value::Number(_) | Value::Linear(..) => None,
        };
        self.arguments.iter().enumerate().filter_map(of).collect()
    }

    /// The values of all arguments, and those of the terms in `room`.
    pub(crate) fn values(&self, t: f64, y: &[f64], p: &[f64], room: &mut Vec<f64>, out: &mut Vec<f64>) {
        room.clear();
        for term in &self.terms {
            let value = match *term {
                Term::Number(value) => value,
                Term::Parameter(place) => p[place],
                Term::Time => t,
                Term::State(place) => y[place],
                Term::Clock(..) => f64::NAN,
                Term::Call(..) | Term::Lookup(..) => {
                    let mut arguments = [0.0; 3];
                    let operands = term.operands();
                    arguments.iter_mut().zip(operands).for_each(|(to, from)| *to = room[*from as usize]);
                    term.value(p, &arguments[..operands.len()])
                }
            };
            room.push(value);
        }
        out.clear();
        out.extend(self.arguments.iter().map(|argument| room[*argument as usize]));
    }
}

/// A term as a linear function of one state, if it is one.
fn linear(term: &Term, p: &[f64], values: &[Value]) -> Value {
    use Value::{Linear, Number, Other};
    let of = |k: usize| values[term.operands()[k] as usize];
    let scaled = |value, by: f64| match value {
        Number(value) => Number(value * by),
        Linear(state, scale, shift) => Linear(state, scale * by, shift * by),
        Other => Other,
    };
    let sum = |a, b| match (a, b) {
        (Number(a), Number(b)) => Number(a + b),
        (Number(a), Linear(state, scale, shift)) | (Linear(state, scale, shift), Number(a)) => {
            Linear(state, scale, shift + a)
        }
        (Linear(state, scale, shift), Linear(other, by, further)) if state == other => {
            Linear(state, scale + by, shift + further)
        }
        _ => Other,
    };
    match *term {
        Term::Number(value) => Number(value),
        Term::Parameter(place) => Number(p[place]),
        Term::State(place) => Linear(place, 1.0, 0.0),
        Term::Time | Term::Clock(..) => Other,
        Term::Lookup(..) => match of(0) {
            Number(argument) => Number(term.value(p, &[argument])),
            _ => Other,
        },
        Term::Call(op, _) => {
            let count = term.operands().len();
            let known: Vec<f64> =
                (0..count).map_while(|k| if let Number(value) = of(k) { Some(value) } else { None }).collect();
            match (op.0.name, of(0)) {
                _ if known.len() == count => Number(term.value(p, &known)),
                ("neg", value) => scaled(value, -1.0),
                ("add", value) => sum(value, of(1)),
                ("sub", value) => sum(value, scaled(of(1), -1.0)),
                ("mul", value) => match (value, of(1)) {
                    (Number(by), value) | (value, Number(by)) => scaled(value, by),
                    _ => Other,
                },
                ("div", value) => match of(1) {
                    Number(by) => scaled(value, 1.0 / by),
                    _ => Other,
                },
                ("if", Number(condition)) => of(if condition == 0.0 { 2 } else { 1 }),
                _ => Other,
            }
        }
    }
}

impl Nest<'_> {
    /// The terms of states that change rapidly where their arguments pass through 0.
    fn transitions(&self) -> Vec<Found> {
        let foreign = self.kernel.live().filter(|(id, _)| self.kinds[id.index()] == Kind::Foreign);
        foreign.filter_map(|(id, node)| self.transition(id, node)).collect()
    }

    fn transition(&self, node_id: NodeId, node: Node) -> Option<Found> {
        let Node::Call(op, args) = node else { return None };
        let found = |(argument, scale)| Found { node: node_id, argument, scale, peak: false };
        match op.0.name {
            name if STEPS.contains(&name) => Some(found((args[0], Scale::default()))),
            "exp" => {
                let (base, mut scale) = self.factored(args[0]);
                let Some((argument, power)) = self.root_of(base) else {
                    let exponent = Found { peak: true, ..found((args[0], Scale::default())) };
                    return self.may_peak(args[0]).then_some(exponent);
                };
                // only a negative multiple of a square makes a pulse
                (scale.negative, scale.power) = (!scale.negative, power);
                Some(found((argument, scale)))
            }
            "div" => {
                let below = self.of_call(args[1], "mul").filter(|[a, b]| a == b).map_or(args[1], |[a, _]| a);
                self.beside_constant(below).map(found)
            }
            "sqrt" => self.beside_constant(args[0]).map(found),
            _ => None,
        }
    }

    /// True if a value may have a maximum although its states do not: if it contains products or waves of states.
    fn may_peak(&self, root: NodeId) -> bool {
        let foreign = |id: NodeId| self.kinds[id.index()] == Kind::Foreign;
        self.kernel.graph.live([root]).any(|(_, node)| match node {
            Node::Call(op, [a, b, _]) => match op.0.name {
                "mul" => foreign(a) && foreign(b),
                "cos" | "sin" | "hypot" | "abs" | "pow" => foreign(a),
                _ => false,
            },
            _ => false,
        })
    }

    /// For `c + k*u^2` and `c + k*exp(u)`: u, and its factor.
    fn beside_constant(&self, sum: NodeId) -> Option<(NodeId, Scale)> {
        let [a, b] = self.of_call(sum, "add")?;
        let fixed = |id: NodeId| self.kinds[id.index()] == Kind::Fixed;
        let (constant, other) = match (fixed(a), fixed(b)) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => return None,
        };
        let (base, mut scale) = self.factored(other);
        if let Some([argument, _]) = self.of_call(base, "exp") {
            return (scale.factors.is_empty() && scale.divisors.is_empty()).then(|| (argument, Scale::default()));
        }
        let (argument, power) = self.root_of(base)?;
        scale.divisors.push(constant);
        scale.power = power;
        Some((argument, scale))
    }

    /// A node without its constant factors, and these.
    fn factored(&self, mut id: NodeId) -> (NodeId, Scale) {
        let fixed = |id: NodeId| self.kinds[id.index()] == Kind::Fixed;
        let mut scale = Scale::default();
        while let Node::Call(op, [a, b, _]) = self.kernel.graph.node(id) {
            id = match op.0.name {
                "neg" => {
                    scale.negative = !scale.negative;
                    a
                }
                "mul" if fixed(a) => {
                    scale.factors.push(a);
                    b
                }
                "mul" if fixed(b) => {
                    scale.factors.push(b);
                    a
                }
                "div" if fixed(b) => {
                    scale.divisors.push(b);
                    a
                }
                _ => break,
            };
        }
        (id, scale)
    }

    /// The quantity of which a node is an even power, and the power.
    fn root_of(&self, id: NodeId) -> Option<(NodeId, u32)> {
        let [a, b] = self.of_call(id, "mul")?;
        if a != b {
            return None;
        }
        Some(self.root_of(a).map_or((a, 2), |(root, power)| (root, 2 * power)))
    }

    fn of_call(&self, id: NodeId, name: &str) -> Option<[NodeId; 2]> {
        match self.kernel.graph.node(id) {
            Node::Call(op, [a, b, _]) if op.0.name == name => Some([a, b]),
            _ => None,
        }
    }
}

impl Writer {
    /// Adds the arguments of all elements of a term.
    fn arguments(&mut self, nest: &Nest<'_>, found: &Found, arguments: &mut Vec<u32>) {
        let Found { node, argument, scale, .. } = found;
        let roots: Vec<NodeId> = [*argument].iter().chain(&scale.factors).chain(&scale.divisors).copied().collect();
        let lists = self.lists(nest, &roots);
        let mut rounds = vec![0; nest.counts.len()];
        for element in 0..nest.points(*node) {
            nest.set(*node, element, &mut rounds);
            let Some(term) = nest.listed(&lists, *argument, &rounds) else { return };
            let listed = |ids: &[NodeId]| -> Option<Vec<u32>> {
                ids.iter().map(|id| nest.listed(&lists, *id, &rounds)).collect()
            };
            let (Some(factors), Some(divisors)) = (listed(&scale.factors), listed(&scale.divisors)) else { return };
            arguments.push(self.scaled(term, scale, (&factors, &divisors)));
        }
    }

    fn scaled(&mut self, term: u32, scale: &Scale, (factors, divisors): (&[u32], &[u32])) -> u32 {
        if scale.power == 0 {
            return term;
        }
        let mut factor = self.number(if scale.negative { -1.0 } else { 1.0 });
        for by in factors {
            factor = self.call(Op(&arithmetic::MUL), &[factor, *by], None);
        }
        for by in divisors {
            factor = self.call(Op(&arithmetic::DIV), &[factor, *by], None);
        }
        let power = self.number(1.0 / f64::from(scale.power));
        let root = self.call(Op(&arithmetic::POW), &[factor, power], None);
        self.call(Op(&arithmetic::MUL), &[root, term], None)
    }
}

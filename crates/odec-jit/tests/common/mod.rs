//! Random programs and inputs for the tests of machine code.

use odec_ir::builtin;
use odec_ir::{Array, ArrayId, Graph, Kernel, KernelRole, NodeId, Program, Role, Span, Store, Target, derive};

/// A small generator of well-mixed bits (SplitMix64, Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Mostly ordinary numbers, sometimes the ones that break things.
    pub fn number(&mut self, odd: usize) -> f64 {
        const ODD: [f64; 12] = [
            0.0,
            -0.0,
            5e-324,
            -5e-324,
            1e-310,
            -2.2e-308,
            f64::MAX,
            f64::MIN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1.0,
        ];
        if self.below(1000) < odd { ODD[self.below(ODD.len())] } else { 4.0 * self.unit() - 1.5 }
    }
}

/// An array with nothing but a name and a role.
pub fn array(name: impl Into<String>, role: Role) -> Array {
    Array { name: name.into(), role, default: 1.5, unit: None, doc: None, span: Span::default() }
}

/// A program of `n` states, two parameters and one output, each row a random expression of all builtins over about `calls` calls.
pub fn random_program(random: &mut Random, n: usize, calls: usize) -> Program {
    let mut arrays: Vec<Array> = (0..n).map(|i| array(format!("x{i}"), Role::FirstOrder)).collect();
    arrays.extend([array("a", Role::Parameter), array("b", Role::Parameter), array("o", Role::Output)]);
    let table = builtin::table();
    let mut expressions = |count: usize, states: bool| {
        let mut graph = Graph::new();
        let readable = if states { 0..n + 2 } else { n..n + 2 };
        let mut pool: Vec<NodeId> = readable.map(|i| graph.read(ArrayId(i as u32))).collect();
        pool.push(graph.time());
        for _ in 0..3 {
            let number = random.number(20);
            pool.push(graph.constant(number));
        }
        for _ in 0..calls {
            let op = builtin::Op(table[random.below(table.len())]);
            // Recent values more often, so that expressions grow deep.
            let args: Vec<NodeId> = (0..op.0.arity)
                .map(|_| {
                    let back = if random.below(2) == 0 { pool.len().min(6) } else { pool.len() };
                    pool[pool.len() - 1 - random.below(back)]
                })
                .collect();
            pool.push(graph.call(op, &args));
        }
        let roots: Vec<NodeId> = (0..count).map(|_| pool[pool.len() - 1 - random.below(pool.len().min(12))]).collect();
        (graph, roots)
    };
    let mut kernel = |role, first: usize, count: usize, states: bool| {
        let (graph, roots) = expressions(count, states);
        let stores = roots.into_iter().enumerate();
        let target = |i: usize| Target::Element(ArrayId((first + i) as u32));
        Kernel { role, graph, stores: stores.map(|(i, node)| Store { target: target(i), node }).collect() }
    };
    let kernels = vec![
        kernel(KernelRole::Initial, 0, n, false),
        kernel(KernelRole::Rhs, 0, n, true),
        kernel(KernelRole::Outputs, n + 2, 1, true),
    ];
    derive::complete(arrays, kernels, "random")
}

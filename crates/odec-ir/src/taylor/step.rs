//! A fused step by Taylor series as one kernel without loops: the end of the step from the series at its start, the
//! series there, and the sums of squares for the error test and the next step size.
//!
//! Inputs and results have the same positions in two buffers, so that the results of one step are the inputs of the next:
//!
//! | place | input | result |
//! |---|---|---|
//! | [`Places::state`], n | y at the start | y at the end |
//! | [`Places::series`], n for each order | coefficients of h, h^2, ... there | the same at the end |
//! | [`Places::defect`], n | | h (p'(h) - f(t1, y1)), p the polynomial of the step |
//! | [`Places::sums`], 3 | | sums over the states of the squares of the defect and of the last two coefficients (see below) |
//! | [`Places::step`], 4 | h, rtol, a unit of time to the power of the order, and of the order less 1 | |
//! | [`Places::atol`], n | absolute tolerances | |
//!
//! Each term of a sum is relative to the tolerance of its state, `atol + rtol max(|y|, |y1|)`, and in the given unit of
//! time. The argument `t` of the kernel is the time at the end.

use super::{Model, Recurrences, by_order, inputs_of, program_of, scalar};
use crate::builtin::{arithmetic, rounding};
use crate::graph::{Graph, NodeId};
use crate::layout::Layout;
use crate::program::{ArrayId, Program, Role};

/// Positions in the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Places {
    /// Number of states.
    pub n: usize,
    /// Order of the series.
    pub order: usize,
}

impl Places {
    /// Start of y.
    pub const fn state(self) -> usize {
        0
    }

    /// Start of the coefficients.
    pub const fn series(self) -> usize {
        self.n
    }

    /// Start of the defect.
    pub const fn defect(self) -> usize {
        self.n * (self.order + 1)
    }

    /// Start of the sums of squares.
    pub const fn sums(self) -> usize {
        self.defect() + self.n
    }

    /// Start of h, rtol, and the factors of the last two coefficients: without these factors, squares could leave the
    /// range of doubles if the model's unit of time is short or long.
    pub const fn step(self) -> usize {
        self.sums() + 3
    }

    /// Start of the absolute tolerances.
    pub const fn atol(self) -> usize {
        self.step() + 4
    }

    /// Length of a buffer.
    pub const fn len(self) -> usize {
        self.atol() + self.n
    }

    /// True if there is no state.
    pub const fn is_empty(self) -> bool {
        self.n == 0
    }
}

/// The step as a program: the state of its `Outputs` kernel is the buffer of inputs, and its parameters are those of
/// the model. `None` and `fused` as in [`super::unrolled`].
pub fn written(
    program: &Program,
    recurrences: &Recurrences,
    order: usize,
    limit: usize,
    fused: bool,
) -> Option<Program> {
    let layout = Layout::of(program);
    let n = layout.n;
    let places = Places { n, order };
    let (mut inputs, arrays) = inputs_of(program);
    // the states of the model come first, in the order of its layout
    let first = inputs.len();
    inputs.extend((n..places.len()).map(|i| scalar(format!("room.{i}"), Role::FirstOrder)));
    let mut graph = Graph::new();
    let mut begin = vec![NodeId(0); n];
    for (id, _) in super::states_of(program) {
        begin[layout.state(id)] = graph.read(arrays[id.0 as usize]);
    }
    let mut write = Write { graph, first, n, fused };

    let [h, rtol, of_last, of_before] = [0, 1, 2, 3].map(|k| write.read(places.step() + k));
    let (mut end, mut bends) = (Vec::with_capacity(n), Vec::with_capacity(n));
    for (i, &start) in begin.iter().enumerate() {
        let series: Vec<NodeId> = (0..order).map(|k| write.read(places.series() + k * n + i)).collect();
        // the terms of (p'(h) - p'(0))/h
        let mut rates = series[1..].to_vec();
        for (k, rate) in rates.iter_mut().enumerate() {
            let order = write.graph.constant((k + 2) as f64);
            *rate = write.graph.mul(order, *rate);
        }
        let first_slope = series[0];
        let value = write.polynomial(series, h);
        end.push(write.plus(start, h, value));
        bends.push((first_slope, write.polynomial(rates, h)));
    }
    let model = Model { program, recurrences, layout: &layout, places: &arrays };
    let series = model.write(&mut write.graph, &end, order, limit, fused)?;
    let mut stores = end.clone();
    stores.extend(by_order(series.iter().map(|series| &series[1..]), order, &mut write.graph));

    let mut sums = [None; 3];
    for i in 0..n {
        let at = |k: usize| stores[n * k + i];
        let (f, last, before) = (at(1), at(order), at(order - 1));
        // f changes little in a step: first the difference, then the rest
        let (first_slope, bend) = bends[i];
        let change = write.graph.sub(first_slope, f);
        let difference = write.plus(change, h, bend);
        let defect = write.graph.mul(h, difference);
        let weight = write.weight(places.atol() + i, rtol, begin[i], end[i]);
        for (sum, (value, unit)) in
            sums.iter_mut().zip([(defect, None), (last, Some(of_last)), (before, Some(of_before))])
        {
            let mut share = write.graph.mul(value, weight);
            if let Some(unit) = unit {
                share = write.graph.mul(share, unit);
            }
            *sum = Some(match *sum {
                Some(sum) => write.plus(sum, share, share),
                None => write.graph.mul(share, share),
            });
        }
        stores.push(defect);
    }
    let nothing = write.graph.constant(0.0);
    stores.extend(sums.map(|sum| sum.unwrap_or(nothing)));
    (write.graph.len() <= limit).then(|| program_of(&program.name, inputs, write.graph, &stores))
}

/// The graph, with reads of the buffer.
struct Write {
    graph: Graph,
    /// The array of the first number after the states.
    first: usize,
    n: usize,
    fused: bool,
}

impl Write {
    /// Reads the number at a position after the states.
    fn read(&mut self, place: usize) -> NodeId {
        self.graph.read(ArrayId((self.first + place - self.n) as u32))
    }

    /// a + b*c.
    fn plus(&mut self, a: NodeId, b: NodeId, c: NodeId) -> NodeId {
        if self.fused {
            return self.graph.apply(&arithmetic::FMA, &[b, c, a]);
        }
        let product = self.graph.mul(b, c);
        self.graph.add(a, product)
    }

    /// a_0 + a_1 h + a_2 h^2 + ... by Estrin's scheme: neighbours first, then neighbours of these with h^2, ... The
    /// latency is logarithmic in the order, since h is known last.
    fn polynomial(&mut self, mut terms: Vec<NodeId>, h: NodeId) -> NodeId {
        let mut power = h;
        while terms.len() > 1 {
            terms =
                terms.chunks(2).map(|pair| if let [a, b] = *pair { self.plus(a, power, b) } else { pair[0] }).collect();
            power = self.graph.mul(power, power);
        }
        terms.first().copied().unwrap_or_else(|| self.graph.constant(0.0))
    }

    /// The reciprocal of the tolerance of a state.
    fn weight(&mut self, atol: usize, rtol: NodeId, y: NodeId, y1: NodeId) -> NodeId {
        let atol = self.read(atol);
        let sizes = [y, y1].map(|y| self.graph.apply(&rounding::ABS, &[y]));
        let size = self.graph.apply(&rounding::MAX, &sizes);
        let scale = self.plus(atol, rtol, size);
        let least = self.graph.constant(f64::MIN_POSITIVE);
        let scale = self.graph.apply(&rounding::MAX, &[scale, least]);
        let one = self.graph.constant(1.0);
        self.graph.div(one, scale)
    }
}

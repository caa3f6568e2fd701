//! The terms of t in the kernels of a program, one for each element: indices, tables and positions are known, so that
//! loops and reductions are unrolled.

use std::collections::{HashMap, HashSet};

use odec_ir::builtin::{Op, arithmetic};
use odec_ir::layout::Layout;
use odec_ir::nest::ReduceOp;
use odec_ir::nest::arguments::{ArgumentBlock, Counter};
use odec_ir::nest::bind::Words;
use odec_ir::nest::{BoundProgram, LoopId};
use odec_ir::{ArrayId, Element, Kernel, KernelRole, Node, NodeId, Program, Role, Span, Target, broken};

use super::{Term, Timetable};

/// Largest number of listed terms. Nodes with more elements than that are left out, and reported.
pub(super) const MAX_TERMS: u64 = 400_000;

/// The dependence of a node on time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Depends only on indices and parameters.
    Fixed,
    /// Depends on t in a form that [`super::form::Form`] represents for all parameters.
    Plain,
    /// Depends on t in another form.
    Curved,
    /// Depends on states that do not count time.
    Foreign,
}

/// A kernel with its positions.
pub(super) struct Nest<'a> {
    program: &'a Program,
    layout: &'a Layout,
    pub(super) kernel: &'a Kernel,
    words: Words<'a>,
    arguments: ArgumentBlock,
    pub(super) kinds: Vec<Kind>,
    /// For each node: the counters that it depends on, as indices in `counts`, ascending.
    depends: Vec<Vec<usize>>,
    /// Rounds of each loop, then of the points of a boundary region.
    pub(super) counts: Vec<u64>,
}

/// The nodes of a kernel whose terms are listed.
struct Roots {
    /// Terms of t that other nodes use and that are not plain.
    whole: Vec<NodeId>,
    /// Denominators of quotients whose numerator is another node, because they may be zero.
    below: Vec<NodeId>,
    /// Sines and cosines in arguments of steep functions that states move as well: the function may be negligible
    /// except near the extrema of the wave.
    waves: Vec<NodeId>,
}

impl Roots {
    fn are_none(&self) -> bool {
        self.all().next().is_none()
    }

    fn all(&self) -> impl Iterator<Item = NodeId> {
        self.whole.iter().chain(&self.below).chain(&self.waves).copied()
    }
}

/// For each node: its terms, row by row over the counters that it depends on; `None` if there are too many.
pub(super) type Lists = Vec<Option<Vec<u32>>>;

/// States that count time: the kernel and node of the rate of each element.
pub(super) type Clocks = HashMap<ArrayId, Vec<(usize, NodeId)>>;

/// The key that equal terms share.
type Key = (u8, u64, [u32; 3]);

/// Writes the terms.
pub(super) struct Writer {
    table: Timetable,
    known: HashMap<Key, u32>,
    /// Number of terms that may still be listed.
    budget: u64,
    /// The values of sizes and tables, at their positions.
    inputs: Vec<f64>,
    /// The terms of states that count time, by position.
    clocks: HashMap<usize, u32>,
    /// True if other states are terms too.
    states: bool,
}

/// The terms of t of f, and of further results over the same inputs; empty if all are linear in t, waves, or sums of
/// these.
pub(super) fn table(program: &Program, bound: &BoundProgram, further: Option<(&Program, &BoundProgram)>) -> Timetable {
    let clocks = clocks(program, bound);
    let mut nests = nests(program, bound, KernelRole::Rhs, &clocks);
    let own = nests.len();
    if let Some((program, bound)) = further {
        nests.extend(self::nests(program, bound, KernelRole::Outputs, &clocks));
    }
    let steep = nests.iter().any(|nest| nest.steep().next().is_some());
    // with algebraic unknowns, a wave in one equation moves the argument of a steep function in another
    let coupled = steep && program.has(KernelRole::Mass);
    let roots: Vec<Roots> = nests.iter().map(|nest| nest.roots(coupled)).collect();
    if roots.iter().all(Roots::are_none) {
        return Timetable::default();
    }
    let mut writer = Writer {
        table: Timetable::default(),
        known: HashMap::new(),
        budget: MAX_TERMS,
        inputs: bound.layout.inputs(program),
        clocks: HashMap::new(),
        states: false,
    };
    writer.write_clocks(&nests, &nests[..own], &roots, &clocks);
    for (nest, roots) in nests.iter().zip(&roots) {
        writer.write(nest, roots);
    }
    writer.table.link();
    writer.table
}

/// The kernels of a role that run.
pub(super) fn nests<'a>(
    program: &'a Program,
    bound: &'a BoundProgram,
    role: KernelRole,
    clocks: &Clocks,
) -> Vec<Nest<'a>> {
    let runs = bound.runs.iter().filter(|run| program.kernels[run.kernel].role == role && run.points > 0);
    let nest = |run: &'a odec_ir::nest::bind::BoundKernel| {
        let kernel = &program.kernels[run.kernel];
        let words = Words { words: &run.words, tables: &bound.tables };
        Nest::new(program, &bound.layout, kernel, words, clocks)
    };
    runs.map(nest).collect()
}

/// The states whose rates are expressions in numbers and parameters, with the kernels and nodes of the rates.
fn clocks(program: &Program, bound: &BoundProgram) -> Clocks {
    let mut clocks = Clocks::new();
    if program.has(KernelRole::Mass) {
        return clocks;
    }
    let mut others = Vec::new();
    let mut repeated = HashSet::new();
    for (k, nest) in nests(program, bound, KernelRole::Rhs, &clocks).iter().enumerate() {
        for store in &nest.kernel.stores {
            for element in store.target.elements() {
                let array = nest.kernel.array(element);
                if nest.kernel.selects(element, &program.arrays) {
                    repeated.extend(nest.positions(element));
                    continue;
                }
                let first_order = program.arrays[array.0 as usize].role == Role::FirstOrder;
                let fixed = nest.kinds[store.node.index()] == Kind::Fixed && matches!(store.target, Target::Set(_));
                if first_order && fixed {
                    clocks.entry(array).or_default().push((k, store.node));
                } else {
                    others.push(array);
                }
            }
        }
    }
    for array in &others {
        clocks.remove(array);
    }
    clocks.retain(|array, _| !repeated.contains(&bound.layout.start(*array)));
    clocks
}

impl<'a> Nest<'a> {
    fn new(
        program: &'a Program,
        layout: &'a Layout,
        kernel: &'a Kernel,
        words: Words<'a>,
        clocks: &Clocks,
    ) -> Nest<'a> {
        let arguments = ArgumentBlock::of(kernel);
        let rounds = |counter| {
            u64::try_from(words.integer(arguments.rounds(counter)))
                .unwrap_or_else(|_| broken("a loop has a negative number of rounds"))
        };
        let loops = kernel.space.loops().len() as u32;
        let mut counts: Vec<u64> = (0..loops).map(|l| rounds(Counter::Loop(LoopId(l)))).collect();
        counts.push(if arguments.points.is_some() { rounds(Counter::Points) } else { 1 });
        let len = kernel.graph.len();
        let mut nest = Nest {
            program,
            layout,
            kernel,
            words,
            arguments,
            kinds: vec![Kind::Foreign; len],
            depends: vec![Vec::new(); len],
            counts,
        };
        for (id, node) in kernel.live() {
            nest.kinds[id.index()] = nest.kind(id, node, clocks);
            nest.depends[id.index()] = nest.counters(node);
        }
        nest
    }

    fn role(&self, element: Element) -> Role {
        self.program.arrays[self.kernel.array(element).0 as usize].role
    }

    fn kind(&self, id: NodeId, node: Node, clocks: &Clocks) -> Kind {
        let of = |id: &NodeId| self.kinds[id.index()];
        let most = node.operands().iter().map(of).max().unwrap_or(Kind::Fixed);
        match node {
            Node::Constant(_) | Node::Index(_) => Kind::Fixed,
            Node::Time => Kind::Plain,
            Node::Read(element) if self.role(element).is_state() => {
                let one = !self.kernel.selects(element, &self.program.arrays);
                if one && clocks.contains_key(&self.kernel.array(element)) { Kind::Plain } else { Kind::Foreign }
            }
            Node::Read(_) => Kind::Fixed,
            Node::Direction(_) | Node::Reduce(ReduceOp::ArgMin | ReduceOp::ArgMax, ..) => Kind::Foreign,
            Node::Reduce(ReduceOp::Sum, ..) => most,
            Node::Call(op, _) if op.lookup().is_some() => {
                let table =
                    self.kernel.graph.lookup(id).map(|(_, table, argument, _)| (self.role(table), of(&argument)));
                match table {
                    Some((Role::Table, Kind::Plain)) => Kind::Curved,
                    Some((Role::Table, argument)) => argument,
                    _ => Kind::Foreign,
                }
            }
            Node::Call(..) | Node::Reduce(..) if most != Kind::Plain => most,
            Node::Call(op, args) => {
                let varying = node.operands().iter().filter(|operand| of(operand) == Kind::Plain).count();
                let plain = match op.0.name {
                    "add" | "sub" | "neg" | "sin" | "cos" => true,
                    "mul" => varying == 1,
                    "div" => of(&args[1]) == Kind::Fixed,
                    "if" => of(&args[0]) == Kind::Fixed,
                    _ => false,
                };
                if plain { Kind::Plain } else { Kind::Curved }
            }
            Node::Reduce(..) => Kind::Curved,
        }
    }

    /// The index of a counter in [`Nest::counts`].
    fn row(&self, counter: Counter) -> usize {
        match counter {
            Counter::Loop(l) => l.0 as usize,
            Counter::Points => self.counts.len() - 1,
        }
    }

    fn counters(&self, node: Node) -> Vec<usize> {
        let mut found = Vec::new();
        match node {
            Node::Index(l) => {
                let listed = self.arguments.index[l.0 as usize].table.is_some();
                found.push(self.row(if listed { Counter::Points } else { Counter::Loop(l) }));
            }
            Node::Read(Element::At(access)) => {
                found.extend(self.arguments.address(access).strides.iter().map(|&(counter, _)| self.row(counter)));
            }
            _ => {}
        }
        for operand in node.operands() {
            found.extend_from_slice(&self.depends[operand.index()]);
        }
        if let Node::Reduce(_, over, _) = node {
            found.retain(|counter| *counter != over.0 as usize);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The nodes whose terms are listed. If `coupled` is set, every wave counts as one in a steep function.
    fn roots(&self, coupled: bool) -> Roots {
        let (mut whole, mut below) = (Vec::new(), Vec::new());
        let of = |id: NodeId| self.kinds[id.index()];
        for (_, node) in self.kernel.live().filter(|(id, _)| of(*id) == Kind::Foreign) {
            whole.extend(node.operands().iter().filter(|operand| of(**operand) == Kind::Curved));
            if let Node::Call(op, [above, divisor, _]) = node
                && (op.0.name, of(above)) == ("div", Kind::Foreign)
                && matches!(of(divisor), Kind::Plain | Kind::Curved)
            {
                below.push(divisor);
            }
        }
        whole.extend(self.kernel.stores.iter().map(|store| store.node).filter(|node| of(*node) == Kind::Curved));
        let mut whole = self.summands(whole);
        let mut waves = if coupled {
            self.kernel.live().filter(|(id, node)| self.is_wave(*id, *node)).map(|(id, _)| id).collect()
        } else {
            self.waves(self.steep().chain(self.denominators()).collect())
        };
        for list in [&mut whole, &mut below, &mut waves] {
            list.sort_unstable();
            list.dedup();
        }
        Roots { whole, below, waves }
    }

    /// The summands of terms: a sum, and a term times a number, has only the pulses of its summands. So terms that
    /// differ by a factor for each element are one term.
    fn summands(&self, mut open: Vec<NodeId>) -> Vec<NodeId> {
        let of = |id: NodeId| self.kinds[id.index()];
        let mut seen = vec![false; self.kernel.graph.len()];
        let mut found = Vec::new();
        while let Some(id) = open.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            let node = self.kernel.graph.node(id);
            let curved = node.operands().iter().copied().filter(|operand| of(*operand) == Kind::Curved);
            let splits = match node {
                Node::Reduce(ReduceOp::Sum, ..) => true,
                Node::Call(op, args) => match op.0.name {
                    "add" | "sub" | "neg" => true,
                    "mul" => [args[0], args[1]].map(of).contains(&Kind::Fixed),
                    "div" => of(args[1]) == Kind::Fixed,
                    // a branch of an element exists only if the condition holds
                    "if" => of(args[0]) == Kind::Fixed && curved.clone().all(|id| self.depends[id.index()].is_empty()),
                    _ => false,
                },
                _ => false,
            };
            if splits { open.extend(curved) } else { found.push(id) }
        }
        found
    }

    /// Number of elements of a node.
    pub(super) fn points(&self, id: NodeId) -> u64 {
        self.depends[id.index()].iter().fold(1, |product, counter| product.saturating_mul(self.counts[*counter]))
    }

    /// Sets the rounds of the counters of a node for the element with this number.
    pub(super) fn set(&self, id: NodeId, element: u64, rounds: &mut [u64]) {
        let mut rest = element;
        for &counter in self.depends[id.index()].iter().rev() {
            (rounds[counter], rest) = (rest % self.counts[counter], rest / self.counts[counter]);
        }
    }

    /// The term of a node in these rounds.
    pub(super) fn listed(&self, lists: &Lists, id: NodeId, rounds: &[u64]) -> Option<u32> {
        let list = lists[id.index()].as_ref()?;
        let depends = &self.depends[id.index()];
        let place = depends.iter().fold(0, |place, &counter| place * self.counts[counter] + rounds[counter]);
        list.get(place as usize).copied()
    }

    /// Position of an element in its buffer.
    fn position(&self, element: Element, rounds: &[u64]) -> usize {
        let access = match element {
            Element::Scalar(array) => return self.layout.start(array),
            Element::At(access) => access,
        };
        let address = self.arguments.address(access);
        let step = |&(counter, stride)| rounds[self.row(counter)] as i64 * self.words.stride(stride);
        let offset: i64 = address.strides.iter().map(step).sum();
        let offset = address.table.map_or(offset, |word| i64::from(self.words.table(word)[offset as usize]));
        (self.words.integer(address.base) + offset) as usize
    }

    /// Positions of an element in all rounds.
    fn positions(&self, element: Element) -> Vec<usize> {
        let counters = self.counters(Node::Read(element));
        let points = counters.iter().fold(1u64, |product, at| product.saturating_mul(self.counts[*at]));
        let mut rounds = vec![0; self.counts.len()];
        let mut positions = Vec::new();
        for point in 0..points {
            let mut rest = point;
            for &at in counters.iter().rev() {
                (rounds[at], rest) = (rest % self.counts[at], rest / self.counts[at]);
            }
            positions.push(self.position(element, &rounds));
        }
        positions
    }

    fn index(&self, l: LoopId, rounds: &[u64]) -> f64 {
        let place = self.arguments.index[l.0 as usize];
        let round = match place.table {
            Some(word) => i64::from(self.words.table(word)[rounds[self.row(Counter::Points)] as usize]),
            None => rounds[l.0 as usize] as i64,
        };
        (self.words.integer(place.first) + round) as f64
    }
}

impl Writer {
    /// Writes terms of states, at most so many; `inputs` are the values of sizes and tables.
    pub(super) fn of_states(inputs: Vec<f64>, budget: u64) -> Writer {
        let (table, known, clocks) = (Timetable::default(), HashMap::new(), HashMap::new());
        Writer { table, known, budget, inputs, clocks, states: true }
    }

    pub(super) fn into_terms(self) -> Vec<Term> {
        self.table.terms
    }

    /// Lists the terms of the states that count time and that the roots need.
    fn write_clocks(&mut self, nests: &[Nest<'_>], own: &[Nest<'_>], roots: &[Roots], clocks: &Clocks) {
        let mut needed: Vec<ArrayId> = Vec::new();
        for (nest, roots) in nests.iter().zip(roots) {
            let reads = nest.kernel.graph.live(roots.all());
            needed.extend(reads.filter_map(|(_, node)| match node {
                Node::Read(element) if nest.role(element).is_state() => Some(nest.kernel.array(element)),
                _ => None,
            }));
        }
        needed.sort_unstable();
        needed.dedup();
        for (k, rate) in needed.iter().filter_map(|array| clocks.get(array)).flatten() {
            let nest = &own[*k];
            let lists = self.lists(nest, &[*rate]);
            for store in nest.kernel.stores.iter().filter(|store| store.node == *rate) {
                let Target::Set(element) = store.target else { continue };
                if !needed.contains(&nest.kernel.array(element)) {
                    continue;
                }
                let iterates: Vec<usize> = nest.arguments.counters.iter().map(|counter| nest.row(*counter)).collect();
                let points = iterates.iter().fold(1, |product: u64, at| product.saturating_mul(nest.counts[*at]));
                if points > self.budget {
                    continue;
                }
                self.budget -= points;
                let mut rounds = vec![0; nest.counts.len()];
                for point in 0..points {
                    let mut rest = point;
                    for &at in iterates.iter().rev() {
                        (rounds[at], rest) = (rest % nest.counts[at], rest / nest.counts[at]);
                    }
                    let position = nest.position(element, &rounds);
                    if let Some(rate) = nest.listed(&lists, *rate, &rounds) {
                        let clock = self.push(Term::Clock(position, rate), None);
                        self.clocks.insert(position, clock);
                    }
                }
            }
        }
    }

    /// Lists the terms of a kernel.
    fn write(&mut self, nest: &Nest<'_>, roots: &Roots) {
        if roots.are_none() {
            return;
        }
        let lists = self.lists(nest, &roots.all().collect::<Vec<NodeId>>());
        for root in &roots.waves {
            match &lists[root.index()] {
                Some(list) => list.iter().for_each(|term| self.table.hidden[*term as usize] = true),
                None => self.table.unlisted = self.table.unlisted.saturating_add(nest.points(*root) as usize),
            }
        }
        for root in &roots.whole {
            match &lists[root.index()] {
                Some(list) => list.iter().for_each(|term| self.table.exits[*term as usize] = true),
                None => self.table.unlisted = self.table.unlisted.saturating_add(nest.points(*root) as usize),
            }
        }
        for root in &roots.below {
            let Some(list) = &lists[root.index()] else {
                self.table.unlisted = self.table.unlisted.saturating_add(nest.points(*root) as usize);
                continue;
            };
            let one = self.number(1.0);
            for &term in list {
                let quotient = self.call(Op(&arithmetic::DIV), &[one, term], span(nest, *root));
                self.table.exits[quotient as usize] = true;
            }
        }
    }

    /// The terms of all nodes that the roots need.
    pub(super) fn lists(&mut self, nest: &Nest<'_>, roots: &[NodeId]) -> Lists {
        let graph = &nest.kernel.graph;
        let mut lists: Lists = vec![None; graph.len()];
        let mut rounds = vec![0; nest.counts.len()];
        for (id, node) in graph.live(roots.iter().copied()) {
            let points = nest.points(id);
            let rounds_each = if let Node::Reduce(_, over, _) = node { nest.counts[over.0 as usize].max(1) } else { 1 };
            let terms = points.saturating_mul(rounds_each);
            if terms > self.budget {
                continue;
            }
            self.budget -= terms;
            let term = |element| {
                nest.set(id, element, &mut rounds);
                self.term(nest, &lists, id, &mut rounds)
            };
            let list: Option<Vec<u32>> = (0..points).map(term).collect();
            lists[id.index()] = list;
        }
        lists
    }

    fn term(&mut self, nest: &Nest<'_>, lists: &Lists, id: NodeId, rounds: &mut [u64]) -> Option<u32> {
        let graph = &nest.kernel.graph;
        Some(match graph.node(id) {
            Node::Constant(bits) => self.number(f64::from_bits(bits)),
            Node::Time => self.push(Term::Time, None),
            Node::Index(l) => self.number(nest.index(l, rounds)),
            Node::Read(element) => {
                let position = nest.position(element, rounds);
                match nest.role(element) {
                    role if role.is_state() && self.states => self.push(Term::State(position), None),
                    role if role.is_state() => *self.clocks.get(&position)?,
                    Role::Table | Role::Size => self.number(*self.inputs.get(position)?),
                    _ => self.push(Term::Parameter(position), None),
                }
            }
            Node::Call(op, _) if op.lookup().is_some() => {
                let (lookup, table, argument, length) = graph.lookup(id)?;
                let start = nest.position(table, rounds);
                let argument = nest.listed(lists, argument, rounds)?;
                self.push(Term::Lookup(lookup, (start, length as u32), [argument]), span(nest, id))
            }
            Node::Call(op, args) => {
                let mut own = [0; 3];
                let args = &args[..usize::from(op.0.arity)];
                for (own, arg) in own.iter_mut().zip(args) {
                    *own = nest.listed(lists, *arg, rounds)?;
                }
                self.call(op, &own[..args.len()], span(nest, id))
            }
            Node::Reduce(reduction, over, term) => {
                let (op, neutral) = match reduction {
                    ReduceOp::Sum => (&arithmetic::ADD, 0.0),
                    ReduceOp::Product => (&arithmetic::MUL, 1.0),
                    ReduceOp::Min => (odec_ir::builtin::find("min")?.0, f64::INFINITY),
                    ReduceOp::Max => (odec_ir::builtin::find("max")?.0, f64::NEG_INFINITY),
                    ReduceOp::ArgMin | ReduceOp::ArgMax => return None,
                };
                let mut sum = None;
                for round in 0..nest.counts[over.0 as usize] {
                    rounds[over.0 as usize] = round;
                    let next = nest.listed(lists, term, rounds)?;
                    sum = Some(sum.map_or(next, |sum| self.call(Op(op), &[sum, next], span(nest, id))));
                }
                sum.unwrap_or_else(|| self.number(neutral))
            }
            Node::Direction(_) => return None,
        })
    }

    pub(super) fn number(&mut self, value: f64) -> u32 {
        self.push(Term::Number(value), None)
    }

    fn as_number(&self, term: u32) -> Option<f64> {
        if let Term::Number(value) = self.table.terms[term as usize] { Some(value) } else { None }
    }

    /// Adds a call; a constant if all operands are constant, and the chosen branch if the condition is constant.
    pub(super) fn call(&mut self, op: Op, args: &[u32], span: Option<Span>) -> u32 {
        let numbers: Vec<f64> = args.iter().map_while(|arg| self.as_number(*arg)).collect();
        if numbers.len() == args.len() {
            return self.number((op.0.value)(&numbers));
        }
        if op.0.name == "if"
            && let Some(condition) = numbers.first()
        {
            return args[if *condition == 0.0 { 2 } else { 1 }];
        }
        let mut own = [0; 3];
        own[..args.len()].copy_from_slice(args);
        self.push(Term::Call(op, own), span)
    }

    /// Adds a term, unless it exists.
    fn push(&mut self, term: Term, span: Option<Span>) -> u32 {
        let key = match &term {
            Term::Number(value) => (0, value.to_bits(), [0; 3]),
            Term::Parameter(position) => (1, *position as u64, [0; 3]),
            Term::Time => (2, 0, [0; 3]),
            Term::Clock(position, rate) => (3, *position as u64, [*rate, 0, 0]),
            Term::State(position) => (u8::MAX, *position as u64, [0; 3]),
            Term::Call(op, operands) => (4, std::ptr::from_ref(op.0) as usize as u64, *operands),
            Term::Lookup(lookup, (start, length), [argument]) => {
                (5 + *lookup as u8, *start as u64, [*argument, *length, 0])
            }
        };
        let next = self.table.terms.len() as u32;
        let place = *self.known.entry(key).or_insert(next);
        if place == next {
            self.table.push(term, span);
        }
        place
    }
}

fn span(nest: &Nest<'_>, id: NodeId) -> Option<Span> {
    nest.kernel.graph.spans(id).first().copied()
}

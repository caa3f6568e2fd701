//! Writes a nest as a function `(t, y, p, w, out, frame, kept)` of Cranelift's intermediate form.
//!
//! Addresses are taken out of loops: before a loop, a walk that it needs is where the loops around it have brought it; in
//! it, the counter of the loop is added by the addressing mode. An innermost loop whose elements lie side by side runs two
//! rounds at a time in vector registers, and what remains one by one. What goes to one element of a result from several
//! rounds is added in the order of the rounds, so that the bits are those of the interpreter.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, BlockArg, FuncRef, Function, InstBuilder, MemFlagsData, Type, Value, types};
use odec_ir::nest::frame::{Counter, DROPPED, Stride};
use odec_ir::nest::schedule::{Body, Step};
use odec_ir::nest::{Element, LoopId, Target};
use odec_ir::{Lowering, Node, NodeId, Primitive};

use super::plan::{Origin, Plan, Site, Use};
use crate::JitError;
use crate::lower::{self, Abi, DOUBLE, Imports, OUT, TIME, WINDOW};
use crate::ops::{self, Width};

/// Position of the frame among the parameters.
const FRAME: usize = 5;

/// Position of the buffer of kept values.
const KEPT: usize = 6;

/// Most numbers that are kept in registers all through an innermost loop.
const MAX_KEPT: usize = 12;

/// What the code being written knows of a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// As a double.
    number: Option<Value>,
    /// As a truth value in a byte.
    truth: Option<Value>,
    /// In two rounds.
    pair: Option<Value>,
    /// As a mask for two rounds.
    mask: Option<Value>,
    /// The last step that may use it.
    until: u32,
}

impl Known {
    /// A double, for as long as the body is being written.
    pub(super) fn number(number: Value) -> Known {
        Known { number: Some(number), until: u32::MAX, ..Known::default() }
    }
}

/// What the code being written knows of a walk.
#[derive(Clone, Debug, Default)]
struct Reached {
    /// Where it is, in bytes, when the counters in `done` have moved it.
    address: Option<Value>,
    done: Vec<Counter>,
    /// Bytes by which the innermost loop moves it, where that is no constant.
    stride: Option<Value>,
    /// What the list holds in this round and in the next.
    listed: [Option<Value>; 2],
}

/// What is known in a body and not outside of it.
enum Undo {
    Node(NodeId, Known),
    Walk(u32, Reached),
}

/// The loop that is being written.
#[derive(Clone, Copy)]
struct Round {
    counter: Counter,
    /// How often it has run; in a vectorised loop, that of the first round of two.
    k: Value,
}

/// Writes the function.
pub(crate) fn write(func: &mut Function, abi: Abi, plan: &Plan, imports: &mut dyn Imports) -> Result<(), JitError> {
    if abi.pointer != types::I64 {
        return Err(JitError::UnsupportedHost("addresses do not have 64 bits".to_string()));
    }
    func.signature = abi.nest();
    let (pos, args) = lower::begin(func);
    let mut writer = Writer {
        plan,
        abi,
        imports,
        pos,
        args,
        functions: Vec::new(),
        known: vec![Known::default(); plan.nest.graph.len()],
        reached: vec![Reached::default(); plan.walks.len()],
        undo: Vec::new(),
        rounds: Vec::new(),
        width: Width::One,
        delayed: Vec::new(),
        step: 0,
        kept: Vec::new(),
        keeps: true,
    };
    writer.place_kept();
    let (first, rest) = plan.schedule.steps.split_at(plan.first);
    writer.steps(first)?;
    writer.keeps = false;
    writer.steps(rest)?;
    writer.pos.ins().return_(&[]);
    Ok(())
}

pub(super) struct Writer<'a, 'f> {
    pub(super) plan: &'a Plan,
    abi: Abi,
    imports: &'a mut dyn Imports,
    pub(super) pos: FuncCursor<'f>,
    args: Vec<Value>,
    functions: Vec<(&'static str, FuncRef)>,
    /// By node.
    known: Vec<Known>,
    /// By walk.
    reached: Vec<Reached>,
    undo: Vec<Undo>,
    /// The loops around the place being written, outermost first.
    rounds: Vec<Round>,
    pub(super) width: Width,
    /// In a vectorised loop: stores that have to happen round by round.
    delayed: Vec<(u32, Value)>,
    step: u32,
    /// Where each of the plan's values begins in the buffer.
    kept: Vec<Value>,
    /// They are being computed.
    keeps: bool,
}

fn arguments(values: &[Value]) -> Vec<BlockArg> {
    values.iter().map(|&value| BlockArg::Value(value)).collect()
}

impl Writer<'_, '_> {
    fn steps(&mut self, steps: &[Step]) -> Result<(), JitError> {
        for step in steps {
            self.step += 1;
            match step {
                Step::Compute(node) => {
                    self.compute(*node)?;
                    if self.keeps {
                        self.keep_value(*node)?;
                    }
                }
                Step::Store(store) => self.store(*store)?,
                Step::Loop(body) => self.run(body)?,
            }
        }
        Ok(())
    }

    // Kept values.

    /// Finds where the values begin: one after the other, each as long as its loop.
    fn place_kept(&mut self) {
        let plan = self.plan;
        let mut next = self.args[KEPT];
        for value in &plan.values {
            self.kept.push(next);
            let rounds = self.word(plan.count(Counter::Loop(value.over)));
            let bytes = self.pos.ins().ishl_imm_u(rounds, 3);
            next = self.pos.ins().iadd(next, bytes);
        }
    }

    /// Where a value is in this round of its loop, and whether that is the innermost one.
    fn kept_at(&mut self, value: usize) -> Result<(Value, bool), JitError> {
        let counter = Counter::Loop(self.plan.values[value].over);
        let round = self.rounds.iter().rfind(|round| round.counter == counter).copied();
        let round = round.ok_or_else(|| JitError::Malformed("a kept value outside of its loop".to_string()))?;
        let bytes = self.pos.ins().ishl_imm_u(round.k, 3);
        let innermost = self.rounds.last().is_some_and(|last| last.counter == counter);
        Ok((self.pos.ins().iadd(self.kept[value], bytes), innermost))
    }

    /// Keeps a node if it is one of the values: for one round, or for two.
    fn keep_value(&mut self, node: NodeId) -> Result<(), JitError> {
        let plan = self.plan;
        for (k, _) in plan.values.iter().enumerate().filter(|(_, value)| value.node == node) {
            let number = self.number(node);
            let (address, _) = self.kept_at(k)?;
            self.pos.ins().store(MemFlagsData::new().with_notrap(), number, address, 0);
        }
        Ok(())
    }

    fn kept_value(&mut self, value: usize) -> Result<Known, JitError> {
        let (address, innermost) = self.kept_at(value)?;
        let flags = MemFlagsData::new().with_notrap();
        if self.width == Width::One {
            return Ok(Known::number(self.pos.ins().load(types::F64, flags, address, 0)));
        }
        let pair = if innermost {
            self.pos.ins().load(types::F64X2, flags, address, 0)
        } else {
            let number = self.pos.ins().load(types::F64, flags, address, 0);
            self.pos.ins().splat(types::F64X2, number)
        };
        Ok(Known { pair: Some(pair), until: u32::MAX, ..Known::default() })
    }

    // What is known.

    pub(super) fn know(&mut self, node: NodeId, known: Known) {
        self.undo.push(Undo::Node(node, self.known[node.index()]));
        self.known[node.index()] = known;
    }

    fn reach(&mut self, walk: u32, reached: Reached) {
        let old = std::mem::replace(&mut self.reached[walk as usize], reached);
        self.undo.push(Undo::Walk(walk, old));
    }

    /// Forgets what was learnt since the mark: the code there does not come before what follows in every run.
    fn forget(&mut self, mark: usize) {
        while self.undo.len() > mark {
            match self.undo.pop() {
                Some(Undo::Node(node, known)) => self.known[node.index()] = known,
                Some(Undo::Walk(walk, reached)) => self.reached[walk as usize] = reached,
                None => {}
            }
        }
    }

    // Memory.

    fn read_only() -> MemFlagsData {
        // Nothing that a nest reads is written while it runs; vectors are not aligned to their size.
        MemFlagsData::new().with_notrap().with_readonly().with_can_move()
    }

    pub(super) fn word(&mut self, word: u32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.pos.ins().load(types::I64, flags, self.args[FRAME], (word as usize * DOUBLE) as i32)
    }

    /// Where a walk is before the loops that have not moved it yet.
    fn start(&mut self, walk: u32) -> Value {
        if let Some(address) = self.reached[walk as usize].address {
            return address;
        }
        let address = match self.plan.walks[walk as usize].origin {
            Origin::List(word) => self.word(word),
            Origin::Buffer(buffer, word) => {
                let base = self.word(word);
                let bytes = self.pos.ins().ishl_imm_u(base, 3);
                self.pos.ins().iadd(self.args[buffer], bytes)
            }
        };
        let reached = Reached { address: Some(address), ..self.reached[walk as usize].clone() };
        self.reach(walk, reached);
        address
    }

    /// Bytes of a stride that is a word of the frame.
    fn stride(&mut self, walk: u32, word: u32) -> Value {
        if let Some(stride) = self.reached[walk as usize].stride {
            return stride;
        }
        let elements = self.word(word);
        self.pos.ins().ishl_imm_u(elements, i64::from(self.plan.walks[walk as usize].shift()))
    }

    /// The address that a walk has reached, `ahead` rounds of the innermost loop further on, and an offset to it.
    fn address(&mut self, walk: u32, ahead: u32) -> (Value, i32) {
        let plan = self.plan;
        let mut address = self.start(walk);
        let mut offset = 0;
        let shift = plan.walks[walk as usize].shift();
        for &(counter, stride) in &plan.walks[walk as usize].strides {
            if self.reached[walk as usize].done.contains(&counter) {
                continue;
            }
            let Some(round) = self.rounds.iter().rfind(|round| round.counter == counter).copied() else { continue };
            let innermost = self.rounds.last().is_some_and(|last| last.counter == counter);
            let ahead = if innermost { ahead } else { 0 };
            address = match stride {
                Stride::One => {
                    offset += (ahead as i32) << shift;
                    let bytes = self.pos.ins().ishl_imm_u(round.k, i64::from(shift));
                    self.pos.ins().iadd(address, bytes)
                }
                Stride::Word(word) => {
                    let bytes = self.stride(walk, word);
                    let k = if ahead == 0 { round.k } else { self.pos.ins().iadd_imm_u(round.k, i64::from(ahead)) };
                    let bytes = self.pos.ins().imul(k, bytes);
                    self.pos.ins().iadd(address, bytes)
                }
            };
        }
        (address, offset)
    }

    /// A number of a list, as an integer.
    fn listed(&mut self, walk: u32, ahead: u32) -> Value {
        if let Some(number) = self.reached[walk as usize].listed[ahead as usize] {
            return number;
        }
        let (address, offset) = self.address(walk, ahead);
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let number = self.pos.ins().uload32(flags, address, offset);
        let mut reached = self.reached[walk as usize].clone();
        reached.listed[ahead as usize] = Some(number);
        self.reach(walk, reached);
        number
    }

    /// Where an element lies in a round, and an offset to that.
    fn place(&mut self, site: Site, ahead: u32) -> (Value, i32) {
        match site.list {
            Some(list) => {
                let position = self.listed(list, ahead);
                let start = self.start(site.walk);
                let bytes = self.pos.ins().ishl_imm_u(position, 3);
                (self.pos.ins().iadd(start, bytes), 0)
            }
            None => {
                let (address, offset) = self.address(site.walk, ahead);
                (address, offset + site.delta * DOUBLE as i32)
            }
        }
    }

    /// True when two rounds find the element side by side; `None` if the loop does not move it.
    fn side_by_side(&self, site: Site) -> Option<bool> {
        let counter = self.rounds.last()?.counter;
        let moves = |walk: u32| self.plan.walks[walk as usize].moves(counter);
        if let Some(list) = site.list {
            return moves(list).then_some(false);
        }
        let strides = &self.plan.walks[site.walk as usize].strides;
        strides.iter().find(|(c, _)| *c == counter).map(|(_, stride)| *stride == Stride::One)
    }

    fn element(&mut self, site: Site) -> Known {
        if self.width == Width::One {
            let number = self.load(site, 0, types::F64);
            return Known::number(number);
        }
        let pair = match self.side_by_side(site) {
            Some(true) => self.load(site, 0, types::F64X2),
            Some(false) => {
                let (first, second) = (self.load(site, 0, types::F64), self.load(site, 1, types::F64));
                self.join(first, second)
            }
            None => {
                let number = self.load(site, 0, types::F64);
                self.pos.ins().splat(types::F64X2, number)
            }
        };
        Known { pair: Some(pair), until: u32::MAX, ..Known::default() }
    }

    fn load(&mut self, site: Site, ahead: u32, ty: Type) -> Value {
        let (address, offset) = self.place(site, ahead);
        self.pos.ins().load(ty, Writer::read_only(), address, offset)
    }

    pub(super) fn join(&mut self, first: Value, second: Value) -> Value {
        let pair = self.pos.ins().scalar_to_vector(types::F64X2, first);
        self.pos.ins().insertlane(pair, second, 1)
    }

    // Values.

    /// A node as a number, of as many rounds as the loop runs at a time.
    pub(super) fn number(&mut self, node: NodeId) -> Value {
        let mut known = self.known[node.index()];
        if known.until < self.step {
            known = Known::default();
        }
        if known.until == 0 {
            known.until = self.step + WINDOW;
        }
        let number = match self.width {
            Width::One => {
                if let Some(number) = known.number {
                    return number;
                }
                match (known.truth, self.plan.nest.graph.as_constant(node)) {
                    (Some(truth), _) => Width::One.number_of(&mut self.pos, truth),
                    // Every other node was computed before it is used.
                    (None, constant) => Width::One.constant(&mut self.pos, constant.unwrap_or(f64::NAN)),
                }
            }
            Width::Two => {
                if let Some(pair) = known.pair {
                    return pair;
                }
                match (known.mask, self.plan.nest.graph.as_constant(node)) {
                    (Some(mask), _) => Width::Two.number_of(&mut self.pos, mask),
                    (None, Some(constant)) => Width::Two.constant(&mut self.pos, constant),
                    (None, None) => {
                        self.width = Width::One;
                        let number = self.number(node);
                        self.width = Width::Two;
                        known = self.known[node.index()];
                        self.pos.ins().splat(types::F64X2, number)
                    }
                }
            }
        };
        match self.width {
            Width::One => known.number = Some(number),
            Width::Two => known.pair = Some(number),
        }
        self.know(node, known);
        number
    }

    /// Whether a node is not zero.
    fn truth(&mut self, node: NodeId) -> Value {
        let known = self.known[node.index()];
        let truth = if self.width == Width::One { known.truth } else { known.mask };
        if let (Some(truth), true) = (truth, known.until >= self.step) {
            return truth;
        }
        let number = self.number(node);
        let truth = self.width.truth_of(&mut self.pos, number);
        let mut known = self.known[node.index()];
        match self.width {
            Width::One => known.truth = Some(truth),
            Width::Two => known.mask = Some(truth),
        }
        self.know(node, known);
        truth
    }

    fn compute(&mut self, id: NodeId) -> Result<(), JitError> {
        let node = self.plan.nest.graph.node(id);
        let known = match node {
            Node::Constant(_) | Node::Fold(..) => return Ok(()),
            Node::Time => Known::number(self.args[TIME]),
            Node::Index(l) => self.index(l),
            Node::Read(element) => self.found(element, Use::Input)?,
            Node::Direction(element) => self.found(element, Use::Direction)?,
            Node::Call(op, args) => match op.0.lowering {
                Lowering::Primitive(primitive) => self.call(primitive, args),
                Lowering::Libm(name) => {
                    let args: Vec<Value> =
                        args[..usize::from(op.0.arity)].iter().map(|&arg| self.number(arg)).collect();
                    let function = self.function(name, args.len())?;
                    let call = self.pos.ins().call(function, &args);
                    let number = self.pos.func.dfg.inst_results(call).first().copied();
                    Known { number, until: u32::MAX, ..Known::default() }
                }
                Lowering::Expand(_) => return Err(JitError::Malformed(op.0.name.to_string())),
            },
        };
        self.know(id, known);
        Ok(())
    }

    fn found(&mut self, element: Element, used: Use) -> Result<Known, JitError> {
        if let Some(value) = element.access().and_then(|access| self.plan.kept_at(access)) {
            return self.kept_value(value);
        }
        let site = self.plan.site(element, used);
        let site = site.ok_or_else(without_place)?;
        Ok(self.element(site))
    }

    fn call(&mut self, primitive: Primitive, [a, b, c]: [NodeId; 3]) -> Known {
        let width = self.width;
        let logic = match primitive {
            Primitive::And => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some(self.pos.ins().band(a, b))
            }
            Primitive::Or => {
                let (a, b) = (self.truth(a), self.truth(b));
                Some(self.pos.ins().bor(a, b))
            }
            Primitive::Not => {
                let a = self.truth(a);
                Some(width.not(&mut self.pos, a))
            }
            _ => ops::comparison(primitive).map(|condition| {
                let (a, b) = (self.number(a), self.number(b));
                width.compare(&mut self.pos, condition, a, b)
            }),
        };
        let (mut number, truth) = (None, logic);
        if truth.is_none() {
            number = Some(if primitive == Primitive::Select {
                let (condition, b, c) = (self.truth(a), self.number(b), self.number(c));
                width.select(&mut self.pos, condition, b, c)
            } else {
                let (x, y) = (self.number(a), self.number(b));
                match primitive {
                    Primitive::Fma => {
                        let z = self.number(c);
                        self.pos.ins().fma(x, y, z)
                    }
                    _ => width.arithmetic(&mut self.pos, primitive, x, y),
                }
            });
        }
        match width {
            Width::One => Known { number, truth, until: u32::MAX, ..Known::default() },
            Width::Two => Known { pair: number, mask: truth, until: u32::MAX, ..Known::default() },
        }
    }

    fn function(&mut self, name: &'static str, arity: usize) -> Result<FuncRef, JitError> {
        if let Some(&(_, function)) = self.functions.iter().find(|known| known.0 == name) {
            return Ok(function);
        }
        let signature = self.abi.function(arity);
        let function = self.imports.function(self.pos.func, name, signature)?;
        self.functions.push((name, function));
        Ok(function)
    }

    /// The value of a loop's index: in both rounds, where there are two.
    fn index(&mut self, l: LoopId) -> Known {
        let first = self.word(self.plan.frame.index[l.0 as usize].first);
        let offset = match self.plan.indices[l.0 as usize] {
            Some(walk) => Some(self.listed(walk, 0)),
            None => self.rounds.iter().rfind(|round| round.counter == Counter::Loop(l)).map(|round| round.k),
        };
        let index = offset.map_or(first, |offset| self.pos.ins().iadd(first, offset));
        let number = self.pos.ins().fcvt_from_sint(types::F64, index);
        let moves = self.rounds.last().is_some_and(|round| round.counter == Counter::Loop(l));
        if self.width == Width::Two && moves {
            let both = self.pos.ins().splat(types::F64X2, number);
            let ahead = ops::pair(&mut self.pos, [0, 1.0f64.to_bits()]);
            let pair = self.pos.ins().fadd(both, ahead);
            return Known { pair: Some(pair), until: u32::MAX, ..Known::default() };
        }
        Known::number(number)
    }

    // Stores.

    fn store(&mut self, store: u32) -> Result<(), JitError> {
        let plan = self.plan;
        let row = plan.nest.stores[store as usize];
        if self.width == Width::One {
            let number = self.number(row.node);
            return self.store_round(store, 0, number);
        }
        let pair = self.number(row.node);
        let site = match row.target {
            Target::Set(access) => plan.site(access, Use::Result),
            Target::Add(_) | Target::Entry(..) => None,
        };
        match site {
            Some(site) if self.side_by_side(site) == Some(true) => {
                let (address, offset) = self.place(site, 0);
                self.pos.ins().store(MemFlagsData::new().with_notrap(), pair, address, offset);
            }
            _ => self.delayed.push((store, pair)),
        }
        Ok(())
    }

    /// Does the stores that wait, one round after the other.
    fn store_delayed(&mut self) -> Result<(), JitError> {
        let delayed = std::mem::take(&mut self.delayed);
        for round in 0..2 {
            for &(store, pair) in &delayed {
                let number = self.pos.ins().extractlane(pair, round as u8);
                self.store_round(store, round, number)?;
            }
        }
        Ok(())
    }

    fn store_round(&mut self, store: u32, ahead: u32, number: Value) -> Result<(), JitError> {
        let plan = self.plan;
        let flags = MemFlagsData::trusted();
        match plan.nest.stores[store as usize].target {
            Target::Set(access) => {
                let site = plan.site(access, Use::Result).ok_or_else(without_place)?;
                let (address, offset) = self.place(site, ahead);
                self.pos.ins().store(flags, number, address, offset);
            }
            Target::Add(access) => {
                let site = plan.site(access, Use::Result).ok_or_else(without_place)?;
                let (address, offset) = self.place(site, ahead);
                self.add_to(address, offset, number);
            }
            Target::Entry(..) => {
                let walk = plan.slots[store as usize].ok_or_else(without_place)?;
                let slot = self.listed(walk, ahead);
                let checked = plan.frame.slots[store as usize].as_ref().is_some_and(|slots| slots.checked);
                let (slot, number) = if checked {
                    // What is dropped adds -0, which changes no number, to the first entry: a jump for each entry would cut
                    // the code into blocks, between which no register keeps its value in a single pass.
                    let dropped = self.pos.ins().icmp_imm_u(IntCC::Equal, slot, i64::from(DROPPED));
                    let first = self.pos.ins().iconst(types::I64, 0);
                    let nothing = Width::One.constant(&mut self.pos, -0.0);
                    let number = self.pos.ins().select(dropped, nothing, number);
                    (self.pos.ins().select(dropped, first, slot), number)
                } else {
                    (slot, number)
                };
                let bytes = self.pos.ins().ishl_imm_u(slot, 3);
                let address = self.pos.ins().iadd(self.args[OUT], bytes);
                self.add_to(address, 0, number);
            }
        }
        Ok(())
    }

    fn add_to(&mut self, address: Value, offset: i32, number: Value) {
        let flags = MemFlagsData::trusted();
        let old = self.pos.ins().load(types::F64, flags, address, offset);
        let sum = self.pos.ins().fadd(old, number);
        self.pos.ins().store(flags, sum, address, offset);
    }

    // Loops.

    fn block(&mut self, parameters: &[Type]) -> Block {
        let block = self.pos.func.dfg.make_block();
        for &ty in parameters {
            self.pos.func.dfg.append_block_param(block, ty);
        }
        block
    }

    /// Continues in a block; gives its parameters.
    fn enter(&mut self, block: Block) -> Vec<Value> {
        self.pos.insert_block(block);
        self.pos.func.dfg.block_params(block).to_vec()
    }

    fn run(&mut self, body: &Body) -> Result<(), JitError> {
        let plan = self.plan;
        let mark = self.undo.len();
        let [direct, nested] = plan.walks_of(&body.steps);
        for &walk in direct.iter().chain(&nested) {
            self.start(walk);
        }
        let innermost = !body.steps.iter().any(|step| matches!(step, Step::Loop(_)));
        if innermost {
            for &walk in &direct {
                for &(counter, stride) in &plan.walks[walk as usize].strides {
                    if let (true, Stride::Word(word)) = (counter == body.counter, stride) {
                        let stride = Some(self.stride(walk, word));
                        let reached = Reached { stride, ..self.reached[walk as usize].clone() };
                        self.reach(walk, reached);
                    }
                }
            }
        }
        let rounds = self.word(plan.count(body.counter));
        let mut state = self.fold_start(body);
        let zero = self.pos.ins().iconst(types::I64, 0);
        let mut from = zero;
        if innermost && plan.pairs(body) {
            (from, state) = self.run_pairs(body, rounds, state)?;
        } else if innermost {
            self.keep(body);
        }
        let state = self.run_rounds(body, [from, rounds], &state, &nested)?;
        self.forget(mark);
        self.fold_end(body, &state);
        Ok(())
    }

    /// Makes what an innermost loop uses and does not compute ready before it.
    fn keep(&mut self, body: &Body) {
        let plan = self.plan;
        let computed = Plan::computed(body);
        let mut kept = 0;
        let mut keep = |writer: &mut Self, node: NodeId| {
            let constant = plan.nest.graph.as_constant(node).is_some();
            if computed.contains(&node) || if constant { kept >= MAX_KEPT } else { writer.width == Width::One } {
                return;
            }
            kept += usize::from(constant);
            writer.number(node);
            let known = Known { until: u32::MAX, ..writer.known[node.index()] };
            writer.know(node, known);
        };
        for step in &body.steps {
            match step {
                Step::Compute(node) => {
                    plan.nest.graph.node(*node).operands().iter().for_each(|&operand| keep(self, operand));
                }
                Step::Store(store) => keep(self, plan.nest.stores[*store as usize].node),
                Step::Loop(_) => {}
            }
        }
        for &fold in &body.folds {
            if let Node::Fold(_, _, term) = plan.nest.graph.node(fold) {
                keep(self, term);
            }
        }
    }

    /// The rounds from a first one, one by one; gives the state of the folds at the end.
    fn run_rounds(
        &mut self,
        body: &Body,
        [from, rounds]: [Value; 2],
        state: &[Value],
        nested: &[u32],
    ) -> Result<Vec<Value>, JitError> {
        let plan = self.plan;
        let types = vec![types::F64; state.len()];
        let (inside, after) = (self.block(&[&[types::I64], &types[..]].concat()), self.block(&types));
        let any = self.pos.ins().icmp(IntCC::SignedLessThan, from, rounds);
        self.pos.ins().brif(any, inside, &arguments(&[&[from], state].concat()), after, &arguments(state));
        let parameters = self.enter(inside);
        let mark = self.undo.len();
        let k = parameters[0];
        self.rounds.push(Round { counter: body.counter, k });
        // Walks of the loops inside go along with this one.
        for &walk in nested {
            if plan.walks[walk as usize].moves(body.counter) {
                let (address, _) = self.address(walk, 0);
                let mut reached = self.reached[walk as usize].clone();
                reached.address = Some(address);
                reached.done.push(body.counter);
                self.reach(walk, reached);
            }
        }
        self.steps(&body.steps)?;
        let state = self.fold_round(body, &parameters[1..], k);
        self.rounds.pop();
        let next = self.pos.ins().iadd_imm_u(k, 1);
        let again = self.pos.ins().icmp(IntCC::SignedLessThan, next, rounds);
        self.pos.ins().brif(again, inside, &arguments(&[&[next], &state[..]].concat()), after, &arguments(&state));
        self.forget(mark);
        Ok(self.enter(after))
    }

    /// Two rounds at a time, as long as there are two; gives the next round and the state of the folds before it.
    fn run_pairs(&mut self, body: &Body, rounds: Value, state: Vec<Value>) -> Result<(Value, Vec<Value>), JitError> {
        let outside = self.undo.len();
        self.width = Width::Two;
        self.keep(body);
        let state = self.paired(body, state);
        let types: Vec<Type> = state.iter().map(|&value| self.pos.func.dfg.value_type(value)).collect();
        let end = self.pos.ins().band_imm_s(rounds, -2);
        let zero = self.pos.ins().iconst(types::I64, 0);
        let (inside, after) = (self.block(&[&[types::I64], &types[..]].concat()), self.block(&types));
        let any = self.pos.ins().icmp(IntCC::SignedLessThan, zero, end);
        self.pos.ins().brif(any, inside, &arguments(&[&[zero], &state[..]].concat()), after, &arguments(&state));
        let parameters = self.enter(inside);
        let k = parameters[0];
        let mark = self.undo.len();
        self.rounds.push(Round { counter: body.counter, k });
        self.steps(&body.steps)?;
        self.store_delayed()?;
        let state = self.fold_round(body, &parameters[1..], k);
        self.rounds.pop();
        let next = self.pos.ins().iadd_imm_u(k, 2);
        let again = self.pos.ins().icmp(IntCC::SignedLessThan, next, end);
        self.pos.ins().brif(again, inside, &arguments(&[&[next], &state[..]].concat()), after, &arguments(&state));
        self.forget(mark);
        let state = self.enter(after);
        self.width = Width::One;
        self.forget(outside);
        let state = self.unpaired(body, state);
        Ok((end, state))
    }
}

/// What planning makes sure of: an error of this program, not of a model.
fn without_place() -> JitError {
    JitError::Malformed("an element that has no place".to_string())
}

//! Kernels of a program as C: extents, strides and positions of its binding are numbers and lists in the source. A kernel
//! without loops is a list of statements.

use std::fmt::Write;

use odec_ir::nest::bind::{ListId, Words};
use odec_ir::nest::frame::{Counter, DROPPED, Frame, Stride};
use odec_ir::nest::schedule::{Body, LoopFold, Schedule, Step};
use odec_ir::nest::{Element, Fold, Kernel, LoopId, Store, Target};
use odec_ir::{KernelRole, Layout, Lowering, Malformed, Node, NodeId, Op, Primitive, Program, Role, broken, expand};

use crate::c::{self, Operands};
use crate::literal;

/// What the name of a list begins with; its number follows.
pub(crate) const LIST: &str = "list_";

/// A kernel being written.
pub(crate) struct Writer<'a> {
    program: &'a Program,
    layout: &'a Layout,
    nest: Kernel,
    frame: Frame,
    schedule: Schedule,
    /// The words of the frame.
    words: Words<'a>,
    /// Where the lists of this run begin among those of the file.
    lists: usize,
    /// By node: whether it is a truth value.
    truth: Vec<bool>,
}

impl Operands for Writer<'_> {
    type Id = NodeId;

    /// A node as a double.
    fn number(&self, id: NodeId) -> String {
        match self.nest.graph.node(id) {
            Node::Constant(bits) => literal::number(f64::from_bits(bits)),
            Node::Time => "t".to_string(),
            Node::Read(element @ Element::Scalar(_)) => self.read(element),
            Node::Direction(element @ Element::Scalar(_)) => format!("w[{}]", self.position(element)),
            _ if self.truth[id.index()] => format!("(double)v{}", id.0),
            _ => format!("v{}", id.0),
        }
    }

    fn condition(&self, id: NodeId) -> String {
        if self.truth[id.index()] { format!("v{}", id.0) } else { format!("({} != 0.0)", self.number(id)) }
    }
}

impl<'a> Writer<'a> {
    /// Of a kernel with the words of its frame.
    pub(crate) fn new(
        program: &'a Program,
        layout: &'a Layout,
        given: &Kernel,
        words: Words<'a>,
        lists: usize,
    ) -> Writer<'a> {
        let nest = expand::expanded(given);
        let truth = nest.graph.nodes().iter().map(|node| matches!(node, Node::Call(op, _) if c::is_truth(*op)));
        let truth = truth.collect();
        Writer { program, layout, frame: Frame::of(given), schedule: Schedule::of(&nest), nest, words, lists, truth }
    }

    /// The builtins that it calls.
    pub(crate) fn calls(&self) -> Vec<Op> {
        let live = self.nest.graph.reachable(self.nest.stores.iter().map(|store| store.node));
        let nodes = self.nest.graph.nodes().iter().zip(live).filter(|(_, live)| *live);
        let mut calls: Vec<Op> =
            nodes.filter_map(|(node, _)| if let Node::Call(op, _) = node { Some(*op) } else { None }).collect();
        let folds = self.nest.graph.nodes().iter();
        let extremum = |fold: &Node| match fold {
            Node::Fold(Fold::Min, ..) => odec_ir::builtin::find("min"),
            Node::Fold(Fold::Max, ..) => odec_ir::builtin::find("max"),
            _ => None,
        };
        calls.extend(folds.filter_map(extremum));
        calls
    }

    /// Writes its statements: with loops in a block of their own, without them followed by zeros for what it does not store.
    ///
    /// # Errors
    /// A read of what is no input or a store without a place, which lowering never makes.
    pub(crate) fn write(&self, text: &mut String, names: &[String]) -> Result<(), Malformed> {
        for (_, node) in self.nest.live() {
            if let Node::Read(element) | Node::Direction(element) = node {
                let array = &self.program.arrays[self.nest.array(element).0 as usize];
                if matches!(array.role, Role::Output | Role::Conserved | Role::Expected) {
                    return Err(Malformed::NotReadable(array.name.clone()));
                }
            }
        }
        if !self.nest.is_straight() {
            text.push_str("    {\n");
            self.steps(text, names, &self.schedule.steps, 2)?;
            text.push_str("    }\n");
            return Ok(());
        }
        self.steps(text, names, &self.schedule.steps, 1)?;
        let role = self.nest.role;
        let mut stored = vec![role == KernelRole::Prepare; self.layout.out_len(self.program, role)];
        for &store in &self.nest.stores {
            stored[self.slot(store)?] = true;
        }
        for slot in (0..stored.len()).filter(|&slot| !stored[slot]) {
            let _ = writeln!(text, "    out[{slot}] = 0.0;");
        }
        Ok(())
    }

    /// Where a kernel without loops stores a value.
    fn slot(&self, store: Store) -> Result<usize, Malformed> {
        let role = self.nest.role;
        let slot = self.layout.slot(self.program, role, store.target);
        slot.filter(|&slot| slot < self.layout.out_len(self.program, role)).ok_or(Malformed::NoSlot(role))
    }

    /// An element of an input.
    fn read(&self, element: Element) -> String {
        let role = self.program.arrays[self.nest.array(element).0 as usize].role;
        let states = matches!(role, Role::Position | Role::Velocity | Role::FirstOrder);
        format!("{}[{}]", if states { "y" } else { "p" }, self.position(element))
    }

    fn steps(&self, text: &mut String, names: &[String], steps: &[Step], depth: usize) -> Result<(), Malformed> {
        let indent = "    ".repeat(depth);
        for step in steps {
            match step {
                Step::Compute(id) => self.compute(text, *id, &indent),
                Step::Store(store) => self.store(text, names, *store, &indent)?,
                Step::Loop(body) => self.run(text, names, body, depth)?,
            }
        }
        Ok(())
    }

    fn compute(&self, text: &mut String, id: NodeId, indent: &str) {
        let value = match self.nest.graph.node(id) {
            node @ (Node::Constant(_) | Node::Time | Node::Fold(..)) => broken(&format!("a step computes {node:?}")),
            Node::Index(l) => format!("(double){}", self.index(l)),
            Node::Read(element) => self.read(element),
            Node::Direction(element) => format!("w[{}]", self.position(element)),
            Node::Call(op, args) => c::call(self, op, args),
        };
        let kind = if self.truth[id.index()] { "int" } else { "double" };
        let _ = writeln!(text, "{indent}const {kind} v{} = {value};", id.0);
    }

    fn store(&self, text: &mut String, names: &[String], k: u32, indent: &str) -> Result<(), Malformed> {
        let store = self.nest.stores[k as usize];
        let value = self.number(store.node);
        let _ = match store.target {
            Target::Set(Element::Scalar(_)) | Target::Entry(Element::Scalar(_), _) => {
                let slot = self.slot(store)?;
                let name = names.get(slot).map_or(String::new(), |name| format!(" /* {} */", literal::comment(name)));
                writeln!(text, "{indent}out[{slot}] = {value};{name}")
            }
            Target::Set(element) => writeln!(text, "{indent}out[{}] = {value};", self.position(element)),
            Target::Add(element) => writeln!(text, "{indent}out[{}] += {value};", self.position(element)),
            Target::Entry(..) => {
                let slots = self.frame.slots_of(k as usize);
                let slot = format!("{}[{}]", self.list(slots.list), self.offset(0, &slots.strides));
                if slots.checked {
                    writeln!(text, "{indent}if ({slot} >= 0) out[{slot}] += {value};")
                } else {
                    writeln!(text, "{indent}out[{slot}] += {value};")
                }
            }
        };
        Ok(())
    }

    fn run(&self, text: &mut String, names: &[String], body: &Body, depth: usize) -> Result<(), Malformed> {
        let (indent, k) = ("    ".repeat(depth), counter(body.counter));
        for fold in &body.folds {
            self.begin(text, fold, &indent);
        }
        let rounds = self.words.integer(self.frame.rounds(body.counter));
        let _ = writeln!(text, "{indent}for (int32_t {k} = 0; {k} < {rounds}; {k}++) {{");
        self.steps(text, names, &body.steps, depth + 1)?;
        for fold in &body.folds {
            self.take(text, fold, &k, &"    ".repeat(depth + 1));
        }
        let _ = writeln!(text, "{indent}}}");
        for &LoopFold { node: NodeId(id), fold, .. } in &body.folds {
            let _ = match fold {
                Fold::Sum => writeln!(text, "{indent}const double v{id} = (a{id} + c{id}) + (b{id} + d{id});"),
                Fold::Product => writeln!(text, "{indent}const double v{id} = (a{id} * c{id}) * (b{id} * d{id});"),
                Fold::Min | Fold::Max => writeln!(text, "{indent}const double v{id} = a{id};"),
                Fold::ArgMin | Fold::ArgMax => writeln!(text, "{indent}const double v{id} = (double)b{id};"),
            };
        }
        Ok(())
    }

    /// The variables of a fold before its loop.
    fn begin(&self, text: &mut String, &LoopFold { node: NodeId(id), fold, over, .. }: &LoopFold, indent: &str) {
        let before = self.words.integer(self.frame.index[over.0 as usize].first) - 1;
        let extremum =
            if matches!(fold, Fold::Min | Fold::ArgMin) { "(double)INFINITY" } else { "(-(double)INFINITY)" };
        let _ = match fold {
            Fold::Sum => writeln!(text, "{indent}double a{id} = 0.0, b{id} = 0.0, c{id} = 0.0, d{id} = 0.0;"),
            Fold::Product => writeln!(text, "{indent}double a{id} = 1.0, b{id} = 1.0, c{id} = 1.0, d{id} = 1.0;"),
            Fold::Min | Fold::Max => writeln!(text, "{indent}double a{id} = {extremum};"),
            Fold::ArgMin | Fold::ArgMax => {
                writeln!(text, "{indent}double a{id} = {extremum};\n{indent}int32_t b{id} = {before};")
            }
        };
    }

    /// Takes in the term of a round.
    fn take(
        &self,
        text: &mut String,
        &LoopFold { node: NodeId(id), fold, over, term }: &LoopFold,
        k: &str,
        indent: &str,
    ) {
        let term = self.number(term);
        let first = self.words.integer(self.frame.index[over.0 as usize].first);
        let sign = if fold == Fold::Sum { '+' } else { '*' };
        let stays = if fold == Fold::ArgMin { "<=" } else { ">=" };
        let _ = match fold {
            // The partial result of the next term is the first one.
            Fold::Sum | Fold::Product => writeln!(
                text,
                "{indent}const double n{id} = a{id} {sign} {term};\n\
                 {indent}a{id} = b{id}; b{id} = c{id}; c{id} = d{id}; d{id} = n{id};"
            ),
            Fold::Min => writeln!(text, "{indent}a{id} = least(a{id}, {term});"),
            Fold::Max => writeln!(text, "{indent}a{id} = greatest(a{id}, {term});"),
            Fold::ArgMin | Fold::ArgMax => writeln!(
                text,
                "{indent}if (!(a{id} {stays} {term} || a{id} != a{id})) {{ a{id} = {term}; b{id} = {k} + {first}; }}"
            ),
        };
    }

    /// The name of a list in the file.
    fn list(&self, word: u32) -> String {
        let ListId(id) = self.words.list_id(word);
        format!("{LIST}{}", self.lists + id as usize)
    }

    /// The value of a loop's index, an integer.
    fn index(&self, l: LoopId) -> String {
        let place = self.frame.index[l.0 as usize];
        let first = self.words.integer(place.first);
        let offset = match place.list {
            Some(list) => format!("{}[{}]", self.list(list), counter(Counter::Points)),
            None => counter(Counter::Loop(l)),
        };
        match first {
            0 => offset,
            first if first < 0 => format!("({offset} - {})", -first),
            first => format!("({offset} + {first})"),
        }
    }

    fn position(&self, element: Element) -> String {
        let access = match element {
            Element::Scalar(array) => return self.layout.start(array).to_string(),
            Element::At(access) => access,
        };
        let place = self.frame.place(access);
        let base = self.words.integer(place.base);
        match place.list {
            None => self.offset(base, &place.strides),
            Some(list) => {
                let element = format!("{}[{}]", self.list(list), self.offset(0, &place.strides));
                if base == 0 { element } else { format!("{base} + {element}") }
            }
        }
    }

    /// A base and strides, without terms that are zero.
    fn offset(&self, base: i64, strides: &[(Counter, Stride)]) -> String {
        let mut text = if base == 0 { String::new() } else { base.to_string() };
        for &(c, stride) in strides {
            let stride = self.words.stride(stride);
            let sign = match (stride < 0, text.is_empty()) {
                (true, true) => "-",
                (true, false) => " - ",
                (false, true) => "",
                (false, false) => " + ",
            };
            match stride.abs() {
                0 => {}
                1 => text += &format!("{sign}{}", counter(c)),
                size => text += &format!("{sign}{size}*{}", counter(c)),
            }
        }
        if text.is_empty() { "0".to_string() } else { text }
    }
}

/// The variable of a counter.
fn counter(counter: Counter) -> String {
    match counter {
        Counter::Points => "k".to_string(),
        Counter::Loop(l) => format!("k{}", l.0),
    }
}

/// The elements of a list; entries that do not exist become -1.
pub(crate) fn elements(list: &[u32]) -> Vec<i32> {
    list.iter().map(|&x| if x == DROPPED { -1 } else { x as i32 }).collect()
}

/// True for a builtin that the file calls through a pointer.
pub(crate) fn library(op: Op) -> Option<(&'static str, u8)> {
    match op.0.lowering {
        Lowering::Libm(name) => Some((name, op.0.arity)),
        _ => None,
    }
}

/// True for a builtin that is this operation.
pub(crate) fn is(op: Op, primitive: Primitive) -> bool {
    op.primitive() == Some(primitive)
}

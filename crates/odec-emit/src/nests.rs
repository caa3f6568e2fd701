//! Kernels of a program as C: the extents, strides and offset tables of its binding become numbers and arrays in the
//! source. A kernel without loops is a list of statements.

use std::fmt::Write;

use odec_ir::nest::arguments::{ArgumentBlock, Counter, DROPPED, Stride};
use odec_ir::nest::bind::{TableId, Words};
use odec_ir::nest::schedule::{Body, LoopReduction, Schedule, Step};
use odec_ir::nest::{Element, Kernel, LoopId, ReduceOp, Store, Target};
use odec_ir::{KernelRole, Layout, Lowering, Malformed, Node, NodeId, Op, Primitive, Program, Role, broken, expand};

use crate::c::{self, Operands};
use crate::literal;

/// Prefix of the names of offset tables; the number follows.
pub(crate) const TABLE: &str = "list_";

/// A kernel being written.
pub(crate) struct KernelWriter<'a> {
    program: &'a Program,
    layout: &'a Layout,
    nest: Kernel,
    arguments: ArgumentBlock,
    schedule: Schedule,
    /// The words of the argument block.
    words: Words<'a>,
    /// Number of the first offset table of this run in the file.
    tables: usize,
    /// For each node: true if it is a truth value.
    truth: Vec<bool>,
    /// For each node: true if it only gives the position of a table, so that its value is unused.
    places: Vec<bool>,
}

impl Operands for KernelWriter<'_> {
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

impl<'a> KernelWriter<'a> {
    /// Prepares a kernel with the words of its argument block.
    pub(crate) fn new(
        program: &'a Program,
        layout: &'a Layout,
        given: &Kernel,
        words: Words<'a>,
        tables: usize,
    ) -> KernelWriter<'a> {
        let nest = expand::expanded(given);
        let truth = nest.graph.nodes().iter().map(|node| matches!(node, Node::Call(op, _) if c::is_truth(*op)));
        let truth = truth.collect();
        let places = places(&nest);
        KernelWriter {
            program,
            layout,
            arguments: ArgumentBlock::of(given),
            schedule: Schedule::of(&nest),
            nest,
            words,
            tables,
            truth,
            places,
        }
    }

    /// The builtins in the kernel.
    pub(crate) fn calls(&self) -> Vec<Op> {
        let live = self.nest.graph.reachable(self.nest.stores.iter().map(|store| store.node));
        let nodes = self.nest.graph.nodes().iter().zip(live).filter(|(_, live)| *live);
        let mut calls: Vec<Op> =
            nodes.filter_map(|(node, _)| if let Node::Call(op, _) = node { Some(*op) } else { None }).collect();
        let reductions = self.nest.graph.nodes().iter();
        let extremum = |reduction: &Node| match reduction {
            Node::Reduce(ReduceOp::Min, ..) => odec_ir::builtin::find("min"),
            Node::Reduce(ReduceOp::Max, ..) => odec_ir::builtin::find("max"),
            _ => None,
        };
        calls.extend(reductions.filter_map(extremum));
        calls
    }

    /// Writes the statements of the kernel: with loops, in a block; without loops, followed by zeros for elements
    /// that it does not store.
    ///
    /// # Errors
    /// A read of a quantity that is not an input, or a store without a position; lowering never produces either.
    pub(crate) fn write(&self, text: &mut String, names: &[String]) -> Result<(), Malformed> {
        for (_, node) in self.nest.live() {
            if let Node::Read(element) | Node::Direction(element) = node {
                let array = &self.program.arrays[self.nest.array(element).0 as usize];
                if matches!(array.role, Role::Output | Role::Conserved | Role::Expected) {
                    return Err(Malformed::NotReadable(array.name.clone()));
                }
            }
        }
        if !self.nest.is_scalar() {
            text.push_str("    {\n");
            self.steps(text, names, &self.schedule.steps, 2)?;
            text.push_str("    }\n");
            return Ok(());
        }
        self.steps(text, names, &self.schedule.steps, 1)?;
        let role = self.nest.role;
        let mut stored = vec![role == KernelRole::Prepare; self.layout.out_len(self.program, role)];
        for &store in &self.nest.stores {
            stored[self.stored_at(store)?] = true;
        }
        for entry in (0..stored.len()).filter(|&entry| !stored[entry]) {
            let _ = writeln!(text, "    out[{entry}] = 0.0;");
        }
        Ok(())
    }

    /// The position at which a kernel without loops stores a value.
    fn stored_at(&self, store: Store) -> Result<usize, Malformed> {
        let role = self.nest.role;
        let entry = self.layout.position(self.program, role, store.target);
        entry.filter(|&entry| entry < self.layout.out_len(self.program, role)).ok_or(Malformed::NoElement(role))
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
                Step::Compute(id) if self.places[id.index()] => {}
                Step::Compute(id) => self.compute(text, *id, &indent),
                Step::Store(store) => self.store(text, names, *store, &indent)?,
                Step::Loop(body) => self.run(text, names, body, depth)?,
            }
        }
        Ok(())
    }

    fn compute(&self, text: &mut String, id: NodeId, indent: &str) {
        let value = match self.nest.graph.node(id) {
            node @ (Node::Constant(_) | Node::Time | Node::Reduce(..)) => broken(&format!("a step computes {node:?}")),
            Node::Index(l) => format!("(double){}", self.index(l)),
            Node::Read(element) => self.read(element),
            Node::Direction(element) => format!("w[{}]", self.position(element)),
            Node::Call(op, args) => match self.nest.graph.lookup(id) {
                Some((lookup, table, argument, length)) => {
                    format!(
                        "{}(&{}, {length}, {})",
                        c::lookup_function(lookup),
                        self.read(table),
                        self.number(argument)
                    )
                }
                None => c::call(self, op, args),
            },
        };
        let kind = if self.truth[id.index()] { "int" } else { "double" };
        let _ = writeln!(text, "{indent}const {kind} v{} = {value};", id.0);
    }

    fn store(&self, text: &mut String, names: &[String], k: u32, indent: &str) -> Result<(), Malformed> {
        let store = self.nest.stores[k as usize];
        let value = self.number(store.node);
        let _ = match store.target {
            Target::Set(Element::Scalar(_)) | Target::Entry(Element::Scalar(_), _) => {
                let entry = self.stored_at(store)?;
                let name = names.get(entry).map_or(String::new(), |name| format!(" /* {} */", literal::comment(name)));
                writeln!(text, "{indent}out[{entry}] = {value};{name}")
            }
            Target::Set(element) => writeln!(text, "{indent}out[{}] = {value};", self.position(element)),
            Target::Add(element) => writeln!(text, "{indent}out[{}] += {value};", self.position(element)),
            Target::Entry(..) => {
                let entries = self.arguments.entries_of(k as usize);
                let entry = format!("{}[{}]", self.table(entries.table), self.offset(0, &entries.strides));
                if entries.checked {
                    writeln!(text, "{indent}if ({entry} >= 0) out[{entry}] += {value};")
                } else {
                    writeln!(text, "{indent}out[{entry}] += {value};")
                }
            }
        };
        Ok(())
    }

    fn run(&self, text: &mut String, names: &[String], body: &Body, depth: usize) -> Result<(), Malformed> {
        let (indent, k) = ("    ".repeat(depth), counter(body.counter));
        for reduction in &body.reductions {
            self.begin(text, reduction, &indent);
        }
        let rounds = self.words.integer(self.arguments.rounds(body.counter));
        let _ = writeln!(text, "{indent}for (int32_t {k} = 0; {k} < {rounds}; {k}++) {{");
        self.steps(text, names, &body.steps, depth + 1)?;
        for reduction in &body.reductions {
            self.take(text, reduction, &k, &"    ".repeat(depth + 1));
        }
        let _ = writeln!(text, "{indent}}}");
        for &LoopReduction { node: NodeId(id), reduction, .. } in &body.reductions {
            let _ = match reduction {
                ReduceOp::Sum => writeln!(text, "{indent}const double v{id} = (a{id} + c{id}) + (b{id} + d{id});"),
                ReduceOp::Product => writeln!(text, "{indent}const double v{id} = (a{id} * c{id}) * (b{id} * d{id});"),
                ReduceOp::Min | ReduceOp::Max => writeln!(text, "{indent}const double v{id} = a{id};"),
                ReduceOp::ArgMin | ReduceOp::ArgMax => writeln!(text, "{indent}const double v{id} = (double)b{id};"),
            };
        }
        Ok(())
    }

    /// Declares the variables of a reduction before its loop.
    fn begin(
        &self,
        text: &mut String,
        &LoopReduction { node: NodeId(id), reduction, over, .. }: &LoopReduction,
        indent: &str,
    ) {
        let before = self.words.integer(self.arguments.index[over.0 as usize].first) - 1;
        let extremum = if matches!(reduction, ReduceOp::Min | ReduceOp::ArgMin) {
            "(double)INFINITY"
        } else {
            "(-(double)INFINITY)"
        };
        let _ = match reduction {
            ReduceOp::Sum => writeln!(text, "{indent}double a{id} = 0.0, b{id} = 0.0, c{id} = 0.0, d{id} = 0.0;"),
            ReduceOp::Product => writeln!(text, "{indent}double a{id} = 1.0, b{id} = 1.0, c{id} = 1.0, d{id} = 1.0;"),
            ReduceOp::Min | ReduceOp::Max => writeln!(text, "{indent}double a{id} = {extremum};"),
            ReduceOp::ArgMin | ReduceOp::ArgMax => {
                writeln!(text, "{indent}double a{id} = {extremum};\n{indent}int32_t b{id} = {before};")
            }
        };
    }

    /// Combines the term of a round.
    fn take(
        &self,
        text: &mut String,
        &LoopReduction { node: NodeId(id), reduction, over, term }: &LoopReduction,
        k: &str,
        indent: &str,
    ) {
        let term = self.number(term);
        let first = self.words.integer(self.arguments.index[over.0 as usize].first);
        let sign = if reduction == ReduceOp::Sum { '+' } else { '*' };
        let stays = if reduction == ReduceOp::ArgMin { "<=" } else { ">=" };
        let _ = match reduction {
            // The partial results rotate, so that the first one is for the next term.
            ReduceOp::Sum | ReduceOp::Product => writeln!(
                text,
                "{indent}const double n{id} = a{id} {sign} {term};\n\
                 {indent}a{id} = b{id}; b{id} = c{id}; c{id} = d{id}; d{id} = n{id};"
            ),
            ReduceOp::Min => writeln!(text, "{indent}a{id} = least(a{id}, {term});"),
            ReduceOp::Max => writeln!(text, "{indent}a{id} = greatest(a{id}, {term});"),
            ReduceOp::ArgMin | ReduceOp::ArgMax => writeln!(
                text,
                "{indent}if (!(a{id} {stays} {term} || a{id} != a{id})) {{ a{id} = {term}; b{id} = {k} + {first}; }}"
            ),
        };
    }

    /// The name of an offset table.
    fn table(&self, word: u32) -> String {
        let TableId(id) = self.words.table_id(word);
        format!("{TABLE}{}", self.tables + id as usize)
    }

    /// The index of a loop, as an integer.
    fn index(&self, l: LoopId) -> String {
        let place = self.arguments.index[l.0 as usize];
        let first = self.words.integer(place.first);
        let offset = match place.table {
            Some(table) => format!("{}[{}]", self.table(table), counter(Counter::Points)),
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
        let place = self.arguments.address(access);
        let base = self.words.integer(place.base);
        match place.table {
            None => self.offset(base, &place.strides),
            Some(table) => {
                let element = format!("{}[{}]", self.table(table), self.offset(0, &place.strides));
                if base == 0 { element } else { format!("{base} + {element}") }
            }
        }
    }

    /// A base plus strides, without zero terms.
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

/// The elements of an offset table; -1 for entries that do not exist.
pub(crate) fn elements(table: &[u32]) -> Vec<i32> {
    table.iter().map(|&x| if x == DROPPED { -1 } else { x as i32 }).collect()
}

/// For each node: true if only lookups read it, as the start of a table.
fn places(nest: &Kernel) -> Vec<bool> {
    let (mut tables, mut values) = (vec![false; nest.graph.len()], vec![false; nest.graph.len()]);
    for store in &nest.stores {
        values[store.node.index()] = true;
    }
    for (id, node) in nest.live() {
        let table = usize::from(nest.graph.lookup(id).is_some());
        for (k, operand) in node.operands().iter().enumerate() {
            if k < table {
                tables[operand.index()] = true;
            } else {
                values[operand.index()] = true;
            }
        }
    }
    tables.iter().zip(&values).map(|(table, value)| *table && !value).collect()
}

/// The library function that the file calls through a pointer for a builtin, if any, and its number of arguments.
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

//! Writing the text form.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

use super::nests::{FOLDS, Labels, PARTS, labels};
use super::{KERNELS, ROLES, is_output, is_word};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{self, Access, AccessId, Nest};
use crate::program::{Array, ArrayId, Kernel, Program, Role, Target};
use crate::span::Span;

/// Column of the source ranges.
const SPAN_COLUMN: usize = 40;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {}", name(&self.name))?;
        // A nest lists what it reads and what it stores together.
        let arrays = match self.has_loops() {
            true => labels(self.arrays.iter().map(|a| a.name.as_str())),
            false => names(&self.arrays),
        };
        let mut labels = Labels { arrays, ..Labels::default() };
        labels.of_axes(&self.axes, &self.extents);
        for extent in &self.extents {
            let line = format!("extent {} = {}", name(&extent.text), extent.value);
            write_line(f, line, &[extent.span])?;
        }
        for axis in &self.axes {
            let [first, last] = [&axis.first, &axis.last].map(|end| labels.affine(end));
            write_line(f, format!("axis {} = {first} .. {last}", name(&axis.name)), &[axis.span])?;
        }
        for array in &self.arrays {
            write_array(f, array, &labels)?;
        }
        for kernel in &self.kernels {
            write_kernel(f, kernel, &labels)?;
        }
        for nest in &self.nests {
            write_nest(f, nest, &mut labels)?;
        }
        Ok(())
    }
}

/// How each array is referred to.
fn names(arrays: &[Array]) -> Vec<String> {
    let mut uses: HashMap<(bool, &str), usize> = HashMap::new();
    for array in arrays {
        *uses.entry((is_output(array.role), array.name.as_str())).or_default() += 1;
    }
    let name = |(i, a): (usize, &Array)| match uses.get(&(is_output(a.role), a.name.as_str())) {
        Some(1) if is_word(&a.name) => a.name.clone(),
        _ => format!("#{i}"),
    };
    arrays.iter().enumerate().map(name).collect()
}

/// A finite number as the shortest decimal; NaN with its bits unless it is the usual one.
pub(super) fn number(x: f64) -> String {
    match x {
        _ if x.to_bits() == f64::NAN.to_bits() => "nan".into(),
        _ if x.is_nan() => format!("nan:{:016x}", x.to_bits()),
        _ => format!("{x:?}").trim_end_matches(".0").into(),
    }
}

fn write_spans(line: &mut String, spans: &[Span]) -> fmt::Result {
    if spans.is_empty() {
        return Ok(());
    }
    let width = line.chars().count();
    write!(line, "{:1$}@", "", SPAN_COLUMN.saturating_sub(width).max(1))?;
    for span in spans {
        match span.file {
            0 => write!(line, " {}..{}", span.start, span.end)?,
            file => write!(line, " {file}:{}..{}", span.start, span.end)?,
        }
    }
    Ok(())
}

/// A word as it is, everything else in quotation marks.
fn name(text: &str) -> String {
    if is_word(text) { text.to_string() } else { format!("{text:?}") }
}

/// A line with its source ranges, apart from one that says nothing.
fn write_line(f: &mut Formatter<'_>, mut line: String, spans: &[Span]) -> fmt::Result {
    if spans != [Span::default()] {
        write_spans(&mut line, spans)?;
    }
    writeln!(f, "{line}")
}

fn write_array(f: &mut Formatter<'_>, array: &Array, labels: &Labels) -> fmt::Result {
    let role = ROLES.iter().find(|(r, _)| *r == array.role).map_or("", |(_, text)| text);
    let mut line = format!("{role} {}", name(&array.name));
    if !array.axes.is_empty() {
        let axes: Vec<&str> = array.axes.iter().map(|&a| labels.axis(a)).collect();
        write!(line, " [{}]", axes.join(","))?;
    }
    if array.role == Role::Parameter || array.default.to_bits() != 0 {
        write!(line, " = {}", number(array.default))?;
    }
    if let Some(unit) = &array.unit {
        write!(line, " unit {unit:?}")?;
    }
    if let Some(doc) = &array.doc {
        write!(line, " doc {doc:?}")?;
    }
    if !array.data.is_empty() {
        line += " data";
        for &x in &array.data {
            write!(line, " {}", number(x))?;
        }
    }
    write_line(f, line, &[array.span])
}

/// A node of a kernel; of a nest with the accesses of its space; of its guards with `?` for `%`.
fn write_node(
    f: &mut Formatter<'_>,
    graph: &Graph,
    i: usize,
    sign: char,
    labels: &Labels,
    accesses: &[Access],
) -> fmt::Result {
    let node = graph.nodes()[i];
    let access = |a: AccessId| accesses.get(a.0 as usize).map_or_else(String::new, |a| labels.access(a));
    let mut line = format!("  {sign}{i} = ");
    match node {
        Node::Constant(bits) => line += &number(f64::from_bits(bits)),
        Node::Time => line += "time",
        Node::Read(array) => line += labels.array(array),
        Node::Direction(array) => write!(line, "w({})", labels.array(array))?,
        Node::Index(l) => write!(line, "index {}", labels.loop_(l))?,
        Node::Element(a) => line += &access(a),
        Node::DirectionElement(a) => write!(line, "w({})", access(a))?,
        Node::Fold(fold, over, term) => {
            let name = FOLDS.iter().find(|(f, _)| *f == fold).map_or("", |(_, text)| text);
            write!(line, "{name} {} {sign}{}", labels.loop_(over), term.0)?;
        }
        Node::Call(op, _) => {
            line += op.0.name;
            for a in node.operands() {
                write!(line, " {sign}{}", a.0)?;
            }
        }
    }
    write_spans(&mut line, graph.spans(NodeId(i as u32)))?;
    writeln!(f, "{line}")
}

/// Guards and accesses in the order in which they were made, then the nodes.
fn write_nest(f: &mut Formatter<'_>, nest: &Nest, labels: &mut Labels) -> fmt::Result {
    let role = KERNELS.iter().find(|(r, _)| *r == nest.role).map_or("", |(_, text)| text);
    let part = PARTS.iter().find(|(p, _)| *p == nest.part).map_or("", |(_, text)| text);
    writeln!(f, "nest {role} {part}")?;
    labels.of_loops(nest.space.loops());
    for l in nest.space.loops() {
        let [first, last] = [&l.first, &l.last].map(|end| labels.affine(end));
        write_line(f, format!("  loop {} = {first} .. {last}", name(&l.name)), &[l.span])?;
    }
    if !nest.iterates.is_empty() {
        let loops: Vec<&str> = nest.iterates.iter().map(|&l| labels.loop_(l)).collect();
        writeln!(f, "  over {}", loops.join(" "))?;
    }
    for margin in &nest.margins {
        writeln!(f, "  margin {} in {}", labels.affine(&margin.sub), labels.axis(margin.axis))?;
    }
    let accesses = nest.space.accesses();
    let guards = &nest.space.guards;
    let mut written = 0;
    for access in accesses {
        let end = access.guard.map_or(written, |g| written.max(g.index() + 1));
        for i in written..end {
            write_node(f, guards, i, '?', labels, accesses)?;
        }
        written = end;
        writeln!(f, "  access {}", labels.access(access))?;
    }
    for i in written..guards.len() {
        write_node(f, guards, i, '?', labels, accesses)?;
    }
    for i in 0..nest.graph.len() {
        write_node(f, &nest.graph, i, '%', labels, accesses)?;
    }
    let access = |a: AccessId| accesses.get(a.0 as usize).map_or_else(String::new, |a| labels.access(a));
    for store in &nest.stores {
        let node = store.node.0;
        match store.target {
            nest::Target::Set(a) => writeln!(f, "  {} = %{node}", access(a))?,
            nest::Target::Add(a) => writeln!(f, "  {} += %{node}", access(a))?,
            nest::Target::Entry(row, column) => writeln!(f, "  {} / {} += %{node}", access(row), access(column))?,
        }
    }
    Ok(())
}

fn write_kernel(f: &mut Formatter<'_>, kernel: &Kernel, labels: &Labels) -> fmt::Result {
    let role = KERNELS.iter().find(|(r, _)| *r == kernel.role).map_or("", |(_, text)| text);
    writeln!(f, "kernel {role}")?;
    let name = |a: ArrayId| labels.array(a);
    for i in 0..kernel.graph.len() {
        write_node(f, &kernel.graph, i, '%', labels, &[])?;
    }
    for store in &kernel.stores {
        match store.target {
            Target::Element(row) => writeln!(f, "  {} = %{}", name(row), store.node.0)?,
            Target::Entry(row, column) => writeln!(f, "  {} / {} = %{}", name(row), name(column), store.node.0)?,
        }
    }
    Ok(())
}

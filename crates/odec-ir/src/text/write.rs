//! Writing the text form.

use std::fmt::{self, Display, Formatter, Write};

use super::labels::{Labels, REDUCTIONS, REGIONS};
use super::{KERNELS, ROLES, is_word};
use crate::graph::{Graph, Node, NodeId};
use crate::nest::{Kernel, Region, Space, Target};
use crate::program::{Array, Program, Role};
use crate::span::Span;

/// Column of the source ranges.
const SPAN_COLUMN: usize = 40;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {}", name(&self.name))?;
        let mut labels = Labels::default();
        labels.of_arrays(&self.arrays);
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
            write_kernel(f, kernel, &mut labels)?;
        }
        Ok(())
    }
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

/// A word unchanged, any other text in quotation marks.
fn name(text: &str) -> String {
    if is_word(text) { text.to_string() } else { format!("{text:?}") }
}

/// A line with its source ranges, except for an empty range.
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
        for &x in array.data.iter() {
            write!(line, " {}", number(x))?;
        }
    }
    write_line(f, line, &[array.span])
}

/// A node of a kernel with the accesses of its space; a node of its guards is written with `?` instead of `%`.
fn write_node(
    f: &mut Formatter<'_>,
    graph: &Graph,
    i: usize,
    sign: char,
    labels: &Labels,
    space: &Space,
) -> fmt::Result {
    let node = graph.nodes()[i];
    let mut line = format!("  {sign}{i} = ");
    match node {
        Node::Constant(bits) => line += &number(f64::from_bits(bits)),
        Node::Time => line += "time",
        Node::Read(element) => line += &labels.of_element(element, space),
        Node::Direction(element) => write!(line, "w({})", labels.of_element(element, space))?,
        Node::Index(l) => write!(line, "index {}", labels.loop_(l))?,
        Node::Reduce(reduction, over, term) => {
            let name = REDUCTIONS.iter().find(|(f, _)| *f == reduction).map_or("", |(_, text)| text);
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

/// Writes guards and accesses in the order of creation, then the nodes.
fn write_kernel(f: &mut Formatter<'_>, kernel: &Kernel, labels: &mut Labels) -> fmt::Result {
    let role = KERNELS.iter().find(|(r, _)| *r == kernel.role).map_or("", |(_, text)| text);
    let region = REGIONS.iter().find(|(p, _)| *p == kernel.region).map_or("", |(_, text)| text);
    match kernel.region {
        Region::Whole => writeln!(f, "kernel {role}")?,
        Region::Interior | Region::Boundary => writeln!(f, "kernel {role} {region}")?,
    }
    let space = &kernel.space;
    labels.of_loops(space.loops());
    for l in space.loops() {
        let [first, last] = [&l.first, &l.last].map(|end| labels.affine(end));
        write_line(f, format!("  loop {} = {first} .. {last}", name(&l.name)), &[l.span])?;
    }
    if !kernel.iterates.is_empty() {
        let loops: Vec<&str> = kernel.iterates.iter().map(|&l| labels.loop_(l)).collect();
        writeln!(f, "  over {}", loops.join(" "))?;
    }
    for margin in &kernel.margins {
        writeln!(f, "  margin {} in {}", labels.affine(&margin.sub), labels.axis(margin.axis))?;
    }
    let guards = &space.guards;
    let mut written = 0;
    for access in space.accesses() {
        let end = access.guard.map_or(written, |g| written.max(g.index() + 1));
        for i in written..end {
            write_node(f, guards, i, '?', labels, space)?;
        }
        written = end;
        writeln!(f, "  access {}", labels.access(access))?;
    }
    for i in written..guards.len() {
        write_node(f, guards, i, '?', labels, space)?;
    }
    for i in 0..kernel.graph.len() {
        write_node(f, &kernel.graph, i, '%', labels, space)?;
    }
    let of = |element| labels.of_element(element, space);
    for store in &kernel.stores {
        let node = store.node.0;
        match store.target {
            Target::Set(element) => writeln!(f, "  {} = %{node}", of(element))?,
            Target::Add(element) => writeln!(f, "  {} += %{node}", of(element))?,
            Target::Entry(row, column) => writeln!(f, "  {} / {} += %{node}", of(row), of(column))?,
        }
    }
    Ok(())
}

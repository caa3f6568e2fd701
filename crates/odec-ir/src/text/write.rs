//! Writing the text form.

use std::collections::HashMap;
use std::fmt::{self, Display, Formatter, Write};

use super::{KERNELS, ROLES, is_output, is_word};
use crate::graph::Node;
use crate::program::{Array, ArrayId, Kernel, Program, Role, Target};
use crate::span::Span;

/// Column of the source ranges.
const SPAN_COLUMN: usize = 40;

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if is_word(&self.name) {
            writeln!(f, "program {}", self.name)?;
        } else {
            writeln!(f, "program {:?}", self.name)?;
        }
        for array in &self.arrays {
            write_array(f, array)?;
        }
        let names = names(&self.arrays);
        for kernel in &self.kernels {
            write_kernel(f, kernel, &names)?;
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

fn write_array(f: &mut Formatter<'_>, array: &Array) -> fmt::Result {
    let role = ROLES.iter().find(|(r, _)| *r == array.role).map_or("", |(_, text)| text);
    let mut line = String::from(role);
    if is_word(&array.name) {
        write!(line, " {}", array.name)?;
    } else {
        write!(line, " {:?}", array.name)?;
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
    if array.span != Span::default() {
        write_spans(&mut line, &[array.span])?;
    }
    writeln!(f, "{line}")
}

fn write_kernel(f: &mut Formatter<'_>, kernel: &Kernel, names: &[String]) -> fmt::Result {
    let role = KERNELS.iter().find(|(r, _)| *r == kernel.role).map_or("", |(_, text)| text);
    writeln!(f, "kernel {role}")?;
    let name = |a: ArrayId| names.get(a.0 as usize).map_or("#", String::as_str);
    for (i, node) in kernel.graph.nodes().iter().enumerate() {
        let mut line = format!("  %{i} = ");
        match node {
            Node::Constant(bits) => line += &number(f64::from_bits(*bits)),
            Node::Time => line += "time",
            Node::Read(array) => line += name(*array),
            Node::Direction(array) => write!(line, "w({})", name(*array))?,
            Node::Index(l) => write!(line, "index {}", l.0)?,
            Node::Element(a) => write!(line, "element {}", a.0)?,
            Node::DirectionElement(a) => write!(line, "w(element {})", a.0)?,
            Node::Fold(fold, over, term) => write!(line, "fold {fold:?} {} %{}", over.0, term.0)?,
            Node::Call(op, _) => {
                line += op.0.name;
                for a in node.operands() {
                    write!(line, " %{}", a.0)?;
                }
            }
        }
        write_spans(&mut line, kernel.graph.spans(crate::NodeId(i as u32)))?;
        writeln!(f, "{line}")?;
    }
    for store in &kernel.stores {
        match store.target {
            Target::Element(row) => writeln!(f, "  {} = %{}", name(row), store.node.0)?,
            Target::Entry(row, column) => writeln!(f, "  {} / {} = %{}", name(row), name(column), store.node.0)?,
        }
    }
    Ok(())
}

//! Messages about models that cannot be compiled, and about sizes and tables that do not fit.

use odec_ir::nest::bind::{BindError, MAX_ELEMENTS, MAX_ENTRIES};
use odec_ir::nest::{AccessId, Affine, Extent, Kernel};
use odec_ir::{KernelRole, Node, Program, Span};
use odec_lang::diagnostic::{Diagnostic, codes};

use crate::executor::UnsuitableProgram;

/// A model that cannot be compiled or bound. `program` is needed to explain extents.
pub fn not_compiled(unfit: &UnsuitableProgram, program: Option<&Program>) -> Diagnostic {
    match (unfit, program) {
        (UnsuitableProgram::Extents(error), Some(program)) => extents(error, program),
        (UnsuitableProgram::Extents(error), None) => {
            Diagnostic::error(&codes::E0615, format!("odec cannot bind the model: {error:?}"))
        }
        (UnsuitableProgram::Code(error), _) if error.is_bug() => Diagnostic::error(&codes::E0900, error.to_string())
            .help("this is a bug in odec: `odec explain E0900` says what to report"),
        (UnsuitableProgram::Code(error), _) => {
            Diagnostic::error(&codes::E0615, format!("odec cannot compile the model: {error}"))
                .help("use `--interpret` to run the model without machine code")
        }
    }
}

/// Extents or tables that do not fit a model. The front end has checked most of this before, with the same codes.
pub fn extents(error: &BindError, program: &Program) -> Diagnostic {
    match error {
        BindError::Empty { axis, range: (first, last) } => {
            let axis = &program.axes[*axis];
            let headline = format!("`{}` is empty: it runs from {first} to {last}", axis.name);
            let d = Diagnostic::error(&codes::E0517, headline).label(axis.span, "");
            d.help(sizes(program, [&axis.first, &axis.last], "give it at least one index"))
        }
        BindError::TooManyElements { array, elements } => {
            let array = &program.arrays[*array];
            let many = elements.map_or("too many elements to count".to_string(), |n| format!("{n} elements"));
            let headline = format!("`{}` brings the model to {many}; the limit is {MAX_ELEMENTS}", array.name);
            let d = Diagnostic::error(&codes::E0518, headline).label(array.span, "");
            let ends = array.axes.iter().flat_map(|a| {
                let axis = &program.axes[a.0 as usize];
                [&axis.first, &axis.last]
            });
            d.help(sizes(program, ends, "reduce its size"))
        }
        BindError::TooManyEntries { role, entries } => {
            let what = match role {
                KernelRole::Jacobian => "the Jacobian matrix",
                KernelRole::ParameterJacobian => "the matrix of derivatives with respect to the parameters",
                KernelRole::Mass | KernelRole::MassJacobian => "the matrix of coefficients of the derivatives",
                _ => "the list of elements that one statement reads through tables and at boundaries",
            };
            let headline = format!("{what} would have {entries} entries; the limit is {MAX_ENTRIES}");
            Diagnostic::error(&codes::E0552, headline).help(if role.is_matrix() {
                "every element depends on too many others: use a method that needs no Jacobian, `--method tsit5`, or \
                 one that never stores it, `--method bdf --linear krylov`"
            } else {
                "every element reads too many others: reduce the size, or write a sum whose terms read elements by \
                 its own index, which needs no list"
            })
        }
        BindError::OutOfRange { nest, access, position, value, range: (first, last), at } => {
            let nest = &program.kernels[*nest];
            let array = &program.arrays[nest.array(*access).0 as usize];
            let axis = array.axes.get(*position).map(|a| &program.axes[a.0 as usize]);
            let index = axis.map_or("the index", |a| a.name.as_str());
            let mut headline =
                format!("odec reads `{}` at {index} = {value}, which is outside {first} .. {last}", array.name);
            if !at.is_empty() {
                let places: Vec<String> = at.iter().map(|(name, value)| format!("{name} = {value}")).collect();
                headline.push_str(&format!(" (at {})", places.join(", ")));
            }
            let d = Diagnostic::error(&codes::E0520, headline);
            let d = d.label(place(nest, *access).unwrap_or(array.span), "");
            d.help(format!(
                "give the value there, `boundary {}[...] = ...`, or read it under a condition on the indices; if a \
                 table gives the index, correct the table",
                array.name
            ))
        }
        BindError::NotWhole { array, element, value } => {
            let array = &program.arrays[*array];
            let headline = format!(
                "`{}` is an index, and its element {} is {value}, which is not a whole number",
                array.name,
                element + 1
            );
            Diagnostic::error(&codes::E0526, headline)
                .label(array.span, "")
                .help("an index must be a whole number: correct the table")
        }
    }
}

/// The values of the extents in the bounds of index sets.
fn sizes<'a>(program: &Program, ends: impl IntoIterator<Item = &'a Affine>, what: &str) -> String {
    let mut used: Vec<u32> = ends.into_iter().flat_map(|e| e.extents.iter().map(|(id, _)| id.0)).collect();
    used.sort_unstable();
    used.dedup();
    let of = |k: u32| -> Option<String> {
        let Extent { text, value, .. } = program.extents.get(k as usize)?;
        Some(if *text == value.to_string() { text.clone() } else { format!("{text} = {value}") })
    };
    let list: Vec<String> = used.into_iter().filter_map(of).collect();
    if list.is_empty() { what.to_string() } else { format!("{what}; here {}", list.join(", ")) }
}

/// Source location of an access.
fn place(nest: &Kernel, access: AccessId) -> Option<Span> {
    let nodes = nest.graph.nodes().iter().enumerate();
    let reads = nodes.filter(|(_, node)| **node == Node::Read(odec_ir::Element::At(access)));
    reads.flat_map(|(k, _)| nest.graph.spans(odec_ir::NodeId(k as u32)).iter().copied()).next()
}

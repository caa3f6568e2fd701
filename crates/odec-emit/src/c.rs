//! C99 source of a program, with the interface of [`odec_ir::interface`].
//!
//! Every operation is one statement, in the order in which machine code computes it, so that a conforming compiler
//! gives the same bits. Three things could change them: contraction to fused multiply-adds, which pragmas and the
//! comment at the top forbid; `-ffast-math`, which is an error; and compilers that replace `pow(x, 2)` by other code
//! than that of the C library; so library functions are called through volatile pointers.

use std::collections::HashSet;
use std::fmt::Write;

use odec_ir::builtin::exponential::{HYPOT_LEAST, HYPOT_SCALES};
use odec_ir::builtin::lookup::Lookup;
use odec_ir::interface::{self, BoundForExport, Constant, Content, FUNCTIONS};
use odec_ir::nest::bind::Words;
use odec_ir::{Builtin, KernelRole, Layout, Lowering, Malformed, Op, Primitive, Program};

use crate::{EmitError, Options, checked_prefix, header, literal, nests};

/// The source; it includes only headers of the C library.
///
/// # Errors
/// [`EmitError::BadPrefix`], or [`EmitError::Malformed`] for programs made by hand.
pub fn c_source(program: &Program, options: &Options) -> Result<String, EmitError> {
    source(&BoundForExport::of(program)?, checked_prefix(options)?, &[], &[])
}

/// An additional function: its suffix, its documentation, and the program whose `Outputs` kernels it runs.
pub(crate) type ExtraFunction<'a> = (&'a str, &'a str, &'a BoundForExport);

/// The source of a program, with additional functions and constants.
pub(crate) fn source(
    settled: &BoundForExport,
    prefix: &str,
    further: &[ExtraFunction<'_>],
    constants: &[Constant],
) -> Result<String, EmitError> {
    let mut text = String::new();
    opening(&mut text, &settled.program);
    let bodies = Bodies::of(settled, 0);
    let mut calls = bodies.calls();
    let mut tables = bodies.lists.len();
    let mut others = Vec::with_capacity(further.len());
    for (_, _, settled) in further {
        let bodies = Bodies { data: Vec::new(), ..Bodies::of(settled, tables) };
        tables += bodies.lists.len();
        calls.extend(bodies.calls());
        others.push(bodies);
    }
    helpers(&mut text, &calls);
    for constant in settled.constants().iter().chain(constants) {
        let declaration = header::declaration(prefix, constant.suffix, &constant.content);
        let _ = writeln!(text, "{declaration} ={};", initialiser(&constant.content));
    }
    let mut functions = String::new();
    for function in FUNCTIONS {
        bodies.function(&mut functions, prefix, (function.suffix, function.doc), function.role)?;
    }
    for ((suffix, doc, _), bodies) in further.iter().zip(&others) {
        bodies.function(&mut functions, prefix, (suffix, doc), KernelRole::Outputs)?;
    }
    for bodies in std::iter::once(&bodies).chain(&others) {
        bodies.lists(&mut text, &functions);
    }
    text.push_str(&functions);
    Ok(text)
}

fn opening(text: &mut String, program: &Program) {
    let _ = writeln!(
        text,
        "/* The model {}, written by odec. The header that goes with this file documents what it defines.

   Needs C99 and the mathematical library (-lm). For results that are bitwise equal to odec's, compile with
   -ffp-contract=off (some compilers fuse multiplications with additions otherwise) and without -ffast-math. */
#include <math.h>
#include <stdint.h>

#ifdef __FAST_MATH__
#error \"compile without -ffast-math\"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize (\"fp-contract=off\")
#endif
",
        literal::comment(&program.name)
    );
}

/// The kernels of a program.
struct Bodies<'a> {
    settled: &'a BoundForExport,
    /// For each role, in the order of [`FUNCTIONS`].
    kernels: Vec<(KernelRole, Vec<nests::KernelWriter<'a>>)>,
    lists: Vec<&'a Vec<u32>>,
    /// Number of the first offset table of these kernels in the file.
    base: usize,
    data: Vec<f64>,
}

impl<'a> Bodies<'a> {
    fn of(settled: &'a BoundForExport, base: usize) -> Bodies<'a> {
        let (program, layout) = (&settled.program, &settled.layout);
        let mut bodies = Bodies { settled, kernels: Vec::new(), lists: Vec::new(), base, data: settled.data() };
        let mut shared = None;
        for function in FUNCTIONS {
            let (runs, lists) = settled.runs(function.role);
            // All kernels except those of matrices share their offset tables.
            let first = match shared {
                Some(first) if !function.role.is_matrix() => first,
                _ => {
                    bodies.lists.extend(lists);
                    bodies.lists.len() - lists.len()
                }
            };
            if !function.role.is_matrix() {
                shared = Some(first);
            }
            let kernels = runs.into_iter().map(|run| {
                let words = Words { words: &run.words, tables: lists };
                nests::KernelWriter::new(program, layout, &program.kernels[run.kernel], words, base + first)
            });
            bodies.kernels.push((function.role, kernels.collect()));
        }
        bodies
    }

    fn calls(&self) -> Vec<Op> {
        self.kernels.iter().flat_map(|(_, kernels)| kernels).flat_map(nests::KernelWriter::calls).collect()
    }

    /// Writes the offset tables that the functions use; compilers warn about unused ones.
    fn lists(&self, text: &mut String, functions: &str) {
        let digits = |tail: &str| tail.split(|c: char| !c.is_ascii_digit()).next().and_then(|k| k.parse().ok());
        let used: HashSet<usize> = functions.split(nests::TABLE).skip(1).filter_map(digits).collect();
        let numbered = self.lists.iter().enumerate().map(|(k, list)| (self.base + k, list));
        for (k, list) in numbered.filter(|(k, _)| used.contains(k)) {
            let list = initialiser(&Content::Integers(nests::elements(list)));
            let _ = writeln!(text, "static const int32_t {}{k}[] ={list};", nests::TABLE);
        }
        if !self.data.is_empty() {
            let data = initialiser(&Content::Numbers(self.data.clone()));
            let _ = writeln!(text, "static const double data[] ={data};");
        }
    }

    /// Writes a function: the end of its name, and its body.
    fn function(
        &self,
        text: &mut String,
        prefix: &str,
        (suffix, doc): (&str, &str),
        role: KernelRole,
    ) -> Result<(), Malformed> {
        let _ = write!(text, "\n/* {doc} */\n{}\n{{\n", header::prototype(prefix, suffix));
        text.push_str("    (void)t; (void)y; (void)p; (void)w; (void)out;\n");
        self.write(text, role)?;
        text.push_str("}\n");
        Ok(())
    }

    fn write(&self, text: &mut String, role: KernelRole) -> Result<(), Malformed> {
        let (layout, program) = (&self.settled.layout, &self.settled.program);
        let fill = |text: &mut String, length: usize, target: &str, source: &str| {
            if length > 0 {
                let _ = writeln!(text, "    for (int32_t k = 0; k < {length}; k++) out[{target}k] = {source};");
            }
        };
        if role == KernelRole::Prepare {
            fill(text, self.data.len(), &format!("{} + ", layout.np + layout.staged), "data[k]");
        }
        if role.is_matrix() && !program.is_scalar() {
            fill(text, layout.out_len(program, role), "", "0.0");
        }
        let names = names(program, layout, role);
        let mut kernels = self.kernels.iter().filter(|(of, _)| *of == role).flat_map(|(_, kernels)| kernels);
        kernels.try_for_each(|kernel| kernel.write(text, &names))
    }
}

/// Writes the helper functions that the bodies call, and only these, because compilers warn about unused functions.
fn helpers(text: &mut String, calls: &[Op]) {
    let mut functions: Vec<(&str, u8)> = calls.iter().filter_map(|&op| nests::library(op)).collect();
    functions.sort_unstable();
    functions.dedup();
    if !functions.is_empty() {
        text.push_str("/* Volatile, so that the library computes the value at run time. The compiler could compute a different one. */\n");
    }
    for (name, arity) in functions {
        let parameters = vec!["double"; usize::from(arity)].join(", ");
        let _ = writeln!(text, "static double (*const volatile call_{name})({parameters}) = {name};");
    }
    for (primitive, name, sign) in [(Primitive::Min, "least", '<'), (Primitive::Max, "greatest", '>')] {
        if calls.iter().any(|&op| nests::is(op, primitive)) {
            let _ = writeln!(
                text,
                "/* The first argument if both are equal, NaN if either is NaN. */\n\
                 static double {name}(double a, double b) {{ return b {sign} a || b != b ? b : a; }}"
            );
        }
    }
    if calls.iter().any(|&op| nests::is(op, Primitive::Hypot)) {
        let [least, large, small] = [HYPOT_LEAST, HYPOT_SCALES[0], HYPOT_SCALES[1]].map(literal::number);
        let _ = writeln!(
            text,
            "/* The length of a vector, without overflow or underflow of the squares. */\n\
             static double length(double x, double y)\n{{\n    \
                 double sum = x * x + y * y, scale, back;\n    \
                 if (sum >= {least} && sum < HUGE_VAL) return sqrt(sum);\n    \
                 if (fabs(x) == HUGE_VAL || fabs(y) == HUGE_VAL) return HUGE_VAL;\n    \
                 scale = sum < {least} ? {large} : {small};\n    \
                 back = sum < {least} ? {small} : {large};\n    \
                 x *= scale;\n    \
                 y *= scale;\n    \
                 sum = x * x + y * y;\n    \
                 return sqrt(sum) * back;\n}}"
        );
    }
    lookups(text, calls);
    text.push('\n');
}

/// The name of the C function of a lookup.
pub(crate) fn lookup_function(lookup: Lookup) -> &'static str {
    match lookup {
        Lookup::Piece => "piece",
        Lookup::Cycle => "cycle",
        Lookup::Item => "item",
    }
}

/// Writes the C functions of lookups.
fn lookups(text: &mut String, calls: &[Op]) {
    let calls = |lookup: Lookup| calls.iter().any(|op| op.lookup() == Some(lookup));
    if calls(Lookup::Piece) || calls(Lookup::Cycle) {
        text.push_str(
            "/* The last piece that begins at or before u. */\n\
             static double last_below(const double *knots, int32_t pieces, double u)\n{\n    \
                 int32_t low = 0, high = pieces;\n    \
                 while (high - low > 1) {\n        \
                     const int32_t k = low + (high - low) / 2;\n        \
                     if (knots[k] <= u) low = k;\n        \
                     else high = k;\n    \
                 }\n    \
                 return (double)low;\n}\n",
        );
    }
    if calls(Lookup::Piece) {
        text.push_str(
            "/* The piece of a curve that contains u. */\n\
             static double piece(const double *knots, int32_t length, double u)\n{\n    \
                 return knots[0] <= u && u <= knots[length - 1] ? last_below(knots, length - 1, u) : (double)NAN;\n}\n",
        );
    }
    if calls(Lookup::Cycle) {
        text.push_str(
            "/* The same for a periodic curve. */\n\
             static double cycle(const double *knots, int32_t length, double u)\n{\n    \
                 const double period = knots[length - 1] - knots[0], periods = floor((u - knots[0]) / period);\n    \
                 return periods * (double)(length - 1) + last_below(knots, length - 1, u - periods * period);\n}\n",
        );
    }
    if calls(Lookup::Item) {
        text.push_str(
            "/* An element of a table. */\n\
             static double item(const double *list, int32_t length, double k)\n{\n    \
                 return 0.0 <= k && k <= (double)(length - 1) ? list[(int32_t)k] : (double)NAN;\n}\n",
        );
    }
}

/// Number of elements of an array on a line.
const PER_LINE: usize = 8;

fn initialiser(content: &Content) -> String {
    let list = |elements: Vec<String>, empty: &str| {
        let elements = if elements.is_empty() { vec![empty.to_string()] } else { elements };
        let lines: Vec<String> = elements.chunks(PER_LINE).map(|line| format!("    {}", line.join(", "))).collect();
        format!(" {{\n{}\n}}", lines.join(",\n"))
    };
    match content {
        Content::Integer(value) => format!(" {value}"),
        Content::Text(value) => format!(" {}", literal::string(value)),
        Content::Integers(values) => list(values.iter().map(i32::to_string).collect(), "0"),
        Content::Numbers(values) => list(values.iter().map(|value| literal::number(*value)).collect(), "0"),
        Content::Texts(values) => list(values.iter().map(|value| literal::string(value)).collect(), "0"),
    }
}

/// Names of the elements of `out`, if they have any.
fn names(program: &Program, layout: &Layout, role: KernelRole) -> Vec<String> {
    let wanted = match role {
        KernelRole::Initial | KernelRole::Rhs | KernelRole::Tangent | KernelRole::TimeDerivative => "state_names",
        KernelRole::Outputs => "output_names",
        _ => return Vec::new(),
    };
    let constants = interface::constants(program, layout);
    match constants.into_iter().find(|constant| constant.suffix == wanted).map(|constant| constant.content) {
        Some(Content::Texts(names)) => names,
        _ => Vec::new(),
    }
}

/// Writes the operands of a call.
pub(crate) trait Operands {
    /// The type of an operand.
    type Id: Copy;
    /// An operand as a double.
    fn number(&self, id: Self::Id) -> String;
    /// An operand of a logical operator: true if the operand is not zero.
    fn condition(&self, id: Self::Id) -> String;
}

/// True for a builtin whose value is written as an `int`, 0 or 1.
pub(crate) fn is_truth(op: Op) -> bool {
    use Primitive::{And, Eq, Le, Lt, Ne, Not, Or};
    matches!(op.0.lowering, Lowering::Primitive(Lt | Le | Eq | Ne | And | Or | Not))
}

/// A call as an expression.
pub(crate) fn call<O: Operands>(operands: &O, op: Op, args: [O::Id; 3]) -> String {
    let Lowering::Primitive(primitive) = op.0.lowering else {
        let args: Vec<String> = args[..usize::from(op.0.arity)].iter().map(|&arg| operands.number(arg)).collect();
        return format!("{}({})", callee(op.0), args.join(", "));
    };
    let (a, b) = (operands.number(args[0]), operands.number(args[1]));
    let (p, q) = (|| operands.condition(args[0]), || operands.condition(args[1]));
    match primitive {
        Primitive::Add => format!("{a} + {b}"),
        Primitive::Sub => format!("{a} - {b}"),
        Primitive::Mul => format!("{a} * {b}"),
        Primitive::Div => format!("{a} / {b}"),
        Primitive::Neg => format!("-{a}"),
        Primitive::Abs => format!("fabs({a})"),
        Primitive::Sqrt => format!("sqrt({a})"),
        Primitive::Floor => format!("floor({a})"),
        Primitive::Ceil => format!("ceil({a})"),
        Primitive::Copysign => format!("copysign({a}, {b})"),
        Primitive::Fma => format!("fma({a}, {b}, {})", operands.number(args[2])),
        Primitive::Hypot => format!("length({a}, {b})"),
        Primitive::Min => format!("least({a}, {b})"),
        Primitive::Max => format!("greatest({a}, {b})"),
        Primitive::Lt => format!("{a} < {b}"),
        Primitive::Le => format!("{a} <= {b}"),
        Primitive::Eq => format!("{a} == {b}"),
        Primitive::Ne => format!("{a} != {b}"),
        Primitive::And => format!("{} && {}", p(), q()),
        Primitive::Or => format!("{} || {}", p(), q()),
        Primitive::Not => format!("!{}", p()),
        Primitive::Select => format!("{} ? {b} : {}", p(), operands.number(args[2])),
    }
}

/// The name under which [`helpers`] declared a library function. Expansion has replaced all composite builtins.
fn callee(builtin: &Builtin) -> String {
    match builtin.lowering {
        Lowering::Libm(name) => format!("call_{name}"),
        _ => builtin.name.to_string(),
    }
}

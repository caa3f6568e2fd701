//! C99 source of a program, with the interface of [`odec_ir::interface`].
//!
//! Every operation is one statement, in the order in which machine code computes it, so that a conforming compiler gives
//! the same bits. Three things could change them: contraction to fused multiply-adds, which pragmas and the comment at the
//! top forbid; `-ffast-math`, which is an error; and compilers that know better than the C library what `pow(x, 2)` is,
//! which is why library functions are called through volatile pointers.

use std::fmt::Write;

use odec_ir::interface::{self, Content, FUNCTIONS};
use odec_ir::schedule::{Schedule, Step, Value};
use odec_ir::{Builtin, KernelRole, Layout, Lowering, Primitive, Program, expand};

use crate::{EmitError, Options, checked_prefix, header, literal};

/// The source; it includes nothing but headers of the C library.
///
/// # Errors
/// [`EmitError::BadPrefix`], or [`EmitError::Malformed`] for programs made by hand.
pub fn c_source(program: &Program, options: &Options) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let layout = Layout::of(program);
    let mut schedules = Vec::with_capacity(program.kernels.len());
    for kernel in &program.kernels {
        schedules.push(Schedule::of(program, &layout, &expand::expanded(kernel))?);
    }
    let mut text = String::new();
    opening(&mut text, program);
    helpers(&mut text, &schedules);
    for constant in interface::constants(program, &layout) {
        let declaration = header::declaration(prefix, constant.suffix, &constant.content);
        let _ = writeln!(text, "{declaration} ={};", initialiser(&constant.content));
    }
    for function in FUNCTIONS {
        let _ = write!(text, "\n/* {} */\n{}\n{{\n", function.doc, header::prototype(prefix, function.suffix));
        text.push_str("    (void)t; (void)y; (void)p; (void)w; (void)out;\n");
        if let Some(schedule) = schedules.iter().find(|schedule| schedule.role == function.role) {
            Body::of(schedule).write(&mut text, &names(program, &layout, function.role));
        }
        text.push_str("}\n");
    }
    Ok(text)
}

fn opening(text: &mut String, program: &Program) {
    let _ = writeln!(
        text,
        "/* The model {}, written by odec. The header that goes with this file documents what it defines.

   Needs C99 and the mathematical library (-lm). For the same bits as odec's own machine code compile with
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

/// What the bodies call: only that, for compilers warn of what is not used.
fn helpers(text: &mut String, schedules: &[Schedule]) {
    let calls = || schedules.iter().flat_map(|schedule| &schedule.values);
    let mut functions: Vec<(&str, u8)> = calls()
        .filter_map(|value| match value {
            Value::Call(op, _) => match op.0.lowering {
                Lowering::Libm(name) => Some((name, op.0.arity)),
                _ => None,
            },
            _ => None,
        })
        .collect();
    functions.sort_unstable();
    functions.dedup();
    if !functions.is_empty() {
        text.push_str("/* Volatile, so that the library computes the value, not the compiler another one. */\n");
    }
    for (name, arity) in functions {
        let parameters = vec!["double"; usize::from(arity)].join(", ");
        let _ = writeln!(text, "static double (*const volatile call_{name})({parameters}) = {name};");
    }
    for (primitive, name, sign) in [(Primitive::Min, "least", '<'), (Primitive::Max, "greatest", '>')] {
        let used = |value: &Value| match value {
            Value::Call(op, _) => matches!(op.0.lowering, Lowering::Primitive(used) if used == primitive),
            _ => false,
        };
        if calls().any(used) {
            let _ = writeln!(
                text,
                "/* The first argument on a tie, NaN if either is. */\n\
                 static double {name}(double a, double b) {{ return b {sign} a || b != b ? b : a; }}"
            );
        }
    }
    text.push('\n');
}

/// Elements of a list on a line.
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

/// Names of the elements of `out`, where they have any.
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

/// A kernel being written.
struct Body<'a> {
    schedule: &'a Schedule,
    /// By position of the value: whether it is a truth value, an `int`, rather than a `double`.
    truth: Vec<bool>,
}

impl<'a> Body<'a> {
    fn of(schedule: &'a Schedule) -> Body<'a> {
        use Primitive::{And, Eq, Le, Lt, Ne, Not, Or};
        let truth = |value: &Value| match value {
            Value::Call(op, _) => {
                matches!(op.0.lowering, Lowering::Primitive(Lt | Le | Eq | Ne | And | Or | Not))
            }
            _ => false,
        };
        Body { schedule, truth: schedule.values.iter().map(truth).collect() }
    }

    fn write(&self, text: &mut String, names: &[String]) {
        for step in &self.schedule.steps {
            let _ = match *step {
                Step::Compute(value) => {
                    let kind = if self.truth[value as usize] { "int" } else { "double" };
                    writeln!(text, "    const {kind} v{value} = {};", self.expression(value))
                }
                Step::Store { slot, value } => match names.get(slot as usize) {
                    Some(name) => {
                        let name = literal::comment(name);
                        writeln!(text, "    out[{slot}] = {}; /* {name} */", self.number(value))
                    }
                    None => writeln!(text, "    out[{slot}] = {};", self.number(value)),
                },
            };
        }
    }

    /// A value as a double.
    fn number(&self, value: u32) -> String {
        match self.schedule.values[value as usize] {
            Value::Constant(number) => literal::number(number),
            Value::Time => "t".to_string(),
            Value::State(i) => format!("y[{i}]"),
            Value::Parameter(i) => format!("p[{i}]"),
            Value::Direction(i) => format!("w[{i}]"),
            Value::Call(..) if self.truth[value as usize] => format!("(double)v{value}"),
            Value::Call(..) => format!("v{value}"),
        }
    }

    /// Whether a value is not zero, as an operand of a logical operator.
    fn condition(&self, value: u32) -> String {
        if self.truth[value as usize] { format!("v{value}") } else { format!("({} != 0.0)", self.number(value)) }
    }

    /// The right-hand side of a call's statement.
    fn expression(&self, value: u32) -> String {
        let Value::Call(op, args) = self.schedule.values[value as usize] else { return self.number(value) };
        let (a, b) = (self.number(args[0]), self.number(args[1]));
        let Lowering::Primitive(primitive) = op.0.lowering else {
            let args: Vec<String> = args[..usize::from(op.0.arity)].iter().map(|&arg| self.number(arg)).collect();
            return format!("{}({})", callee(op.0), args.join(", "));
        };
        let (p, q) = (|| self.condition(args[0]), || self.condition(args[1]));
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
            Primitive::Min => format!("least({a}, {b})"),
            Primitive::Max => format!("greatest({a}, {b})"),
            Primitive::Lt => format!("{a} < {b}"),
            Primitive::Le => format!("{a} <= {b}"),
            Primitive::Eq => format!("{a} == {b}"),
            Primitive::Ne => format!("{a} != {b}"),
            Primitive::And => format!("{} && {}", p(), q()),
            Primitive::Or => format!("{} || {}", p(), q()),
            Primitive::Not => format!("!{}", p()),
            Primitive::Select => format!("{} ? {b} : {}", p(), self.number(args[2])),
        }
    }
}

/// The name under which [`helpers`] declared a library function. `Schedule::of` lets no expansion through.
fn callee(builtin: &Builtin) -> String {
    match builtin.lowering {
        Lowering::Libm(name) => format!("call_{name}"),
        _ => builtin.name.to_string(),
    }
}

//! A C program that calls every function of a compiled model and prints the bits of the results, and its expected
//! output: tests compare C source and object file with machine code. It also shows how to use the interface.

use std::fmt::Write;

use odec_ir::interface::{self, FUNCTIONS};
use odec_ir::{KernelRole, Layout, Program};

use crate::{EmitError, Options, checked_prefix};

/// The arguments of the functions.
#[derive(Clone, Debug, PartialEq)]
pub struct Inputs {
    /// Time.
    pub t: f64,
    /// State, of the length in the layout.
    pub y: Vec<f64>,
    /// Parameters, without the staged values.
    pub parameters: Vec<f64>,
    /// Direction, as long as the state.
    pub w: Vec<f64>,
}

/// The C program. It includes `header`, reads the output of [`driver_input`] from standard input (any number of
/// inputs) and prints the lines of [`driver_transcript`] for each.
///
/// # Errors
/// [`EmitError::BadPrefix`].
pub fn c_driver(options: &Options, header: &str) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "/* Calls every function of the model for the inputs on standard input and prints the bits of the results. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include \"{header}\"

static int read_numbers(double *to, int32_t n)
{{
    int32_t i;
    for (i = 0; i < n; i++) {{
        uint64_t bits;
        if (scanf(\"%\" SCNx64, &bits) != 1) return 0;
        memcpy(&to[i], &bits, sizeof bits);
    }}
    return 1;
}}

static void print_numbers(const char *name, const double *from, int32_t n)
{{
    int32_t i;
    printf(\"%s\", name);
    for (i = 0; i < n; i++) {{
        uint64_t bits;
        memcpy(&bits, &from[i], sizeof bits);
        if (from[i] != from[i]) printf(\" nan\");
        else printf(\" %016\" PRIx64, bits);
    }}
    printf(\"\\n\");
}}

static double *buffer(int32_t n)
{{
    double *to = calloc((size_t)n + 1, sizeof *to);
    if (to == NULL) exit(2);
    return to;
}}

int main(void)
{{
    double t;
    double *y = buffer({prefix}_states), *w = buffer({prefix}_states), *p = buffer({prefix}_buffer);"
    );
    for function in FUNCTIONS.iter().filter(|function| function.role != KernelRole::Prepare) {
        let (name, length) = (function.suffix, length(prefix, function.role));
        let _ = writeln!(text, "    double *out_{name} = buffer({length});");
    }
    let _ = writeln!(
        text,
        "    while (read_numbers(&t, 1)) {{
        if (!read_numbers(y, {prefix}_states)) return 1;
        if (!read_numbers(p, {prefix}_parameters)) return 1;
        if (!read_numbers(w, {prefix}_states)) return 1;"
    );
    for function in FUNCTIONS {
        let (name, length) = (function.suffix, length(prefix, function.role));
        let out = if function.role == KernelRole::Prepare { "p".to_string() } else { format!("out_{name}") };
        let _ = writeln!(text, "        {prefix}_{name}(t, y, p, w, {out});");
        let _ = writeln!(text, "        print_numbers(\"{name}\", {out}, {length});");
    }
    text.push_str("    }\n    free(y); free(w); free(p);\n   ");
    for function in FUNCTIONS.iter().filter(|function| function.role != KernelRole::Prepare) {
        let _ = write!(text, " free(out_{});", function.suffix);
    }
    text.push_str("\n    return 0;\n}\n");
    Ok(text)
}

/// The length of `out` in C.
fn length(prefix: &str, role: KernelRole) -> String {
    match role {
        KernelRole::Prepare => format!("{prefix}_buffer"),
        KernelRole::Initial
        | KernelRole::Rhs
        | KernelRole::Tangent
        | KernelRole::TimeDerivative
        | KernelRole::MassTimeDerivative => {
            format!("{prefix}_states")
        }
        KernelRole::MassJacobian => format!("{prefix}_mjac_entries"),
        KernelRole::Jacobian => format!("{prefix}_jac_entries"),
        KernelRole::ParameterJacobian => format!("{prefix}_pjac_entries"),
        KernelRole::Mass => format!("{prefix}_mass_entries"),
        KernelRole::Outputs => format!("{prefix}_recorded + {prefix}_conserved + {prefix}_expected"),
    }
}

/// One line for the standard input of the C program.
pub fn driver_input(inputs: &Inputs) -> String {
    let numbers = [inputs.t].into_iter().chain(inputs.y.iter().copied());
    let numbers = numbers.chain(inputs.parameters.iter().copied()).chain(inputs.w.iter().copied());
    let words: Vec<String> = numbers.map(|number| format!("{:016x}", number.to_bits())).collect();
    words.join(" ") + "\n"
}

/// The expected output of the C program for the inputs; `run(role, t, y, p, w, out)` is the reference that computes a
/// kernel that the program has. For `Prepare`, `out` already contains the parameters, and sizes and tables. For a program with index sets,
/// pass the program of [`interface::BoundForExport`].
pub fn driver_transcript(
    program: &Program,
    inputs: &Inputs,
    mut run: impl FnMut(KernelRole, f64, &[f64], &[f64], &[f64], &mut [f64]),
) -> String {
    let layout = Layout::of(program);
    let mut p = inputs.parameters.clone();
    p.resize(layout.np + layout.staged, 0.0);
    p.extend(interface::data(program, &layout));
    let mut text = String::new();
    for function in FUNCTIONS {
        let mut out = vec![0.0; layout.out_len(program, function.role)];
        if function.role == KernelRole::Prepare {
            out.clone_from(&p);
        }
        // a function without a kernel writes zeros
        if program.has(function.role) {
            run(function.role, inputs.t, &inputs.y, &p, &inputs.w, &mut out);
        }
        text.push_str(function.suffix);
        for number in &out {
            let _ = if number.is_nan() { write!(text, " nan") } else { write!(text, " {:016x}", number.to_bits()) };
        }
        text.push('\n');
        if function.role == KernelRole::Prepare {
            p = out;
        }
    }
    text
}

//! The C header: declares and documents the symbols of the C source and the object file.

use std::fmt::Write;

use odec_ir::interface::{self, Content, FUNCTIONS};
use odec_ir::{Layout, Program};

use crate::{EmitError, Options, checked_prefix, literal};

/// A header in C99 and C++, for the C source and for the object file.
///
/// # Errors
/// [`EmitError::BadPrefix`].
pub fn c_header(program: &Program, options: &Options) -> Result<String, EmitError> {
    let prefix = checked_prefix(options)?;
    let guard = format!("ODEC_{}_H", prefix.to_ascii_uppercase());
    let mut text = String::new();
    let _ = writeln!(
        text,
        "/* The model {}: right-hand side, derivatives and outputs as compiled by odec.

   M(t, y) y' = f(t, y). Every function has the signature (t, y, p, w, out): time, state, parameter buffer, direction
   (read by {prefix}_jvp, {prefix}_mjac and {prefix}_dmdt, and by {prefix}_outputs if {prefix}_outputs_read_rates), result. A buffer that a function does not read may be null; out must not overlap
   another buffer, except in {prefix}_prepare. Functions keep no state and may be called from several threads at once.

   Fill the parameters, prepare, then call the rest:

       double p[BUFFER], y[STATES], dy[STATES];        (lengths: {prefix}_buffer, {prefix}_states)
       memcpy(p, {prefix}_defaults, {prefix}_parameters * sizeof *p);
       {prefix}_prepare(0, 0, p, 0, p);
       {prefix}_init(t, 0, p, 0, y);
       {prefix}_f(t, y, p, 0, dy);

   Matrices are compressed by columns: the entries of column j are those from columns[j] to columns[j + 1] - 1, and
   rows[k] is the row of entry k. A list without elements is declared with one. */
#ifndef {guard}
#define {guard}

#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {{
#endif
",
        literal::comment(&program.name)
    );
    for constant in interface::constants(program, &Layout::of(program)) {
        let suffix = constant.suffix;
        let declaration = declaration(prefix, suffix, &constant.content);
        let _ = writeln!(text, "/* {} */\nextern {declaration};", constant.doc);
    }
    text.push('\n');
    for function in FUNCTIONS {
        let _ = writeln!(text, "/* {} */\n{};", function.doc, prototype(prefix, function.suffix));
    }
    text.push_str("\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    Ok(text)
}

/// The declaration of a constant, without `extern` and semicolon.
pub(crate) fn declaration(prefix: &str, suffix: &str, content: &Content) -> String {
    match content {
        Content::Integer(_) => format!("const int32_t {prefix}_{suffix}"),
        Content::Integers(_) => format!("const int32_t {prefix}_{suffix}[]"),
        Content::Numbers(_) => format!("const double {prefix}_{suffix}[]"),
        Content::Text(_) => format!("const char {prefix}_{suffix}[]"),
        Content::Texts(_) => format!("const char *const {prefix}_{suffix}[]"),
    }
}

/// The prototype of a kernel, without semicolon.
pub(crate) fn prototype(prefix: &str, suffix: &str) -> String {
    format!("void {prefix}_{suffix}(double t, const double *y, const double *p, const double *w, double *out)")
}

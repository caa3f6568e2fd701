//! The functions of the C mathematical library that compiled code may call: the same ones that the methods of `f64`
//! call, so that machine code and interpreter give the same bits. No other symbol is resolved. Processors without
//! instructions for `floor`, `ceil` and `fma` need these functions.

use std::ffi::c_double;

unsafe extern "C" {
    safe fn acos(x: c_double) -> c_double;
    safe fn asin(x: c_double) -> c_double;
    safe fn atan(x: c_double) -> c_double;
    safe fn atan2(y: c_double, x: c_double) -> c_double;
    safe fn ceil(x: c_double) -> c_double;
    safe fn cos(x: c_double) -> c_double;
    safe fn cosh(x: c_double) -> c_double;
    safe fn exp(x: c_double) -> c_double;
    safe fn expm1(x: c_double) -> c_double;
    safe fn floor(x: c_double) -> c_double;
    safe fn fma(x: c_double, y: c_double, z: c_double) -> c_double;
    safe fn fmod(x: c_double, y: c_double) -> c_double;
    safe fn log(x: c_double) -> c_double;
    safe fn log10(x: c_double) -> c_double;
    safe fn log1p(x: c_double) -> c_double;
    safe fn log2(x: c_double) -> c_double;
    safe fn pow(x: c_double, y: c_double) -> c_double;
    safe fn round(x: c_double) -> c_double;
    safe fn sin(x: c_double) -> c_double;
    safe fn sinh(x: c_double) -> c_double;
    safe fn tan(x: c_double) -> c_double;
    safe fn tanh(x: c_double) -> c_double;
}

/// A function pointer of one to three arguments.
#[derive(Clone, Copy)]
pub(crate) enum Function {
    /// One argument.
    Unary(extern "C" fn(c_double) -> c_double),
    /// Two arguments.
    Binary(extern "C" fn(c_double, c_double) -> c_double),
    /// Three arguments.
    Ternary(extern "C" fn(c_double, c_double, c_double) -> c_double),
}

use Function::{Binary, Ternary, Unary};

/// Name in C and address, in alphabetical order.
static TABLE: &[(&str, Function)] = &[
    ("acos", Unary(acos)),
    ("asin", Unary(asin)),
    ("atan", Unary(atan)),
    ("atan2", Binary(atan2)),
    ("ceil", Unary(ceil)),
    ("cos", Unary(cos)),
    ("cosh", Unary(cosh)),
    ("exp", Unary(exp)),
    ("expm1", Unary(expm1)),
    ("floor", Unary(floor)),
    ("fma", Ternary(fma)),
    ("fmod", Binary(fmod)),
    ("log", Unary(log)),
    ("log10", Unary(log10)),
    ("log1p", Unary(log1p)),
    ("log2", Unary(log2)),
    ("pow", Binary(pow)),
    ("round", Unary(round)),
    ("sin", Unary(sin)),
    ("sinh", Unary(sinh)),
    ("tan", Unary(tan)),
    ("tanh", Unary(tanh)),
];

/// The function of that name.
pub(crate) fn find(name: &str) -> Option<Function> {
    TABLE.binary_search_by(|row| row.0.cmp(name)).ok().map(|i| TABLE[i].1)
}

impl Function {
    /// Number of arguments.
    pub(crate) fn arity(self) -> usize {
        match self {
            Unary(_) => 1,
            Binary(_) => 2,
            Ternary(_) => 3,
        }
    }

    /// Its address.
    pub(crate) fn address(self) -> *const u8 {
        match self {
            Unary(function) => function as *const u8,
            Binary(function) => function as *const u8,
            Ternary(function) => function as *const u8,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_every_row_is_found() {
        assert!(TABLE.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(TABLE.iter().all(|row| find(row.0).is_some()));
        assert!(find("getpid").is_none() && find("").is_none());
    }

    #[test]
    fn the_table_holds_what_builtins_call_and_what_processors_may_lack() {
        let called = |name: &str| {
            let rows = odec_ir::builtin::table().iter();
            rows.map(|row| &row.lowering).any(|lowering| matches!(lowering, odec_ir::Lowering::Libm(f) if *f == name))
        };
        for (name, _) in TABLE {
            assert!(called(name) || ["ceil", "floor", "fma"].contains(name), "{name}");
        }
    }

    #[test]
    fn these_are_the_functions_that_f64_calls() {
        let x = 0.7300000000000001;
        type Row = (&'static str, fn(f64) -> f64);
        let pairs: [Row; 15] = [
            ("exp", f64::exp),
            ("log", f64::ln),
            ("log10", f64::log10),
            ("log2", f64::log2),
            ("expm1", f64::exp_m1),
            ("log1p", f64::ln_1p),
            ("sin", f64::sin),
            ("cos", f64::cos),
            ("tan", f64::tan),
            ("asin", f64::asin),
            ("acos", f64::acos),
            ("atan", f64::atan),
            ("sinh", f64::sinh),
            ("cosh", f64::cosh),
            ("tanh", f64::tanh),
        ];
        for (name, method) in pairs {
            let Some(Unary(function)) = find(name) else { panic!("{name} is not there") };
            for k in 0..200 {
                let x = x + 0.001 * f64::from(k);
                assert_eq!(function(x).to_bits(), method(x).to_bits(), "{name}({x})");
            }
        }
    }
}

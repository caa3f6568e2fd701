//! Signs of files of ACSL, NEURON, Brian, MCSim, Vensim and Mathematica, and of programs in C and Julia.

use super::dialect::Dialect;
use super::keyword::{first_word, is_name_char};

const ACSL: Dialect = Dialect {
    name: "an ACSL program",
    help: "to convert it: `CONSTANT k = 2.0` becomes `param k = 2.0`, `x = INTEG(-k*x, 1.0)` becomes `state x = 1.0` \
           and `x' = -k*x`, other equations become definitions, `TERMT(t .GE. 10.0)` becomes `run { t = 0 .. 10 }`; \
           remove headings such as `DYNAMIC`, and `END`",
};
const NEURON: Dialect = Dialect {
    name: "a mechanism of NEURON (NMODL)",
    help: "to convert it: `g = 0.1 (S/cm2)` of `PARAMETER` becomes `param g = 0.1 [S/cm^2]`, `STATE { m h }` becomes \
           `state m = 0, h = 0`, the equations of `DERIVATIVE` stay as they are, other assignments become \
           definitions; remove headings such as `BREAKPOINT {`, and their `}`",
};
const BRIAN: Dialect = Dialect {
    name: "a program for Brian",
    help: "to convert it: `tau = 10*ms` becomes `param tau = 10 [ms]`, `dv/dt = -v/tau : volt` becomes `v' = -v/tau` with \
           `state v = 0 [V]`, a threshold and a reset become an event, `when v > 1 [mV] { v := 0 [mV] }`, `run(100*ms)` \
           becomes `run { t = 0 .. 100 [ms] }`",
};
const C: Dialect = Dialect {
    name: "a program in C",
    help: "to convert it: `double k = 2.0;` becomes `param k = 2.0`, each component of the rates becomes an equation, \
           `NV_Ith_S(ydot,0) = ...;` and `dydt[0] = ...;` become `x' = ...` with `state x = 1`; remove the function, its \
           braces and `return`",
};
const MCSIM: Dialect = Dialect {
    name: "an MCSim model",
    help: "to convert it: `States = {x};` becomes `state x = 1`, `k = 0.3;` becomes `param k = 0.3`, `dt(x) = -k*x;` \
           becomes `x' = -k*x`, `Outputs = {z};` becomes `output z`; remove headings such as `Dynamics {`, and `End.`",
};
const MATHEMATICA: Dialect = Dialect {
    name: "a Mathematica notebook",
    help: "to convert it: `x'[t] == -k x[t]` becomes `x' = -k*x`, `x[0] == 1` becomes `state x = 1`, `k = 2` becomes \
           `param k = 2`, `{t, 0, 10}` becomes `run { t = 0 .. 10 }`; the command `odec plot FILE` shows the results",
};
pub(super) const JULIA: Dialect = Dialect {
    name: "a program in Julia",
    help: "to convert it: `du[1] = -p[1]*u[1]` becomes `x' = -k*x` with `state x = 1` and `param k = 1`, the times of the \
           problem, `(0.0, 10.0)`, become `run { t = 0 .. 10 }`; remove the function and the problem",
};

/// The language of a line, which is certain for some lines, and needs another sign for others.
pub(super) fn sign(line: &str, is_indicated: &dyn Fn(&Dialect) -> bool) -> Option<&'static Dialect> {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start();
    match word {
        "DYNAMIC" | "DERIVATIVE" if rest.is_empty() => return Some(&ACSL),
        "TERMT" if rest.starts_with('(') => return Some(&ACSL),
        "INITIAL" | "END" | "DISCRETE" | "TERMINAL" if rest.is_empty() && is_indicated(&ACSL) => return Some(&ACSL),
        "NEURON" | "BREAKPOINT" | "ASSIGNED" | "PARAMETER" | "STATE" if rest.starts_with('{') => return Some(&NEURON),
        "DERIVATIVE" | "KINETIC" if rest.starts_with(is_name_char) && rest.ends_with('{') => return Some(&NEURON),
        "INITIAL" | "UNITS" | "PROCEDURE" | "FUNCTION" if rest.ends_with('{') && is_indicated(&NEURON) => {
            return Some(&NEURON);
        }
        "Dynamics" | "Initialize" | "CalcOutputs" if rest.starts_with('{') => return Some(&MCSIM),
        "States" | "Outputs" | "Inputs" if is_list(rest) => return Some(&MCSIM),
        "End" if rest == "." => return Some(&MCSIM),
        "using" if ["OrdinaryDiffEq", "DifferentialEquations"].contains(&rest) => return Some(&JULIA),
        "function" if rest.contains("!(du") => return Some(&JULIA),
        "end" if rest.is_empty() && is_indicated(&JULIA) => return Some(&JULIA),
        "TIME" | "FINAL" | "INITIAL" if vensim_setting(word, rest) => return Some(&super::dialect::VENSIM),
        _ => {}
    }
    if line.ends_with("~~|") || line.ends_with('|') && line.matches('~').count() > 1 {
        return Some(&super::dialect::VENSIM);
    }
    if line.contains("NeuronGroup(") || brian(line, is_indicated(&BRIAN)) {
        return Some(&BRIAN);
    }
    if line.contains("NDSolve[") || line.contains("Plot[") && is_indicated(&MATHEMATICA) {
        return Some(&MATHEMATICA);
    }
    if line.contains("ODEProblem(") {
        return Some(&JULIA);
    }
    c(line).then_some(&C)
}

/// `TIME STEP = 0.125`, `FINAL TIME = 100`
fn vensim_setting(word: &str, rest: &str) -> bool {
    let next = first_word(rest);
    let pair = matches!((word, next), ("TIME", "STEP") | ("FINAL" | "INITIAL", "TIME"));
    pair && rest[next.len()..].trim_start().starts_with('=')
}

/// `= {x, y};`
fn is_list(rest: &str) -> bool {
    rest.strip_prefix('=').is_some_and(|rest| rest.trim_start().starts_with('{') && rest.ends_with("};"))
}

/// `eqs = '''`, and then `dv/dt = -v/tau : volt`
fn brian(line: &str, indicated: bool) -> bool {
    let head = line.strip_suffix("'''").map(str::trim_end);
    let opens =
        head.is_some_and(|head| head.ends_with('=') && head.trim_end_matches(['=', ' ']).chars().all(is_name_char));
    let rate = line.starts_with('d') && line.contains("/dt") && line.contains(" : ");
    opens || indicated && (rate || line == "'''")
}

/// `static int f(realtype t, N_Vector y, N_Vector ydot, void *data) {`, `NV_Ith_S(ydot,0) = -k*NV_Ith_S(y,0);`
fn c(line: &str) -> bool {
    let typed = ["N_Vector ", "double *", "double t,"].iter().any(|word| line.contains(word));
    let head = ["int ", "static ", "void ", "double "].iter().any(|word| line.starts_with(word));
    head && typed && line.contains('(') && line.ends_with('{') || line.starts_with("NV_Ith_S(") && line.ends_with(';')
}

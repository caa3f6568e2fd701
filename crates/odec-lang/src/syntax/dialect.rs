//! Recognises files of other languages, mainly of XPP and gotran, which share the extension `.ode`: one message for
//! the whole file instead of an error for every line.

use odec_ir::Span;

use super::keyword::{first_word, is_name_char};
use super::simulator;
use crate::diagnostic::{Diagnostic, codes};

/// A language, and the way to convert its files to models.
pub(super) struct Dialect {
    pub(super) name: &'static str,
    pub(super) help: &'static str,
}

const XPP: Dialect = Dialect {
    name: "an XPP file",
    help: "to convert it: `par a=1, b=2` becomes `param a = 1, b = 2`, `init x=1` and `x(0)=1` become `state x = 1`, \
           `number` becomes `const`, `aux` becomes `output`, `f(x)=...` becomes `fn f(x) = ...`, the `@` options \
           become `run { t = 0 .. 100 }`; remove `done`",
};
const GOTRAN: Dialect = Dialect {
    name: "a gotran file",
    help: "to convert it: `parameters(a=1)` becomes `param a = 1`, `states(x=0)` becomes `state x = 0`, `dx_dt = \
           ...` becomes `x' = ...`; remove `expressions(...)` and `component(...)`",
};
const MODELICA: Dialect = Dialect {
    name: "a Modelica file",
    help: "to convert it: `parameter Real a = 1;` becomes `param a = 1`, `Real x(start = 1);` becomes `state x = 1`, \
           `der(x) = ...;` becomes `x' = ...`; remove `equation` and `end`",
};
const ANTIMONY: Dialect = Dialect {
    name: "an Antimony file",
    help: "to convert it: write a reaction `A -> B; k*A` as `A -> B  rate k*A`, or as `A -> B  flow k*A` if the file \
           has a compartment, and declare `state A = 1`, `state B = 0` and `param k = 0.1`; `species A in c` becomes \
           `state A = 1 in c`",
};
const NONMEM: Dialect = Dialect {
    name: "a NONMEM control stream",
    help: "to convert it: `$PK` lines become `param CL = 2` and definitions, `DADT(1) = ...` becomes `gut' = ...` \
           with `state gut = 0`, `THETA(1)` becomes a parameter with its estimate, and a dose becomes an event: `at \
           0 { gut += 100 }`",
};
const MADONNA: Dialect = Dialect {
    name: "a Berkeley Madonna file",
    help: "to convert it: `STARTTIME` and `STOPTIME` become `run { t = 0 .. 10 }`, `INIT x = 1` becomes `state x = \
           1`, `d/dt(x) = ...` becomes `x' = ...`, constants become `param k = 1`; remove `METHOD`, `DT` and \
           `DISPLAY`",
};
const STAN: Dialect = Dialect {
    name: "a Stan program",
    help: "to convert it: the right side of the function becomes equations, `real du = alpha*u;` becomes `u' = alpha*u` \
           with `state u = 1`, and `real<lower=0> alpha;` becomes `param alpha = 1`; odec fits with `odec fit`",
};
const MRGSOLVE: Dialect = Dialect {
    name: "an mrgsolve model",
    help: "to convert it: `$PARAM CL = 2` becomes `param CL = 2`, `$CMT GUT` becomes `state GUT = 0`, `dxdt_GUT = ...;` \
           becomes `GUT' = ...`, and a dose becomes an event: `at 0 { GUT += 100 }`",
};
const CATALYST: Dialect = Dialect {
    name: "a reaction network of Catalyst",
    help: "to convert it: a line `k, A --> B` becomes `A -> B  mass k`, `@species A(t)=1` becomes `state A = 1`, and \
           `@parameters k=1` becomes `param k = 1`",
};
const MODELING_TOOLKIT: Dialect = Dialect {
    name: "a program for ModelingToolkit",
    help: "to convert it: `@parameters begin a = 1 end` becomes `param a = 1`, `@variables begin x(t) = 1 end` becomes \
           `state x = 1`, `D(x) ~ -a*x` becomes `x' = -a*x`",
};
const MONOLIX: Dialect = Dialect {
    name: "a Monolix model",
    help: "to convert it: `input = {V, k}` becomes `param V = 1, k = 1`, `ddt_x = -k*x` becomes `x' = -k*x` with `state \
           x = 1`, `output = C` becomes `output C`; remove headings such as `[LONGITUDINAL]` and `EQUATION:`",
};
const PHOENIX: Dialect = Dialect {
    name: "a Phoenix model (PML)",
    help: "to convert it: `deriv(A = -k*A)` becomes `A' = -k*A` with `state A = 0`, `fixef(k = c(, 1, ))` becomes `param \
           k = 1`, and `dosepoint(A)` becomes an event, `at 0 { A += 100 }`",
};
const BIONETGEN: Dialect = Dialect {
    name: "a BioNetGen model",
    help: "to convert it: a line `k 0.5` of the parameters becomes `param k = 0.5`, `A() 100` of the species becomes \
           `state A = 100`, and a rule `A() -> B() k` becomes a reaction, `A -> B  mass k`",
};
const MARKUP: Dialect = Dialect {
    name: "XML (SBML or CellML, perhaps)",
    help: "a model is plain text: the documentation begins with a ten-line example",
};
const PYTHON: Dialect = Dialect {
    name: "a Python program",
    help: "a model is a list of equations, not a program: the documentation begins with a ten-line example",
};

const DESOLVE: Dialect = Dialect {
    name: "an R script (deSolve)",
    help: "to convert it: `parameters <- c(a = 1)` becomes `param a = 1`, `state <- c(X = 1)` becomes `state X = 1`, \
           `dX <- -a*X` becomes `X' = -a*X`, `times <- seq(0, 10, by = 0.1)` becomes `run { t = 0 .. 10; samples = \
           100 }`; remove the function and the call of `ode`",
};
pub(super) const VENSIM: Dialect = Dialect {
    name: "a Vensim file",
    help: "to convert it: `X = INTEG(births - deaths, 100)` becomes `state X = 100` and `X' = births - deaths`, \
           constants become `param k = 1`, other lines become definitions with `_` for blanks in names, and units \
           follow a number in brackets",
};
const STELLA: Dialect = Dialect {
    name: "a Stella or iThink file",
    help: "to convert it: `X(t) = X(t - dt) + (births - deaths) * dt` becomes `X' = births - deaths`, `INIT X = 100` \
           becomes `state X = 100`, constants become `param k = 1`; remove headings such as `INFLOWS:`",
};
const CELLML: Dialect = Dialect {
    name: "a CellML model",
    help: "to convert it: `var V: mV {init: -75};` becomes `state V = -75 [mV]`, `ode(V, time) = ...;` becomes `V' = \
           ...`, `var g: mS {init: 1};` of a constant becomes `param g = 1 [mS]`; remove `def` and `enddef`",
};

const MYOKIT: Dialect = Dialect {
    name: "a Myokit model",
    help: "to convert it: `c.x = 1` below `[[model]]` becomes `state x = 1`, `dot(x) = ...` becomes `x' = ...`, a \
           constant becomes `param k = 1 [1/ms]`, and `time = 0 bind time` becomes `time t [ms]`; remove headings such \
           as `[membrane]`",
};
const GPROMS: Dialect = Dialect {
    name: "a gPROMS model",
    help: "to convert it: `k AS REAL` with its value becomes `param k = 1`, a variable with its initial value becomes \
           `state x = 1`, `$x = -k*x;` becomes `x' = -k*x`, other equations become definitions, `y = k*x`; remove \
           headings such as `PARAMETER`",
};
const DIFFSL: Dialect = Dialect {
    name: "a DiffSL model",
    help: "to convert it: `in = [k]` with `k { 1 }` becomes `param k = 1`, `u_i { x = 1 }` becomes `state x = 1`, the \
           lines of `F_i` become equations, `x' = -k*x`, a row of zeros in `M_i` belongs to an `unknown`, and `out_i { \
           y }` becomes `output y`; remove `dudt_i`",
};

const YAML: Dialect = Dialect {
    name: "a YAML file",
    help: "to convert it: `k: 0.5` of a constant becomes `param k = 0.5`, a state with its initial value becomes `state \
           x = 1`, an equation becomes `x' = ...`; remove headings such as `parameters:`",
};

/// Fewer entries `key: value` may be labels in a model.
const FEW_ENTRIES: usize = 3;

/// Records that begin the sections of a NONMEM control stream.
const RECORDS: [&str; 19] = [
    "PROBLEM",
    "PROB",
    "INPUT",
    "DATA",
    "SUBROUTINE",
    "SUBROUTINES",
    "SUBS",
    "MODEL",
    "PK",
    "DES",
    "ERROR",
    "PRED",
    "THETA",
    "OMEGA",
    "SIGMA",
    "EST",
    "ESTIMATION",
    "COV",
    "TABLE",
];

/// Blocks of mrgsolve that are no records of NONMEM.
const BLOCKS: [&str; 7] = ["PARAM", "CMT", "ODE", "MAIN", "CAPTURE", "GLOBAL", "SET"];

/// Blocks of Stan.
const STAN_BLOCKS: [&str; 6] =
    ["functions", "data", "parameters", "transformed data", "transformed parameters", "generated quantities"];

/// The evidence of a line about its language.
enum Sign {
    /// Almost certainly this language.
    Of(&'static Dialect),
    /// A statement of this language.
    Own,
    None,
}

/// The single diagnostic for a file that is evidently in another language.
pub fn recognise(source: &str) -> Option<Diagnostic> {
    let mut found: Vec<(&'static Dialect, usize, Span)> = Vec::new();
    let mut own = 0usize;
    let mut at = 0;
    for line in source.split_inclusive('\n') {
        let text = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        let program = simulator::sign(text, &|of| is_indicated(&found, of));
        match program.map_or_else(|| sign(text, &found), Sign::Of) {
            Sign::Of(dialect) => match found.iter_mut().find(|(known, ..)| known.name == dialect.name) {
                Some((_, count, _)) => *count += 1,
                None => found.push((dialect, 1, Span::new(start, start + text.len()))),
            },
            Sign::Own => own += 1,
            Sign::None => {}
        }
        at += line.len();
    }
    // a network or a model in Julia says more than the program around it
    if is_indicated(&found, &CATALYST) || is_indicated(&found, &MODELING_TOOLKIT) {
        found.retain(|(dialect, ..)| dialect.name != simulator::JULIA.name);
    }
    let (dialect, count, first) = found.into_iter().max_by_key(|&(_, count, span)| (count, std::cmp::Reverse(span)))?;
    if count <= own || dialect.name == YAML.name && count < FEW_ENTRIES {
        return None;
    }
    Some(
        Diagnostic::error(&codes::E0105, format!("this looks like {}, not like an odec model", dialect.name))
            .label(first, "this line shows it")
            .help(dialect.help),
    )
}

fn sign(line: &str, found: &[(&'static Dialect, usize, Span)]) -> Sign {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start();
    let blank = line[word.len()..].starts_with([' ', '\t']);
    let name_follows = blank && rest.starts_with(is_name_char);
    let equals = assigned(rest);
    match word {
        "model" if name_follows && !rest.contains('(') && !line.ends_with(';') => {
            // Modelica starts with the same words
            return if rest.split_whitespace().count() == 1 { Sign::Own } else { Sign::None };
        }
        "state" | "expect" | "output" | "conserve" | "run"
            if name_follows || (word == "run" && rest.starts_with('{')) =>
        {
            return Sign::Own;
        }
        "done" | "d" if rest.is_empty() => return Sign::Of(&XPP),
        "METHOD" if name_follows && !equals => return Sign::Of(&MADONNA),
        "STARTTIME" | "STOPTIME" | "DTMIN" | "DTMAX" | "DTOUT" | "TOLERANCE" | "DT" if rest.starts_with('=') => {
            return Sign::Of(&MADONNA);
        }
        "init" | "INIT" | "Init" if name_follows && equals && is_indicated(found, &MADONNA) => {
            return Sign::Of(&MADONNA);
        }
        "DISPLAY" if name_follows && is_indicated(found, &MADONNA) => return Sign::Of(&MADONNA),
        "p" | "par" | "params" | "number" | "init" | "i" | "aux" | "wiener" | "markov" | "volt" | "o"
            if name_follows && equals && !line.contains('{') =>
        {
            return Sign::Of(&XPP);
        }
        "param" | "parameter" if name_follows && crowded(rest) => return Sign::Of(&XPP),
        "global" if blank && rest.contains('{') => return Sign::Of(&XPP),
        "table" if name_follows && !equals => return Sign::Of(&XPP),
        "bndry" | "set" if name_follows && (word == "bndry" || rest.contains('{')) => return Sign::Of(&XPP),
        "parameters" | "states" | "expressions" | "component" | "monitor" if rest.starts_with('(') && !blank => {
            return Sign::Of(&GOTRAN);
        }
        "Real" | "Integer" | "Boolean" if name_follows => return Sign::Of(&MODELICA),
        "parameter" | "discrete" | "constant" if ["Real ", "Integer "].iter().any(|kind| rest.starts_with(kind)) => {
            return Sign::Of(&MODELICA);
        }
        "equation" | "algorithm" if rest.is_empty() => return Sign::Of(&MODELICA),
        "end" if name_follows && rest.ends_with(';') => return Sign::Of(&MODELICA),
        "import" | "from" if name_follows && !equals => return Sign::Of(&PYTHON),
        "def" | "class" if name_follows && line.ends_with(':') => return Sign::Of(&PYTHON),
        "def" if name_follows && line.ends_with(" as") => return Sign::Of(&CELLML),
        "INFLOWS" | "OUTFLOWS" | "UNATTACHED" | "INFLOW" | "OUTFLOW" if rest == ":" => return Sign::Of(&STELLA),
        "INIT" if name_follows && equals && is_indicated(found, &STELLA) => return Sign::Of(&STELLA),
        "library" | "require" if rest.trim_end_matches(';') == "(deSolve)" => return Sign::Of(&DESOLVE),
        _ => {}
    }
    if let Some(dialect) = record(line) {
        return Sign::Of(dialect);
    }
    if line.starts_with('~') {
        return Sign::Of(&VENSIM);
    }
    if is_r(line, rest) {
        return Sign::Of(&DESOLVE);
    }
    if let Some(dialect) = heading(line).or_else(|| section(line, found)) {
        return Sign::Of(dialect);
    }
    // `@variables x(t)` is a macro of another language
    let macro_call = line.strip_prefix('@').is_some_and(|rest| rest.starts_with(is_name_char) && !assigned(rest));
    if line.starts_with('@') && !macro_call || (line.starts_with('!') && equals) {
        return Sign::Of(&XPP);
    }
    if line.starts_with("<?xml") || line.starts_with("<sbml") || line.starts_with("<model") {
        return Sign::Of(&MARKUP);
    }
    if line.contains("->") && line.contains(';') && !line.starts_with(['#', '/']) {
        return Sign::Of(&ANTIMONY);
    }
    // XPP's initial values count only together with another sign of XPP
    let called = rest.starts_with("(0)") && rest[3..].trim_start().starts_with('=');
    if called && is_indicated(found, &XPP) {
        return Sign::Of(&XPP);
    }
    if is_entry(line) {
        return Sign::Of(&YAML);
    }
    Sign::None
}

/// The language that has this record: `$PK`, `$PARAM`.
fn record(line: &str) -> Option<&'static Dialect> {
    let begins = |words: &[&str]| line.strip_prefix('$').is_some_and(|rest| words.contains(&first_word(rest)));
    if begins(&BLOCKS) || line.starts_with("dxdt_") {
        return Some(&MRGSOLVE);
    }
    (begins(&RECORDS) || line.starts_with("DADT(")).then_some(&NONMEM)
}

/// The language that has this heading or this statement.
fn heading(line: &str) -> Option<&'static Dialect> {
    let macros = ["parameters", "variables", "equations", "constants", "components", "structural_parameters"];
    let begins =
        |line: &str| macros.iter().any(|word| line.strip_prefix(word).is_some_and(|rest| rest.trim() == "begin"));
    let sections =
        ["parameters", "model", "species", "seed species", "molecule types", "reaction rules", "observables"];
    if line.strip_prefix('@').is_some_and(|line| begins(line) || line.starts_with("mtkmodel ")) {
        return Some(&MODELING_TOOLKIT);
    }
    if matches!(line, "[LONGITUDINAL]" | "[INDIVIDUAL]" | "[COVARIATE]" | "EQUATION:" | "<MODEL>") {
        return Some(&MONOLIX);
    }
    // `deriv(A = -k*A)`; `deriv(A) = ...` is a derivative in many languages
    let assigned = line.strip_prefix("deriv(").and_then(|rest| rest.split(')').next()).is_some_and(assigned);
    if assigned || ["dosepoint(", "stparm(", "fixef(", "ranef(", "cfMicro("].iter().any(|word| line.starts_with(word)) {
        return Some(&PHOENIX);
    }
    if line.strip_suffix('{').is_some_and(|head| STAN_BLOCKS.contains(&head.trim_end())) {
        return Some(&STAN);
    }
    if matches!(line, "{Top model}" | "{Reservoirs}" | "{Flows}" | "{Functions}" | "{Globals}") {
        return Some(&MADONNA);
    }
    if line.contains("@reaction_network") {
        return Some(&CATALYST);
    }
    line.strip_prefix("begin ").filter(|rest| sections.contains(&rest.trim())).map(|_| &BIONETGEN)
}

/// The language of a line of Myokit, gPROMS or DiffSL. Some lines count only together with another sign.
fn section(line: &str, found: &[(&'static Dialect, usize, Span)]) -> Option<&'static Dialect> {
    let word = first_word(line);
    let rest = line[word.len()..].trim_start();
    let bracket = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let heading = bracket.is_some_and(|name| !name.is_empty() && name.chars().all(is_name_char));
    let rate =
        word == "dot" && rest.starts_with('(') && rest.split_once(')').is_some_and(|(_, rest)| assigned_to(rest));
    let bound = assigned_to(rest) && [" bind ", " label "].iter().any(|word| line.contains(word));
    if matches!(line, "[[model]]" | "[[protocol]]" | "[[script]]")
        || (heading || rate || bound) && is_indicated(found, &MYOKIT)
    {
        return Some(&MYOKIT);
    }
    let derivative = line.strip_prefix('$').is_some_and(|rest| rest.starts_with(is_name_char) && line.contains('='));
    let typed = line.split_whitespace().nth(1) == Some("AS");
    if matches!(line, "PARAMETER" | "VARIABLE" | "EQUATION" | "ASSIGN" | "STREAM" | "DISTRIBUTION_DOMAIN")
        || (derivative || typed || matches!(line, "INITIAL" | "SET" | "SCHEDULE")) && is_indicated(found, &GPROMS)
    {
        return Some(&GPROMS);
    }
    let block = rest.starts_with('{');
    let tensor = matches!(word, "u_i" | "dudt_i" | "F_i" | "M_i" | "G_i" | "out_i" | "stop_i") && block;
    let inputs = matches!(word, "in" | "in_i") && rest.trim_start_matches(['=', ' ']).starts_with(['[', '{']);
    if tensor || inputs || block && !word.is_empty() && is_indicated(found, &DIFFSL) {
        return Some(&DIFFSL);
    }
    None
}

/// True if a text begins with `=`.
fn assigned_to(rest: &str) -> bool {
    rest.trim_start().strip_prefix('=').is_some_and(|rest| !rest.starts_with('='))
}

/// `k: 0.5`, `- name: x`, but no label before a statement.
fn is_entry(line: &str) -> bool {
    let entry = line.strip_prefix("- ").unwrap_or(line).trim_start();
    let key = first_word(entry);
    let value = entry[key.len()..].strip_prefix(": ").map_or("", str::trim);
    !key.is_empty() && !value.is_empty() && !value.contains(['=', ';', '{', '>', '\''])
}

/// `parameters <- c(a = 1)`, `f <- function(t, y, p) {`, `with(as.list(c(y, p)), {`
fn is_r(line: &str, rest: &str) -> bool {
    let assigned = rest.strip_prefix("<-").map(str::trim_start);
    let list = |rest: &str| rest.starts_with("c(") && rest.contains('=') || rest.starts_with("function(");
    assigned.is_some_and(list) || line.starts_with("with(as.list(") || line.starts_with("list(c(")
}

/// True if an earlier line indicates this language.
fn is_indicated(found: &[(&'static Dialect, usize, Span)], of: &Dialect) -> bool {
    found.iter().any(|(dialect, ..)| dialect.name == of.name)
}

/// True if `=` follows the first name.
fn assigned(rest: &str) -> bool {
    let rest = rest.trim_start_matches('!');
    let name = first_word(rest);
    let after = rest[name.len()..].trim_start();
    after.starts_with('=') && !after.starts_with("==")
}

/// True for `a=1 b=2`: several items separated only by a blank.
fn crowded(rest: &str) -> bool {
    let code = rest.split('#').next().unwrap_or_default();
    let items: Vec<&str> = code.split_whitespace().collect();
    items.len() > 1 && items.iter().all(|item| assigned(item) && !item.ends_with(['=', ',']))
}

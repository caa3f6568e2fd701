//! Functions and values of other languages: `np.exp(x)`, `pow(x, 2)`, `log(x, 10)`, `sin^2(x)`, `true`, `delay`.

use super::absent::{absent, missing, no_value, nothing, of_module};
use super::doubtful::{doubtful, filled, log_of, logarithm, root_of, uncertain};
use super::line::Line;
use super::tables::interpolated;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;
use crate::syntax::operand::Fit;

pub(super) const CODE: &Code = &codes::E0131;

/// Functions of other languages: names, number of arguments, replacement with `$1` for an argument.
const CALLS: [(&[&str], usize, &str); 79] = [
    (&["pow", "Power", "POWER", "POW", "power", "powf", "powi"], 2, "$1^$2"),
    (&["square", "abs2"], 1, "$1^2"),
    (&["inv", "reciprocal"], 1, "1/$1"),
    (&["fabs", "dabs", "Abs", "ABS", "cabs", "absolute"], 1, "abs($1)"),
    (&["heaviside", "Heaviside", "heav", "HeavisideTheta", "UnitStep", "unitstep", "hstep", "step"], 1, "($1 > 0)"),
    // the second argument is the value at 0
    (&["heaviside", "Heaviside"], 2, "($1 >= 0)"),
    (&["sgn", "signum", "Sign", "SIGN"], 1, "sign($1)"),
    (
        &["ifelse", "IfElse", "iff", "iif", "IIf", "where", "select", "cond", "if_else", "ite", "IF"],
        3,
        "(if $1 then $2 else $3)",
    ),
    (&["merge"], 3, "(if $3 then $1 else $2)"),
    (&["fmax", "amax1", "dmax1", "maximum", "Max", "MAX"], 2, "max($1, $2)"),
    (&["fmin", "amin1", "dmin1", "minimum", "Min", "MIN"], 2, "min($1, $2)"),
    (&["Mod", "MOD", "modulo"], 2, "mod($1, $2)"),
    (&["gammaln", "loggamma", "lnGamma", "LogGamma", "lngamma", "ln_gamma"], 1, "lgamma($1)"),
    (&["tgamma", "Gamma"], 1, "gamma($1)"),
    (&["factorial", "Factorial"], 1, "gamma($1 + 1)"),
    (&["arcsin", "ArcSin", "asn", "dasin", "ASIN"], 1, "asin($1)"),
    (&["arccos", "ArcCos", "dacos", "ACOS"], 1, "acos($1)"),
    (&["arctan", "ArcTan", "atn", "arctg", "datan", "ATAN"], 1, "atan($1)"),
    (&["arctan2", "arctan", "datan2", "ATAN2"], 2, "atan2($1, $2)"),
    (&["ArcTan"], 2, "atan2($2, $1)"),
    (&["arcsinh", "ArcSinh", "arsinh"], 1, "asinh($1)"),
    (&["arccosh", "ArcCosh", "arcosh"], 1, "acosh($1)"),
    (&["arctanh", "ArcTanh", "artanh"], 1, "atanh($1)"),
    (&["sec", "Sec"], 1, "1/cos($1)"),
    (&["csc", "cosec", "Csc"], 1, "1/sin($1)"),
    (&["cot", "Cot", "cotan", "ctg", "cotg", "ctan"], 1, "1/tan($1)"),
    (&["sech", "Sech"], 1, "1/cosh($1)"),
    (&["csch", "Csch"], 1, "1/sinh($1)"),
    (&["coth", "Coth"], 1, "1/tanh($1)"),
    (&["sind"], 1, "sin($1*pi/180)"),
    (&["cosd"], 1, "cos($1*pi/180)"),
    (&["tand"], 1, "tan($1*pi/180)"),
    (&["deg2rad", "radians", "rad"], 1, "$1*pi/180"),
    (&["rad2deg", "degrees"], 1, "$1*180/pi"),
    (&["trunc", "fix", "IntegerPart", "aint", "int", "INT", "Int"], 1, "sign($1)*floor(abs($1))"),
    (&["noEvent", "RCONST", "SUN_RCONST", "dble", "float", "double", "Float64", "value"], 1, "$1"),
    (&["gt", "greater"], 2, "($1 > $2)"),
    (&["lt", "less"], 2, "($1 < $2)"),
    (&["geq", "ge"], 2, "($1 >= $2)"),
    (&["leq", "le"], 2, "($1 <= $2)"),
    (&["expit", "logistic", "sigmoid", "inv_logit", "invlogit"], 1, "1/(1 + exp(-$1))"),
    (&["logit"], 1, "ln($1/(1 - $1))"),
    (&["alog", "dlog", "Log", "LN", "Ln", "loge", "log_e"], 1, "ln($1)"),
    (&["alog10", "dlog10", "Log10", "LOG10", "lg"], 1, "log10($1)"),
    (&["dexp", "EXP", "Exp"], 1, "exp($1)"),
    (&["dsqrt", "SQRT", "Sqrt", "SQT"], 1, "sqrt($1)"),
    (&["dsin", "SIN", "Sin"], 1, "sin($1)"),
    (&["dcos", "COS", "Cos"], 1, "cos($1)"),
    (&["dtanh", "TANH", "Tanh", "th"], 1, "tanh($1)"),
    (&["dsinh", "SINH", "Sinh", "sh"], 1, "sinh($1)"),
    (&["dcosh", "COSH", "Cosh", "ch"], 1, "cosh($1)"),
    (&["dtan", "TAN", "Tan", "tg"], 1, "tan($1)"),
    (&["Erf", "ERF", "derf"], 1, "erf($1)"),
    (&["Erfc", "ERFC", "derfc"], 1, "erfc($1)"),
    (&["Floor", "FLOOR"], 1, "floor($1)"),
    (&["Ceiling", "ceiling", "Ceil", "CEIL", "CEILING"], 1, "ceil($1)"),
    (&["nint", "anint", "NINT"], 1, "round($1)"),
    (&["cube", "Cube"], 1, "$1^3"),
    (&["exp10", "pow10"], 1, "10^$1"),
    (&["exp2"], 1, "2^$1"),
    (&["lb", "ld"], 1, "log2($1)"),
    (&["logb"], 2, "ln($1)/ln($2)"),
    (&["sinpi"], 1, "sin(pi*$1)"),
    (&["cospi"], 1, "cos(pi*$1)"),
    (&["asind"], 1, "asin($1)*180/pi"),
    (&["acosd"], 1, "acos($1)*180/pi"),
    (&["atand"], 1, "atan($1)*180/pi"),
    (&["atan2d"], 2, "atan2($1, $2)*180/pi"),
    (&["map"], 5, "$4 + ($1 - $2)*($5 - $4)/($3 - $2)"),
    (&["lerp", "mix"], 3, "$1 + ($2 - $1)*$3"),
    (&["CubeRoot", "curt", "Cbrt"], 1, "cbrt($1)"),
    (&["Hypot", "hypotenuse"], 2, "hypot($1, $2)"),
    (
        &["clip", "clamp", "Clip", "Clamp", "constrain", "sat", "saturate", "saturation", "Saturation", "limiter"],
        3,
        "min(max($1, $2), $3)",
    ),
    (&["bound"], 3, "min(max($1, $2), $3)"),
    (&["sat", "saturate", "saturation"], 1, "min(max($1, -1), 1)"),
    (&["length", "magnitude", "mag", "Length", "Norm"], 1, "norm($1)"),
    (&["normalize", "normalized", "normalise", "unit_vector"], 1, "$1/norm($1)"),
    (&["vec", "vec2", "Vector2", "vector2"], 2, "($1, $2)"),
    (&["vec", "vec3", "Vector3", "vector3"], 3, "($1, $2, $3)"),
];

/// Values: their names in other languages, and in odec.
const VALUES: [(&[&str], &str); 11] = [
    (&["true", "True", "TRUE"], "1"),
    (&["false", "False", "FALSE"], "0"),
    (&["M_PI", "PI", "Pi", "MATH_PI"], "pi"),
    (&["Inf", "INF", "Infinity", "INFINITY", "Infinite", "infinity", "oo"], "inf"),
    (&["M_E", "exp1", "ℯ", "exponentiale"], "exp(1)"),
    (&["ln2", "LN2", "M_LN2"], "ln(2)"),
    (&["ln10", "LN10", "M_LN10"], "ln(10)"),
    (&["avogadro"], "6.02214076e23"),
    (&["M_PI_2", "halfpi"], "pi/2"),
    (&["TWOPI", "TwoPi", "twopi"], "2*pi"),
    (&["SQRT2", "M_SQRT2"], "sqrt(2)"),
];

/// Modules whose functions are built in here.
const MODULES: [&str; 25] = [
    "jax",
    "np",
    "numpy",
    "math",
    "Math",
    "cmath",
    "jnp",
    "torch",
    "tf",
    "ca",
    "casadi",
    "sp",
    "sympy",
    "scipy",
    "np.math",
    "mpmath",
    "std",
    "Base",
    "nl",
    "special",
    "Modelica",
    "Functions",
    "mp",
    "cp",
    "anp",
];

pub(super) fn search(scene: &Scene<'_>, line: &Line<'_>, found: &mut Vec<IdiomMatch>) {
    for at in 0..line.tokens.len() {
        let idiom = module(scene, line, at)
            .or_else(|| missing(scene, line, at))
            .or_else(|| nothing(scene, line, at))
            .or_else(|| constant(line, at))
            .or_else(|| uncertain(scene, line, at))
            .or_else(|| logarithm(scene, line, at))
            .or_else(|| power_of_function(line, at))
            .or_else(|| elementwise(line, at))
            .or_else(|| square_call(scene, line, at))
            .or_else(|| condition_call(line, at))
            .or_else(|| call(scene, line, at))
            .or_else(|| value(scene, line, at))
            .or_else(|| super::unit::declared_factor(scene, line, at));
        found.extend(idiom);
    }
}

/// The replacement of a call with its arguments, if there is one.
pub(super) fn replacement(line: &Line<'_>, word: &str, open: usize) -> Option<String> {
    let arguments = line.arguments(open)?;
    let inner: Vec<String> = arguments.iter().map(|r| rewritten(line.slice(r.start, r.end))).collect();
    let text: Vec<&str> = inner.iter().map(String::as_str).collect();
    if matches!(word, "piecewise" | "Piecewise") {
        return piecewise(line, &arguments, &text);
    }
    let compares = |r: &std::ops::Range<usize>| r.clone().any(|at| line.kind(at) == Some(TokenKind::Compare));
    if matches!(word, "int" | "Int" | "bool") && text.len() == 1 && arguments.iter().all(compares) {
        return Some(format!("({})", text[0]));
    }
    if word == "select" && !arguments.first().is_some_and(compares) {
        return None;
    }
    let (.., template) = CALLS.iter().find(|(names, count, _)| names.contains(&word) && *count == text.len())?;
    Some(filled(template, &text))
}

/// The alternative to a function of other languages, if the call itself cannot be rewritten.
pub(super) fn help_for(name: &str) -> Option<String> {
    let rows = || CALLS.iter();
    let (_, count, template) = rows()
        .find(|(names, ..)| names.contains(&name))
        .or_else(|| rows().find(|(names, ..)| names.iter().any(|known| known.eq_ignore_ascii_case(name))))?;
    let letters = &["u", "v", "w"][..(*count).min(3)];
    Some(format!("write `{name}({})` as `{}`", letters.join(", "), filled(template, letters)))
}

/// Largest depth of nested calls that are rewritten.
const MAX_NESTED: usize = 8;

/// The text with rewritten nested calls.
fn rewritten(text: &str) -> String {
    let mut text = without_modules(text);
    for _ in 0..MAX_NESTED {
        let line = Line::new(&text, 0..text.len(), 0);
        let better = (0..line.tokens.len()).rev().find_map(|at| {
            let call = line.is_name(at) && line.text(at + 1) == "(";
            let open = Some(at + 1).filter(|_| call)?;
            let better = replacement(&line, line.text(at), open)?;
            // `np.where(...)` inside of another call
            let module = at > 1 && line.text(at - 1) == "." && MODULES.contains(&line.text(at - 2));
            let from = if module { at - 2 } else { at };
            Some((line.span(from, line.close(open)?).range(), better))
        });
        match better {
            Some((range, better)) => {
                let start = range.start;
                text.replace_range(range, &better);
                let typed = start..start + better.len();
                if crate::syntax::operand::at(&text, typed.clone()) != Fit::Plain {
                    text.replace_range(typed, &format!("({better})"));
                }
            }
            None => break,
        }
    }
    text
}

/// `exp(y)` for `np.exp(y)`
fn without_modules(text: &str) -> String {
    let line = Line::new(text, 0..text.len(), 0);
    let (mut out, mut from) = (String::new(), 0);
    for at in 0..line.tokens.len() {
        let module = line.text(at + 1) == "." && MODULES.contains(&line.text(at));
        let first = at == 0 || line.text(at - 1) != ".";
        let builtin = odec_ir::builtin::find_function(line.text(at + 2)).is_some() && line.text(at + 3) == "(";
        if module && first && (builtin || line.text(at + 2) == "pi") {
            out.push_str(&text[from..line.tokens[at].start]);
            from = line.tokens[at + 2].start;
        }
    }
    out + &text[from..]
}

/// `log[2](x)`, `sqrt[3]{x}`: the base of a logarithm, or the degree of a root, in brackets.
fn with_degree(line: &Line<'_>, at: usize, close: usize) -> Option<IdiomMatch> {
    let (word, open) = (line.text(at), close + 1);
    let argument = matches!(line.text(open), "(" | "{") && line.touches(close);
    let end = line.close(open).filter(|_| argument && matches!(word, "log" | "lg" | "ln" | "sqrt" | "root"))?;
    let (degree, inside) = (line.slice(at + 2, close), line.slice(open + 1, end));
    if degree.is_empty() || inside.is_empty() || inside.contains(',') {
        return None;
    }
    if matches!(word, "log" | "lg" | "ln") {
        let better = log_of(inside, degree);
        let found = IdiomMatch::new(CODE, "a logarithm does not take a base", line.span(at, end));
        return Some(found.label(format!("write `{better}`")).write(better));
    }
    let found = IdiomMatch::new(CODE, format!("`{word}` does not take a degree"), line.span(at, end));
    let found = found.label("a root");
    Some(match degree {
        "3" => found.write(format!("cbrt({inside})")),
        "2" => found.write(format!("sqrt({inside})")),
        _ => found.help(root_of(inside, degree)),
    })
}

/// `piecewise(value, condition, other)` of SBML, `piecewise(condition, value, other)` of Maple.
fn piecewise(line: &Line<'_>, arguments: &[std::ops::Range<usize>], text: &[&str]) -> Option<String> {
    let condition = |k: usize| {
        arguments.get(k).is_some_and(|r| {
            r.clone().any(|at| {
                line.kind(at) == Some(TokenKind::Compare) || matches!(line.text(at), "gt" | "lt" | "geq" | "leq")
            })
        })
    };
    // Piecewise[{{value, condition}}, other]
    if let [pair, other] = text {
        let pair = pair.trim_matches(['{', '}', '(', ')', '[', ']', ' ']);
        let (value, condition) = pair.split_once(',').filter(|(_, condition)| !condition.contains(','))?;
        return Some(format!("(if {} then {} else {other})", condition.trim(), value.trim()));
    }
    let (other, pairs) = text.split_last()?;
    if pairs.is_empty() || pairs.len() % 2 != 0 {
        return None;
    }
    let first = match (condition(0), condition(1)) {
        (true, false) => true,
        (false, true) => false,
        _ => return None,
    };
    let choices: Vec<String> = pairs
        .chunks(2)
        .map(|pair| {
            let (condition, value) = if first { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
            format!("if {condition} then {value} else ")
        })
        .collect();
    Some(format!("({}{other})", choices.concat()))
}

/// `np.exp(x)`, `math.pi`
fn module(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    let colons = line.reads(at + 1, &[":", ":"]);
    let dot = line.text(at + 1) == ".";
    if !MODULES.contains(&name) || scene.is_declared(name) || !(dot || colons) || (at > 0 && line.text(at - 1) == ".") {
        return None;
    }
    let mut last = at + if colons { 3 } else { 2 };
    while line.text(last + 1) == "." && line.is_name(last + 2) {
        last += 2;
    }
    let word = line.text(last);
    let prefix = line.slice(at, last);
    let open = last + 1;
    let headline = "functions need no module name";
    if line.text(open) == "(" {
        let close = line.close(open)?;
        let count = line.arguments(open)?.len();
        let builtin = odec_ir::builtin::find_function(word);
        if builtin.is_some_and(|op| usize::from(op.0.arity) == count) || word == "log" && count == 1 {
            let found = IdiomMatch::new(CODE, headline, line.span(at, last)).label(format!("write `{word}`"));
            return Some(found.write(word));
        }
        let table = || interpolated(scene, line, last, at);
        if let Some(found) =
            doubtful(scene, line, last).or_else(table).or_else(|| absent(line, last, at, scene.names_of_chain()))
        {
            return Some(found);
        }
        let base_last = word == "log" && name != "Base";
        let logarithm = line.arguments(open).filter(|arguments| base_last && arguments.len() == 2).map(|arguments| {
            let text = |k: usize| line.slice(arguments[k].start, arguments[k].end);
            log_of(text(0), text(1))
        });
        return Some(match replacement(line, word, open).or(logarithm) {
            Some(better) => {
                IdiomMatch::new(CODE, headline, line.span(at, close)).label(format!("write `{better}`")).write(better)
            }
            None => IdiomMatch::new(CODE, headline, line.span(at, last)).help(of_module(prefix, word)),
        });
    }
    let better = match word {
        "pi" | "PI" | "Pi" => "pi",
        "e" | "E" => "exp(1)",
        "inf" | "infty" | "Infinity" => "inf",
        "nan" | "NaN" | "NAN" => return Some(no_value(line, at, last)),
        _ => return None,
    };
    Some(IdiomMatch::new(CODE, headline, line.span(at, last)).label(format!("write `{better}`")).write(better))
}

/// `sin^2(x)`, `sin²(x)`, `sin^-1(x)`
fn power_of_function(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let name = line.text(at);
    if !line.is_name(at) || odec_ir::builtin::find_function(name).is_none() {
        return None;
    }
    // `exp^(-y)`
    if name == "exp" && line.text(at + 1) == "^" && (line.text(at + 2) == "(" || line.text(at + 2) == "-") {
        let end = line.operand_end(at + 2 + usize::from(line.text(at + 2) == "-"))?;
        let better = format!("exp({})", super::line::bare(line.slice(at + 2, end)));
        let found = IdiomMatch::new(CODE, "`exp` is a function, not a number", line.span(at, end - 1));
        let powered = matches!(line.text(end), "^" | "**" | "(");
        return (!powered).then(|| found.label(format!("write `{better}`")).write(better));
    }
    let mut open = at + 1;
    let mut power = String::new();
    if matches!(line.text(open), "^" | "**") {
        open += 1;
        if line.text(open) == "-" {
            power.push('-');
            open += 1;
        }
        power.push_str(line.text(open));
        open += 1;
    } else {
        while line.kind(open) == Some(TokenKind::Raised) {
            power.push(match line.text(open) {
                "²" => '2',
                "³" => '3',
                "⁴" => '4',
                "⁻" => '-',
                "¹" => '1',
                _ => return None,
            });
            open += 1;
        }
    }
    if power.is_empty() || line.text(open) != "(" {
        return None;
    }
    let close = line.close(open)?;
    let argument = line.slice(open + 1, close);
    let inverse = format!("a{name}");
    let powered = format!("{name}({argument})^{power}");
    let found = IdiomMatch::new(CODE, format!("write a power of `{name}` after its argument"), line.span(at, close));
    let better = match power.as_str() {
        "-1" if odec_ir::builtin::find_function(&inverse).is_some() => format!("{inverse}({argument})"),
        // the inverse function, or the reciprocal?
        "-1" => return Some(found.label("a power of a function").help(format!("write `{powered}` for 1/{name}"))),
        _ => powered,
    };
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `exp.(y)`
fn elementwise(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let fits = odec_ir::builtin::find_function(line.text(at)).is_some() && line.reads(at + 1, &[".", "("]);
    (fits && line.touches(at)).then(|| {
        let name = line.text(at);
        IdiomMatch::new(CODE, "call a function without a dot", line.span(at, at + 1)).label("this dot").write(name)
    })
}

/// `Sin[y]`, `If[c, a, b]`
fn square_call(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || line.text(at + 1) != "[" || !line.touches(at) || scene.is_declared(word) {
        return None;
    }
    let lower = word.to_lowercase();
    let close = line.close(at + 1)?;
    if let Some(found) = with_degree(line, at, close) {
        return Some(found);
    }
    let span = line.span(at, close);
    let headline = "write the arguments of a function in round brackets";
    if word == "If" {
        let arguments = line.arguments(at + 1)?;
        let text: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
        let [c, a, b] = text.as_slice() else { return None };
        return Some(
            IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", span)
                .write(format!("(if {c} then {a} else {b})")),
        );
    }
    if let Some(found) = doubtful(scene, line, at) {
        return Some(found);
    }
    let base = line.arguments(at + 1).filter(|arguments| lower == "log" && arguments.len() == 2).map(|arguments| {
        let text = |k: usize| line.slice(arguments[k].start, arguments[k].end);
        log_of(text(1), text(0))
    });
    let better = replacement(line, word, at + 1).or(base).or_else(|| {
        let name = match lower.as_str() {
            "log" => "ln",
            other => other,
        };
        let known = odec_ir::builtin::find_function(name).is_some();
        known.then(|| format!("{name}({})", line.slice(at + 2, close)))
    })?;
    Some(IdiomMatch::new(CODE, headline, span).label(format!("write `{better}`")).write(better))
}

/// `if(c, a, b)`
fn condition_call(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let brackets = line.text(at).eq_ignore_ascii_case("if") && line.text(at + 1) == "(";
    let arguments = line.arguments(at + 1).filter(|_| brackets)?;
    let close = line.close(at + 1)?;
    let text: Vec<&str> = arguments.iter().map(|r| line.slice(r.start, r.end)).collect();
    let [c, a, b] = text.as_slice() else { return None };
    let better = format!("(if {c} then {a} else {b})");
    Some(
        IdiomMatch::new(&codes::E0122, "write a choice as `if ... then ... else`", line.span(at, close))
            .label("not a function")
            .write(better),
    )
}

/// `pow(y, 2)` and its like.
fn call(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if !line.is_name(at) || line.text(at + 1) != "(" || scene.is_declared(word) || scene.is_function(word) {
        return None;
    }
    if at > 0 && matches!(line.text(at - 1), "." | "\\") {
        return None;
    }
    let close = line.close(at + 1)?;
    // the inverse of a matrix has no counterpart
    if word == "inv" && line.is_name(at + 2) && close == at + 3 && scene.arrays.contains_key(line.text(at + 2)) {
        let matrix = line.text(at + 2);
        let found = IdiomMatch::new(CODE, "odec has no inverse of a matrix", line.span(at, close)).label("a matrix");
        return Some(found.help(format!(
            "name the product as unknowns, and write the equations that determine them: `unknown z[i] = 0` and \
             `sum(j: {matrix}[i,j]*z[j]) = x[i]`"
        )));
    }
    let better = replacement(line, word, at + 1)?;
    // a name in capitals is answered as a misspelling
    if better.starts_with(&format!("{}(", word.to_lowercase())) {
        return None;
    }
    Some(
        IdiomMatch::new(CODE, format!("odec has no function `{word}`"), line.span(at, close))
            .label(format!("write `{better}`"))
            .write(better),
    )
}

/// `true`, `M_PI`
fn value(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    if matches!(word, "pi" | "PI") && line.reads(at + 1, &["(", ")"]) {
        return Some(
            IdiomMatch::new(CODE, "`pi` is a number, not a function", line.span(at, at + 2))
                .label("write `pi`")
                .write("pi"),
        );
    }
    if !line.is_name(at) || scene.is_declared(word) || matches!(line.text(at + 1), "(" | "[") {
        return None;
    }
    if let Some(found) = glued(scene, line, at) {
        return Some(found);
    }
    let exponent = line.text(at + 1) == "^";
    if word == "E" && exponent {
        let end = line.operand_end(at + 2)?;
        if matches!(line.text(end), "^" | "**") {
            let found = IdiomMatch::new(CODE, "the exponential function is `exp`", line.span(at, end - 1));
            return Some(found.label("a power of a power").help("write `exp(...)` around the whole exponent"));
        }
        let better = format!("exp({})", super::line::bare(line.slice(at + 2, end)));
        return Some(IdiomMatch::new(CODE, "the exponential function is `exp`", line.span(at, end - 1)).write(better));
    }
    let named = matches!(word, "time" | "TIME" | "Time" | "T_") && !scene.is_declared("time");
    if named && at == 1 && line.text(0) == "at" && line.kind(2) == Some(TokenKind::Number) {
        let span = odec_ir::Span::new(line.tokens[1].start, line.tokens[2].start);
        let found = IdiomMatch::new(&codes::E0118, "the time follows directly after `at`", line.span(1, 1));
        return Some(found.label("not needed").help(format!("write `at {}`", line.text(2))).fix(span, ""));
    }
    if named && line.text(at + 1) != "=" && at > 0 {
        let time = scene.time;
        return Some(
            IdiomMatch::new(CODE, format!("in this model, time is called `{time}`"), line.span(at, at))
                .label(format!("write `{time}`"))
                .write(time),
        );
    }
    // the dots of `.true.` belong to it
    let dotted = at > 0 && line.text(at - 1) == "." && line.touches(at - 1) && line.touches(at);
    let dotted = dotted && line.text(at + 1) == ".";
    let spelling = if dotted { word.to_lowercase() } else { word.to_owned() };
    let (_, better) = VALUES.iter().find(|(names, _)| names.contains(&spelling.as_str()))?;
    let (from, to) = if dotted { (at - 1, at + 1) } else { (at, at) };
    let headline = if matches!(*better, "0" | "1") {
        "true and false are the numbers 1 and 0".to_owned()
    } else {
        format!("write `{}` as `{better}`", line.slice(from, to + 1))
    };
    Some(IdiomMatch::new(CODE, headline, line.span(from, to)).label(format!("write `{better}`")).write(*better))
}

/// `%pi`, `%e^x` of Maxima and Scilab. After a value, `%` may be a remainder.
fn constant(line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let begins = at > 0 && !line.tokens[at - 1].ends_value();
    if line.text(at) != "%" || !begins || !line.touches(at) {
        return None;
    }
    let word = line.text(at + 1);
    let better = match word {
        "pi" | "inf" => word.to_owned(),
        "e" if line.text(at + 2) == "^" => {
            let minus = line.text(at + 3) == "-";
            let end = line.operand_end(if minus { at + 4 } else { at + 3 })?;
            let found = IdiomMatch::new(CODE, "the exponential function is `exp`", line.span(at, end - 1));
            if matches!(line.text(end), "^" | "**") {
                return Some(found.label("a power of a power").help("write `exp(...)` around the whole exponent"));
            }
            return Some(found.write(format!("exp({})", super::line::bare(line.slice(at + 3, end)))));
        }
        "e" => "exp(1)".to_owned(),
        _ => return None,
    };
    let found = IdiomMatch::new(CODE, format!("write `%{word}` as `{better}`"), line.span(at, at + 1));
    Some(found.label(format!("write `{better}`")).write(better))
}

/// `sinx`
fn glued(scene: &Scene<'_>, line: &Line<'_>, at: usize) -> Option<IdiomMatch> {
    let word = line.text(at);
    let functions = ["sin", "cos", "tan", "exp", "ln", "sqrt", "log"];
    let rest = functions.iter().find_map(|name| Some((name, word.strip_prefix(name)?)));
    let (name, argument) = rest.filter(|(_, argument)| scene.is_declared(argument))?;
    let help = format!("write `{name}({argument})`");
    Some(
        IdiomMatch::new(CODE, format!("the argument of `{name}` needs brackets"), line.span(at, at))
            .label("is this a function?")
            .help(help),
    )
}

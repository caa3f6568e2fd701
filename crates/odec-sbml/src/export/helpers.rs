//! Functions of odec that MathML does not have, as function definitions in the file. So each operand occurs only once
//! in a formula.

/// Names of the arguments.
pub type Arguments = &'static [&'static str];

const X: Arguments = &["x"];
const XY: Arguments = &["x", "y"];

/// The arguments and the body of a function. The body is a list with the operator first: `(times 2 x)`.
pub fn find(name: &str) -> Option<(Arguments, &'static str)> {
    Some(match name {
        // 0 if x is 0, and NaN if x is NaN
        "sign" => (X, "(piecewise 1 (gt x 0) -1 (lt x 0) x)"),
        "mod" => (XY, "(minus x (times y (floor (divide x y))))"),
        "round" => (X, "(piecewise (ceiling (minus x 0.5)) (lt x 0) (floor (plus x 0.5)))"),
        // both are accurate for small x
        "expm1" => (X, "(times 2 (exp (divide x 2)) (sinh (divide x 2)))"),
        "log1p" => (X, "(piecewise (times 2 (arctanh (divide x (plus 2 x)))) (lt (abs x) 0.5) (ln (plus 1 x)))"),
        "hypot" => (XY, "(root (plus (power x 2) (power y 2)))"),
        // the angle of the point (y, x), because the first argument is the ordinate
        "atan2" => (
            XY,
            "(piecewise (arctan (divide x y)) (gt y 0) \
             (plus (arctan (divide x y)) pi) (and (lt y 0) (geq x 0)) \
             (minus (arctan (divide x y)) pi) (lt y 0) \
             (divide pi 2) (gt x 0) (divide (minus pi) 2) (lt x 0) (times x y))",
        ),
        _ => return None,
    })
}

/// The body as MathML.
pub fn mathml(body: &str) -> String {
    let spaced = body.replace('(', " ( ").replace(')', " ) ");
    element(&mut spaced.split_whitespace().peekable())
}

fn element<'a>(words: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>) -> String {
    match words.next() {
        Some("(") => {}
        Some("pi") => return "<pi/>".to_string(),
        Some(word) if word.parse::<f64>().is_ok() => return format!("<cn>{word}</cn>"),
        word => return super::formula::quantity(word.unwrap_or_default()),
    }
    let operator = words.next().unwrap_or_default();
    let mut operands = vec![];
    while words.peek().is_some_and(|word| *word != ")") {
        operands.push(element(words));
    }
    words.next();
    if operator != "piecewise" {
        return super::formula::apply(operator, &operands);
    }
    let pieces = operands.chunks(2).map(|pair| match pair {
        [value, condition] => format!("<piece>{value}{condition}</piece>"),
        rest => format!("<otherwise>{}</otherwise>", rest.concat()),
    });
    format!("<piecewise>{}</piecewise>", pieces.collect::<String>())
}

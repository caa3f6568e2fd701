//! The tree as text: printed text reads back as the same tree, and the prefix form shows precedence.

use crate::common;

use common::{models, read};

fn prefix(expr: &str) -> String {
    let (tree, diagnostics) = read(&format!("y = {expr}\n"));
    assert!(diagnostics.is_empty(), "{expr}: {diagnostics:#?}");
    let text = tree.to_string();
    text.trim().strip_prefix("equation y = ").unwrap_or(&text).to_string()
}

fn binds(expr: &str, expected: &str) {
    assert_eq!(prefix(expr), expected, "{expr}");
}

#[test]
fn printed_models_are_read_as_the_same_tree() {
    for (name, text) in models() {
        let (tree, _) = read(&text);
        let printed = tree.to_source();
        let (again, diagnostics) = read(&printed);
        assert!(diagnostics.is_empty(), "{name}\n{printed}\n{diagnostics:#?}");
        assert_eq!(again.to_string(), tree.to_string(), "{name}");
        assert_eq!(again.to_source(), printed, "{name}: printing twice changes the text");
    }
}

#[test]
fn arithmetic_binds_as_on_paper() {
    binds("-x^2", "(neg (^ x 2))");
    binds("2^-3", "(^ 2 (neg 3))");
    binds("2^-3^2", "(^ 2 (neg (^ 3 2)))");
    binds("2^-3*4", "(* (^ 2 (neg 3)) 4)");
    binds("a^b^c", "(^ a (^ b c))");
    binds("a - b - c", "(- (- a b) c)");
    binds("a - -b", "(- a (neg b))");
    binds("a/b*c", "(* (/ a b) c)");
    binds("a*-b*c", "(* (* a (neg b)) c)");
    binds("-a*b", "(* (neg a) b)");
    binds("a + b*c^d", "(+ a (* b (^ c d)))");
    binds("+a", "a");
    binds("x'^2", "(^ x' 2)");
    binds("(a + b)*c", "(* (+ a b) c)");
}

#[test]
fn other_spellings_mean_the_same() {
    binds("a**b", "(^ a b)");
    binds("a − b", "(- a b)");
    binds("a·b×c⋅d", "(* (* (* a b) c) d)");
    binds("a ≤ b", "(<= a b)");
    binds("a ≥ b", "(>= a b)");
    binds("a ≠ b", "(!= a b)");
    binds("x′ + y’", "(+ x' y')");
    binds("x″", "x''");
    binds("1. + .5 + 1e−3", "(+ (+ 1 0.5) 0.001)");
    binds("µ", "μ");
    binds("\u{2126}", "Ω");
    binds("e\u{301}", "é");
    binds("k₁", "k₁");
}

#[test]
fn logic_and_conditions() {
    binds("not a and b or c", "(or (and (not a) b) c)");
    binds("a or b and c", "(or a (and b c))");
    binds("a or b or c", "(or (or a b) c)");
    binds("not a < b", "(not (< a b))");
    binds("a < b <= c", "(< <= a b c)");
    binds("20*(5 < t < 5.05)", "(* 20 (< < 5 t 5.05))");
    binds("if a then b else c + d", "(if a b (+ c d))");
    binds("if a then b else if c then d else e", "(if a b (if c d e))");
    binds("if a then if b then 1 else 2 else 3", "(if a (if b 1 2) 3)");
    binds("2*(if a then b else c)", "(* 2 (if a b c))");
}

#[test]
fn calls_indices_and_units() {
    binds("max(a, b)", "(max a b)");
    binds("max(i: u[i])", "max(i: u[i])");
    binds("sum(j in 1..3, k where j != k: a[j, k]*b)", "sum(j in 1..3, k where (!= j k): (* a[j, k] b))");
    binds("u[i-1]'.z + c.x[i]' + c.y", "(+ (+ u[(- i 1)]'.z c.x[i]') c.y)");
    binds("5 [mV]*x", "(* (unit 5 [mV]) x)");
    binds("(1 + 2) [m/s^2]", "(unit (+ 1 2) [m/s^2])");
    binds("300 [K]^2", "(^ (unit 300 [K]) 2)");
    binds("(1, 2, x)", "(tuple 1 2 x)");
    binds("[[1, 2], [3, 4]]", "(table (table 1 2) (table 3 4))");
}

#[test]
fn long_chains_are_loops() {
    for (operator, count) in [(" + ", 100_000), ("^", 50_000), (" - -", 50_000), (" and ", 50_000)] {
        let text = format!("y = {}\n", vec!["x"; count].join(operator));
        let (tree, diagnostics) = read(&text);
        assert!(diagnostics.is_empty(), "{operator}");
        assert_eq!(read(&tree.to_source()).0.to_string(), tree.to_string());
    }
    let text = format!("y = {}x\n", "-".repeat(100_000));
    let (tree, diagnostics) = read(&text);
    assert!(diagnostics.is_empty());
    assert_eq!(tree.exprs.len(), 100_002);
    let chain = format!("y = {}3\n", "if a then b else ".repeat(20_000));
    assert!(read(&chain).1.is_empty());
}

//! A fix is offered only if the text that it types has no errors, whatever else is wrong with the model.

use odec_lang::diagnostic::apply;
use odec_lang::diagnostic::{Diagnostic, Fix};
use odec_lang::source::Source;

fn errors(text: &str) -> Vec<Diagnostic> {
    let mut found = odec_lang::check(&Source::new("m.ode", text)).diagnostics;
    found.retain(Diagnostic::is_error);
    found
}

/// The text with all fixes that a tool applies without review.
fn mended(text: &str) -> String {
    let fixes: Vec<Fix> = errors(text).into_iter().filter(|d| d.fixes_tried).flat_map(|d| d.fixes).collect();
    apply(text, &fixes).expect("places in the text")
}

/// Lines whose fix types a name that is declared nowhere.
const WRONG: [&str; 2] = ["y' = Π_{q}(x)", "y' = k_{qq}*x"];

#[test]
fn other_mistakes_do_not_hide_that_a_fix_is_wrong() {
    let head = "param k = 2\nstate x = 1, y = 0\nx' = -x\n";
    // nothing else is wrong, something that a fix corrects, something that none corrects
    for other in ["", "z = √x\n", "z = x +* 2\n", "z = √x\nw = x +* 2\n"] {
        for line in WRONG {
            let text = format!("{head}{line}\n{other}");
            assert!(!errors(&text).is_empty(), "{text}");
            let left = mended(&text);
            assert!(left.contains(line), "{text}\n{left}");
        }
        // the right fix of another line remains
        let text = format!("{head}y' = k_{{qq}}*x\n{other}v = np.exp(x)\n");
        assert!(mended(&text).contains("v = exp(x)"), "{text}\n{}", mended(&text));
    }
}

#[test]
fn a_sum_with_its_range_is_translated() {
    let base = "index j = 1..4\nconst b[j] = [1, 2, 3, 4]\nstate x = 1\n";
    for (line, better) in [
        ("x' = Σ_{i=1}^{3} x", "x' = sum(i in 1..3: x)"),
        ("x' = -\\sum_{j=2}^{3} b[j]*x", "x' = - sum(j in 2..3: b[j]*x)"),
        ("x' = -∑_{j} b[j]*x", "x' = -sum(j: b[j]*x)"),
    ] {
        for other in ["", "z = √x\n"] {
            let left = mended(&format!("{base}{line}\n{other}"));
            let same = |text: &str| text.split_whitespace().collect::<String>();
            assert!(same(&left).contains(&same(better)), "{line}\n{left}");
            assert!(errors(&left).is_empty(), "{left}");
        }
    }
}

#[test]
fn a_right_fix_is_applied_although_it_uncovers_other_mistakes() {
    let text = "state x = 1, y = 0\nx' = -X + time\ny' = time*x - time\n";
    assert_eq!(mended(text), "state x = 1, y = 0\nx' = -X + t\ny' = t*x - t\n");
}

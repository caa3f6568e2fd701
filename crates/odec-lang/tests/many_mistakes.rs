//! Texts with a thousand mistakes: they are counted, corrected together, and reported in linear time.

use odec_lang::check;
use odec_lang::diagnostic::apply;
use odec_lang::diagnostic::{Diagnostic, Fix};
use odec_lang::source::Source;

/// A text that begins with `head` and has one line for each number.
fn text(head: &str, lines: usize, line: impl Fn(usize) -> String) -> String {
    (0..lines).map(line).fold(head.to_owned(), |text, line| text + &line + "\n")
}

fn checked(text: &str) -> Vec<Diagnostic> {
    check(&Source::new("m.ode", text)).diagnostics
}

/// The text with all tested fixes.
fn corrected(text: &str) -> String {
    let tested = checked(text).into_iter().filter(|d| d.fixes_tried);
    let fixes: Vec<Fix> = tested.flat_map(|d| d.fixes).collect();
    apply(text, &fixes).expect("places in the text")
}

fn errors(text: &str) -> usize {
    checked(text).iter().filter(|d| d.is_error()).count()
}

const HEAD: &str = "state x = 1\nx' = -x\n";

/// Names of parameters, each misspelt once.
fn misspelt(lines: usize) -> String {
    let head = text(HEAD, lines, |k| format!("param temperature{k} = 2"));
    text(&head, lines, |k| format!("y{k} = x + temprature{k}"))
}

#[test]
fn fixes_of_many_mistakes_are_tested_together() {
    let text = misspelt(300);
    assert_eq!(errors(&text), 300);
    // the first hundred names are compared with the declared ones
    assert_eq!(errors(&corrected(&text)), 200);
}

#[test]
fn all_places_of_an_equal_mistake_are_counted_and_corrected() {
    let text = text(HEAD, 1000, |k| format!("y{k} == x + {k}"));
    let [only] = &checked(&text)[..] else { panic!("one message") };
    assert!(only.headline.ends_with("(1000 times)"), "{}", only.headline);
    assert_eq!(errors(&corrected(&text)), 0);
    // an idiom of another language
    let head = "index i = 1..3\nstate a[i] = 1\na[i]' = -a[i]\n";
    let text = self::text(head, 1000, |k| format!("c{k}[i] = a(i)*a[i]"));
    let [only] = &checked(&text)[..] else { panic!("one message") };
    let last = only.labels.last().expect("places");
    assert!(last.text.ends_with("(and 992 more places)"), "{}", last.text);
    assert_eq!(errors(&corrected(&text)), 0);
}

#[test]
fn equal_mistakes_are_reported_in_linear_time() {
    let indexed = "index i = 1..3\nstate a[i] = 1\na[i]' = -a[i]\n";
    let texts: [&dyn Fn(usize) -> String; 4] = [
        &misspelt,
        &|lines| text(indexed, lines, |k| format!("c{k}[i] = a(i)*a[i]")),
        &|lines| text(HEAD, lines, |k| format!("y{k} = Sin(x) + {k}")),
        &|lines| text(HEAD, lines, |k| format!("y{k} = foo{k}(x)")),
    ];
    for (number, text) in texts.iter().enumerate() {
        let least = |lines: usize| {
            let text = text(lines);
            let time = || {
                let begun = std::time::Instant::now();
                assert!(errors(&text) > 0);
                begun.elapsed().as_secs_f64()
            };
            (0..2).map(|_| time()).fold(f64::INFINITY, f64::min)
        };
        // a busy machine may disturb one of the measurements, but not all of them
        let pairs: Vec<(f64, f64)> = (0..3).map(|_| (least(75), least(600))).collect();
        assert!(pairs.iter().any(|(short, long)| *long < 20.0 * short), "text {number}: {pairs:?}");
    }
}

#[test]
fn values_with_too_many_terms_are_refused_and_never_numbers() {
    const SUM: &str = "sum(i in 1..60000, j in 1..60000: 1/(i*j))";
    let model = "state x = 1\nx' = -x\n";
    for text in [
        format!("{model}index k = 1..{SUM}\nstate u[k] = 1\nu[k]' = -u[k]\n"),
        format!("{model}output m[k in 1..{SUM}] = x\n"),
        format!("param a = 1 in 0..{SUM}\nstate x = 1\nx' = -a*x\n"),
        format!("{model}expect x(1) = {SUM} within 1%\n"),
        format!("{model}expect x(1) = 1 within {SUM}\n"),
        format!("{model}every {SUM} {{ x += 1 }}\n"),
    ] {
        let found = checked(&text);
        let codes: Vec<&str> = found.iter().map(|d| d.code.code).collect();
        assert_eq!(codes, ["E0534"], "{text}{found:?}");
        assert!(found.iter().all(|d| !d.headline.contains("NaN")), "{found:?}");
    }
}

/// Each message needs the declaration of its state, and each idiom facts of all lines: a search among all of them for
/// each equation took nine seconds for 10,000 states.
#[test]
fn states_without_primes_are_explained_in_linear_time() {
    let time = |lines: usize| {
        let text = text("", lines, |k| format!("state x{k} = 1\nx{k} = -x{k}"));
        let begun = std::time::Instant::now();
        assert_eq!(errors(&text), lines);
        begun.elapsed().as_secs_f64()
    };
    // a busy machine may disturb one of the measurements, but not all of them
    let pairs: Vec<(f64, f64)> = (0..3).map(|_| (time(1000), time(8000))).collect();
    assert!(pairs.iter().any(|(short, long)| *long < 20.0 * short), "{pairs:?}");
}

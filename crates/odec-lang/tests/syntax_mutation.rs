//! Valid models with one token deleted, doubled, swapped or misspelt: one message, on the right line, with fixes that help.

use crate::common;

use common::{Random, apply, models, mutate, read};
use odec_lang::diagnostic::Diagnostic;
use odec_lang::source::Source;

const MUTANTS: usize = 2000;
const SEED: u64 = 20;

#[test]
fn one_message_on_the_line_of_the_mistake() {
    let models = models();
    for (name, text) in &models {
        let (_, diagnostics) = read(text);
        assert!(diagnostics.is_empty(), "{name}: {diagnostics:#?}");
    }
    let mut random = Random(SEED);
    let (mut rejected, mut one, mut on_line, mut offered, mut mended) = (0, 0, 0, 0, 0);
    while rejected < MUTANTS {
        let (_, text) = &models[random.below(models.len())];
        let Some(mutant) = mutate(text, &mut random) else { continue };
        let (_, diagnostics) = read(&mutant.text);
        let errors: Vec<_> = diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        let Some(first) = errors.first() else { continue };
        rejected += 1;
        one += usize::from(errors.len() == 1);
        let source = Source::new("mutant", mutant.text.clone());
        let line = first.span().map(|span| source.position(span.start as usize).0);
        on_line += usize::from(line == Some(mutant.line));
        if !first.fixes.is_empty() {
            offered += 1;
            let (_, left) = read(&apply(&mutant.text, &first.fixes));
            mended += usize::from(!left.iter().any(Diagnostic::is_error));
        }
    }
    println!(
        "seed {SEED}: {rejected} rejected, {one} with one message, {on_line} on the line, {mended} of {offered} fixes mend"
    );
    assert!(one * 100 >= rejected * 97, "{one} of {rejected} have one message");
    assert!(on_line * 100 >= rejected * 97, "{on_line} of {rejected} are on the line");
    // two adjacent values get no fix: any operator or a comma may be missing; nor do `* *` and `/ /`, which may be powers
    assert!(offered * 100 >= rejected * 34, "{offered} of {rejected} have a fix");
    assert!(mended * 100 >= offered * 97, "{mended} of {offered} fixes mend");
}

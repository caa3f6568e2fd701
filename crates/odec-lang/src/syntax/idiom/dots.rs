//! Names with signs in them: `k.on = 1`, `IL-6' = ...`.

use super::line::Line;
use super::{IdiomMatch, Scene};
use crate::diagnostic::{Code, codes};
use crate::syntax::explain::token::TokenKind;

const CODE: &Code = &codes::E0134;
/// Components of vectors, which a dot names in odec, and members with a meaning of their own.
const COMPONENTS: [&str; 7] = ["x", "y", "z", "dt", "dot", "der", "diff"];

/// `IL-6' = ...`: a derivative of a name with a hyphen and a number.
pub(super) fn hyphened(line: &Line<'_>) -> Option<IdiomMatch> {
    let number = line.kind(2) == Some(TokenKind::Number) && line.text(2).bytes().all(|byte| byte.is_ascii_digit());
    let joined = line.is_name(0) && line.text(1) == "-" && number && line.touches(0) && line.touches(1);
    if !joined || line.kind(3) != Some(TokenKind::Prime) {
        return None;
    }
    let better = format!("{}_{}", line.text(0), line.text(2));
    let found = IdiomMatch::new(CODE, "a name has no hyphen", line.span(0, 2)).over(line.range.clone());
    Some(found.label(format!("write `{better}`")).help(format!("write `{better}`, here and where it is used")))
}

/// True if this line declares the name `a.b`.
fn declares(line: &Line<'_>, (a, b): (&str, &str)) -> bool {
    let from = usize::from(matches!(line.text(0), "param" | "const" | "state" | "discrete"));
    line.reads(from, &[a, ".", b]) && line.text(from + 3) == "="
}

/// `param c.k = 3` for a part `c`: the line that uses the part gives the value.
fn of_part(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    let (word, part, name) = (line.text(0), line.text(1), line.text(3));
    let declares = matches!(word, "param" | "const" | "state") && line.reads(1, &[part, ".", name, "="]);
    if !declares || !line.is_name(3) || line.find(5, ",").is_some() {
        return None;
    }
    let used = |line: &&Line<'_>| line.text(0) == "use" && line.find(1, "as").is_some_and(|k| line.text(k + 1) == part);
    let head = scene.lines.iter().find(used)?;
    let value = line.slice(5, line.tokens.len());
    let found = IdiomMatch::new(&codes::E0133, "the line that uses a part gives its values", line.span(0, 3));
    let found = found.label("a value of a part").over(line.range.clone());
    Some(if word == "state" {
        found.help(format!(
            "write an initial value as a parameter set, `params start {{ {part}.{name} = {value} }}`, and `params = start` \
             in the run block"
        ))
    } else if head.tokens.last().is_some_and(|last| head.between(last.start, last.end) == "}") {
        found.help(format!("write `{name} = {value}` in the block of `{part}`"))
    } else {
        found.help(format!("write `{} {{ {name} = {value} }}`", head.whole()))
    })
}

/// `k.on = 1`, and `k.on` where it is used. The parts of a model have names with dots.
pub(super) fn dotted(scene: &Scene<'_>, line: &Line<'_>) -> Option<IdiomMatch> {
    if scene.parts {
        return of_part(scene, line);
    }
    let places = (0..line.tokens.len()).filter(|&k| {
        let (a, b) = (line.text(k), line.text(k + 2));
        let name = line.is_name(k) && line.text(k + 1) == "." && line.is_name(k + 2);
        let joined = name && line.touches(k) && line.touches(k + 1) && !COMPONENTS.contains(&b);
        joined && !matches!(line.text(k + 3), "(" | ".") && scene.lines.iter().any(|line| declares(line, (a, b)))
    });
    let mut found: Option<IdiomMatch> = None;
    for k in places {
        let better = format!("{}_{}", line.text(k), line.text(k + 2));
        if scene.is_declared(&better) {
            return None;
        }
        let here = found.unwrap_or_else(|| {
            let found = IdiomMatch::new(CODE, "a name has no dot", line.span(k, k + 2)).over(line.range.clone());
            found.label(format!("write `{better}`")).help(format!("write `{better}`"))
        });
        found = Some(here.fix(line.span(k, k + 2), better));
    }
    found
}

//! Derivatives of elements, `d2q[i]/dt2`, and by a time of another name, `dx/dtau`.

use super::line::Line;
use super::rate::{CODE, HEADLINE, primes};
use super::{IdiomMatch, Scene};

/// `d2q[i]/dt2`, `m*dq[i]/dt`
pub(super) fn of_element(scene: &Scene<'_>, line: &Line<'_>, at: usize, dt: &str) -> Option<IdiomMatch> {
    if let Some(found) = by_another_time(scene, line, at, dt) {
        return Some(found);
    }
    let close = line.close(at + 1).filter(|_| line.text(at + 1) == "[" && line.touches(at))?;
    let word = line.text(at).strip_prefix('d')?;
    let order = word.chars().next().and_then(|c| c.to_digit(10)).unwrap_or(1) as usize;
    let name = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let below = line.text(close + 2);
    let digits = order.to_string();
    let end = match order {
        1 if below == dt => close + 2,
        2..=4 if below == format!("{dt}{digits}") => close + 2,
        2..=4 if line.reads(close + 2, &[dt, "^", &digits]) => close + 4,
        _ => return None,
    };
    // as a whole left side, the first derivative is part of the language
    let whole = order == 1 && at == 0 && line.text(end + 1) == "=";
    let fits = line.text(close + 1) == "/" && scene.states.contains(name) && !scene.is_declared(dt) && !whole;
    fits.then(|| {
        let better = format!("{name}{}{}", line.slice(at + 1, close + 1), primes(order));
        IdiomMatch::new(CODE, HEADLINE, line.span(at, end)).label(format!("write `{better}`")).write(better)
    })
}

/// `dx/dtau = -x` in a model whose time is `t`.
fn by_another_time(scene: &Scene<'_>, line: &Line<'_>, at: usize, dt: &str) -> Option<IdiomMatch> {
    let state = line.text(at).strip_prefix('d').filter(|state| at == 0 && scene.states.contains(state))?;
    let (below, time) = (line.text(2), line.text(2).strip_prefix('d')?);
    let fits = line.text(1) == "/" && line.text(3) == "=" && below != dt && line.is_name(2);
    (fits && !time.is_empty() && !scene.is_declared(below) && !scene.is_declared(time)).then(|| {
        IdiomMatch::new(CODE, format!("in this model, time is called `{}`", scene.time), line.span(0, 2))
            .label("a derivative by another name")
            .help(format!("write `{state}'`, or declare the name of the time: `time {time}`"))
    })
}

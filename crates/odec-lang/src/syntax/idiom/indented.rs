//! Blocks of Python: choices that extend over lines, and blocks whose lines are not indented.

use super::line::Line;
use super::sign::colons;
use super::{IdiomMatch, Scene};

/// Largest number of lines of a choice.
const MAX_LINES: usize = 40;

/// `y' = if x > 1:` with its values and `else:` on the following lines.
pub(super) fn value(scene: &Scene<'_>, at: usize) -> Option<(IdiomMatch, usize)> {
    let line = &scene.lines[at];
    let choice = line.find(0, "=").map(|k| k + 1).filter(|&k| line.text(k) == "if")?;
    line.find(choice, ":")?;
    let more = |other: &&Line<'_>| other.indent > line.indent || matches!(other.text(0), "elif" | "else");
    let next = at + 1 + scene.lines[at + 1..].iter().take(MAX_LINES).take_while(more).count();
    if next == at + 1 {
        return None;
    }
    let range = line.range.start..scene.lines[next - 1].range.end;
    let joined = Line::new(line.file, range.clone(), line.indent);
    Some((colons(scene, &joined, choice)?.over(range), next))
}

/// The line after a block of `if`, `elif` and `else` whose lines are not indented: one line follows `else:`.
pub(super) fn flat_end(scene: &Scene<'_>, at: usize) -> Option<usize> {
    let head = &scene.lines[at];
    let opens = |line: &Line<'_>| line.whole().ends_with(':');
    if !opens(head) || !matches!(head.text(0), "if") {
        return None;
    }
    for k in at + 1..scene.lines.len().min(at + MAX_LINES) {
        let line = &scene.lines[k];
        let branch = matches!(line.text(0), "else" | "elif") && opens(line);
        if line.indent != head.indent || !branch && line.find(0, "=").is_none() {
            return None;
        }
        if branch && line.text(0) == "else" {
            let last = scene.lines.get(k + 1)?;
            return (last.indent == head.indent && last.find(0, "=").is_some()).then_some(k + 2);
        }
    }
    None
}

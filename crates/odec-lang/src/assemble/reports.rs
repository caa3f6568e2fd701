//! Messages about parts.

use odec_ir::{Span, names};

use super::interface::{Interface, Member, MemberKind};
use super::{Flat, Instance, PassedParameter};
use crate::diagnostic::{Diagnostic, codes};
use crate::limits::MAX_PART_DEPTH;
use crate::report::error;
use crate::source::Source;
use crate::suggest;
use crate::syntax::tree::{Entry, Ident, Reference, Unit, UsedPart};

/// The file of a part cannot be read.
pub(super) fn not_read(used: &UsedPart, headline: String, help: Option<String>) -> Diagnostic {
    let other = || "name the model file, relative to the folder of this one: `use \"cell.ode\" as c`".to_owned();
    error(&codes::E0580, headline, used.file_span, "used here").help(help.unwrap_or_else(other))
}

/// A file uses itself, directly or through other files.
pub(super) fn cycle(source: &Source, file: usize, place: Span, chain: &[Span]) -> Diagnostic {
    let name = source.file_name(file);
    let mut report = error(&codes::E0581, format!("`{name}` uses itself"), place, "used again here");
    for &link in chain.iter().rev() {
        report = report.label(link, "through this");
    }
    let files: Vec<&str> = chain.iter().map(|link| source.file_name(source.file_at(link.start as usize))).collect();
    let last = source.file_name(source.file_at(place.start as usize));
    let chain: Vec<&str> = std::iter::once(name).chain(files.into_iter().skip(1)).chain([last]).collect();
    let mut path: Vec<&str> = Vec::new();
    for step in chain {
        if path.last() != Some(&step) {
            path.push(step);
        }
    }
    report.help(format!("the chain is {} -> {name}: remove one of these lines", path.join(" -> ")))
}

/// Parts are nested too deeply.
pub(super) fn too_deep(used: &UsedPart) -> Diagnostic {
    let headline = format!("parts are nested more than {MAX_PART_DEPTH} levels deep");
    error(&codes::E0589, headline, used.file_span, "used here").help("use some of the parts directly in the model")
}

/// There are too many parts, or their files are too large.
pub(super) fn too_large(used: &UsedPart, what: &str) -> Diagnostic {
    error(&codes::E0589, format!("the model has more than {what}"), used.file_span, "used here")
        .help("write equal parts as an array: `index i = 1..N`, and `as c[i]`")
}

/// The model has a function with the name of a builtin function that a part calls.
pub(super) fn builtin_taken(own: &Ident, call: Span) -> Diagnostic {
    let name = &own.name;
    error(
        &codes::E0536,
        format!("the model defines `{name}`, but a part calls the builtin function `{name}`"),
        own.span,
        "defined here",
    )
    .label(call, "called here, in the file of the part")
    .help(format!("rename the function of the model: `fn my_{name}(...)`"))
}

/// A part has the name of something else.
pub(super) fn taken(name: &Ident, first: Span) -> Diagnostic {
    error(&codes::E0584, format!("`{}` is the name of two things", name.name), name.span, "a part")
        .label(first, "declared here first")
        .help(format!("rename the part, for example `as {}2`", name.name))
}

/// The model and a part have different units of time, or one of the files turns units off.
pub(super) fn times(
    source: &Source,
    used: &UsedPart,
    flat: &Flat,
    time: Option<&(Ident, Option<Unit>)>,
    unchecked: bool,
) -> Option<Diagnostic> {
    if let Some(off) = flat.unchecked.filter(|_| !unchecked) {
        let report = error(&codes::E0588, format!("`{}` turns units off", used.file), used.file_span, "used here");
        let report = report.label(off, "here");
        return Some(report.help("write `units off` in the model too, or remove this line from the part"));
    }
    let unit = |time: Option<&(Ident, Option<Unit>)>| time.and_then(|(_, unit)| unit.clone());
    let (ours, its) = (unit(time), unit(flat.time.as_ref()));
    let text = |unit: &Option<Unit>| unit.as_ref().map_or_else(|| "s".to_owned(), |unit| unit.text.clone());
    let (a, b) = (text(&ours), text(&its));
    // a part without any unit uses the model's unit of time
    if a == b || (its.is_none() && !flat.measured) {
        return None;
    }
    let headline = format!("`{}` measures time in [{b}], but this model uses [{a}]", used.file);
    let mut report = error(&codes::E0588, headline, used.file_span, "used here");
    if let Some(unit) = &its {
        report = report.label(unit.span, format!("[{b}]"));
    }
    if let Some(unit) = &ours {
        report = report.label(unit.span, format!("[{a}]"));
    }
    let name = time.map_or("t", |(name, _)| name.name.as_str());
    let file = source.file_name(source.file_at(used.file_span.start as usize));
    Some(report.help(match ours {
        None => format!("write `time {name} [{b}]` in {file}"),
        Some(_) => format!("use one unit of time: `time {name} [{b}]` in {file}, or [{a}] in the part"),
    }))
}

/// The bracket after the name of a part contains something other than an index.
pub(super) fn no_index(used: &UsedPart, name: Option<&Ident>) -> Diagnostic {
    let part = &used.name.name;
    let headline = match name {
        Some(name) => format!("`{}` is not an index of this file", name.name),
        None => format!("the brackets after `{part}` take names of indices"),
    };
    let place = name.map_or(used.name.span, |name| name.span);
    error(&codes::E0587, headline, place, "the part has no index to run over")
        .help(format!("declare an index, `index i = 1..10`, and write `as {part}[i]`"))
}

/// A key of the block is not a parameter of the part.
pub(super) fn no_parameter(
    used: &UsedPart,
    entry: &Entry,
    kind: Option<(MemberKind, Span)>,
    interface: &Interface,
) -> Diagnostic {
    let (key, file) = (&entry.key.name, &used.file);
    let parameters = interface.typed(MemberKind::is_given);
    if let Some((kind, declared)) = kind {
        let headline = format!("`{key}` is {} of `{file}`, not a parameter", kind.words());
        let report = error(&codes::E0583, headline, entry.key.span, "given here").label(declared, "declared here");
        return report.help(match kind {
            MemberKind::State | MemberKind::Discrete => {
                format!(
                    "to set its initial value here, make that a parameter of the part: `param {key}0 = 1`, `state \
                     {key} = {key}0`"
                )
            }
            _ => format!("to set it here, declare it as a parameter of the part: `param {key} = 1`"),
        });
    }
    let report = error(&codes::E0583, format!("`{file}` has no parameter `{key}`"), entry.key.span, "given here");
    match suggest::nearest(key, parameters.iter().copied()).first() {
        Some(near) => {
            let report = report.help(format!("did you mean `{near}`?"));
            let certain = suggest::is_certain(key, near, suggest::SHORTEST_NAME);
            if certain { report.fix(entry.key.span, *near) } else { report }
        }
        None if parameters.is_empty() => report.help("it has no parameters"),
        None => report.help(format!("its parameters are {}", suggest::list(parameters.into_iter()))),
    }
}

/// An array cannot be passed to a part.
pub(super) fn given_array(used: &UsedPart, entry: &Entry, member: &Member) -> Diagnostic {
    let key = &entry.key.name;
    let headline = format!("`{}` cannot receive `{key}` element by element", used.name.name);
    error(&codes::E0583, headline, entry.span, "an array, or a part of an array")
        .label(member.span, "declared here")
        .help("pass parameters without indices; set arrays inside the part, or with `params` and `--set`")
}

/// The constant of a part depends on the index of an array of parts.
pub(super) fn given_size(entry: &Entry, index: &Ident) -> Diagnostic {
    let key = &entry.key.name;
    error(
        &codes::E0583,
        format!("all parts of an array share the constant `{key}`"),
        index.span,
        "differs between the parts",
    )
    .label(entry.key.span, "a constant of the part")
    .help(format!("give `{key}` one value for all parts: only their parameters can differ"))
}

/// A parameter has two values.
pub(super) fn given_twice(entry: &Entry, first: Span) -> Diagnostic {
    error(&codes::E0583, format!("`{}` is set twice", entry.key.name), entry.key.span, "set again here")
        .label(first, "first set here")
        .help("keep one of the two")
}

/// A value that varies with time is given for a volume that the part treats as constant.
pub(super) fn given_volume(entry: &Entry, value: Span, (species, compartment): &(Ident, Ident)) -> Diagnostic {
    let (species_name, compartment_name) = (names::plain(&species.name), names::plain(&compartment.name));
    let headline = format!("the part does not know how fast the volume of `{compartment_name}` changes");
    error(&codes::E0591, headline, value, "this may change with time")
        .label(
            species.span,
            format!("`{species_name}` is in `{compartment_name}`, so its concentration must fall as the volume grows"),
        )
        .help(format!(
            "make the volume a state of the part, with an equation for its rate: `state V = 1`, `V' = q`, \
             `compartment {compartment_name} = V`; and set its rate from here instead of `{}`",
            entry.key.name
        ))
}

/// An input of a part has become a quantity, but the part reads it at a different time.
pub(super) fn input_elsewhere(at: Span, given: &PassedParameter) -> Diagnostic {
    let headline = format!("`{}` is read at another time, but only its current value is known", given.name);
    error(&codes::E0583, headline, at, "read here")
        .label(given.span, "a quantity of the model replaces it")
        .help("set it to an input of the model: declare `input q(t) = table(...)`, and write its name in the block")
}

/// The part has no such name.
pub(super) fn no_member(at: Span, part: &str, name: &str, instance: &Instance) -> Diagnostic {
    let known = instance.interface.typed(|_| true);
    let report = error(&codes::E0582, format!("the part `{part}` has no `{name}`"), at, "")
        .label(instance.name.span, "the part");
    let near = suggest::nearest(name, known.iter().copied());
    match near.first() {
        Some(near) => report.help(format!("did you mean `{part}.{near}`?")),
        None => report.help(format!("it has {}", suggest::list(known.into_iter()))),
    }
}

/// The name of a part is used without the name of a quantity.
pub(super) fn whole_part(reference: &Reference, instance: &Instance) -> Diagnostic {
    let part = &reference.name.name;
    let mut known = instance.interface.typed(|kind| kind == MemberKind::State);
    known.extend(instance.interface.typed(|kind| kind == MemberKind::Definition));
    let axes = if instance.axes.is_empty() { "" } else { "[i]" };
    let example = known.first().map_or_else(|| "V".to_owned(), |name| (*name).to_owned());
    error(&codes::E0585, format!("`{part}` is a part of the model, not a quantity"), reference.span, "")
        .label(instance.name.span, "the part")
        .help(format!("name one of its quantities, for example `{part}{axes}.{example}`"))
}

/// Brackets or primes are in the wrong place.
pub(super) fn misplaced(
    reference: &Reference,
    name: &str,
    member: &Member,
    instance: &Instance,
    (indices, rest): (&[String], &str),
) -> Diagnostic {
    let wanted = name.matches('[').count() + name.matches(',').count();
    let primes = "'".repeat(usize::from(reference.primes));
    let typed = names::plain(name);
    let shown: String = name.replace('[', "[i").replace(',', ", j");
    let report =
        |headline: String| error(&codes::E0586, headline, reference.span, "").label(instance.name.span, "the part");
    if wanted == indices.len() {
        let right = format!("{}{primes}{rest}", names::element(name, indices));
        let what = if indices.is_empty() { "prime" } else { "index" };
        return report(format!("the {what} of `{typed}` is in the wrong place"))
            .help(format!("write `{right}`"))
            .fix(reference.span, right);
    }
    if wanted == 0 {
        let shared = !instance.axes.is_empty() && !member.kind.varies();
        let what =
            if shared { format!("all parts of the array share `{typed}`") } else { format!("`{typed}` has no index") };
        let right = format!("{typed}{primes}{rest}");
        return report(what).help(format!("write `{right}`")).fix(reference.span, right);
    }
    report(format!("`{typed}` takes {wanted} {}", if wanted == 1 { "index" } else { "indices" }))
        .help(format!("write `{shown}{primes}` with indices of this file"))
}

/// Brackets in the name of a function whose first name is not a part.
pub(super) fn no_part(name: &str, call: Span) -> Diagnostic {
    error(&codes::E0203, format!("`{name}` is not a part of the model, so it has no functions"), call, "").help(
        format!(
            "call a function of the model without a dot, `f(x)`; a part is declared by `use \"file.ode\" as {name}[i]`"
        ),
    )
}

/// A function that differs between the parts of an array is called without the indices of a part, or with others.
pub(super) fn call_without_index(name: &str, call: Span, instance: &Instance, inner: usize) -> Diagnostic {
    let (part, function) = name.split_once('.').unwrap_or((name, ""));
    let indices: Vec<&str> = instance.axes.iter().map(|axis| axis.name.as_str()).collect();
    let own = if indices.is_empty() { String::new() } else { format!("[{}]", indices.join(",")) };
    let (path, last) =
        function.rsplit_once('.').map_or((String::new(), function), |(path, last)| (format!(".{path}"), last));
    let nested = if inner > 0 { format!("[{}]", ["j"; 8][..inner.min(8)].join(",")) } else { String::new() };
    error(&codes::E0586, format!("`{name}` is a function of one part of an array"), call, "which part?")
        .label(instance.name.span, "the part")
        .help(format!("write its indices after the name of the part: `{part}{own}{path}{nested}.{last}(...)`"))
}

/// A function of a part receives another number of arguments.
pub(super) fn call_with_other_count(
    (name, call): (&str, Span),
    given: usize,
    declared: &[&Ident],
    instance: &Instance,
) -> Diagnostic {
    let wanted = declared.len();
    let arguments = if wanted == 1 { "1 argument".to_owned() } else { format!("{wanted} arguments") };
    let list: Vec<&str> = declared.iter().map(|argument| argument.name.as_str()).collect();
    error(&codes::E0204, format!("`{name}` takes {arguments} but receives {given}"), call, "")
        .label(declared.first().map_or(instance.name.span, |first| first.span), "declared here")
        .help(format!("its arguments are `({})`", list.join(", ")))
}

//! Inserts parts from other files into the tree of a model: `use "cell.ode" as c`. This happens between parsing and
//! checking. So everything after it sees a single tree, in which loops over an array of parts are ordinary loops.
//!
//! ```text
//! interface   the names that a file declares
//! resolve     `c[i].V` in the file that uses a part becomes one name, `c[].V`, with its indices
//! give        the parameters that the user of a part gives it
//! volumes     which of these make the volume of a compartment
//! functions   arguments of the functions of a part
//! calls       `c[i].f(x)` in the file that uses a part
//! copy        the statements of a part, with its names under that of the part and its index before every axis
//! reports     what can be wrong, in words
//! ```
//!
//! Spans do not change: those of a part lie in its own file ([`Source::file_at`]).

mod calls;
mod copy;
mod functions;
mod give;
mod interface;
mod reports;
mod resolve;
mod volumes;

use std::collections::BTreeMap;
use std::rc::Rc;

use odec_ir::Span;

use crate::diagnostic::Diagnostic;
use crate::limits::{MAX_ASSEMBLED_BYTES, MAX_PART_DEPTH, MAX_PARTS};
use crate::source::{Link, Source};
use crate::syntax::tree::{ExprId, ExprKind, Ident, Index, Later, StatementKind, Tree, Unit, UsedPart};
use crate::syntax::visit::{self, Visit};
use crate::{reactions, syntax};
use interface::{Interface, MemberKind};

/// A file with its parts inserted.
struct Flat {
    tree: Tree,
    interface: Interface,
    /// The name and unit of its time, if it declares them.
    time: Option<(Ident, Option<Unit>)>,
    /// True if it contains units.
    measured: bool,
    /// Source location of `units off`.
    unchecked: Option<Span>,
    /// Number of parts in it, including itself, and the total size of their files in bytes.
    parts: usize,
    bytes: usize,
}

/// A use of a part.
struct Instance {
    name: Ident,
    /// `[i]`
    axes: Vec<Ident>,
    flat: Rc<Flat>,
    /// The names of the part, with their kinds in the model.
    interface: Interface,
    given: Vec<PassedParameter>,
    /// The name of time in the model and in the part.
    time: (String, String),
}

/// A parameter of a part with a value from the `use` block.
struct PassedParameter {
    /// Its name in the tree of the part.
    name: String,
    value: ExprId,
    /// True if it becomes a definition.
    varies: bool,
    /// The input that replaces it, if it is an input.
    input: Option<String>,
    span: Span,
}

/// Inserts the parts that a tree uses into it. Idioms of other languages on lines with these errors are left out of the
/// parts; the last result is true if there are any.
pub(crate) fn assemble(source: &Source, tree: Tree, errors: &[Span]) -> (Tree, Vec<Diagnostic>, bool) {
    let mut assembler = Assembler {
        source,
        errors,
        idioms: false,
        files: BTreeMap::new(),
        chain: Vec::new(),
        parts: 0,
        bytes: 0,
        full: false,
        said: Vec::new(),
    };
    let tree = assembler.expand(0, tree);
    (tree, assembler.said, assembler.idioms)
}

/// True if a tree uses parts.
pub(crate) fn is_needed(tree: &Tree) -> bool {
    tree.statements.iter().any(|statement| matches!(statement.kind, StatementKind::Later(Later::Use(_))))
}

struct Assembler<'a> {
    source: &'a Source,
    /// Places of errors that are known already.
    errors: &'a [Span],
    /// True if a part contains idioms of other languages on lines with these errors.
    idioms: bool,
    /// The files read so far; `None` if reading failed.
    files: BTreeMap<usize, Option<Rc<Flat>>>,
    /// The files that are being read, each with the place where it is used.
    chain: Vec<(usize, Span)>,
    parts: usize,
    bytes: usize,
    /// True if there are too many parts and this has been reported.
    full: bool,
    said: Vec<Diagnostic>,
}

impl Assembler<'_> {
    /// The tree of a file with the trees of its parts inserted.
    fn expand(&mut self, file: usize, mut tree: Tree) -> Tree {
        let own = Interface::of(&tree);
        let time = time_of(&tree);
        let mut instances: BTreeMap<String, Instance> = BTreeMap::new();
        let mut failed = Vec::new();
        for k in 0..tree.statements.len() {
            let StatementKind::Later(Later::Use(used)) = &tree.statements[k].kind else { continue };
            let taken = own.get(&used.name.name).map(|member| member.span);
            let taken = taken.or_else(|| instances.get(&used.name.name).map(|other| other.name.span));
            if let Some(first) = taken {
                self.said.push(reports::taken(&used.name, first));
                continue;
            }
            match self.instance(file, used, &own, &tree, time.as_ref()) {
                Some(instance) => drop(instances.insert(used.name.name.clone(), instance)),
                None => failed.push(used.name.name.clone()),
            }
        }
        calls::resolve(&mut tree, &instances, &mut self.said);
        resolve::references(&mut tree, self.source, &instances, &mut self.said);
        tree.broken.extend(failed);
        let tree = self.splice(tree, &instances);
        if file == 0 {
            // the reactions of the model are what others look at too
            return tree;
        }
        let (expanded, said) = reactions::expand(&tree);
        let expanded = expanded.into_owned();
        self.said.extend(said);
        expanded
    }

    /// Replaces every `use` by the statements of its part.
    fn splice(&mut self, mut tree: Tree, instances: &BTreeMap<String, Instance>) -> Tree {
        let mut units: Vec<String> = Vec::new();
        for statement in &tree.statements {
            if let StatementKind::Unit(names) = &statement.kind {
                units.extend(names.iter().map(|name| name.name.clone()));
            }
        }
        let functions: Vec<Ident> = tree
            .statements
            .iter()
            .filter_map(|statement| match &statement.kind {
                StatementKind::Function { name, .. } => Some(name.clone()),
                _ => None,
            })
            .collect();
        let mut used = std::collections::BTreeSet::new();
        for statement in std::mem::take(&mut tree.statements) {
            let StatementKind::Later(Later::Use(part)) = &statement.kind else {
                tree.statements.push(statement);
                continue;
            };
            let Some(instance) = instances.get(&part.name.name).filter(|_| used.insert(part.name.name.clone())) else {
                continue;
            };
            copy::builtins(instance, &functions, &mut self.said);
            for mut copied in copy::statements(instance, &mut tree, &mut self.said) {
                if let StatementKind::Unit(names) = &mut copied.kind {
                    names.retain(|name| !units.contains(&name.name));
                    units.extend(names.iter().map(|name| name.name.clone()));
                    if names.is_empty() {
                        continue;
                    }
                }
                tree.statements.push(copied);
            }
        }
        tree.broken.sort();
        tree.broken.dedup();
        tree
    }

    /// The part that a statement uses; `None` after reporting an error.
    fn instance(
        &mut self,
        file: usize,
        used: &UsedPart,
        own: &Interface,
        tree: &Tree,
        time: Option<&(Ident, Option<Unit>)>,
    ) -> Option<Instance> {
        let target = match self.source.link(file, &used.file) {
            Some(Link::To(target)) => *target,
            Some(Link::Nowhere(nowhere)) => {
                let report = reports::not_read(used, nowhere.headline.clone(), nowhere.help.clone());
                self.said.push(report);
                return None;
            }
            None => {
                let headline =
                    format!("odec cannot read `{}`: write the name of a file in quotes after `use`", used.file);
                self.said.push(reports::not_read(used, headline, None));
                return None;
            }
        };
        let flat = self.flat(file, target, used)?;
        self.parts += flat.parts;
        self.bytes += flat.bytes;
        if self.parts > MAX_PARTS || self.bytes > MAX_ASSEMBLED_BYTES {
            // report this only once
            if std::mem::replace(&mut self.full, true) {
                return None;
            }
            let many = self.parts > MAX_PARTS;
            let what =
                if many { format!("{MAX_PARTS} parts") } else { format!("{MAX_ASSEMBLED_BYTES} bytes of parts") };
            self.said.push(reports::too_large(used, &what));
            return None;
        }
        if let Some(report) = reports::times(self.source, used, &flat, time, units_off(tree).is_some()) {
            self.said.push(report);
            return None;
        }
        let axes = self.axes(used, own, tree)?;
        let mut instance = Instance {
            name: used.name.clone(),
            axes,
            interface: flat.interface.clone(),
            given: Vec::new(),
            time: (name_of(time), name_of(flat.time.as_ref())),
            flat: flat.clone(),
        };
        give::parameters(&mut instance, used, own, tree, &mut self.said);
        Some(instance)
    }

    /// The indices of an array of parts.
    fn axes(&mut self, used: &UsedPart, own: &Interface, tree: &Tree) -> Option<Vec<Ident>> {
        let mut axes = Vec::new();
        for index in &used.indices {
            let name = match index {
                Index::At(id) => resolve::plain_name(tree, *id),
                Index::In(..) | Index::Range(..) => None,
            };
            match name {
                Some(name) if own.get(&name.name).is_some_and(|member| member.kind == MemberKind::Index) => {
                    axes.push(name);
                }
                other => {
                    self.said.push(reports::no_index(used, other.as_ref()));
                    return None;
                }
            }
        }
        Some(axes)
    }

    /// The tree of a file. It is read once, however often it is used.
    fn flat(&mut self, from: usize, file: usize, used: &UsedPart) -> Option<Rc<Flat>> {
        if let Some(known) = self.files.get(&file) {
            return known.clone();
        }
        let place = used.file_span;
        if file == 0 || file == from || self.chain.iter().any(|(open, _)| *open == file) {
            let from_there = self.chain.iter().position(|(open, _)| *open == file).map_or(0, |k| k + 1);
            let chain: Vec<Span> = self.chain[from_there..].iter().map(|(_, place)| *place).collect();
            self.said.push(reports::cycle(self.source, file, place, &chain));
            return None;
        }
        if self.chain.len() >= MAX_PART_DEPTH {
            self.said.push(reports::too_deep(used));
            return None;
        }
        self.chain.push((file, place));
        let flat = self.read(file).map(Rc::new);
        self.chain.pop();
        self.files.insert(file, flat.clone());
        flat
    }

    /// Reads a file and its parts.
    fn read(&mut self, file: usize) -> Option<Flat> {
        let start = self.source.range(file).start;
        let without = syntax::read_without_idioms(self.source, file, self.errors);
        self.idioms |= without.is_some();
        let (mut tree, diagnostics) = without.unwrap_or_else(|| syntax::read_part(self.source.file_text(file)));
        let before = self.said.len();
        let mut shift = Shift(start as u32);
        for mut diagnostic in diagnostics {
            diagnostic.labels.iter_mut().for_each(|label| shift.span(&mut label.span));
            diagnostic.fixes.iter_mut().for_each(|fix| shift.span(&mut fix.span));
            self.said.push(diagnostic);
        }
        if tree.foreign {
            return None;
        }
        visit::visit(&mut tree, &mut shift);
        name_files_from_model(&mut tree, self.source.folder(file));
        let wrong = self.said[before..].iter().any(Diagnostic::is_error);
        let (parts, bytes) = (self.parts, self.bytes);
        let tree = self.expand(file, tree);
        let (inside, more) = (self.parts - parts, self.bytes - bytes);
        (self.parts, self.bytes) = (parts, bytes);
        let flat = Flat {
            interface: Interface::of(&tree),
            time: time_of(&tree),
            measured: visit::has_units(&tree),
            unchecked: units_off(&tree),
            parts: inside + 1,
            bytes: more + self.source.range(file).len(),
            tree,
        };
        // the names of a file that cannot be read would all be reported as missing
        (!wrong).then_some(flat)
    }
}

/// The name and unit of a tree's time, if it declares them.
fn time_of(tree: &Tree) -> Option<(Ident, Option<Unit>)> {
    tree.statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Time(name, unit) => Some((name.clone(), unit.clone())),
        _ => None,
    })
}

fn name_of(time: Option<&(Ident, Option<Unit>)>) -> String {
    time.map_or_else(|| "t".to_owned(), |(name, _)| name.name.clone())
}

/// Source location of `units off` in a tree.
fn units_off(tree: &Tree) -> Option<Span> {
    tree.statements.iter().find_map(|statement| match &statement.kind {
        StatementKind::Units(word) if word.name == "off" => Some(word.span),
        _ => None,
    })
}

/// The data files that a part names, with paths relative to the model.
fn name_files_from_model(tree: &mut Tree, folder: &str) {
    if folder.is_empty() {
        return;
    }
    let mut texts = Vec::new();
    for expr in &tree.exprs {
        if let ExprKind::Call(name, arguments) = &expr.kind
            && matches!(name.name.as_str(), "csv" | "table")
        {
            texts.extend(arguments.first().copied());
        }
    }
    for ExprId(text) in texts {
        if let Some(ExprKind::Text(file)) = tree.exprs.get_mut(text as usize).map(|expr| &mut expr.kind)
            && !file.starts_with(['/', '\\'])
        {
            *file = format!("{folder}/{file}");
        }
    }
}

/// Shifts spans to the position of a file in the source.
struct Shift(u32);

impl Visit for Shift {
    fn span(&mut self, span: &mut Span) {
        span.start += self.0;
        span.end += self.0;
    }
}

//! Models in several files: the package `comp` lets a file use the models of other files as submodels.

use std::collections::BTreeMap;

use odec_ir::Span;
use odec_lang::diagnostic::codes;
use odec_lang::source::Source;

use super::comp::{self, External};
use super::{check_packages, parts, root, schema};
use crate::flatten::{change, flatten};
use crate::model::Model;
use crate::report::Report;
use crate::xml;

/// The models in one file.
struct Contents {
    main: Model,
    definitions: Vec<Model>,
    external: Vec<External>,
}

/// The names of the other files that a file uses.
pub fn used_files(text: &str) -> Vec<String> {
    // the text is searched first because most files use no others
    let document = if text.contains("externalModelDefinition") { xml::parse(text).ok() } else { None };
    let Some(document) = document else { return vec![] };
    let mut names: Vec<String> = vec![];
    for External { source, .. } in comp::external(document.root_element()) {
        if !names.contains(&source) {
            names.push(source);
        }
    }
    names
}

/// The model of a source, with its submodels inserted.
pub fn whole(source: &Source, report: &mut Report) -> Option<Model> {
    let mut main = file(source, 0, report)?;
    if main.main.submodels.is_empty() || report.failed() {
        return Some(main.main);
    }
    let mut files = vec![];
    if used(&main).next().is_some() {
        for number in 1..source.file_count() {
            files.push(file(source, number, report)?);
        }
    }
    let model = std::mem::take(&mut main.main);
    files.insert(0, Contents { main: model.clone(), ..main });
    let mut models = Models { source, files: &files, report };
    let mut definitions = BTreeMap::new();
    for (number, file) in files.iter().enumerate() {
        // a submodel must not contain the model itself, but other definitions may refer to it
        for definition in file.definitions.iter().chain([&file.main]) {
            definitions.insert(key(number, &definition.base.id), models.linked(number, definition));
        }
    }
    let model = models.linked(0, &model);
    if report.failed() { None } else { flatten(&model, &definitions, report) }
}

/// The models of other files that the submodels of a file use.
fn used(file: &Contents) -> impl Iterator<Item = &External> {
    let submodels = || file.definitions.iter().chain([&file.main]).flat_map(|model| &model.submodels);
    file.external.iter().filter(move |external| submodels().any(|submodel| submodel.model == external.id))
}

/// Reads one file. Its locations become those in the whole text.
fn file(source: &Source, number: usize, report: &mut Report) -> Option<Contents> {
    let mut own = Report::default();
    let text = source.file_text(number);
    let read = xml::parse(text).and_then(|document| {
        let (level, node) = root(&document)?;
        check_packages(document.root_element(), &mut own);
        let root = document.root_element();
        schema::check(level.0, root, &mut own);
        let main = parts::model(level, node, &mut own);
        let mut definition = |part| {
            schema::check(level.0, part, &mut own);
            parts::model(level, part, &mut own)
        };
        let definitions = if number > 0 || !main.submodels.is_empty() {
            comp::definitions(root).map(&mut definition).collect()
        } else {
            vec![]
        };
        Ok(Contents { main, definitions, external: comp::external(root).collect() })
    });
    let start = source.range(number).start;
    let read = read.map_err(|diagnostic| own.push(*diagnostic)).ok();
    for mut diagnostic in own.diagnostics {
        diagnostic.labels.iter_mut().for_each(|label| label.span = change::shifted(label.span, start));
        report.push(diagnostic);
    }
    let mut read = read?;
    if start > 0 {
        read.definitions.iter_mut().chain([&mut read.main]).for_each(|model| change::shift(model, start));
        read.external.iter_mut().for_each(|external| external.span = change::shifted(external.span, start));
    }
    Some(read)
}

/// The name of a model in all files. Those of other files have a space, which an id has not.
fn key(file: usize, id: &str) -> String {
    if file == 0 { id.to_string() } else { format!("{id} in file {file}") }
}

struct Models<'a, 'r> {
    source: &'a Source,
    files: &'a [Contents],
    report: &'r mut Report,
}

impl Models<'_, '_> {
    /// A model whose submodels have the names of their models in all files.
    fn linked(&mut self, file: usize, model: &Model) -> Model {
        let mut model = model.clone();
        for submodel in &mut model.submodels {
            submodel.model = self.find(file, &submodel.model).unwrap_or_else(|| submodel.model.clone());
        }
        model
    }

    /// The name of the model that a file calls `id`; `None` if there is none.
    fn find(&mut self, file: usize, id: &str) -> Option<String> {
        let (mut file, mut id) = (file, id.to_string());
        let mut first: Option<Span> = None;
        // a model of another file may be one of a third file
        for _ in 0..=self.files.len() {
            let here = self.files.get(file)?;
            if here.definitions.iter().chain([&here.main]).any(|model| model.base.id == id) {
                return Some(key(file, &id));
            }
            let Some(external) = here.external.iter().find(|external| external.id == id) else {
                if let Some(span) = first {
                    let headline = format!("the other file has no model `{id}`");
                    self.report.error(&codes::E0805, headline, span, "this model refers to it");
                }
                return None;
            };
            first = first.or(Some(external.span));
            match self.source.linked(file, &external.source) {
                Some(Ok(other)) => {
                    id = external.model.clone().unwrap_or_else(|| self.files[other].main.base.id.clone());
                    file = other;
                }
                Some(Err(why)) => {
                    self.report.error(
                        &codes::E0808,
                        why.headline.clone(),
                        external.span,
                        "it should contain this model",
                    );
                    return None;
                }
                None => {
                    let headline = format!("the model `{id}` is in another file");
                    let label = "odec reads other files only for the command `odec`";
                    self.report.error(&codes::E0808, headline, external.span, label);
                    return None;
                }
            }
        }
        if let Some(span) = first {
            let headline = format!("the definition of `{id}` leads back to itself");
            self.report.error(&codes::E0805, headline, span, "through the files that it names");
        }
        None
    }
}

//! The package `comp`: submodels, ports and replacements.

use odec_ir::Span;
use odec_lang::diagnostic::codes;

use crate::model::{Port, Replacement, Step, Submodel};
use crate::report::Report;
use crate::xml::{Element, base, span};

/// An attribute of the package, with or without its prefix.
pub fn attribute<'a>(node: Element<'a>, name: &str) -> Option<&'a str> {
    let of_package = |a: &roxmltree::Attribute<'_, '_>| a.namespace().is_some_and(|n| n.contains("/comp/"));
    let named = || node.attributes().filter(|a| a.name() == name);
    named().find(of_package).or_else(|| named().find(|a| a.namespace().is_none())).map(|a| a.value().trim())
}

/// The entries of a list of the package.
fn list<'a>(node: Element<'a>, name: &'static str) -> impl Iterator<Item = Element<'a>> {
    let of_package = |n: &Element<'a>| n.tag_name().namespace().is_some_and(|n| n.contains("/comp/"));
    let lists = node.children().filter(move |c| c.tag_name().name() == name && of_package(c));
    lists.flat_map(|list| list.children()).filter(roxmltree::Node::is_element)
}

/// The path from a submodel to one of its parts: `idRef`, `portRef` or `metaIdRef`, with `sBaseRef` inside.
fn path(node: Element<'_>) -> Vec<Step> {
    let mut steps = vec![];
    let mut next = Some(node);
    while let Some(node) = next {
        let text = |name| attribute(node, name).map(str::to_string);
        let step = text("idRef").map(Step::Id).or_else(|| text("portRef").map(Step::Port));
        steps.extend(step.or_else(|| text("metaIdRef").map(Step::MetaId)).or_else(|| text("unitRef").map(Step::Unit)));
        next = node.children().find(|c| c.tag_name().name() == "sBaseRef");
    }
    steps
}

fn replacement(node: Element<'_>) -> Replacement {
    Replacement {
        submodel: attribute(node, "submodelRef").unwrap_or_default().to_string(),
        path: path(node),
        deletion: attribute(node, "deletion").is_some(),
        factor: attribute(node, "conversionFactor").map(str::to_string),
        span: span(node),
    }
}

/// The elements that a part replaces.
pub fn replaces(node: Element<'_>) -> Vec<Replacement> {
    list(node, "listOfReplacedElements").map(replacement).collect()
}

/// The element that replaces a part.
pub fn replaced_by(node: Element<'_>) -> Option<Replacement> {
    node.children().find(|c| c.tag_name().name() == "replacedBy").map(replacement)
}

/// The submodels of a model.
pub fn submodels(node: Element<'_>, report: &mut Report) -> Vec<Submodel> {
    let submodel = |part: Element<'_>| {
        let mut base = base(part, 3);
        base.id = attribute(part, "id").unwrap_or_default().to_string();
        let text = |name| attribute(part, name).map(str::to_string);
        let model = text("modelRef").unwrap_or_default();
        if base.id.is_empty() || model.is_empty() {
            report.error(&codes::E0804, "a submodel lacks `id` or `modelRef`", base.span, "here");
        }
        Submodel {
            base,
            model,
            deletions: list(part, "listOfDeletions").map(|d| (path(d), span(d))).collect(),
            time: text("timeConversionFactor"),
            extent: text("extentConversionFactor"),
        }
    };
    list(node, "listOfSubmodels").map(submodel).collect()
}

/// The ports of a model.
pub fn ports(node: Element<'_>) -> Vec<Port> {
    let port = |part| Port { id: attribute(part, "id").unwrap_or_default().to_string(), path: path(part) };
    list(node, "listOfPorts").map(port).collect()
}

/// The elements below `<sbml>` that define models.
pub fn definitions(root: Element<'_>) -> impl Iterator<Item = Element<'_>> {
    list(root, "listOfModelDefinitions")
}

/// A model in another file.
#[derive(Clone, Debug)]
pub struct External {
    /// Its id in this file.
    pub id: String,
    /// The name of the other file.
    pub source: String,
    /// Its id in the other file; the model of that file itself if it is missing.
    pub model: Option<String>,
    /// Its location.
    pub span: Span,
}

/// Models in other files.
pub fn external(root: Element<'_>) -> impl Iterator<Item = External> {
    list(root, "listOfExternalModelDefinitions").map(|part| External {
        id: attribute(part, "id").unwrap_or_default().to_string(),
        source: attribute(part, "source").unwrap_or_default().to_string(),
        model: attribute(part, "modelRef").map(str::to_string),
        span: span(part),
    })
}

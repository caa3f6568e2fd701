//! Chooses the method of a run.

use odec_lang::diagnostic::Diagnostic;
use odec_ode::method::auto::{self, Traits};
use odec_ode::method::{self, Method, Structure};
use odec_ode::problem::Refusal;

/// The method and the parts of the model that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The method.
    pub method: &'static Method,
    /// Derivatives that the method may use, including the methods that it switches to.
    pub needs: Structure,
    /// True if neither the model nor the caller named the method.
    pub automatic: bool,
}

/// The method called `name`; for `auto` and `None` a method that integrates stiff and nonstiff models. With `single`,
/// the caller needs one method with its own formula, not a combination.
pub fn choose(name: Option<&str>, traits: &Traits, single: bool) -> Result<Choice, Refusal> {
    let method = method::find(name.unwrap_or(auto::METHOD.name))?;
    if method.name != auto::METHOD.name {
        return Ok(Choice { method, needs: method.structure, automatic: false });
    }
    let implicit = auto::method_pair(traits).implicit;
    let method = if single || traits.fixed { implicit } else { method };
    Ok(Choice { method, needs: implicit.structure, automatic: true })
}

/// Methods by their names.
///
/// # Errors
/// A name of no method.
pub fn named(names: &[&str]) -> Result<Vec<&'static Method>, Diagnostic> {
    names
        .iter()
        .map(|name| method::find(name).map_err(|refusal| crate::blame::unknown_method(&refusal, None)))
        .collect()
}

//! A compiled model: its text, the values that override those of the text, and the machine code that models of one
//! text share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use odec_ir::layout::Layout;
use odec_ir::names::plain;
use odec_lang::diagnostic::{Class, Diagnostic, codes};
use odec_lang::model::inputs::CurveSource;
use odec_lang::model::{Model, Overrides, Symbol, Table};
use odec_lang::source::Source;
use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::quantities::{Quantities, Quantity};
use odec_sim::session::{Files, Opened, Unreadable};
use odec_sim::{Error, Loaded, Session, Simulation};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::errors::{diagnostics, exception, usage};
use crate::files;
use crate::kernels::Kernels;
use crate::run::Prepared;
use crate::settings::Settings;

/// Number of programs that are kept for one text, for different constants, parameter sets or purposes. The oldest one
/// is dropped first.
const MAX_PROGRAMS: usize = 16;

/// Properties on which machine code depends, in addition to the text.
#[derive(Clone, Debug, PartialEq)]
struct Key {
    runs: bool,
    run: Option<String>,
    params: Option<String>,
    open: Vec<String>,
    sensitivities: bool,
    /// The open initial values that have been set. A program adds the other ones to the values of the text.
    given: Vec<String>,
    /// Values that are compiled into the program.
    fixed: Vec<(String, u64)>,
}

/// A text, and everything made from it.
struct Origin {
    loaded: Loaded,
    /// Name and text of the SBML file from which the text was made.
    sbml: Option<(String, String)>,
    files: HashMap<String, Vec<u8>>,
    programs: Mutex<Vec<(Key, Arc<Simulation>)>>,
}

/// Names and sizes for the current constants of a model.
struct Shape {
    states: Quantities,
    outputs: Quantities,
}

/// A model with its values. It is immutable.
#[pyclass(frozen, subclass, module = "odec._odec")]
pub struct Core {
    origin: Arc<Origin>,
    values: Vec<(String, f64)>,
    shape: Arc<Shape>,
    kernels: OnceLock<Result<Arc<Kernels>, Error>>,
    last: Mutex<Option<(Settings, Arc<Prepared>)>>,
}

/// Locks a mutex. After a panic in another thread the value is still valid, because it is only replaced as a whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if a name, without its primes, is a scalar state.
fn is_initial(model: &Model, name: &str) -> bool {
    match model.symbols.get(name.trim_end_matches('\'')) {
        Some(Symbol::State(i)) => model.states[*i].indexed.is_scalar(),
        _ => false,
    }
}

/// A parameter or a state that is an array.
fn is_array(model: &Model, name: &str) -> bool {
    match model.symbols.get(name.trim_end_matches('\'')) {
        Some(Symbol::Parameter(i)) => !model.parameters[*i].indexed.is_scalar(),
        Some(Symbol::State(i)) => !model.states[*i].indexed.is_scalar(),
        _ => false,
    }
}

/// True for a parameter, which does not affect the machine code. Other values are compiled into the program.
fn is_parameter(model: &Model, name: &str) -> bool {
    let stem = name.split_once('[').map_or(name, |(stem, _)| stem);
    matches!(model.symbols.get(stem), Some(Symbol::Parameter(_)))
}

impl Core {
    fn load(name: &str, text: &str, files: HashMap<String, Vec<u8>>, sbml: bool) -> Result<Origin, Error> {
        let session = Session::new().with_files(files.clone()).with_memory(odec_cli::memory_budget());
        let source = Source::from_bytes(name, text.as_bytes().to_vec()).map_err(Error::from)?;
        let source = if sbml { files::made_of_sbml(source)?.0 } else { source };
        let loaded = session.check(source).1?;
        let sbml = sbml.then(|| (name.to_owned(), text.to_owned()));
        Ok(Origin { loaded, sbml, files, programs: Mutex::new(Vec::new()) })
    }

    /// Checks the values, and determines names and sizes with them.
    fn shape(origin: &Origin, values: &[(String, f64)]) -> Result<Shape, Error> {
        let choices = Choices { set: values.to_vec(), ..Choices::default() };
        let program = origin.loaded.program(&choices)?.program;
        let layout = Layout::of(&program);
        Ok(Shape { states: Quantities::states(&program, &layout), outputs: Quantities::outputs(&program, &layout) })
    }

    fn with_shape(origin: Arc<Origin>, values: Vec<(String, f64)>, shape: Arc<Shape>) -> Core {
        Core { origin, values, shape, kernels: OnceLock::new(), last: Mutex::new(None) }
    }

    pub fn model(&self) -> &Model {
        self.origin.loaded.model()
    }

    pub fn source(&self) -> &Source {
        self.origin.loaded.source()
    }

    pub fn loaded(&self) -> &Loaded {
        &self.origin.loaded
    }

    /// The choices for a run with the values of this model.
    pub fn choices(&self, settings: &Settings) -> Result<Choices, Error> {
        let mut choices = settings.choices().map_err(Error::from)?;
        choices.set = self.values.clone();
        // read once, because a run may take less time
        static BUDGET: OnceLock<Option<u64>> = OnceLock::new();
        choices.max_memory = *BUDGET.get_or_init(odec_cli::memory_budget);
        Ok(choices)
    }

    /// The states among the names that are single numbers; of a vector, its components.
    pub fn initial_values(&self, names: &[String]) -> Vec<String> {
        let states = &self.shape.states;
        let mut found: Vec<String> = Vec::new();
        for name in names.iter().filter(|name| !is_parameter(self.model(), name)) {
            let chosen = states.select(name).unwrap_or_default();
            let single = chosen.iter().map(|chosen| &states.list()[chosen.quantity]).filter(|q| q.axes.is_empty());
            for quantity in single {
                if !found.contains(&quantity.name) {
                    found.push(quantity.name.clone());
                }
            }
        }
        found
    }

    /// A simulation with these settings. Uses suitable machine code if there is any, and otherwise compiles and stores
    /// it.
    pub fn simulation(&self, settings: &Settings, runs: bool) -> Result<Simulation, Error> {
        let purpose = if runs { Purpose::Rows } else { Purpose::Steps };
        let mut choices = self.choices(settings)?;
        let model = self.model();
        let opened = |(name, _): &(String, f64)| is_parameter(model, name) || choices.open.contains(name);
        if choices.sensitivities && !self.values.iter().all(opened) {
            // opening more names would add derivatives with respect to them
            return self.origin.loaded.simulate(&choices, purpose);
        }
        for (name, _) in &self.values {
            if is_initial(model, name) && !choices.open.contains(name) {
                choices.open.push(name.clone());
            }
        }
        let open = |name: &String| choices.open.contains(name);
        let fixed = self.values.iter().filter(|(name, _)| !open(name) && !is_parameter(model, name));
        let fixed = fixed.map(|(name, value)| (name.clone(), value.to_bits())).collect();
        let (run, params) = settings.names();
        let (run, params) = (run.map(str::to_owned), params.map(str::to_owned));
        let sensitivities = choices.sensitivities;
        let given = self.values.iter().filter(|(name, _)| open(name) && !is_parameter(model, name));
        let given = given.map(|(name, _)| name.clone()).collect();
        let key = Key { runs, run, params, open: choices.open.clone(), sensitivities, given, fixed };
        let found = lock(&self.origin.programs).iter().find(|(other, _)| *other == key).map(|(_, base)| base.clone());
        if let Some(base) = found {
            return base.again(&choices);
        }
        // without the lock: at worst, another thread compiles the same code meanwhile
        let plain: Vec<_> = self.values.iter().filter(|(name, _)| !is_parameter(model, name)).cloned().collect();
        let base = Choices { set: plain, ..choices.clone() };
        let base = match self.origin.loaded.simulate(&base, purpose) {
            Ok(base) => Arc::new(base),
            // the model may only be valid with the values of the parameters
            Err(_) => return self.origin.loaded.simulate(&choices, purpose),
        };
        let mut programs = lock(&self.origin.programs);
        if programs.len() >= MAX_PROGRAMS {
            programs.remove(0);
        }
        programs.push((key, base.clone()));
        drop(programs);
        base.again(&choices)
    }

    /// The preparation for a run with these settings. It is reused if the last run had the same settings.
    pub fn prepared(&self, settings: &Settings) -> Result<Arc<Prepared>, Error> {
        if let Some((_, prepared)) = lock(&self.last).as_ref().filter(|(other, _)| other == settings) {
            return Ok(prepared.clone());
        }
        let prepared = Arc::new(Prepared::new(self.simulation(settings, true)?));
        *lock(&self.last) = Some((settings.clone(), prepared.clone()));
        Ok(prepared)
    }

    /// The kernels, made on first use.
    pub fn kernels(&self, py: Python<'_>) -> PyResult<&Arc<Kernels>> {
        if let Some(Ok(kernels)) = self.kernels.get() {
            return Ok(kernels);
        }
        let make = || {
            if let Some(event) = self.model().events.first() {
                let headline = "a model with events has no function f: its events change what f is";
                let d = Diagnostic::error(&codes::E0504, headline).label(event.head, "the model has an event here");
                let d = d.help("`m.run`, `m.sweep` and `odec.solve_ivp` execute events");
                let error = Error::new(Some(Arc::new(self.source().clone())), vec![d]);
                return Err(Error { class: Class::Usage, ..error });
            }
            let simulation = self.simulation(&Settings::of_f(), false)?;
            Ok(Arc::new(Kernels::new(simulation)))
        };
        // release the interpreter, because another thread may be compiling
        let made = py.detach(|| self.kernels.get_or_init(make));
        made.as_ref().map_err(|error| exception(py, error))
    }
}

/// Name, shape and first index along each axis.
type Named = (String, Vec<usize>, Vec<(String, i64)>);

/// Index, array, values of the index, coordinates.
type Coordinates = (String, String, Vec<i64>, Vec<f64>);

fn named(quantities: &[Quantity]) -> Vec<Named> {
    let of = |q: &Quantity| {
        let shape = q.axes.iter().map(|axis| axis.len).collect();
        (plain(&q.name), shape, q.axes.iter().map(|axis| (axis.name.clone(), axis.first)).collect())
    };
    quantities.iter().map(of).collect()
}

/// The names of all elements, in the order of the text.
fn all_elements(quantities: &Quantities) -> Vec<String> {
    quantities.list().iter().flat_map(|q| (0..q.len).map(|k| q.element(k))).collect()
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (text, name, files, values, like = None, sbml = false))]
    fn new(
        py: Python<'_>,
        text: &str,
        name: &str,
        files: HashMap<String, Vec<u8>>,
        values: Vec<(String, f64)>,
        like: Option<&Core>,
        sbml: bool,
    ) -> PyResult<Core> {
        let made = py.detach(|| {
            let origin = match like {
                Some(like) => like.origin.clone(),
                None => Arc::new(Core::load(name, text, files, sbml)?),
            };
            let model = origin.loaded.model();
            // other parameter values do not change sizes, but they must still be checked
            let shape = match like {
                Some(like)
                    if values.iter().all(|(name, _)| is_parameter(model, name) || is_initial(model, name))
                        && like.values.iter().all(|(name, _)| is_parameter(model, name) || is_initial(model, name)) =>
                {
                    let overrides = Overrides { values: values.clone(), ..Overrides::default() };
                    let tables = model.constants.iter().chain(&model.parameters).any(|g| g.table.is_some());
                    if tables || !model.inputs.is_empty() {
                        Arc::new(Core::shape(&origin, &values)?)
                    } else {
                        let wrong = |list| Error::new(Some(Arc::new(origin.loaded.source().clone())), list);
                        model.values(&overrides).map_err(wrong)?;
                        like.shape.clone()
                    }
                }
                _ => Arc::new(Core::shape(&origin, &values)?),
            };
            Ok(Core::with_shape(origin, values, shape))
        });
        // the text has been valid before, so the error is in the choices of the caller
        let chosen = like.is_some();
        made.map_err(|error: Error| {
            let class = if chosen && error.class == Class::Model { Class::Usage } else { error.class };
            exception(py, &Error { class, ..error })
        })
    }

    /// The text of the model.
    #[getter]
    fn source_text(&self) -> &str {
        self.source().model()
    }

    /// The name of the text in messages.
    #[getter]
    fn source_name(&self) -> &str {
        &self.source().name
    }

    /// Name and text of the SBML file from which the text was made.
    #[getter]
    fn sbml(&self) -> Option<(String, String)> {
        self.origin.sbml.clone()
    }

    /// The name in the `model` line.
    #[getter]
    fn name(&self) -> &str {
        &self.model().name
    }

    /// The files, by the names that the model uses.
    #[getter]
    fn files(&self) -> HashMap<String, Vec<u8>> {
        self.origin.files.clone()
    }

    /// The values that override those of the text, in their order.
    #[getter]
    fn values(&self) -> Vec<(String, f64)> {
        self.values.clone()
    }

    /// The independent variable.
    #[getter]
    fn time(&self) -> &str {
        &self.model().time.name
    }

    /// The names of the states, one for each element, in the order of `y`.
    #[getter]
    fn states<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, all_elements(&self.shape.states))
    }

    /// The names of the outputs, one for each element.
    #[getter]
    fn outputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, all_elements(&self.shape.outputs))
    }

    /// For each state and output: its name, its shape, and the names and first values of its indices.
    fn quantities(&self) -> Vec<Named> {
        named(self.shape.states.list()).into_iter().chain(named(self.shape.outputs.list())).collect()
    }

    /// For each parameter: its name, its values row by row, its shape, and the names and first values of its indices.
    fn parameters(&self, py: Python<'_>) -> PyResult<Vec<(String, Vec<f64>, Vec<usize>, Vec<(String, i64)>)>> {
        // the same values as in a run
        let params = self.origin.loaded.default_params();
        let choices = Choices { set: self.values.clone(), params, ..Choices::default() };
        let lowered = py.detach(|| self.origin.loaded.program(&choices)).map_err(|error| exception(py, &error))?;
        let layout = Layout::of(&lowered.program);
        let p = layout.inputs(&lowered.program);
        let quantities = Quantities::parameters(&lowered.program, &layout);
        let values = quantities.list().iter().map(|q| p[q.places()].to_vec());
        let all = named(quantities.list()).into_iter().zip(values);
        Ok(all.map(|((name, shape, axes), values)| (name, values, shape, axes)).collect())
    }

    /// Units by name, as written or as they follow from the equations.
    fn written_units(&self) -> Vec<(String, String)> {
        let model = self.model();
        let given = model.constants.iter().chain(&model.parameters).map(|g| (g.name.clone(), g.unit.clone()));
        let own = |s: &odec_lang::model::State, k: u8| s.unit.clone().filter(|_| k == 0);
        let states = model.states.iter().flat_map(|s| (0..s.order).map(move |k| (s.derivative(k), own(s, k))));
        let definitions = model.definitions.iter().map(|d| (d.name.clone(), d.unit.clone()));
        let time = std::iter::once((model.time.name.clone(), model.time.unit.clone()));
        let all = time.chain(given).chain(states).chain(definitions);
        all.filter_map(|(name, unit)| Some((plain(&name), unit.or_else(|| self.unit_of(&name))?))).collect()
    }

    /// The unit that follows from the equations, also of a derivative `d(x)/d(k)`.
    fn unit_of(&self, name: &str) -> Option<String> {
        self.model().units.text_of(name, &self.model().time.name)
    }

    /// Doc comments, by name.
    fn written_docs(&self) -> Vec<(String, String)> {
        let model = self.model();
        let given = model.constants.iter().chain(&model.parameters).map(|g| (&g.name, &g.doc));
        let states = model.states.iter().map(|s| (&s.name, &s.doc));
        let all = given.chain(states).chain(model.definitions.iter().map(|d| (&d.name, &d.doc)));
        all.filter_map(|(name, doc)| Some((plain(name), doc.clone()?))).collect()
    }

    /// The coordinates that an `axis` line gives to an index: its name, the name of the array, the values of the index,
    /// and the coordinates there.
    fn coordinates(&self, py: Python<'_>) -> PyResult<Vec<Coordinates>> {
        let model = self.model();
        if model.axes.is_empty() {
            return Ok(Vec::new());
        }
        let overrides = Overrides {
            values: self.values.clone(),
            params: self.origin.loaded.default_params(),
            ..Overrides::default()
        };
        let wrong = |list| exception(py, &Error::new(Some(Arc::new(self.source().clone())), list));
        let values = model.values(&overrides).map_err(wrong)?;
        let of = |index: &str| {
            let (array, list) = model.coordinates(index, &values)?;
            let (at, places) = list.into_iter().unzip();
            Some((index.to_owned(), plain(model.name_of(array)), at, places))
        };
        Ok(model.axes.iter().filter_map(|axis| of(&model.index_sets[axis.index].name)).collect())
    }

    /// A value in the unit of a parameter, constant or state, from one in another unit.
    fn in_unit(&self, py: Python<'_>, name: &str, value: f64, unit: &str) -> PyResult<f64> {
        let model = self.model();
        let found = model.units.number_in(value, unit, name, &model.time.name);
        found.map_err(|d| exception(py, &Error { class: Class::Usage, ..Error::from(d) }))
    }

    /// The equations, line by line, as the compiler understood them: left-hand and right-hand sides. Then
    /// the definitions and functions in them.
    fn equation_texts(&self) -> Vec<(String, String)> {
        self.model().written_equations()
    }

    /// The warnings about the text.
    fn remarks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        diagnostics(py, Some(self.source()), self.origin.loaded.warnings())
    }

    /// The names, with those of all elements in the place of a parameter or a state that is an array.
    fn elements(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<String>> {
        if !names.iter().any(|name| is_array(self.model(), name)) {
            return Ok(names);
        }
        let choices = Choices { set: self.values.clone(), ..Choices::default() };
        let lowered = py.detach(|| self.origin.loaded.program(&choices)).map_err(|error| exception(py, &error))?;
        let parameters = Quantities::parameters(&lowered.program, &Layout::of(&lowered.program));
        let all = || parameters.list().iter().chain(self.shape.states.list());
        let mut found = Vec::with_capacity(names.len());
        for name in names {
            let array = all().find(|q| is_array(self.model(), &name) && plain(&q.name) == name);
            match array {
                Some(q) => found.extend((0..q.len).map(|k| q.element(k))),
                None => found.push(name),
            }
        }
        Ok(found)
    }

    /// The names of all elements of a parameter, constant or state, with these values. An error if the shapes differ.
    fn spread(&self, py: Python<'_>, name: &str, values: Vec<f64>, shape: Vec<usize>) -> PyResult<Vec<(String, f64)>> {
        let choices = Choices { set: self.values.clone(), ..Choices::default() };
        let lowered = py.detach(|| self.origin.loaded.program(&choices)).map_err(|error| exception(py, &error))?;
        let parameters = Quantities::parameters(&lowered.program, &Layout::of(&lowered.program));
        let lists = [&parameters, &self.shape.states, &self.shape.outputs];
        let found = lists.iter().find_map(|list| list.list().iter().find(|q| plain(&q.name) == name));
        let Some(quantity) = found.filter(|quantity| !quantity.axes.is_empty()) else {
            return Err(usage(py, &format!("`{name}` is not an array, so it takes a single number")));
        };
        // with a different shape, the values would belong to other indices
        if !quantity.axes.iter().map(|axis| axis.len).eq(shape.iter().copied()) {
            let product = |list: Vec<usize>| list.iter().map(usize::to_string).collect::<Vec<_>>().join(" by ");
            let own = product(quantity.axes.iter().map(|axis| axis.len).collect());
            let indices = quantity.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>().join(", ");
            let given = product(shape);
            return Err(usage(py, &format!("`{name}` has {own} elements ({indices}), and {given} values are given")));
        }
        Ok(values.into_iter().enumerate().map(|(k, value)| (quantity.element(k), value)).collect())
    }
}

/// The diagnostics of a text, whether it is valid or not.
#[pyfunction]
pub fn check<'py>(py: Python<'py>, text: &str, name: &str) -> PyResult<Bound<'py, PyList>> {
    let source = Source::new(name, text);
    let list = match Session::new().check(source.clone()).1 {
        Ok(loaded) => loaded.warnings().to_vec(),
        Err(error) => error.diagnostics,
    };
    diagnostics(py, Some(&source), &list)
}

/// Files that are available, and the names of those that are missing.
struct FileSet {
    files: HashMap<String, Vec<u8>>,
    missing: Arc<Mutex<Vec<String>>>,
}

impl Files for FileSet {
    fn open(&self, name: &str) -> Result<Opened, Unreadable> {
        let opened = self.files.open(name);
        if opened.is_err() {
            self.missing.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        }
        opened
    }
}

/// The files that a model and its parts name and that are missing in `files`. Those of a part are only known once its
/// file is available.
#[pyfunction]
pub fn named_files(text: &str, name: &str, files: HashMap<String, Vec<u8>>) -> Vec<String> {
    let missing = Arc::new(Mutex::new(Vec::new()));
    let wanted = FileSet { files: files.clone(), missing: Arc::clone(&missing) };
    let loaded = Session::new().with_files(wanted).load(name, text);
    let mut names = std::mem::take(&mut *missing.lock().unwrap_or_else(PoisonError::into_inner));
    if let Ok(loaded) = loaded {
        let model = loaded.model();
        names.extend(model.constants.iter().chain(&model.parameters).filter_map(|given| match &given.table {
            Some(Table::Csv { file, .. }) => Some(file.clone()),
            _ => None,
        }));
        names.extend(model.inputs.iter().filter_map(|input| match &input.source {
            CurveSource::Csv { file, .. } => Some(file.clone()),
            CurveSource::Lists(..) => None,
        }));
    }
    names.retain(|name| !files.contains_key(name));
    names.sort();
    names.dedup();
    names
}

/// The names of the methods, with their descriptions.
#[pyfunction]
pub fn methods(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    let auto = std::iter::once(&odec_ode::method::auto::METHOD);
    for method in auto.chain(odec_ode::method::table().iter().copied()) {
        all.set_item(method.name, method.about)?;
    }
    Ok(all)
}

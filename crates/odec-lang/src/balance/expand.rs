//! Expands expressions into sums of products, so that terms cancel and the rest is readable.

use std::collections::{BTreeMap, HashMap};

use odec_ir::{Array, ArrayId, Element, Graph, Node, NodeId, Role, Span};

/// Largest number of products in one sum; larger expressions are not expanded.
const MAX_PRODUCTS: usize = 256;
/// Largest power of a sum that is multiplied out.
const MAX_POWER: f64 = 6.0;
/// A sum of coefficients below this fraction of their sizes is rounding.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// A factor of a product.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Factor {
    /// The independent variable.
    Time,
    /// A state, parameter or size.
    Array(ArrayId),
    /// The derivative of a state that no equation gives explicitly.
    Rate(ArrayId),
    /// A builtin of sums, by their numbers.
    Call(&'static str, Vec<u32>),
    /// A sum, by its number: the base of a power.
    Sum(u32),
    /// The value of an input, as the model calls it: `q(t)`.
    Input(String),
}

/// The calls of inputs by their places, with their texts.
pub(super) type Calls = HashMap<Span, String>;

/// Factors, by number and ascending, with their exponents as bits.
type Product = Vec<(u32, u64)>;

/// Products with their coefficients, and the sums of the magnitudes of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Sum {
    products: BTreeMap<Product, (f64, f64)>,
}

impl Sum {
    fn number(x: f64) -> Sum {
        let mut sum = Sum::default();
        sum.add(Product::new(), x, x.abs());
        sum
    }

    fn add(&mut self, product: Product, coefficient: f64, size: f64) {
        let known = self.products.entry(product).or_insert((0.0, 0.0));
        *known = (known.0 + coefficient, known.1 + size);
    }

    /// Without the products that cancel.
    fn clean(mut self) -> Sum {
        self.products.retain(|_, (coefficient, size)| coefficient.abs() > ROUNDING * *size);
        self
    }

    /// True if everything cancels.
    pub fn is_zero(&self) -> bool {
        self.products.is_empty()
    }

    /// Number of products.
    pub fn len(&self) -> usize {
        self.products.len()
    }

    /// The value if the sum is a constant.
    fn constant(&self) -> Option<f64> {
        let mut products = self.products.iter();
        match (products.next(), products.next()) {
            (None, _) => Some(0.0),
            (Some((product, (coefficient, _))), None) if product.is_empty() => Some(*coefficient),
            _ => None,
        }
    }
}

/// Unique factors and sums.
#[derive(Default)]
pub(super) struct Expander {
    factors: Vec<Factor>,
    factor_numbers: HashMap<Factor, u32>,
    sums: Vec<Sum>,
    sum_numbers: HashMap<Vec<(Product, u64)>, u32>,
    /// Inputs that are not expanded.
    calls: Calls,
}

impl Expander {
    /// An expander for texts: it keeps calls of inputs as they are.
    pub fn with_calls(calls: Calls) -> Expander {
        Expander { calls, ..Expander::default() }
    }

    /// A node of a scalar graph as a sum. `rate` gives y' of a state if the equations determine it. `None` if the sum
    /// is too large, or contains something other than scalars.
    pub fn expand(&mut self, graph: &Graph, root: NodeId, rate: &dyn Fn(ArrayId) -> Option<Sum>) -> Option<Sum> {
        let mut known: Vec<Option<Sum>> = vec![None; graph.len()];
        for (id, node) in graph.live([root]) {
            let call = graph.spans(id).iter().find_map(|span| self.calls.get(span)).cloned();
            if let Some(call) = call {
                known[id.index()] = Some(self.alone(Factor::Input(call)));
                continue;
            }
            let sum = match node {
                Node::Constant(bits) => {
                    let x = f64::from_bits(bits);
                    if !x.is_finite() {
                        return None;
                    }
                    Sum::number(x)
                }
                Node::Time => self.alone(Factor::Time),
                Node::Read(Element::Scalar(array)) => self.alone(Factor::Array(array)),
                Node::Direction(Element::Scalar(array)) => {
                    rate(array).unwrap_or_else(|| self.alone(Factor::Rate(array)))
                }
                Node::Call(op, _) => {
                    let operands: Option<Vec<&Sum>> =
                        node.operands().iter().map(|o| known[o.index()].as_ref()).collect();
                    self.call(op.0.name, &operands?)?
                }
                _ => return None,
            };
            if sum.len() > MAX_PRODUCTS {
                return None;
            }
            known[id.index()] = Some(sum);
        }
        known[root.index()].take()
    }

    fn factor(&mut self, factor: Factor) -> u32 {
        let next = self.factors.len() as u32;
        let number = *self.factor_numbers.entry(factor.clone()).or_insert(next);
        if number == next {
            self.factors.push(factor);
        }
        number
    }

    fn alone(&mut self, factor: Factor) -> Sum {
        let mut sum = Sum::default();
        let number = self.factor(factor);
        sum.add(vec![(number, 1f64.to_bits())], 1.0, 1.0);
        sum
    }

    fn sum(&mut self, sum: &Sum) -> u32 {
        let key = sum.products.iter().map(|(product, (x, _))| (product.clone(), x.to_bits())).collect();
        let next = self.sums.len() as u32;
        let number = *self.sum_numbers.entry(key).or_insert(next);
        if number == next {
            self.sums.push(sum.clone());
        }
        number
    }

    fn call(&mut self, name: &'static str, operands: &[&Sum]) -> Option<Sum> {
        let result = match (name, operands) {
            ("add", [a, b]) => added(a, b, 1.0),
            ("sub", [a, b]) => added(a, b, -1.0),
            ("neg", [a]) => added(&Sum::default(), a, -1.0),
            ("mul", [a, b]) => multiplied(a, b)?,
            ("fma", [a, b, c]) => added(&multiplied(a, b)?, c, 1.0),
            ("div", [a, b]) => multiplied(a, &self.power(b, -1.0)?)?,
            ("sqrt", [a]) => self.power(a, 0.5)?,
            ("pow", [a, b]) => match b.constant() {
                Some(exponent) => self.power(a, exponent)?,
                None => self.opaque(name, operands),
            },
            _ => self.opaque(name, operands),
        };
        Some(result.clean())
    }

    /// A call that is treated as an unknown function of its arguments.
    fn opaque(&mut self, name: &'static str, operands: &[&Sum]) -> Sum {
        let numbers = operands.iter().map(|sum| self.sum(sum)).collect();
        self.alone(Factor::Call(name, numbers))
    }

    fn power(&mut self, base: &Sum, exponent: f64) -> Option<Sum> {
        let whole = exponent.fract() == 0.0;
        if let Some(x) = base.constant() {
            let value = x.powf(exponent);
            return value.is_finite().then(|| Sum::number(value));
        }
        if base.len() == 1 && whole {
            let (product, (coefficient, _)) = base.products.iter().next()?;
            let raised = coefficient.powf(exponent);
            let product = product.iter().map(|&(f, e)| (f, (f64::from_bits(e) * exponent).to_bits())).collect();
            let mut sum = Sum::default();
            sum.add(product, raised, raised.abs());
            return raised.is_finite().then_some(sum);
        }
        if whole && (0.0..=MAX_POWER).contains(&exponent) {
            let mut sum = Sum::number(1.0);
            for _ in 0..exponent as usize {
                sum = multiplied(&sum, base)?.clean();
            }
            return Some(sum);
        }
        // a single factor is its own base
        let mut products = base.products.iter();
        let factor = match (products.next(), products.next()) {
            (Some((product, &(1.0, _))), None) if matches!(product[..], [(_, e)] if e == 1f64.to_bits()) => {
                product[0].0
            }
            _ => {
                let number = self.sum(base);
                self.factor(Factor::Sum(number))
            }
        };
        let mut sum = Sum::default();
        sum.add(vec![(factor, exponent.to_bits())], 1.0, 1.0);
        Some(sum)
    }

    /// The sum with the names of the source.
    pub fn text(&self, sum: &Sum, arrays: &[Array], time: &str) -> String {
        let mut text = String::new();
        let products = || sum.products.iter().map(|(product, &(coefficient, _))| (product, coefficient));
        // positive terms come first
        for (product, coefficient) in products().filter(|p| p.1 >= 0.0).chain(products().filter(|p| p.1 < 0.0)) {
            let negative = coefficient < 0.0;
            match (text.is_empty(), negative) {
                (true, true) => text.push('-'),
                (true, false) => {}
                (false, true) => text.push_str(" - "),
                (false, false) => text.push_str(" + "),
            }
            text.push_str(&self.product_text(product, coefficient.abs(), arrays, time));
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    fn product_text(&self, product: &Product, coefficient: f64, arrays: &[Array], time: &str) -> String {
        let (mut above, mut below) = (Vec::new(), Vec::new());
        // parameters come before states, as is usual
        let is_parameter = |factor: u32| match &self.factors[factor as usize] {
            Factor::Array(array) => arrays[array.0 as usize].role == Role::Parameter,
            _ => false,
        };
        let mut ordered: Vec<(u32, u64)> = product.clone();
        ordered.sort_by_key(|&(factor, _)| !is_parameter(factor));
        for (factor, bits) in ordered {
            let exponent = f64::from_bits(bits);
            let side = if exponent < 0.0 { &mut below } else { &mut above };
            let base = self.factor_text(factor, arrays, time);
            side.push(match exponent.abs() {
                1.0 => base,
                0.5 => format!("sqrt({})", inside(&base)),
                e => format!("{base}^{}", short(e)),
            });
        }
        if coefficient != 1.0 || above.is_empty() {
            above.insert(0, short(coefficient));
        }
        let below = match below.len() {
            0 => String::new(),
            1 => format!("/{}", below[0]),
            _ => format!("/({})", below.join("*")),
        };
        format!("{}{below}", above.join("*"))
    }

    fn factor_text(&self, factor: u32, arrays: &[Array], time: &str) -> String {
        let name = |array: &ArrayId| arrays[array.0 as usize].name.clone();
        match &self.factors[factor as usize] {
            Factor::Time => time.to_owned(),
            Factor::Input(call) => call.clone(),
            Factor::Array(array) => name(array),
            Factor::Rate(array) => format!("{}'", name(array)),
            Factor::Sum(sum) => format!("({})", self.text(&self.sums[*sum as usize], arrays, time)),
            Factor::Call(name, operands) => {
                let of = |k: usize| self.text(&self.sums[operands[k] as usize], arrays, time);
                match *name {
                    "if" => format!("(if {} then {} else {})", of(0), of(1), of(2)),
                    "lt" => format!("({} < {})", of(0), of(1)),
                    "le" => format!("({} <= {})", of(0), of(1)),
                    "and" | "or" => format!("({} {name} {})", of(0), of(1)),
                    "not" => format!("(not {})", of(0)),
                    "pow" => format!("(({})^({}))", of(0), of(1)),
                    "ln" => format!("ln({})", of(0)),
                    _ => {
                        let list: Vec<String> = (0..operands.len()).map(of).collect();
                        format!("{name}({})", list.join(", "))
                    }
                }
            }
        }
    }
}

fn inside(text: &str) -> &str {
    text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text)
}

/// Twelve digits, as short as they can be written.
fn short(x: f64) -> String {
    let rounded: f64 = format!("{x:.11e}").parse().unwrap_or(x);
    let (plain, scientific) = (format!("{rounded}"), format!("{rounded:e}"));
    if scientific.len() < plain.len() { scientific } else { plain }
}

fn added(a: &Sum, b: &Sum, sign: f64) -> Sum {
    let mut sum = a.clone();
    for (product, &(coefficient, size)) in &b.products {
        sum.add(product.clone(), sign * coefficient, size);
    }
    sum.clean()
}

fn multiplied(a: &Sum, b: &Sum) -> Option<Sum> {
    if a.len() * b.len() > MAX_PRODUCTS * MAX_PRODUCTS / 4 {
        return None;
    }
    let mut sum = Sum::default();
    for (p, &(x, _)) in &a.products {
        for (q, &(y, _)) in &b.products {
            sum.add(joined(p, q), x * y, (x * y).abs());
        }
    }
    (sum.len() <= MAX_PRODUCTS).then_some(sum)
}

/// The product of two products: exponents of one factor add up.
fn joined(p: &Product, q: &Product) -> Product {
    let mut factors: BTreeMap<u32, f64> = BTreeMap::new();
    for &(factor, bits) in p.iter().chain(q) {
        *factors.entry(factor).or_insert(0.0) += f64::from_bits(bits);
    }
    factors.into_iter().filter(|(_, e)| *e != 0.0).map(|(f, e)| (f, e.to_bits())).collect()
}

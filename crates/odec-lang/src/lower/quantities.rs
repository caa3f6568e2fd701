//! The arrays of a program, and the position of each quantity of the model among them.

use odec_ir::{Array, ArrayId, Role, Span};

use crate::model::{Model, Values};

/// The arrays of a program, and the arrays of the model's quantities.
pub(super) struct Arrays {
    pub list: Vec<Array>,
    pub parameters: Vec<ArrayId>,
    /// The array of order 0 of each state; arrays of higher orders follow it.
    states: Vec<ArrayId>,
    pub discretes: Vec<ArrayId>,
    /// Parameters that represent initial values, in the order of [`Values::opened`].
    pub opened: Vec<ArrayId>,
}

impl Arrays {
    /// The inputs and states of a model, still without axes.
    pub fn of(model: &Model, values: &Values) -> Arrays {
        let mut arrays = Arrays {
            list: Vec::new(),
            parameters: Vec::new(),
            states: Vec::new(),
            discretes: Vec::new(),
            opened: Vec::new(),
        };
        for (given, &default) in model.parameters.iter().zip(&values.parameters) {
            let id = arrays.next();
            let array = arrays.push(given.name.clone(), Role::Parameter, given.span);
            array.default = default;
            array.unit.clone_from(&given.unit);
            array.doc.clone_from(&given.doc);
            arrays.parameters.push(id);
        }
        for opened in &values.opened {
            let id = arrays.next();
            arrays.push(opened.name.clone(), Role::Parameter, model.states[opened.state].span).default =
                opened.given.unwrap_or(0.0);
            arrays.opened.push(id);
        }
        for state in &model.states {
            let id = arrays.next();
            for k in 0..state.order {
                // A second-order state remains a pair, for the reduced system of the solver; higher orders are chains
                // of first order.
                let role = match (state.order, k) {
                    (2, 0) => Role::Position,
                    (2, _) => Role::Velocity,
                    _ => Role::FirstOrder,
                };
                let array = arrays.push(state.derivative(k), role, state.span);
                array.doc.clone_from(&state.doc);
                if k == 0 {
                    array.unit.clone_from(&state.unit);
                }
            }
            arrays.states.push(id);
        }
        for discrete in &model.discretes {
            let id = arrays.next();
            let array = arrays.push(discrete.name.clone(), Role::Discrete, discrete.span);
            array.unit.clone_from(&discrete.unit);
            array.doc.clone_from(&discrete.doc);
            arrays.discretes.push(id);
        }
        arrays
    }

    /// Adds an array, initially a scalar.
    pub fn push(&mut self, name: String, role: Role, span: Span) -> &mut Array {
        let index = self.list.len();
        self.list.push(Array {
            name,
            role,
            axes: Vec::new(),
            default: 0.0,
            data: Vec::new().into(),
            unit: None,
            doc: None,
            span,
        });
        &mut self.list[index]
    }

    /// The array that is pushed next.
    pub fn next(&self) -> ArrayId {
        ArrayId(self.list.len() as u32)
    }

    /// The array of the derivative of this order.
    pub fn state(&self, state: usize, order: u8) -> ArrayId {
        ArrayId(self.states[state].0 + u32::from(order))
    }

    /// The array of the highest derivative in the solver's state: its row holds the equation.
    pub fn top(&self, model: &Model, state: usize) -> ArrayId {
        self.state(state, model.states[state].order - 1)
    }
}

//! The forms of terms that determine where a term of t is 0 or has an extremum: numbers, linear functions of t, waves.

/// The form of a term at given parameters.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Form {
    Number(f64),
    /// `scale*inner + shift`.
    Scaled {
        scale: f64,
        shift: f64,
        inner: Inner,
    },
    Other,
}

/// The scaled function.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Inner {
    Time,
    /// `sin(rate*t + phase)`.
    Wave {
        rate: f64,
        phase: f64,
    },
}

impl Form {
    /// Bitwise equality, so that NaN equals itself.
    pub fn same(self, other: Form) -> bool {
        let same = |a: f64, b: f64| a.to_bits() == b.to_bits();
        match (self, other) {
            (Form::Number(a), Form::Number(b)) => same(a, b),
            (
                Form::Scaled { scale, shift, inner },
                Form::Scaled { scale: other_scale, shift: other_shift, inner: other_inner },
            ) => same(scale, other_scale) && same(shift, other_shift) && inner == other_inner,
            (Form::Other, Form::Other) => true,
            _ => false,
        }
    }

    pub fn scaled(self, by: f64) -> Form {
        match self {
            Form::Number(v) => Form::Number(by * v),
            Form::Scaled { scale, shift, inner } => Form::Scaled { scale: by * scale, shift: by * shift, inner },
            Form::Other => Form::Other,
        }
    }

    pub fn sum(self, other: Form) -> Form {
        match (self, other) {
            (Form::Number(a), Form::Number(b)) => Form::Number(a + b),
            (Form::Number(a), Form::Scaled { scale, shift, inner })
            | (Form::Scaled { scale, shift, inner }, Form::Number(a)) => {
                Form::Scaled { scale, shift: shift + a, inner }
            }
            (Form::Scaled { scale, shift, inner }, Form::Scaled { scale: s, shift: b, inner: i }) if inner == i => {
                Form::Scaled { scale: scale + s, shift: shift + b, inner }
            }
            _ => Form::Other,
        }
    }

    /// A sine whose argument has this form; `phase_shift` is a quarter turn for a cosine.
    pub fn wave(self, phase_shift: f64) -> Form {
        match self {
            Form::Number(v) => Form::Number((v + phase_shift).sin()),
            Form::Scaled { scale, shift, inner: Inner::Time } => {
                let inner = Inner::Wave { rate: scale, phase: shift + phase_shift };
                Form::Scaled { scale: 1.0, shift: 0.0, inner }
            }
            _ => Form::Other,
        }
    }

    pub fn value(self, t: f64) -> f64 {
        match self {
            Form::Number(v) => v,
            Form::Scaled { scale, shift, inner: Inner::Time } => scale * t + shift,
            Form::Scaled { scale, shift, inner: Inner::Wave { rate, phase } } => {
                scale * (rate * t + phase).sin() + shift
            }
            Form::Other => f64::NAN,
        }
    }
}

//! Step-size controllers alone: on an error that is a power of the step size each settles, and settles again after a
//! disturbance.

use odec_ode::control::{Control, Controller, DOP853, H211B, Law, PI_EXPLICIT, PI42, PREDICTIVE, STANDARD};

const ALL: [(&str, Controller); 6] = [
    ("STANDARD", STANDARD),
    ("DOP853", DOP853),
    ("PI_EXPLICIT", PI_EXPLICIT),
    ("PREDICTIVE", PREDICTIVE),
    ("PI42", PI42),
    ("H211B", H211B),
];

#[test]
fn steps_settle_where_the_error_is_a_power_of_the_step() {
    for (name, controller) in ALL {
        for order in [1, 2, 4, 7] {
            for first in [1e-3, 0.5, 1.0] {
                let mut control = Control::new(controller, order);
                let (mut h, mut steps) = (first, Vec::new());
                for n in 0..200 {
                    // The coefficient of the error jumps once, by a factor that requires half the step size.
                    let wanted: f64 = if n < 100 { 1.0 } else { 0.5 };
                    let error = (h / wanted).powi(order as i32 + 1);
                    if error > 1.0 {
                        h = control.reject(h, error);
                    } else {
                        steps.push(h);
                        h = control.accept(h, error);
                    }
                }
                for (settled, wanted) in [(steps[80], 1.0), (steps[steps.len() - 1], 0.5)] {
                    let ratio = settled / wanted;
                    assert!((0.5..1.0).contains(&ratio), "{name}, order {order}, from {first}: {ratio}");
                }
                let last = &steps[steps.len() - 20..];
                let spread = last.iter().fold(0.0f64, |m, h| m.max((h / last[19]).ln().abs()));
                assert!(spread < 1e-6, "{name}, order {order}, from {first}: {spread:e}");
            }
        }
    }
}

#[test]
fn filters_have_the_orders_of_their_names() {
    // The loop x_{n+1} = (1 - b1 - a2) x_n + (a2 - a3 - b2) x_{n-1} + (a3 - b3) x_{n-2} for the logarithm of the step is stable. A
    // low-pass filter of the first order (H2..) gives an error that alternates in sign the weight zero: Soederlind 2003.
    for (name, controller) in ALL {
        let Law::Filter { beta, alpha } = controller.law else { continue };
        let loop_ = [1.0 - beta[0] - alpha[0], alpha[0] - alpha[1] - beta[1], alpha[1] - beta[2]];
        let mut x = [1.0, 1.0, 1.0];
        for _ in 0..400 {
            x = [loop_[0] * x[0] + loop_[1] * x[1] + loop_[2] * x[2], x[0], x[1]];
        }
        assert!(x[0].abs() < 1e-6, "{name} does not settle: {}", x[0]);
        let alternating = beta[0] - beta[1] + beta[2];
        match name.as_bytes() {
            [b'H', b'2', ..] => assert!(alternating.abs() < 1e-15, "{name}: {alternating}"),
            _ => assert!(alternating > 0.0, "{name}"),
        }
    }
}

//! A model from text, stepped frame by frame: the program sets a force in each frame and reads the state by name.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Error, Session, Stepper};

/// Frames in a second.
pub const RATE: u32 = 60;

/// What the player does: full ahead for a second, then full astern for one.
pub fn push(frame: u32) -> f64 {
    if (frame / RATE).is_multiple_of(2) { 20.0 } else { -20.0 }
}

/// Ready to step: text in, machine code out. Other games could step the same `cart` on other threads.
pub fn start(text: &str) -> Result<Stepper, Error> {
    let cart = Session::new().load("cart.ode", text)?.simulate(&Choices::default(), Purpose::Steps)?;
    cart.stepper()
}

/// One frame: the force of this frame holds for its whole length, and the model is solved to its end exactly.
pub fn step(cart: &mut Stepper, frame: u32) -> Result<(), Error> {
    cart.set("force", push(frame))?;
    cart.advance_to(f64::from(frame + 1) / f64::from(RATE))
}

/// Four seconds of the game.
pub fn main() -> Result<(), Error> {
    let mut cart = start(include_str!("../fixtures/embedding/cart.ode"))?;
    for frame in 0..4 * RATE {
        step(&mut cart, frame)?;
        if (frame + 1).is_multiple_of(RATE) {
            let (x, v, energy) = (cart.get("x")?, cart.get("x'")?, cart.get("energy")?);
            println!("t = {} s: x = {x:.4} m, v = {v:.4} m/s, energy {energy:.4} J", cart.time());
        }
    }
    Ok(())
}

//! A model from text, stepped frame by frame: the program sets a force in each frame and reads the state by name.

use odec_sim::bind::Purpose;
use odec_sim::choices::Choices;
use odec_sim::{Error, Session, Stepper};

/// Frames per second.
pub const RATE: u32 = 60;

/// The force that the player sets: full ahead for a second, then full astern for a second.
pub fn push(frame: u32) -> f64 {
    if (frame / RATE).is_multiple_of(2) { 20.0 } else { -20.0 }
}

/// Compiles the model and starts a run. Several threads could step their own runs of the same `cart`.
pub fn start(text: &str) -> Result<Stepper, Error> {
    let cart = Session::new().load("cart.ode", text)?.simulate(&Choices::default(), Purpose::Steps)?;
    cart.stepper()
}

/// Advances the run by one frame, with a constant force, and ends exactly at the end of the frame.
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

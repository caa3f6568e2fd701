//! The integration tests of this crate as one program, because linking dominates the build time and one program is
//! linked once.

mod amplified_outputs;
mod amplified_sensitivities;
mod amplified_sums;
mod bind;
mod bounds;
mod clock;
mod constant_steps;
mod derivatives;
mod discretes;
mod element_pulses;
mod event_problems;
mod executor;
mod fused_steps;
mod inputs;
mod jumps;
mod machine_code;
mod monitor;
mod nested_switches;
mod networks;
mod other_tables;
mod parts;
mod poles;
mod pulses;
mod rates;
mod rows_of_tables;
mod second_runs;
mod sensitivities;
#[path = "../../../tests/src/share.rs"]
mod share;
mod stepper;
mod stepper_events;
mod steps;
mod switching;
mod tolerances;
mod transitions;
mod units;
mod work;

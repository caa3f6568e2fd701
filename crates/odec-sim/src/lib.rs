//! Runs a model: binds parameters, picks backend and method, samples, finds the source of a failure.

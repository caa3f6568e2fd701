//! Between the second accepted step and the end nothing is allocated, whatever happens on the way.

#[path = "common/dense.rs"]
#[allow(dead_code)]
mod dense;
#[path = "common/stiff.rs"]
#[allow(dead_code)]
mod stiff;

use std::alloc::{GlobalAlloc, Layout, System as Heap};
use std::cell::Cell;
use std::ops::ControlFlow;

use dense::{fixed, tolerances};
use odec_ode::system::System;
use odec_ode::{Method, Options, Problem, Samples, Sink, solve};

struct Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// The one way to count allocations; it forwards to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        unsafe { Heap.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { Heap.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Notes the count after the second step and after the last.
#[derive(Default)]
struct Watch {
    steps: u64,
    after_second: u64,
    last: u64,
}

impl Sink for Watch {
    fn row(&mut self, _: f64, _: &[f64]) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
    fn step(&mut self, _: f64) -> ControlFlow<()> {
        self.steps += 1;
        let now = COUNT.with(Cell::get);
        if self.steps == 2 {
            self.after_second = now;
        }
        self.last = now;
        ControlFlow::Continue(())
    }
}

fn check(system: &dyn System, y0: &[f64], t_end: f64, method: &'static Method, options: &Options) -> (u64, u64) {
    let problem = Problem { t0: 0.0, t_end, y0: y0.to_vec() };
    let samples = Samples::Times((0..100).map(|i| t_end * f64::from(i) / 100.0).collect());
    let mut watch = Watch::default();
    let outcome = solve(system, &problem, method, options, &samples, &mut watch).unwrap();
    assert!(watch.steps > 3, "{}: {} steps", method.name, watch.steps);
    assert_eq!(watch.last - watch.after_second, 0, "{} allocates while it steps", method.name);
    (watch.steps, outcome.stats.rejected + outcome.stats.failed)
}

#[test]
fn no_allocation_after_the_second_step() {
    let mut rejected = 0;
    // Every method on HIRES (from where it is mild for the explicit ones), with rejections among the stiff ones.
    let hires = stiff::hires();
    let orego = stiff::orego();
    for method in odec_ode::method::table() {
        let options = tolerances(1e-3, 1e-7);
        rejected += check(&hires, &hires.y0, 2.0, method, &options).1;
        if method.name != "bdf" {
            check(&hires, &hires.y0, 0.1, method, &fixed(1e-3));
        }
        if method.structure.jacobian && method.order > 1 {
            rejected += check(&orego, &orego.y0, 40.0, method, &options).1;
        }
    }
    assert!(rejected > 20, "{rejected} rejections are too few to show anything");
}

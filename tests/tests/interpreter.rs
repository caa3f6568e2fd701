//! Machine code and interpreter give the same bits: whole trajectories of every model, by several methods.

use odec_tests::command::run;
use odec_tests::share::Share;
use odec_tests::{models, root, small_size_flags};

#[test]
fn trajectories_have_the_same_bits() {
    let (mut refused, mut share) = (0, Share::one_of(3));
    for path in models() {
        let file = path.strip_prefix(root()).expect("below the root").to_string_lossy().into_owned();
        let sizes = small_size_flags(&path);
        // with the settings of the model, and by one method of each family
        for flags in [&[][..], &["--method", "rodas4", "--rtol", "1e-4"], &["--method", "bdf", "--rtol", "1e-4"]] {
            let refuses = flags.contains(&"rodas4") && file.ends_with("chain.ode");
            if !share.takes() && !refuses {
                continue;
            }
            if flags.contains(&"bdf") && file.ends_with("bouncing_ball.ode") {
                // at this tolerance its last bounces are smaller than the error of a step, and the run crawls
                continue;
            }
            let mut arguments = vec!["run", file.as_str()];
            arguments.extend(flags);
            arguments.extend(sizes.iter().map(String::as_str));
            if file.ends_with("heart_strand.ode") {
                // the wave has passed a third of its 100 cells
                arguments.extend(["--t-end", "50"]);
            }
            let compiled = run(&arguments);
            if flags.contains(&"rodas4") && compiled.code != Some(0) {
                // no Rosenbrock method supports a mass matrix that changes
                assert!(compiled.err.contains("E0613") && refuses, "{file}");
                refused += 1;
                continue;
            }
            let compiled = compiled.success();
            arguments.push("--interpret");
            let interpreted = run(&arguments).success();
            assert!(compiled.out.len() > 100);
            assert_eq!(compiled.text(), interpreted.text(), "{file} {flags:?}");
        }
    }
    assert_eq!(refused, 1);
}

#!/usr/bin/env bash
# The page of benchmarks in one command: fetches the peers that are missing, builds, measures, and writes docs/benchmarks.md and
# docs/benchmarks/*.svg. Flags go to the program: `./page.sh --only pollu,hires --quick`. Nothing else may run meanwhile.
# At the end it says how long building and measuring took.
set -euo pipefail
cd "$(dirname "$0")"
./peers.sh
SECONDS=0
cargo build --release --locked --features peers
# the whole process is timed too, of the command as users build it
(cd ../.. && cargo build --release --locked --bin odec)
built=$SECONDS
SECONDS=0
cargo run --release --locked --features peers -- --out ../../docs "$@"
echo "built in $built s, measured in $SECONDS s" >&2

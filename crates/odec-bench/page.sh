#!/usr/bin/env bash
# Writes the benchmark page in one command: fetches missing peers, builds, measures, and writes docs/benchmarks.md and
# docs/benchmarks/*.svg. It passes its flags to the program: `./page.sh --only pollu,hires --quick`. Nothing else may run
# at the same time. At the end it prints how long building and measuring took.
set -euo pipefail
cd "$(dirname "$0")"
./peers.sh
SECONDS=0
cargo build --release --locked --features peers
# the page also times whole processes of the command, as users build it
(cd ../.. && cargo build --release --locked --bin odec)
built=$SECONDS
SECONDS=0
cargo run --release --locked --features peers -- --out ../../docs "$@"
echo "built in $built s, measured in $SECONDS s" >&2

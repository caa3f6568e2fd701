"""1,000 integrate-and-fire neurons at 50,000 spikes a second: odec beside NEST and Brian2, processor time and error.

    pip install "numpy<2" brian2 nest-simulator        # a C++ compiler for Brian2
    python spikes.py [odec nest brian2]

V' = (drive + s - V)/20 ms with a drive of its own for each neuron; at V = 1 the neuron fires and starts again from 0.
`w` is what a spike adds to the current s that all neurons get and that decays with 5 ms. If w = 0, spikes have a closed
form. The error is then the largest one of the last spikes of the neurons. `ODEC` names the command of odec
(target/release/odec of this repository).

NEST runs `iaf_psc_exp_ps`, which solves the equations in closed form and places spikes between the points of its grid.
It has no common current: each neuron sends its spikes to all 1,000, after a delay of one step of the grid. Brian2 builds a
program in C++ ("standalone"), integrates with RK4 on a grid, and takes the end of a step as the time of a spike.
"""

import math
import os
import pathlib
import subprocess
import sys
import tempfile
import time

N, END, WEIGHT = 1000, 1000.0, 2e-5
DRIVE = [1.4 + 0.36 * k / N for k in range(1, N + 1)]
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = """model network
time t [ms]
const N = 1000
index i = 1..N
state V[i] = (i - 1)/N
state s = 0
discrete spikes = 0
drive[i] = 1.4 + 0.36*i/N
V[i]' = (drive[i] + s - V[i])/20
s' = -s/5
when V[i] > 1 { V[i] := 0; s += W; spikes += 1 }
output spikes
run { t = 0 .. END; method = tsit5; rtol = RTOL; atol = RTOL; samples = [END]; record = outputs }
"""


def exact():
    """For each neuron without coupling, the time of its first spike and the time between two."""
    return [(20 * math.log((drive - k / N) / (drive - 1)), 20 * math.log(drive / (drive - 1))) for k, drive in enumerate(DRIVE)]


def worst(times, neurons):
    """The largest error of the last spike of a neuron that both have."""
    found = [[] for _ in range(N)]
    for t, k in sorted(zip(times, neurons)):
        found[k].append(t)
    errors = []
    for mine, (first, period) in zip(found, exact()):
        last = min(len(mine), 1 + math.floor((END - first) / period)) - 1
        errors.append(abs(mine[last] - first - last * period))
    return max(errors)


def odec(w, rtol):
    command = os.environ.get("ODEC", str(ROOT / "target/release/odec"))
    with tempfile.TemporaryDirectory() as folder:
        file, log = pathlib.Path(folder, "network.ode"), pathlib.Path(folder, "events.csv")
        file.write_text(MODEL.replace("RTOL", repr(rtol)).replace("END", repr(END)).replace("W;", f"{w!r};"))
        events = ["--events", str(log)] if w == 0 else []
        before = os.times()
        made = subprocess.run([command, "run", str(file), *events], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=True)
        after = os.times()
        spent = after.children_user + after.children_system - before.children_user - before.children_system
        count = round(float(made.stdout.splitlines()[-1].split(",")[1]))
        if w != 0:
            return spent, count, None
        lines = [line.split(",") for line in log.read_text().splitlines()]
        neuron, name = lines[0].index("index"), lines[0].index("name")
        # an event has a line for each name that it changes
        fired = [line for line in lines[1:] if line[name].startswith("V")]
        return spent, count, worst([float(line[0]) for line in fired], [int(line[neuron]) - 1 for line in fired])


def in_nest(w, step):
    import nest

    nest.set_verbosity("M_ERROR")
    nest.ResetKernel()
    nest.resolution = step
    # the capacity is the time constant, so that the current is the drive; the refractory period cannot be 0
    shared = {"tau_m": 20.0, "C_m": 20.0, "E_L": 0.0, "V_reset": 0.0, "V_th": 1.0, "t_ref": step, "tau_syn_ex": 5.0}
    neurons = nest.Create("iaf_psc_exp_ps", N, params=shared)
    for k, drive in enumerate(DRIVE):
        neurons[k].set(I_e=drive, V_m=k / N)
    if w != 0:
        nest.Connect(neurons, neurons, "all_to_all", {"weight": w, "delay": step})
    recorder = nest.Create("spike_recorder")
    nest.Connect(neurons, recorder)
    nest.Prepare()
    start = time.process_time()
    nest.Run(END)
    return time.process_time() - start, recorder.n_events, None


def in_brian2(w, step):
    import brian2 as b

    folder = tempfile.mkdtemp()
    b.set_device("cpp_standalone", directory=folder, build_on_run=True)
    b.device.reinit()
    b.device.activate(directory=folder, build_on_run=True)
    b.defaultclock.dt = step * b.ms
    common = b.NeuronGroup(1, "ds/dt = -s/(5*ms) : 1", method="exact")
    equations = "dV/dt = (drive + s - V)/(20*ms) : 1\ndrive : 1\ns : 1 (linked)"
    neurons = b.NeuronGroup(N, equations, threshold="V > 1", reset="V = 0", method="rk4")
    neurons.s = b.linked_var(common, "s")
    neurons.drive, neurons.V = "1.4 + 0.36*(i + 1)/1000", "i/1000.0"
    synapses = b.Synapses(neurons, common, on_pre=f"s_post += {w!r}")
    synapses.connect()
    spikes = b.SpikeMonitor(neurons)
    b.Network(common, neurons, synapses, spikes).run(END * b.ms)
    error = worst(list(spikes.t / b.ms), list(spikes.i)) if w == 0 else None
    return b.device._last_run_time, spikes.num_spikes, error


def main():
    programs = {"odec": (odec, (1e-4, 1e-6, 1e-8)), "nest": (in_nest, (0.1, 0.01)), "brian2": (in_brian2, (0.1, 0.01, 0.001))}
    print(f"spikes without coupling: {sum(1 + math.floor((END - first) / period) for first, period in exact())}")
    for name in sys.argv[1:] or programs:
        solve, settings = programs[name]
        for w in (0, WEIGHT):
            for setting in settings:
                spent, count, error = solve(w, setting)
                shown = "" if error is None else f", error of spike times {error:.1e} ms"
                print(f"{name} {setting:g}, w = {w:g}: {spent:.3f} s, {count} spikes{shown}", flush=True)


if __name__ == "__main__":
    main()

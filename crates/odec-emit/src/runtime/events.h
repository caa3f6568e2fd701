/* ---- modes ---- */

/* Writes the modes of relations into p, and returns whether one of them changed. */
static inline int model_put(model_run *run) {
    int changed = 0;
    for (int32_t k = 0; k < model_relations; k++) {
        if (model_guard_modes[k] < 0 || run->p[model_guard_modes[k]] == run->mode[k]) continue;
        run->p[model_guard_modes[k]] = run->mode[k];
        changed = 1;
    }
    if (changed) model_prepare(0, 0, run->p, 0, run->p);
    return changed;
}

/* Whether a relation is about to hold whose sides differ by no more than rounding errors. The sign of the rate of
   left - right decides, or if the rate is 0, that of the rate a little later. -1: both are 0. */
static inline int model_leads(model_run *run, int32_t k, double t, const double *y) {
    double rate = run->rates[model_guard_rates[k]], size = 0, h;
    for (int32_t i = 0; i < model_states; i++) size = fmax(size, fabs(run->dy[i]));
    if (fabs(rate) > 64 * DBL_EPSILON * size) return rate > 0;
    h = 1e-8 * (1 + fabs(t));
    for (int32_t i = 0; i < model_states; i++) run->at[i] = y[i] + h * run->dy[i];
    model_f(t + h, run->at, run->p, 0, run->slope);
    model_rates(t + h, run->at, run->p, run->slope, run->ahead);
    rate = run->ahead[model_guard_rates[k]];
    return fabs(rate) > 0 ? rate > 0 : -1;
}

/* Determines the modes of all relations just after (t, y). If the state is on the surface of a relation, or not further
   from it than `apart` in time, the direction of motion decides. */
static inline int model_decide(model_run *run, double t, const double *y, double apart) {
    for (int32_t pass = 0; pass < model_relations + 2; pass++) {
        int changed = 0;
        model_guards(t, y, run->p, 0, run->sides);
        model_f(t, y, run->p, 0, run->dy);
        model_rates(t, y, run->p, run->dy, run->rates);
        for (int32_t k = 0; k < model_relations; k++) {
            const double g = model_difference(run, k), rate = run->rates[model_guard_rates[k]];
            int holds = g > 0 || (model_guard_or_equal[k] && g == 0), leads;
            if (isnan(g)) continue; /* the relation is in a branch that is not taken */
            if (!run->written[k] && (run->landed[k] || fabs(g) <= model_noise(run, k) + apart * fabs(rate))) {
                leads = model_leads(run, k, t, y);
                if (leads >= 0) holds = leads;
            }
            changed |= holds != run->mode[k];
            run->mode[k] = (unsigned char)holds;
        }
        if (!changed) return 0;
        model_put(run);
    }
    return MODEL_SLIDES;
}

/* left - right of each relation, with a small offset that gives it the sign of its mode: positive if the relation holds,
   negative if not. The offset ends when the solution moves away from the surface. */
static inline void model_indicators(model_run *run, double t, const double *y, double *out) {
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++) {
        const double g = model_difference(run, k) - run->offset[k];
        out[k] = isnan(g) ? (run->mode[k] ? 1 : -1) : g;
    }
}

/* Whether the sides of a relation, as last evaluated, contradict its mode. */
static inline int model_beyond(const model_run *run, int32_t k) {
    const double g = model_difference(run, k) - run->offset[k];
    return !isnan(g) && (g > 0 || (model_guard_or_equal[k] && g == 0)) != run->mode[k];
}

/* The first relation whose surface the solution has crossed since the last instant; -1: none. */
static inline int32_t model_crossed(model_run *run, double t, const double *y) {
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++)
        if (model_beyond(run, k)) return k;
    return -1;
}

/* Accepts a step that ends here. */
static inline void model_accept(model_run *run, double t, const double *y) {
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++) {
        const double g = model_difference(run, k);
        if (run->mode[k] ? g > 0 : g < 0) run->offset[k] = 0;
    }
}

/* If the sign of left - right contradicts the mode, because of rounding or because the step ended beside the surface,
   shifts the surface to the state. It does not shift it further: the flights of a bouncing ball would end lower and
   lower. */
static inline void model_displace(model_run *run, double t, const double *y) {
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++) {
        const double g = model_difference(run, k), size = model_noise(run, k) + DBL_MIN;
        run->offset[k] = 0;
        if (!isnan(g) && !(run->mode[k] ? g > 0 : g < 0)) run->offset[k] = run->mode[k] ? g - size : g + size;
    }
}

/* ---- events ---- */

/* The number of quantities that an event writes. The events of the model are followed by two for each counter: up and down. */
static inline int32_t model_writes_of(int32_t e) {
    return e < model_events ? model_event_writes[e + 1] - model_event_writes[e] : 3;
}

/* Reads the values that an event writes; 0 if one of them is not finite. */
static inline int model_read(model_run *run, int32_t e, double *to) {
    if (e >= model_events) {
        const int32_t k = (e - model_events) / 2, up = (e - model_events) % 2 == 0;
        model_count(run, k, run->sides[model_guard_left[model_counter_up[k]]], up ? 1 : -1, to);
        return 1;
    }
    for (int32_t w = 0; w < model_writes_of(e); w++) {
        to[w] = run->values[model_write_values[model_event_writes[e] + w]];
        if (!isfinite(to[w])) return 0;
    }
    return 1;
}

/* Queues an event for execution. */
static inline int model_wait(model_run *run, int32_t e, double t) {
    model_queued *queued = &run->queue[run->queued];
    const double delay = e < model_events && model_event_delays[e] >= 0 ? run->values[model_event_delays[e]] : 0;
    if (!(delay >= 0 && isfinite(delay))) return MODEL_NO_VALUE;
    if (run->queued == MODEL_QUEUE) return MODEL_FULL;
    queued->event = e;
    queued->t = t + delay;
    queued->late = e < model_events && (model_event_flags[e] & 2) != 0;
    if (!queued->late && !model_read(run, e, queued->values)) return MODEL_NO_VALUE;
    run->queued++;
    return 0;
}

/* Queues the events whose conditions have become true or whose times have come. */
static inline int model_trigger(model_run *run, double t, const double *y) {
    int status = 0;
    model_conditions(t, y, run->p, 0, run->conditions);
    model_values(t, y, run->p, 0, run->values);
    for (int32_t e = 0; e < MODEL_ALL && status == 0; e++) {
        int now = 0, fires = run->fired[e], kind = e < model_events ? model_event_kinds[e] : 0;
        if (kind < 2) {
            const int32_t k = (e - model_events) / 2;
            if (e < model_events) now = run->conditions[model_event_conditions[e]] != 0;
            else now = run->mode[(e - model_events) % 2 == 0 ? model_counter_up[k] : model_counter_down[k]];
            /* a run that begins on a surface does not cross it */
            fires = kind == 1 ? now != run->was[e] && !run->begins : now && !run->was[e];
            if (e < model_events && (model_event_flags[e] & 4) && run->was[e] && !now)
                for (int32_t q = run->queued - 1; q >= 0; q--)
                    if (run->queue[q].event == e) run->queue[q] = run->queue[--run->queued];
            run->was[e] = (unsigned char)now;
        }
        run->fired[e] = 0;
        if (fires) status = model_wait(run, e, t);
    }
    run->begins = 0;
    return status;
}

/* Adds the writes of an event to the changes of the round. */
static inline int model_execute(model_run *run, int32_t e, const double *values) {
    for (int32_t w = 0; w < model_writes_of(e); w++) {
        model_change change, *place = run->change;
        int32_t at = run->changes;
        if (e < model_events) {
            change.target = model_write_targets[model_event_writes[e] + w];
            change.adds = model_write_adds[model_event_writes[e] + w];
        } else {
            change.target = -1 - model_counter_places[3 * ((e - model_events) / 2) + w];
            change.adds = 0;
        }
        change.value = values[w];
        /* sorted by targets and values, so that the order of the events does not matter */
        for (; at > 0; at--) {
            const model_change *other = &place[at - 1];
            if (other->target < change.target) break;
            if (other->target == change.target && other->adds < change.adds) break;
            if (other->target == change.target && other->adds == change.adds && other->value <= change.value) break;
            place[at] = *other;
        }
        place[at] = change;
        run->changes++;
    }
    run->executed[e]++;
    return e < model_events && (model_event_flags[e] & 8) ? MODEL_STOP : 0;
}

/* Applies the changes of a round. */
static inline int model_apply(model_run *run, double *y) {
    for (int32_t k = 0, next; k < run->changes; k = next) {
        const int32_t target = run->change[k].target;
        double *place = target >= 0 ? &y[target] : &run->p[-1 - target], added = 0;
        next = k;
        if (!run->change[k].adds) *place = run->change[next++].value;
        if (next < run->changes && run->change[next].target == target && !run->change[next].adds) return MODEL_CONFLICT;
        for (; next < run->changes && run->change[next].target == target; next++) added += run->change[next].value;
        if (next > k + 1 || run->change[k].adds) *place += added;
    }
    model_prepare(0, 0, run->p, 0, run->p);
    return 0;
}

/* Whether an event accumulates: its intervals shrink by a constant ratio, and the remaining time is negligible compared
   with the time since they began to do so. If a solver's errors hide the ratio, shrinking intervals are enough. */
static inline int model_accumulates(model_run *run, int32_t e, double t) {
    double *last = run->last[e], d[MODEL_LAST - 1], ratio, left;
    int steady = 1;
    memmove(last, last + 1, (MODEL_LAST - 1) * sizeof *last);
    last[MODEL_LAST - 1] = t;
    if (!isfinite(last[0])) {
        for (int k = MODEL_LAST - 1; k > 0 && isfinite(last[k]); k--) run->steady[e] = run->shrinks[e] = last[k];
        return 0;
    }
    for (int k = 0; k < MODEL_LAST - 1; k++) d[k] = last[k + 1] - last[k];
    if (!(d[MODEL_LAST - 2] < d[MODEL_LAST - 3])) run->shrinks[e] = last[MODEL_LAST - 2];
    ratio = cbrt(d[MODEL_LAST - 2] / d[0]);
    for (int k = 1; k < MODEL_LAST - 1; k++) steady = steady && fabs(d[k] / d[k - 1] / ratio - 1) <= 1e-3;
    if (!steady) run->steady[e] = last[1];
    if (!(ratio < 1) || run->shrinks[e] > last[0]) return 0;
    left = d[MODEL_LAST - 2] * ratio / (1 - ratio);
    return left < (steady ? 1e-8 * (t - run->steady[e]) : 1e-9 * (t - run->shrinks[e]));
}

/* Uniform in 0..n, the same in every run: SplitMix64 (Steele, Lea and Flood 2014). */
static inline int32_t model_chance(model_run *run, int32_t n) {
    uint64_t z = run->chance += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return (int32_t)((z ^ (z >> 31)) % (uint64_t)n);
}

static inline int model_is_alone(int32_t e) { return e < model_events && (model_event_flags[e] & 16) != 0; }

/* Selects from the due events one with the flag `alone`, or all others. */
static inline void model_pick(model_run *run, unsigned char *due) {
    int32_t count = 0, lone = 0, picked = 0, k;
    for (int32_t e = 0; e < MODEL_ALL; e++) {
        count += due[e];
        lone += due[e] && model_is_alone(e);
    }
    if (count < 2 || lone == 0) return;
    k = model_chance(run, count);
    while (!due[picked] || k-- > 0) picked++;
    for (int32_t e = 0; e < MODEL_ALL; e++)
        due[e] = due[e] && (model_is_alone(picked) ? e == picked : !model_is_alone(e));
}

/* Executes the due events with the highest priority. */
static inline int model_round(model_run *run, double t, const double *y, int *executed) {
    double highest = -HUGE_VAL, values[MODEL_MOST + 1];
    unsigned char due[MODEL_ALL + 1] = {0};
    int status = 0;
    *executed = 0;
    run->changes = 0;
    model_values(t, y, run->p, 0, run->values);
    for (int turn = 0; turn < 3; turn++) {
        unsigned char taken[MODEL_ALL + 1] = {0};
        for (int32_t q = 0; q < run->queued; q++) {
            model_queued *queued = &run->queue[q];
            const int32_t e = queued->event;
            double priority = e >= model_events ? DBL_MAX : 0;
            if (!model_come(queued->t, t) || taken[e]) continue;
            if (e < model_events && model_event_priorities[e] >= 0) priority = run->values[model_event_priorities[e]];
            if (isnan(priority)) return MODEL_NO_VALUE;
            if (turn == 0) highest = fmax(highest, priority);
            if (turn == 1 && priority == highest) due[e] = 1;
            if (turn < 2 || priority != highest || !due[e]) continue;
            if (queued->late && !model_read(run, e, queued->values)) return MODEL_NO_VALUE;
            memcpy(values, queued->values, sizeof values);
            taken[e] = 1;
            *executed = 1;
            status |= model_execute(run, e, values);
            memmove(queued, queued + 1, (size_t)(--run->queued - q) * sizeof *queued);
            q--;
            if (e < model_events && model_event_rest[e] >= 0 && model_accumulates(run, e, t)) run->rests[e] = 1;
            else if (e < model_events && model_event_rest[e] >= 0) run->rests[e] = 2;
        }
        if (turn == 0 && highest == -HUGE_VAL) return 0;
        if (turn == 1) model_pick(run, due);
    }
    return status;
}

/* Queues the `rest` events of events that accumulate, and of those whose condition stays true after short intervals. */
static inline int model_rest(model_run *run, double t) {
    int status = 0;
    for (int32_t e = 0; e < model_events && status == 0; e++) {
        const double *last = run->last[e], short_one = last[MODEL_LAST - 1] - last[MODEL_LAST - 2];
        const int fades = short_one < last[MODEL_LAST - 2] - last[MODEL_LAST - 3] && short_one < 1e-3 * (t - run->begin);
        if (run->rests[e] == 1 || (run->rests[e] == 2 && run->was[e] && fades)) {
            for (int k = 0; k < MODEL_LAST; k++) run->last[e][k] = -HUGE_VAL;
            status = model_wait(run, model_event_rest[e], t);
        }
        run->rests[e] = 0;
    }
    return status;
}

/* Executes the rounds of an instant. */
static inline int model_rounds(model_run *run, double t, double *y, double apart) {
    int all = 0, executed;
    memset(run->written, 0, sizeof run->written);
    for (int round = 0; round < MODEL_MAX_ROUNDS; round++) {
        unsigned char before[MODEL_RELATIONS + 1];
        int status;
        memcpy(before, run->mode, sizeof before);
        if ((status = model_decide(run, t, y, apart)) < 0) return status;
        if (memcmp(before, run->mode, sizeof before) != 0) all |= MODEL_CHANGED;
        if ((status = model_trigger(run, t, y)) < 0) return status;
        if (round > 0 && (status = model_rest(run, t)) < 0) return status;
        memcpy(run->before, run->sides, sizeof run->sides);
        status = model_round(run, t, y, &executed);
        if (status < 0) return status;
        if (!executed) {
            model_displace(run, t, y);
            return all;
        }
        all |= status | MODEL_CHANGED;
        if ((status = model_apply(run, y)) < 0 || (status = model_tick(run, t, 0)) < 0) return status;
        model_settle(run, t);
        model_guards(t, y, run->p, 0, run->sides);
        for (int32_t k = 0; k < model_relations; k++)
            run->written[k] |= run->sides[model_guard_left[k]] != run->before[model_guard_left[k]] ||
                               run->sides[model_guard_right[k]] != run->before[model_guard_right[k]];
    }
    return MODEL_CHAIN;
}

/* ---- a run ---- */

/* Call this first: it clears all memory and sets the parameters to their defaults. */
static inline void model_reset(model_run *run) {
    memset(run, 0, sizeof *run);
    memcpy(run->p, model_defaults, (size_t)model_parameters * sizeof *run->p);
}

/* Sets the discretes at the start of a run; run->p must contain the parameters. */
static inline void model_open(model_run *run, double t0, double t_end) {
    run->begin = t0;
    run->end = t_end;
    run->queued = run->instants = 0;
    run->chance = 0;
    memset(run->p + model_parameters, 0, (size_t)(model_buffer - model_parameters) * sizeof *run->p);
    model_prepare(0, 0, run->p, 0, run->p);
    model_begin(t0, run->at, run->p, 0, run->starts);
    for (int32_t k = 0; k < model_begins; k++) run->p[model_begin_targets[k]] = run->starts[model_begin_values[k]];
    model_prepare(0, 0, run->p, 0, run->p);
    model_settle(run, t0);
}

/* Sets modes and counters by comparing the sides of their relations. */
static inline void model_compare(model_run *run, double t, const double *y) {
    for (int32_t pass = 0; pass <= model_relations; pass++) {
        int changed = 0;
        model_guards(t, y, run->p, 0, run->sides);
        for (int32_t k = 0; k < model_relations; k++) {
            const double g = model_difference(run, k);
            run->mode[k] = g > 0 || (model_guard_or_equal[k] && g == 0);
        }
        for (int32_t k = 0; k < model_counters; k++) {
            double found[3];
            model_count(run, k, run->sides[model_guard_left[model_counter_up[k]]], 0, found);
            for (int i = 0; i < 3; i++) {
                double *place = &run->p[model_counter_places[3 * k + i]];
                changed |= *place != found[i];
                *place = found[i];
            }
        }
        changed |= model_put(run);
        if (!changed) return;
        model_prepare(0, 0, run->p, 0, run->p);
    }
}

/* Starts a run from y, and executes the events at the start. */
static inline int model_start(model_run *run, double t, double *y) {
    double next = HUGE_VAL;
    int status;
    model_compare(run, t, y);
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++) {
        const double g = model_difference(run, k);
        run->mode[k] = g > 0 || (model_guard_or_equal[k] && g == 0);
    }
    model_put(run);
    model_conditions(t, y, run->p, 0, run->conditions);
    model_times(0, run->at, run->p, 0, run->times);
    for (int32_t e = 0; e < MODEL_ALL; e++) {
        const int kind = e < model_events ? model_event_kinds[e] : 0;
        for (int k = 0; k < MODEL_LAST; k++) run->last[e][k] = -HUGE_VAL;
        run->steady[e] = run->shrinks[e] = t;
        run->was[e] = 0;
        if (e < model_events && kind < 2 && !(model_event_flags[e] & 1))
            run->was[e] = run->conditions[model_event_conditions[e]] != 0;
        if (kind != 2 && kind != 3) continue;
        /* times before the start have passed; times at the start happen now */
        run->passed[e] = model_passed(run, e, t - 2 * model_resolution(t), &next);
        if (run->passed[e] < 0) return MODEL_NO_VALUE;
    }
    memset(run->landed, 0, sizeof run->landed);
    run->begins = 1;
    if ((status = model_tick(run, t, 1)) < 0) return status;
    return model_rounds(run, t, y, 0);
}

/* Whether instants follow each other so closely that the run makes no progress. */
static inline int model_crowds(model_run *run, double t) {
    if (run->instants == 0) run->since = t;
    if (++run->instants < MODEL_MAX_INSTANTS) return 0;
    run->instants = 0;
    return t - run->since < fmin(1e-9 * (run->end - run->begin), MODEL_CRAWL * model_resolution(t));
}

/* Executes the instant at t; y becomes the state after it. */
static inline int model_instant(model_run *run, double t, double *y, double apart) {
    int status = model_tick(run, t, 1);
    if (status < 0) return status;
    model_guards(t, y, run->p, 0, run->sides);
    for (int32_t k = 0; k < model_relations; k++) run->landed[k] = model_beyond(run, k);
    model_settle(run, t);
    status = model_rounds(run, t, y, apart);
    return status > 0 && model_crowds(run, t) ? MODEL_CHAIN : status;
}
#endif

/* Event handling for hosts with their own solver. To enable it, define MODEL_EVENTS before you include this header.

       model_run run;                                      (for large models, not on the stack)
       model_reset(&run);                                  run.p contains the defaults: set other parameters here
       model_open(&run, 0, 10);                            the run goes from 0 to 10
       model_init(0, 0, run.p, 0, y);
       status = model_start(&run, 0, y);
       loop: step from t, at most to model_next(&run, t), with model_f(t, y, run.p, 0, dy);
             if model_crossed(&run, t, y) returns a relation, shorten the step until it ends on the surface;
             call model_accept(&run, t, y) after each accepted step;
             call status = model_instant(&run, t, y, apart) on a surface and at model_next;
             apart is the largest possible distance in time between the end of the step and the surface.

   A negative status is an error, see below. Otherwise MODEL_CHANGED and MODEL_STOP are bits of it. */
#ifdef MODEL_EVENTS
#include <float.h>
#include <math.h>
#include <string.h>

enum { MODEL_CHANGED = 1, MODEL_STOP = 2 };
/* no modes agree with the motion; a value, delay or time is not valid; two events set one quantity; events trigger each
   other endlessly, at one instant or at times that make no progress; too many events are queued */
enum { MODEL_SLIDES = -1, MODEL_NO_VALUE = -2, MODEL_CONFLICT = -3, MODEL_CHAIN = -4, MODEL_FULL = -5 };

/* Largest number of rounds at one instant. */
#define MODEL_MAX_ROUNDS 1000
/* So many instants have to advance the time by so many times its resolution. */
#define MODEL_MAX_INSTANTS 1000
#define MODEL_CRAWL 1e6
/* Largest number of queued events. */
#ifndef MODEL_QUEUE
#define MODEL_QUEUE (2 * (MODEL_ALL + 1) + 64)
#endif
/* Number of executions of an event that reveal an accumulation. */
#define MODEL_LAST 5

typedef struct {
    int32_t event, late;
    double t, values[MODEL_MOST + 1];
} model_queued;

typedef struct {
    int32_t target, adds;
    double value;
} model_change;

typedef struct {
    double p[MODEL_BUFFER + 1];
    double begin, end;                 /* of the run */
    double since;                      /* time of the first counted instant */
    int32_t instants;
    unsigned char mode[MODEL_RELATIONS + 1], written[MODEL_RELATIONS + 1], landed[MODEL_RELATIONS + 1];
    double offset[MODEL_RELATIONS + 1];
    unsigned char was[MODEL_ALL + 1], fired[MODEL_ALL + 1], rests[MODEL_ALL + 1], begins;
    double passed[MODEL_ALL + 1], last[MODEL_ALL + 1][MODEL_LAST], steady[MODEL_ALL + 1], shrinks[MODEL_ALL + 1];
    int32_t executed[MODEL_ALL + 1];   /* number of executions of each event */
    int32_t queued, changes;
    uint64_t chance;                   /* state of the random numbers that order `alone` events */
    model_queued queue[MODEL_QUEUE];
    model_change change[MODEL_WRITES + 1];
    /* results of the functions of the model */
    double sides[MODEL_GUARDS + 1], before[MODEL_GUARDS + 1], rates[MODEL_RATES + 1], ahead[MODEL_RATES + 1];
    double conditions[MODEL_CONDITIONS + 1], values[MODEL_VALUES + 1], times[MODEL_TIMES + 1], stops[MODEL_STOPS + 1];
    double timed[MODEL_TIMED + 1], starts[MODEL_BEGINS + 1];
    double dy[MODEL_STATES + 1], at[MODEL_STATES + 1], slope[MODEL_STATES + 1];
} model_run;

/* Times closer than this count as equal. */
static inline double model_resolution(double t) { return 4 * (nextafter(fabs(t), HUGE_VAL) - fabs(t)); }

/* Whether a time is at or before t. */
static inline int model_come(double time, double t) { return time <= t || time - t <= model_resolution(t); }

static inline double model_difference(const model_run *run, int32_t k) {
    return run->sides[model_guard_left[k]] - run->sides[model_guard_right[k]];
}

static inline double model_noise(const model_run *run, int32_t k) {
    return 64 * DBL_EPSILON * (fabs(run->sides[model_guard_left[k]]) + fabs(run->sides[model_guard_right[k]]));
}

/* ---- pieces of curves and counters ---- */

/* The last knot at or before u, within one period. */
static inline int32_t model_below(const double *knots, int32_t length, double u) {
    int32_t low = 0, high = length - 1;
    while (high - low > 1) {
        const int32_t middle = low + (high - low) / 2;
        if (knots[middle] <= u) low = middle;
        else high = middle;
    }
    return low;
}

/* The number of the piece that contains u; -1 before the first knot, the number of pieces after the last. */
static inline double model_piece(const double *knots, int32_t length, int32_t periodic, double u) {
    const double whole = knots[length - 1] - knots[0];
    const double periods = periodic ? floor((u - knots[0]) / whole) : 0;
    u -= periods * whole;
    if (!(u >= knots[0])) return -1;
    if (!(u <= knots[length - 1])) return length - 1;
    return periods * (length - 1) + model_below(knots, length, u);
}

/* The knot with a given number. */
static inline double model_knot(const double *knots, int32_t length, double number) {
    const double periods = floor(number / (length - 1));
    const int32_t k = (int32_t)(number - periods * (length - 1));
    return periods == 0 || number == length - 1 ? knots[(int32_t)number] : knots[k] + periods * (knots[length - 1] - knots[0]);
}

/* A piece and its ends. Outside the knots, the ends are far away. */
static inline void model_ends(const double *knots, int32_t length, int32_t periodic, double number, double *to) {
    const double far = 1e290;
    to[0] = number;
    to[1] = -far;
    to[2] = far;
    if (!periodic && !(0 <= number && number < length - 1)) return;
    to[1] = fmax(model_knot(knots, length, number), -far);
    to[2] = fmin(model_knot(knots, length, number + 1), far);
}

/* Number and ends of a counter whose quantity is u. way: 0, or 1 or -1 after u passed the upper or the lower end. */
static inline void model_count(const model_run *run, int32_t k, double u, int way, double *to) {
    const double n = run->p[model_counter_places[3 * k]];
    const double *knots = run->p + (model_counter_knots[k] < 0 ? 0 : model_counter_knots[k]);
    const int32_t length = model_counter_lengths[k], periodic = model_counter_periodic[k];
    double found = model_counter_knots[k] < 0 ? floor(u) : model_piece(knots, length, periodic, u);
    /* because of rounding, a step may end just before the end */
    if (way > 0) found = fmax(found, n + 1);
    if (way < 0) found = fmin(found, n - 1);
    if (model_counter_knots[k] < 0) {
        to[0] = to[1] = found;
        to[2] = found + 1;
    } else {
        model_ends(knots, length, periodic, found, to);
        if (to[1] == -1e290 && to[2] == 1e290) return;
    }
    if (way > 0) to[1] = fmin(to[1], u);
    if (way < 0) to[2] = fmax(to[2], nextafter(u, HUGE_VAL));
}

/* ---- times ---- */

/* The largest k for which from + k period is at or before t; -1: none. */
static inline double model_number(double from, double period, double t) {
    double k = floor((t - from) / period);
    if (!(k >= -1)) k = -1;
    while (k >= 0 && !model_come(from + k * period, t)) k -= 1;
    while (model_come(from + (k + 1) * period, t)) k += 1;
    return k;
}

/* Updates the last time at or before t, and the next one after it. */
static inline void model_narrow(double time, double t, double *last, double *next) {
    if (!isfinite(time)) return;
    if (model_come(time, t)) *last = fmax(*last, time);
    else *next = fmin(*next, time);
}

/* The piece of curve k at time t, and the times at which it begins and ends. */
static inline double model_curve(const model_run *run, int32_t k, double t, double *last, double *next) {
    const double zero = run->stops[model_curve_arguments[2 * k]], slope = run->stops[model_curve_arguments[2 * k + 1]];
    const double *knots = run->p + model_curve_knots[k];
    const int32_t length = model_curve_lengths[k], periodic = model_curve_periodic[k];
    const int back = slope < 0;
    double number, knot;
    if (!(isfinite(slope) && isfinite(zero) && slope != 0)) {
        number = model_piece(knots, length, periodic, zero);
        return periodic || (0 <= number && number < length - 1) ? number : (double)NAN;
    }
    /* the last knot that was passed: it has the number of the piece, or one more if the argument decreases */
    number = model_piece(knots, length, periodic, zero + slope * t) + back;
    for (;;) {
        if (!periodic && (back ? number > length - 1 : number < 0)) break;
        knot = !periodic && (number < 0 || number > length - 1) ? HUGE_VAL : model_knot(knots, length, number);
        if (model_come((knot - zero) / slope, t)) break;
        number += back ? 1 : -1;
    }
    for (;;) {
        const double further = number + (back ? -1 : 1);
        if (!periodic && (further < 0 || further > length - 1)) break;
        knot = model_knot(knots, length, further);
        if (!model_come((knot - zero) / slope, t)) break;
        number = further;
    }
    for (int ahead = 0; ahead < 2; ahead++) {
        const double which = number + (ahead ? (back ? -1 : 1) : 0);
        if (periodic || (0 <= which && which <= length - 1))
            model_narrow((model_knot(knots, length, which) - zero) / slope, t, last, next);
    }
    number -= back;
    if (periodic || (0 <= number && number < length - 1)) return number;
    /* at the end of the run, the last piece is still valid if it ends there too */
    knot = back ? knots[0] : knots[length - 1];
    if (fabs((knot - zero) / slope - run->end) > model_resolution(run->end)) return (double)NAN;
    return number == (back ? -1 : length - 1) ? (back ? 0 : length - 2) : (double)NAN;
}

/* The interval around t in which modes that depend on time alone do not change, and the pieces of curves in it. */
static inline void model_around(model_run *run, double t, double *last, double *next, double *pieces) {
    *last = -HUGE_VAL;
    *next = HUGE_VAL;
    if (model_timed_modes_count + model_curves == 0) return;
    model_stops(0, run->at, run->p, 0, run->stops);
    for (int32_t k = 0; k < model_stop_onces; k++) model_narrow(run->stops[model_stop_once[k]], t, last, next);
    for (int32_t k = 0; k < model_stop_everies; k++) {
        const double at = run->stops[model_stop_every[2 * k]], period = fabs(run->stops[model_stop_every[2 * k + 1]]);
        double from, number;
        if (!(isfinite(at) && isfinite(period) && period > 0)) continue;
        from = at + (floor((run->begin - at) / period) - 1) * period;
        number = model_number(from, period, t);
        if (number >= 0) model_narrow(from + number * period, t, last, next);
        model_narrow(from + (number + 1) * period, t, last, next);
    }
    for (int32_t k = 0; k < model_curves; k++) {
        const double piece = model_curve(run, k, t, last, next);
        if (pieces) pieces[k] = piece;
    }
}

/* Sets the modes that depend on time alone to their values just after t. */
static inline void model_settle(model_run *run, double t) {
    double last, next, middle, pieces[MODEL_CURVES + 1];
    if (model_timed_modes_count + model_curves == 0) return;
    model_around(run, t, &last, &next, pieces);
    if (isfinite(last)) middle = isfinite(next) ? last + 0.5 * (next - last) : last + fmax(fabs(last), 1);
    else middle = isfinite(next) ? next - fmax(fabs(next), 1) : run->begin;
    model_timed(middle, run->at, run->p, 0, run->timed);
    for (int32_t k = 0; k < model_timed_modes_count; k++) run->p[model_timed_modes[k]] = run->timed[model_timed_values[k]];
    for (int32_t k = 0; k < model_curves; k++) run->p[model_curve_modes[k]] = pieces[k];
    model_prepare(0, 0, run->p, 0, run->p);
}

/* First time, period and end of a periodic event; returns 0 if they are not valid. */
static inline int model_every(const model_run *run, int32_t e, double *from, double *period, double *until) {
    const int32_t *of = model_time_values + model_event_times[e];
    *from = of[0] < 0 ? 0 : run->times[of[0]];
    *period = run->times[of[1]];
    *until = of[2] < 0 ? HUGE_VAL : run->times[of[2]] - 2.25 * model_resolution(run->times[of[2]]);
    return *period > 0 && isfinite(*period) && isfinite(*from) && !isnan(*until);
}

/* The number of times of event e at or before t, and the next time. -1: its times are not valid. */
static inline double model_passed(const model_run *run, int32_t e, double t, double *next) {
    double number = 0, from, period, until, time;
    if (model_event_kinds[e] == 3) {
        if (!model_every(run, e, &from, &period, &until)) return -1;
        number = model_number(from, period, t);
        while (number >= 0 && from + number * period > until) number -= 1;
        time = from + (number + 1) * period;
        if (time <= until && time > t) *next = fmin(*next, time);
        return number + 1;
    }
    for (int32_t k = model_event_times[e]; k < model_event_times[e + 1]; k++) {
        time = run->times[model_time_values[k]];
        if (isnan(time)) return -1;
        if (!isfinite(time)) continue;
        if (model_come(time, t)) number += 1;
        else *next = fmin(*next, time);
    }
    return number;
}

/* Counts the event times at or before t, and marks the events whose times have just come. */
static inline int model_tick(model_run *run, double t, int fires) {
    double next = HUGE_VAL;
    model_times(0, run->at, run->p, 0, run->times);
    for (int32_t e = 0; e < model_events; e++) {
        double passed;
        if (model_event_kinds[e] != 2 && model_event_kinds[e] != 3) continue;
        passed = model_passed(run, e, t, &next);
        if (passed < 0) return MODEL_NO_VALUE;
        run->fired[e] = fires && passed > run->passed[e];
        run->passed[e] = passed;
    }
    return 0;
}

/* The next known time after t at which a mode changes or an event happens; infinite if there is none. */
static inline double model_next(model_run *run, double t) {
    double last, next;
    model_around(run, t, &last, &next, 0);
    model_times(0, run->at, run->p, 0, run->times);
    for (int32_t e = 0; e < model_events; e++)
        if (model_event_kinds[e] == 2 || model_event_kinds[e] == 3) model_passed(run, e, t, &next);
    for (int32_t k = 0; k < run->queued; k++) next = fmin(next, run->queue[k].t);
    return next;
}


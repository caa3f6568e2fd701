/* The functions of FMI 3.0 for model exchange, for the model in model.h. This file declares types and functions as the
   standard describes them, and needs no file of the standard. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#define MODEL_EVENTS
#include "model.h"

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#elif defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

/* fmi3Status */
enum { OK, WARNING, DISCARD, ERROR, FATAL };

typedef void (*log_message)(void *environment, int status, const char *category, const char *message);

/* State of the instance in the sense of the standard. */
enum { INSTANTIATED, INITIALIZATION, EVENT, CONTINUOUS, TERMINATED };

/* The first value reference of each kind of variable. */
enum {
    OF_TIME = 0,
    OF_STATES = 1,
    OF_RATES = OF_STATES + MODEL_STATES,
    OF_PARAMETERS = OF_RATES + MODEL_STATES,
    OF_DISCRETES = OF_PARAMETERS + MODEL_PARAMETERS,
    OF_OUTPUTS = OF_DISCRETES + MODEL_DISCRETES,
    OF_INDICATORS = OF_OUTPUTS + MODEL_RECORDED,
    OF_NOTHING = OF_INDICATORS + MODEL_RELATIONS
};

typedef struct {
    void *environment;
    log_message message;
    int place, fresh, stale;           /* fresh: events not yet examined; stale: initial values not yet computed */
    double t, accepted, begin, end;
    double y[MODEL_STATES + 1], dy[MODEL_STATES + 1], w[MODEL_STATES + 1], dw[MODEL_STATES + 1];
    double given[MODEL_STATES + 1];    /* initial values that the importer has set */
    unsigned char is_given[MODEL_STATES + 1];
    double indicators[MODEL_RELATIONS + 1];
    double out[MODEL_OUTPUTS + 1], slopes[MODEL_OUTPUTS + 1], level[MODEL_OUTPUTS + 1], entries[MODEL_ENTRIES + 1];
    model_run run;
} instance;

static int tell(const instance *at, int status, const char *message) {
    if (at->message) at->message(at->environment, status, status == OK ? "info" : "error", message);
    return status;
}

static int refused(const instance *at, const char *function) {
    char text[160];
    snprintf(text, sizeof text, "%s: this FMU does not support it", function);
    return tell(at, ERROR, text);
}

/* Initial values follow parameters. */
static void settle(instance *at) {
    if (!at->stale) return;
    at->stale = 0;
    model_open(&at->run, at->begin, at->end);
    model_init(at->begin, 0, at->run.p, 0, at->y);
    for (int32_t i = 0; i < model_states; i++)
        if (at->is_given[i]) at->y[i] = at->given[i];
    model_compare(&at->run, at->begin, at->y);
}

static void rates(instance *at) { model_f(at->t, at->y, at->run.p, 0, at->dy); }

static void outputs(instance *at) {
    rates(at);
    model_outputs(at->t, at->y, at->run.p, at->dy, at->out);
}

EXPORT const char *fmi3GetVersion(void) { return "3.0"; }

EXPORT int fmi3SetDebugLogging(void *of, bool on, size_t n, const char *const categories[]) {
    (void)of;
    (void)on;
    (void)n;
    (void)categories;
    return OK;
}

EXPORT void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                          void *environment, log_message message) {
    instance *at;
    (void)name;
    (void)resources;
    (void)visible;
    (void)logging;
    if (!token || strcmp(token, "@TOKEN@") != 0) {
        if (message) message(environment, ERROR, "error", "the instantiation token is that of another model");
        return NULL;
    }
    at = calloc(1, sizeof *at);
    if (!at) {
        if (message) message(environment, ERROR, "error", "there is not enough memory");
        return NULL;
    }
    at->environment = environment;
    at->message = message;
    at->stale = at->fresh = 1;
    at->end = HUGE_VAL;
    model_reset(&at->run);
    return at;
}

EXPORT void fmi3FreeInstance(void *of) { free(of); }

EXPORT int fmi3EnterInitializationMode(void *of, bool tolerance_defined, double tolerance, double start, bool stop_defined,
                                       double stop) {
    instance *at = of;
    (void)tolerance_defined;
    (void)tolerance;
    if (at->place != INSTANTIATED) return tell(at, ERROR, "fmi3EnterInitializationMode: not allowed in this state");
    at->place = INITIALIZATION;
    at->t = at->begin = at->accepted = start;
    at->end = stop_defined ? stop : HUGE_VAL;
    at->stale = 1;
    return OK;
}

EXPORT int fmi3ExitInitializationMode(void *of) {
    instance *at = of;
    if (at->place != INITIALIZATION) return tell(at, ERROR, "fmi3ExitInitializationMode: not allowed in this state");
    settle(at);
    at->place = EVENT;
    at->fresh = 1;
    return OK;
}

EXPORT int fmi3EnterEventMode(void *of) {
    ((instance *)of)->place = EVENT;
    return OK;
}

EXPORT int fmi3EnterContinuousTimeMode(void *of) {
    instance *at = of;
    if (at->fresh) return tell(at, ERROR, "fmi3EnterContinuousTimeMode: call fmi3UpdateDiscreteStates first");
    at->place = CONTINUOUS;
    return OK;
}

EXPORT int fmi3Terminate(void *of) {
    ((instance *)of)->place = TERMINATED;
    return OK;
}

EXPORT int fmi3Reset(void *of) {
    instance *at = of;
    void *environment = at->environment;
    log_message message = at->message;
    memset(at, 0, sizeof *at);
    at->environment = environment;
    at->message = message;
    at->stale = at->fresh = 1;
    at->end = HUGE_VAL;
    model_reset(&at->run);
    return OK;
}

/* ---- values ---- */

EXPORT int fmi3GetFloat64(void *of, const uint32_t references[], size_t n, double values[], size_t count) {
    instance *at = of;
    int with_rates = 0, with_outputs = 0, with_indicators = 0;
    if (count != n) return tell(at, ERROR, "fmi3GetFloat64: there must be one value for each variable");
    settle(at);
    for (size_t i = 0; i < n; i++) {
        const int64_t v = references[i];
        if (v >= OF_NOTHING) return tell(at, ERROR, "fmi3GetFloat64: no variable has this value reference");
        if (v >= OF_INDICATORS) {
            if (!with_indicators++) model_indicators(&at->run, at->t, at->y, at->indicators);
            values[i] = at->indicators[v - OF_INDICATORS];
        } else if (v >= OF_OUTPUTS) {
            if (!with_outputs++) outputs(at);
            values[i] = at->out[v - OF_OUTPUTS];
        } else if (v >= OF_DISCRETES) {
            values[i] = at->run.p[model_first_discrete + v - OF_DISCRETES];
        } else if (v >= OF_PARAMETERS) {
            values[i] = at->run.p[v - OF_PARAMETERS];
        } else if (v >= OF_RATES) {
            if (!with_rates++) rates(at);
            values[i] = at->dy[v - OF_RATES];
        } else {
            values[i] = v == OF_TIME ? at->t : at->y[v - OF_STATES];
        }
    }
    return OK;
}

EXPORT int fmi3SetFloat64(void *of, const uint32_t references[], size_t n, const double values[], size_t count) {
    instance *at = of;
    const int starting = at->place == INSTANTIATED || at->place == INITIALIZATION;
    if (count != n) return tell(at, ERROR, "fmi3SetFloat64: there must be one value for each variable");
    for (size_t i = 0; i < n; i++) {
        const int64_t v = references[i];
        if (v >= OF_PARAMETERS && v < OF_DISCRETES && starting) {
            at->run.p[v - OF_PARAMETERS] = values[i];
        } else if (v >= OF_STATES && v < OF_RATES && starting) {
            at->given[v - OF_STATES] = values[i];
            at->is_given[v - OF_STATES] = 1;
        } else {
            return tell(at, ERROR, "fmi3SetFloat64: only parameters and initial states can be set, and only before the run begins");
        }
        at->stale = 1;
    }
    return OK;
}

/* All variables are of the type Float64. */
#define OTHER(name, type)                                                                                                \
    EXPORT int fmi3Get##name(void *of, const uint32_t references[], size_t n, type values[], size_t count) {             \
        (void)references;                                                                                                \
        (void)values;                                                                                                    \
        (void)count;                                                                                                     \
        return n == 0 ? OK : refused(of, "fmi3Get" #name);                                                               \
    }                                                                                                                    \
    EXPORT int fmi3Set##name(void *of, const uint32_t references[], size_t n, const type values[], size_t count) {       \
        (void)references;                                                                                                \
        (void)values;                                                                                                    \
        (void)count;                                                                                                     \
        return n == 0 ? OK : refused(of, "fmi3Set" #name);                                                               \
    }
typedef const char *text;
OTHER(Float32, float)
OTHER(Int8, int8_t)
OTHER(UInt8, uint8_t)
OTHER(Int16, int16_t)
OTHER(UInt16, uint16_t)
OTHER(Int32, int32_t)
OTHER(UInt32, uint32_t)
OTHER(Int64, int64_t)
OTHER(UInt64, uint64_t)
OTHER(Boolean, bool)
OTHER(String, text)

EXPORT int fmi3GetBinary(void *of, const uint32_t references[], size_t n, size_t sizes[], const uint8_t *values[], size_t count) {
    (void)references;
    (void)sizes;
    (void)values;
    (void)count;
    return n == 0 ? OK : refused(of, "fmi3GetBinary");
}

EXPORT int fmi3SetBinary(void *of, const uint32_t references[], size_t n, const size_t sizes[], const uint8_t *const values[],
                         size_t count) {
    (void)references;
    (void)sizes;
    (void)values;
    (void)count;
    return n == 0 ? OK : refused(of, "fmi3SetBinary");
}

/* ---- state of the FMU ---- */

EXPORT int fmi3GetFMUState(void *of, void **state) {
    if (!*state) *state = malloc(sizeof(instance));
    if (!*state) return tell(of, ERROR, "fmi3GetFMUState: not enough memory");
    memcpy(*state, of, sizeof(instance));
    return OK;
}

EXPORT int fmi3SetFMUState(void *of, const void *state) {
    instance *at = of;
    void *environment = at->environment;
    log_message message = at->message;
    memcpy(at, state, sizeof *at);
    at->environment = environment;
    at->message = message;
    return OK;
}

EXPORT int fmi3FreeFMUState(void *of, void **state) {
    (void)of;
    free(*state);
    *state = NULL;
    return OK;
}

EXPORT int fmi3SerializedFMUStateSize(void *of, const void *state, size_t *size) {
    (void)state;
    (void)size;
    return refused(of, "fmi3SerializedFMUStateSize");
}

EXPORT int fmi3SerializeFMUState(void *of, const void *state, uint8_t to[], size_t size) {
    (void)state;
    (void)to;
    (void)size;
    return refused(of, "fmi3SerializeFMUState");
}

EXPORT int fmi3DeserializeFMUState(void *of, const uint8_t from[], size_t size, void **state) {
    (void)from;
    (void)size;
    (void)state;
    return refused(of, "fmi3DeserializeFMUState");
}

/* ---- derivatives ---- */

/* The exact change of derivatives and outputs for given changes of states and parameters. */
static void change(instance *at, const uint32_t knowns[], size_t n, const double seed[]) {
    int with_parameters = 0;
    memset(at->w, 0, sizeof at->w);
    for (size_t i = 0; i < n; i++)
        if (knowns[i] >= OF_STATES && knowns[i] < OF_RATES) at->w[knowns[i] - OF_STATES] += seed[i];
    model_jvp(at->t, at->y, at->run.p, at->w, at->dw);
    for (size_t i = 0; i < n; i++) {
        const int64_t v = (int64_t)knowns[i] - OF_PARAMETERS;
        if (v < 0 || v >= MODEL_PARAMETERS) continue;
        if (!with_parameters++) model_pjac(at->t, at->y, at->run.p, 0, at->entries);
        for (int32_t k = model_pjac_columns[v]; k < model_pjac_columns[v + 1]; k++)
            at->dw[model_pjac_rows[k]] += at->entries[k] * seed[i];
    }
}

EXPORT int fmi3GetDirectionalDerivative(void *of, const uint32_t unknowns[], size_t n_unknowns, const uint32_t knowns[],
                                        size_t n_knowns, const double seed[], size_t n_seed, double sensitivity[],
                                        size_t n_sensitivity) {
    instance *at = of;
    int with_outputs = 0, of_parameters = 0;
    if (n_seed != n_knowns || n_sensitivity != n_unknowns)
        return tell(at, ERROR, "fmi3GetDirectionalDerivative: there must be one value for each variable");
    settle(at);
    for (size_t i = 0; i < n_knowns; i++) {
        const int parameter = knowns[i] >= OF_PARAMETERS && knowns[i] < OF_DISCRETES;
        of_parameters |= parameter;
        if (!parameter && !(knowns[i] >= OF_STATES && knowns[i] < OF_RATES))
            return tell(at, ERROR, "fmi3GetDirectionalDerivative: the knowns must be states or parameters");
    }
    change(at, knowns, n_knowns, seed);
    for (size_t i = 0; i < n_unknowns; i++) {
        const int64_t v = unknowns[i];
        if (v >= OF_STATES && v < OF_RATES) {
            sensitivity[i] = at->w[v - OF_STATES];
        } else if (v >= OF_RATES && v < OF_PARAMETERS) {
            sensitivity[i] = at->dw[v - OF_RATES];
        } else if (v >= OF_OUTPUTS && v < OF_INDICATORS && !of_parameters && !model_outputs_read_rates) {
            if (!with_outputs++) {
                /* the slope along (y + w s, t + s), minus the part that comes from time */
                model_slopes(at->t, at->y, at->run.p, at->w, at->slopes);
                memset(at->dy, 0, sizeof at->dy);
                model_slopes(at->t, at->y, at->run.p, at->dy, at->level);
            }
            sensitivity[i] = at->slopes[v - OF_OUTPUTS] - at->level[v - OF_OUTPUTS];
        } else {
            return refused(at, "fmi3GetDirectionalDerivative of this variable");
        }
    }
    return OK;
}

EXPORT int fmi3GetAdjointDerivative(void *of, const uint32_t unknowns[], size_t n_unknowns, const uint32_t knowns[],
                                    size_t n_knowns, const double seed[], size_t n_seed, double sensitivity[],
                                    size_t n_sensitivity) {
    (void)unknowns;
    (void)n_unknowns;
    (void)knowns;
    (void)n_knowns;
    (void)seed;
    (void)n_seed;
    (void)sensitivity;
    (void)n_sensitivity;
    return refused(of, "fmi3GetAdjointDerivative");
}

EXPORT int fmi3GetNumberOfVariableDependencies(void *of, uint32_t reference, size_t *n) {
    (void)reference;
    (void)n;
    return refused(of, "fmi3GetNumberOfVariableDependencies");
}

EXPORT int fmi3GetVariableDependencies(void *of, uint32_t dependent, size_t elements[], uint32_t independents[],
                                       size_t independent_elements[], int kinds[], size_t n) {
    (void)dependent;
    (void)elements;
    (void)independents;
    (void)independent_elements;
    (void)kinds;
    (void)n;
    return refused(of, "fmi3GetVariableDependencies");
}

/* ---- model exchange ---- */

static const char *reason(int status) {
    switch (status) {
    case MODEL_SLIDES: return "no truth values of the conditions agree with the motion: the model slides along a switching surface";
    case MODEL_NO_VALUE: return "a value, delay or time of an event is not a valid number";
    case MODEL_CONFLICT: return "two events set the same quantity at one instant";
    case MODEL_CHAIN: return "events trigger each other endlessly at one instant, or faster and faster";
    default: return "too many events are queued";
    }
}

EXPORT int fmi3UpdateDiscreteStates(void *of, bool *again, bool *ends, bool *nominals, bool *moved, bool *has_next, double *next) {
    instance *at = of;
    const double gone = at->t - at->accepted, apart = 100 * DBL_EPSILON * (fabs(at->t) + fabs(gone));
    double before[MODEL_STATES + 1];
    int status;
    if (at->place != EVENT) return tell(at, ERROR, "fmi3UpdateDiscreteStates: not allowed in this state");
    memcpy(before, at->y, sizeof before);
    status = at->fresh ? model_start(&at->run, at->t, at->y) : model_instant(&at->run, at->t, at->y, apart);
    if (status < 0) return tell(at, ERROR, reason(status));
    at->fresh = 0;
    at->accepted = at->t;
    *again = *nominals = false;
    *ends = (status & MODEL_STOP) != 0;
    *moved = memcmp(before, at->y, (size_t)model_states * sizeof *before) != 0;
    *next = model_next(&at->run, at->t);
    *has_next = isfinite(*next);
    return OK;
}

EXPORT int fmi3CompletedIntegratorStep(void *of, bool no_return, bool *event, bool *ends) {
    instance *at = of;
    (void)no_return;
    *ends = false;
    *event = model_crossed(&at->run, at->t, at->y) >= 0;
    if (!*event) {
        model_accept(&at->run, at->t, at->y);
        at->accepted = at->t;
    }
    return OK;
}

EXPORT int fmi3SetTime(void *of, double t) {
    ((instance *)of)->t = t;
    return OK;
}

EXPORT int fmi3SetContinuousStates(void *of, const double y[], size_t n) {
    instance *at = of;
    if (n != (size_t)model_states) return tell(at, ERROR, "fmi3SetContinuousStates: wrong number of states");
    memcpy(at->y, y, n * sizeof *y);
    return OK;
}

EXPORT int fmi3GetContinuousStates(void *of, double y[], size_t n) {
    instance *at = of;
    if (n != (size_t)model_states) return tell(at, ERROR, "fmi3GetContinuousStates: wrong number of states");
    settle(at);
    memcpy(y, at->y, n * sizeof *y);
    return OK;
}

EXPORT int fmi3GetContinuousStateDerivatives(void *of, double dy[], size_t n) {
    instance *at = of;
    if (n != (size_t)model_states) return tell(at, ERROR, "fmi3GetContinuousStateDerivatives: wrong number of states");
    settle(at);
    rates(at);
    memcpy(dy, at->dy, n * sizeof *dy);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(dy[i])) return tell(at, DISCARD, "a derivative is not finite");
    return OK;
}

EXPORT int fmi3GetEventIndicators(void *of, double z[], size_t n) {
    instance *at = of;
    if (n != (size_t)model_relations) return tell(at, ERROR, "fmi3GetEventIndicators: wrong number of indicators");
    settle(at);
    model_indicators(&at->run, at->t, at->y, z);
    return OK;
}

/* Absolute tolerance of each state divided by the relative one; a single number if it is the same for all. */
static const double nominal[] = {@NOMINALS@};

EXPORT int fmi3GetNominalsOfContinuousStates(void *of, double nominals[], size_t n) {
    if (n != (size_t)model_states) return tell(of, ERROR, "fmi3GetNominalsOfContinuousStates: wrong number of states");
    for (size_t i = 0; i < n; i++) nominals[i] = nominal[sizeof nominal == sizeof *nominal ? 0 : i];
    return OK;
}

EXPORT int fmi3GetNumberOfEventIndicators(void *of, size_t *n) {
    (void)of;
    *n = (size_t)model_relations;
    return OK;
}

EXPORT int fmi3GetNumberOfContinuousStates(void *of, size_t *n) {
    (void)of;
    *n = (size_t)model_states;
    return OK;
}

EXPORT int fmi3EvaluateDiscreteStates(void *of) {
    (void)of;
    return OK;
}

/* ---- not supported: clocks, configuration, co-simulation ---- */

#define NONE(name, parameters, unused)                                                                                   \
    EXPORT int name parameters {                                                                                         \
        unused;                                                                                                          \
        return refused(of, #name);                                                                                       \
    }
#define CLOCKS void *of, const uint32_t references[], size_t n
NONE(fmi3EnterConfigurationMode, (void *of), (void)of)
NONE(fmi3ExitConfigurationMode, (void *of), (void)of)
NONE(fmi3EnterStepMode, (void *of), (void)of)
NONE(fmi3GetClock, (CLOCKS, bool values[]), ((void)references, (void)n, (void)values))
NONE(fmi3SetClock, (CLOCKS, const bool values[]), ((void)references, (void)n, (void)values))
NONE(fmi3GetIntervalDecimal, (CLOCKS, double v[], int q[]), ((void)references, (void)n, (void)v, (void)q))
NONE(fmi3GetIntervalFraction, (CLOCKS, uint64_t c[], uint64_t r[], int q[]),
     ((void)references, (void)n, (void)c, (void)r, (void)q))
NONE(fmi3GetShiftDecimal, (CLOCKS, double v[]), ((void)references, (void)n, (void)v))
NONE(fmi3GetShiftFraction, (CLOCKS, uint64_t c[], uint64_t r[]), ((void)references, (void)n, (void)c, (void)r))
NONE(fmi3SetIntervalDecimal, (CLOCKS, const double v[]), ((void)references, (void)n, (void)v))
NONE(fmi3SetIntervalFraction, (CLOCKS, const uint64_t c[], const uint64_t r[]), ((void)references, (void)n, (void)c, (void)r))
NONE(fmi3SetShiftDecimal, (CLOCKS, const double v[]), ((void)references, (void)n, (void)v))
NONE(fmi3SetShiftFraction, (CLOCKS, const uint64_t c[], const uint64_t r[]), ((void)references, (void)n, (void)c, (void)r))
NONE(fmi3GetOutputDerivatives, (CLOCKS, const int32_t orders[], double v[], size_t count),
     ((void)references, (void)n, (void)orders, (void)v, (void)count))
NONE(fmi3ActivateModelPartition, (void *of, uint32_t clock, double t), ((void)clock, (void)t))
NONE(fmi3DoStep, (void *of, double t, double h, bool no_return, bool *event, bool *ends, bool *early, double *last),
     ((void)t, (void)h, (void)no_return, (void)event, (void)ends, (void)early, (void)last))

EXPORT void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible, bool logging,
                                         bool events, bool early, const uint32_t required[], size_t n, void *environment,
                                         log_message message, void (*update)(void)) {
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)events;
    (void)early;
    (void)required;
    (void)n;
    (void)update;
    if (message) message(environment, ERROR, "error", "this FMU is for model exchange");
    return NULL;
}

EXPORT void *fmi3InstantiateScheduledExecution(const char *name, const char *token, const char *resources, bool visible,
                                               bool logging, void *environment, log_message message, void (*clock)(void),
                                               void (*lock)(void), void (*unlock)(void)) {
    (void)name;
    (void)token;
    (void)resources;
    (void)visible;
    (void)logging;
    (void)clock;
    (void)lock;
    (void)unlock;
    if (message) message(environment, ERROR, "error", "this FMU is for model exchange");
    return NULL;
}

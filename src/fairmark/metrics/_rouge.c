/* The core of ROUGE: how many runs of tokens two texts share, and the longest sequence they have in common.

   Everything becomes a number before it is compared. A text is cut into words of up to 8 letters, the last of a token
   marked; a token is a chain of such words, a run of n tokens is a run of n - 1 and one more. So one table does it all:
   it gives a number to each pair (number of what came before, what comes next), and equal numbers mean equal texts,
   not just equal hashes. Only the reference's pairs are numbered: what it lacks is 0 and matches nothing.

   The texts are not trusted. The table's hash is strongly universal, with coefficients drawn when the module is
   loaded: no text that was made without knowing them is slow to look up. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 5

/* Below this many bytes the GIL is kept: getting it back from a busy thread may take longer than the work. */
#define LONG_BYTES 32768

/* Steps of the longest sequence, which take a fraction of a second, between two looks whether to stop (Ctrl-C). */
#define STEPS_BETWEEN_LOOKS ((size_t)1 << 27)

/* Marks the last word of a token. Letters are ASCII: their highest bits are free. */
#define LAST ((uint64_t)1 << 63)

typedef struct {
    uint64_t seeds[4];
} State;

typedef enum { DONE, NO_MEMORY, TOO_LONG, STOPPED } Outcome;

typedef struct {
    const unsigned char *bytes; /* UTF-8 */
    size_t size;
    uint64_t *words;
    size_t word_count;
    uint32_t *tokens; /* their numbers */
    size_t length;
    uint32_t *grams; /* the number of the run that begins at each token */
} Text;

typedef struct {
    uint64_t word;
    uint32_t before;
    uint32_t next; /* in the same bucket */
} Pair;

typedef struct {
    const uint64_t *seeds;
    Pair *pairs; /* from 1 on: 0 is no pair */
    uint32_t *buckets;
    size_t bucket_count;
    int shift;
    uint32_t count;
} Table;

typedef struct {
    Text text;
    Text reference;
    Table table;
    uint32_t *counts; /* of each number in the reference */
    uint64_t *places; /* of each number in 64 tokens of the reference, a bit each */
    unsigned char *carries;
    int shortest;
    int longest;
    int sequence;
    size_t shared[LONGEST];
    size_t common;
    PyThreadState *thread; /* while the GIL is released */
} Job;

static void *
allocate(size_t count, size_t size)
{
    if (count > PTRDIFF_MAX / size) {
        return NULL;
    }
    return malloc(count ? count * size : 1);
}

/* ---- The table ---- */

static Outcome
open_table(Table *table, const uint64_t *seeds, size_t most)
{
    int bits = 1;
    while (((uint64_t)1 << bits) < most) {
        bits++;
    }
    table->seeds = seeds;
    table->shift = 64 - bits;
    table->bucket_count = (size_t)((uint64_t)1 << bits);
    table->count = 0;
    table->pairs = allocate(most + 1, sizeof(Pair));
    table->buckets = calloc(table->bucket_count, sizeof(uint32_t));
    return table->pairs && table->buckets ? DONE : NO_MEMORY;
}

static void
empty_table(Table *table)
{
    table->count = 0;
    memset(table->buckets, 0, table->bucket_count * sizeof(uint32_t));
}

static inline uint32_t *
bucket(const Table *table, uint32_t before, uint64_t word)
{
    const uint64_t *seeds = table->seeds;
    uint64_t hash = seeds[0] + seeds[1] * before + seeds[2] * (word & UINT32_MAX) + seeds[3] * (word >> 32);
    return &table->buckets[hash >> table->shift];
}

static inline uint32_t
look_up(const Table *table, uint32_t number, uint32_t before, uint64_t word)
{
    while (number && (table->pairs[number].word != word || table->pairs[number].before != before)) {
        number = table->pairs[number].next;
    }
    return number;
}

/* The pair's number, or 0. */
static inline uint32_t
find(const Table *table, uint32_t before, uint64_t word)
{
    return look_up(table, *bucket(table, before, word), before, word);
}

/* The pair's number, a new one if it had none. */
static inline uint32_t
number(Table *table, uint32_t before, uint64_t word)
{
    uint32_t *first = bucket(table, before, word);
    uint32_t known = look_up(table, *first, before, word);
    if (known) {
        return known;
    }
    table->pairs[++table->count] = (Pair){word, before, *first};
    *first = table->count;
    return table->count;
}

/* ---- Tokens ---- */

/* The letter or digit in lower case, or 0. */
static inline unsigned char
letter(unsigned char byte)
{
    if ((byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9')) {
        return byte;
    }
    return byte >= 'A' && byte <= 'Z' ? (unsigned char)(byte + ('a' - 'A')) : 0;
}

/* Cuts the text into words. Every word but the last takes two bytes at least, which is what there is room for. */
static Outcome
cut(Text *text)
{
    const unsigned char *at = text->bytes, *end = at + text->size;
    uint64_t *words = text->words = allocate(text->size / 2 + 1, sizeof(uint64_t));
    if (!words) {
        return NO_MEMORY;
    }
    uint64_t word = 0;
    int bits = 0;
    while (at < end) {
        unsigned char next = letter(*at);
        int ends = !next;
        if (*at >= 0x80) {
            if (end - at >= 3 && at[0] == 0xE2 && at[1] == 0x84 && at[2] == 0xAA) {
                next = 'k'; /* the Kelvin sign */
                ends = 0;
                at += 2;
            }
            else if (end - at >= 2 && at[0] == 0xC4 && at[1] == 0xB0) {
                next = 'i'; /* a dotted capital I becomes an i and a combining dot, which is no letter */
                at += 1;
            }
        }
        at++;
        if (next) {
            if (bits == 64) {
                *words++ = word;
                word = 0;
                bits = 0;
            }
            word |= (uint64_t)next << bits;
            bits += 8;
        }
        if (ends && bits) {
            *words++ = word | LAST;
            word = 0;
            bits = 0;
        }
    }
    if (bits) {
        *words++ = word | LAST;
    }
    text->word_count = (size_t)(words - text->words);
    return DONE;
}

/* The numbers of the text's tokens, new ones for new tokens or 0 for them. */
static Outcome
number_tokens(Text *text, Table *table, int adds)
{
    text->tokens = allocate(text->word_count, sizeof(uint32_t));
    if (!text->tokens) {
        return NO_MEMORY;
    }
    uint32_t token = 0;
    int known = 1; /* the token, so far */
    text->length = 0;
    for (size_t i = 0; i < text->word_count; i++) {
        uint64_t word = text->words[i];
        if (adds) {
            token = number(table, token, word);
        }
        else if (known) {
            token = find(table, token, word);
            known = token != 0;
        }
        if (word & LAST) {
            text->tokens[text->length++] = token;
            token = 0;
            known = 1;
        }
    }
    free(text->words);
    text->words = NULL;
    return DONE;
}

/* ---- Runs of tokens ---- */

/* How many of the first numbers are among the others, each as often as both have it. Number 0 never is. */
static size_t
count_shared(const uint32_t *text, size_t length, const uint32_t *reference, size_t reference_length, uint32_t *counts,
             uint32_t highest)
{
    size_t shared = 0;
    memset(counts, 0, ((size_t)highest + 1) * sizeof(uint32_t));
    for (size_t i = 0; i < reference_length; i++) {
        counts[reference[i]]++;
    }
    for (size_t i = 0; i < length; i++) {
        if (counts[text[i]]) {
            counts[text[i]]--;
            shared++;
        }
    }
    return shared;
}

static Outcome
count_runs(Job *job)
{
    Text *text = &job->text, *reference = &job->reference;
    Table *table = &job->table;
    text->grams = allocate(text->length, sizeof(uint32_t));
    reference->grams = allocate(reference->length, sizeof(uint32_t));
    job->counts = allocate(reference->word_count + 1, sizeof(uint32_t)); /* as many as the table has room for */
    if (!text->grams || !reference->grams || !job->counts) {
        return NO_MEMORY;
    }
    memcpy(text->grams, text->tokens, text->length * sizeof(uint32_t));
    memcpy(reference->grams, reference->tokens, reference->length * sizeof(uint32_t));
    size_t length = text->length, reference_length = reference->length;
    for (int n = 1;; n++) {
        size_t shared = count_shared(text->grams, length, reference->grams, reference_length, job->counts, table->count);
        job->shared[n - 1] = shared;
        /* Without a run in common there is no longer one either. */
        if (n == job->longest || !shared || !--length || !--reference_length) {
            return DONE;
        }
        empty_table(table); /* no more runs than tokens: there is room */
        for (size_t i = 0; i < reference_length; i++) {
            reference->grams[i] = number(table, reference->grams[i], reference->tokens[i + (size_t)n]);
        }
        for (size_t i = 0; i < length; i++) {
            uint32_t run = text->grams[i], next = text->tokens[i + (size_t)n];
            text->grams[i] = run && next ? find(table, run, next) : 0;
        }
    }
}

/* ---- The longest sequence ---- */

/* Lets Python see to its signals. */
static Outcome
check_signals(Job *job)
{
    if (!job->thread) {
        return DONE;
    }
    PyEval_RestoreThread(job->thread);
    Outcome outcome = PyErr_CheckSignals() ? STOPPED : DONE;
    job->thread = PyEval_SaveThread();
    return outcome;
}

/* Row by row of the usual table of lengths, 64 columns of the reference at once. A bit is 0 where the length rises by
   one from the column before. To take no more memory than the texts, the columns are done 64 by 64, each time for the
   whole text, which leaves a carry in each row for the next 64. */
static Outcome
find_sequence(Job *job, uint32_t highest)
{
    uint32_t *text = job->text.tokens;
    const uint32_t *reference = job->reference.tokens;
    size_t length = 0, reference_length = job->reference.length;
    for (size_t i = 0; i < job->text.length; i++) {
        if (text[i]) {
            text[length++] = text[i]; /* what the reference lacks is in no common sequence */
        }
    }
    /* Equal beginnings and ends are. */
    while (length && reference_length && text[0] == reference[0]) {
        text++, reference++, length--, reference_length--, job->common++;
    }
    while (length && reference_length && text[length - 1] == reference[reference_length - 1]) {
        length--, reference_length--, job->common++;
    }
    if (!length || !reference_length) {
        return DONE;
    }
    uint64_t *places = job->places = calloc((size_t)highest + 1, sizeof(uint64_t));
    unsigned char *carries = job->carries = calloc(length, 1);
    if (!places || !carries) {
        return NO_MEMORY;
    }
    size_t steps = 0;
    for (size_t start = 0; start < reference_length; start += 64) {
        size_t width = reference_length - start < 64 ? reference_length - start : 64;
        for (size_t i = 0; i < width; i++) {
            places[reference[start + i]] |= (uint64_t)1 << i;
        }
        uint64_t row = UINT64_MAX;
        for (size_t i = 0; i < length; i++) {
            uint64_t matches = row & places[text[i]];
            uint64_t half = row + matches;
            uint64_t sum = half + carries[i];
            carries[i] = (unsigned char)((half < row) | (sum < half));
            row = sum | (row - matches);
        }
        for (uint64_t rises = ~row; rises; rises &= rises - 1) {
            job->common++;
        }
        for (size_t i = 0; i < width; i++) {
            places[reference[start + i]] = 0;
        }
        steps += length;
        if (steps >= STEPS_BETWEEN_LOOKS) {
            steps = 0;
            Outcome outcome = check_signals(job);
            if (outcome != DONE) {
                return outcome;
            }
        }
    }
    return DONE;
}

/* ---- The whole ---- */

static Outcome
run(Job *job, const uint64_t *seeds)
{
    Text *text = &job->text, *reference = &job->reference;
    Outcome outcome;
    if ((outcome = cut(text)) || (outcome = cut(reference))) {
        return outcome;
    }
    if (text->word_count >= UINT32_MAX || reference->word_count >= UINT32_MAX) {
        return TOO_LONG;
    }
    if ((outcome = open_table(&job->table, seeds, reference->word_count)) ||
        (outcome = number_tokens(reference, &job->table, 1)) || (outcome = number_tokens(text, &job->table, 0))) {
        return outcome;
    }
    uint32_t highest = job->table.count;
    if (!text->length || !reference->length) {
        return DONE;
    }
    if (job->longest && (outcome = count_runs(job))) {
        return outcome;
    }
    return job->sequence ? find_sequence(job, highest) : DONE; /* last: it moves tokens */
}

static void
release(Job *job)
{
    for (int i = 0; i < 2; i++) {
        Text *text = i ? &job->reference : &job->text;
        free(text->words);
        free(text->tokens);
        free(text->grams);
    }
    free(job->table.pairs);
    free(job->table.buckets);
    free(job->counts);
    free(job->places);
    free(job->carries);
}

/* The text as bytes, which have to live as long as `text` is used. Lone surrogates pass: they are no letters. */
static PyObject *
encode(PyObject *object, Text *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(object, "utf-8", "surrogatepass");
    if (bytes) {
        text->bytes = (const unsigned char *)PyBytes_AsString(bytes);
        text->size = (size_t)PyBytes_Size(bytes);
    }
    return bytes;
}

static PyObject *
answer(const Job *job)
{
    int lengths = job->longest < job->shortest ? 0 : job->longest - job->shortest + 1;
    PyObject *shared = PyTuple_New(lengths);
    if (!shared) {
        return NULL;
    }
    for (int i = 0; i < lengths; i++) {
        PyObject *count = PyLong_FromSize_t(job->shared[job->shortest - 1 + i]);
        if (!count || PyTuple_SetItem(shared, i, count)) {
            Py_DECREF(shared);
            return NULL;
        }
    }
    return Py_BuildValue("nnNn", (Py_ssize_t)job->text.length, (Py_ssize_t)job->reference.length, shared,
                         (Py_ssize_t)job->common);
}

static PyObject *
overlaps(PyObject *module, PyObject *arguments)
{
    Job job = {0};
    PyObject *text, *reference, *result = NULL;
    if (!PyArg_ParseTuple(arguments, "UUiip:overlaps", &text, &reference, &job.shortest, &job.longest,
                          &job.sequence)) {
        return NULL;
    }
    if (job.shortest < 1 || job.longest < 0 || job.longest > LONGEST) {
        return PyErr_Format(PyExc_ValueError, "runs of %d to %d tokens are asked for, not of 1 to %d at most",
                            job.shortest, job.longest, LONGEST);
    }
    PyObject *text_bytes = encode(text, &job.text);
    PyObject *reference_bytes = text_bytes ? encode(reference, &job.reference) : NULL;
    if (reference_bytes) {
        const State *state = PyModule_GetState(module);
        if (job.text.size > LONG_BYTES || job.reference.size > LONG_BYTES) {
            job.thread = PyEval_SaveThread();
        }
        Outcome outcome = run(&job, state->seeds);
        if (job.thread) {
            PyEval_RestoreThread(job.thread);
        }
        if (outcome == DONE) {
            result = answer(&job);
        }
        else if (outcome == NO_MEMORY) {
            PyErr_NoMemory();
        }
        else if (outcome == TOO_LONG) {
            PyErr_SetString(PyExc_OverflowError, "a text has more than 4,294,967,294 words");
        } /* else it is what the signal raised */
        release(&job);
    }
    Py_XDECREF(text_bytes);
    Py_XDECREF(reference_bytes);
    return result;
}

static int
start(PyObject *module)
{
    State *state = PyModule_GetState(module);
    PyObject *os = PyImport_ImportModule("os");
    PyObject *random = os ? PyObject_CallMethod(os, "urandom", "n", (Py_ssize_t)sizeof(state->seeds)) : NULL;
    const char *bytes = random ? PyBytes_AsString(random) : NULL;
    if (bytes) {
        memcpy(state->seeds, bytes, sizeof(state->seeds));
    }
    Py_XDECREF(random);
    Py_XDECREF(os);
    return bytes ? 0 : -1;
}

PyDoc_STRVAR(overlaps_doc,
             "overlaps(text, reference, shortest, longest, sequence, /)\n--\n\n"
             "How many tokens each text has, how many runs of `shortest` ... `longest` tokens they share (no runs are\n"
             "counted where longest is 0), and the length of the longest sequence of tokens that both have in the same\n"
             "order; 0 unless `sequence` is asked for.");

static PyMethodDef METHODS[] = {{"overlaps", overlaps, METH_VARARGS, overlaps_doc}, {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, start}, {0, NULL}};

static struct PyModuleDef MODULE = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "_rouge",
    .m_doc = "The core of ROUGE, compiled. fairmark.metrics.rouge_plain does the same in Python.",
    .m_size = sizeof(State),
    .m_methods = METHODS,
    .m_slots = SLOTS,
};

PyMODINIT_FUNC
PyInit__rouge(void)
{
    return PyModuleDef_Init(&MODULE);
}

/*
 * bench.c: times rpcgen's codecs over libtirpc's memory streams, on request.
 *
 * It reads commands from standard input and answers each with one line:
 *
 *	load MESSAGE LENGTH\n<LENGTH bytes>	ok
 *	run MESSAGE OP COUNT\n			nanoseconds for COUNT repetitions
 *	bytes MESSAGE\n				LENGTH\n<LENGTH bytes>, encoded anew
 *
 * MESSAGE is a, b, c4K, c1M, d to h, n4 or n8. e has the types of NFS version 4.2, too. OP is encode, decode (into the same value) or
 * fresh (into a zero value, freed afterwards). A failure answers "error ...".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rpc/rpc.h>

#include "rpcrdma1.h"
#include "dirplus.h"
#include "nfs42.h"
#include "envelope.h"

union value {
	header h;
	blob c;
	dp_reply d;
	COMPOUND4args e;
	ev_envelope f;
	COMPOUND4res r;
	dp_words w;
	dp_doubles n;
};

static struct message {
	const char *name;
	xdrproc_t proc;
	size_t size; /* of the C value */
	char *wire, *out;
	unsigned length; /* of the wire */
	union value value, fresh;
} messages[] = {
	{ "a", (xdrproc_t)xdr_header, sizeof(header) },
	{ "b", (xdrproc_t)xdr_header, sizeof(header) },
	{ "c4K", (xdrproc_t)xdr_blob, sizeof(blob) },
	{ "c1M", (xdrproc_t)xdr_blob, sizeof(blob) },
	{ "d", (xdrproc_t)xdr_dp_reply, sizeof(dp_reply) },
	{ "e", (xdrproc_t)xdr_COMPOUND4args, sizeof(COMPOUND4args) },
	{ "f", (xdrproc_t)xdr_ev_envelope, sizeof(ev_envelope) },
	{ "g", (xdrproc_t)xdr_COMPOUND4args, sizeof(COMPOUND4args) },
	{ "h", (xdrproc_t)xdr_COMPOUND4res, sizeof(COMPOUND4res) },
	{ "n4", (xdrproc_t)xdr_dp_words, sizeof(dp_words) },
	{ "n8", (xdrproc_t)xdr_dp_doubles, sizeof(dp_doubles) },
};

static struct message *find(const char *name)
{
	for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++)
		if (strcmp(messages[i].name, name) == 0)
			return &messages[i];
	return NULL;
}

static bool_t code(struct message *m, enum xdr_op op, char *b, union value *v)
{
	XDR x;
	xdrmem_create(&x, b, m->length, op);
	return m->proc(&x, v) && xdr_getpos(&x) == m->length;
}

static const char *run(struct message *m, const char *op, long n)
{
	if (strcmp(op, "encode") == 0) {
		while (n-- > 0)
			if (!code(m, XDR_ENCODE, m->out, &m->value))
				return "encode";
	} else if (strcmp(op, "decode") == 0) {
		while (n-- > 0)
			if (!code(m, XDR_DECODE, m->wire, &m->value))
				return "decode";
	} else if (strcmp(op, "fresh") == 0) {
		while (n-- > 0) {
			memset(&m->fresh, 0, m->size);
			if (!code(m, XDR_DECODE, m->wire, &m->fresh))
				return "decode";
			xdr_free(m->proc, &m->fresh);
		}
	} else {
		return "unknown operation";
	}
	return NULL;
}

static long long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static const char *command(char *line)
{
	char name[8], op[8];
	long n;
	struct message *m;
	const char *fault;

	if (sscanf(line, "load %7s %ld", name, &n) == 2 && (m = find(name))) {
		m->length = n;
		m->wire = malloc(n);
		m->out = malloc(n);
		if (!m->wire || !m->out || fread(m->wire, 1, n, stdin) != (size_t)n)
			return "load";
		memset(m->out, 0, n);
		memset(&m->value, 0, sizeof m->value);
		if (!code(m, XDR_DECODE, m->wire, &m->value))
			return "decode";
		printf("ok\n");
		return NULL;
	}
	if (sscanf(line, "run %7s %7s %ld", name, op, &n) == 3 && (m = find(name))) {
		long long start = now();
		if ((fault = run(m, op, n)))
			return fault;
		printf("%lld\n", now() - start);
		return NULL;
	}
	if (sscanf(line, "bytes %7s", name) == 1 && (m = find(name))) {
		if (!code(m, XDR_ENCODE, m->out, &m->value))
			return "encode";
		printf("%u\n", m->length);
		fwrite(m->out, 1, m->length, stdout);
		return NULL;
	}
	return "unknown command";
}

int main(void)
{
	char line[128];
	while (fgets(line, sizeof line, stdin)) {
		const char *fault = command(line);
		if (fault)
			printf("error %s\n", fault);
		fflush(stdout);
	}
	return 0;
}

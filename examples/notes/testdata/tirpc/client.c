/* A client of notes.x with rpcgen's stubs and libtirpc. It prints what each call gave. */
#include "notes.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sockaddr_in addr;

/* connect_to connects to a program; messages go in fragments of a size, or of the default for 0. */
static CLIENT *connect_to(unsigned prog, unsigned vers, unsigned size)
{
	int sock = RPC_ANYSOCK;
	CLIENT *c = clnttcp_create(&addr, prog, vers, &sock, size, size);
	if (c == NULL) {
		clnt_pcreateerror("connect");
		exit(1);
	}
	return c;
}

/* status prints the status of a call of procedure proc without arguments. */
static void status(const char *what, CLIENT *c, unsigned proc)
{
	struct timeval limit = {20, 0};
	struct rpc_err err;
	enum clnt_stat s = clnt_call(c, proc, (xdrproc_t)xdr_void, NULL, (xdrproc_t)xdr_void, NULL, limit);
	clnt_geterr(c, &err);
	printf("%s: %d", what, s);
	if (s == RPC_PROGVERSMISMATCH)
		printf(" %u %u", (unsigned)err.re_vers.low, (unsigned)err.re_vers.high);
	if (s == RPC_AUTHERROR)
		printf(" %d", err.re_why);
	printf("\n");
}

/* put_fails prints the status of a put under a name that the server refuses. */
static void put_fails(char *name, CLIENT *c)
{
	struct rpc_err err;
	note n = {name, {0, NULL}};
	if (notes_put_1(&n, c) != NULL) {
		printf("%s: it did not fail\n", name);
		return;
	}
	clnt_geterr(c, &err);
	printf("%s: %d", name, err.re_status);
	if (err.re_status == RPC_VERSMISMATCH)
		printf(" %u %u", (unsigned)err.re_vers.low, (unsigned)err.re_vers.high);
	if (err.re_status == RPC_AUTHERROR)
		printf(" %d", err.re_why);
	printf("\n");
}

/* exchange puts and gets notes of many sizes, and prints how many names there are. */
static int exchange(CLIENT *c)
{
	static char text[1048576], name[64];
	for (unsigned i = 0; i < sizeof text; i++)
		text[i] = i * 7 + (i >> 9);
	unsigned sizes[] = {0, 1, 499, 500, 501, 70001, sizeof text};
	for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		sprintf(name, "note %u", sizes[i]);
		char *key = name;
		note n = {key, {sizes[i], text}};
		if (notes_put_1(&n, c) == NULL) {
			clnt_perror(c, "put");
			return 0;
		}
		get_res *res = notes_get_1(&key, c);
		if (res == NULL || res->status != NOTE_OK || res->get_res_u.found.text.text_len != sizes[i] ||
		    memcmp(res->get_res_u.found.text.text_val, text, sizes[i]) != 0) {
			clnt_perror(c, "get");
			return 0;
		}
	}
	note_names *names = notes_list_1(NULL, c);
	printf("names: %u\n", names ? names->note_names_len : 0);
	return 1;
}

int main(int argc, char **argv)
{
	addr.sin_family = AF_INET;
	addr.sin_port = htons(atoi(argv[1]));
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CLIENT *c = connect_to(NOTES, NOTES_V1, 500);
	static char name[64];
	if (!exchange(c) || !exchange(connect_to(NOTES, NOTES_V1, 0)))
		return 1;
	status("null", c, 0);
	status("no procedure", c, 99);
	status("garbage", c, NOTES_GET);
	status("other version", connect_to(NOTES, 7, 500), 0);
	status("other program", connect_to(NOTES + 1, 1, 500), 0);
	put_fails("fail", c);
	put_fails("mismatch", c);
	for (unsigned i = 1; i <= 14; i++) {
		sprintf(name, "auth %u", i);
		put_fails(name, c);
	}
	c->cl_auth = authunix_create("garden", 1000, 1000, 0, NULL);
	status("refused credential", c, NOTES_LIST);
	return 0;
}

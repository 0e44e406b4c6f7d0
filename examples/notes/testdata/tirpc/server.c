/* A server of notes.x with rpcgen's stubs and libtirpc. It prints its port. */
#include "notes.h"

#include <arpa/inet.h>
#include <rpc/svc_soc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 2000

static note kept[MOST];
static note_name names[MOST];
static unsigned count;

static note *find(const char *name)
{
	for (unsigned i = 0; i < count; i++)
		if (strcmp(kept[i].name, name) == 0)
			return &kept[i];
	return NULL;
}

void *notes_null_1_svc(void *arg, struct svc_req *req)
{
	static char none;
	return &none;
}

void *notes_put_1_svc(note *n, struct svc_req *req)
{
	static char none;
	note *to = find(n->name);
	if (to == NULL) {
		to = &kept[count++];
		to->name = strdup(n->name);
	} else {
		free(to->text.text_val);
	}
	to->text.text_len = n->text.text_len;
	to->text.text_val = malloc(n->text.text_len + 1);
	memcpy(to->text.text_val, n->text.text_val, n->text.text_len);
	return &none;
}

get_res *notes_get_1_svc(note_name *name, struct svc_req *req)
{
	static get_res res;
	note *n = find(*name);
	res.status = n ? NOTE_OK : NOTE_UNKNOWN;
	if (n)
		res.get_res_u.found = *n;
	return &res;
}

note_names *notes_list_1_svc(void *arg, struct svc_req *req)
{
	static note_names res;
	for (unsigned i = 0; i < count; i++)
		names[i] = kept[i].name;
	res.note_names_len = count;
	res.note_names_val = names;
	return &res;
}

extern void notes_1(struct svc_req *, SVCXPRT *);

/* Procedures from 100 on give errors that the stubs never give. */
static void dispatch(struct svc_req *req, SVCXPRT *transport)
{
	if (req->rq_proc == 100)
		svcerr_systemerr(transport);
	else if (req->rq_proc > 100 && req->rq_proc < 110)
		svcerr_auth(transport, (enum auth_stat)(req->rq_proc - 100));
	else
		notes_1(req, transport);
}

int main(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof addr;
	int sock = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(sock, (struct sockaddr *)&addr, sizeof addr) || listen(sock, 16) || getsockname(sock, (struct sockaddr *)&addr, &size)) {
		perror("listen");
		return 1;
	}
	SVCXPRT *transport = svctcp_create(sock, 700, 700); /* replies in fragments of 700 bytes */
	if (transport == NULL || !svc_register(transport, NOTES, NOTES_V1, dispatch, 0)) {
		fprintf(stderr, "cannot serve\n");
		return 1;
	}
	printf("%d\n", ntohs(addr.sin_port));
	fflush(stdout);
	svc_run();
	return 1;
}

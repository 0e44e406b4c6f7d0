/* A server of conform.x with rpcgen's stubs and libtirpc, over TCP and UDP: each procedure returns
 * its argument. It prints both ports. */
#include "conform.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define SAME(name, type) \
	type *conform_##name##_1_svc(type *arg, struct svc_req *req) { return arg; }

SAME(int, int)
SAME(uint, u_int)
SAME(hyper, quad_t)
SAME(uhyper, u_quad_t)
SAME(float, float)
SAME(double, double)
SAME(bool, bool_t)
SAME(enum, conform_colour)
SAME(fixed, char)
SAME(bytes, conform_bytes)
SAME(data, conform_data)
SAME(string, conform_string)
SAME(three, int)
SAME(seven, conform_seven)
SAME(struct, conform_struct)
SAME(union, conform_union)
SAME(list, conform_list)

void *conform_null_1_svc(void *arg, struct svc_req *req)
{
	static char none;
	return &none;
}

/* The stubs have the other program of the file as well, which is not served. */
void *client_null_1_svc(void *arg, struct svc_req *req) { return NULL; }
conform_case *client_next_1_svc(void *arg, struct svc_req *req) { return NULL; }
conform_answer *client_try_1_svc(u_int *arg, struct svc_req *req) { return NULL; }
void *client_report_1_svc(conform_report *arg, struct svc_req *req) { return NULL; }

extern void conform_program_1(struct svc_req *, SVCXPRT *);

/* listen_at opens a socket of the loopback address, and prints its port. */
static int listen_at(int type)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof addr;
	int sock = socket(AF_INET, type, 0);
	if (bind(sock, (struct sockaddr *)&addr, sizeof addr) || type == SOCK_STREAM && listen(sock, 64) || getsockname(sock, (struct sockaddr *)&addr, &size)) {
		perror("listen");
		exit(1);
	}
	printf("%d\n", ntohs(addr.sin_port));
	return sock;
}

int main(void)
{
	SVCXPRT *stream = svctcp_create(listen_at(SOCK_STREAM), 0, 0);
	SVCXPRT *datagrams = svcudp_create(listen_at(SOCK_DGRAM));
	if (stream == NULL || datagrams == NULL || !svc_register(stream, CONFORM_PROGRAM, CONFORM_V1, conform_program_1, 0) ||
	    !svc_register(datagrams, CONFORM_PROGRAM, CONFORM_V1, conform_program_1, 0)) {
		fprintf(stderr, "cannot serve\n");
		return 1;
	}
	fflush(stdout);
	svc_run();
	return 1;
}

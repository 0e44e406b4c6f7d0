/* A client of conform.x with rpcgen's stubs and libtirpc, for rpcrdma conform -listen. It calls what
 * the server says, over tcp or udp, until there are no more cases: client tcp|udp PORT */
#include "conform.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sockaddr_in addr;
static int datagrams;

/* connect_to makes a connection; calls on it wait for so many seconds. */
static CLIENT *connect_to(int seconds)
{
	struct timeval limit = {seconds, 0}, again = {seconds, 0};
	int sock = RPC_ANYSOCK;
	CLIENT *c = datagrams ? clntudp_create(&addr, CONFORM_CLIENT, CONFORM_CLIENT_V1, again, &sock)
			      : clnttcp_create(&addr, CONFORM_CLIENT, CONFORM_CLIENT_V1, &sock, 0, 0);
	if (c == NULL) {
		clnt_pcreateerror("connect");
		exit(1);
	}
	clnt_control(c, CLSET_TIMEOUT, (char *)&limit);
	return c;
}

/* came fills in what a call of TRY gave. */
static void came(conform_report *r, CLIENT *c, conform_answer *answer)
{
	struct rpc_err err;
	if (answer != NULL) {
		int right = answer->data.data_len == 12 && !memcmp(answer->data.data_val, "right answer", 12);
		r->came = CAME_RESULT;
		r->first = right ? answer->number : 0;
		return;
	}
	clnt_geterr(c, &err);
	r->first = err.re_vers.low;
	r->second = err.re_vers.high;
	switch (err.re_status) {
	case RPC_PROGUNAVAIL: r->came = CAME_PROG_UNAVAIL; break;
	case RPC_PROGVERSMISMATCH: r->came = CAME_PROG_MISMATCH; break;
	case RPC_PROCUNAVAIL: r->came = CAME_PROC_UNAVAIL; break;
	case RPC_CANTDECODEARGS: r->came = CAME_GARBAGE_ARGS; break;
	case RPC_SYSTEMERROR: r->came = CAME_SYSTEM_ERR; break;
	case RPC_VERSMISMATCH: r->came = CAME_RPC_MISMATCH; break;
	case RPC_AUTHERROR: r->came = CAME_AUTH_ERROR; r->first = err.re_why; break;
	case RPC_CANTSEND:
	case RPC_CANTRECV: r->came = CAME_LOST; break;
	case RPC_TIMEDOUT: r->came = CAME_NOTHING; break;
	default: r->came = CAME_FAULT;
	}
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	datagrams = !strcmp(argv[1], "udp");
	addr.sin_family = AF_INET;
	addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	addr.sin_port = htons(atoi(argv[2]));
	for (;;) {
		CLIENT *control = connect_to(20), *c;
		conform_case *next = client_next_1(NULL, control);
		conform_report r = {0};
		if (next == NULL) {
			clnt_perror(control, "next");
			return 1;
		}
		if (next->number == 0)
			return 0;
		r.number = next->number;
		c = connect_to(5);
		came(&r, c, client_try_1(&r.number, c));
		clnt_destroy(c);
		if (client_report_1(&r, control) == NULL) {
			clnt_perror(control, "report");
			return 1;
		}
		clnt_destroy(control);
	}
}

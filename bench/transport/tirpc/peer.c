/*
 * peer.c: both ends of calls through code that rpcgen has made from echo.x, with libtirpc over TCP.
 * The server is a child of this process. Each line "run N" of standard input is answered by a line
 * with the nanoseconds that N calls took, and the processor time of both ends; "ready" comes first.
 */
#include <rpc/rpc.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "echo.h"

#define SIZE 128

extern void echo_program_1(struct svc_req *, SVCXPRT *);

void *echo_null_1_svc(void *args, struct svc_req *req)
{
	static char none;
	return &none;
}

echo_message *echo_echo_1_svc(echo_message *args, struct svc_req *req)
{
	static echo_message res;
	res = *args; /* the dispatcher frees the arguments after the reply */
	return &res;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static long long now(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void serve(int sock)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	SVCXPRT *xprt = svc_vc_create(sock, 0, 0);
	if (xprt == NULL || !svc_register(xprt, ECHO_PROGRAM, ECHO_V1, echo_program_1, 0))
		fail("svc_register");
	svc_run();
	exit(1);
}

int main(void)
{
	struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof addr;
	int sock = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	if (sock < 0 || bind(sock, (struct sockaddr *)&addr, len) || listen(sock, 5) || getsockname(sock, (struct sockaddr *)&addr, &len))
		fail("listen");
	pid_t child = fork();
	if (child == 0)
		serve(sock);
	close(sock);
	clockid_t theirs;
	int fd = RPC_ANYSOCK;
	CLIENT *clnt = clnttcp_create(&addr, ECHO_PROGRAM, ECHO_V1, &fd, 0, 0);
	if (clnt == NULL || clock_getcpuclockid(child, &theirs)) {
		clnt_pcreateerror("clnttcp_create");
		return 1;
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	char data[SIZE], line[64];
	for (int i = 0; i < SIZE; i++)
		data[i] = i;
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		long n = atol(line + strlen("run "));
		long long began = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID) + now(theirs);
		for (long i = 0; i < n; i++) {
			echo_message args = {.data = {SIZE, data}}, *res = echo_echo_1(&args, clnt);
			if (res == NULL || res->data.data_len != SIZE || memcmp(res->data.data_val, data, SIZE)) {
				clnt_perror(clnt, "call");
				return 1;
			}
			clnt_freeres(clnt, (xdrproc_t)xdr_echo_message, (char *)res);
		}
		cpu = now(CLOCK_PROCESS_CPUTIME_ID) + now(theirs) - cpu;
		printf("%lld %lld\n", now(CLOCK_MONOTONIC) - began, cpu);
		fflush(stdout);
	}
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return 0;
}

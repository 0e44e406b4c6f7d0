/*
 * Registers a service with the rpcbind of this host by libtirpc, finds it, and
 * removes it. Prints the result of each step.
 */
#include <stdio.h>
#include <time.h>
#include <netconfig.h>
#include <rpc/rpc.h>
#include <rpc/rpcb_clnt.h>
#include <rpc/pmap_clnt.h>

#define PROG 400007

int main(void)
{
	struct netconfig *tcp = getnetconfigent("tcp");
	struct netbuf *bound = uaddr2taddr(tcp, "0.0.0.0.3.232");
	char space[128];
	struct netbuf found = { sizeof space, 0, space };
	int entries = 0;
	time_t now = 0;

	printf("set %d\n", rpcb_set(PROG, 1, tcp, bound));
	printf("set again %d\n", rpcb_set(PROG, 1, tcp, bound));
	printf("getaddr %d", rpcb_getaddr(PROG, 1, tcp, &found, "127.0.0.1"));
	printf(" %s\n", taddr2uaddr(tcp, &found));
	printf("getaddr of another program %d\n", rpcb_getaddr(PROG + 1, 1, tcp, &found, "127.0.0.1"));
	for (rpcblist *l = rpcb_getmaps(tcp, "127.0.0.1"); l; l = l->rpcb_next)
		entries += l->rpcb_map.r_prog == PROG;
	printf("dump %d\n", entries);
	printf("gettime over UDP %d", rpcb_gettime("127.0.0.1", &now));
	printf(" %d\n", now > 0);
	printf("unset %d\n", rpcb_unset(PROG, 1, tcp));
	printf("unset again %d\n", rpcb_unset(PROG, 1, tcp));
	printf("pmap_set %d\n", pmap_set(PROG, 2, IPPROTO_TCP, 1001));
	printf("pmap_unset %d\n", pmap_unset(PROG, 2));
	return 0;
}

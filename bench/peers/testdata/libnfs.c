/*
 * The calls of package peers by libnfs. Usage: libnfs URL. Reads lines "OP COUNT DEPTH SERIAL" from
 * standard input, and answers each one by the nanoseconds that it took and the nanoseconds of
 * processor time. All names are in the directory of the URL, which is mounted.
 */
#include <sys/time.h>
#include <nfsc/libnfs.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static struct nfs_context *nfs;
static struct nfsfh *data, *written;
static char *block;
static const char *op;
static long left, busy, serial;
static int failed;

enum { MIB = 1 << 20 };

static void die(const char *what)
{
	fprintf(stderr, "libnfs: %s: %s\n", what, nfs_get_error(nfs));
	exit(1);
}

static void issue(void);

static void done(int err, struct nfs_context *c, void *result, void *arg)
{
	(void)c;
	(void)result;
	(void)arg;
	busy--;
	if (err < 0)
		failed = 1;
	if (left > 0 && !failed)
		issue();
}

static void issue(void)
{
	int err = -1;

	left--;
	busy++;
	if (!strcmp(op, "getattr"))
		err = nfs_fstat64_async(nfs, data, done, NULL);
	else if (!strcmp(op, "read"))
		err = nfs_pread_async(nfs, data, 0, MIB, done, NULL);
	else if (!strcmp(op, "write"))
		err = nfs_pwrite_async(nfs, written, 0, MIB, block, done, NULL);
	if (err)
		die(op);
}

/* The calls of several at a time. */
static void many(long depth)
{
	for (long i = 0; i < depth && left > 0; i++)
		issue();
	while (busy > 0) {
		struct pollfd p = { .fd = nfs_get_fd(nfs), .events = nfs_which_events(nfs) };

		if (poll(&p, 1, 60000) <= 0 || nfs_service(nfs, p.revents) < 0)
			die(op);
	}
	if (failed || (!strcmp(op, "write") && nfs_fsync(nfs, written)))
		die(op);
}

static void make(const char *name, int size)
{
	struct nfsfh *f;

	if (nfs_creat(nfs, name, 0644, &f))
		die("create");
	if (size && nfs_write(nfs, f, size, block) != size)
		die("write");
	if (nfs_close(nfs, f))
		die("close");
}

static void run(long count, long depth)
{
	char name[80];

	if (!strncmp(op, "list", 4)) {
		for (; count > 0; count--) {
			struct nfsdir *d;
			long entries = 0;

			snprintf(name, sizeof name, "/%s", op);
			if (nfs_opendir(nfs, name, &d))
				die("opendir");
			while (nfs_readdir(nfs, d))
				entries++;
			nfs_closedir(nfs, d);
			if (entries < atol(op + 4))
				die("a short listing");
		}
	} else if (!strcmp(op, "create") || !strcmp(op, "copy")) {
		for (long i = 0; i < count; i++) {
			snprintf(name, sizeof name, "/made/%ld-%ld", serial, i);
			make(name, !strcmp(op, "copy") ? 1024 : 0);
		}
	} else if (!strcmp(op, "remove")) {
		for (long i = 0; i < count; i++) {
			snprintf(name, sizeof name, "/made/%ld-%ld", serial, i);
			if (nfs_unlink(nfs, name))
				die("unlink");
		}
	} else {
		left = count;
		many(depth);
	}
}

static long long ns(long long sec, long long more) { return sec * 1000000000LL + more; }

static long long cpu(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return ns(u.ru_utime.tv_sec, u.ru_utime.tv_usec * 1000LL) + ns(u.ru_stime.tv_sec, u.ru_stime.tv_usec * 1000LL);
}

int main(int argc, char **argv)
{
	static char line[256], word[64];
	struct nfs_url *url;
	long count, depth;

	if (argc != 2)
		return 2;
	nfs = nfs_init_context();
	block = calloc(1, MIB);
	url = nfs_parse_url_dir(nfs, argv[1]);
	if (!url || nfs_mount(nfs, url->server, url->path))
		die("mount");
	if (nfs_open(nfs, "/data", O_RDONLY, &data) || nfs_open(nfs, "/written", O_RDWR, &written))
		die("open");
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		struct timespec a, b;
		long long used = cpu();

		if (sscanf(line, "%63s %ld %ld %ld", word, &count, &depth, &serial) != 4)
			return 2;
		op = word;
		clock_gettime(CLOCK_MONOTONIC, &a);
		run(count, depth);
		clock_gettime(CLOCK_MONOTONIC, &b);
		printf("%lld %lld\n", ns(b.tv_sec, b.tv_nsec) - ns(a.tv_sec, a.tv_nsec), cpu() - used);
		fflush(stdout);
	}
	return 0;
}

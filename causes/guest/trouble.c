// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What runs in the guest of a cause: makes one kind of trouble, or takes the evidence.
 *
 *	trouble collect LABEL		a frame of kernel files, appended to /out/capture
 *	trouble sample SECONDS		a small frame each second
 *	trouble KIND ARGUMENT...	the trouble, until it is killed
 *
 * Sizes are in MiB. Memory is filled with numbers that no compressor makes small, where the kind
 * does not say otherwise.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static void fail(const char *what)
{
	fprintf(stderr, "trouble: %s: %s\n", what, strerror(errno));
	exit(1);
}

static size_t number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (!*text || *end) {
		errno = EINVAL;
		fail(text);
	}
	return value;
}

static void forever(void)
{
	for (;;)
		pause();
}

/* A generator that needs no library: xorshift. */
static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Half of each page is drawn: it compresses to a little more than half. */
static void fill(char *memory, size_t length)
{
	uint64_t state = 88172645463325252u + (uint64_t)getpid();
	size_t page, word;

	for (page = 0; page + PAGE <= length; page += PAGE)
		for (word = 0; word < PAGE / 2; word += 8)
			*(uint64_t *)(memory + page + word) = next(&state);
}

static char *map(size_t length, int flags)
{
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	return memory;
}

/* ---- evidence ---- */

static char buffer[MIB];
static FILE *out;

static void put(const char *path)
{
	int file = open(path, O_RDONLY | O_NONBLOCK);
	size_t length = 0;
	ssize_t got;

	if (file < 0)
		return;
	while (length < sizeof(buffer) &&
	       (got = read(file, buffer + length, sizeof(buffer) - length)) > 0)
		length += got;
	close(file);
	if (!length)
		return;
	fprintf(out, "= %s %zu\n", path + 1, length);
	fwrite(buffer, 1, length, out);
	fputc('\n', out);
}

/* A file of this name in every folder below. */
static void put_below(const char *folder, const char *name)
{
	char path[4096];
	struct dirent *entry;
	DIR *stream = opendir(folder);

	if (!stream)
		return;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	put(path);
	while ((entry = readdir(stream))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		put_below(path, name);
	}
	closedir(stream);
}

static void put_all(const char *pattern)
{
	char *below = strstr(pattern, "/**/");
	glob_t found;
	size_t i;

	if (below) {
		*below = 0;
		put_below(pattern, below + 4);
		return;
	}
	if (glob(pattern, 0, NULL, &found) == 0)
		for (i = 0; i < found.gl_pathc; i++)
			put(found.gl_pathv[i]);
	globfree(&found);
}

static void frame(const char *list, const char *label)
{
	char pattern[256];
	struct timespec now;
	FILE *patterns = fopen(list, "r");

	out = fopen("/out/capture", "a");
	if (!out || !patterns)
		fail(list);
	flock(fileno(out), LOCK_EX);
	clock_gettime(CLOCK_BOOTTIME, &now);
	fprintf(out, "@ %lld%09ld %s\n", (long long)now.tv_sec, now.tv_nsec, label);
	while (fgets(pattern, sizeof(pattern), patterns)) {
		pattern[strcspn(pattern, "\n")] = 0;
		put_all(pattern);
	}
	fclose(patterns);
	if (fclose(out))
		fail("/out/capture");
}

static void adjust(const char *score)
{
	FILE *adjustment = fopen("/proc/self/oom_score_adj", "w");

	if (adjustment) {
		fputs(score, adjustment);
		fclose(adjustment);
	}
}

/* This process is never killed, and has its memory before it is short. */
static void spare_me(void)
{
	adjust("-1000");
	mlockall(MCL_CURRENT | MCL_FUTURE);
}

static void collect(char **arguments)
{
	spare_me();
	frame("/lab/files", arguments[0]);
	exit(0);
}

static void sample(char **arguments)
{
	size_t left = number(arguments[0]);

	spare_me();
	for (; left; left--) {
		frame("/lab/samples", "sample");
		sleep(1);
	}
	exit(0);
}

/* ---- trouble ---- */

/* A MiB at a time: the kernel refuses one map of more than it has. */
static void anon(char **arguments)
{
	size_t left = number(arguments[0]);

	for (; left; left--)
		fill(map(MIB, 0), MIB);
	forever();
}

/* Huge pages where they can be had, which take less of the guest's time. */
static void zeros(char **arguments)
{
	size_t length = number(arguments[0]) * MIB, at;
	char *memory = map(length, 0);

	for (at = 0; at < length; at += PAGE)
		memory[at] = 1;
	forever();
}

/* A working set that is used again and again: MiB, milliseconds between rounds. */
static void again(char **arguments)
{
	size_t length = number(arguments[0]) * MIB, at;
	useconds_t wait = number(arguments[1]) * 1000;
	char *memory = map(length, 0);

	fill(memory, length);
	for (;;) {
		for (at = 0; at < length; at += PAGE)
			memory[at]++;
		usleep(wait);
	}
}

/* Mapped and not touched. */
static void promise(char **arguments)
{
	size_t length = number(arguments[0]) * MIB;

	if (mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
	    MAP_FAILED)
		fprintf(stderr, "trouble: cannot allocate %zu bytes: %s\n", length,
			strerror(errno));
	forever();
}

static void lock(char **arguments)
{
	size_t length = number(arguments[0]) * MIB;
	char *memory = map(length, 0);

	if (mlock(memory, length))
		fail("mlock");
	fill(memory, length);
	forever();
}

/* N processes that each map the same MiB in small pages. */
static void tables(char **arguments)
{
	size_t count = number(arguments[0]), length = number(arguments[1]) * MIB, at;
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED)
		fail("mmap");
	while (count--) {
		if (fork())
			continue;
		for (at = 0; at < length; at += PAGE)
			memory[at] = 1;
		forever();
	}
	forever();
}

/* A page in each 2 MiB: a page table for each. */
static void sparse(char **arguments)
{
	size_t count = number(arguments[0]), at;
	char *memory = mmap(NULL, count * 2 * MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			    MAP_NORESERVE, -1, 0);
	volatile char sink;

	if (memory == MAP_FAILED)
		fail("mmap");
	madvise(memory, count * 2 * MIB, MADV_NOHUGEPAGE);
	for (at = 0; at < count; at++)
		sink = memory[at * 2 * MIB];
	(void)sink;
	forever();
}

/* A segment that outlives its maker. */
static void segment(char **arguments)
{
	size_t length = number(arguments[0]) * MIB;
	int id = shmget(IPC_PRIVATE, length, IPC_CREAT | 0600);
	char *memory = id < 0 ? (void *)-1 : shmat(id, NULL, 0);

	if (memory == (void *)-1)
		fail("shmget");
	fill(memory, length);
	exit(0);
}

static void huge(char **arguments)
{
	size_t length = number(arguments[0]) * MIB, at;
	char *memory = map(length, MAP_HUGETLB);

	for (at = 0; at < length; at += 2 * MIB)
		memory[at] = 1;
	forever();
}

/* Names that are not there leave negative dentries. */
static void names(char **arguments)
{
	size_t count = number(arguments[1]), i;
	struct stat status;
	char path[256];

	for (i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/no-such-name-of-a-file-%09zu", arguments[0], i);
		stat(path, &status);
	}
	exit(0);
}

/* Empty files, which stay. */
static void files(char **arguments)
{
	size_t count = number(arguments[1]), i;
	char path[256];

	for (i = 0; i < count; i++) {
		if (i % 1000 == 0) {
			snprintf(path, sizeof(path), "%s/%zu", arguments[0], i / 1000);
			mkdir(path, 0755);
		}
		snprintf(path, sizeof(path), "%s/%zu/%zu", arguments[0], i / 1000, i);
		close(open(path, O_CREAT | O_WRONLY, 0644));
	}
	exit(0);
}

static void raise_files(void)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Pairs of sockets with as much in flight as they take. */
static void sockets(char **arguments)
{
	size_t count = number(arguments[0]);
	int pair[2], room = 1 << 20;

	raise_files();
	memset(buffer, 'x', sizeof(buffer));
	while (count--) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair))
			fail("socketpair");
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
		while (write(pair[0], buffer, 32768) > 0)
			;
	}
	forever();
}

static void pipes(char **arguments)
{
	size_t count = number(arguments[0]);
	int pair[2];

	raise_files();
	memset(buffer, 'x', sizeof(buffer));
	while (count--) {
		if (pipe2(pair, O_NONBLOCK))
			fail("pipe");
		fcntl(pair[1], F_SETPIPE_SZ, 1 << 20);
		while (write(pair[1], buffer, 65536) > 0)
			;
	}
	forever();
}

/* Processes that wait; those that cannot be made are counted. */
static void processes(char **arguments)
{
	size_t count = number(arguments[0]), refused = 0;

	while (count--) {
		pid_t child = fork();

		if (!child)
			forever();
		if (child < 0)
			refused++;
	}
	if (refused)
		fprintf(stderr, "trouble: fork: %zu refused: %s\n", refused, strerror(errno));
	forever();
}

static void *wait_for_ever(void *nothing)
{
	forever();
	return nothing;
}

static void threads(char **arguments)
{
	size_t count = number(arguments[0]), refused = 0;
	pthread_attr_t small;
	pthread_t thread;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 16384);
	while (count--)
		if (pthread_create(&thread, &small, wait_for_ever, NULL))
			refused++;
	if (refused)
		fprintf(stderr, "trouble: %zu threads refused\n", refused);
	forever();
}

/* Pages for ksmd: MiB, how many different contents. */
static void mergeable(char **arguments)
{
	size_t length = number(arguments[0]) * MIB, kinds = number(arguments[1]), at;
	char *memory = map(length, 0);

	madvise(memory, length, MADV_NOHUGEPAGE);
	for (at = 0; at < length; at += PAGE) {
		uint64_t state = 1 + (kinds ? at / PAGE % kinds : at / PAGE);

		next(&state);
		*(uint64_t *)(memory + at) = next(&state);
		*(uint64_t *)(memory + at + PAGE - 8) = state;
	}
	if (madvise(memory, length, MADV_MERGEABLE))
		fail("madvise");
	forever();
}

/* Memory of one node alone. */
static void bound(char **arguments)
{
	unsigned long nodes = 1ul << number(arguments[0]);

	if (syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &nodes, 64ul))
		fail("set_mempolicy");
	anon(arguments + 1);
}

/* Huge pages of which all but one small page is unmapped: the rest waits to be split. */
static void split(char **arguments)
{
	size_t length = number(arguments[0]) * MIB, at;
	char *memory = map(length + 2 * MIB, 0);

	memory = (char *)(((uintptr_t)memory + 2 * MIB - 1) & ~(2 * MIB - 1));
	madvise(memory, length, MADV_HUGEPAGE);
	for (at = 0; at < length; at += PAGE)
		memory[at] = 1;
	for (at = 0; at < length; at += 2 * MIB)
		madvise(memory + at + PAGE, 2 * MIB - PAGE, MADV_DONTNEED);
	forever();
}

/* Writes and waits for the disk, again and again. */
static void syncs(char **arguments)
{
	int file = open(arguments[0], O_CREAT | O_WRONLY, 0644);

	if (file < 0)
		fail(arguments[0]);
	memset(buffer, 'x', sizeof(buffer));
	for (;;) {
		if (pwrite(file, buffer, 4096, 0) < 0 || fsync(file))
			fail(arguments[0]);
	}
}

/*
 * Writes a file until that is refused, and then waits: a fault of this process at its group's limit
 * would be tried again for ever.
 */
static void writes(char **arguments)
{
	int file = open(arguments[0], O_CREAT | O_WRONLY, 0644);
	size_t left = number(arguments[1]);

	if (file < 0)
		fail(arguments[0]);
	spare_me();
	memset(buffer, 'x', sizeof(buffer));
	while (left && write(file, buffer, sizeof(buffer)) == (ssize_t)sizeof(buffer))
		left--;
	forever();
}

/* A file that is read again and again through a map: its pages are in use. */
static void reads(char **arguments)
{
	int file = open(arguments[0], O_RDONLY);
	struct stat status;
	volatile char sink;
	char *memory;
	off_t at;

	if (file < 0 || fstat(file, &status))
		fail(arguments[0]);
	memory = mmap(NULL, status.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (memory == MAP_FAILED)
		fail("mmap");
	for (;;)
		for (at = 0; at < status.st_size; at += PAGE)
			sink = memory[at];
	(void)sink;
}

static void limited(char **arguments)
{
	struct rlimit limit = { number(arguments[0]) * MIB, number(arguments[0]) * MIB };

	if (setrlimit(RLIMIT_AS, &limit))
		fail("setrlimit");
	promise(arguments + 1);
}

static const struct kind {
	const char *name;
	int arguments;
	void (*run)(char **);
} kinds[] = {
	{ "collect", 1, collect },
	{ "sample", 1, sample },
	{ "anon", 1, anon },
	{ "zeros", 1, zeros },
	{ "again", 2, again },
	{ "promise", 1, promise },
	{ "lock", 1, lock },
	{ "tables", 2, tables },
	{ "sparse", 1, sparse },
	{ "segment", 1, segment },
	{ "huge", 1, huge },
	{ "names", 2, names },
	{ "files", 2, files },
	{ "sockets", 1, sockets },
	{ "pipes", 1, pipes },
	{ "processes", 1, processes },
	{ "threads", 1, threads },
	{ "mergeable", 2, mergeable },
	{ "bound", 2, bound },
	{ "split", 1, split },
	{ "syncs", 1, syncs },
	{ "writes", 2, writes },
	{ "reads", 1, reads },
	{ "limited", 2, limited },
};

int main(int count, char **arguments)
{
	size_t i;

	adjust("0");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (count >= 2 && !strcmp(arguments[1], kinds[i].name) &&
		    count == 2 + kinds[i].arguments)
			kinds[i].run(arguments + 2);
	fprintf(stderr, "trouble: %s: no such kind, or not its arguments\n",
		count >= 2 ? arguments[1] : "nothing");
	return 2;
}

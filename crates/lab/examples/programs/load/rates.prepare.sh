# A program that uses 160 MiB of anonymous memory at known rates: 30 % of its pages, strewn evenly,
# by Zipf's law of exponent 0.9, 20,000 times a second; every second use writes. With a file it
# reads that by the same law, 500 times a second.
mkdir -p /var/rates /tmp
cd /var/rates
cat > rates.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGES = 40960, HOT = 12288, OF_FILE = 76800, A_SECOND = 20000 };

static double sums[OF_FILE];
static unsigned ranks = HOT;

static unsigned long draw(void) {
    static unsigned long state = 88172645463325252UL;
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static unsigned rank(void) {
    double at = (draw() >> 11) * 0x1p-53 * sums[ranks - 1];
    unsigned low = 0, high = ranks - 1;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (sums[middle] <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int main(int count, char **words) {
    long seconds = count > 1 ? atol(words[1]) : 1;
    int file = count > 2 ? open(words[2], O_RDONLY) : -1;
    long a_second = file < 0 ? A_SECOND : 500, burst = a_second / 100;
    char page[4096];
    size_t size = (size_t)PAGES * 4096;
    char *heap = NULL;
    if (file < 0) {
        heap = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(heap, size, MADV_NOHUGEPAGE);
        for (unsigned n = 0; n < PAGES; n++)
            heap[(size_t)n * 4096] = 1;
    } else {
        ranks = OF_FILE;
        posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM);
    }
    double sum = 0;
    for (unsigned n = 0; n < ranks; n++)
        sums[n] = sum += pow(n + 1, -0.9);
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long turn = 0; turn < seconds * 100; turn++) {
        for (long n = 0; n < burst; n++) {
            if (file >= 0) {
                sum += pread(file, page, 4096, (off_t)(rank() * 7919UL % OF_FILE) * 4096);
                continue;
            }
            char *at = heap + (size_t)(rank() * 2741UL % HOT * 10 / 3) * 4096;
            if (n % 2)
                at[8]++;
            else
                sum += *(volatile char *)at;
        }
        due.tv_nsec += 10000000;
        due.tv_sec += due.tv_nsec / 1000000000;
        due.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
    }
    return sum < 0;
}
END
gcc -O2 -o rates rates.c -lm
dd if=/dev/zero of=data bs=1M count=300 2> /dev/null

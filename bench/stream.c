/* How fast does C copy memory? A loop like STREAM's copy (its own code is not used), the same with non-temporal stores,
 * and the C library's memcpy, each by any number of threads over arrays of their own.
 *
 *   stream loop|nontemporal|memcpy THREADS SECONDS BYTES BLOCK
 *
 * BYTES is the length of the source over all threads together, BLOCK what memcpy copies in one call. Prints MB/s, a byte
 * copied counting once (STREAM prints twice as much), and MB for each second of processor time. Compile with
 * -O3 -march=native -fno-tree-loop-distribute-patterns, without which gcc makes the loop a call of memcpy.
 */
#define _GNU_SOURCE
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#if defined(__AVX512F__)
typedef __m512i vector;
#define STREAM _mm512_stream_si512
#elif defined(__AVX2__)
typedef __m256i vector;
#define STREAM _mm256_stream_si256
#else
typedef __m128i vector;
#define STREAM _mm_stream_si128
#endif

#define HUGE_PAGE ((size_t)2 << 20)

enum way { LOOP, NONTEMPORAL, MEMCPY };

struct part {
  pthread_t thread;
  enum way way;
  double seconds, began, ended, charged;
  size_t bytes, block, moved;
};

static pthread_barrier_t gate;

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static double *array(size_t bytes, double value) {
  size_t mapped = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
  double *array = aligned_alloc(HUGE_PAGE, mapped);
  if (!array) { perror("aligned_alloc"); exit(1); }
  madvise(array, mapped, MADV_HUGEPAGE);
  for (size_t i = 0; i < bytes / sizeof *array; i++) array[i] = value + i;
  return array;
}

__attribute__((noinline)) static void loop(double *restrict c, const double *restrict a, size_t count) {
  for (size_t i = 0; i < count; i++) c[i] = a[i];
}

__attribute__((noinline)) static void nontemporal(double *restrict c, const double *restrict a, size_t count) {
  vector *to = (vector *)c;
  const vector *from = (const vector *)a;
  for (size_t i = 0; i < count * sizeof *a / sizeof *to; i++) STREAM(to + i, from[i]);
  _mm_sfence();
}

static void *run(void *argument) {
  struct part *part = argument;
  double *a = array(part->bytes, 1), *c = array(part->bytes, 2);
  size_t block = part->way == MEMCPY ? part->block : part->bytes;
  pthread_barrier_wait(&gate);
  part->charged = -now(CLOCK_THREAD_CPUTIME_ID);
  part->began = part->ended = now(CLOCK_MONOTONIC);
  while (part->ended < part->began + part->seconds) {
    for (size_t at = 0; at + block <= part->bytes; at += block) {
      double *to = c + at / sizeof *c, *from = a + at / sizeof *a;
      if (part->way == LOOP) loop(to, from, block / sizeof *c);
      else if (part->way == NONTEMPORAL) nontemporal(to, from, block / sizeof *c);
      else memcpy(to, from, block);
      __asm__ volatile("" ::: "memory");
      part->moved += block;
    }
    part->ended = now(CLOCK_MONOTONIC);
  }
  part->charged += now(CLOCK_THREAD_CPUTIME_ID);
  return NULL;
}

int main(int count, char **words) {
  if (count != 6) { fprintf(stderr, "usage: stream loop|nontemporal|memcpy THREADS SECONDS BYTES BLOCK\n"); return 2; }
  enum way way = strcmp(words[1], "loop") == 0 ? LOOP : strcmp(words[1], "memcpy") == 0 ? MEMCPY : NONTEMPORAL;
  int threads = atoi(words[2]);
  size_t block = strtoull(words[5], NULL, 10), bytes = strtoull(words[4], NULL, 10) / threads / block * block;
  if (threads < 1 || bytes == 0) { fprintf(stderr, "stream: BYTES holds a block for each thread\n"); return 2; }
  struct part *parts = calloc(threads, sizeof *parts);
  pthread_barrier_init(&gate, NULL, threads);
  for (int i = 0; i < threads; i++) {
    parts[i] = (struct part){.way = way, .seconds = atof(words[3]), .bytes = bytes, .block = block};
    pthread_create(&parts[i].thread, NULL, run, &parts[i]);
  }
  double began = 1e300, ended = 0, moved = 0, charged = 0;
  for (int i = 0; i < threads; i++) {
    pthread_join(parts[i].thread, NULL);
    began = parts[i].began < began ? parts[i].began : began;
    ended = parts[i].ended > ended ? parts[i].ended : ended;
    moved += parts[i].moved;
    charged += parts[i].charged;
  }
  printf("%.1f %.1f\n", moved / (ended - began) / 1e6, moved / charged / 1e6);
  return 0;
}

/* How fast is the kernel's interface with nothing around it? The limit that the benchmarks compare with: raw system
 * calls, no latency, no histogram, no error counts, no time series.
 *
 *   bare nop DEPTH SECONDS                 io_uring no-ops
 *   bare ring FILE BS DEPTH SECONDS [rw]   random reads (or writes) over an io_uring, fixed buffers and file
 *   bare pread FILE BS SECONDS             random preads on one thread
 *
 * BS and the file's size are in bytes. A trailing `direct` opens the file past the page cache. It prints requests,
 * seconds and charged processor seconds. The clock is read once in 1024 rounds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Linux 6.6; headers may be older than the kernel. */
#define NO_SQARRAY (1U << 16)

static uint64_t state = 88172645463325252u;

static inline uint64_t next_random(void) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

static inline uint64_t next_offset(uint64_t blocks, uint64_t bs) {
  return (uint64_t)(((unsigned __int128)next_random() * blocks) >> 64) * bs;
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return now.tv_sec + now.tv_nsec / 1e9;
}

static double charged(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

static void need(int holds, const char *what) {
  if (!holds) {
    fprintf(stderr, "bare: %s: %s\n", what, strerror(errno));
    exit(2);
  }
}

struct ring {
  int fd;
  unsigned mask, cq_mask, tail, head;
  _Atomic unsigned *sq_tail, *cq_head, *cq_tail;
  struct io_uring_sqe *sqes;
  struct io_uring_cqe *cqes;
};

static struct ring ring_new(unsigned depth) {
  struct io_uring_params params = {0};
  const unsigned lean = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL;
  struct ring ring = {0};
  params.flags = lean | NO_SQARRAY;
  ring.fd = syscall(SYS_io_uring_setup, depth, &params);
  if (ring.fd < 0) {
    memset(&params, 0, sizeof params);
    params.flags = lean;
    ring.fd = syscall(SYS_io_uring_setup, depth, &params);
  }
  need(ring.fd >= 0, "io_uring_setup");
  size_t sq_bytes = params.sq_off.array + params.sq_entries * sizeof(unsigned);
  size_t cq_bytes = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
  size_t bytes = sq_bytes > cq_bytes ? sq_bytes : cq_bytes;
  char *rings = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQ_RING);
  ring.sqes = mmap(0, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_POPULATE, ring.fd, IORING_OFF_SQES);
  need(rings != MAP_FAILED && ring.sqes != MAP_FAILED, "mmap of the ring");
  unsigned *array = (unsigned *)(rings + params.sq_off.array);
  for (unsigned i = 0; i < params.sq_entries && !(params.flags & NO_SQARRAY); i++) array[i] = i;
  ring.mask = *(unsigned *)(rings + params.sq_off.ring_mask);
  ring.cq_mask = *(unsigned *)(rings + params.cq_off.ring_mask);
  ring.sq_tail = (_Atomic unsigned *)(rings + params.sq_off.tail);
  ring.cq_head = (_Atomic unsigned *)(rings + params.cq_off.head);
  ring.cq_tail = (_Atomic unsigned *)(rings + params.cq_off.tail);
  ring.cqes = (struct io_uring_cqe *)(rings + params.cq_off.cqes);
  return ring;
}

struct work {
  int opcode;
  uint64_t bs, blocks;
  char *buffers;
  size_t stride;
};

static inline void put(struct ring *ring, const struct work *work, unsigned slot) {
  struct io_uring_sqe *sqe = &ring->sqes[ring->tail++ & ring->mask];
  memset(sqe, 0, sizeof *sqe);
  sqe->opcode = work->opcode;
  sqe->user_data = slot;
  if (work->opcode == IORING_OP_NOP) return;
  sqe->flags = IOSQE_FIXED_FILE;
  sqe->addr = (uint64_t)(work->buffers + slot * work->stride);
  sqe->len = work->bs;
  sqe->buf_index = slot;
  sqe->off = next_offset(work->blocks, work->bs);
}

static uint64_t drive(struct ring *ring, const struct work *work, unsigned depth, double runtime) {
  uint64_t done = 0, rounds = 0;
  unsigned queued = depth, in_flight = depth;
  for (unsigned slot = 0; slot < depth; slot++) put(ring, work, slot);
  double end = seconds(CLOCK_MONOTONIC) + runtime;
  int open = 1;
  while (in_flight) {
    atomic_store_explicit(ring->sq_tail, ring->tail, memory_order_release);
    int taken = syscall(SYS_io_uring_enter, ring->fd, queued, 1, IORING_ENTER_GETEVENTS, 0, 0);
    need(taken >= 0 || errno == EINTR, "io_uring_enter");
    queued -= taken > 0 ? taken : 0;
    if (rounds++ % 1024 == 0) open = seconds(CLOCK_MONOTONIC) < end;
    unsigned tail = atomic_load_explicit(ring->cq_tail, memory_order_acquire);
    for (; ring->head != tail; ring->head++) {
      struct io_uring_cqe *cqe = &ring->cqes[ring->head & ring->cq_mask];
      errno = -cqe->res;
      need(cqe->res >= 0, "a request");
      done++;
      if (open) put(ring, work, cqe->user_data), queued++;
      else in_flight--;
    }
    atomic_store_explicit(ring->cq_head, ring->head, memory_order_release);
  }
  return done;
}

static char *buffers_new(unsigned count, size_t stride) {
  char *buffers = mmap(0, count * stride + (2 << 20), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  need(buffers != MAP_FAILED, "mmap of the buffers");
  buffers = (char *)(((uintptr_t)buffers + (2 << 20) - 1) & ~(uintptr_t)((2 << 20) - 1));
  madvise(buffers, count * stride, MADV_HUGEPAGE);
  for (size_t i = 0; i < count * stride; i += 8) *(uint64_t *)(buffers + i) = next_random();
  return buffers;
}

static uint64_t over_ring(int fd, struct work work, unsigned depth, double runtime, double *began, double *spent) {
  struct ring ring = ring_new(depth);
  if (work.opcode != IORING_OP_NOP) {
    struct iovec vectors[depth];
    for (unsigned i = 0; i < depth; i++) vectors[i] = (struct iovec){work.buffers + i * work.stride, work.bs};
    need(!syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_BUFFERS, vectors, depth), "registering buffers");
    need(!syscall(SYS_io_uring_register, ring.fd, IORING_REGISTER_FILES, &fd, 1), "registering the file");
  }
  *began = seconds(CLOCK_MONOTONIC);
  *spent = charged();
  return drive(&ring, &work, depth, runtime);
}

static uint64_t over_pread(int fd, struct work work, double runtime) {
  uint64_t done = 0;
  double end = seconds(CLOCK_MONOTONIC) + runtime;
  while (done % 1024 || seconds(CLOCK_MONOTONIC) < end) {
    need(pread(fd, work.buffers, work.bs, next_offset(work.blocks, work.bs)) == (ssize_t)work.bs, "pread");
    done++;
  }
  return done;
}

int main(int count, char **words) {
  int direct = count > 1 && !strcmp(words[count - 1], "direct");
  count -= direct;
  const char *mode = count > 1 ? words[1] : "";
  double began = seconds(CLOCK_MONOTONIC), spent = charged();
  uint64_t done;
  if (!strcmp(mode, "nop") && count == 4) {
    struct work work = {.opcode = IORING_OP_NOP};
    done = over_ring(-1, work, atoi(words[2]), atof(words[3]), &began, &spent);
  } else if ((!strcmp(mode, "ring") && (count == 6 || count == 7)) || (!strcmp(mode, "pread") && count == 5)) {
    int writes = count == 7 && !strcmp(words[6], "write"), rings = *mode == 'r';
    int fd = open(words[2], (writes ? O_RDWR : O_RDONLY) | (direct ? O_DIRECT : 0));
    struct stat stat;
    need(fd >= 0 && !fstat(fd, &stat), words[2]);
    struct work work = {.opcode = writes ? IORING_OP_WRITE_FIXED : IORING_OP_READ_FIXED, .bs = atol(words[3])};
    work.blocks = stat.st_size / work.bs;
    work.stride = (work.bs + 4095) & ~4095ul;
    work.buffers = buffers_new(rings ? atoi(words[4]) : 1, work.stride);
    if (rings) done = over_ring(fd, work, atoi(words[4]), atof(words[5]), &began, &spent);
    else began = seconds(CLOCK_MONOTONIC), spent = charged(), done = over_pread(fd, work, atof(words[4]));
  } else {
    fprintf(stderr, "bare: nop DEPTH SECONDS | ring FILE BS DEPTH SECONDS [write] [direct] | pread FILE BS SECONDS\n");
    return 2;
  }
  printf("%lu %.9f %.9f\n", done, seconds(CLOCK_MONOTONIC) - began, charged() - spent);
  return 0;
}

/*
 * Records what a process does to the files of one directory, in order: every write, truncation,
 * creation, deletion and flush. Preloaded into the process under test (LD_PRELOAD).
 *
 * Environment: POWER_DIR, the directory; POWER_LOG, the file to record into, outside of it.
 * SQLite's shared-memory file (-shm) is not recorded, because its contents do not outlive the
 * processes that use it.
 *
 * It can also be a failing disk: with POWER_FAIL_ONE_IN=n and POWER_FAIL_FROM, one of n writes,
 * truncations and flushes fails with EIO. POWER_FAIL_FROM names a file: failures start when it is
 * opened, and calls on it never fail.
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WRITE = 1, TRUNCATE, SYNC, CREATE, UNLINK, SYNC_DIRECTORY, NAME, FAILED_SYNC };

struct header {
  int32_t type;
  int32_t name;
  int64_t offset;
  int64_t length;
};

#define MAX_FILES 65536
#define MAX_NAMES 1024
/* Number of the file's name plus one, by descriptor; DIRECTORY for the directory itself. */
static int names_of[MAX_FILES];
#define DIRECTORY (-1)
static char *names[MAX_NAMES];
static int name_count;
static int log_fd = -1;
static int fail_one_in;
/* Number of the file named by POWER_FAIL_FROM; -1 until it is opened. */
static int fail_from = -1;
static uint32_t chance = 2463534242u;
static char directory[PATH_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void put(const void *bytes, size_t length) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = REAL(write);
  for (const char *at = bytes; length > 0;) {
    ssize_t done = real(log_fd, at, length);
    if (done <= 0) abort();
    at += done;
    length -= (size_t)done;
  }
}

static void record(int type, int name, int64_t offset, const void *bytes, int64_t length) {
  struct header header = {type, name, offset, length};
  put(&header, sizeof header);
  if (bytes) put(bytes, (size_t)length);
}

static void start(void) {
  if (log_fd >= 0) return;
  const char *path = getenv("POWER_LOG");
  const char *watched = getenv("POWER_DIR");
  if (!path || !watched || !realpath(watched, directory)) abort();
  log_fd = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log_fd < 0) abort();
  const char *one_in = getenv("POWER_FAIL_ONE_IN");
  fail_one_in = one_in ? atoi(one_in) : 0;
}

/* Whether the disk fails this call on a file (xorshift, so that a run can be repeated). */
static int fails(int name) {
  if (fail_one_in == 0 || fail_from < 0 || name == fail_from) return 0;
  chance ^= chance << 13;
  chance ^= chance >> 17;
  chance ^= chance << 5;
  return chance % (uint32_t)fail_one_in == 0;
}

/* The name of a file within the directory, "" for the directory; NULL for -shm and other paths. */
static const char *name_within(const char *path) {
  size_t length = strlen(directory);
  if (strncmp(path, directory, length) != 0) return NULL;
  if (path[length] == '\0') return path + length;
  if (path[length] != '/') return NULL;
  const char *name = path + length + 1;
  size_t of_name = strlen(name);
  if (of_name > 4 && strcmp(name + of_name - 4, "-shm") == 0) return NULL;
  return name;
}

static int number_of(const char *name) {
  for (int i = 0; i < name_count; i += 1)
    if (strcmp(names[i], name) == 0) return i;
  if (name_count == MAX_NAMES) abort();
  names[name_count] = strdup(name);
  record(NAME, name_count, 0, name, (int64_t)strlen(name));
  return name_count++;
}

static int opened(const char *path, int flags, int fd, int existed) {
  const char *name = fd < 0 || fd >= MAX_FILES ? NULL : name_within(path);
  if (!name) return fd;
  if (*name == '\0') {
    names_of[fd] = DIRECTORY;
    return fd;
  }
  int number = number_of(name);
  names_of[fd] = number + 1;
  const char *from = getenv("POWER_FAIL_FROM");
  if (from && strcmp(name, from) == 0) fail_from = number;
  if (!existed) record(CREATE, number, 0, NULL, 0);
  else if (flags & O_TRUNC) record(TRUNCATE, number, 0, NULL, 0);
  return fd;
}

static int open_with(const char *which, int dir, const char *path, int flags, mode_t mode) {
  pthread_mutex_lock(&lock);
  start();
  struct stat found;
  int existed = stat(path, &found) == 0;
  int fd;
  if (strncmp(which, "openat", 6) == 0) {
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, which);
    fd = real(dir, path, flags, mode);
  } else {
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, which);
    fd = real(path, flags, mode);
  }
  fd = opened(path, flags, fd, existed);
  pthread_mutex_unlock(&lock);
  return fd;
}

#define MODE(flags)                         \
  mode_t mode = 0;                          \
  if ((flags) & (O_CREAT | __O_TMPFILE)) {  \
    va_list rest;                           \
    va_start(rest, flags);                  \
    mode = va_arg(rest, mode_t);            \
    va_end(rest);                           \
  }

int open(const char *path, int flags, ...) {
  MODE(flags)
  return open_with("open", 0, path, flags, mode);
}
int open64(const char *path, int flags, ...) {
  MODE(flags)
  return open_with("open64", 0, path, flags, mode);
}
int openat(int dir, const char *path, int flags, ...) {
  MODE(flags)
  return open_with("openat", dir, path, flags, mode);
}
int openat64(int dir, const char *path, int flags, ...) {
  MODE(flags)
  return open_with("openat64", dir, path, flags, mode);
}

int close(int fd) {
  pthread_mutex_lock(&lock);
  if (fd >= 0 && fd < MAX_FILES) names_of[fd] = 0;
  int result = REAL(close)(fd);
  pthread_mutex_unlock(&lock);
  return result;
}

/*
 * libuv closes files with this. If such a close were missed, the descriptor could be reused for a
 * socket, whose writes would then be recorded as those of the file.
 */
long syscall(long number, ...) {
  va_list rest;
  long values[6];
  va_start(rest, number);
  for (int i = 0; i < 6; i += 1) values[i] = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_close) return close((int)values[0]);
  static long (*real)(long, ...);
  if (!real) real = REAL(syscall);
  return real(number, values[0], values[1], values[2], values[3], values[4], values[5]);
}

static int name_of(int fd) {
  return fd >= 0 && fd < MAX_FILES ? names_of[fd] : 0;
}

/* The call and its record are made under one lock, so that the records are in the calls' order. */
#define RECORDED(type, result, fd, act, is_done, offset, bytes, length)             \
  int number = name_of(fd);                                                         \
  if (number == 0) return act;                                                      \
  pthread_mutex_lock(&lock);                                                        \
  if (number > 0 && fails(number - 1)) {                                            \
    if (type == SYNC) record(FAILED_SYNC, number - 1, 0, NULL, 0);                  \
    pthread_mutex_unlock(&lock);                                                    \
    errno = EIO;                                                                    \
    return -1;                                                                      \
  }                                                                                 \
  int64_t at = offset;                                                              \
  result done = act;                                                                \
  if (number > 0 && (is_done)) record(type, number - 1, at, bytes, (int64_t)(length)); \
  if (number == DIRECTORY && type == SYNC) record(SYNC_DIRECTORY, 0, 0, NULL, 0);   \
  pthread_mutex_unlock(&lock);                                                      \
  return done;

ssize_t write(int fd, const void *bytes, size_t length) {
  RECORDED(WRITE, ssize_t, fd, REAL(write)(fd, bytes, length), done > 0,
           lseek(fd, 0, SEEK_CUR), bytes, done)
}
ssize_t pwrite(int fd, const void *bytes, size_t length, off_t offset) {
  RECORDED(WRITE, ssize_t, fd, REAL(pwrite)(fd, bytes, length, offset), done > 0, offset, bytes, done)
}
ssize_t pwrite64(int fd, const void *bytes, size_t length, off64_t offset) {
  RECORDED(WRITE, ssize_t, fd, REAL(pwrite64)(fd, bytes, length, offset), done > 0, offset, bytes, done)
}
int ftruncate(int fd, off_t length) {
  RECORDED(TRUNCATE, int, fd, REAL(ftruncate)(fd, length), done == 0, length, NULL, 0)
}
int ftruncate64(int fd, off64_t length) {
  RECORDED(TRUNCATE, int, fd, REAL(ftruncate64)(fd, length), done == 0, length, NULL, 0)
}
int fsync(int fd) {
  RECORDED(SYNC, int, fd, REAL(fsync)(fd), done == 0, 0, NULL, 0)
}
int fdatasync(int fd) {
  RECORDED(SYNC, int, fd, REAL(fdatasync)(fd), done == 0, 0, NULL, 0)
}

/* Abort on calls that change a file in a way that this recorder does not support. */
ssize_t writev(int fd, const struct iovec *parts, int count) {
  if (name_of(fd) > 0) abort();
  return REAL(writev)(fd, parts, count);
}
ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset) {
  if (name_of(fd) > 0) abort();
  return REAL(pwritev)(fd, parts, count, offset);
}

int unlink(const char *path) {
  pthread_mutex_lock(&lock);
  start();
  const char *name = name_within(path);
  int result = REAL(unlink)(path);
  if (name && *name && result == 0) record(UNLINK, number_of(name), 0, NULL, 0);
  pthread_mutex_unlock(&lock);
  return result;
}

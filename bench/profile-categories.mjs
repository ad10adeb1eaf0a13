/** What a sample of a profile counts for. */

/** Work that is told apart whoever calls for it, by the names of functions on the stack. */
/** @type {readonly [name: string, pattern: RegExp][]} */
const SLICES = [
  [
    'garbage collection',
    /^v8::internal::(?:Heap::CollectGarbage|Scavenger|ConcurrentMarking|Sweeper|ArrayBufferSweeper|MarkingVisitor|MinorGCJob|IncrementalMarking)/,
  ],
  [
    'compiling',
    /^v8::internal::(?:compiler|maglev|OptimizingCompile|Compiler|baseline|interpreter::Interpreter)/,
  ],
  ['messages between threads', /^(?:node::worker::Message|v8::Value(?:Des|S)erializer)/],
  ['kernel: fsync', /^(?:__x64_sys_f(?:data)?sync|do_fsync)/],
  ['kernel: files', /^(?:ext4_|vfs_fsync|__x64_sys_p(?:read|write)64|generic_perform_write)/],
  ['kernel: sending on sockets', /^(?:tcp_sendmsg|sock_write_iter)/],
  ['kernel: reading from sockets', /^(?:tcp_recvmsg|sock_read_iter)/],
  ['kernel: waiting for sockets', /^(?:__x64_sys_epoll|do_epoll|ep_poll)/],
  ['kernel: waking threads', /^(?:__x64_sys_futex|do_futex)/],
  [
    'SQLite: commit',
    /^(?:sqlite3VdbeHalt|sqlite3PagerCommitPhaseOne|pagerWalFrames|sqlite3WalFrames)/,
  ],
  ['SQLite: checkpoint', /^sqlite3WalCheckpoint|^walCheckpoint/],
  ['SQLite: statements', /^sqlite3(?:VdbeExec|Step|_step|LockAndPrepare)/],
  ['SQLite: values from and to JavaScript', /^node::sqlite::/],
  ['kernel: other', /^(?:entry_SYSCALL_64|asm_|do_syscall_64|irqentry|ret_from_fork)/],
];

/** @param stack - names of functions, the innermost first */
export function sliceOf(stack) {
  return SLICES.find(([, pattern]) => stack.some((name) => pattern.test(name)))?.[0];
}

/** @type {readonly [name: string, pattern: RegExp][]} */
const CATEGORIES = [
  ['the gateway itself', /apps\/gateway\/dist\//],
  ['translator', /packages\/translator\//],
  ['billing', /packages\/billing\//],
  ['rate limiter', /packages\/rate-limiter\//],
  ['balance store', /packages\/balance-store\//],
  ["WebAssembly: undici's parser", /^wasm:/],
  ['the bare proxies', /bench\/proxies\//],
  [
    'Express',
    /node_modules\/(express|router|body-parser|qs|finalhandler|send|parseurl|proxy-addr|path-to-regexp|depd|debug|on-finished|etag|fresh|vary|accepts|type-is)\//,
  ],
  ['undici', /node_modules\/undici\/|internal\/deps\/undici/],
  [
    'logging',
    /node_modules\/(pino|sonic-boom|pino-std-serializers|quick-format-unescaped|safe-stable-stringify)\//,
  ],
  ['metrics', /node_modules\/(prom-client|tdigest|bintrees)\//],
  ['Redis client', /node_modules\/(ioredis|@ioredis|redis-parser|denque|standard-as-callback)\//],
  ['PostgreSQL client', /node_modules\/(pg|pg-[\w]+|postgres-[\w]+)\/|@prisma/],
  ['zod', /node_modules\/zod\//],
  ['other packages', /node_modules\//],
];

/** The category of a function is that of the first pattern that its file matches. */
export function categoryOf({ url }) {
  return CATEGORIES.find(([, pattern]) => pattern.test(url))?.[0] ?? 'other';
}

/**
 * Whether the time of a function counts for its caller: one that runs the ledger's statements, as
 * a caller that is told apart says which statement it was.
 */
export function isTransparent({ functionName, url }) {
  return /packages\/balance-store\//.test(url) && /^(run|get|all|prepare)$/.test(functionName);
}

/** The category of a function in a profile is that of the first pattern that its file matches. */

const NATIVE = 'native code: sockets, parser, JSON, strings';
const COLLECTOR = 'garbage collection';
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
  ['Node: HTTP', /^node:(_http|http|internal\/http)/],
  [
    'Node: sockets and streams',
    /^node:(net|stream|internal\/(streams|stream_base|net|js_stream|tls))/,
  ],
  [
    'Node: timers, promises, events',
    /^node:(events|timers|internal\/(timers|process|async|event|util|errors|abort))/,
  ],
  ['Node: other', /^node:/],
];

export function categoryOf({ functionName, url }) {
  if (functionName === '(garbage collector)') return COLLECTOR;
  if (url === '') return NATIVE;
  const [name] = CATEGORIES.find(([, pattern]) => pattern.test(url)) ?? ['other'];
  return name;
}

/** Whether the category is Node's own code, native code or garbage collection. */
export function isRuntime(category) {
  return category.startsWith('Node: ') || category === NATIVE || category === COLLECTOR;
}

/**
 * Whether the time of a function counts for its caller: one that runs the ledger's statements, as
 * a caller that is told apart says which statement it was.
 */
export function isTransparent({ functionName, url }) {
  return /packages\/balance-store\//.test(url) && /^(run|get|all|prepare)$/.test(functionName);
}

/** The end of the file's path, and the line. */
export function placeOf({ url, lineNumber }) {
  if (url === '') return '';
  return `${url.split('/').slice(-3).join('/')}:${lineNumber + 1}`;
}

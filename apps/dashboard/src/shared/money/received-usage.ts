/** Reads the responses or usage objects that an SDK received, in any of the three formats. */

export interface TokenSums {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface ReceivedUsage {
  /** The id of the request, or that of the message without the prefix of its format. */
  readonly id: string;
  /** The id as it was given. */
  readonly givenId: string;
  readonly tokens: TokenSums;
}

export interface Received {
  readonly usages: readonly ReceivedUsage[];
  /** Each names the line or item that could not be read, and why. */
  readonly problems: readonly string[];
}

/**
 * @param text - A JSON object, an array of them, or one object per line.
 * @param requestId - Given if the objects are of one request: its id, or '' if it is not known yet.
 * Then only ids of requests count. An object's `id` is mostly that of a message.
 */
export function readReceived(text: string, requestId?: string): Received {
  const usages: ReceivedUsage[] = [];
  const problems: string[] = [];
  for (const { number, item } of itemsOf(text)) {
    const reading = usageOf(item, requestId);
    if (typeof reading === 'string') problems.push(`${String(number)}: ${reading}`);
    else usages.push(reading);
  }
  return { usages, problems };
}

/** The id without the prefix of a format: `msg_1`, `chatcmpl-msg_1` and `resp_1` are all `1`. */
export function bareId(id: string): string {
  return id.replace(/^chatcmpl-/, '').replace(/^(msg|resp)_/, '');
}

interface Item {
  /** The number of the line or of the array's item, from 1 on. */
  readonly number: number;
  readonly item: unknown;
}

function itemsOf(text: string): readonly Item[] {
  const whole = jsonOf(text);
  if (whole !== undefined) {
    const items: readonly unknown[] = Array.isArray(whole) ? whole : [whole];
    return items.map((item, index) => ({ number: index + 1, item }));
  }
  return text
    .split('\n')
    .map((line, index) => ({ number: index + 1, line }))
    .filter(({ line }) => line.trim() !== '')
    .map(({ number, line }) => ({ number, item: jsonOf(line) }));
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type Members = Readonly<Record<string, unknown>>;

function usageOf(item: unknown, requestId: string | undefined): ReceivedUsage | string {
  if (!isObject(item)) return 'is not a JSON object';
  const { request_id: given, id: own } = item;
  const ids = requestId === undefined ? [given, own] : [given, requestId, requestIdOf(own)];
  const id = ids.find((value) => typeof value === 'string' && value !== '');
  if (typeof id !== 'string') {
    return requestId === undefined ? 'has neither id nor request_id' : 'has no id of a request';
  }
  const usage = isObject(item['usage']) ? item['usage'] : item;
  const tokens = tokensOf(usage);
  if (tokens === undefined) return 'has no usage with token counts';
  return { id: bareId(id), givenId: id, tokens };
}

function requestIdOf(id: unknown): string | undefined {
  return typeof id === 'string' && id.startsWith('req_') ? id : undefined;
}

function tokensOf(usage: Members): TokenSums | undefined {
  const isChat = 'prompt_tokens' in usage;
  const prompt = countOf(usage, isChat ? 'prompt_tokens' : 'input_tokens');
  const output = countOf(usage, isChat ? 'completion_tokens' : 'output_tokens');
  if (prompt === undefined || output === undefined) return undefined;
  const details = usage[isChat ? 'prompt_tokens_details' : 'input_tokens_details'];
  if (!isChat && details === undefined) {
    return {
      input: prompt,
      output,
      cacheRead: countOf(usage, 'cache_read_input_tokens') ?? 0,
      cacheWrite: countOf(usage, 'cache_creation_input_tokens') ?? 0,
    };
  }
  // In these formats the prompt's count includes its cached tokens. They have rates of their own,
  // so they are counted separately.
  const parts = isObject(details) ? details : {};
  const cacheRead = countOf(parts, 'cached_tokens') ?? 0;
  const cacheWrite = countOf(parts, 'cache_write_tokens') ?? 0;
  return { input: prompt - cacheRead - cacheWrite, output, cacheRead, cacheWrite };
}

function countOf(members: Members, name: string): number | undefined {
  const value = members[name];
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

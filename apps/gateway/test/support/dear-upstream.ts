/**
 * An upstream that reads each request as dearly as any reader could: of a repeated member it uses
 * every value. It answers with the most that the request can use, and notes what a gateway that
 * allows nothing should never have sent. It shares no code with the gateway's own reading.
 */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Members } from './json-writings.js';

export interface DearUpstream {
  readonly url: string;
  /** Forbidden members that arrived, with their bodies. */
  readonly smuggled: readonly string[];
  /** Answers so far. */
  served(): number;
  close(): Promise<void>;
}

const WINDOW = 200_000;
const MOST_SAMPLINGS = 10;
const FREE_FORM = ['input', 'input_schema', 'input_examples', 'schema', 'caller', 'trigger'];
const HARMLESS_TOOLS = /^(custom|function|(bash|text_editor|computer|memory|web_fetch)_\d{8})$/;
const FREE_SEARCH = /^tool_search_tool_(bm25|regex)(_\d{8})?$/;

export async function startDearUpstream(): Promise<DearUpstream> {
  const smuggled: string[] = [];
  let served = 0;
  const server = createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      res.setHeader('content-type', 'application/json');
      if (req.method === 'GET') {
        res.end('{"data":[]}');
        return;
      }
      const text = Buffer.concat(chunks).toString();
      const reading = readDearly(text);
      smuggled.push(...reading.forbidden.map((what) => `${what}: ${text.slice(0, 2_000)}`));
      served += 1;
      const usage = {
        input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: reading.promptTokens,
        output_tokens: reading.outputTokens,
      };
      const content = [{ type: 'text', text: 'x' }];
      const message = { type: 'message', role: 'assistant', model: reading.model, content };
      const end = { stop_reason: 'end_turn', stop_sequence: null, usage };
      const answer = { id: `msg_${String(served)}`, ...message, ...end };
      const isCount = req.url?.includes('count_tokens') === true;
      res.end(JSON.stringify(isCount ? { input_tokens: 1 } : answer));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    smuggled,
    served: () => served,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function readDearly(text: string) {
  const forbidden: string[] = [];
  const limits = [0];
  let model = '';
  let samplings = 1;
  let images = 0;
  let hasPages = false;
  const root = readJson(text) as Members;

  const judge = ([name, value]: readonly [string, unknown]): void => {
    if (value === null) return;
    const isEmpty = Array.isArray(value) && value.length === 0;
    const isNeutral =
      (['fallbacks', 'mcp_servers'].includes(name) && isEmpty) ||
      (name === 'inference_geo' && value === 'global') ||
      (name === 'speed' && value === 'standard') ||
      (name === 'service_tier' && ['auto', 'standard_only'].includes(value as string)) ||
      (name === 'billing_policy' && isBilledToSelf(value));
    if (!isNeutral) forbidden.push(name);
  };
  const visit = (value: unknown, of: string): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, of);
    if (!(value instanceof Members)) return;
    const types = value.list.flatMap(([name, type]) => (name === 'type' ? [type] : []));
    const texts = types.filter((type) => typeof type === 'string');
    if (of === 'tools' || of === 'definition') {
      if (types.some((type) => type !== null && typeof type !== 'string')) forbidden.push('type');
      for (const type of texts) {
        if (FREE_SEARCH.test(type) || type.startsWith('web_fetch')) {
          samplings = MOST_SAMPLINGS;
        } else if (!HARMLESS_TOOLS.test(type)) forbidden.push(`tool ${type}`);
      }
    }
    if (texts.some((type) => /^(file|container_upload|compact_.*)$/.test(type))) {
      forbidden.push('type');
    }
    if (types.includes('image')) images += 1;
    if (types.includes('document')) {
      const sources = value.list.filter(([name]) => name === 'source').map(([, source]) => source);
      const isPlain = (source: unknown): boolean =>
        source instanceof Members &&
        source.list.some(([name]) => name === 'type') &&
        source.list.every(([name, type]) => name !== 'type' || type === 'text');
      if (sources.length === 0 || !sources.every(isPlain)) hasPages = true;
    }
    for (const [name, member] of value.list) {
      if (['file_id', 'previous_message_id'].includes(name) && member !== null)
        forbidden.push(name);
      const isRated = ['speed', 'service_tier', 'inference_geo', 'container'].includes(name);
      if (isRated && typeof member === 'string') judge([name, member]);
      if (!FREE_FORM.includes(name)) visit(member, name);
    }
  };
  const JUDGED =
    /^(workspace_id|user_profile_id|billing_policy|fallbacks|mcp_servers|compaction|inference_geo|container|speed|service_tier|thread)$/;
  for (const [name, value] of root.list) {
    if (name === 'max_tokens') limits.push(Number(value));
    if (name === 'model') model = String(value);
    if (JUDGED.test(name)) judge([name, value]);
    if (name !== 'metadata' && name !== 'tool_choice') visit(value, name);
  }
  if (forbidden.length > 0) samplings = MOST_SAMPLINGS;
  const isWhole = hasPages || samplings > 1;
  const counted = text.length + 1_900 + images * 4_900;
  return {
    model,
    forbidden,
    promptTokens: samplings * (isWhole ? WINDOW : Math.min(WINDOW, counted)),
    outputTokens: samplings * Math.max(...limits),
  };
}

function isBilledToSelf(value: unknown): boolean {
  if (!(value instanceof Members)) return false;
  return (
    value.list.length > 0 && value.list.every(([name, to]) => name === 'bill_to' && to === 'self')
  );
}

/** Reads valid JSON. Objects keep all their members. */
function readJson(text: string): unknown {
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gs) ?? [];
  let at = 0;
  const read = (): unknown => {
    const token = tokens[at++]!;
    if (token !== '{' && token !== '[') return JSON.parse(token);
    const close = token === '{' ? '}' : ']';
    const members: [string, unknown][] = [];
    const items: unknown[] = [];
    while (tokens[at] !== close) {
      if (tokens[at] === ',') at += 1;
      if (token === '[') {
        items.push(read());
      } else {
        const name = read() as string;
        at += 1;
        members.push([name, read()]);
      }
    }
    at += 1;
    return token === '{' ? new Members(members) : items;
  };
  return read();
}

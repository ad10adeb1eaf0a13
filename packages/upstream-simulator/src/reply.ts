/**
 * Makes the reply to a request from the request alone. The same request gets the same text, the
 * same tool calls and, apart from cache writes and reads, the same usage.
 */

import { createHash } from 'node:crypto';
import type { ContentBlock, JsonObject, MessageUsage } from './message/message.js';
import type { PromptCache } from './prompt-cache.js';
import { CHARS_PER_TOKEN, asArray, asObject, isObject, tokensOf } from './message/message.js';
import { THINKING_BY_DEFAULT } from './models/models.js';
import { outputSchemaOf } from './schemas/output-format.js';
import { promptedInput } from './message/prompted-input.js';
import { sampleOf } from './schemas/schema-sample.js';

const SEARCHED_ONCE = { web_search_requests: 1, web_fetch_requests: 0 };

export interface Reply {
  readonly content: readonly ContentBlock[];
  readonly stopReason: string;
  readonly stopSequence: string | null;
  readonly stopDetails: JsonObject | null;
  readonly usage: MessageUsage;
}

/**
 * @param cache - Stores prompt prefixes between requests, like the real API.
 * @param signature - The signature of the reply's thinking.
 */
export function composeReply(request: JsonObject, cache: PromptCache, signature: string): Reply {
  const prompt = cache.account(request);
  const thinking = thinkingBlocks(request, signature);
  const calls = toolCalls(request);
  const budget = Number(request['max_tokens']);
  const search = calls.length > 0 ? undefined : searchBlocks(request);
  const text = calls.length > 0 ? textBeforeCalls(request) : answerText(request);
  const stopped = stopAt(text, asArray(request['stop_sequences']).map(String));
  const thinkingTokens = thinking.length === 0 ? 0 : 12;
  const callTokens = calls.reduce((sum, call) => sum + tokensOf(JSON.stringify(call)), 0);
  const textTokens = Math.max(1, tokensOf(stopped.text));
  const isCut = thinkingTokens + textTokens + callTokens > budget;
  const shownText = isCut
    ? stopped.text.slice(0, Math.max(0, (budget - thinkingTokens) * CHARS_PER_TOKEN))
    : stopped.text;
  const blocks: ContentBlock[] = [
    ...thinking,
    ...(isCut ? [] : (search ?? [])),
    ...(shownText === '' ? [] : [{ type: 'text', text: shownText }]),
    ...(isCut ? [] : calls),
  ];
  return {
    content: budget === 0 ? [] : blocks,
    stopReason: isCut
      ? 'max_tokens'
      : calls.length > 0
        ? 'tool_use'
        : stopped.sequence === null
          ? 'end_turn'
          : 'stop_sequence',
    stopSequence: isCut ? null : stopped.sequence,
    stopDetails: null,
    usage: {
      ...prompt,
      output_tokens: isCut ? budget : thinkingTokens + textTokens + callTokens,
      output_tokens_details: { thinking_tokens: Math.min(thinkingTokens, budget) },
      ...(search === undefined ? {} : { server_tool_use: SEARCHED_ONCE }),
    },
  };
}

/** Makes an id from its parts: the same parts give the same id. */
export function idOf(prefix: string, ...parts: readonly string[]): string {
  const digest = createHash('sha256').update(parts.join('\0')).digest('base64url');
  return `${prefix}_01${digest.replace(/[-_]/g, 'x').slice(0, 22)}`;
}

function thinkingBlocks(request: JsonObject, signature: string): ContentBlock[] {
  const { type, display } = asObject(request['thinking'] ?? defaultThinking(request));
  if (type !== 'enabled' && type !== 'adaptive') return [];
  const thinking = display === 'omitted' ? '' : 'The user wants an answer. I will give one.';
  return [{ type: 'thinking', thinking, signature }];
}

/** No model thinks before a forced call. */
function defaultThinking(request: JsonObject): JsonObject | undefined {
  const thinks = THINKING_BY_DEFAULT.has(String(request['model'])) && !isForced(request);
  return thinks ? { type: 'adaptive', display: 'omitted' } : undefined;
}

function isForced(request: JsonObject): boolean {
  return ['any', 'tool'].includes(String(asObject(request['tool_choice'])['type']));
}

const FOUND = { title: 'The simulated web', url: 'https://example.org/' };

/** A search of the web and a cited text, if the tool is offered and the user asks to search. */
function searchBlocks(request: JsonObject): ContentBlock[] | undefined {
  const isOffered = asArray(request['tools']).some((tool) =>
    String(asObject(tool)['type']).startsWith('web_search_'),
  );
  const query = lastUserText(request);
  if (!isOffered || !/\bsearch\b/i.test(query)) return undefined;
  const id = idOf('srvtoolu', query);
  const result = { type: 'web_search_result', ...FOUND, encrypted_content: 'c2lt', page_age: null };
  const citation = {
    type: 'web_search_result_location',
    cited_text: 'simulated',
    encrypted_index: 'c2lt',
    ...FOUND,
  };
  return [
    { type: 'server_tool_use', id, name: 'web_search', input: { query } },
    { type: 'web_search_tool_result', tool_use_id: id, content: [result] },
    { type: 'text', text: 'The web is simulated. ', citations: [citation] },
  ];
}

/** Empty if the text must be JSON. */
function textBeforeCalls(request: JsonObject): string {
  return outputSchemaOf(request) === undefined ? 'Let me look that up.' : '';
}

function answerText(request: JsonObject): string {
  const schema = outputSchemaOf(request);
  if (schema !== undefined) return JSON.stringify(sampleOf(schema) ?? null);
  if (wantsJson(request)) return '{"answer":"simulated","ok":true}';
  const results = lastToolResults(request);
  if (results.length > 0) return `The tool said: ${results.join('; ')}`;
  const asked = lastUserText(request);
  const shown = asked.length > 80 ? `${asked.slice(0, 80)}…` : asked;
  return (
    `This is the upstream simulator, not a model. You said: "${shown}". ` +
    'It answers every request in the format of the real API, and counts tokens as if they cost money.'
  );
}

/** Whether the system prompt demands JSON, or a system message for this reply does. */
function wantsJson({ system, messages }: JsonObject): boolean {
  const last = asObject(asArray(messages).at(-1));
  const prompts = [system, last['role'] === 'system' ? last['content'] : undefined];
  return prompts.some((prompt) =>
    /\bJSON object\b/.test(typeof prompt === 'string' ? prompt : JSON.stringify(prompt ?? '')),
  );
}

/** Calls a tool if the request forces it or the user's last text contains its name. */
function toolCalls(request: JsonObject): ContentBlock[] {
  const tools = asArray(request['tools'])
    .map(asObject)
    .filter((tool) => isObject(tool['input_schema']));
  const isAnswered = lastToolResults(request).length > 0 && !isForced(request);
  if (tools.length === 0 || isAnswered) return [];
  const choice = asObject(request['tool_choice']);
  const asked = lastUserText(request);
  const named = tools.filter((tool) => asked.includes(String(tool['name'])));
  // A client that forces some call after each result waits for another tool, such as its answer's.
  const called = calledTools(request);
  const first = tools.find((tool) => !called.has(String(tool['name']))) ?? tools[0];
  const chosen =
    choice['type'] === 'none'
      ? []
      : choice['type'] === 'tool'
        ? tools.filter((tool) => tool['name'] === choice['name'])
        : named.length === 0 && choice['type'] === 'any' && first !== undefined
          ? [first]
          : named;
  const allowed = choice['disable_parallel_tool_use'] === true ? chosen.slice(0, 1) : chosen;
  return allowed.map((tool, index) => ({
    type: 'tool_use',
    id: idOf('toolu', String(tool['name']), String(index), asked),
    name: String(tool['name']),
    input:
      promptedInput(asked, String(tool['name'])) ??
      asObject(sampleOf(asObject(tool['input_schema']))),
    caller: { type: 'direct' },
  }));
}

function calledTools(request: JsonObject): ReadonlySet<string> {
  const blocks = asArray(request['messages']).flatMap((message) =>
    asArray(asObject(message)['content']).map(asObject),
  );
  return new Set(blocks.filter(({ type }) => type === 'tool_use').map(({ name }) => String(name)));
}

export function lastUserText(request: JsonObject): string {
  const messages = asArray(request['messages']).map(asObject);
  const last = messages.filter((message) => message['role'] === 'user').at(-1);
  const content = last?.['content'];
  if (typeof content === 'string') return content;
  return asArray(content)
    .map(asObject)
    .filter((block) => block['type'] === 'text')
    .map((block) => String(block['text']))
    .join('\n');
}

function lastToolResults(request: JsonObject): string[] {
  const last = asObject(asArray(request['messages']).at(-1));
  return asArray(last['content'])
    .map(asObject)
    .filter((block) => block['type'] === 'tool_result')
    .map(({ content }) =>
      typeof content === 'string'
        ? content
        : asArray(content)
            .map((part) => textOf(asObject(part)))
            .join(''),
    );
}

function textOf({ text }: JsonObject): string {
  return typeof text === 'string' ? text : '';
}

function stopAt(
  text: string,
  sequences: readonly string[],
): { readonly text: string; readonly sequence: string | null } {
  let found: { text: string; sequence: string | null } = { text, sequence: null };
  for (const sequence of sequences) {
    const at = found.text.indexOf(sequence);
    if (at !== -1) found = { text: found.text.slice(0, at), sequence };
  }
  return found;
}

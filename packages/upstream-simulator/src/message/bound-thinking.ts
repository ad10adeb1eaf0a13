/**
 * Thinking that is bound to what precedes it. On newer models, a thinking block is valid only if
 * `system`, the tools and the messages before it are as they were when the block was made, and no
 * thinking block between it and an earlier one was left out.
 * https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
 */

import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { asArray, asObject } from './message.js';
import type { JsonObject } from './message.js';

export const BINDING_CONTROLS = 'thinking-binding-controls-2026-08-01';

/** What the API reports about a block that it left out of a request. */
export interface InputTransformation {
  readonly type: 'thinking_dropped';
  readonly path: string;
  readonly reason: 'prefix_binding_mismatch';
}

export interface ThinkingCheck {
  /** The blocks that do not fit, in order. */
  readonly dropped: readonly InputTransformation[];
  /** The signature of the thinking in the answer to this request. */
  readonly signature: string;
}

const DIGEST_LENGTH = 22;

/** Compares each thinking block of a request with what precedes it. */
export function checkThinking(request: JsonObject): ThinkingCheck {
  const prefix = createHash('sha256');
  const add = (role: unknown, block: unknown): void => {
    prefix.update(`${String(role)}\0${JSON.stringify(unmarked(block))}\0`);
  };
  for (const text of textsOf(request['system'])) add('system', text);
  for (const tool of asArray(request['tools']).map(asObject).sort(byName)) add('tool', tool);
  const dropped: InputTransformation[] = [];
  /** The signature of the last block that fits. */
  let previous = '';
  asArray(request['messages']).forEach((value, index) => {
    const { role, content } = asObject(value);
    const blocks = textsOf(content).map(asObject);
    const before = prefix.copy();
    blocks.forEach((block, at) => {
      // Thinking is compared by its signature, not as content.
      if (!isThinking(block)) {
        add(role, block);
        return;
      }
      const [, boundTo, follows] = readSignature(block);
      // A client may leave out all thinking before this block.
      const isNext = previous === '' || follows === digestOf(previous);
      if (boundTo === shortDigest(before.copy()) && isNext) {
        previous = signatureOf(block);
        return;
      }
      const path = `messages.${String(index)}.content.${String(at)}`;
      dropped.push({ type: 'thinking_dropped', path, reason: 'prefix_binding_mismatch' });
    });
  });
  return { dropped, signature: signed(`${shortDigest(prefix)}-${digestOf(previous)}`) };
}

/** The request as the model sees it, without the blocks that do not fit. */
export function withoutDropped(
  request: JsonObject,
  dropped: readonly InputTransformation[],
): JsonObject {
  const paths = new Set(dropped.map(({ path }) => path));
  if (paths.size === 0) return request;
  const messages = asArray(request['messages']).map((value, index) => {
    const message = asObject(value);
    const content = asArray(message['content']).filter(
      (_, at) => !paths.has(`messages.${String(index)}.content.${String(at)}`),
    );
    return typeof message['content'] === 'string' ? message : { ...message, content };
  });
  return { ...request, messages };
}

/** The error of a request with a block that does not fit. */
export function bindingProblem({ dropped: [first] }: ThinkingCheck): string | undefined {
  if (first === undefined) return undefined;
  return (
    `${first.path}: Invalid \`signature\` in \`thinking\` block. The block is bound to a different ` +
    'conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to ' +
    '"drop_block".'
  );
}

/** Whether the request asks to leave out blocks that do not fit, instead of an error. */
export function dropsBlocks(request: JsonObject): boolean {
  const binding = asObject(asObject(request['thinking'])['block_binding']);
  return binding['prefix_mismatch_behavior'] === 'drop_block';
}

function isThinking({ type }: JsonObject): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

function signatureOf(block: JsonObject): string {
  return String(block['signature'] ?? block['data']);
}

function readSignature(block: JsonObject): readonly (string | undefined)[] {
  return /^sim-([\w+/]+)-([\w+/]+)-/.exec(signatureOf(block)) ?? [];
}

function signed(place: string): string {
  return `sim-${place}-${digestOf(`signed by the simulator: ${place}`)}`;
}

/** The signatures of thinking that the API can have made. It verifies them on every model. */
export interface Signatures {
  /** A scripted reply has signatures of its own. */
  remember(content: readonly unknown[]): void;
  /** @returns the error of the first thinking block that the API cannot have made */
  problem(request: JsonObject): string | undefined;
}

const MAX_SIGNATURES = 10_000;

export function createSignatures(): Signatures {
  const scripted = new Set<string>();
  const isKnown = (block: JsonObject): boolean => {
    const signature = signatureOf(block);
    const [, boundTo, follows] = readSignature(block);
    return scripted.has(signature) || signature === signed(`${boundTo ?? ''}-${follows ?? ''}`);
  };
  return {
    remember(content) {
      for (const block of content.map(asObject)) {
        if (isThinking(block) && !isKnown(block)) scripted.add(signatureOf(block));
      }
      const [oldest] = scripted;
      if (scripted.size > MAX_SIGNATURES && oldest !== undefined) scripted.delete(oldest);
    },
    problem(request) {
      for (const [index, value] of asArray(request['messages']).entries()) {
        for (const [at, block] of textsOf(asObject(value)['content']).map(asObject).entries()) {
          if (!isThinking(block) || isKnown(block)) continue;
          const path = `messages.${String(index)}.content.${String(at)}`;
          return `${path}: Invalid \`signature\` in \`thinking\` block`;
        }
      }
      return undefined;
    },
  };
}

/** A block without its cache points; texts in results are blocks as elsewhere. */
function unmarked(value: unknown): JsonObject {
  const { cache_control: _, ...block } = asObject(value);
  if (block['type'] !== 'tool_result') return block;
  return { ...block, content: textsOf(block['content']).map(unmarked) };
}

/** A text is the same as a list with one text block. */
function textsOf(content: unknown): readonly unknown[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : asArray(content);
}

function byName(one: JsonObject, other: JsonObject): number {
  return String(one['name']).localeCompare(String(other['name']));
}

function digestOf(text: string): string {
  return shortDigest(createHash('sha256').update(text));
}

function shortDigest(hash: Hash): string {
  return hash.digest('base64').slice(0, DIGEST_LENGTH);
}

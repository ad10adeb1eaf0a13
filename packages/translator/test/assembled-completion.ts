/**
 * Assembles the chunks of a chat stream into the completion that a plain response would have
 * contained.
 */

import { eventsOf } from './sse-events.js';

interface Call {
  id?: string;
  function: { name?: string; arguments?: unknown };
}

interface Delta {
  readonly content?: unknown;
  readonly refusal?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning?: string | null;
  readonly thinking_blocks?: readonly object[];
  readonly reasoning_details?: readonly { signature?: string; text?: string }[];
  readonly tool_calls?: readonly (Call & { readonly index?: number })[];
  readonly function_call?: Call['function'];
}

interface Choice {
  readonly index?: number;
  readonly delta?: Delta;
  readonly finish_reason?: string | null;
  readonly stop_reason?: unknown;
  readonly usage?: unknown;
}

/** JSON text of the completion, by the simplest code that reads the format. */
export function assembled(stream: Uint8Array): string {
  const message: Record<string, unknown> & { content: unknown } = { content: null };
  const calls: Call[] = [];
  let id: unknown;
  let usage: unknown;
  let ending: object = {};
  let isDone = false;

  function add(delta: Delta): void {
    for (const member of ['content', 'refusal', 'reasoning_content', 'reasoning'] as const) {
      const value = delta[member];
      if (typeof value === 'string') message[member] = textOf(message[member]) + value;
      if (Array.isArray(value)) message[member] = [...listOf(message[member]), ...value];
    }
    for (const member of ['thinking_blocks', 'reasoning_details'] as const) {
      const value = delta[member];
      if (value) message[member] = [...listOf(message[member]), ...value];
    }
    if (delta.function_call) addCall(calls[0], { function: delta.function_call });
    for (const call of delta.tool_calls ?? []) addCall(find(call), call);
  }

  /** Finds a call by its index, or by its id if a server gives all calls the index 0. */
  function find(call: Call & { readonly index?: number }): Call | undefined {
    const numbered = call.index === undefined ? undefined : byNumber.get(call.index);
    if (call.id !== undefined) {
      const same = calls.find((known) => known.id === call.id);
      if (same) return same;
      if (numbered?.id !== undefined) return call.function.name ? undefined : numbered;
    }
    const isWhole = isObjectText(numbered?.function.arguments) && call.function.name !== undefined;
    return isWhole ? undefined : numbered;
  }

  const byNumber = new Map<number, Call>();
  function addCall(known: Call | undefined, delta: Call & { readonly index?: number }): void {
    const call = known ?? { function: {} };
    if (known === undefined) calls.push(call);
    if (delta.index !== undefined) byNumber.set(delta.index, call);
    if (delta.id !== undefined) call.id ??= delta.id;
    const { name, arguments: piece } = delta.function;
    if (name !== undefined) call.function.name = name;
    if (typeof piece === 'string') {
      call.function.arguments = textOf(call.function.arguments) + piece;
    } else if (piece !== undefined) call.function.arguments = piece;
  }

  for (const { data } of eventsOf([stream])) {
    isDone ||= data.trim() === '[DONE]';
    if (isDone) break;
    const chunk = JSON.parse(data) as { id?: string; usage?: unknown; choices?: Choice[] };
    usage = chunk.usage ?? usage;
    for (const choice of chunk.choices ?? []) {
      if (choice.index !== 0) continue;
      id = chunk.id;
      usage = choice.usage ?? usage;
      if (!['', 'null'].includes(choice.finish_reason ?? '')) {
        ending = { finish_reason: choice.finish_reason, stop_reason: choice.stop_reason };
      }
      add(choice.delta ?? {});
    }
  }
  const toolCalls = calls.length === 0 ? {} : { tool_calls: calls };
  const choice = { index: 0, message: { ...message, ...toolCalls }, ...ending };
  return JSON.stringify({ id, choices: [choice], usage });
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObjectText(value: unknown): boolean {
  try {
    return typeof value === 'string' && typeof JSON.parse(value) === 'object';
  } catch {
    return false;
  }
}

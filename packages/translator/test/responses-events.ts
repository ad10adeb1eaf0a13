/** Reads streams of the Responses API, and checks the grammar that its clients rely on. */

import { expect } from '@jest/globals';

export interface ResponseEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly output_index?: number;
  readonly content_index?: number;
  readonly summary_index?: number;
  readonly item_id?: string;
  readonly delta?: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly arguments?: string;
  readonly input?: string;
  readonly item?: ResponseItem;
  readonly part?: ResponsePart;
  readonly annotation_index?: number;
  readonly annotation?: object;
  readonly response?: ResponseObject;
  readonly code?: string | null;
  readonly message?: string;
}

export interface ResponseItem {
  readonly id: string;
  readonly type: string;
  readonly status?: string;
  readonly content?: readonly ResponsePart[];
  readonly summary?: readonly ResponsePart[];
  readonly arguments?: string;
  readonly input?: string;
  readonly call_id?: string;
  readonly name?: string;
  readonly encrypted_content?: string | null;
}

export interface ResponsePart {
  readonly type: string;
  readonly text?: string;
  readonly refusal?: string;
  readonly annotations?: readonly object[];
}

export interface ResponseObject {
  readonly id: string;
  readonly status: string;
  readonly output: readonly ResponseItem[];
  readonly usage: unknown;
  readonly error: { readonly code: string; readonly message: string } | null;
  readonly incomplete_details: { readonly reason: string } | null;
}

/** The events of a stream. Fails unless each event is numbered and framed as clients expect. */
export function readResponseEvents(stream: string): ResponseEvent[] {
  const frames = stream.split('\n\n');
  expect(frames.pop()).toBe('');
  return frames.map((frame, index) => {
    const [, name, data = ''] = /^event: ([a-z_.]+)\ndata: (\{[^\n\r]*\})$/.exec(frame) ?? [];
    const event: ResponseEvent = JSON.parse(data);
    expect([event.type, event.sequence_number]).toEqual([name, index]);
    return event;
  });
}

/** Fails unless each event fits those before it, and the events add up to the response. */
export function expectGrammar(events: readonly ResponseEvent[]): void {
  expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
    'response.created',
    'response.in_progress',
  ]);
  const items: { item: ResponseItem; texts: string[]; cited: object[]; isDone: boolean }[] = [];
  const textOf = (event: ResponseEvent): string =>
    event.text ?? event.refusal ?? event.arguments ?? event.input ?? '';
  for (const event of events.slice(2)) {
    const held = items[event.output_index ?? -1];
    const at = event.content_index ?? event.summary_index ?? 0;
    if (event.item_id !== undefined) expect(held?.item.id).toBe(event.item_id);
    switch (event.type) {
      case 'response.output_item.added':
        expect(event.output_index).toBe(items.length);
        expect(event.item?.status ?? 'in_progress').toBe('in_progress');
        items.push({ item: event.item!, texts: [], cited: [], isDone: false });
        break;
      case 'response.content_part.added':
      case 'response.reasoning_summary_part.added':
        expect(held?.isDone).toBe(false);
        expect(at).toBe(held!.texts.length);
        held!.texts.push('');
        break;
      case 'response.web_search_call.in_progress':
      case 'response.web_search_call.searching':
      case 'response.web_search_call.completed':
        expect(held?.isDone).toBe(false);
        expect(held?.item.type).toBe('web_search_call');
        break;
      case 'response.output_text.annotation.added':
        expect(held?.isDone).toBe(false);
        held!.cited.push([at, event.annotation_index, event.annotation!]);
        break;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
      case 'response.reasoning_summary_text.delta':
      case 'response.function_call_arguments.delta':
      case 'response.custom_tool_call_input.delta':
        expect(held?.isDone).toBe(false);
        expect(event.delta).not.toBe('');
        held!.texts[at] = (held!.texts[at] ?? '') + event.delta!;
        break;
      case 'response.output_text.done':
      case 'response.refusal.done':
      case 'response.reasoning_summary_text.done':
      case 'response.function_call_arguments.done':
      case 'response.custom_tool_call_input.done':
        expect(textOf(event)).toBe(held!.texts[at] ?? '');
        break;
      case 'response.content_part.done':
      case 'response.reasoning_summary_part.done':
        expect(event.part?.text ?? event.part?.refusal).toBe(held!.texts[at]);
        break;
      case 'response.output_item.done': {
        expect(held?.isDone).toBe(false);
        held!.isDone = true;
        expect(event.item).toMatchObject({ id: held!.item.id, type: held!.item.type });
        const { content = [], summary = [], arguments: args, input } = event.item!;
        const texts = [...content, ...summary].map(({ text, refusal }) => text ?? refusal);
        // A search of tools has an object here, and no events of its own.
        if (typeof args === 'string' || input !== undefined) texts.push(args ?? input);
        expect(texts.join('|')).toBe(held!.texts.join('|'));
        const cited = content.flatMap(({ annotations = [] }, part) =>
          annotations.map((annotation, index) => [part, index, annotation]),
        );
        expect(held!.cited).toEqual(cited);
        held!.item = event.item!;
        break;
      }
      case 'response.completed':
      case 'response.incomplete':
        expect(event).toBe(events.at(-1));
        expect(items.every(({ isDone }) => isDone)).toBe(true);
        expect(event.response?.output).toEqual(items.map(({ item }) => item));
        expect(`response.${event.response!.status}`).toBe(event.type);
        break;
      case 'error':
        expect(event).toBe(events.at(-2));
        break;
      case 'response.failed':
        expect(event).toBe(events.at(-1));
        expect(event.response).toMatchObject({ status: 'failed', usage: null });
        break;
      default:
        throw new Error(`unexpected event ${event.type}`);
    }
  }
  expect(events.at(-1)?.type).toMatch(/^response\.(completed|incomplete|failed)$/);
}

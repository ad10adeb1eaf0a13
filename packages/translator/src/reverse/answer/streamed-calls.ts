/**
 * Finds the call that a delta of `tool_calls` belongs to.
 *
 * The format identifies the call by `index`. Some servers give every call the index 0 and an id of
 * its own (https://github.com/su-kaka/gcli2api/pull/406), some send no index, and some give every
 * delta a new id.
 */

import {
  isJsonObject,
  isTooDeep,
  type JsonObject,
  objectOf,
  stringOf,
} from '../../wire/raw-json.js';
import { clientToolName, type MessageContext } from '../context/message-context.js';
import type { BlockQueue, StreamedCall } from './block-queue.js';

export class StreamedCalls {
  readonly #queue: BlockQueue;
  readonly #allocateId: (wanted: unknown) => string;
  readonly #context: MessageContext;
  readonly #byIndex = new Map<unknown, StreamedCall>();
  /** The upstream's own id of each call that has one. */
  readonly #ownIds = new Map<StreamedCall, string>();
  #last: StreamedCall | undefined;

  constructor(queue: BlockQueue, allocateId: (wanted: unknown) => string, context: MessageContext) {
    this.#queue = queue;
    this.#allocateId = allocateId;
    this.#context = context;
  }

  get isEmpty(): boolean {
    return this.#last === undefined;
  }

  /** @returns false when the arguments are nested too deeply to be written */
  add(delta: JsonObject): boolean {
    const { name, arguments: written } = objectOf(delta['function']);
    if (isTooDeep(written)) return false;
    const text = isJsonObject(written) ? JSON.stringify(written) : stringOf(written);
    const call = this.#find(delta, { name: stringOf(name), text }) ?? this.#begin(delta);
    if (call.name === '') call.name = clientToolName(this.#context, stringOf(name));
    this.#last = call;
    this.#queue.addArguments(call, text);
    return true;
  }

  #find(
    { index, id }: JsonObject,
    said: { readonly name: string; readonly text: string },
  ): StreamedCall | undefined {
    const own = stringOf(id);
    const call = typeof index === 'number' ? this.#byIndex.get(index) : this.#last;
    if (call === undefined) return undefined;
    const known = this.#ownIds.get(call);
    if (own !== '' && known !== undefined) {
      if (own === known) return call;
      // A delta with a new id begins a call only if it also has a name. Otherwise it continues this
      // call.
      return this.#withId(own) ?? (said.name === '' ? call : undefined);
    }
    // The delta or the call found has no id. Then a delta with a name and arguments begins a new
    // call if the arguments of the call found are complete or are not an object.
    const mayBeWhole = call.progress.stage === 'complete' || call.progress.stage === 'other';
    const beginsAnew = said.name !== '' && /\S/.test(said.text);
    return mayBeWhole && beginsAnew ? undefined : call;
  }

  #withId(own: string): StreamedCall | undefined {
    for (const [call, id] of this.#ownIds) if (id === own) return call;
    return undefined;
  }

  #begin({ index, id }: JsonObject): StreamedCall {
    const call = this.#queue.addCall(this.#allocateId(id));
    if (typeof index === 'number') this.#byIndex.set(index, call);
    if (stringOf(id) !== '') this.#ownIds.set(call, stringOf(id));
    return call;
  }
}

/**
 * Gives the models of a home's answers the names that the client used, so that the client, the
 * price table and the ledger see no difference. Only the values of members named `model` change,
 * and in an error its message: by the home's names, and by what names the operator's accounts
 * there. All other bytes stay as they are.
 */

import { isUtf8 } from 'node:buffer';
import { EventSplitter, scanTopLevel } from '@gateway/translator/native';
import type { JsonShape, JsonSpan } from '@gateway/translator/native';
import type { SkimmedMessage } from '@gateway/translator/native';
import type { StreamFraming } from '../upstream.js';
import { hideIdentities } from './hide-identities.js';
import { jsonBytes, splice } from './splices.js';
import type { Splice } from './splices.js';

export interface OwnNames {
  /** @returns the body itself if it has none of the home's names */
  readonly inBody: (body: Buffer) => Buffer;
  readonly inSkimmed: (message: SkimmedMessage) => SkimmedMessage;
  /** For one stream. */
  openStream(): StreamFraming;
}

/** @param models - The home's name of each model, by our id. */
export function createOwnNames(models: Readonly<Record<string, string>>): OwnNames {
  const ours = new Map(Object.entries(models).map(([id, name]) => [name, id]));
  // The longest first: a name may begin with another one.
  const names = [...ours.keys()].sort((a, b) => b.length - a.length);
  const anyName = new RegExp(names.map(escaped).join('|'), 'g');
  const ownName = (name: string): string => ours.get(name) ?? name;
  const rename = createRenaming({
    ownName,
    ownText: (text) => hideIdentities(names.length === 0 ? text : text.replace(anyName, ownName)),
  });
  return {
    inBody(body) {
      const splices = rename(body);
      return splices.length === 0 ? body : Buffer.concat(splice(body, splices));
    },
    inSkimmed: (message) => renamedSkimmed(message, ownName),
    openStream: () => new OwnNamesStream(rename),
  };
}

/** Finds what is to be replaced in a JSON document. */
type Rename = (json: Uint8Array) => readonly Splice[];

interface Naming {
  readonly ownName: (name: string) => string;
  readonly ownText: (text: string) => string;
}

/** What a model wrote for a tool. It may have members of any name. */
const FREE_FORM = 'input';

/** Builds the shape once. Scans run one after another and share what they find. */
function createRenaming({ ownName, ownText }: Naming): Rename {
  let found: Splice[] = [];
  const replacing = (own: (text: string) => string): JsonShape => {
    let text: string | undefined;
    return {
      onText: (each) => {
        text = each;
      },
      onValue: (span: JsonSpan) => {
        const before = text;
        text = undefined;
        if (before === undefined) return;
        const after = own(before);
        if (after !== before) found.push({ ...span, bytes: jsonBytes(after) });
      },
    };
  };
  const model = replacing(ownName);
  const any: JsonShape = {
    member: (name) => (name === 'model' ? model : name === FREE_FORM ? undefined : any),
    // A getter, because the shape refers to itself.
    get item() {
      return any;
    },
  };
  const message = replacing(ownText);
  const error: JsonShape = { member: (name) => (name === 'message' ? message : undefined) };
  const root: JsonShape = { member: (name) => (name === 'error' ? error : any.member?.(name)) };
  return (json) => {
    found = [];
    // What is no JSON stays as it is; its reader finds out.
    const scan = scanTopLevel(json, { shape: root, isUtf8, mayRepeat: true });
    const splices = found;
    found = [];
    return scan.outcome === 'scanned' ? splices : [];
  };
}

/** Events with names, `message_start` and the like, are small. Only content may be larger. */
const MOST_EVENT_BYTES = 1024 * 1024;
const DELTA = 'event: content_block_delta';
const DATA = 'data:';

/** One stream of server-sent events, in whole events as they arrive. */
class OwnNamesStream implements StreamFraming {
  readonly #rename: Rename;
  readonly #splitter: EventSplitter;
  #pieces: Uint8Array[] = [];

  constructor(rename: Rename) {
    this.#rename = rename;
    const toPieces = (bytes: Uint8Array, from: number, to: number): void => {
      this.#pieces.push(bytes.subarray(from, to));
    };
    // Passed on as it arrives.
    this.#splitter = new EventSplitter(MOST_EVENT_BYTES, {
      open: () => ({ push: toPieces, end: () => undefined }),
    });
  }

  push(chunk: Uint8Array): Uint8Array {
    this.#splitter.push(chunk, (bytes, from, to) => {
      this.#pieces.push(...this.#renamed(bytes.subarray(from, to)));
    });
    return this.#taken();
  }

  end(): Uint8Array {
    const rest = this.#splitter.takeRest();
    if (rest.length > 0) this.#pieces.push(...this.#renamed(rest));
    return this.#taken();
  }

  #taken(): Uint8Array {
    const pieces = this.#pieces;
    this.#pieces = [];
    const [only] = pieces;
    return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
  }

  #renamed(event: Uint8Array): readonly Uint8Array[] {
    if (latin1(event, 0, DELTA.length) === DELTA) return [event];
    const data = dataOf(event);
    if (data === undefined) return [event];
    const splices = this.#rename(event.subarray(data.start, data.end));
    if (splices.length === 0) return [event];
    const moved = splices.map(({ start, end, bytes }) => ({
      start: start + data.start,
      end: end + data.start,
      bytes,
    }));
    return splice(event, moved);
  }
}

/** Where the JSON of an event is, if it is in one line. */
function dataOf(event: Uint8Array): JsonSpan | undefined {
  let found: JsonSpan | undefined;
  for (let at = 0; at < event.length;) {
    const end = lineEnd(event, at);
    if (latin1(event, at, at + DATA.length) === DATA) {
      if (found !== undefined) return undefined;
      found = { start: at + DATA.length, end };
    }
    at = end + 1;
  }
  return found;
}

function lineEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== 0x0a && bytes[at] !== 0x0d) at += 1;
  return at;
}

function latin1({ buffer, byteOffset, length }: Uint8Array, from: number, to: number): string {
  return Buffer.from(buffer, byteOffset, length).toString('latin1', from, to);
}

function renamedSkimmed(
  { usage, model, ...message }: SkimmedMessage,
  ownName: (name: string) => string,
): SkimmedMessage {
  const own = <Part extends { readonly model: string | undefined }>(part: Part): Part =>
    part.model === undefined ? part : { ...part, model: ownName(part.model) };
  const renamed = { ...message, model: model === undefined ? undefined : ownName(model) };
  if (usage.outcome === 'invalid') return { ...renamed, usage };
  const { byModel, uncounted, runs } = usage;
  return {
    ...renamed,
    usage: {
      ...usage,
      ...(byModel && { byModel: byModel.map(own) }),
      ...(uncounted && { uncounted: uncounted.map(own) }),
      ...(runs && { runs: runs.map(own) }),
    },
  };
}

/** A text as an expression that matches only it. */
function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
}

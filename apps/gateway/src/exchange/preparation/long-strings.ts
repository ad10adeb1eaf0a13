/**
 * JSON text of values with much text, in little memory.
 *
 * For text with a character beyond Latin-1, `JSON.stringify` takes at least four bytes for each
 * character: two in its buffer and two in the result. V8 doubles that buffer as often as necessary.
 */

import type { TakePart } from '@gateway/translator';

/**
 * Characters that are written at once. Longer strings would be large objects for V8 (over 128 KB),
 * which a minor GC does not free as early.
 */
const PIECE_LENGTH = 0x8000;

/** A translated body of a few bytes may be so much longer than the client's. */
const MORE_BYTES = 1024;

/** A member of an object or, with its index, an item of a list. */
type Member = readonly [name: string | number, value: unknown];

/** Writes parsed JSON as `JSON.stringify` does. No surrogate pair lies across two parts. */
export function writeJson(value: unknown, take: TakePart): void {
  if (sizeOf(value) <= PIECE_LENGTH) {
    take(JSON.stringify(value));
  } else if (typeof value === 'string') {
    writeString(value, take);
  } else if (Array.isArray(value)) {
    take('[');
    writeMembers(value, (group) => group.map(([, item]) => item), take);
    take(']');
  } else {
    take('{');
    writeMembers(value as object, Object.fromEntries, take);
    take('}');
  }
}

function writeString(text: string, take: TakePart): void {
  take('"');
  let start = 0;
  while (start < text.length) {
    let end = start + PIECE_LENGTH;
    // Each half of a surrogate pair alone would be escaped.
    if ((text.codePointAt(end - 1) ?? 0) > 0xffff) end += 1;
    take(JSON.stringify(text.slice(start, end)).slice(1, -1));
    start = end;
  }
  take('"');
}

/** @param join - The value that has only these members. */
function writeMembers(
  object: object,
  join: (group: readonly Member[]) => object,
  take: TakePart,
): void {
  let group: Member[] = [];
  let size = 0;
  let comma = '';
  const writeGroup = () => {
    if (group.length > 0) takeNext(JSON.stringify(join(group)).slice(1, -1));
    group = [];
    size = 0;
  };
  const takeNext = (part: string) => {
    take(comma + part);
    comma = ',';
  };
  for (const member of membersOf(object)) {
    const [name, value] = member;
    const own = sizeOf(name) + sizeOf(value);
    if (size + own > PIECE_LENGTH) writeGroup();
    if (own <= PIECE_LENGTH) {
      group.push(member);
      size += own;
      continue;
    }
    takeNext('');
    if (typeof name === 'string') {
      writeJson(name, take);
      take(':');
    }
    writeJson(value, take);
  }
  writeGroup();
}

function membersOf(object: object): Iterable<Member> {
  return Array.isArray(object) ? object.entries() : namedMembersOf(object);
}

function* namedMembersOf(object: object): Generator<Member> {
  // A list of all pairs would take more memory than the object.
  for (const name of Object.keys(object)) {
    const value: unknown = object[name as keyof typeof object];
    if (value !== undefined) yield [name, value];
  }
}

/**
 * The characters of all strings and names, and one for each value and name. Not much more than
 * {@link PIECE_LENGTH} is counted.
 */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 1;
  if (typeof value !== 'object' || value === null) return 1;
  let size = 1;
  for (const [name, member] of membersOf(value)) {
    size += sizeOf(name) + sizeOf(member);
    if (size > PIECE_LENGTH) break;
  }
  return size;
}

/**
 * Encodes text part by part.
 *
 * @param expectedBytes - If there are many more, some are copied.
 * @returns bytes at the start of an `ArrayBuffer` of their own, which is at most an eighth longer.
 * An exact one would be a copy of them.
 */
export function encodeParts(
  write: (take: TakePart) => void,
  expectedBytes: number,
): Uint8Array<ArrayBuffer> {
  let bytes = Buffer.from(new ArrayBuffer(expectedBytes + (expectedBytes >> 4) + MORE_BYTES));
  let length = 0;
  let waiting = '';
  const encodeWaiting = () => {
    const end = length + Buffer.byteLength(waiting);
    if (end > bytes.length) bytes = Buffer.from(bytes.buffer.transfer(2 * end));
    length += bytes.write(waiting, length);
    waiting = '';
  };
  write((part) => {
    // Encoding each of many short parts would take longer.
    if (waiting.length + part.length > PIECE_LENGTH) encodeWaiting();
    waiting += part;
  });
  encodeWaiting();
  const unused = bytes.length - length;
  return new Uint8Array(
    unused > length / 8 ? bytes.buffer.transfer(length) : bytes.buffer,
    0,
    length,
  );
}

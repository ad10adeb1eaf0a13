/** Finds ids in a body that is not parsed yet, and what is kept under them. */

/** A body can consist of ids, so no more than these are read. */
const MAX_IDS_SEEN = 20_000;

/** A member, and the form of the id that is its value. */
export interface IdPattern {
  /**
   * Its first group is an id. The body may be hostile, so each repetition must end where the text
   * leaves no choice: nothing is then tried twice, and the time is proportional to the body.
   */
  readonly pattern: RegExp;
  /** What the pattern does not say: limits within it would cost more than the search. */
  readonly isId: (text: string) => boolean;
}

/** @param most - No more different ids than these are returned. */
export function idsIn(body: Uint8Array, pattern: IdPattern, most: number): string[] {
  const ids = new Set<string>();
  for (const { id } of membersWithIds(body, pattern)) {
    ids.add(id);
    if (ids.size === most) break;
  }
  return [...ids];
}

/** A member with an id, and where it begins and ends in the text. */
export interface MemberWithId {
  readonly id: string;
  /** The body, a character for each byte. */
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

export function* membersWithIds(
  body: Uint8Array,
  { pattern, isId }: IdPattern,
): Generator<MemberWithId> {
  const text = bufferOf(body).toString('latin1');
  let seen = 0;
  let from = 0;
  while (seen < MAX_IDS_SEEN) {
    pattern.lastIndex = from;
    const match = pattern.exec(text);
    const id = match?.[1];
    if (match === null || id === undefined) break;
    from = pattern.lastIndex;
    if (isId(id)) {
      seen += 1;
      yield { id, text, start: match.index, end: from };
    } else {
      // The quote at its end may begin another member.
      from -= 1;
    }
  }
}

const MAX_ID_LENGTH = 200;

export function hasLengthOfId(text: string): boolean {
  return text.length <= MAX_ID_LENGTH;
}

export function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/**
 * @param look - Returns what is kept under each id, in their order. Not called without an id.
 * @returns what was found, by its id
 */
export async function lookUp<Found>(
  ids: readonly string[],
  look: (ids: readonly string[]) => Promise<readonly (Found | undefined)[]>,
): Promise<ReadonlyMap<string, Found>> {
  if (ids.length === 0) return new Map();
  const found = await look(ids);
  return new Map(
    ids.flatMap((id, index) => {
      const kept = found[index];
      return kept === undefined ? [] : [[id, kept] as const];
    }),
  );
}

/** @param text - JSON text that the gateway itself has written. */
export function parseKept({ buffer, byteOffset, length }: Uint8Array): unknown {
  return JSON.parse(Buffer.from(buffer, byteOffset, length).toString());
}

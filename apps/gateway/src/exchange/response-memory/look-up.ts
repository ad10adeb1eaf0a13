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
export function idsIn(body: Uint8Array, { pattern, isId }: IdPattern, most: number): string[] {
  const text = bufferOf(body).toString('latin1');
  const ids = new Set<string>();
  let seen = 0;
  pattern.lastIndex = 0;
  for (;;) {
    const id = pattern.exec(text)?.[1];
    if (id === undefined) break;
    if (isId(id)) {
      ids.add(id);
      seen += 1;
      if (ids.size === most || seen === MAX_IDS_SEEN) break;
    } else {
      // The quote at its end may begin another member.
      pattern.lastIndex -= 1;
    }
  }
  return [...ids];
}

const MAX_ID_LENGTH = 200;

export function hasLengthOfId(text: string): boolean {
  return text.length <= MAX_ID_LENGTH;
}

export function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** @returns what was found, by its id */
export async function lookUp<Found>(
  ids: readonly string[],
  look: (id: string) => Promise<Found | undefined>,
): Promise<ReadonlyMap<string, Found>> {
  const found = await Promise.all(ids.map(async (id) => [id, await look(id)] as const));
  return new Map(found.flatMap(([id, kept]) => (kept === undefined ? [] : [[id, kept] as const])));
}

/** @param text - JSON text that the gateway itself has written. */
export function parseKept({ buffer, byteOffset, length }: Uint8Array): unknown {
  return JSON.parse(Buffer.from(buffer, byteOffset, length).toString());
}

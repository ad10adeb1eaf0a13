/** Finds ids in a body that is not parsed yet, and what is kept under them. */

/** A body can consist of ids, so no more than these are read. */
const MAX_IDS_SEEN = 20_000;

/**
 * @param pattern - Its first group is an id.
 * @param most - No more different ids than these are returned.
 */
export function idsIn(body: Buffer, pattern: RegExp, most: number): string[] {
  const ids = new Set<string>();
  let seen = 0;
  for (const [, id = ''] of body.toString('latin1').matchAll(pattern)) {
    ids.add(id);
    seen += 1;
    if (ids.size === most || seen === MAX_IDS_SEEN) break;
  }
  return [...ids];
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

/**
 * How much memory request bodies, unread responses and kept responses may take, and how much memory
 * a gateway needs in all.
 */

import { totalmem } from 'node:os';

/**
 * The smallest budget, in bodies of the largest size. One key can reserve at most half of the
 * budget, and this half must hold a body in both its compressed and its decompressed form.
 */
export const BODIES_AT_ONCE = 4;
const SHARE_OF_MEMORY = 1 / 6;
const MOST_BODY_MEMORY_BYTES = 2 * 1024 ** 3;
const MOST_RESPONSE_MEMORY_BYTES = 64 * 1024 ** 2;

/**
 * The reservation of a forwarded body ends before its memory is freed, so the next body may already
 * be in memory.
 */
const MOST_TIMES_BUDGET = 2;
/**
 * A large body that is translated exists as text and as values, with two bytes for each character
 * if one of them is beyond Latin-1. A process translates one at a time.
 */
const TIMES_TRANSLATED = 4;
/**
 * More than the resident memory of a process under full load with small bodies (docs/operating.md).
 */
const PROCESS_BYTES = 350 * 1024 ** 2;

interface BodyMemory {
  readonly workers: number;
  readonly maxBodyBytes: number;
  /** The budget of each process. */
  readonly bodyMemoryBytes: number;
  /** What is kept, and once more in each process for what is being made. */
  readonly responseMemory: { readonly maxBytes: number } | undefined;
}

/** The memory of the system or, if that is less, of the container, in bytes. */
export function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** Each worker's share of a sixth of the memory, within the bounds above. */
export function defaultBodyMemory(maxBodyBytes: number, workers: number, memory: number): number {
  const share = Math.min(MOST_BODY_MEMORY_BYTES, Math.floor((memory * SHARE_OF_MEMORY) / workers));
  return Math.max(leastBodyMemory(maxBodyBytes), share);
}

/** A 64th of the memory: with the default memory for bodies, 768 MiB are still enough in all. */
export function defaultResponseMemory(memory: number): number {
  return Math.min(MOST_RESPONSE_MEMORY_BYTES, Math.floor(memory / 64));
}

export function leastBodyMemory(maxBodyBytes: number): number {
  return BODIES_AT_ONCE * maxBodyBytes;
}

/**
 * The system kills a process that needs more memory than there is. Clients with a valid key could
 * cause this with many large bodies at once.
 *
 * @returns a text that names the variable, or undefined if the memory is enough
 */
export function memoryProblem(
  { workers, maxBodyBytes, bodyMemoryBytes, responseMemory }: BodyMemory,
  memory: number,
): string | undefined {
  const responses = responseMemory?.maxBytes ?? 0;
  const bodies = MOST_TIMES_BUDGET * bodyMemoryBytes + TIMES_TRANSLATED * maxBodyBytes;
  const needed = workers * (PROCESS_BYTES + bodies + responses) + responses;
  if (needed <= memory) return undefined;
  return (
    `BODY_MEMORY_BYTES: with ${mebibytes(bodyMemoryBytes)} MiB for bodies in each process, the ` +
    `gateway may need ${mebibytes(needed)} MiB of memory, but there are ${mebibytes(memory)} MiB`
  );
}

function mebibytes(bytes: number): string {
  return String(Math.ceil(bytes / 1024 ** 2));
}

/** @param ms - Milliseconds since the epoch, as all times are stored. */
export function dateOf(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}

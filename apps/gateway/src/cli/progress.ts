/** The progress of long commands, on one line of a terminal. */

/** Shows progress on a terminal only, because in a log each update would be another line. */
export function showProgress(text: string, isLast: boolean): void {
  if (!process.stderr.isTTY) return;
  process.stderr.write(`\r${text}${isLast ? '\n' : ''}`);
}

export function showEntries(entries: number): void {
  showProgress(`${String(entries)} entries`, false);
}

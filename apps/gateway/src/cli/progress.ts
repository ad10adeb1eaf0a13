/**
 * The progress of long commands, on one line of a terminal: what is done, and the seconds so far.
 * Only on a terminal, because in a log each update would be another line.
 */

const TICK_MS = 1_000;
const ERASE_LINE = '\r\u001b[K';

/** What the line says now; `undefined` if there is none. */
let line: string | undefined;
let doing = '';

export function showProgress(text: string, isLast: boolean): void {
  if (!process.stderr.isTTY) return;
  doing = isLast ? '' : text;
  draw(text);
  if (!isLast) return;
  process.stderr.write('\n');
  line = undefined;
}

export function showEntries(entries: number): void {
  showProgress(`${String(entries)} entries`, false);
}

/** Runs work with a stopwatch, which appears after a second and goes away when the work ends. */
export async function timed<Result>(work: () => Promise<Result>): Promise<Result> {
  if (!process.stderr.isTTY) return work();
  let seconds = 0;
  const timer = setInterval(() => {
    seconds += TICK_MS / 1_000;
    draw([doing, `${String(seconds)} s`].filter((part) => part !== '').join(', '));
  }, TICK_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    eraseProgress();
    doing = '';
  }
}

/** Makes room for what is printed on the same terminal. */
export function eraseProgress(): void {
  if (line === undefined) return;
  process.stderr.write(ERASE_LINE);
  line = undefined;
}

function draw(text: string): void {
  if (text === line) return;
  line = text;
  process.stderr.write(`${ERASE_LINE}${text}`);
}

/**
 * The files of chargebacks, one for each day. A file is written once and never changed. The
 * manifest has a line for each, with the file's SHA-256 and that of the line before, so that a
 * changed, missing or exchanged file is found.
 */

import { hash } from 'node:crypto';
import { notSound } from './chargeback-place.js';
import type { ChargebackPlace } from './chargeback-place.js';

export const MANIFEST = 'manifest.jsonl';

interface ManifestLine {
  readonly day: string;
  readonly file: string;
  readonly rows: number;
  readonly charged_usd: string;
  readonly sha256: string;
  /** SHA-256 of the line before; `null` in the first one. */
  readonly previous: string | null;
}

interface ChargebackDay {
  readonly csv: string;
  readonly rows: number;
  readonly charged_usd: string;
}

type Written = ManifestLine & { readonly outcome: 'written' | 'written_before' };

/**
 * Writes the file of a day, unless it was written before. After a crash, the same call continues.
 *
 * @param read - Called only if the manifest does not have the day.
 * @throws {OperationError} A file is not as it was written, or the manifest is not sound.
 */
export async function writeChargeback(
  place: ChargebackPlace,
  day: string,
  read: () => Promise<ChargebackDay>,
): Promise<Written> {
  return place.alone(async () => {
    const { kept, lines } = await readManifest(place);
    const known = lines.find(({ line }) => line.day === day)?.line;
    if (known !== undefined) {
      await verifyFile(place, known);
      return { ...known, outcome: 'written_before' };
    }
    const { csv, rows, charged_usd } = await read();
    const file = `chargeback-${day}.csv`;
    await writeOnce(place, file, csv);
    const line: ManifestLine = {
      day,
      file,
      rows,
      charged_usd,
      sha256: hash('sha256', csv),
      previous: lines.at(-1)?.sha256 ?? null,
    };
    await place.append(MANIFEST, kept, `${JSON.stringify(line)}\n`);
    return { ...line, outcome: 'written' };
  });
}

/** The latest day of which the manifest has a file; `undefined` if it has none. */
export async function lastDayIn(place: ChargebackPlace): Promise<string | undefined> {
  const { lines } = await readManifest(place);
  return lines
    .map(({ line }) => line.day)
    .sort()
    .at(-1);
}

/**
 * @returns how many files are as they were written, and the hash of the last line. Lines that were
 * cut off at the end are found only if that hash is kept elsewhere.
 * @throws {OperationError} names the first file that is not
 */
export async function verifyChargebacks(
  place: ChargebackPlace,
): Promise<{ readonly files: number; readonly head: string | undefined }> {
  const { lines } = await readManifest(place);
  for (const { line } of lines) await verifyFile(place, line);
  return { files: lines.length, head: lines.at(-1)?.sha256 };
}

async function verifyFile(place: ChargebackPlace, { file, sha256 }: ManifestLine): Promise<void> {
  const kept = await place.read(file);
  if (kept === undefined) throw notSound(place, `${file}: is in the manifest and does not exist`);
  if (hash('sha256', kept.contents) !== sha256) {
    throw notSound(place, `${file}: was changed after it was written`);
  }
}

async function readManifest(place: ChargebackPlace) {
  const kept = await place.read(MANIFEST);
  const texts = (kept?.contents.toString('utf8') ?? '').split('\n');
  // A crash while a line was appended leaves a part of it, which has no line break.
  if (texts.pop() !== '') {
    throw notSound(place, `${MANIFEST}: its last line is not whole: delete that line`);
  }
  let previous: string | null = null;
  const lines = texts.map((each, index) => {
    const line = JSON.parse(each) as ManifestLine;
    if (line.previous !== previous) {
      throw notSound(place, `${MANIFEST}: line ${String(index + 1)} does not follow its last`);
    }
    previous = hash('sha256', each);
    return { line, sha256: previous };
  });
  return { kept, lines };
}

/** A file without a line in the manifest is that of a run that ended before it wrote the line. */
async function writeOnce(place: ChargebackPlace, file: string, contents: string): Promise<void> {
  if (await place.create(file, contents)) return;
  if ((await place.read(file))?.contents.toString('utf8') !== contents) {
    throw notSound(
      place,
      `${file}: is not in the manifest, and the ledger has other sums or names`,
    );
  }
}

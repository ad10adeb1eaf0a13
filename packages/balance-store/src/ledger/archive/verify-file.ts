/**
 * Verifies the file of an archive without its ledger: every charge against its digest in the chain,
 * every block against the block before it, the amounts against tokens and rates, and the sums and
 * the digest of the last line.
 */

import { SEALED_LEDGER } from '../../generated/tables.js';
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import type { ArchiveFileSummary } from '../../archive.js';
import { LedgerArchiveError } from '../../errors.js';
import { numericFromUnits } from '../../numeric.js';
import { listPriceOf } from '../seals/sealed-list-price.js';
import type { BlockFields } from '../seals/hashes.js';
import { DIGEST_BYTES, digestOfEntry, hashOfBlock } from '../seals/hashes.js';
import { carriedChargeOf } from './archived-charge.js';
import { allRowsOf, createCarryDigest, createCarrySums } from './carry.js';
import type { CarrySums } from './carry.js';
import type { CarryRow } from '../rows/carry-row.js';
import { FORMAT, FORMAT_VERSION, blockOfLine, chargeOfLine } from './file-lines.js';
import type { BlockLine, ChargeLine, EndLine, HeaderLine } from './file-lines.js';

/** What only the sums of all charges have. */
interface CarryFigures {
  readonly accounts: number;
  readonly carryDigest: string;
}

const CHARGES_PER_PROGRESS = 10_000;

export interface Verification {
  /** Called with the number of charges so far. */
  readonly onProgress?: ((charges: number) => void) | undefined;
  /**
   * Called with all sums, in the order of account, number and key, before the file is known to be
   * sound.
   */
  readonly onCarry?: ((carry: CarryRow) => Promise<void>) | undefined;
  readonly rowsKept?: number | undefined;
}

/**
 * Reads the file once, and again for each part of the sums that does not fit into memory.
 *
 * @throws {LedgerArchiveError} names the first line that is wrong.
 */
export async function verifyArchiveFile(
  file: string,
  { onProgress, onCarry, rowsKept }: Verification = {},
): Promise<ArchiveFileSummary> {
  let number = 0;
  const handle = await open(file).catch((error: unknown) => {
    throw problem(`${file} cannot be read (${messageOf(error)})`);
  });
  try {
    const reader = new FileReader(rowsKept);
    for await (const text of linesOf(handle)) {
      number += 1;
      reader.read(text);
      if (reader.charges % CHARGES_PER_PROGRESS === 0) onProgress?.(reader.charges);
    }
    if (!reader.isAtEnd) throw problem('the file is cut off: its last line is missing');
    const digest = createCarryDigest();
    let accounts = 0;
    let lastAccount: string | undefined;
    const carries = allRowsOf(reader.sums, async (rest) => {
      for await (const text of linesOf(handle)) {
        const charge = chargeOfLine(JSON.parse(text) as Partial<ChargeLine>);
        if (charge !== undefined) rest.add(carriedChargeOf(charge));
      }
    });
    for await (const carry of carries) {
      digest.add(carry);
      if (carry.accountId !== lastAccount) accounts += 1;
      lastAccount = carry.accountId;
      await onCarry?.(carry);
    }
    return reader.verified({ accounts, carryDigest: digest.hex() });
  } catch (error) {
    throw problem(`${file}:${String(number)}: ${messageOf(error)}`);
  } finally {
    await handle.close();
  }
}

/** How much is read at once. */
const CHUNK_BYTES = 256 * 1024;

/**
 * Splits a text only at line feeds. Node's `readline` may also split at U+2028 and U+2029, which
 * JSON texts may contain. A stream of the handle would add a listener to it, which stays until the
 * handle is closed, however often the file is read.
 */
async function* linesOf(handle: FileHandle): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let rest = '';
  for (let position = 0, isOver = false; !isOver;) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, position);
    position += bytesRead;
    isOver = bytesRead === 0;
    const text = isOver ? decoder.end() : decoder.write(chunk.subarray(0, bytesRead));
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

/** Reads line after line, and throws at the first that is wrong. */
class FileReader {
  readonly #hash: Hash = createHash('sha256');
  #header: HeaderLine | undefined;
  readonly #rowsKept: number | undefined;
  #sums = createCarrySums(0);
  #block: BlockFields | undefined;
  #firstBlock: bigint | undefined;
  #lastCharge: { readonly accountId: string; readonly seq: bigint } | undefined;
  readonly #totals = { charges: 0, charged: 0n, writtenOff: 0n };
  #end: { readonly line: EndLine['end']; readonly digest: string } | undefined;

  constructor(rowsKept: number | undefined) {
    this.#rowsKept = rowsKept;
  }

  get charges(): number {
    return this.#totals.charges;
  }

  get sums(): CarrySums {
    return this.#sums;
  }

  /** Whether the last line was read. */
  get isAtEnd(): boolean {
    return this.#end !== undefined;
  }

  read(text: string): void {
    if (this.isAtEnd) throw problem('nothing may follow the last line');
    const line = JSON.parse(text) as Partial<HeaderLine & BlockLine & ChargeLine & EndLine>;
    if (this.#header === undefined) {
      if (line.format !== FORMAT || line.version !== FORMAT_VERSION) {
        throw problem(`is not the header of a ${FORMAT} of version ${String(FORMAT_VERSION)}`);
      }
      this.#header = line as HeaderLine;
      this.#sums = createCarrySums(this.#header.number, { rowsKept: this.#rowsKept });
    } else if (line.charge !== undefined) this.#addCharge(line as ChargeLine, this.#header.until);
    else if (line.block !== undefined) this.#addBlock(line as BlockLine);
    else if (line.end !== undefined) {
      this.#end = { line: line.end, digest: this.#hash.copy().digest('hex') };
    } else throw problem('is neither a block nor a charge nor the end');
    this.#hash.update(`${text}\n`);
  }

  #addBlock(line: BlockLine): void {
    const next = blockOfLine(line);
    if (this.#block !== undefined) {
      if (next.block !== this.#block.block + 1n) {
        throw problem('the block does not follow the previous one');
      }
      if (!equal(next.previousHash, this.#block.hash)) {
        throw problem('the block does not contain the hash of the previous one');
      }
    }
    if (!equal(hashOfBlock(next), next.hash)) throw problem('the block differs from its hash');
    this.#firstBlock ??= next.block;
    this.#block = next;
    this.#lastCharge = undefined;
  }

  #addCharge(line: ChargeLine, until: string): void {
    const fields = chargeOfLine(line);
    if (fields === undefined) throw problem('is not a charge');
    const charge = carriedChargeOf(fields);
    const { accountId, seq, delta, writtenOff, createdAtMs } = charge;
    const seal = this.#block?.seals.find(
      (one) => one.accountId === accountId && one.from <= seq && seq <= one.to,
    );
    if (seal === undefined) throw problem('the charge is not in the block above it');
    const start = Number(seq - seal.from) * DIGEST_BYTES;
    if (!equal(seal.digests.subarray(start, start + DIGEST_BYTES), digestOfEntry(fields))) {
      throw problem('the charge differs from what was sealed');
    }
    if (this.#lastCharge?.accountId === accountId && this.#lastCharge.seq >= seq) {
      throw problem('the charge is out of order');
    }
    if (fields[SEALED_LEDGER.kind] !== 'charge' || createdAtMs >= Date.parse(until)) {
      throw problem('the entry does not belong to the archive');
    }
    if (delta !== writtenOff - listPriceOf(fields)) {
      throw problem('the amount is not tokens times rates');
    }
    this.#lastCharge = charge;
    this.#sums.add(charge);
    this.#totals.charges += 1;
    this.#totals.charged -= delta;
    this.#totals.writtenOff += writtenOff;
  }

  /** @throws {LedgerArchiveError} unless the last line says the same. */
  verified({ accounts, carryDigest }: CarryFigures): ArchiveFileSummary {
    if (this.#end === undefined || this.#header === undefined) throw problem('has no end');
    const { line: end, digest } = this.#end;
    const { ledger, number, after, until } = this.#header;
    const found: EndLine['end'] = {
      accounts,
      charges: this.#totals.charges,
      charged_usd: numericFromUnits(this.#totals.charged),
      written_off_usd: numericFromUnits(this.#totals.writtenOff),
      carry_digest: carryDigest,
      digest,
    };
    for (const name of Object.keys(found) as (keyof typeof found)[]) {
      if (end[name] !== found[name]) {
        throw problem(
          `${name}: the line says ${String(end[name])}, the file has ${String(found[name])}`,
        );
      }
    }
    if (this.#block === undefined || this.#firstBlock === undefined) {
      throw problem('the file has no block');
    }
    return {
      number,
      ledger,
      after: after === null ? undefined : new Date(after),
      until: new Date(until),
      accounts,
      ...this.#totals,
      firstBlock: this.#firstBlock,
      lastBlock: this.#block.block,
      lastHash: Buffer.from(this.#block.hash).toString('hex'),
      carryDigest,
      digest,
    };
  }
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0;
}

function problem(message: string): LedgerArchiveError {
  return new LedgerArchiveError(message);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

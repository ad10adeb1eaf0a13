/**
 * Verifies the file of an archive without its ledger: every charge against its digest in the chain,
 * every block against the block before it, the amounts against tokens and rates, and the sums and
 * the digest of the last line.
 */

import { SEALED_LEDGER } from '../../generated/tables.js';
import { createHash } from 'node:crypto';
import type { Hash } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { ArchiveFileSummary } from '../../archive.js';
import { LedgerArchiveError } from '../../errors.js';
import { numericFromUnits } from '../../numeric.js';
import { listPriceOf } from '../audit-list-price.js';
import type { BlockFields } from '../audit-source.js';
import { DIGEST_BYTES, digestOfEntry, hashOfBlock } from '../seal-chain.js';
import { carriedChargeOf } from './archived-charge.js';
import { carryDigestOf, createCarrySums } from './carry.js';
import type { CarryRow } from './carry-row.js';
import { FORMAT, FORMAT_VERSION, blockOfLine, chargeOfLine } from './file-lines.js';
import type { BlockLine, ChargeLine, EndLine, HeaderLine } from './file-lines.js';

export interface VerifiedFile extends ArchiveFileSummary {
  readonly carries: readonly CarryRow[];
}

const CHARGES_PER_PROGRESS = 10_000;

/** @throws {LedgerArchiveError} names the first line that is wrong. */
export async function verifyArchiveFile(
  file: string,
  onProgress?: (charges: number) => void,
): Promise<VerifiedFile> {
  const reader = createFileReader();
  let number = 0;
  const handle = await open(file).catch((error: unknown) => {
    throw problem(`${file} cannot be read (${messageOf(error)})`);
  });
  try {
    const chunks = handle.createReadStream({ autoClose: false, encoding: 'utf8' });
    for await (const text of linesOf(chunks)) {
      number += 1;
      reader.read(text);
      if (reader.charges() % CHARGES_PER_PROGRESS === 0) onProgress?.(reader.charges());
    }
  } catch (error) {
    throw problem(`${file}:${String(number)}: ${messageOf(error)}`);
  } finally {
    await handle.close();
  }
  const found = reader.finish();
  if (found === undefined) throw problem(`${file} is cut off: its last line is missing`);
  return found;
}

/**
 * Splits a text only at line feeds. Node's `readline` may also split at U+2028 and U+2029, which
 * JSON texts may contain.
 */
async function* linesOf(chunks: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = '';
  for await (const chunk of chunks) {
    const lines = `${rest}${chunk}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function createFileReader() {
  const hash: Hash = createHash('sha256');
  let header: HeaderLine | undefined;
  let sums = createCarrySums(0);
  let block: BlockFields | undefined;
  let firstBlock: bigint | undefined;
  let lastCharge: { readonly accountId: string; readonly seq: bigint } | undefined;
  const totals = { charges: 0, charged: 0n, writtenOff: 0n };
  let verified: VerifiedFile | undefined;

  function addBlock(line: BlockLine): void {
    const next = blockOfLine(line);
    if (block !== undefined) {
      if (next.block !== block.block + 1n) {
        throw problem('the block does not follow the previous one');
      }
      if (!equal(next.previousHash, block.hash)) {
        throw problem('the block does not contain the hash of the previous one');
      }
    }
    if (!equal(hashOfBlock(next), next.hash)) throw problem('the block differs from its hash');
    firstBlock ??= next.block;
    block = next;
    lastCharge = undefined;
  }

  function addCharge(line: ChargeLine, until: string): void {
    const fields = chargeOfLine(line);
    if (fields === undefined) throw problem('is not a charge');
    const charge = carriedChargeOf(fields);
    const { accountId, seq, delta, writtenOff, createdAtMs } = charge;
    const seal = block?.seals.find(
      (one) => one.accountId === accountId && one.from <= seq && seq <= one.to,
    );
    if (seal === undefined) throw problem('the charge is not in the block above it');
    const start = Number(seq - seal.from) * DIGEST_BYTES;
    if (!equal(seal.digests.subarray(start, start + DIGEST_BYTES), digestOfEntry(fields))) {
      throw problem('the charge differs from what was sealed');
    }
    if (lastCharge?.accountId === accountId && lastCharge.seq >= seq) {
      throw problem('the charge is out of order');
    }
    if (fields[SEALED_LEDGER.kind] !== 'charge' || createdAtMs >= Date.parse(until)) {
      throw problem('the entry does not belong to the archive');
    }
    if (delta !== writtenOff - listPriceOf(fields)) {
      throw problem('the amount is not tokens times rates');
    }
    lastCharge = charge;
    sums.add(charge);
    totals.charges += 1;
    totals.charged -= delta;
    totals.writtenOff += writtenOff;
  }

  function addEnd({ end }: EndLine, { ledger, number, after, until }: HeaderLine): void {
    const carries = sums.rows();
    const found: EndLine['end'] = {
      accounts: sums.accounts(),
      charges: totals.charges,
      charged_usd: numericFromUnits(totals.charged),
      written_off_usd: numericFromUnits(totals.writtenOff),
      carry_digest: carryDigestOf(carries),
      digest: hash.copy().digest('hex'),
    };
    for (const name of Object.keys(found) as (keyof typeof found)[]) {
      if (end[name] !== found[name]) {
        throw problem(
          `${name}: the line says ${String(end[name])}, the file has ${String(found[name])}`,
        );
      }
    }
    if (block === undefined || firstBlock === undefined) throw problem('the file has no block');
    verified = {
      number,
      ledger,
      after: after === null ? undefined : new Date(after),
      until: new Date(until),
      accounts: found.accounts,
      ...totals,
      firstBlock,
      lastBlock: block.block,
      lastHash: Buffer.from(block.hash).toString('hex'),
      carryDigest: found.carry_digest,
      digest: found.digest,
      carries,
    };
  }

  return {
    charges: () => totals.charges,
    read(text: string): void {
      if (verified !== undefined) throw problem('nothing may follow the last line');
      const line = JSON.parse(text) as Partial<HeaderLine & BlockLine & ChargeLine & EndLine>;
      if (header === undefined) {
        if (line.format !== FORMAT || line.version !== FORMAT_VERSION) {
          throw problem(`is not the header of a ${FORMAT} of version ${String(FORMAT_VERSION)}`);
        }
        header = line as HeaderLine;
        sums = createCarrySums(header.number);
      } else if (line.charge !== undefined) addCharge(line as ChargeLine, header.until);
      else if (line.block !== undefined) addBlock(line as BlockLine);
      else if (line.end !== undefined) addEnd(line as EndLine, header);
      else throw problem('is neither a block nor a charge nor the end');
      hash.update(`${text}\n`);
    },
    finish: () => verified,
  };
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

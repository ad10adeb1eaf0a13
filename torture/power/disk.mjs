/**
 * A disk that loses power. After a cut it contains all flushed bytes, and any part of the bytes
 * that were not flushed. Its contents are reconstructed from the records of `record.c`.
 */

import { closeSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const TYPE = { write: 1, truncate: 2, sync: 3, create: 4, unlink: 5, syncDirectory: 6, name: 7 };
const HEADER_BYTES = 24;
/** A write that was interrupted may have reached the disk in any of its sectors. */
const SECTOR_BYTES = 512;
const LARGEST_WRITE = 64 * 1024 * 1024;

/** The records of a log, in order. */
export function* readRecords(path) {
  const log = openSync(path, 'r');
  const header = Buffer.alloc(HEADER_BYTES);
  const names = [];
  try {
    while (readSync(log, header, 0, HEADER_BYTES, null) === HEADER_BYTES) {
      const type = header.readInt32LE(0);
      const number = header.readInt32LE(4);
      const offset = Number(header.readBigInt64LE(8));
      const length = Number(header.readBigInt64LE(16));
      const hasBytes = type === TYPE.write || type === TYPE.name;
      if (length > LARGEST_WRITE) throw new Error('the log of the disk cannot be read');
      const bytes = Buffer.alloc(hasBytes ? length : 0);
      if (readSync(log, bytes, 0, bytes.length, null) < bytes.length) return;
      if (type === TYPE.name) names[number] = bytes.toString();
      else yield { type, name: names[number], offset, bytes };
    }
  } finally {
    closeSync(log);
  }
}

export function createDisk() {
  /** By name: the flushed contents, and the changes since. */
  const files = new Map();
  /** Creations and deletions that are not flushed, in order. */
  let directory = [];

  function fileOf(name) {
    let file = files.get(name);
    if (file === undefined) {
      file = { bytes: Buffer.alloc(0), size: 0, pending: [], exists: false };
      files.set(name, file);
    }
    return file;
  }

  return {
    apply({ type, name, offset, bytes }) {
      switch (type) {
        case TYPE.write:
          fileOf(name).pending.push({ offset, bytes });
          return;
        case TYPE.truncate:
          fileOf(name).pending.push({ truncateTo: offset });
          return;
        case TYPE.sync: {
          const file = fileOf(name);
          for (const act of file.pending) perform(file, act);
          file.pending = [];
          return;
        }
        case TYPE.create:
          fileOf(name).pending.push({ truncateTo: 0 });
          directory.push({ name, exists: true });
          return;
        case TYPE.unlink:
          directory.push({ name, exists: false });
          return;
        case TYPE.syncDirectory:
          for (const { name: changed, exists } of directory) fileOf(changed).exists = exists;
          directory = [];
          return;
        default:
          throw new Error(`the log of the disk has a record of type ${type}`);
      }
    },

    /** Writes into a new directory the contents that the disk has if the power is cut now. */
    cut(target, random) {
      mkdirSync(target, { recursive: true });
      // Each cut loses a different part of the bytes that were not flushed: nothing, all, or a
      // share.
      const share = random.pick([0, 1, random.below(100) / 100, random.below(100) / 100]);
      const isKept = () => random.chance(share);
      const kept = directory.filter(isKept);
      for (const [name, file] of files) {
        const exists = kept.findLast((change) => change.name === name)?.exists ?? file.exists;
        if (!exists) continue;
        const copy = { bytes: Buffer.from(file.bytes), size: file.size };
        for (const act of file.pending) {
          if (act.bytes === undefined || share === 1) {
            if (isKept()) perform(copy, act);
            continue;
          }
          for (let at = 0; at < act.bytes.length; at += SECTOR_BYTES) {
            if (!isKept()) continue;
            const bytes = act.bytes.subarray(at, at + SECTOR_BYTES);
            perform(copy, { offset: act.offset + at, bytes });
          }
        }
        writeFileSync(join(target, name), copy.bytes.subarray(0, copy.size));
      }
    },
  };
}

/**
 * @param {{ bytes: Buffer, size: number }} file
 * @param {{ offset?: number, bytes?: Buffer, truncateTo?: number }} act
 */
function perform(file, act) {
  const { offset = 0, bytes = Buffer.alloc(0), truncateTo } = act;
  if (truncateTo !== undefined) {
    file.bytes.fill(0, Math.min(truncateTo, file.bytes.length));
    grow(file, truncateTo);
    file.size = truncateTo;
    return;
  }
  grow(file, offset + bytes.length);
  bytes.copy(file.bytes, offset);
  file.size = Math.max(file.size, offset + bytes.length);
}

function grow(file, size) {
  if (file.bytes.length >= size) return;
  const larger = Buffer.alloc(Math.max(size, file.bytes.length * 2));
  file.bytes.copy(larger);
  file.bytes = larger;
}

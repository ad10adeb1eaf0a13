/**
 * A disk that loses power. After a cut it contains all flushed bytes, and any part of the bytes
 * that were not flushed. Its contents are reconstructed from the records of `record.c`.
 */

import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  readdirSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

const TYPE = {
  write: 1,
  truncate: 2,
  sync: 3,
  create: 4,
  unlink: 5,
  syncDirectory: 6,
  name: 7,
  failedSync: 8,
};
const HEADER_BYTES = 24;
/** A write that was interrupted may have reached the disk in any of its sectors. */
const SECTOR_BYTES = 512;
const LARGEST_WRITE = 64 * 1024 * 1024;

/** Reads the records of a log in order. */
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

/**
 * @param random - chooses which bytes reach the disk although they were not flushed
 * @param {string} [folder] - the contents at the start, all flushed. Without it, the disk is empty.
 */
export function createDisk(random, folder) {
  /** For each file name, the flushed contents and the changes since then. */
  const files = new Map();
  for (const [name, bytes] of folder === undefined ? [] : contentsOf(folder)) {
    files.set(name, { bytes, size: bytes.length, pending: [], exists: true });
  }
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
        case TYPE.failedSync: {
          // The system reports a failed flush once and then forgets the bytes: later flushes do not
          // include them. Some of them may be on the disk.
          const file = fileOf(name);
          performSome(file, file.pending, shareOf(random), random);
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
    cut(target) {
      mkdirSync(target, { recursive: true });
      const share = shareOf(random);
      const kept = directory.filter(() => random.chance(share));
      for (const [name, file] of files) {
        const exists = kept.findLast((change) => change.name === name)?.exists ?? file.exists;
        if (!exists) continue;
        const copy = { bytes: Buffer.from(file.bytes), size: file.size };
        performSome(copy, file.pending, share, random);
        writeFileSync(join(target, name), copy.bytes.subarray(0, copy.size));
      }
    },
  };
}

/** The files of a folder, without SQLite's shared memory, which does not outlive its processes. */
function contentsOf(folder) {
  const names = readdirSync(folder).filter((name) => !name.endsWith('-shm'));
  return names.map((name) => /** @type {const} */ ([name, readFileSync(join(folder, name))]));
}

/** The share of the unflushed bytes that a disk keeps: none, all, or some. */
function shareOf(random) {
  return random.pick([0, 1, random.below(100) / 100, random.below(100) / 100]);
}

/** Performs a share of the changes, chosen by sector. */
function performSome(file, changes, share, random) {
  for (const change of changes) {
    if (change.bytes === undefined || share === 1) {
      if (random.chance(share)) perform(file, change);
      continue;
    }
    for (let at = 0; at < change.bytes.length; at += SECTOR_BYTES) {
      if (!random.chance(share)) continue;
      const bytes = change.bytes.subarray(at, at + SECTOR_BYTES);
      perform(file, { offset: change.offset + at, bytes });
    }
  }
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

/** Refuses network file systems, because file locks do not work on most of them. */

import { statfsSync } from 'node:fs';
import { LedgerFileError } from '../../errors.js';

/** Linux types of file systems (see statfs(2)) on which two machines could own one ledger. */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0x00c36400, 'Ceph'],
  [0x0bd00bd0, 'Lustre'],
  [0x47504653, 'GPFS'],
  [0x5346414f, 'AFS'],
  [0x01161970, 'GFS2'],
  [0x7461636f, 'OCFS2'],
  [0x564c, 'NCP'],
  [0x73757245, 'Coda'],
]);

/** @throws {LedgerFileError} if the directory is on a network file system. Checks only on Linux. */
export function assertLocalFileSystem(
  dataDir: string,
  typeOf: (path: string) => number = typeOfFileSystem,
): void {
  // As a signed 32-bit number, a type from 0x80000000 on would be negative.
  const name = NETWORK_FILE_SYSTEMS.get(typeOf(dataDir) >>> 0);
  if (name === undefined) return;
  throw new LedgerFileError(
    `${dataDir} is on ${name}, a network file system, where locks do not protect the ledger: use a ` +
      'local disk, or PostgreSQL',
  );
}

function typeOfFileSystem(path: string): number {
  return process.platform === 'linux' ? statfsSync(path).type : 0;
}

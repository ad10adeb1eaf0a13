import { closeSync, fsyncSync, openSync, statSync } from 'node:fs';

/** Returns when a file's contents, or the names in a directory, are on disk. */
export function syncToDisk(path: string): void {
  const isDirectory = statSync(path).isDirectory();
  // Windows cannot open directories, and syncs only files that are open for writing.
  if (isDirectory && process.platform === 'win32') return;
  const descriptor = openSync(path, isDirectory ? 'r' : 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

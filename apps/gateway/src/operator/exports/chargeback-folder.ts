/** A folder with the daily files of chargebacks. */

import { link, mkdir, open, readFile, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../base/error-code.js';
import { MINUTE_MS } from '../../base/times.js';
import { notSound } from './chargeback-place.js';
import type { ChargebackPlace } from './chargeback-place.js';

/** The field of the command that names the folder. */
const NAME = 'into';

export function folderPlace(folder: string): ChargebackPlace {
  return {
    name: NAME,
    async read(file) {
      try {
        return { contents: await readFile(join(folder, file)), version: undefined };
      } catch (error) {
        if (errorCode(error) === 'ENOENT') return undefined;
        throw error;
      }
    },
    async create(file, contents) {
      const path = join(folder, file);
      const part = `${path}.part`;
      await unlinkIfThere(part);
      await append(part, contents);
      try {
        await link(part, path);
        return true;
      } catch (error) {
        if (errorCode(error) !== 'EEXIST') throw error;
        return false;
      } finally {
        await unlinkIfThere(part);
      }
    },
    append: (file, _before, lines) => append(join(folder, file), lines),
    async alone(work) {
      await mkdir(folder, { recursive: true });
      return locked(folder, work);
    },
  };
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, 'a');
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

/** A lock that a killed process left is taken over after this time. No run takes as long. */
const LOCK_LIFETIME_MS = 10 * MINUTE_MS;
const LOCK_RETRY_MS = 100;
const LOCK_RETRIES = 300;

async function locked<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const path = join(folder, '.lock');
  for (let tries = 0; !(await isTaken(path)); tries += 1) {
    if (tries === LOCK_RETRIES) {
      throw notSound({ name: NAME }, `${path}: another run has the folder`);
    }
    await sleep(LOCK_RETRY_MS);
  }
  try {
    return await work();
  } finally {
    await unlinkIfThere(path);
  }
}

async function isTaken(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx')).close();
    return true;
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const since = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (since !== undefined && Date.now() - since > LOCK_LIFETIME_MS) await unlinkIfThere(path);
    return false;
  }
}

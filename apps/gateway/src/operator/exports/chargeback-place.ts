/** Where the daily files of chargebacks are: a folder, or a bucket of an S3-compatible store. */

import { invalidInput } from '../../endpoints/operation-error.js';

interface KeptFile {
  readonly contents: Buffer;
  /** Of the file, where the place has versions. */
  readonly version: string | undefined;
}

export interface ChargebackPlace {
  /** For messages. */
  readonly name: string;
  /** @returns `undefined` if there is no such file */
  read(file: string): Promise<KeptFile | undefined>;
  /**
   * Writes a new file. Its name appears with the whole contents.
   *
   * @returns false if there is one of this name, which is never replaced
   */
  create(file: string, contents: string): Promise<boolean>;
  /**
   * Adds lines to the end of a file.
   *
   * @param before - The file as it was read; `undefined` if there was none.
   * @throws {Error} The file has changed since.
   */
  append(file: string, before: KeptFile | undefined, lines: string): Promise<void>;
  /** Runs `work` while no other run of this place does, as far as the place can prevent it. */
  alone<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** What of a place does not fit together. */
export function notSound({ name }: Pick<ChargebackPlace, 'name'>, message: string): Error {
  return invalidInput(`${name}: ${message}`);
}

/** How a variable of the configuration is declared. */

import type { z } from 'zod';

export interface Variable {
  /** What it does, for `.env.example`; absent if the text of the one before it covers both. */
  readonly about?: string;
  /** Of its text. It accepts `undefined` unless there is a default. */
  readonly schema: z.ZodType;
  /** The text that applies if there is none. */
  readonly default?: string;
  /** Whether its value is never shown. */
  readonly isSecret?: true;
  /** Whether it can change while the gateway serves. A change of others needs a restart. */
  readonly isReloadable?: true;
  /**
   * Whether operators can also change it through the admin API. Its value is then kept in the
   * ledger. Not for what leads the upstream's key somewhere.
   */
  readonly isChangeable?: true;
  /** Whether its text may name a file. Operators give the file's contents instead. */
  readonly isFile?: true;
  /** Whether another subject begins with it. */
  readonly group?: true;
  /** The title of the part of `.env.example` that begins with it. */
  readonly section?: string;
}

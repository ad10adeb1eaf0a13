import type { LocalToolType } from './local-tools.js';

/** How the calls of a tool are returned to the client, if not under the upstream's names. */
export interface CalledAs {
  /** The others than functions and custom tools have an item of their own for each call. */
  readonly type: 'function' | 'custom' | LocalToolType;
  readonly name: string;
  /** The namespace in which a client of the Responses API listed the tool. */
  readonly namespace?: string | undefined;
  /** The client's names of arguments that have other names upstream, by those names. */
  readonly members?: ReadonlyMap<string, string> | undefined;
}

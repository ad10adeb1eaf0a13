/** How vectors write the tools whose calls are returned in another form. */

import type { CalledAs } from '../src/index.js';

export interface VectorTools {
  /** Names of the tools of type `custom`. */
  readonly customTools?: readonly string[];
  /** Tools with other names, by their upstream name; `members` has the client's names. */
  readonly renamedTools?: Readonly<
    Record<string, { readonly name: string; readonly members?: Readonly<Record<string, string>> }>
  >;
}

export function toolsOf({
  customTools = [],
  renamedTools = {},
}: VectorTools): ReadonlyMap<string, CalledAs> | undefined {
  const tools = new Map<string, CalledAs>();
  for (const name of customTools) tools.set(name, { type: 'custom', name });
  for (const [sent, { name, members }] of Object.entries(renamedTools)) {
    tools.set(sent, {
      type: 'function',
      name,
      members: members && new Map(Object.entries(members)),
    });
  }
  return tools.size > 0 ? tools : undefined;
}

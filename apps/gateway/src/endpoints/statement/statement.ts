/** The statement of an account for a month: its facts, and its lines for people. */

import type { DeepReadonly } from '../../base/deep-readonly.js';
import { readFacts } from './statement-facts.js';
import { statementLines } from './statement-lines.js';

/** As the gateway sends it: amounts in USD, as decimal texts. */
export type Statement = DeepReadonly<Awaited<ReturnType<typeof readStatement>>>;

export async function readStatement(...of: Parameters<typeof readFacts>) {
  const facts = await readFacts(...of);
  return { ...facts, lines: statementLines(facts) };
}

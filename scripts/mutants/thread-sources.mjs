/**
 * Loaded into each process of the tests, and so into their threads: those of the embedded ledger
 * run the sources, with the mutant, instead of the built package, which has none.
 */

import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { TextDecoder } from 'node:util';
import mutants from './mutated.cjs';

const BUILT = '/packages/balance-store/dist/embedded/ledger-thread.js';
const SOURCE = '/packages/balance-store/src/embedded/threads/ledger-thread.ts';

registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier.endsWith(BUILT)) return nextResolve(specifier.replace(BUILT, SOURCE), context);
    // Imports name the built `.js` files.
    const isOfSource = specifier.startsWith('.') && context.parentURL?.endsWith('.ts') === true;
    return nextResolve(isOfSource ? specifier.replace(/\.js$/u, '.ts') : specifier, context);
  },
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const { source } = loaded;
    if (!url.endsWith('.ts') || source == null) return loaded;
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source);
    return { ...loaded, source: mutants.mutated(text, fileURLToPath(url)) };
  },
});

// Lets Node run these sources unbuilt, for tests that need processes of their own. Imports name the
// built `.js` files, so this resolves them to the `.ts` files.

import { registerHooks } from 'node:module';

registerHooks({
  resolve(specifier, context, nextResolve) {
    const isSource = specifier.startsWith('.') && context.parentURL?.endsWith('.ts') === true;
    return nextResolve(isSource ? specifier.replace(/\.js$/, '.ts') : specifier, context);
  },
});

/**
 * Writes what other packages know about the models, from the default price table: the packages do
 * not import each other. It calls the built package. With `--check` it compares instead of writing.
 */

import { join } from 'node:path';
import { isCheck, writeOrCompare } from './generated-files.mjs';
import { ensureBuilt, pnpm, root, step } from './setup.mjs';

const NOTE = ' Written by `npm run models` from the default price table. */';

step(isCheck ? "Comparing the packages' models" : "Writing the packages' models");
// A check must not build what is up to date: a build first deletes files that tests may be reading.
if (isCheck) ensureBuilt();
// Only this package: the others need the files that are written here.
else pnpm('--filter', '@gateway/billing', 'run', 'build');
const { defaultPriceTable } = await import(join(root, 'packages/billing/dist/index.js'));
const models = defaultPriceTable().list();

/** The traits without repetition, and the models with the index of theirs. */
const traits = [...new Set(models.map((model) => JSON.stringify(model.traits)))];
const indexOf = (model) => traits.indexOf(JSON.stringify(model.traits));

/** What the simulator does not need to know. */
const PRICE_MEMBERS = new Set(['rateIn', 'rateOut', 'rates', 'variants', 'source']);

const FILES = {
  'packages/translator/src/models/known-models.ts': `/** The models and their traits.${NOTE}
import type { ModelTraits } from '../chat-client/request/traits.js';

export const KNOWN_TRAITS: readonly ModelTraits[] = [${traits.join()}];

/** The id, the index of its traits, and the most thousands of tokens of one answer. */
export const KNOWN_MODELS: readonly (readonly [string, number, number])[] = ${JSON.stringify(
    models.map((model) => [model.id, indexOf(model), model.maxOutputTokens / 1000]),
  )};
`,
  'packages/upstream-simulator/src/models/known-models.ts': `/** The models of the API.${NOTE}
import type { KnownModel } from './known-model.js';

export const KNOWN_MODELS: readonly KnownModel[] = ${JSON.stringify(models, (name, value) =>
    PRICE_MEMBERS.has(name) ? undefined : value,
  )};
`,
};

await writeOrCompare(FILES, 'npm run models');

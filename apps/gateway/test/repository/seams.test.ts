/**
 * The packages do not import each other. This file checks that their types still fit together; `npm
 * run types` compiles it.
 */

import { expect, it } from '@jest/globals';
import type { SettledRates, SettledUsage, Settlement } from '@gateway/balance-store';
import { chargeOf, defaultPriceTable } from '@gateway/billing';
import type { ChargeableUsage, ModelPrice, Rates } from '@gateway/billing';
import type { KeyLimits } from '@gateway/balance-store';
import type { Policy } from '@gateway/rate-limiter';
import { MODELS, optionsOf, type ModelTraits, type Usage } from '@gateway/translator';
import { startUpstreamSimulator } from '@gateway/upstream-simulator';

/** Compiles only when every `From` can be used as a `To`. */
type Assignable<From extends To, To> = From;

export type Seams = [
  Assignable<Usage, ChargeableUsage>,
  Assignable<Usage, SettledUsage>,
  Assignable<Rates, SettledRates>,
  Assignable<ReturnType<typeof chargeOf>, Settlement['amount']>,
  Assignable<ModelPrice['traits'], ModelTraits>,
  Assignable<KeyLimits, Policy>,
];

it('billing prices a usage as the translator reads it', () => {
  const usage: Usage = {
    inputTokens: 1,
    outputTokens: 1,
    cacheReadInputTokens: 1,
    cacheCreationInputTokens: 1,
    cacheCreation1hInputTokens: 0,
    thinkingTokens: 1,
  };
  const price = defaultPriceTable().find('claude-sonnet-4-6')!;
  // 3 USD and 15 USD per million: 3 + 15 + 0.3 + 3.75 microdollars.
  expect(chargeOf(usage, price.rates)).toBe(2_205_000_000n);
});

it('the price table and the translator know the same models, with the same traits', () => {
  const models = defaultPriceTable().list();
  expect(models.map(({ id }) => id).toSorted()).toEqual(MODELS.toSorted());
  for (const { id, aliases, traits, maxOutputTokens } of models) {
    for (const name of [id, ...aliases]) {
      const { plainOutputTokens: _, ...known } = optionsOf(name)!;
      expect(known).toEqual({ model: name, traits, maxOutputTokens });
    }
  }
});

it('the simulator serves every model of the default price table', async () => {
  const simulator = await startUpstreamSimulator({ apiKey: 'key' });
  const headers = { 'x-api-key': 'key', 'anthropic-version': '2023-06-01' };
  const names = defaultPriceTable()
    .list()
    .flatMap(({ id, aliases }) => [id, ...aliases]);
  const statuses = await Promise.all(
    names.map(async (name) => {
      const { status } = await fetch(`${simulator.url}/v1/models/${name}`, { headers });
      return [name, status];
    }),
  );
  expect(statuses).toEqual(names.map((name) => [name, 200]));
  await simulator.close();
});

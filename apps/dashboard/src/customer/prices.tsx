/** What a million tokens of each model costs that the key may use. */

import { Loaded } from '../shared/parts.js';
import { PriceTable } from '../shared/price-table.js';
import type { Price } from '../shared/price-table.js';
import { useResource } from '../shared/resource.js';
import { get } from './session.js';

export function Prices() {
  const prices = useResource('prices', (signal) =>
    get<{ readonly data: readonly Price[] }>('prices', { signal }),
  );
  return (
    <section class="card" aria-label="Prices">
      <h2>Prices</h2>
      <p class="quiet">Each charge in the ledger names the rates that it was made with.</p>
      <Loaded of={prices} what="the prices">
        {({ data }) => <PriceTable prices={data} />}
      </Loaded>
    </section>
  );
}

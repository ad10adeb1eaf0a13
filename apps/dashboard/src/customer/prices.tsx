/** The prices of the models that the key may use. */

import { Loaded } from '../shared/parts.js';
import { PriceTable } from '../shared/price-table.js';
import { useResource } from '../shared/resource.js';
import { call } from './session.js';

export function Prices() {
  const prices = useResource('prices', (signal) => call('GET /v1/dashboard/prices', { signal }));
  return (
    <section class="card" aria-label="Prices">
      <h2>Prices</h2>
      <p class="quiet">Each charge in the ledger shows the rates that applied to it.</p>
      <Loaded of={prices} what="the prices">
        {({ data, are_agreed: areAgreed }) => (
          <>
            {areAgreed && <p>These prices were agreed for your account.</p>}
            <PriceTable prices={data} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** The prices of the models that the key may use, and the account's allowance. */

import type { Sent } from '../shared/api/gateway-types.js';
import { Loaded, Money } from '../shared/controls/parts.js';
import { PriceTable } from '../shared/money/price-table.js';
import { useResource } from '../shared/api/resource.js';
import { call } from './session.js';

export function Prices({ allowance }: Pick<Sent<'accountOverview'>, 'allowance'>) {
  const prices = useResource('prices', (signal) => call('GET /v1/dashboard/prices', { signal }));
  return (
    <section class="card" aria-label="Prices">
      <h2>Prices</h2>
      <p class="quiet">
        Each charge in the ledger shows the rates that applied to it. Costs that programs such as
        Claude Code show are estimates at the provider's list prices.
      </p>
      <Loaded of={prices} what="the prices">
        {({ data, are_agreed: areAgreed }) => (
          <>
            {areAgreed && <p>These prices were agreed for your account.</p>}
            {allowance !== null && (
              <p>
                Each month includes <Money usd={allowance.amount_usd} /> of credit, which is used
                first and does not carry over.
              </p>
            )}
            <PriceTable prices={data} />
          </>
        )}
      </Loaded>
    </section>
  );
}

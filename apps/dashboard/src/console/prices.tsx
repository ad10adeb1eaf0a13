/** The price table in force. */

import { Count, Loaded, TableFrame } from '../shared/parts.js';
import { useResource } from '../shared/resource.js';
import { call } from './session.js';

interface Model {
  readonly id: string;
  readonly display_name: string;
  readonly rate_in: string;
  readonly rate_out: string;
  readonly max_output_tokens: number;
  readonly context_window: number;
}

export function Prices() {
  const models = useResource('models', (signal) =>
    call<{ readonly data: readonly Model[] }>('models', { signal }),
  );
  return (
    <section class="card" aria-label="Prices">
      <h2>Prices in force</h2>
      <p class="quiet">USD per million tokens, as new requests are charged.</p>
      <Loaded of={models} what="the prices">
        {({ data }) => (
          <TableFrame label="Prices by model">
            <table>
              <caption class="hidden">Prices by model</caption>
              <thead>
                <tr>
                  <th scope="col">Model</th>
                  <th scope="col" class="n">
                    Input
                  </th>
                  <th scope="col" class="n">
                    Output
                  </th>
                  <th scope="col" class="n">
                    Context
                  </th>
                  <th scope="col" class="n">
                    Longest output
                  </th>
                </tr>
              </thead>
              <tbody>
                {data.map((model) => (
                  <tr key={model.id}>
                    <th scope="row">
                      {model.display_name}
                      <span class="when id">{model.id}</span>
                    </th>
                    <td class="n">{model.rate_in}</td>
                    <td class="n">{model.rate_out}</td>
                    <td class="n">
                      <Count of={model.context_window} />
                    </td>
                    <td class="n">
                      <Count of={model.max_output_tokens} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableFrame>
        )}
      </Loaded>
    </section>
  );
}

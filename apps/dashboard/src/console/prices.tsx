/** The price table in force, compared with the models that the upstream offers. */

import { countText } from '../shared/text/count-text.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { CLASSES, PriceTable } from '../shared/money/price-table.js';
import type { Price } from '../shared/money/price-table.js';
import { Badge, CodeBlock, FailureNote, Loaded, Time, sentence } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import type { Resource } from '../shared/api/resource.js';
import { call } from './session.js';

type TableModel = Sent<'offeredModel'>;
type ModelComparison = Sent<'modelComparison'>;

export function Prices() {
  const models = useResource('models', (signal) => call('GET /admin/models', { signal }));
  const comparison = useResource(
    'models/upstream',
    (signal) => call('GET /admin/models/upstream', { signal }),
    // The upstream is asked once.
    { isLive: false },
  );
  return (
    <div class="stack">
      <section class="card" aria-label="Prices">
        <h2>Prices in force</h2>
        <p class="quiet">
          New requests are charged at these prices. “Offered” and “not offered” say whether the
          upstream offers the model.
        </p>
        <UpstreamState of={comparison} />
        <Loaded of={models} what="the prices">
          {({ data }) => (
            <PriceTable
              prices={data.map(priceOf)}
              note={({ model }) => (
                <>
                  <Offer id={model} comparison={comparison.value} />
                  <NextChange of={data.find(({ id }) => id === model)} />
                </>
              )}
            />
          )}
        </Loaded>
      </section>
      {comparison.value !== undefined && comparison.value.missing.length > 0 && (
        <Missing entries={comparison.value.missing} />
      )}
    </div>
  );
}

function priceOf({ id, context_window, ...rest }: TableModel): Price {
  return { ...rest, model: id, max_input_tokens: context_window };
}

/** Says how the table differs from the models of the upstream, or why that is not known. */
function UpstreamState({ of }: { readonly of: Resource<ModelComparison> }) {
  const { value, failure, reload } = of;
  if (failure !== undefined) {
    if (!('message' in failure)) return <FailureNote failure={failure} what="the comparison" />;
    return (
      <div class="note warning" role="status">
        <p>
          <strong>Not compared with the upstream:</strong> {sentence(failure.message)} The prices
          below are still in force.
        </p>
        <button type="button" onClick={reload}>
          Ask again
        </button>
      </div>
    );
  }
  if (value === undefined) {
    return (
      <p class="loading" role="status">
        Asking the upstream for its models…
      </p>
    );
  }
  const { missing, gone } = value;
  return (
    <p role="status">
      {missing.length === 0
        ? 'The table has every model that the upstream offers.'
        : `The table lacks ${countText(missing.length, 'model')} that the upstream offers. See below.`}{' '}
      {gone.length > 0 &&
        `The upstream does not offer ${countText(gone.length, 'model')} of the table.`}
    </p>
  );
}

function Offer(props: { readonly id: string; readonly comparison: ModelComparison | undefined }) {
  const { id, comparison } = props;
  if (comparison === undefined) return <Badge tone="plain">not compared</Badge>;
  return comparison.gone.includes(id) ? (
    <Badge tone="bad">not offered</Badge>
  ) : (
    <Badge tone="good">offered</Badge>
  );
}

/** Names only the rates that change. */
function NextChange({ of }: { readonly of: TableModel | undefined }) {
  if (of === undefined || of.next_change === null) return null;
  const { effective_from, rates } = of.next_change;
  const changed = CLASSES.filter(([name]) => rates[name] !== of.rates[name]);
  return (
    <span class="when wraps">
      From <Time iso={effective_from} />:{' '}
      {changed.map(([name, label]) => `${label} ${rates[name]}`).join('; ')}
    </span>
  );
}

function Missing({ entries }: { readonly entries: ModelComparison['missing'] }) {
  return (
    <section class="card" aria-label="Models that the table lacks">
      <h2>Models that the table lacks</h2>
      <p>
        Paste the entries of the models that you want to offer into the price table, replace each
        null, check the traits, and reload the settings.
      </p>
      {entries.map((entry) => (
        <CodeBlock
          key={entry.id}
          text={`${JSON.stringify(entry, null, 2)},`}
          what={`the entry of ${entry.id}`}
        />
      ))}
    </section>
  );
}

/** A figure with its name, for a list of figures. */

import type { ComponentChildren } from 'preact';
import { Headline, Money } from './parts.js';

export function Figure(props: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div class="figure">
      <dt>{props.name}</dt>
      <dd>
        <Headline.Provider value={true}>{props.children}</Headline.Provider>
      </dd>
    </div>
  );
}

export function Amount({ name, usd }: { readonly name: string; readonly usd: string }) {
  return (
    <Figure name={name}>
      <Money usd={usd} />
    </Figure>
  );
}

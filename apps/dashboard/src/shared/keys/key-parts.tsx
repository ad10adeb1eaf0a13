/** The state and the caps of a key, for the customer's page and the console. */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Change } from '../controls/actions.js';
import type { Sent } from '../api/gateway-types.js';
import type { Column } from '../controls/paged-table.js';
import { AmountField, Badge, Money } from '../controls/parts.js';
import { readTypedUsd, separatorProblem, usdText } from '../text/usd.js';
import { typedText } from '../text/numbers.js';

/** The members of a key that the customer's page and the console receive. */
type HolderKey = Sent<'holderKey'>;
/** A key of either page. Only the customer's page knows the bounds, because they bind customers. */
export type KeyFacts = Omit<HolderKey, 'operator_bounds'> & {
  readonly operator_bounds?: HolderKey['operator_bounds'];
};
export type Caps = KeyFacts['caps'];

const PERIODS = ['day', 'week', 'month', 'total'] as const;
type Period = (typeof PERIODS)[number];
/** The caps as typed. An empty text means no cap. */
export type CapTexts = Readonly<Record<Period, string>>;

/** How texts name the period of a cap. */
export const PERIOD_TEXTS: Readonly<Record<Period, string>> = {
  day: 'per day',
  week: 'per week',
  month: 'per month',
  total: 'in all',
};

export function KeyState({ of }: { readonly of: KeyFacts }) {
  return (
    <>
      <Badge tone={TONES[of.standing]}>
        {of.standing === 'exhausted' ? 'no balance' : of.standing}
      </Badge>
      {of.standing === 'suspended' && of.state !== 'suspended' && (
        <span class="when">with its account</span>
      )}
    </>
  );
}

const TONES = {
  active: 'good',
  exhausted: 'bad',
  suspended: 'warning',
  expired: 'warning',
  revoked: 'plain',
} as const;

/** Whether a hint, such as `gw_Ab3d…9xYz`, is that of a credential. */
export function isHintOf(hint: string, credential: string): boolean {
  const [start = '', end = ''] = hint.split('…');
  return credential.startsWith(start) && credential.endsWith(end);
}

/** Whether an action can change the state of the key. Only operators resume what they suspended. */
export function mayChange(
  { state, operator_bounds: bounds }: KeyFacts,
  action: 'suspend' | 'resume' | 'revoke',
): boolean {
  switch (action) {
    case 'suspend':
      return state === 'active';
    case 'resume':
      return state === 'suspended' && bounds?.suspended !== true;
    case 'revoke':
      return state !== 'revoked';
  }
}

/** The caps that an operator set, which the holder may lower but not raise. Empty without any. */
export function boundText({ operator_bounds: bounds }: KeyFacts): string {
  if (bounds === undefined || bounds === null) return '';
  return PERIODS.flatMap((period) => {
    const most = bounds[`cap_${period}_usd`];
    return most === null ? [] : [`${usdText(most)} ${PERIOD_TEXTS[period]}`];
  }).join(', ');
}

function KeyCaps({ caps }: { readonly caps: Caps }) {
  const set = PERIODS.filter((period) => caps[period].cap_usd !== null);
  if (set.length === 0) return <span class="quiet">none</span>;
  return (
    <>
      {set.map((period) => (
        <div key={period} class="cap">
          <Money usd={caps[period].used_usd} /> of <Money usd={caps[period].cap_usd ?? '0'} />{' '}
          {PERIOD_TEXTS[period]}
        </div>
      ))}
    </>
  );
}

export function capText(caps: Caps): string {
  const set = PERIODS.filter((period) => caps[period].cap_usd !== null);
  return set.length === 0
    ? 'none'
    : set
        .map((period) => `${usdText(caps[period].cap_usd ?? '0')} ${PERIOD_TEXTS[period]}`)
        .join(', ');
}

/** The part of the column of caps that both lists of keys have. */
export const CAPS_COLUMN: Partial<Column<KeyFacts>> = {
  value: ({ caps }) => capText(caps),
  cell: ({ caps }) => <KeyCaps caps={caps} />,
};

export function useCapFields(caps: Caps | undefined): {
  readonly texts: CapTexts;
  readonly problem: string | undefined;
  readonly fields: ComponentChildren;
} {
  const before = (period: Period) => typedText(caps?.[period].cap_usd ?? '');
  const [texts, setTexts] = useState<CapTexts>({
    day: before('day'),
    week: before('week'),
    month: before('month'),
    total: before('total'),
  });
  const wrong = PERIODS.find(
    (period) =>
      texts[period].trim() !== '' && (readTypedUsd(texts[period])?.startsWith('-') ?? true),
  );
  return {
    texts,
    problem:
      wrong === undefined
        ? undefined
        : (separatorProblem(texts[wrong]) ??
          `Cap ${PERIOD_TEXTS[wrong]}: an amount such as 25 or ${typedText('0.5')}.`),
    fields: (
      <div class="grid">
        {PERIODS.map((period) => (
          <AmountField
            key={period}
            label={`Cap ${PERIOD_TEXTS[period]}`}
            required={false}
            placeholder="none"
            value={texts[period]}
            onValue={(value) => {
              setTexts({ ...texts, [period]: value });
            }}
          />
        ))}
      </div>
    ),
  };
}

/** The caps in the body of a request: `null` removes a cap, and `undefined` leaves it unchanged. */
export function readCaps(caps: Caps | undefined, texts: CapTexts) {
  const changed = new Map(changedPeriods(caps, texts));
  return {
    cap_day_usd: changed.get('day'),
    cap_week_usd: changed.get('week'),
    cap_month_usd: changed.get('month'),
    cap_total_usd: changed.get('total'),
  };
}

export function capChanges(caps: Caps | undefined, texts: CapTexts): readonly Change[] {
  return changedPeriods(caps, texts).map(([period, after]) => {
    const before = caps?.[period].cap_usd ?? null;
    return {
      what: `Cap ${PERIOD_TEXTS[period]}`,
      before: before === null ? 'none' : <Money usd={before} />,
      after: after === null ? 'none' : <Money usd={after} />,
    };
  });
}

function changedPeriods(
  caps: Caps | undefined,
  texts: CapTexts,
): readonly (readonly [Period, string | null])[] {
  return PERIODS.map((period) => [period, readTypedUsd(texts[period]) ?? null] as const).filter(
    ([period, after]) => after !== (caps?.[period].cap_usd ?? null),
  );
}

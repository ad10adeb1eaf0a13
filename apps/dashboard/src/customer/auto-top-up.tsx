/** The customer's order to charge a saved payment method when the balance is low. */

import { useEffect, useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { Change } from '../shared/controls/actions.js';
import { Figure } from '../shared/controls/figures.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { AmountField, Badge, Loaded, Money, TextField } from '../shared/controls/parts.js';
import { useResource } from '../shared/api/resource.js';
import { separatorProblem, parseUsd, readTypedUsd } from '../shared/text/usd.js';
import { leaveToPay, returned } from './paying.js';
import { call } from './session.js';
import { LEAVING_NOTE, amountProblem, failureText } from './top-up.js';
import type { Payments } from './use-payments.js';
import { typedText } from '../shared/text/numbers.js';

type AutoTopUp = Sent<'autoTopUp'>;

const STATES = {
  off: ['plain', 'off'],
  needs_method: ['warning', 'needs a method'],
  on: ['good', 'on'],
  stopped: ['bad', 'stopped'],
} as const;

const ORDER_LABELS = {
  off: 'Set up',
  needs_method: 'Save a method',
  on: 'Change',
  stopped: 'Place the order again',
} as const;

/** The time between two reads of the order while the saved method is not confirmed yet. */
const POLL_MS = 3_000;

export function AutoTopUpCard({ limits }: { readonly limits: Payments['limits'] }) {
  const order = useResource('auto-top-up', (signal) =>
    call('GET /v1/dashboard/auto-top-up', { signal }),
  );
  const [acting, setActing] = useState<'order' | 'cancel'>();
  const { isLoading, reload } = order;
  const isAwaited = order.value?.state === 'needs_method' && returned.value?.end === 'saved';
  useEffect(() => {
    if (isLoading || !isAwaited) return undefined;
    const timer = setTimeout(reload, POLL_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [isLoading, isAwaited]);
  const callbacks = {
    onDone: reload,
    onClose: () => {
      setActing(undefined);
    },
  };
  return (
    <section class="card" aria-label="Auto top-up">
      <Loaded of={order} what="the order">
        {(value) => (
          <div class="stack">
            <div class="row middle">
              <h2>Auto top-up</h2>
              <Badge tone={STATES[value.state][0]}>{STATES[value.state][1]}</Badge>
            </div>
            <p>{describe(value, isAwaited)}</p>
            {value.state !== 'off' && <Rules of={value} />}
            <div class="row no-print">
              <button
                type="button"
                onClick={() => {
                  setActing('order');
                }}
              >
                {ORDER_LABELS[value.state]}
              </button>
              {value.state !== 'off' && (
                <button
                  type="button"
                  class="danger"
                  onClick={() => {
                    setActing('cancel');
                  }}
                >
                  Cancel auto top-up
                </button>
              )}
            </div>
            {acting === 'order' && <OrderDialog order={value} limits={limits} {...callbacks} />}
            {acting === 'cancel' && (
              <ActionDialog
                title="Cancel auto top-up"
                changes={() => [
                  {
                    what: 'Auto top-up',
                    before: STATES[value.state][1],
                    after: 'off; the saved method is forgotten',
                  },
                ]}
                confirm="Cancel the order"
                isDangerous
                run={() => call('DELETE /v1/dashboard/auto-top-up', {})}
                done={() => <p>Auto top-up is off.</p>}
                {...callbacks}
              />
            )}
          </div>
        )}
      </Loaded>
    </section>
  );
}

function describe({ state, stopped_code: code }: AutoTopUp, isAwaited: boolean): string {
  switch (state) {
    case 'off':
      return 'A saved payment method is charged automatically when the balance is low, within limits that you set.';
    case 'needs_method':
      return isAwaited
        ? 'Waiting for the confirmation of the saved method.'
        : 'Nothing is charged before you save a method on the payment page.';
    case 'on':
      return 'The saved method is charged when the balance is below the threshold.';
    case 'stopped':
      return `${stopText(code)}. Nothing is charged until you place the order again.`;
  }
}

function stopText(code: string | null): string {
  const isPaidBack = code === 'refund' || code === 'chargeback';
  return isPaidBack
    ? 'Stopped, because a payment was refunded or disputed'
    : `The last charge failed${failureText(code)}`;
}

function Rules({ of }: { readonly of: AutoTopUp }) {
  return (
    <dl class="grid">
      {RULES.filter(({ name }) => of[name] !== null).map(({ name, label }) => (
        <Figure key={name} name={label}>
          {shownRule(name, String(of[name]))}
        </Figure>
      ))}
    </dl>
  );
}

const RULES = [
  { name: 'threshold_usd', label: 'When the balance is below', usual: '5' },
  { name: 'amount_usd', label: 'Amount', usual: '25' },
  { name: 'target_usd', label: 'Or up to a balance of', usual: '' },
  { name: 'max_per_day', label: 'Times per day, at most', usual: '2' },
  { name: 'max_per_month_usd', label: 'Per month, at most', usual: '100' },
] as const;
type Rule = (typeof RULES)[number]['name'];
type Texts = Readonly<Record<Rule, string>>;

function shownRule(name: Rule, text: string) {
  return name === 'max_per_day' ? text : <Money usd={text} />;
}

/** Either the amount of each top-up or the balance up to which it pays is given. */
function isEmpty(text: string): boolean {
  return text.trim() === '';
}

const MOST_PER_DAY = 24;

function OrderDialog(props: {
  readonly order: AutoTopUp;
  readonly limits: Payments['limits'];
  readonly onDone: () => void;
  readonly onClose: () => void;
}) {
  const { order, limits, ...callbacks } = props;
  const [texts, setTexts] = useState(
    () =>
      Object.fromEntries(
        RULES.map(({ name, usual }) => [
          name,
          typedText(
            String(
              order[name] ?? (name === 'amount_usd' && order.target_usd !== null ? '' : usual),
            ),
          ),
        ]),
      ) as Texts,
  );
  const usd = (name: Rule) => readTypedUsd(texts[name]) ?? '0';
  const needsMethod = order.state === 'off' || order.state === 'needs_method';
  return (
    <ActionDialog
      title="Auto top-up"
      fields={RULES.map(({ name, label }) => {
        const field = {
          label,
          required: name !== 'amount_usd' && name !== 'target_usd',
          value: texts[name],
          onValue(value: string) {
            setTexts({ ...texts, [name]: value });
          },
        };
        return name === 'max_per_day' ? (
          <TextField key={name} inputMode="numeric" {...field} />
        ) : (
          <AmountField key={name} {...field} />
        );
      })}
      problem={problemOf(texts, limits)}
      changes={() => changesOf(order, texts)}
      warning={needsMethod ? LEAVING_NOTE : undefined}
      confirm={needsMethod ? 'Save a method' : 'Place the order'}
      run={async () => {
        const placed = await call('PUT /v1/dashboard/auto-top-up', {
          body: {
            threshold_usd: usd('threshold_usd'),
            ...(isEmpty(texts.target_usd)
              ? { amount_usd: usd('amount_usd') }
              : { target_usd: usd('target_usd') }),
            max_per_day: Number(texts.max_per_day),
            max_per_month_usd: usd('max_per_month_usd'),
          },
        });
        if (placed.ok && placed.value.setup_url !== null) {
          leaveToPay(placed.value.setup_url, undefined);
        }
        return placed;
      }}
      done={({ setup_url: url }) =>
        url === null ? (
          <p>Auto top-up is on.</p>
        ) : (
          <p>
            The page that saves a method opens in this tab. <a href={url}>Open it now</a> if it does
            not.
          </p>
        )
      }
      {...callbacks}
    />
  );
}

function problemOf(texts: Texts, limits: Payments['limits']): string | undefined {
  const threshold = readTypedUsd(texts.threshold_usd);
  if (threshold === undefined || parseUsd(threshold) <= 0n) {
    return (
      separatorProblem(texts.threshold_usd) ??
      'When the balance is below: an amount above 0, such as 5.'
    );
  }
  if (!isEmpty(texts.amount_usd) && !isEmpty(texts.target_usd)) {
    return 'Give either the amount of each top-up or the balance up to which it pays, not both.';
  }
  const paid: Rule = isEmpty(texts.target_usd) ? 'amount_usd' : 'target_usd';
  const label = RULES.find(({ name }) => name === paid)?.label;
  const amount = amountProblem(texts[paid], limits, label);
  if (amount !== undefined) return amount;
  const least = parseUsd(readTypedUsd(texts[paid]) ?? '0');
  if (least <= parseUsd(threshold)) {
    return `${label ?? ''}: must be above the threshold, so that a top-up lifts the balance above it.`;
  }
  const times = Number(texts.max_per_day);
  if (!/^\d+$/.test(texts.max_per_day.trim()) || times < 1 || times > MOST_PER_DAY) {
    return `Times per day: a whole number from 1 to ${String(MOST_PER_DAY)}.`;
  }
  const most = readTypedUsd(texts.max_per_month_usd);
  return amountProblem(texts.max_per_month_usd, undefined) !== undefined ||
    parseUsd(most ?? '0') < least
    ? (separatorProblem(texts.max_per_month_usd) ??
        'Per month: in whole cents, and at least what one top-up may pay.')
    : undefined;
}

function changesOf(order: AutoTopUp, texts: Texts): readonly Change[] {
  return RULES.map(({ name, label }) => ({
    what: label,
    before: order[name] === null ? 'none' : shownRule(name, String(order[name])),
    after: isEmpty(texts[name])
      ? 'none'
      : shownRule(name, name === 'max_per_day' ? texts[name] : (readTypedUsd(texts[name]) ?? '0')),
  })).filter(({ before, after }) => before !== 'none' || after !== 'none');
}

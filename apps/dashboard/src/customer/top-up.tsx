/** Starts a payment on the provider's page, and shows the state of a payment afterwards. */

import { useEffect, useState } from 'preact/hooks';
import { ActionDialog } from '../shared/controls/actions.js';
import type { Sent } from '../shared/api/gateway-types.js';
import { AmountField, Money, Segments, sentence } from '../shared/controls/parts.js';
import {
  formatUsd,
  parseUsd,
  readTypedUsd,
  roundedUsd,
  separatorProblem,
  usdText,
} from '../shared/text/usd.js';
import { endPaying, leaveToPay, payingId, returned } from './paying.js';
import { call } from './session.js';
import type { Payments } from './use-payments.js';
import { decimalText, typedText } from '../shared/text/numbers.js';

const PRESETS = ['10', '25', '50', '100'] as const;

export function TopUpButton(props: {
  readonly balanceUsd: string;
  readonly limits: Payments['limits'];
  readonly onStarted: () => void;
}) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <button
        type="button"
        class="main no-print"
        onClick={() => {
          setIsOpen(true);
        }}
      >
        Top up
      </button>
      {isOpen && (
        <TopUpDialog
          {...props}
          onClose={() => {
            setIsOpen(false);
          }}
        />
      )}
    </>
  );
}

function TopUpDialog(props: {
  readonly balanceUsd: string;
  readonly limits: Payments['limits'];
  readonly onStarted: () => void;
  readonly onClose: () => void;
}) {
  const { balanceUsd, limits, onStarted, onClose } = props;
  const presets = PRESETS.filter((preset) => amountProblem(preset, limits) === undefined);
  const [text, setText] = useState<string>(presets[1] ?? presets[0] ?? '');
  const amount = readTypedUsd(text);
  return (
    <ActionDialog
      title="Top up"
      fields={
        <>
          {presets.length > 0 && (
            <Segments
              label="Usual amounts"
              value={text}
              options={presets.map((preset) => [preset, roundedUsd(preset, { least: 0 })] as const)}
              onValue={setText}
            />
          )}
          <AmountField
            value={text}
            onValue={setText}
            hint={
              limits === undefined
                ? 'In whole cents.'
                : `From ${decimalText(limits.minUsd)} to ${decimalText(limits.maxUsd)}, in whole cents.`
            }
          />
        </>
      }
      problem={amountProblem(text, limits)}
      changes={() => [
        {
          what: 'Balance, once it is paid',
          before: <Money usd={balanceUsd} />,
          after: <Money usd={formatUsd(parseUsd(balanceUsd) + parseUsd(amount ?? '0'))} />,
        },
      ]}
      warning={LEAVING_NOTE}
      confirm={`Pay ${usdText(amount ?? '0')}`}
      run={async (actionId) => {
        const started = await call('POST /v1/dashboard/top-ups', {
          body: { amount_usd: amount ?? '' },
          // A changed amount starts another payment.
          headers: { 'Idempotency-Key': `${actionId}-${amount ?? ''}` },
        });
        if (started.ok && started.value.url !== null) {
          leaveToPay(started.value.url, started.value.id);
        }
        return started;
      }}
      done={({ url }) =>
        url === null ? (
          <p>This payment has ended.</p>
        ) : (
          <p>
            The payment page opens in this tab. <a href={url}>Open it now</a> if it does not.
          </p>
        )
      }
      onDone={onStarted}
      onClose={onClose}
    />
  );
}

/** Says that the provider's page replaces this one. */
export const LEAVING_NOTE = 'You leave this page and come back to it.';

const CENT_UNITS = 10n ** 12n;

/**
 * @param text - The amount as typed.
 * @param label - What its field is called.
 */
export function amountProblem(
  text: string,
  limits: Payments['limits'],
  label = 'Amount',
): string | undefined {
  const typed = readTypedUsd(text);
  const units = typed === undefined ? 0n : parseUsd(typed);
  const isValid =
    units > 0n &&
    units % CENT_UNITS === 0n &&
    (limits === undefined ||
      (units >= parseUsd(limits.minUsd) && units <= parseUsd(limits.maxUsd)));
  if (isValid) return undefined;
  const range =
    limits === undefined
      ? `above 0 USD, such as 25 or ${typedText('12.50')}`
      : `from ${decimalText(limits.minUsd)} to ${usdText(limits.maxUsd)}`;
  return separatorProblem(text) ?? `${label}: ${range}, in whole cents.`;
}

/** The state of the payment for which this tab left the page. */
export function ReturnNote({ payments }: { readonly payments: Payments }) {
  const payment = payments.latest.find(({ id }) => id === payingId.value);
  const state = payment?.state;
  const hasEnded = state === 'paid' || state === 'failed' || state === 'expired';
  useEffect(() => {
    if (hasEnded) endPaying();
  }, [hasEnded]);
  if (payment === undefined) return null;
  const { tone, content } = contentOf(payment);
  return (
    <div class={`note ${tone}`} role="status">
      <p>{content}</p>
    </div>
  );
}

function contentOf(payment: Sent<'payment'>) {
  const amount = <Money usd={payment.amount_usd} />;
  switch (payment.state) {
    case 'open':
      return returned.value?.end === 'paid'
        ? {
            tone: 'plain',
            content: (
              <>Waiting for the confirmation of your payment of {amount}. You may stay here.</>
            ),
          }
        : {
            tone: 'plain',
            content: (
              <>
                You have not paid {amount} yet.{' '}
                {payment.url !== null && <a href={payment.url}>Go back to the payment page</a>}
              </>
            ),
          };
    case 'pending':
      return {
        tone: 'plain',
        content: (
          <>
            Your payment of {amount} is on its way. Some methods take days; it is credited when the
            money has arrived.
          </>
        ),
      };
    case 'paid':
      return { tone: 'good', content: <>Your payment of {amount} has arrived. Thank you.</> };
    case 'failed':
      return {
        tone: 'bad',
        content: (
          <>
            Your payment of {amount} has failed{failureText(payment.failure_code)}. Nothing is
            credited.
          </>
        ),
      };
    case 'expired':
      return {
        tone: 'warning',
        content: <>The payment page for {amount} has expired. Nothing was paid.</>,
      };
  }
}

export function failureText(code: string | null): string {
  return code === null ? '' : `: ${sentence(code.replaceAll('_', ' ')).slice(0, -1)}`;
}

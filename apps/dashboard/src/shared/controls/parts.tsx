/** Small components for both pages, such as amounts, loading states, copy buttons and fields. */

import { signal } from '@preact/signals';
import { createContext } from 'preact';
import type { ComponentChildren, VNode } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { Failure } from '../api/api.js';
import { capitalized } from '../text/capitalized.js';
import { OWN_STYLE, decimalText } from '../text/numbers.js';
import type { Resource } from '../api/resource.js';
import { keep, readKept } from '../api/browser-storage.js';
import { LAST_DAY, dateText, timeText, waitText } from '../text/times.js';
import { exactUsd, readTypedUsd, roundedUsd } from '../text/usd.js';
import type { alignedDecimals } from '../text/usd.js';

const DIGITS = 'every-digit';

/** Whether amounts show every digit, everywhere on the page. The browser remembers it. */
export const showsAllDigits = signal(readKept('localStorage', DIGITS) === 'yes');

/** Whether amounts stand alone, as a headline: with two decimals. */
export const Headline = createContext(false);

/** An amount. Its exact value is always in the element's `value` and in its title. */
export function Money(props: {
  readonly usd: string;
  /** The decimals of the column that the amount stands in. */
  readonly aligned?: ReturnType<typeof alignedDecimals> | undefined;
}) {
  const { usd, aligned } = props;
  const isHeadline = useContext(Headline);
  const shown = showsAllDigits.value
    ? exactUsd(usd, { least: aligned?.exact })
    : roundedUsd(usd, { least: aligned?.rounded, most: isHeadline ? 2 : undefined });
  return (
    <data class={moneyClass(shown)} value={usd} title={`${usd} USD`}>
      {shown}
    </data>
  );
}

/** An exact decimal that is no amount, such as a rate. */
export function Decimal({ of }: { readonly of: string }) {
  return (
    <data class="number" value={of}>
      {decimalText(of)}
    </data>
  );
}

/** A margin: one below zero is money that is lost, and is marked. */
export function Signed({ usd }: { readonly usd: string }) {
  if (!usd.startsWith('-')) return <Money usd={usd} />;
  return (
    <strong class="loss">
      <span class="hidden">loss: </span>
      <Money usd={usd} />
    </strong>
  );
}

/** The header of a column by which rows can be sorted. */
export function SortedHeader(props: {
  readonly label: string;
  readonly class: string | undefined;
  /** `undefined` if the rows are not sorted by it. */
  readonly isRising: boolean | undefined;
  /** What is sorted, if it is not all. */
  readonly of?: string | undefined;
  readonly sort: () => void;
}) {
  const { label, isRising, of } = props;
  const sorted = isRising === undefined ? undefined : isRising ? 'ascending' : 'descending';
  return (
    <th scope="col" role="columnheader" class={props.class} aria-sort={sorted}>
      <button type="button" class="sort" onClick={props.sort}>
        {label}
        <span aria-hidden="true">{isRising === undefined ? '' : isRising ? ' ↑' : ' ↓'}</span>
        {sorted !== undefined && of !== undefined && <span class="when">{of}</span>}
      </button>
    </th>
  );
}

/** An amount with every digit, for lists whose lines add up, also on paper. */
export function ExactMoney({ usd }: { readonly usd: string }) {
  const shown = exactUsd(usd);
  return (
    <data class={moneyClass(shown)} value={usd}>
      {shown}
    </data>
  );
}

/** More signs than these do not fit beside other figures. */
const MOST_SIGNS = 14;

function moneyClass(shown: string): string {
  return shown.length > MOST_SIGNS ? 'money long' : 'money';
}

export function DigitsSwitch() {
  return (
    <label class="switch">
      <input
        type="checkbox"
        checked={showsAllDigits.value}
        onChange={(event) => {
          showsAllDigits.value = event.currentTarget.checked;
          keep('localStorage', DIGITS, showsAllDigits.value ? 'yes' : undefined);
        }}
      />{' '}
      Every digit
    </label>
  );
}

export function Count({ of }: { readonly of: number | bigint }) {
  return (
    <data class="number" value={String(of)}>
      {OWN_STYLE.whole(of)}
    </data>
  );
}

/** A time in the viewer's zone; the title has it in UTC. */
export function Time({ iso }: { readonly iso: string | null | undefined }) {
  if (iso === null || iso === undefined) return <span class="quiet">never</span>;
  return (
    <time dateTime={iso} title={`${iso} (UTC)`}>
      {timeText(iso)}
    </time>
  );
}

export function DateOf({ iso }: { readonly iso: string }) {
  return (
    <time dateTime={iso} title={`${iso} (UTC)`}>
      {dateText(iso)}
    </time>
  );
}

export function Badge(props: {
  readonly tone: 'good' | 'warning' | 'bad' | 'plain';
  readonly children: ComponentChildren;
}) {
  return <span class={`badge ${props.tone}`}>{props.children}</span>;
}

/** Shows the loaded value. Before that, it shows that it is loading, or why loading failed. */
export function Loaded<Value>(props: {
  readonly of: Resource<Value>;
  readonly what: string;
  /** As of a `FailureNote`. */
  readonly repeats?: boolean;
  readonly children: (value: Value) => ComponentChildren;
}) {
  const { value, failure, isLoading, reload } = props.of;
  return (
    <div aria-busy={isLoading}>
      {failure !== undefined && (
        <FailureNote
          failure={failure}
          what={props.what}
          retry={reload}
          repeats={props.repeats}
          isStale={value !== undefined}
        />
      )}
      {value !== undefined && props.children(value)}
      {value === undefined && failure === undefined && (
        <p class="loading" role="status">
          Loading {props.what}…
        </p>
      )}
    </div>
  );
}

/**
 * Shows a failure. After status 429 or 5xx, counts down and then tries again, if it can and
 * `repeats`.
 */
export function FailureNote(props: {
  readonly failure: Failure;
  readonly what: string;
  readonly retry?: () => void;
  /** `false` for what asks a provider: only a person repeats that. */
  readonly repeats?: boolean | undefined;
  /** Older data is still on the screen. */
  readonly isStale?: boolean;
  /** Which of several it is about, said first. */
  readonly isOf?: string;
}) {
  const { failure, what, repeats = true, isStale = false, isOf } = props;
  // A refusal is final: the same request would be refused again.
  const retry = failure.kind === 'refused' ? undefined : props.retry;
  const wait = useCountdown(failure, repeats ? retry : undefined);
  return (
    <div class="note bad" role="alert">
      <p>
        <strong>
          {isOf !== undefined && `${isOf}: `}
          {TITLES[failure.kind]}.
        </strong>{' '}
        {textOf(failure, what)}
        {wait > 0 && ` Trying again in ${waitText(wait)}.`}
        {isStale && ' The content below was loaded earlier.'}
      </p>
      {retry !== undefined && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

const TITLES: Readonly<Record<Failure['kind'], string>> = {
  offline: 'No connection',
  unauthorized: 'Not signed in',
  limited: 'Too many requests',
  unavailable: 'The gateway cannot answer now',
  refused: 'Not possible',
};

function textOf(failure: Failure, what: string): string {
  return failure.kind === 'offline'
    ? `The gateway could not be reached for ${what}. Check your network, then try again.`
    : sentence(withoutField(failure));
}

/**
 * The gateway's messages begin with the field that they are about. People see its name only if they
 * may have typed it wrong, and then as words.
 */
function withoutField(failure: Exclude<Failure, { readonly kind: 'offline' }>): string {
  const [, field, text] = /^([a-z][\w-]*): (.*)$/s.exec(failure.message) ?? [];
  if (field === undefined || text === undefined) return failure.message;
  const isInput = failure.kind === 'refused' && failure.status === 400 && !field.endsWith('_id');
  const words = field.replace(/_usd$/, '').replaceAll(/[_-]/g, ' ');
  return capitalized(isInput ? `${words}: ${text}` : text);
}

export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

function useCountdown(failure: Failure, retry: (() => void) | undefined): number {
  const waits = failure.kind === 'limited' || failure.kind === 'unavailable';
  const [seconds, setSeconds] = useState(0);
  // The form may change during the countdown, so the last `retry` is called rather than the first.
  const latest = useRef(retry);
  latest.current = retry;
  useEffect(() => {
    if (!waits || retry === undefined) {
      setSeconds(0);
      return;
    }
    let left = failure.retryAfterSeconds;
    setSeconds(left);
    const timer = setInterval(() => {
      left -= 1;
      setSeconds(left);
      if (left > 0) return;
      clearInterval(timer);
      latest.current?.();
    }, 1_000);
    return () => {
      clearInterval(timer);
    };
  }, [failure]);
  return seconds;
}

export function Empty({ children }: { readonly children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      // On plain http, browsers do not let pages use the clipboard.
      setState('failed');
    }
  }
  return (
    <button type="button" class="small" onClick={() => void copy()} aria-label={`Copy ${what}`}>
      <span role="status">
        {state === 'ready' ? 'Copy' : state === 'copied' ? 'Copied' : 'Select it and copy'}
      </span>
    </button>
  );
}

export function CodeBlock({ text, what }: { readonly text: string; readonly what: string }) {
  return (
    <div class="code">
      <CopyButton text={text} what={what} />
      <pre tabIndex={0} aria-label={what}>
        {text}
      </pre>
    </div>
  );
}

export interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly hint?: string;
  readonly type?: 'text' | 'password' | 'date' | 'datetime-local';
  readonly placeholder?: string;
  readonly inputMode?: 'decimal' | 'numeric';
  readonly required?: boolean;
  readonly maxLength?: number;
  /** How the page understands what is typed. */
  readonly readBack?: string;
  /** Values that the field offers; others may be typed. */
  readonly offers?: readonly string[] | undefined;
}

export function TextField(props: TextFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <Input id={id} {...props} />
      {props.offers !== undefined && (
        <datalist id={`${id}-offers`}>
          {props.offers.map((offer) => (
            <option key={offer} value={offer} />
          ))}
        </datalist>
      )}
      {props.hint !== undefined && (
        <small id={`${id}-hint`} class="quiet">
          {props.hint}
        </small>
      )}
      {props.readBack !== undefined && (
        <small class="quiet" role="status">
          Read as <span class="money">{props.readBack}</span>.
        </small>
      )}
    </div>
  );
}

type AmountFieldProps = Pick<TextFieldProps, 'value' | 'onValue' | 'hint' | 'placeholder'> & {
  readonly label?: string;
  readonly required?: boolean;
};

/** A field for USD. With separators, the amount is read back, because languages differ in them. */
export function AmountField(props: AmountFieldProps) {
  const { label = 'Amount', required = true, ...field } = props;
  const amount = /[^\d\s]/.test(field.value) ? readTypedUsd(field.value) : undefined;
  return (
    <TextField
      label={`${label}, USD`}
      required={required}
      inputMode="decimal"
      {...field}
      {...(amount === undefined ? {} : { readBack: exactUsd(amount, { least: 2 }) })}
    />
  );
}

/** The browser neither completes nor corrects what is typed: it may be a secret or an id. */
function Input({ id, onValue, ...props }: TextFieldProps & { readonly id: string }) {
  const common = {
    id,
    value: props.value,
    placeholder: props.placeholder,
    inputMode: props.inputMode,
    required: props.required,
    maxLength: props.maxLength,
    list: props.offers === undefined ? undefined : `${id}-offers`,
    autocomplete: 'off',
    spellcheck: false,
    'aria-describedby': props.hint === undefined ? undefined : `${id}-hint`,
    onInput: (event: { readonly currentTarget: HTMLInputElement }) => {
      onValue(event.currentTarget.value);
    },
  } as const;
  // The types of attributes depend on the type of the field.
  switch (props.type) {
    case 'password':
      return <input type="password" {...common} />;
    case 'date':
      return <input type="date" max={LAST_DAY} {...common} />;
    case 'datetime-local':
      return <input type="datetime-local" max={`${LAST_DAY}T23:59`} {...common} />;
    default:
      return <input type="text" {...common} />;
  }
}

type Options<Value extends string> = readonly (readonly [value: Value, label: string])[];

/** @returns the option with this value, or else the first: an address can have any value */
export function optionOf<Value extends string>(
  options: readonly [Options<Value>[number], ...Options<Value>],
  value: string | undefined,
): Value {
  return (options.find(([each]) => each === value) ?? options[0])[0];
}

export function Choice<Value extends string>(props: {
  readonly label: string;
  readonly value: Value;
  readonly options: Options<Value>;
  readonly onValue: (value: Value) => void;
}) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select
        id={id}
        value={props.value}
        onChange={(event) => {
          props.onValue(event.currentTarget.value as Value);
        }}
      >
        {props.options.map(([value, label]) => (
          <option key={value} value={value} selected={value === props.value}>
            {label}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A choice of one of a few options, which are all visible. */
/** @param props.value - Empty: none of the options is chosen. */
export function Segments<Value extends string>(props: {
  readonly label: string;
  readonly value: Value | '';
  readonly options: Options<Value>;
  readonly onValue: (value: Value) => void;
  /** For more of them than fit into one line of a phone. */
  readonly wraps?: true;
}) {
  return (
    <div
      class={props.wraps === true ? 'segments wrapping' : 'segments'}
      role="group"
      aria-label={props.label}
    >
      {props.options.map(([value, label]) => (
        <button
          key={value}
          type="button"
          aria-pressed={value === props.value}
          onClick={() => {
            props.onValue(value);
          }}
        >
          {label}
        </button>
      ))}
    </div>
  );
}

/** A table that scrolls sideways in its own frame, and can be scrolled by keyboard. */
export function TableFrame({
  label,
  children,
}: {
  readonly label: string;
  readonly children: ComponentChildren;
}) {
  return (
    <div class="table-frame" role="region" aria-label={label} tabIndex={0}>
      {children}
    </div>
  );
}

export type Fact = readonly [name: string, value: string | VNode | null];

/** Names with their values; those without a value are left out. */
export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <>
              <dt key={`${name} name`}>{name}</dt>
              <dd key={name}>{value}</dd>
            </>
          ),
      )}
    </dl>
  );
}

/** Lets keyboard users skip the head. It is a button, because a link would change the route. */
export function SkipLink() {
  return (
    <button
      type="button"
      class="skip"
      onClick={() => {
        document.getElementById('main')?.focus();
      }}
    >
      Skip to the content
    </button>
  );
}

/** Offers a text as a file, from memory. */
export function download(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads the file after this task, so the address must stay valid until then.
  setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 60_000);
}

/** Says that the answers are made up, as nobody should pay for them. */
export function SimulatorNote() {
  return (
    <p class="note warning" role="status">
      <strong>No model answers here.</strong> This gateway runs with its simulator: the answers are
      made up, and real credit is charged for them.
    </p>
  );
}

/**
 * The variables of tracing, which OpenTelemetry defines for every program.
 * https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/
 */

import { z } from 'zod';
import type { Variable } from './variable.js';

const endpoint = z
  .url({ protocol: /^https?$/, error: 'must be an http(s):// URL', abort: true })
  .refine((url) => {
    const { username, password } = new URL(url);
    return username === '' && password === '';
  }, 'must not contain a user name or password; use OTEL_EXPORTER_OTLP_HEADERS');

const MAX_PAIRS = 64;

/** `name=value,name=value`, with percent-encoded values, as W3C Baggage writes them. */
const pairs = z.string().transform((list, context): Readonly<Record<string, string>> => {
  const items = list.split(',').filter((item) => item.trim() !== '');
  const read = items.map(readPair);
  const known = read.filter((pair) => pair !== undefined);
  if (known.length === read.length && read.length <= MAX_PAIRS) return Object.fromEntries(known);
  context.addIssue(
    `must be at most ${String(MAX_PAIRS)} pairs name=value with commas between, values percent-encoded`,
  );
  return z.NEVER;
});

const headerPairs = pairs.refine(
  (headers) =>
    Object.entries(headers).every(
      ([name, value]) => /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value),
    ),
  'must be names and values that HTTP headers can carry',
);

const SAMPLERS = [
  'always_on',
  'always_off',
  'traceidratio',
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
] as const;

export const tracingVariables = {
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    group: true,
    about:
      'Traces by OpenTelemetry: off unless one of the two addresses is set. /v1/traces is ' +
      'appended to the first. Spans are sent as JSON (http/json), which collectors accept on ' +
      'port 4318. Example: http://collector.internal:4318',
    schema: endpoint.optional(),
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: {
    schema: endpoint.optional(),
    isSecret: true,
  },
  OTEL_EXPORTER_OTLP_PROTOCOL: {
    schema: z
      .literal('http/json', { error: 'must be http/json; collectors take it on port 4318' })
      .optional(),
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    about:
      "Headers with the collector's credential: name=value pairs, separated by commas, the " +
      'values percent-encoded. A secret.',
    schema: headerPairs.optional(),
    isSecret: true,
  },
  OTEL_SERVICE_NAME: {
    about: 'The name of this gateway in traces.',
    schema: z.string().trim().min(1).max(255),
    default: 'gateway',
  },
  OTEL_RESOURCE_ATTRIBUTES: {
    about:
      'More attributes of this process, in the same form: ' +
      'deployment.environment.name=production',
    schema: pairs.optional(),
  },
  OTEL_TRACES_SAMPLER: {
    about:
      'Which requests are recorded: always_on, always_off or traceidratio. With parentbased_ in ' +
      'front, requests that their clients chose not to record are not recorded. A client can ' +
      'never cause more requests to be recorded.',
    schema: z.enum(SAMPLERS, { error: `must be ${SAMPLERS.join(', ')}` }),
    default: 'parentbased_always_on',
  },
  OTEL_TRACES_SAMPLER_ARG: {
    about: 'For traceidratio: the part of all requests that is recorded, from 0 to 1.',
    schema: z.coerce
      .number({ error: 'must be a number from 0 to 1' })
      .min(0, 'must be a number from 0 to 1')
      .max(1, 'must be a number from 0 to 1'),
    default: '1',
  },
  OTEL_SDK_DISABLED: {
    about: 'true: no traces, whatever else is set.',
    schema: z
      .string()
      .toLowerCase()
      .pipe(z.enum(['true', 'false'], { error: 'must be true or false' }))
      .transform((value) => value === 'true'),
    default: 'false',
  },
} as const satisfies Readonly<Record<string, Variable>>;

export interface TracingConfig {
  /** Where spans are sent, path included. */
  readonly url: string;
  /** Secrets: they carry the collector's credential. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
  readonly resourceAttributes: Readonly<Record<string, string>>;
  readonly sampling: Sampling;
}

export interface Sampling {
  /** The largest share of all requests that is recorded, from 0 to 1. */
  readonly ratio: number;
  /** Whether a request is left out if its `traceparent` says that its client did not record it. */
  readonly followsParent: boolean;
}

type Values = z.output<
  z.ZodObject<{
    [Name in keyof typeof tracingVariables]: (typeof tracingVariables)[Name]['schema'];
  }>
>;

/** @returns the configuration of tracing; `undefined` if it is off */
export function tracingConfigOf(v: Values): TracingConfig | undefined {
  const base = v.OTEL_EXPORTER_OTLP_ENDPOINT;
  const url =
    v.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (base === undefined ? undefined : `${base.replace(/\/+$/, '')}/v1/traces`);
  if (url === undefined || v.OTEL_SDK_DISABLED) return undefined;
  return {
    url,
    headers: v.OTEL_EXPORTER_OTLP_HEADERS ?? {},
    serviceName: v.OTEL_SERVICE_NAME,
    resourceAttributes: v.OTEL_RESOURCE_ATTRIBUTES ?? {},
    sampling: samplingOf(v.OTEL_TRACES_SAMPLER, v.OTEL_TRACES_SAMPLER_ARG),
  };
}

function samplingOf(sampler: (typeof SAMPLERS)[number], ratio: number): Sampling {
  const followsParent = sampler.startsWith('parentbased_');
  if (sampler.endsWith('always_off')) return { ratio: 0, followsParent };
  return { ratio: sampler.endsWith('traceidratio') ? ratio : 1, followsParent };
}

function readPair(item: string): readonly [string, string] | undefined {
  const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(item) ?? [];
  if (name === undefined || value === undefined) return undefined;
  try {
    return [decodeURIComponent(name), decodeURIComponent(value)];
  } catch {
    return undefined;
  }
}

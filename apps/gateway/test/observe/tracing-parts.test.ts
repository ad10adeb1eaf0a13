/** Parts of tracing that need no gateway: sampling, and the variables. */

import { ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api';
import { describe, expect, it } from '@jest/globals';
import { SamplingDecision } from '@opentelemetry/sdk-trace';
import { ConfigError, readConfig } from '../../src/config/config.js';
import type { Sampling } from '../../src/config/tracing-config.js';
import { createSampler } from '../../src/observe/tracing/sampler.js';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
/** Every ratio above 0 admits it, because its hash is 0. */
const LUCKY_ID = `${'0000000100000001'.repeat(2)}`;

/** How many of 10,000 requests are sampled. The random numbers are evenly spread. */
function sampledOf(sampling: Sampling, parent?: { readonly traceFlags: 0 | 1 }): number {
  let drawn = 0;
  const sampler = createSampler(sampling, () => (drawn++ % 10_000) / 10_000);
  const spanId = 'b7ad6b7169203331';
  const context =
    parent === undefined
      ? ROOT_CONTEXT
      : trace.setSpanContext(ROOT_CONTEXT, {
          traceId: LUCKY_ID,
          spanId,
          isRemote: true,
          traceFlags: parent.traceFlags,
        });
  return Array.from({ length: 10_000 }).filter(() => {
    const { decision } = sampler.shouldSample(context, LUCKY_ID, '', SpanKind.SERVER, {}, []);
    return decision === SamplingDecision.RECORD_AND_SAMPLED;
  }).length;
}

describe('the sampler', () => {
  // F117
  it.each([0, 0.01, 0.5, 1])(
    "never samples more than the operator's ratio, whatever the client sends: %d",
    (ratio) => {
      for (const followsParent of [true, false]) {
        expect(sampledOf({ ratio, followsParent }, { traceFlags: 1 })).toBe(10_000 * ratio);
        const notSampled = sampledOf({ ratio, followsParent }, { traceFlags: 0 });
        expect(notSampled).toBe(followsParent ? 0 : 10_000 * ratio);
      }
    },
  );

  it("samples the gateway's own traces by their trace id, as OpenTelemetry's ratio sampler does", () => {
    expect(sampledOf({ ratio: 0.01, followsParent: true })).toBe(10_000);
    expect(sampledOf({ ratio: 0, followsParent: true })).toBe(0);
  });
});

describe('the variables of tracing', () => {
  const tracingOf = (env: Record<string, string>) => readConfig(env).tracing;

  it('leave tracing off without an address, and with OTEL_SDK_DISABLED', () => {
    expect(tracingOf({ OTEL_SERVICE_NAME: 'shop' })).toBeUndefined();
    expect(tracingOf({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' })).toBeUndefined();
  });

  it('have the standard meanings and defaults', () => {
    expect(tracingOf(ENDPOINT)).toEqual({
      url: 'http://collector:4318/v1/traces',
      headers: {},
      serviceName: 'gateway',
      resourceAttributes: {},
      sampling: { ratio: 1, followsParent: true },
    });
    expect(
      tracingOf({
        ...ENDPOINT,
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://traces.example.com/ingest',
        OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20abc=, x-team = a%2Cb',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        OTEL_TRACES_SAMPLER: 'traceidratio',
        OTEL_TRACES_SAMPLER_ARG: '0.25',
      }),
    ).toEqual({
      url: 'https://traces.example.com/ingest',
      headers: { authorization: 'Bearer abc=', 'x-team': 'a,b' },
      serviceName: 'gateway',
      resourceAttributes: { 'deployment.environment.name': 'test' },
      sampling: { ratio: 0.25, followsParent: false },
    });
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector'],
    ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://user:secret-canary@collector'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'secret-canary'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=secret-canary%0d%0a'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'name=secret-canary%zz'],
    ['OTEL_RESOURCE_ATTRIBUTES', 'secret-canary'],
    ['OTEL_TRACES_SAMPLER', 'jaeger_remote'],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
    ['OTEL_TRACES_SAMPLER_ARG', 'half'],
    ['OTEL_SDK_DISABLED', 'maybe'],
  ])(
    'are refused with a problem that names the variable and not its value: %s=%s',
    (name, value) => {
      const read = () => readConfig({ ...ENDPOINT, [name]: value });
      expect(read).toThrow(ConfigError);
      expect(read).toThrow(new RegExp(`${name}: must`));
      expect(read).not.toThrow(/canary/);
    },
  );
});

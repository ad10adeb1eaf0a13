/** Collectors that fail, several processes, and the forms of the metrics. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createRemoteCaller } from '../../src/operator/operations/callers.js';
import { startGatedUpstream } from '../support/gated-upstream.js';
import type { GatedUpstream } from '../support/gated-upstream.js';
import { spawnGateway } from '../support/gateway-process.js';
import type { GatewayProcess } from '../support/gateway-process.js';
import { postMessages, startTestGateway, userMessage } from '../support/gateway.js';
import { readMetric } from '../support/metrics.js';
import { startSpanReceiver } from '../support/span-receiver.js';
import { until } from '../support/until.js';

const ADMIN_TOKEN = 'admin-token-of-the-tests';
const OPEN_METRICS = 'application/openmetrics-text;version=1.0.0;q=0.9,text/plain;q=0.5';

let upstream: GatedUpstream;
let gateway: GatewayProcess | undefined;
let dataDir: string;
beforeAll(async () => {
  upstream = await startGatedUpstream();
});
afterEach(async () => {
  gateway?.send('SIGKILL');
  await gateway?.exited;
  gateway = undefined;
  rmSync(dataDir, { recursive: true, force: true });
});
afterAll(() => upstream.close());

async function start(env: Readonly<Record<string, string>>) {
  dataDir = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  gateway = await spawnGateway({
    ADMIN_TOKEN,
    DATA_DIR: dataDir,
    KEY_CONCURRENCY: '1000',
    KEY_BURST: '100000',
    KEY_REQUESTS_PER_MINUTE: '1000000',
    UPSTREAM_URL: upstream.url,
    UPSTREAM_API_KEY: 'upstream-key',
    ...env,
  });
  const call = createRemoteCaller({ url: gateway.adminUrl, token: ADMIN_TOKEN });
  const key = await call('createKey', { name: 'test', balance_usd: '1000' });
  return { ...gateway, apiKey: key.api_key ?? '' };
}

async function send(
  to: { readonly url: string; readonly apiKey: string },
  requests: number,
): Promise<void> {
  for (let sent = 0; sent < requests; sent += 50) {
    const batch = Array.from({ length: Math.min(50, requests - sent) }, async () => {
      const response = await postMessages(to, to.apiKey, userMessage('Hello'));
      await response.text();
      return response.status;
    });
    expect(new Set(await Promise.all(batch))).toEqual(new Set([200]));
  }
}

const spansCounted = (outcome: string) => `gateway_trace_spans_total{outcome="${outcome}"}`;

describe('a collector', () => {
  // F116: the collector is down, or takes requests and never answers: requests are served; lost
  // spans are counted, and logged once.
  it.each(['down', 'silent', 'refusing'])(
    'that is %s makes no request fail; the lost spans are counted and logged once',
    async (kind) => {
      const collector = await startSpanReceiver(() => (kind === 'silent' ? undefined : 400));
      if (kind === 'down') await collector.close();
      const served = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
      // Each request has two spans, so these are more than can wait for the collector.
      await send(served, 1_100);
      // While the collector is down or silent, spans wait. If they come slowly, the attempts to
      // export them end before the queue is full.
      const counted = async (outcome: string) =>
        (await readMetric(served, spansCounted(outcome))) ?? 0;
      await until(async () => (await counted('failed')) + (await counted('dropped')) > 0);
      expect(await readMetric(served, spansCounted('exported'))).toBe(0);
      const warnings = () => served.output().match(/traces cannot be exported/g) ?? [];
      await until(() => warnings().length > 0);
      await send(served, 100);
      expect(warnings()).toHaveLength(1);
      if (kind !== 'down') await collector.close();
    },
  );

  // F116
  it('that never answers does not keep the gateway from stopping', async () => {
    const collector = await startSpanReceiver(() => undefined);
    const served = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    await send(served, 5);
    served.send('SIGTERM');
    expect(await served.exited).toBe(0);
    expect(served.output()).toContain('the last traces were not exported');
    await collector.close();
  });

  it('gets the spans of all workers, also those of the last requests before a stop', async () => {
    const collector = await startSpanReceiver();
    const served = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, WORKERS: '2' });
    await send(served, 100);
    const metrics = await fetch(`${served.adminUrl}/metrics`, {
      headers: { accept: OPEN_METRICS },
    });
    const text = await metrics.text();
    expect(text).toMatch(
      /_seconds_bucket\{.*worker="\d".*\} \d+ # \{trace_id="[0-9a-f]{32}",span_id=/,
    );
    expect(text.endsWith('\n# EOF\n')).toBe(true);
    served.send('SIGTERM');
    expect(await served.exited).toBe(0);
    expect(collector.spans.filter(({ kind }) => kind === 2).length).toBe(100);
    expect(collector.spans.filter(({ kind }) => kind === 3).length).toBe(100);
    expect(new Set(collector.spans.map(({ spanId }) => spanId)).size).toBe(200);
    await collector.close();
  });
});

describe('the metrics', () => {
  it('have exemplars in the OpenMetrics format only, and none in the text format', async () => {
    const collector = await startSpanReceiver();
    const traced = await startTestGateway({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } });
    const { apiKey } = await traced.createKey();
    await (await postMessages(traced, apiKey, userMessage('Hello'))).text();
    const read = async (accept: string) => {
      const response = await fetch(`${traced.adminUrl}/metrics`, { headers: { accept } });
      return { type: response.headers.get('content-type'), text: await response.text() };
    };
    const classic = await read('text/plain');
    const open = await read(OPEN_METRICS);
    const again = await read('*/*');
    expect(open.type).toMatch(/^application\/openmetrics-text/);
    const [, traceId] =
      /_duration_seconds_bucket\{.*\} 1 # \{trace_id="(\w{32})",span_id="\w{16}"\} [\d.]+ [\d.]+\n/.exec(
        open.text,
      ) ?? [];
    expect(traceId).toBeDefined();
    expect(open.text).toMatch(/# TYPE gateway_requests counter\ngateway_requests_total\{/);
    for (const { type, text } of [classic, again]) {
      expect(type).toMatch(/^text\/plain/);
      expect(text).not.toContain(' # {');
      expect(text).toMatch(/# TYPE gateway_requests_total counter\n/);
    }
    await until(() => collector.spans.some((span) => span.traceId === traceId));
    await traced.stop();
    await collector.close();
  });

  it('and the headers sent upstream contain nothing of tracing while it is off', async () => {
    const off = await startTestGateway();
    const { apiKey } = await off.createKey();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const response = await postMessages(off, apiKey, userMessage('Hello'), { traceparent });
    await response.text();
    const [sent] = off.simulator.journal.requests();
    expect(Object.keys(sent!.headers).filter((name) => name.startsWith('trace'))).toEqual([]);
    const metrics = await fetch(`${off.adminUrl}/metrics`, { headers: { accept: OPEN_METRICS } });
    expect(metrics.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await metrics.text()).not.toContain('gateway_trace_spans_total');
    await off.stop();
  });
});

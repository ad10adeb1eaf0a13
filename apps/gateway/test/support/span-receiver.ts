/** An OpenTelemetry collector that receives spans by OTLP over HTTP, in JSON. */

import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly traceState: string | undefined;
  readonly name: string;
  /** 2: server, 3: client. */
  readonly kind: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly isError: boolean;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
}

/** The spans of one request. */
export interface ReceivedTrace {
  readonly server: ReceivedSpan;
  readonly client: ReceivedSpan | undefined;
}

export interface SpanReceiver {
  /** For `OTEL_EXPORTER_OTLP_ENDPOINT`. */
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** All bodies as they came. */
  readonly text: () => string;
  /** The headers and path of the last request. */
  readonly last: () => Pick<IncomingMessage, 'headers' | 'url'> | undefined;
  /** Resolves when the spans of a request of this id have come. */
  traceOf(requestId: string): Promise<ReceivedTrace>;
  close(): Promise<void>;
}

/**
 * @param respond - Returns the status, by default 200, or `undefined` to send no answer. Spans are
 *   kept only with 200.
 */
export async function startSpanReceiver(
  respond: (response: ServerResponse) => number | undefined = () => 200,
): Promise<SpanReceiver> {
  const spans: ReceivedSpan[] = [];
  let text = '';
  let last: IncomingMessage | undefined;

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request.setEncoding('utf8')) body += chunk as string;
    last = request;
    text += `${body}\n`;
    const status = respond(response);
    if (status === undefined) return;
    if (status === 200) spans.push(...readSpans(body));
    response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
  }

  const server = createServer((request, response) => {
    take(request, response).catch(() => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${String(port)}`,
    spans,
    text: () => text,
    last: () => last,
    async traceOf(requestId) {
      for (;;) {
        const found = spans.find((span) => span.attributes['gateway.request.id'] === requestId);
        if (found !== undefined) {
          const client = spans.find(({ parentSpanId }) => parentSpanId === found.spanId);
          return { server: found, client };
        }
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface WireAttribute {
  readonly key: string;
  readonly value: WireValue;
}
interface WireValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly WireValue[] };
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly WireAttribute[];
}
interface WireBody {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}

function readSpans(body: string): ReceivedSpan[] {
  const { resourceSpans } = JSON.parse(body) as WireBody;
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans
      .flatMap(({ spans }) => spans)
      .map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId,
        traceState: span.traceState,
        name: span.name,
        kind: span.kind,
        startMs: Number(BigInt(span.startTimeUnixNano) / 1_000_000n),
        endMs: Number(BigInt(span.endTimeUnixNano) / 1_000_000n),
        isError: span.status.code === 2,
        attributes: membersOf(span.attributes),
        resource: membersOf(resource.attributes),
      })),
  );
}

function membersOf(attributes: readonly WireAttribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: WireValue): unknown {
  if (value.arrayValue !== undefined) return value.arrayValue.values.map(valueOf);
  if (value.intValue !== undefined) return Number(value.intValue);
  return value.stringValue ?? value.doubleValue ?? value.boolValue;
}

/**
 * Turns the bytes of a request into the bytes that go upstream, or into a refusal. Input and output
 * are plain data, so that the same function runs on the main thread and in a worker thread.
 */

import { isUtf8 } from 'node:buffer';
import type { ModelPrice } from '@gateway/billing';
import { translateRequest } from '@gateway/translator';
import type { Note, ResponseContext } from '@gateway/translator';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonShape } from '@gateway/translator/native';
import type { Config, PricedFeature } from '../config.js';
import { badRequest } from '../refusal.js';
import type { Refusal } from '../refusal.js';
import { chargeBoundOf } from './charge-bound.js';
import type { ChargeFindings } from './charge-bound.js';
import { createCostScan, createNativeInspector } from './inspect-native-request.js';
import type { InspectNative } from './inspect-native-request.js';
import { MAX_ITEMS } from './shared-account-rules.js';

export interface PreparationRules {
  readonly models: readonly ModelPrice[];
  readonly allow: ReadonlySet<PricedFeature>;
  readonly overdraft: Config['overdraft'];
}

export interface PreparationJob {
  readonly format: 'messages' | 'count_tokens' | 'chat.completions';
  /**
   * Removed once it has been read, so that body and translation are not in memory at the same time.
   */
  body: Uint8Array;
  /** Whether a beta widens the model's context window, as the client's headers say. */
  readonly hasLongContext: boolean;
}

export type Preparation =
  | {
      readonly outcome: 'prepared';
      /** Id of the model's price. */
      readonly model: string;
      /** The bytes to send upstream; the job's own bytes if nothing changes. */
      readonly body: Uint8Array;
      /** The most the request can cost, in units of 10^-14 USD; only without overdraft. */
      readonly chargeBound: bigint | undefined;
      readonly chat: ChatContext | undefined;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** The job is too large for these {@link ThreadLimits}. */
  | { readonly outcome: 'too_large' };

export interface ChatContext {
  readonly response: ResponseContext;
  readonly notes: readonly Note[];
}

/** The largest request that one thread prepares. */
export interface ThreadLimits {
  /** JSON values, and bytes, of a body whose bytes are forwarded as they are. */
  readonly nativeValues: number;
  readonly nativeBytes: number;
  /** JSON values, and bytes, of a body that is parsed and translated. */
  readonly chatValues: number;
  readonly chatBytes: number;
}

const LONG_CONTEXT_TOKENS = 1_000_000;
/**
 * Containers and keys may take this many times the body's bytes when it is parsed, or this much.
 */
const PARSED_RATIO = 3;
const PARSED_FLOOR_BYTES = 16 * 1024 * 1024;

/**
 * @param collectGarbage - Called between the steps of a large translation, each of which leaves as
 * much garbage as the body is large. Without it they would all be in memory at once.
 * @returns a function that prepares requests by these rules
 */
export function createPreparer(
  rules: PreparationRules,
  collectGarbage = (): void => undefined,
): (job: PreparationJob, limits: ThreadLimits) => Preparation {
  const { allow, overdraft } = rules;
  const inspectMessage = createNativeInspector({ allow, kind: 'message' });
  const inspectCount = createNativeInspector({ allow, kind: 'count_tokens' });
  const scanCost = createCostScan();
  const prices = new Map<string, ModelPrice>();
  for (const price of rules.models) {
    for (const name of [price.id, ...price.aliases]) prices.set(name, price);
  }

  function boundOf(
    job: PreparationJob,
    price: ModelPrice,
    request: { readonly bytes: number; readonly maxTokens: number | undefined },
    findings: ChargeFindings,
  ): bigint {
    const contextWindow = job.hasLongContext
      ? Math.max(price.contextWindow, LONG_CONTEXT_TOKENS)
      : price.contextWindow;
    return chargeBoundOf({ ...request, contextWindow }, findings, price);
  }

  function prepareNative(
    job: PreparationJob,
    inspect: InspectNative,
    { nativeValues, nativeBytes }: ThreadLimits,
  ): Preparation {
    if (job.body.length > nativeBytes) return { outcome: 'too_large' };
    const inspection = inspect(job.body, nativeValues);
    if (inspection.outcome === 'too_many_values') return { outcome: 'too_large' };
    if (inspection.outcome === 'refused') return inspection;
    const { model, maxTokens, body, cost } = inspection;
    const price = prices.get(model);
    if (price === undefined) return { outcome: 'refused', refusal: modelNotFound(model) };
    const prepared = { outcome: 'prepared', model: price.id, body, chat: undefined } as const;
    if (overdraft !== 'none' || job.format === 'count_tokens') {
      return { ...prepared, chargeBound: undefined };
    }
    if (cost.unboundedPath !== undefined) return refuse(unbounded(cost.unboundedPath));
    const chargeBound = boundOf(job, price, { bytes: body.length, maxTokens }, cost);
    return { ...prepared, chargeBound };
  }

  function prepareChat(job: PreparationJob, limits: ThreadLimits): Preparation {
    const bytes = job.body.length;
    if (bytes > limits.chatBytes) return { outcome: 'too_large' };
    const scan = scanTopLevel(job.body, {
      isUtf8,
      shape: CHAT_SHAPE,
      maxValues: limits.chatValues,
    });
    if (scan.outcome === 'refused') {
      if (scan.reason === 'too_many_values') return { outcome: 'too_large' };
      return refuse(badRequest(scan.message, scan.member ?? null));
    }
    if (scan.parsedBytes > Math.max(PARSED_FLOOR_BYTES, PARSED_RATIO * bytes)) {
      return refuse(badRequest('the body has too many values for its size', null));
    }
    const isLarge = bytes > COLLECTED_BODY_BYTES;
    const chat: unknown = JSON.parse(takeText(job));
    if (isLarge) collectGarbage();
    const model = modelOf(chat);
    if (model === undefined) return refuse(badRequest('model: must be a string', 'model'));
    const price = prices.get(model);
    if (price === undefined) return refuse(modelNotFound(model));
    const translation = translateRequest(chat, {
      model: price.id,
      traits: price.traits,
      maxOutputTokens: price.maxOutputTokens,
    });
    if (translation.outcome === 'refused') {
      const { problem } = translation;
      return refuse({ ...badRequest(problem.message, problem.param), code: problem.code });
    }
    if (isLarge) collectGarbage();
    const translated = Buffer.from(translation.body);
    return {
      outcome: 'prepared',
      model: price.id,
      body: translated,
      chargeBound: overdraft === 'none' ? boundOfTranslated(job, price, translated) : undefined,
      chat: { response: translation.response, notes: translation.notes },
    };
  }

  function boundOfTranslated(job: PreparationJob, price: ModelPrice, body: Uint8Array): bigint {
    const { cost, maxTokens } = scanCost(body);
    return boundOf(job, price, { bytes: body.length, maxTokens }, cost);
  }

  return (job, limits) => {
    switch (job.format) {
      case 'messages':
        return prepareNative(job, inspectMessage, limits);
      case 'count_tokens':
        return prepareNative(job, inspectCount, limits);
      case 'chat.completions':
        return prepareChat(job, limits);
    }
  };
}

const NO_BYTES = new Uint8Array(0);
/** From this size on a GC, which takes a few milliseconds, is cheap beside the rest of the work. */
const COLLECTED_BODY_BYTES = 4 * 1024 * 1024;
/** Has memory of its own (see `body.ts`). */
const LARGE_BODY_BYTES = 64 * 1024;

function takeText(job: PreparationJob): string {
  const { buffer, byteOffset, length } = job.body;
  const text = Buffer.from(buffer, byteOffset, length).toString();
  job.body = NO_BYTES;
  // Frees the memory now. V8 sees only a small object, so a GC would come late.
  if (length >= LARGE_BODY_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
  return text;
}

/**
 * Lists that the translation walks. The translation judges their items; here only their number is
 * limited.
 */
const LIST: JsonShape = { maxItems: MAX_ITEMS };
const CHAT_LISTS: Readonly<Record<string, JsonShape>> = {
  messages: {
    maxItems: MAX_ITEMS,
    item: { member: (name) => (name === 'content' || name === 'tool_calls' ? LIST : undefined) },
  },
  tools: LIST,
  functions: LIST,
  stop: LIST,
};
const CHAT_SHAPE: JsonShape = {
  member: (name) => (Object.hasOwn(CHAT_LISTS, name) ? CHAT_LISTS[name] : undefined),
};

function modelOf(chat: unknown): string | undefined {
  const model =
    typeof chat === 'object' && chat !== null && 'model' in chat ? chat.model : undefined;
  return typeof model === 'string' ? model : undefined;
}

export function modelNotFound(model: string): Refusal {
  return {
    status: 404,
    type: 'not_found_error',
    message: `model: ${JSON.stringify(model.slice(0, 100))} is not offered; GET /v1/models lists those that are`,
    param: 'model',
    code: 'model_not_found',
  };
}

/** If balances must never fall below zero, only requests with an upper bound are sent. */
function unbounded(path: string): Refusal {
  return badRequest(
    `${path}: is not possible on this gateway, which sets aside the most a request can cost before it is ` +
      'sent: nothing limits what this costs',
    path,
  );
}

function refuse(refusal: Refusal): Preparation {
  return { outcome: 'refused', refusal };
}

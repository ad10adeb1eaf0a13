/**
 * Turns the bytes of a request into the bytes that go upstream, or into a refusal. Input and output
 * are plain data, so that the same function runs on the main thread and in a worker thread.
 */

import { isUtf8 } from 'node:buffer';
import type { Fees, ModelPrice } from '@gateway/billing';
import type { Encoding } from '@gateway/translator';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonSpan } from '@gateway/translator/native';
import { newRefusal } from '../../base/errors/refusal.js';
import type { Refusal } from '../../base/errors/refusal.js';
import type { ChatConfig, Config } from '../../config/config.js';
import type { PricedFeature } from '../../config/variables.js';
import { badRequest } from '../../http/refusal.js';
import { bytesOf } from '../response-memory/referred-responses.js';
import type { KeptConversation, RecalledResponses } from '../response-memory/referred-responses.js';
import { NO_USAGE } from '../../ledger/usage-bound.js';
import type { UsageBound } from '../../ledger/usage-bound.js';
import type { TranslatedFormat, TranslationContext } from '../translation-context.js';
import { boundsAtHomes, unboundedAtHomes } from './bounds-at-homes.js';
import type { BoundsAtHomes, PricesAtHome } from './bounds-at-homes.js';
import { chargeBoundOf, feeBoundOf } from './charge-bound.js';
import { MAX_ITEMS } from './deciding-members.js';
import { createChargeScan, createNativeInspector } from './inspect-native-request.js';
import type { InspectNative } from './inspect-native-request.js';
import { leastTokens, linear, statedLimit } from './lowerable-limit.js';
import type { LowerableLimit } from './lowerable-limit.js';
import type { NamedModel } from './native-body-scan.js';
import { encodeParts, writeJson } from './long-strings.js';
import { isGiven, readScalar } from './native-fields.js';
import { readTag } from './read-tag.js';
import { createUsageFinder } from './translated-findings.js';
import { usageBoundOf } from './token-bound.js';
import { TRANSLATIONS, translatorFeatures } from './translations.js';

export interface PreparationRules {
  readonly models: readonly ModelPrice[];
  readonly fees: Fees;
  /** Upstream accounts with prices of their own; empty if there are none. */
  readonly homes?: readonly PricesAtHome[];
  readonly allow: ReadonlySet<PricedFeature>;
  readonly overdraft: Config['exchange']['overdraft'];
  readonly chat: ChatConfig;
  /** The member of a request's `metadata` that is its tag. */
  readonly tagMember?: string | undefined;
}

export interface PreparationJob {
  readonly format: 'messages' | 'count_tokens' | TranslatedFormat;
  /**
   * If it is translated, removed once it has been read, so that body and translation are not in
   * memory at the same time.
   */
  body: Uint8Array;
  /** The kept responses, or thinking, that the body may need; `undefined` if none are kept. */
  recalled?: RecalledResponses | undefined;
  /** Whether the body is to be searched for what is kept. `false` once that is done. */
  mayRecall?: boolean;
  /** Whether a beta widens the model's context window, as the client's headers say. */
  readonly hasLongContext: boolean;
  /** Whether the client allows a lower limit than it stated, as its headers say. */
  readonly lowersLimit?: boolean;
  /** Whether to read the `user` of a request that is translated. */
  readonly readsUser?: boolean;
}

export type Preparation =
  | {
      readonly outcome: 'prepared';
      /** Id of the model's price. */
      readonly model: string;
      /** Every model that the request names, each by the id of its price. */
      readonly models: readonly NamedModel[];
      /** Where the members of a native body are; `undefined` of a translation. */
      readonly members: ReadonlyMap<string, JsonSpan> | undefined;
      /** Members of a native request that this version does not know, named by the client. */
      readonly unknownMembers: readonly string[];
      /** What its `metadata` names to sum by. */
      readonly tag: string | undefined;
      /** The text of its `user`, if the job asks for it. */
      readonly user: string | undefined;
      /** The bytes to send upstream; the job's own bytes if nothing changes. */
      readonly body: Uint8Array;
      /**
       * The highest charge that the request can have, in units of 10^-14 USD; only with
       * `OVERDRAFT=none`.
       */
      readonly chargeBound: bigint | undefined;
      /** The same at upstream accounts with prices of their own; absent if none has. */
      readonly homeBounds?: BoundsAtHomes;
      /** More usage than this cannot be that of the request's answer. */
      readonly usageBound: UsageBound;
      /** The limit of the answer's tokens, if it may be lowered and a charge bound is needed. */
      readonly limit: LowerableLimit | undefined;
      /** `undefined` for the native format. */
      readonly translation: TranslationContext | undefined;
      /** The conversation to keep: see `KeptResponse`. `undefined`: nothing is to be kept. */
      readonly conversation: Uint8Array | undefined;
    }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  /** The job is too large for these {@link ThreadLimits}. */
  | { readonly outcome: 'too_large' };

/** The largest request that one thread prepares. */
export interface ThreadLimits {
  /** JSON values and bytes of a native body, which is scanned but not parsed. */
  readonly nativeValues: number;
  readonly nativeBytes: number;
  /** JSON values and bytes of a body that is parsed and translated. */
  readonly chatValues: number;
  readonly chatBytes: number;
}

type Encode = Encoding<Uint8Array>['encode'];

/**
 * A parsed body's containers and keys may take this many times its bytes, or {@link
 * PARSED_FLOOR_BYTES} if that is more.
 */
const PARSED_RATIO = 3;
const PARSED_FLOOR_BYTES = 16 * 1024 * 1024;

/**
 * @param collectGarbage - Called between the steps of a large translation. Each step leaves about
 * as much garbage as the size of the body. Without this call, the garbage of all steps would be in
 * memory at once.
 * @returns a function that prepares requests by these rules
 */
export function createPreparer(
  rules: PreparationRules,
  collectGarbage = (): void => undefined,
): (job: PreparationJob, limits: ThreadLimits) => Preparation {
  const preparer = new Preparer(rules, collectGarbage);
  return (job, limits) => preparer.prepare(job, limits);
}

class Preparer {
  readonly #overdraft: Config['exchange']['overdraft'];
  readonly #features: ReturnType<typeof translatorFeatures>;
  readonly #inspectMessage: InspectNative;
  readonly #inspectCount: InspectNative;
  readonly #scanForCharge = createChargeScan();
  readonly #findUsage = createUsageFinder(this.#scanForCharge);
  readonly #prices = new Map<string, ModelPrice>();
  readonly #fees: Fees;
  readonly #homes: readonly PricesAtHome[];
  readonly #tagMember: string | undefined;
  readonly #collectGarbage: () => void;

  constructor(
    { models, fees, homes = [], allow, overdraft, chat, tagMember }: PreparationRules,
    collectGarbage: () => void,
  ) {
    this.#fees = fees;
    this.#homes = homes;
    this.#overdraft = overdraft;
    this.#tagMember = tagMember;
    this.#features = translatorFeatures(chat, allow);
    this.#inspectMessage = createNativeInspector({ allow, kind: 'message' });
    this.#inspectCount = createNativeInspector({ allow, kind: 'count_tokens' });
    this.#collectGarbage = collectGarbage;
    for (const price of models) {
      for (const name of [price.id, ...price.aliases]) this.#prices.set(name, price);
    }
  }

  prepare(job: PreparationJob, limits: ThreadLimits): Preparation {
    switch (job.format) {
      case 'messages':
        return this.#prepareNative(job, this.#inspectMessage, limits);
      case 'count_tokens':
        return this.#prepareNative(job, this.#inspectCount, limits);
      case 'chat.completions':
      case 'responses':
      case 'input_tokens':
        return this.#prepareTranslated(job, job.format, limits);
    }
  }

  /** @returns the models with the ids of their prices, or the refusal if one has no price */
  #priceModels(named: readonly NamedModel[]) {
    const models: NamedModel[] = [];
    const found: ModelPrice[] = [];
    for (const { path, model, span } of named) {
      const price = model === undefined ? undefined : this.#prices.get(model);
      if (model !== undefined && price === undefined) return refuse(modelNotFound(model, path));
      models.push({ path, model: price?.id, span });
      if (price !== undefined) found.push(price);
    }
    return { outcome: 'priced', models, found } as const;
  }

  #prepareNative(
    job: PreparationJob,
    inspect: InspectNative,
    { nativeValues, nativeBytes }: ThreadLimits,
  ): Preparation {
    if (job.body.length > nativeBytes) return { outcome: 'too_large' };
    const inspection = inspect(job.body, nativeValues);
    if (inspection.outcome === 'too_many_values') return { outcome: 'too_large' };
    if (inspection.outcome === 'refused') return inspection;
    const { model, maxTokens, body, findings, unknownMembers, members } = inspection;
    const price = this.#prices.get(model);
    if (price === undefined) return refuse(modelNotFound(model));
    const priced = this.#priceModels(inspection.models);
    if (priced.outcome === 'refused') return priced;
    const { models } = priced;
    const hasLongContext = job.hasLongContext || findings.hasBetas;
    const size = { bytes: body.length, maxTokens, hasLongContext };
    const isOpen = unknownMembers.length > 0 || models.some((named) => named.model === undefined);
    const usageBound =
      job.format === 'messages'
        ? usageBoundOf(size, findings, { models: priced.found, isOpen })
        : NO_USAGE;
    const prepared = {
      outcome: 'prepared',
      model: price.id,
      models,
      members,
      unknownMembers,
      tag: readTag(inspection.metadata, this.#tagMember),
      user: undefined,
      body,
      translation: undefined,
      conversation: undefined,
      limit: undefined,
      usageBound,
    } as const;
    if (this.#overdraft !== 'none' || job.format === 'count_tokens') {
      return { ...prepared, chargeBound: undefined };
    }
    const fee = feeBoundOf(findings, this.#fees);
    const unboundedPath =
      findings.unboundedPath ??
      fee.unboundedPath ??
      unboundedAtHomes(this.#homes, findings) ??
      models.find((named) => named.model === undefined)?.path;
    if (unboundedPath !== undefined) return refuse(unbounded(unboundedPath));
    const boundWith = (tokens: number | undefined): bigint =>
      priced.found.reduce(
        (sum, each) => sum + chargeBoundOf({ ...size, maxTokens: tokens }, findings, each),
        fee.amount,
      );
    // A fallback with a limit of its own would keep it.
    const mayLower = job.lowersLimit === true && findings.fallbackTokens === 0;
    const stated = mayLower ? statedLimit(body) : undefined;
    const limit = stated && { ...stated, ...linear(boundWith), member: 'max_tokens' };
    const bounded = { ...prepared, chargeBound: boundWith(maxTokens), limit };
    return { ...bounded, ...this.#boundsAtHomes({ models: priced.found, size, findings }) };
  }

  #boundsAtHomes(request: Parameters<typeof boundsAtHomes>[1]) {
    return this.#homes.length === 0 ? {} : { homeBounds: boundsAtHomes(this.#homes, request) };
  }

  #prepareTranslated(
    job: PreparationJob,
    format: TranslatedFormat,
    limits: ThreadLimits,
  ): Preparation {
    const { shape, limitMembers } = TRANSLATIONS[format];
    const bytes = job.body.length + (job.recalled === undefined ? 0 : bytesOf(job.recalled));
    if (bytes > limits.chatBytes || hasManyValues(job.recalled, limits)) {
      return { outcome: 'too_large' };
    }
    const scan = scanTopLevel(job.body, {
      isUtf8,
      shape,
      maxValues: limits.chatValues,
    });
    if (scan.outcome === 'refused') {
      if (scan.reason === 'too_many_values') return { outcome: 'too_large' };
      return refuse(badRequest(scan.message, scan.member ?? null));
    }
    if (scan.parsedBytes > Math.max(PARSED_FLOOR_BYTES, PARSED_RATIO * bytes)) {
      return refuse(newRefusal('too_many_values'));
    }
    const given = limitMembers.filter((name) => {
      const span = scan.members.get(name);
      return isGiven(span && { body: job.body, span });
    });
    const metadata = scan.members.get('metadata');
    const tag = readTag(metadata && { body: job.body, span: metadata }, this.#tagMember);
    const userSpan = job.readsUser === true ? scan.members.get('user') : undefined;
    const user = userSpan && readScalar({ body: job.body, span: userSpan });
    const isLarge = bytes > LARGE_BYTES;
    // What the job before left would otherwise be in memory together with the parsed body.
    if (isLarge) this.#collectGarbage();
    const translation = this.#parseAndTranslate(job, format, bytes);
    if (translation.outcome === 'refused') return translation;
    if (isLarge) this.#collectGarbage();
    const { price, body } = translation;
    const prepared = {
      outcome: 'prepared',
      model: price.id,
      // A translation writes no other model into its body.
      models: [{ path: 'model', model: price.id }],
      members: undefined,
      unknownMembers: [],
      tag,
      user: typeof user === 'string' ? user : undefined,
      body,
      translation: translation.context,
      conversation: translation.conversation,
    } as const;
    const unheld = { ...prepared, chargeBound: undefined, limit: undefined } as const;
    if (format === 'input_tokens') return { ...unheld, usageBound: NO_USAGE };
    const { hasLongContext } = job;
    const bodyBytes = body.length;
    if (this.#overdraft !== 'none') {
      const { findings, maxTokens, isOpen } = this.#findUsage(body, price.id);
      const size = { bytes: bodyBytes, maxTokens, hasLongContext };
      return { ...unheld, usageBound: usageBoundOf(size, findings, { models: [price], isOpen }) };
    }
    const scanned = this.#scanForCharge(body);
    if (scanned.outcome === 'refused') return scanned;
    const { findings, limit: written } = scanned;
    const size = { bytes: bodyBytes, maxTokens: written.maxTokens, hasLongContext };
    const fee = feeBoundOf(findings, this.#fees);
    const unboundedPath = fee.unboundedPath ?? unboundedAtHomes(this.#homes, findings);
    if (unboundedPath !== undefined) return refuse(unbounded(unboundedPath));
    const boundWith = (maxTokens: number): bigint =>
      fee.amount + chargeBoundOf({ ...size, maxTokens }, findings, price);
    const limit = {
      ...written,
      ...linear(boundWith),
      // A translation asks for thinking by level, never by a budget of tokens.
      leastTokens: leastTokens({ maxTokens: written.maxTokens, thinking: 0 }),
      member: given[0] ?? limitMembers[0],
    };
    const mayLower = given.length === 0 || job.lowersLimit === true;
    return {
      ...prepared,
      usageBound: usageBoundOf(size, findings, { models: [price], isOpen: false }),
      chargeBound: boundWith(written.maxTokens),
      limit: mayLower ? limit : undefined,
      ...this.#boundsAtHomes({ models: [price], size, findings }),
    };
  }

  /** This is a function of its own so that the parsed request is garbage once it has returned. */
  #parseAndTranslate(job: PreparationJob, format: TranslatedFormat, bytes: number) {
    const isLarge = bytes > LARGE_BYTES;
    const request: unknown = JSON.parse(takeText(job));
    if (isLarge) this.#collectGarbage();
    const model = modelOf(request);
    if (model === undefined) return refuse(badRequest('model: must be a string', 'model'));
    const price = this.#prices.get(model);
    if (price === undefined) return refuse(modelNotFound(model));
    const { id, traits, maxOutputTokens } = price;
    const encode: Encode = (write) => encodeParts(write, bytes);
    const stringify = isLarge ? writeJson : undefined;
    const options = { model: id, traits, maxOutputTokens, ...this.#features, stringify, encode };
    const translation = TRANSLATIONS[format].translate(request, options, job.recalled);
    if (translation.outcome === 'translated') {
      const { items } = translation;
      if (items !== undefined && items.length > MAX_ITEMS) {
        return refuse(newRefusal('too_many_items'));
      }
      const kept = items && ({ items } satisfies KeptConversation);
      const conversation =
        kept &&
        encode((take) => {
          writeJson(kept, take);
        });
      return { ...translation, conversation, price };
    }
    const { problem } = translation;
    const { message, param, code } = problem;
    return refuse(newRefusal(code, { problem: message, param }));
  }
}

const NO_BYTES = new Uint8Array(0);
/**
 * From this size on, memory matters more than the few milliseconds that a GC between the steps or
 * writing long strings in pieces takes.
 */
export const LARGE_BYTES = 4 * 1024 * 1024;
/** A body of at least this size has an `ArrayBuffer` of its own (see `body.ts`). */
const OWN_BUFFER_BYTES = 64 * 1024;

function takeText(job: PreparationJob): string {
  const { buffer, byteOffset, length } = job.body;
  const text = Buffer.from(buffer, byteOffset, length).toString();
  job.body = NO_BYTES;
  // Frees the memory now. V8 sees only a small object, so a GC would come late.
  if (length >= OWN_BUFFER_BYTES && buffer instanceof ArrayBuffer) buffer.transfer(0);
  return text;
}

/** Whether a conversation that the request may continue takes long to parse. */
function hasManyValues(
  recalled: RecalledResponses | undefined,
  { chatValues }: ThreadLimits,
): boolean {
  if (recalled === undefined || chatValues === Infinity) return false;
  return [...recalled.continued.values()].some(({ conversation }) => {
    const scan = scanTopLevel(conversation, { isUtf8, maxValues: chatValues });
    return scan.outcome === 'refused';
  });
}

function modelOf(request: unknown): string | undefined {
  const model =
    typeof request === 'object' && request !== null && 'model' in request
      ? request.model
      : undefined;
  return typeof model === 'string' ? model : undefined;
}

export function modelNotFound(model: string, path = 'model'): Refusal {
  const shown = JSON.stringify(model.slice(0, 100));
  return newRefusal('model_not_found', { param: path, model: shown });
}

/** With `OVERDRAFT=none` a request without an upper bound is refused. */
function unbounded(path: string): Refusal {
  return newRefusal('cost_without_limit', { param: path });
}

function refuse(refusal: Refusal): Extract<Preparation, { outcome: 'refused' }> {
  return { outcome: 'refused', refusal };
}

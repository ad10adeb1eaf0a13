/**
 * Reads the usage of a message in every format. Parts of its work may be separate model runs. They
 * are listed in `iterations`, and the message's counts do not include all of them.
 * https://platform.claude.com/docs/en/build-with-claude/compaction (SDK: `BetaUsage.iterations`)
 */

import { isJsonObject, type JsonObject, objectOf, stringOf } from './raw-json.js';
import {
  type Decline,
  isTokenCount,
  readCounts,
  type ModelRun,
  type ModelUsage,
  type UncountedUsage,
  type Usage,
  type UsageReading,
  type UsageRemark,
} from './usage.js';

/** Of the model that goes on if another one declines. */
const FALLBACK = 'fallback_message';
/**
 * The kinds of iterations that the message's counts include. Those of one message may be of several
 * models: if a model declines, a fallback goes on.
 * https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
 */
const COUNTED: readonly unknown[] = ['message', FALLBACK];
/**
 * A compaction runs on the message's own model, so its tokens are added to the message's counts.
 */
const ADDED = 'compaction';
/** An advisor is another model, so its tokens have another price and are listed separately. */
const APART = 'advisor_message';

/** Where one model declined and another one went on: a `fallback` block of the content. */
export interface FallbackHop {
  /** The model that declined. */
  readonly from: string | undefined;
  /** As in `stop_details.category`; `undefined` if the upstream names none. */
  readonly category: string | undefined;
  /** Whether the model that declined had written any content before. */
  readonly hasOutput: boolean;
}

/** Collects the hops of a message, block by block. */
export class ContentWatch {
  readonly hops: FallbackHop[] = [];
  /** Whether there is any content beside the hops. */
  hasContent = false;
  #isSinceHop = false;

  /** A block of content, or a part of one. */
  onContent(): void {
    this.hasContent = true;
    this.#isSinceHop = true;
  }

  onBlock(block: unknown): void {
    const { type, from, trigger } = objectOf(block);
    if (type !== 'fallback') {
      this.onContent();
      return;
    }
    this.hops.push({
      from: stringOf(objectOf(from)['model']) || undefined,
      category: stringOf(objectOf(trigger)['category']) || undefined,
      hasOutput: this.#isSinceHop,
    });
    this.#isSinceHop = false;
  }
}

/**
 * Reads a native usage object; see `readCounts` for its counts and details. The tokens of
 * compactions are added to `usage`. All other work that the counts leave out is listed in
 * `uncounted`, so that a caller can charge it. `byModel` names the models that made the tokens in
 * `usage`, as far as the iterations name them.
 *
 * @param hops - Of the message's content, in order.
 */
export function readUsage(native: unknown, hops: readonly FallbackHop[] = []): UsageReading {
  const reading = readCounts(native);
  const { iterations } = objectOf(native);
  if (reading.outcome === 'invalid' || !Array.isArray(iterations)) return reading;
  const parts = iterations.filter(isJsonObject);
  let { usage } = reading;
  const remarks: UsageRemark[] = [...(reading.remarks ?? [])];
  const uncounted: UncountedUsage[] = [];
  const added: JsonObject[] = [];
  const unknown: JsonObject[] = [];

  for (const iteration of parts) {
    const { type } = iteration;
    if (COUNTED.includes(type)) continue;
    if (type === ADDED) {
      const part = countsOf(iteration);
      const both = part && sum(usage, part);
      if (both === undefined) uncounted.push(uncountedOf(iteration, undefined));
      else {
        usage = both;
        added.push(iteration);
      }
    } else if (type === APART) {
      uncounted.push(uncountedOf(iteration, countsOf(iteration)));
    } else {
      unknown.push(iteration);
    }
  }

  const place = placeOf(unknown, parts, reading.usage);
  const divided = divide(
    parts.filter(
      (part) => COUNTED.includes(part['type']) || (place === 'in' && unknown.includes(part)),
    ),
    reading.usage,
  );
  const declined = declinedParts(parts, hops);
  const byModel = [...withDeclines(divided.byModel, declined), ...sumsByModel(added)];
  for (const iteration of divided.beside) {
    const counts = divided.isExact ? countsOf(iteration) : undefined;
    const found = divided.isExact ? 'not in' : 'perhaps in';
    remarks.push({
      detail: 'iterations',
      message: `${kindOf(iteration)}: another model, ${found} the message's counts`,
    });
    const decline = declined.get(iteration);
    uncounted.push({
      ...uncountedOf(iteration, counts),
      ...(decline === undefined ? {} : { declined: decline }),
    });
  }
  for (const iteration of unknown) {
    const message = `${kindOf(iteration)}: unknown kind, ${place} the message's counts`;
    remarks.push({ detail: 'iterations', message });
    if (place === 'in') continue;
    uncounted.push(uncountedOf(iteration, place === 'not in' ? countsOf(iteration) : undefined));
  }
  const beside = new Set(divided.beside);
  const runs = runsOf(
    parts.filter(
      (part) =>
        !beside.has(part) &&
        (COUNTED.includes(part['type']) ||
          added.includes(part) ||
          (place === 'in' && unknown.includes(part))),
    ),
    usage,
  );
  return {
    ...reading,
    outcome: 'read',
    usage,
    ...(runs === undefined ? {} : { runs }),
    ...(remarks.length === 0 ? {} : { remarks }),
    ...(byModel.length === 0 ? {} : { byModel }),
    ...(uncounted.length === 0 ? {} : { uncounted }),
  };
}

/**
 * The iterations of models that declined before any output. An attempt consists of the consecutive
 * iterations of one model, because the upstream's own tools make it run several times. All attempts
 * but the last one declined; each has a hop. The content before the hop says whether there was
 * output, because a refusal may count a token without any. Attempts with output are billed as
 * usual, so they are left out.
 */
function declinedParts(
  parts: readonly JsonObject[],
  hops: readonly FallbackHop[],
): ReadonlyMap<JsonObject, Decline> {
  const declined = new Map<JsonObject, Decline>();
  if (hops.length === 0 && !parts.some(({ type }) => type === FALLBACK)) return declined;
  const attempts: JsonObject[][] = [];
  for (const part of parts) {
    if (!COUNTED.includes(part['type'])) continue;
    const attempt = attempts.at(-1);
    const isSame = attempt?.[0] !== undefined && modelOf(attempt[0]) === modelOf(part);
    if (isSame) attempt.push(part);
    else attempts.push([part]);
  }
  const before = attempts.slice(0, -1);
  for (const [index, attempt] of before.entries()) {
    const model = attempt[0] && modelOf(attempt[0]);
    const hop =
      hops.length === before.length ? hops[index] : hops.find(({ from }) => from === model);
    const isSilent = attempt.every((part) => countsOf(part)?.outputTokens === 0);
    if (hop === undefined ? !isSilent : hop.hasOutput) continue;
    for (const part of attempt) declined.set(part, { category: hop?.category });
  }
  return declined;
}

/** Marks the models whose tokens in the message's counts are those of attempts that declined. */
function withDeclines(
  byModel: readonly ModelUsage[],
  declined: ReadonlyMap<JsonObject, Decline>,
): readonly ModelUsage[] {
  if (declined.size === 0) return byModel;
  return byModel.map((part) => {
    const found = [...declined].find(([iteration]) => modelOf(iteration) === part.model);
    return found === undefined ? part : { ...part, declined: found[1] };
  });
}

/** The runs of iterations, if there are several and they add up to `total`. */
function runsOf(iterations: readonly JsonObject[], total: Usage): ModelRun[] | undefined {
  if (iterations.length < 2 || !addsUpTo(total, iterations)) return undefined;
  return iterations.flatMap((iteration) => {
    const usage = countsOf(iteration);
    return usage === undefined || isEmpty(usage) ? [] : [{ model: modelOf(iteration), usage }];
  });
}

interface Division {
  readonly byModel: readonly ModelUsage[];
  /** Iterations that the message's counts do not include, or perhaps not. */
  readonly beside: readonly JsonObject[];
  /** Whether the counts certainly leave out the iterations in `beside`. */
  readonly isExact: boolean;
}

/**
 * Divides the message's counts by the models that made them. The last iteration is of the model
 * that completed the message. If the iterations do not add up to the counts, the counts are those
 * of this model, and the iterations of other models are beside them.
 */
function divide(iterations: readonly JsonObject[], message: Usage): Division {
  const used = iterations.filter((iteration) => !isEmpty(countsOf(iteration)));
  const last = used.at(-1);
  if (last === undefined) return { byModel: [], beside: [], isExact: true };
  const model = modelOf(last);
  const others = used.filter((iteration) => modelOf(iteration) !== model);
  if (others.length > 0 && addsUpTo(message, used)) {
    return { byModel: sumsByModel(used), beside: [], isExact: true };
  }
  const own = used.filter((iteration) => modelOf(iteration) === model);
  const isExact = addsUpTo(message, own);
  return {
    byModel: model === undefined ? [] : [{ model, usage: message }],
    // Without a name, an iteration may well be of the model that completed the message.
    beside: isExact ? others : others.filter((iteration) => modelOf(iteration) !== undefined),
    isExact,
  };
}

/** The sums of readable iterations, by the models that they name. */
function sumsByModel(iterations: readonly JsonObject[]): readonly ModelUsage[] {
  const sums = new Map<string, Usage>();
  for (const iteration of iterations) {
    const [model, counts] = [modelOf(iteration), countsOf(iteration)];
    if (model === undefined || counts === undefined) continue;
    const total = sum(sums.get(model) ?? NO_USAGE, counts);
    if (total !== undefined) sums.set(model, total);
  }
  return [...sums].map(([model, usage]) => ({ model, usage }));
}

function isEmpty(counts: Usage | undefined): boolean {
  return counts !== undefined && CLASSES.every((name) => counts[name] === 0);
}

/**
 * Compares sums to find out whether the message's counts include the iterations of unknown kinds.
 */
function placeOf(
  unknown: readonly JsonObject[],
  iterations: readonly JsonObject[],
  message: Usage,
): 'in' | 'not in' | 'perhaps in' {
  const counted = iterations.filter(({ type }) => COUNTED.includes(type));
  if (addsUpTo(message, counted)) return 'not in';
  return addsUpTo(message, [...counted, ...unknown]) ? 'in' : 'perhaps in';
}

function addsUpTo(message: Usage, iterations: readonly JsonObject[]): boolean {
  let total: Usage | undefined = NO_USAGE;
  for (const iteration of iterations) {
    const counts = countsOf(iteration);
    total = total && counts && sum(total, counts);
  }
  return total !== undefined && CLASSES.every((name) => total[name] === message[name]);
}

const NO_USAGE: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadInputTokens: 0,
  cacheCreationInputTokens: 0,
  cacheCreation1hInputTokens: 0,
  thinkingTokens: 0,
};
const CLASSES = [
  'inputTokens',
  'outputTokens',
  'cacheReadInputTokens',
  'cacheCreationInputTokens',
] as const;

/** Undefined when a sum exceeds the limit of a token count. */
function sum(one: Usage, other: Usage): Usage | undefined {
  const both = (count: keyof Usage): number => one[count] + other[count];
  const total = {
    inputTokens: both('inputTokens'),
    outputTokens: both('outputTokens'),
    cacheReadInputTokens: both('cacheReadInputTokens'),
    cacheCreationInputTokens: both('cacheCreationInputTokens'),
    cacheCreation1hInputTokens: both('cacheCreation1hInputTokens'),
    thinkingTokens: both('thinkingTokens'),
  };
  return Object.values(total).every(isTokenCount) ? total : undefined;
}

function countsOf(iteration: JsonObject): Usage | undefined {
  const reading = readCounts(iteration);
  return reading.outcome === 'read' ? reading.usage : undefined;
}

function uncountedOf(iteration: JsonObject, usage: Usage | undefined): UncountedUsage {
  return { kind: kindOf(iteration), model: modelOf(iteration), usage };
}

function modelOf(iteration: JsonObject): string | undefined {
  return stringOf(iteration['model']) || undefined;
}

function kindOf({ type }: JsonObject): string {
  return (
    stringOf(type)
      .replace(/[^a-z0-9_]/g, '')
      .slice(0, 50) || 'nameless'
  );
}

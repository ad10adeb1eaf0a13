/**
 * The most tokens that a request can use. `charge-bound.ts` holds the price of these tokens before
 * the request is sent. {@link usageBoundOf} gives the same rules more room and judges the answer by
 * them: usage beyond it is a fault of the upstream, and is set aside. See docs/decisions/0093.
 */

import type { ModelPrice } from '@gateway/billing';
import type { UsageBound } from '../../ledger/usage-bound.js';

/**
 * Tokens that the provider adds to every prompt: instructions for tools, and separators of
 * messages.
 */
const PREAMBLE_TOKENS = 2_000;
/**
 * Tokens of the largest image after scaling. Counted in addition to the bytes, because an image by
 * URL, or one that compresses well, can have fewer bytes than tokens.
 */
const IMAGE_TOKENS = 5_000;
/**
 * Tokens of the provider's instructions for a tool that it defines; the request does not contain
 * them.
 */
const BUILT_IN_TOOL_TOKENS = 3_000;
/**
 * The provider samples the model at most this many times while it runs its own tools; then it ends
 * the response with `pause_turn`. Each time the model reads the whole conversation again, with tool
 * results that are not in the request's bytes.
 * https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 */
export const MAX_SERVER_TURNS = 10;
/** The window that the beta `context-1m` gives to models that have a smaller one. */
const LONG_CONTEXT_TOKENS = 1_000_000;

/**
 * An answer may use this many times the tokens that the request's bytes, its limit, its window and
 * its `max_uses` come to. A byte is at most one token, but the provider writes tools, schemas and
 * separators in its own way.
 */
const ROOM = 2;
/** Tokens that are allowed beyond that: instructions that the provider does not document. */
const MORE_PROMPT_TOKENS = 10_000;
const MORE_OUTPUT_TOKENS = 1_000;
/** Uses of tools that have a fee, beyond `max_uses`. */
const MORE_USES = 10;
/** Uses of a tool whose `max_uses` is not given, or that code may call. */
const UNLIMITED_USES = 1_000;
/** A model and three fallbacks, the most that the provider accepts. */
const MAX_ATTEMPTS = 4;

/** Parts of a request that cost tokens beyond its bytes. */
export interface TokenFindings {
  readonly images: number;
  /** Whether a document is compressed or remote, so that its pages cannot be counted. */
  readonly hasUncountedDocument: boolean;
  /** Whether a block may have more tokens than bytes: it refers to something, or is divided. */
  readonly hasUnsizedBlock: boolean;
  readonly builtInTools: number;
  /** The largest `max_tokens` that a fallback has of its own; 0 if none has. */
  readonly fallbackTokens: number;
  /** Uses of the tools that the provider runs, by the counter in `usage.server_tool_use`. */
  readonly uses: ReadonlyMap<string, ToolUses>;
  /** Path of the first tool that the provider runs, or of the servers of such tools. */
  readonly serverToolPath: string | undefined;
  /** Path of a member that makes the charge unbounded. */
  readonly unboundedPath: string | undefined;
}

export interface ToolUses {
  readonly most: number;
  /** Path of a tool that does not limit them. */
  readonly unlimitedPath: string | undefined;
}

export interface RequestSize {
  readonly bytes: number;
  readonly maxTokens: number | undefined;
  /** Whether the client asked for the beta that widens the model's context window. */
  readonly hasLongContext: boolean;
}

interface Tokens {
  readonly promptTokens: number;
  readonly outputTokens: number;
}

/**
 * The most tokens of one run of a model.
 *
 * @param isSized - Whether the prompt is in the request's bytes. Otherwise it may fill the window.
 */
export function tokensOfRun(
  { bytes, maxTokens, hasLongContext }: RequestSize,
  { images, builtInTools, fallbackTokens }: TokenFindings,
  price: ModelPrice,
  isSized: boolean,
): Tokens {
  const window = windowOf(price, hasLongContext);
  const counted =
    bytes + PREAMBLE_TOKENS + images * IMAGE_TOKENS + builtInTools * BUILT_IN_TOOL_TOKENS;
  return {
    promptTokens: isSized ? Math.min(window, counted) : window,
    outputTokens: Math.max(maxTokens ?? price.maxOutputTokens, fallbackTokens),
  };
}

function windowOf({ contextWindow }: ModelPrice, hasLongContext: boolean): number {
  return hasLongContext ? Math.max(contextWindow, LONG_CONTEXT_TOKENS) : contextWindow;
}

/**
 * The most usage that an honest answer can report, all runs of all models together.
 *
 * @param models - Those that the request names. Each may run: after another one declined, or as an
 * advisor.
 * @param isOpen - Whether the request has members that this version does not know, or leaves its
 * fallbacks to the provider. Then it may do what any request can do.
 */
export function usageBoundOf(
  size: RequestSize,
  findings: TokenFindings,
  { models, isOpen }: { readonly models: readonly ModelPrice[]; readonly isOpen: boolean },
): UsageBound {
  const { serverToolPath, unboundedPath, hasUncountedDocument, hasUnsizedBlock } = findings;
  // Advisors and compactions write as much as their model can. One may come with each run.
  const isUnlimited = isOpen || unboundedPath !== undefined;
  const hasServerTools = isUnlimited || serverToolPath !== undefined;
  // `max_uses` does not limit the runs: a further use gets an error, and the model goes on.
  const runs = hasServerTools ? MAX_SERVER_TURNS * (isUnlimited ? 2 : 1) : 1;
  const isSized = !hasServerTools && !hasUncountedDocument && !hasUnsizedBlock;
  const attempts = isOpen ? Math.max(MAX_ATTEMPTS, models.length) : models.length;
  let [prompt, output] = [0, 0];
  for (let at = 0; at < attempts; at += 1) {
    const price = models[at] ?? models[0];
    if (price === undefined) throw new Error('a request names no model');
    const isNamed = at < models.length;
    const run = tokensOfRun(size, findings, price, isSized);
    prompt += isNamed ? run.promptTokens : Math.max(run.promptTokens, LONG_CONTEXT_TOKENS);
    const written = Math.min(run.outputTokens, windowOf(price, size.hasLongContext));
    output += isUnlimited ? Math.max(written, price.maxOutputTokens) : written;
  }
  return {
    promptTokens: ROOM * runs * prompt + MORE_PROMPT_TOKENS,
    outputTokens: ROOM * runs * output + MORE_OUTPUT_TOKENS,
    uses: usesOf(findings, attempts),
    otherUses: hasServerTools ? UNLIMITED_USES : MORE_USES,
  };
}

function usesOf({ uses }: TokenFindings, attempts: number): ReadonlyMap<string, number> {
  const most = new Map<string, number>();
  for (const [counter, { most: given, unlimitedPath }] of uses) {
    const limited = ROOM * attempts * given + MORE_USES;
    most.set(counter, unlimitedPath === undefined ? limited : Math.max(limited, UNLIMITED_USES));
  }
  return most;
}

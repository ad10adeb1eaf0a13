/**
 * The highest charge that a request can have. `OVERDRAFT=none` holds this amount before the request
 * is sent. It is an upper bound: a byte becomes at most one token, and tokens that do not come from
 * the request's bytes are added separately. See docs/decisions/0009.
 *
 * The root member `compaction` asks for a summary only: the model reads the conversation once,
 * writes at most `max_tokens`, and does not reply afterwards. The same bound therefore covers such
 * a request. https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
 */

import { MAX_TOKENS, highestRates, worstCaseCharge } from '@gateway/billing';
import type { Fees, ModelPrice } from '@gateway/billing';
import { KNOWN_COUNTERS, TOOL_FAMILIES, counterOf, familyOf } from '../../config/tool-families.js';
import type { Path, Place } from './shared-account-rules.js';
import { MAX_SERVER_TURNS, tokensOfRun } from './token-bound.js';
import type { RequestSize, TokenFindings, ToolUses } from './token-bound.js';

/** Parts of a request that cost more than its bytes. */
export interface ChargeFindings extends TokenFindings {
  /** How many times the model can be sampled, at most, if no use of a tool fails. */
  readonly turns: number;
  /** Whether a member of the request chooses the speed. */
  readonly hasSpeed: boolean;
  /** Whether a member names betas, one of which may widen the context window. */
  readonly hasBetas: boolean;
}

/**
 * @param price - Of one of the models that the request names. Each may run in turn: a fallback
 * begins when the model before it has declined, perhaps after a part of its answer.
 * @returns the most that this model's part can be charged, in units of 10^-14 USD
 */
export function chargeBoundOf(
  request: RequestSize,
  findings: ChargeFindings,
  price: ModelPrice,
): bigint {
  const { turns, hasUncountedDocument } = findings;
  const run = tokensOfRun(request, findings, price, !hasUncountedDocument && turns === 1);
  const ceiling = {
    promptTokens: Math.min(MAX_TOKENS, turns * run.promptTokens),
    outputTokens: Math.min(MAX_TOKENS, turns * run.outputTokens),
  };
  // The operator's settings at the provider may choose a region or a tier, but not a speed.
  const rates = highestRates(
    price,
    ceiling.promptTokens,
    ({ speed }) => speed === undefined || findings.hasSpeed,
  );
  return worstCaseCharge(ceiling, rates);
}

/**
 * The most that a request's fees can be, in units of 10^-14 USD. Only tools that the provider runs
 * cause fees. Each use of a tool has the fee of the counter that is named after it. If no tool
 * explains the counter of a fee, any of them may raise it without a limit.
 */
export function feeBoundOf(
  { uses, serverToolPath }: ChargeFindings,
  fees: Fees,
): { readonly amount: bigint; readonly unboundedPath: string | undefined } {
  let amount = 0n;
  let unboundedPath: string | undefined;
  for (const [counter, fee] of fees) {
    if (fee === 0n) continue;
    const counted = uses.get(counter);
    amount += BigInt(counted?.most ?? 0) * fee;
    unboundedPath ??= counted?.unlimitedPath;
    if (counted === undefined && !KNOWN_COUNTERS.has(counter)) unboundedPath ??= serverToolPath;
  }
  return { amount, unboundedPath };
}

interface OpenTool {
  isServer: boolean;
  maxUses: number | undefined;
  /** That its uses may raise. If its type is given twice, the upstream may read either. */
  readonly counters: Set<string>;
  /** Whether it may run code, which `max_uses` does not limit. */
  runsCode: boolean;
}

/**
 * From this version on, `web_search` and `web_fetch` run code to filter what they find, even if the
 * request does not offer the tool for code.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool
 */
const FILTERS_BY_CODE_FROM = '20260209';
const FILTERING: ReadonlySet<string> = new Set(['web_search', 'web_fetch']);
const CODE_COUNTER = counterOf('code_execution');
const MCP_COUNTER = counterOf('mcp_toolset');

/**
 * Blocks of messages that have at most one token for each byte. The signature of a thinking block
 * contains all of its thinking. Other blocks refer to what is elsewhere, such as `tool_reference`,
 * or are encrypted results of the provider's tools, or are divided for citations, or are unknown.
 */
const SIZED_BLOCKS: ReadonlySet<string> = new Set([
  'text',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'server_tool_use',
  'tool_result',
  'image',
]);

/** Collects {@link ChargeFindings} while a request is scanned. */
export class ChargeFindingsCollector {
  #images = 0;
  /** Paths of the documents, of all sources, and of sources by whether they are plain text. */
  readonly #documents = new Set<string>();
  readonly #sources = new Set<string>();
  readonly #plainSources = new Set<string>();
  readonly #otherSources = new Set<string>();
  #isSourceRepeated = false;
  #hasUnsizedBlock = false;
  #builtInTools = 0;
  #serverTurns = 0;
  #fallbackTokens = 0;
  #unboundedPath: string | undefined;
  #hasSpeed = false;
  #hasBetas = false;
  readonly #uses = new Map<string, ToolUses>();
  #serverToolPath: string | undefined;
  /** Tool definitions that are being scanned, by their depth, because one may contain another. */
  readonly #openTools = new Map<number, OpenTool>();

  onType(type: string, { of, path }: Place): void {
    if (of === 'tool') this.#onToolType(type, path);
    if (of === 'source') this.#onSourceType(type, path);
    if (of === 'other' && path[0] === 'messages' && !SIZED_BLOCKS.has(type)) {
      this.#hasUnsizedBlock = true;
    }
    if (type === 'image') this.#images += 1;
    if (type === 'document') this.#documents.add(parentOf(path));
    // A compacting edit runs before each server-tool turn whose context is too long. Nothing limits
    // how often it runs or how long its summaries are, so the charge has no upper bound.
    // https://platform.claude.com/docs/en/build-with-claude/compaction-threshold
    if (type.startsWith('compact_')) this.#unboundedPath ??= path.join('.');
  }

  /** If a document states its source, or the type of it, twice, the upstream may read either. */
  onSource(path: Path): void {
    const source = path.join('.');
    if (this.#sources.has(source)) this.#isSourceRepeated = true;
    this.#sources.add(source);
  }

  #onSourceType(type: string, path: Path): void {
    const isPlain = type === 'text' || type === 'content';
    (isPlain ? this.#plainSources : this.#otherSources).add(parentOf(path));
  }

  /** Whether a document has another source than plain text, or may have. */
  #hasUncountedDocument(): boolean {
    if (this.#documents.size === 0) return false;
    return (
      this.#isSourceRepeated ||
      [...this.#documents].some((document) => {
        const source = `${document}.source`;
        return !this.#plainSources.has(source) || this.#otherSources.has(source);
      })
    );
  }

  #onToolType(type: string, path: Path): void {
    const family = familyOf(type);
    if (family !== 'custom') this.#builtInTools += 1;
    // An advisor is another model, and the request does not limit what it reads and writes.
    if (family === 'advisor') this.#unboundedPath ??= path.join('.');
    if (TOOL_FAMILIES.get(family)?.runs === 'client') return;
    const tool = this.#openTool(path);
    tool.isServer = true;
    tool.counters.add(counterOf(family));
    if (FILTERING.has(family) && type.slice(-8) >= FILTERS_BY_CODE_FROM) tool.runsCode = true;
  }

  onMaxUses(uses: unknown, path: Path): void {
    const tool = this.#openTool(path);
    const count = typeof uses === 'number' && uses >= 0 ? uses : Infinity;
    // If `max_uses` is given twice, the larger value is used.
    tool.maxUses = Math.max(tool.maxUses ?? 0, count);
  }

  onToolEnd(path: Path): void {
    const tool = this.#openTools.get(path.length);
    if (tool === undefined) return;
    this.#openTools.delete(path.length);
    if (!tool.isServer) return;
    const uses = tool.maxUses ?? Infinity;
    this.#serverTurns += uses;
    const at = path.join('.');
    this.#serverToolPath ??= at;
    for (const counter of tool.counters) this.#addUses(counter, uses, at);
    if (tool.runsCode) this.#addUses(CODE_COUNTER, Infinity, at);
  }

  #addUses(counter: string, uses: number, path: string): void {
    const { most, unlimitedPath } = this.#uses.get(counter) ?? {
      most: 0,
      unlimitedPath: undefined,
    };
    const isLimited = uses < MAX_TOKENS;
    this.#uses.set(counter, {
      most: isLimited ? Math.min(MAX_TOKENS, most + Math.ceil(uses)) : most,
      unlimitedPath: unlimitedPath ?? (isLimited ? undefined : path),
    });
  }

  /**
   * Called if the request names MCP servers. The request does not contain their tools, so the
   * number of uses has no limit.
   */
  onServersOfTools(path: Path): void {
    this.#serverTurns = Infinity;
    const at = path.join('.');
    this.#serverToolPath ??= at;
    this.#addUses(MCP_COUNTER, Infinity, at);
  }

  onSpeed(): void {
    this.#hasSpeed = true;
  }

  onBetas(): void {
    this.#hasBetas = true;
  }

  onFallbackTokens(tokens: number): void {
    this.#fallbackTokens = Math.max(this.#fallbackTokens, tokens);
  }

  /** @param path - of a member of the definition */
  #openTool(path: Path): OpenTool {
    const depth = path.length - 1;
    const tool = this.#openTools.get(depth) ?? {
      isServer: false,
      maxUses: undefined,
      counters: new Set(),
      runsCode: false,
    };
    this.#openTools.set(depth, tool);
    return tool;
  }

  findings(): ChargeFindings {
    return {
      images: this.#images,
      hasUncountedDocument: this.#hasUncountedDocument(),
      hasUnsizedBlock: this.#hasUnsizedBlock,
      builtInTools: this.#builtInTools,
      turns: Math.min(MAX_SERVER_TURNS, 1 + Math.ceil(this.#serverTurns)),
      fallbackTokens: this.#fallbackTokens,
      hasSpeed: this.#hasSpeed,
      hasBetas: this.#hasBetas,
      uses: this.#uses,
      serverToolPath: this.#serverToolPath,
      unboundedPath: this.#unboundedPath,
    };
  }
}

/** The path of the object that has this member. */
function parentOf(member: Path): string {
  return member.slice(0, -1).join('.');
}

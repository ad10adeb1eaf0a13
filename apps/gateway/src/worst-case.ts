/**
 * The most a request can cost, read from the body that goes upstream: what `OVERDRAFT=none` holds before
 * the request is sent. An upper bound, not a guess: a tokenizer makes at most one token of a byte, and
 * what makes tokens without bytes is counted apart. See docs/decisions/0009.
 *
 * A compaction that is asked for by itself is one reading of the conversation and at most `max_tokens`
 * of summary, with no reply after it: it needs nothing more.
 * https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand
 */

import { isUtf8 } from 'node:buffer';
import { worstCaseCharge } from '@gateway/billing';
import type { ModelPrice } from '@gateway/billing';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonShape, JsonSpan } from '@gateway/translator/native';

/** The provider's own instructions around tools, and its marks around messages. */
const PREAMBLE_TOKENS = 2_000;
/** What the largest image is scaled down to; by URL or well compressed it has fewer bytes than that. */
const IMAGE_TOKENS = 5_000;
/** A tool that the provider defines stands for instructions that the request does not contain. */
const BUILT_IN_TOOL_TOKENS = 3_000;

export type WorstCase =
  /** `amount` is in units of 10^-14 USD. */
  | { readonly outcome: 'bounded'; readonly amount: bigint }
  /** Nothing limits how many compactions the member at `path` leads to. */
  | { readonly outcome: 'unbounded'; readonly path: string };

/** @param bytes - Of a message request, as sent upstream and checked before. */
export function worstCaseOf(bytes: Uint8Array, price: ModelPrice): WorstCase {
  const text = ({ start, end }: JsonSpan): string =>
    Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString();
  const findings = createFindings(text);
  const scan = scanTopLevel(bytes, { shape: findings.shape, isUtf8 });
  if (scan.outcome === 'refused') throw new RangeError(`not a request body: ${scan.message}`);
  const path = findings.unboundedPath();
  if (path !== undefined) return { outcome: 'unbounded', path };
  const maxTokens = scan.members.get('max_tokens');
  return {
    outcome: 'bounded',
    amount: worstCaseCharge(
      {
        promptTokens: Math.min(price.contextWindow, bytes.length + findings.tokensWithoutBytes()),
        outputTokens: maxTokens === undefined ? price.maxOutputTokens : Number(text(maxTokens)),
      },
      price.rates,
    ),
  };
}

function createFindings(text: (span: JsonSpan) => string) {
  let images = 0;
  let documents = 0;
  let plainSources = 0;
  let builtInTools = 0;
  let unboundedPath: string | undefined;
  // Parsed, because a string may be written with escapes.
  const onType = (
    notice: (type: unknown, path: readonly (string | number)[]) => void,
  ): JsonShape => ({
    onValue: (span, path) => {
      notice(JSON.parse(text(span)), path);
    },
  });
  // Blocks hold blocks: looked up when asked, so that a shape may refer to itself.
  const blocks: JsonShape = { item: members(() => blockShapes) };
  const blockShapes: Shapes = {
    type: onType((type) => {
      if (type === 'image') images += 1;
      if (type === 'document') documents += 1;
    }),
    source: members(() => ({
      type: onType((type) => {
        if (type === 'text' || type === 'content') plainSources += 1;
      }),
      content: blocks,
    })),
    // Of a tool result.
    content: blocks,
  };
  const tool = members(() => ({
    type: onType((type) => {
      if (type !== 'custom' && type !== null) builtInTools += 1;
    }),
  }));
  // Compacts before each turn of a server tool that finds the context long: any number of times, and how
  // long the summaries may be is nowhere said. https://platform.claude.com/docs/en/build-with-claude/compaction-threshold
  const editType = onType((type, path) => {
    if (typeof type === 'string' && type.startsWith('compact')) unboundedPath ??= path.join('.');
  });
  const shape = members(() => ({
    context_management: members(() => ({ edits: { item: members(() => ({ type: editType })) } })),
    messages: { item: members(() => ({ content: blocks })) },
    system: blocks,
    tools: { item: tool },
  }));
  return {
    shape,
    unboundedPath: () => unboundedPath,
    tokensWithoutBytes(): number {
      // How many pages a compressed or remote document has cannot be told from here.
      if (documents > plainSources) return Infinity;
      return PREAMBLE_TOKENS + images * IMAGE_TOKENS + builtInTools * BUILT_IN_TOOL_TOKENS;
    },
  };
}

type Shapes = Readonly<Record<string, JsonShape>>;

function members(shapes: () => Shapes): JsonShape {
  return {
    member: (name) => {
      const known = shapes();
      return Object.hasOwn(known, name) ? known[name] : undefined;
    },
  };
}

/**
 * SDKs move keywords that the API refuses, and some that it takes, from a schema into its descriptions.
 * A model reads them there, and the SDK checks its answer against the original schema. Those of
 * Anthropic write `{minimum: 1, enum: ["a"]}`, the Vercel AI SDK writes `minimum: 1; max items: 3.`
 */

import { asObject } from './message.js';
import type { JsonObject } from './message.js';
import { samplePattern } from './pattern-sample.js';

const KEYWORDS = new Set([
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength'],
  ...['maxLength', 'minItems', 'maxItems', 'enum', 'const', 'pattern'],
]);

/** The schema with the keywords that its description names. */
export function withDescribedKeywords(schema: JsonObject): JsonObject {
  const { description } = schema;
  if (typeof description !== 'string') return schema;
  const [, block] = /(?:^|\n\n)(\{[^]*\})$/.exec(description) ?? [];
  const described = block === undefined ? boundsIn(description) : Object.entries(parsed(block));
  const usable = described.filter(([name, value]) => KEYWORDS.has(name) && hasSample(name, value));
  return { ...Object.fromEntries(usable), ...schema };
}

/** JSON, but for the names, which have no quotes. */
function parsed(block: string): JsonObject {
  const json = block.replace(/"(?:[^"\\]|\\.)*"|(\$?\w+): /g, (found: string, name?: string) =>
    name === undefined ? found : `"${name}": `,
  );
  try {
    return asObject(JSON.parse(json));
  } catch {
    return {};
  }
}

function boundsIn(description: string): [name: string, bound: number][] {
  const found = description.matchAll(
    /((?:exclusive |multiple |min |max )?\w+): (-?\d+(?:\.\d+)?)/g,
  );
  return [...found].map(([, name = '', bound]) => [
    name.replace(/ (\w)/, (_, letter: string) => letter.toUpperCase()),
    Number(bound),
  ]);
}

function hasSample(name: string, value: unknown): boolean {
  return name !== 'pattern' || samplePattern(String(value)) !== undefined;
}

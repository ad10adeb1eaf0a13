/**
 * The format that a request demands for the reply, `output_config.format`, and the API's reasons to
 * refuse it. https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { asArray, asObject, isObject } from '../message/message.js';
import type { JsonObject } from '../message/message.js';
import { circularProblem, complexityProblem } from './schema-limits.js';
import { schemaProblem } from './schema-rules.js';

/** The schema that the text of the reply must satisfy, if the request has one. */
export function outputSchemaOf(request: JsonObject): JsonObject | undefined {
  const { schema } = asObject(formatsOf(request)[0]?.format);
  return isObject(schema) ? schema : undefined;
}

/**
 * @param betas - The values of the `anthropic-beta` header.
 * @returns the text of an `invalid_request_error`, or `undefined` for a valid request.
 */
export function outputFormatProblem(
  request: JsonObject,
  betas: readonly string[],
): string | undefined {
  const [wanted] = formatsOf(request);
  if (wanted === undefined) return undefined;
  const { path } = wanted;
  if (path === 'output_format' && !betas.some((beta) => beta.startsWith('structured-outputs-'))) {
    return "output_format: This field is deprecated. Use 'output_config.format' instead.";
  }
  const { type, schema, ...others } = asObject(wanted.format);
  if (type !== 'json_schema') return `${path}.type: Input should be 'json_schema'`;
  if (!isObject(schema)) return `${path}.schema: Input should be a valid dictionary`;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) return `${path}.${unknown}: Extra inputs are not permitted`;
  const problem = schemaProblem(schema) ?? circularProblem(schema);
  if (problem !== undefined) return `${path}.schema: ${problem}`;
  return complexityProblem(schema) ?? conflictProblem(request);
}

/** The first reason to refuse the input schema of a strict tool. */
export function formatSchemaProblem(schema: JsonObject): string | undefined {
  return schemaProblem(schema) ?? circularProblem(schema) ?? complexityProblem(schema);
}

function formatsOf(request: JsonObject): { readonly path: string; readonly format: unknown }[] {
  return [
    { path: 'output_config.format', format: asObject(request['output_config'])['format'] },
    { path: 'output_format', format: request['output_format'] },
  ].filter(({ format }) => format !== undefined && format !== null);
}

/** A prefilled reply and a reply with citations cannot be JSON as a whole. */
function conflictProblem(request: JsonObject): string | undefined {
  const messages = asArray(request['messages']).map(asObject);
  if (messages.at(-1)?.['role'] === 'assistant') {
    return 'messages: assistant message prefill is not supported with structured outputs';
  }
  const blocks = messages.flatMap(({ content }) => asArray(content)).map(asObject);
  const isCited = blocks.some(({ citations }) => asObject(citations)['enabled'] === true);
  return isCited ? 'citations are not supported with structured outputs' : undefined;
}

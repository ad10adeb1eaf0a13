/**
 * Translates JSON schemas to the upstream's structured outputs.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { jsonInstruction } from '../reading/json-instruction.js';
import type { SchemaReader } from '../reading/strict-schema-reading.js';
import { type JsonObject, objectOf } from '../wire/raw-json.js';
import { type SchemaReading, strictSchema } from './strict-schema.js';

/** The upstream's limits for all strict schemas of a request together. */
const LIMITS = [
  ['optional', 24, 'optional members'],
  ['unions', 16, 'unions'],
] as const;
const MAX_STRICT_TOOLS = 20;
/**
 * The most work for the schemas of one request, in characters of JSON text. Schemas within the
 * upstream's limits take far less.
 */
const MAX_WORK = 1_000_000;

/**
 * Pass this function to `translateRequest` as its option `jsonSchema`. With it,
 * `response_format: json_schema` becomes `output_config.format`, and strict functions become strict
 * tools, if the model accepts both.
 *
 * A schema is rewritten to the keywords that the upstream guarantees. Constraints that it refuses
 * go into descriptions. Some schemas cannot be guaranteed: those that allow members of any name,
 * have tuples or are recursive, and those with which the request's schemas exceed 24 optional
 * members or 16 unions in all. With such a schema, a strict format is refused, a format that is not
 * strict is requested in the system prompt, and a strict tool is sent as a plain one. Strict tools
 * after the first 20 are sent as plain ones, too.
 */
export function nativeSchemas(): SchemaReader {
  const used = { optional: 0, unions: 0 };
  const limit = { left: MAX_WORK };

  function read(schema: JsonObject): SchemaReading {
    const reading = strictSchema(schema, limit);
    if (reading.outcome === 'unacceptable') return reading;
    for (const [kind, most, what] of LIMITS) {
      if (used[kind] + reading[kind] > most) {
        const complaint = `the schemas have more than ${most} ${what}`;
        return { outcome: 'unacceptable', complaint };
      }
    }
    for (const [kind] of LIMITS) used[kind] += reading[kind];
    return reading;
  }

  return readerWith(read);
}

/**
 * Reads schemas for a model that cannot guarantee any. A strict format is refused, a format that is
 * not strict is requested in the system prompt, and a strict tool is sent as a plain one.
 */
export function promptedSchemas(): SchemaReader {
  return readerWith(() => ({
    outcome: 'unacceptable',
    complaint: 'the model has no structured outputs',
  }));
}

function readerWith(read: (schema: JsonObject) => SchemaReading): SchemaReader {
  let strictTools = 0;
  return {
    tool(schema, place) {
      if (strictTools === MAX_STRICT_TOOLS) {
        place.note('dropped', `there are more than ${MAX_STRICT_TOOLS} strict tools`);
        return undefined;
      }
      const reading = read(schema);
      if (reading.outcome === 'unacceptable') {
        place.note('dropped', reading.complaint);
        return undefined;
      }
      strictTools += 1;
      if (reading.isLoosened) place.note('rewritten', LOOSENED);
      return reading.schema;
    },
    answer({ schema, description, strict }, place) {
      const described = typeof description === 'string' ? { description } : {};
      const reading = read({ ...described, ...objectOf(schema) });
      if (reading.outcome === 'accepted') {
        if (reading.isLoosened) place.note('rewritten', LOOSENED);
        return { schema: reading.schema };
      }
      const { complaint } = reading;
      if (strict === true) {
        return place.refuse(`cannot be guaranteed: ${complaint}`, 'unsupported_value');
      }
      place.note('rewritten', `not guaranteed: ${complaint}`);
      const value = `value that matches this schema: ${JSON.stringify(schema)}\n`;
      return { instruction: jsonInstruction(value) };
    },
  };
}

const LOOSENED = 'constraints became descriptions';

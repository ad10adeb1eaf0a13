/**
 * Translates `response_format`.
 * https://platform.claude.com/docs/en/build-with-claude/structured-outputs
 */

import { jsonInstruction } from '../../reading/json-instruction.js';
import type { Place } from '../../reading/place.js';
import type { SchemaReader } from '../../reading/strict-schema-reading.js';
import { objectOf } from '../../wire/raw-json.js';
import type { OutputFormat } from './native-request.js';

export interface Format {
  readonly native?: OutputFormat;
  /** A sentence for the system prompt that takes the place of a format. */
  readonly instruction?: string | undefined;
}

/** @param schemas - Undefined if schemas are ignored. */
export function translateFormat(
  format: Place | undefined,
  schemas: SchemaReader | undefined,
): Format {
  const type = format?.at('type').value;
  if (type === 'json_object') return { instruction: jsonInstruction('object: ') };
  if (!format || type === 'text') return {};
  if (type === 'json_schema' && schemas) return schemaFormat(format.at(type), schemas);
  format.note('ignored', schemas ? 'unknown value' : 'no schema support');
  return {};
}

/** @param definition - An object with `schema`, and perhaps with `description` and `strict`. */
export function schemaFormat(definition: Place, schemas: SchemaReader): Format {
  const place = definition.object().at('schema').object();
  const { schema, instruction } = schemas.answer(objectOf(definition.value), place);
  return schema ? { native: { type: 'json_schema', schema } } : { instruction };
}

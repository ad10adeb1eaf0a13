/** Types for reading JSON schemas of a request into the form that the upstream can guarantee. */

import type { Note } from './note.js';

export type StrictSchema = Readonly<Record<string, unknown>>;

/** Where the client wrote a schema. */
export interface SchemaPlace {
  /** Reports how the schema was translated. */
  note(reason: Note['reason'], detail: string): void;
  /** Refuses the request. */
  refuse(complaint: string, code: 'unsupported_value'): never;
}

/** Reads the schemas of one request. They share the upstream's limits. */
export interface SchemaReader {
  /**
   * Reads the schema of a strict tool. @returns undefined if it cannot be guaranteed. The tool is
   * then sent as a plain one.
   */
  tool(schema: Readonly<Record<string, unknown>>, place: SchemaPlace): StrictSchema | undefined;
  /**
   * Reads a format with its `schema`, `description` and `strict`. Refuses a strict format that
   * cannot be guaranteed.
   */
  answer(format: Readonly<Record<string, unknown>>, place: SchemaPlace): AnswerSchema;
}

export type AnswerSchema =
  | { readonly schema: StrictSchema; readonly instruction?: undefined }
  /** If the schema cannot be guaranteed: a sentence for the system prompt that asks for it. */
  | { readonly schema?: undefined; readonly instruction: string };

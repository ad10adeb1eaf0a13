/**
 * Tools of the Responses API that the client runs itself and that have a schema of their own there.
 * Upstream they are functions with these schemas.
 *
 * https://platform.openai.com/docs/api-reference/responses/create
 */

import { isJsonObject, isTooDeep, type JsonObject, parseObject } from './raw-json.js';

export type LocalToolType = 'shell' | 'local_shell' | 'apply_patch' | 'tool_search';

interface Property {
  readonly type: 'array' | 'string' | 'integer' | 'object';
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly items?: object;
  readonly additionalProperties?: object;
}

interface LocalTool {
  /** The member of a call item that has the input. */
  readonly member: 'action' | 'operation' | 'arguments';
  readonly description: string;
  readonly properties: Readonly<Record<string, Property>>;
  readonly required: readonly string[];
}

const STRING = { type: 'string' } as const;
const STRINGS = { type: 'array', items: STRING } as const;
const INTEGER = { type: 'integer' } as const;

/**
 * The schema and the description of a tool never change between requests, because the upstream
 * binds thinking to the tools. The properties have the order of OpenAI's types.
 */
export const LOCAL_TOOLS: Readonly<Record<LocalToolType, LocalTool>> = {
  shell: {
    member: 'action',
    description: "Runs shell commands on the user's machine, one after the other.",
    properties: { commands: STRINGS, timeout_ms: INTEGER, max_output_length: INTEGER },
    required: ['commands'],
  },
  local_shell: {
    member: 'action',
    description: "Runs a program on the user's machine.",
    properties: {
      command: {
        type: 'array',
        items: STRING,
        description: 'The program and its arguments, such as ["bash", "-lc", "ls"].',
      },
      env: { type: 'object', additionalProperties: STRING },
      timeout_ms: INTEGER,
      user: STRING,
      working_directory: STRING,
    },
    required: ['command'],
  },
  apply_patch: {
    member: 'operation',
    description: "Creates, updates or deletes a file on the user's machine.",
    properties: {
      type: { type: 'string', enum: ['create_file', 'delete_file', 'update_file'] },
      path: STRING,
      diff: {
        type: 'string',
        description:
          'Has no file names and no line numbers. To create a file: each line of it after "+". ' +
          'To update a file: for each change a line "@@", and then the lines of the place: ' +
          'unchanged ones after " ", removed ones after "-" and added ones after "+".',
      },
    },
    required: ['type', 'path'],
  },
  tool_search: {
    member: 'arguments',
    description: 'Searches for more tools. Those that are found can be called in the next turn.',
    properties: { query: STRING, limit: INTEGER },
    required: ['query'],
  },
};

export function isLocalType(type: unknown): type is LocalToolType {
  return typeof type === 'string' && Object.hasOwn(LOCAL_TOOLS, type);
}

/** Whether a value has the type of a property. */
export function fits({ type, enum: values }: Property, value: unknown): boolean {
  switch (type) {
    case 'array':
      return Array.isArray(value) && value.every((item) => typeof item === 'string');
    case 'string':
      return typeof value === 'string' && values?.includes(value) !== false;
    case 'integer':
      return typeof value === 'number';
    case 'object':
      return isJsonObject(value);
  }
}

/**
 * The members of a call item that have the input, as OpenAI's SDKs expect them. Where the model
 * wrote a value of another type, the item has an empty one: the client then reports an error that
 * the model can read.
 *
 * @param json - The input as the model wrote it.
 */
export function callMembers(type: LocalToolType, json: string): JsonObject {
  const read = parseObject(json);
  const input = read && !isTooDeep(read) ? read : {};
  const { member, properties, required } = LOCAL_TOOLS[type];
  if (type === 'tool_search') return { [member]: input, execution: 'client' };
  const fitted = Object.fromEntries(
    Object.entries(properties).map(([name, property]) => {
      const value = input[name];
      if (fits(property, value)) return [name, value];
      if (property.type === 'object') return [name, {}];
      if (!required.includes(name)) return [name, null];
      if (property.type === 'array') return [name, typeof value === 'string' ? [value] : []];
      return [name, property.enum?.at(-1) ?? ''];
    }),
  );
  if (type === 'shell') return { [member]: fitted, environment: null };
  if (type === 'local_shell') return { [member]: { type: 'exec', ...fitted } };
  const { diff, ...file } = fitted;
  const isDeletion = file['type'] === 'delete_file';
  return { [member]: isDeletion ? file : { ...file, diff: diff ?? '' } };
}

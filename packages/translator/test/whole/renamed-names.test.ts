/**
 * Names of tools and arguments that the upstream refuses: every call reaches the client under the
 * client's names, and goes back to the upstream as the model wrote it.
 */

import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createChatStream,
  translateRequest,
  translateResponse,
  optionsOf,
  createResponseStream,
  translateMessage,
  translateResponsesRequest,
} from '../../src/index.js';
import { renameMembers } from '../../src/wire/member-names.js';
import { eventsOf } from '../sse-events.js';

const OPTIONS = optionsOf('claude-opus-4-6')!;
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;
const ARGUMENT_NAME = /^[a-zA-Z0-9_.-]{1,64}$/;

// Without backslashes: `JSON.parse` of V8 13 takes the key `"` for `\` if it has parsed an object
// with that key before.
const name = fc.oneof(
  fc.constantFrom('$top', 'filter[id]', 'a.b', 'a b', '__proto__', 'ä', '"', 'x'.repeat(129)),
  fc
    .string({ minLength: 1, maxLength: 140, unit: 'binary' })
    .map((text) => text.replaceAll('\\', '/')),
);
const value = fc.oneof(
  fc.constantFrom('12345678901234567890.10', '{"$top":1}', '["$top",{"a b":null}]'),
  fc.jsonValue().map((json) => JSON.stringify(json)),
);
const scenario = fc.record({
  tool: name,
  members: fc.uniqueArray(fc.tuple(name, value), {
    maxLength: 4,
    selector: ([member]) => member,
  }),
  cuts: fc.array(fc.nat(60), { maxLength: 3 }),
});

interface Native {
  readonly tools: readonly [
    {
      readonly name: string;
      readonly input_schema: {
        readonly properties: Readonly<Record<string, unknown>>;
        readonly required: readonly string[];
      };
    },
  ];
  readonly messages: readonly { readonly content: readonly { readonly name?: string }[] }[];
}

type Members = readonly (readonly [name: string, value: string])[];

function parametersOf(members: Members) {
  const required = members.map(([member]) => member);
  const properties = Object.fromEntries(required.map((member) => [member, {}]));
  return { type: 'object', properties, required };
}

/** The upstream's name of the tool, and the arguments as the model writes them, with such names. */
function callOf(
  { tools: [tool] }: Native,
  { properties }: ReturnType<typeof parametersOf>,
  members: Members,
): { readonly sent: string; readonly written: string } {
  const keys = Object.keys(properties);
  const values = keys.map((key) => members.find(([member]) => member === key)![1]);
  const written = Object.keys(tool.input_schema.properties).map(
    (name, index) => `${JSON.stringify(name)} : ${values[index]!}`,
  );
  return { sent: tool.name, written: `{${written.join(', ')}}` };
}

function checkNames({ tools: [tool] }: Native): void {
  expect(tool.name).toMatch(TOOL_NAME);
  for (const member of Object.keys(tool.input_schema.properties)) {
    expect(member).toMatch(ARGUMENT_NAME);
  }
  expect(tool.input_schema.required).toEqual(Object.keys(tool.input_schema.properties));
}

function messageWith(tool: string, input: string): string {
  const call = `{"type":"tool_use","id":"toolu_1","name":${JSON.stringify(tool)},"input":${input}}`;
  return `{"id":"msg_1","content":[${call}],"stop_reason":"tool_use"}`;
}

function eventsWith(tool: string, input: string, cuts: readonly number[]): Uint8Array {
  const ends = [...new Set([...cuts, input.length])].sort((a, b) => a - b);
  const pieces = ends.map((end, index) => input.slice(ends[index - 1] ?? 0, end));
  const block = { type: 'tool_use', id: 'toolu_1', name: tool, input: {} };
  const events = [
    { type: 'message_start', message: { id: 'msg_1', content: [] } },
    { type: 'content_block_start', index: 0, content_block: block },
    ...pieces.map((partial_json) => ({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'input_json_delta', partial_json },
    })),
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ];
  return new TextEncoder().encode(
    events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
  );
}

interface Pipe {
  push(bytes: Uint8Array): Uint8Array;
  end(): { readonly tail: Uint8Array };
}

function eventsThrough(pipe: Pipe, bytes: Uint8Array): Record<string, unknown>[] {
  const pieces = [pipe.push(bytes), pipe.end().tail];
  return eventsOf(pieces)
    .filter(({ data }) => data !== '[DONE]')
    .map(({ data }) => JSON.parse(data) as Record<string, unknown>);
}

describe('a tool whose names the upstream refuses', () => {
  // F198: tools or arguments with names that the upstream refuses (`$top`, `filter[id]`, `a.b`,
  // long ones): sent under other names; calls, streams and histories have the client's, with every
  // digit.
  it('is called by chat clients under their names', () => {
    fc.assert(
      fc.property(scenario, ({ tool, members, cuts }) => {
        const parameters = parametersOf(members);
        const { properties } = parameters;
        const tools = [{ type: 'function', function: { name: tool, parameters } }];
        const hello = { role: 'user', content: 'Hi' };
        const ask = (messages: object[]) => {
          const result = translateRequest({ model: 'm', messages, tools }, OPTIONS);
          if (result.outcome === 'refused') throw new Error(result.problem.message);
          return result;
        };
        const { body, response } = ask([hello]);
        const native = JSON.parse(body) as Native;
        checkNames(native);
        const { written, sent } = callOf(native, parameters, members);

        const context = { ...response, created: 0 };
        const answer = translateResponse(messageWith(sent, written), context);
        if (answer.outcome !== 'translated') throw new Error(answer.reason);
        const { choices } = JSON.parse(answer.body) as {
          choices: {
            message: { tool_calls: { function: { name: string; arguments: string } }[] };
          }[];
        };
        const { message } = choices[0]!;
        const called = message.tool_calls[0]!.function;
        expect(called.name).toBe(tool);
        expect(Object.keys(JSON.parse(called.arguments) as object)).toEqual(
          Object.keys(properties),
        );

        const chunks = eventsThrough(createChatStream(context), eventsWith(sent, written, cuts));
        const deltas = chunks.flatMap(({ choices: list }) =>
          (
            list as {
              delta: { tool_calls?: { function: { name?: string; arguments: string } }[] };
            }[]
          ).flatMap(({ delta }) => delta.tool_calls ?? []),
        );
        expect(deltas.map((delta) => delta.function.name ?? '').join('')).toBe(tool);
        expect(deltas.map((delta) => delta.function.arguments).join('')).toBe(called.arguments);

        const result = { role: 'tool', tool_call_id: 'toolu_1', content: 'ok' };
        expect(ask([hello, message, result]).body).toContain(
          `"name":${JSON.stringify(sent)},"input":${written}}`,
        );
      }),
      { numRuns: 200 },
    );
  });

  // F198
  it('is called by clients of the Responses API under their names', () => {
    fc.assert(
      fc.property(scenario, ({ tool, members, cuts }) => {
        const parameters = parametersOf(members);
        const { properties } = parameters;
        const tools = [{ type: 'function', name: tool, parameters }];
        const hello = { role: 'user', content: 'Hi' };
        const ask = (input: object[]) => {
          const result = translateResponsesRequest({ model: 'm', input, tools }, OPTIONS);
          if (result.outcome === 'refused') throw new Error(result.problem.message);
          return result;
        };
        const { body, response } = ask([hello]);
        const native = JSON.parse(body) as Native;
        checkNames(native);
        const { written, sent } = callOf(native, parameters, members);

        const context = { ...response, created: 0 };
        const answer = translateMessage(messageWith(sent, written), context);
        if (answer.outcome !== 'translated') throw new Error(answer.reason);
        const { output } = JSON.parse(answer.body) as {
          output: { name: string; arguments: string }[];
        };
        expect(output[0]!.name).toBe(tool);
        expect(Object.keys(JSON.parse(output[0]!.arguments) as object)).toEqual(
          Object.keys(properties),
        );

        const events = eventsThrough(
          createResponseStream(context),
          eventsWith(sent, written, cuts),
        );
        const deltas = events.filter(
          ({ type }) => type === 'response.function_call_arguments.delta',
        );
        expect(deltas.map(({ delta }) => delta).join('')).toBe(output[0]!.arguments);

        const result = { type: 'function_call_output', call_id: 'toolu_1', output: 'ok' };
        expect(ask([hello, output[0]!, result]).body).toContain(
          `"name":${JSON.stringify(sent)},"input":${written}}`,
        );
      }),
      { numRuns: 200 },
    );
  });
});

describe('renameMembers', () => {
  const names = new Map([['a', 'b"']]);

  it('renames members of the object itself only, and keeps all else', () => {
    const json = '{ "a" :{"a":1.0},"\\u0061":["a",{"a":0}], "c":"a" }';
    expect(renameMembers(json, names)).toBe('{ "b\\"" :{"a":1.0},"b\\"":["a",{"a":0}], "c":"a" }');
  });

  it('ends on text that was cut off anywhere', () => {
    const json = '{"a":"\\"","x":{"a":[1]},"a":2}';
    for (let end = 0; end <= json.length; end += 1) {
      expect(() => renameMembers(json.slice(0, end), names)).not.toThrow();
    }
  });
});

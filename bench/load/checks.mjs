/**
 * Checks every response:
 *
 * - `bytes`: a contestant that forwards the native format must forward it byte for byte;
 * - `meaning`: a contestant that rewrites or translates it must send the same text, tool calls and
 *   usage. A stream is accepted if it has the same length, number of events and end as the last one
 *   that was read and found correct. Every other stream is read event by event.
 */

import { isDeepStrictEqual } from 'node:util';

/**
 * @returns the check of one connection: `begin`, `data` for each piece of body, and `end`, which
 * returns the problem.
 */
export function createCheck({ answer, format, fidelity }) {
  if (format === 'native' && fidelity === 'bytes') return bytesCheck(answer.native);
  const reader = READERS[format][answer.kind];
  return answer.kind === 'json' ? bodyCheck(answer, reader) : streamCheck(answer, reader);
}

function bytesCheck(expected) {
  let at = 0;
  let isSame = true;
  return {
    begin() {
      at = 0;
      isSame = true;
    },
    data(piece) {
      isSame &&= expected.subarray(at, at + piece.length).equals(piece);
      at += piece.length;
    },
    end() {
      if (!isSame) return 'other bytes than the upstream sent';
      return at === expected.length ? undefined : `${at} bytes instead of ${expected.length}`;
    },
  };
}

function bodyCheck(answer, reader) {
  return collected((text) => problemOf(answer, reader(JSON.parse(text))));
}

function streamCheck(answer, reader) {
  let known;
  return collected((text) => {
    const events = countOf(text, '\ndata: ');
    if (
      known !== undefined &&
      text.length === known.bytes &&
      events === known.events &&
      text.endsWith(known.end)
    ) {
      return undefined;
    }
    const problem = problemOf(answer, reader(text));
    // The end of a response, from the usage on, is the same in every response.
    if (problem === undefined) known = { bytes: text.length, events, end: endOf(text) };
    return problem;
  });
}

function collected(judge) {
  let pieces = [];
  return {
    begin() {
      pieces = [];
    },
    data(piece) {
      pieces.push(piece);
    },
    end() {
      const text = (pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)).toString();
      try {
        return judge(text);
      } catch (error) {
        return `cannot be read: ${error.message}`;
      }
    },
  };
}

const READERS = {
  native: {
    json: ({ usage, content }) => ({
      usage,
      text: content.map((block) => block.text ?? '').join(''),
      calls: content.filter(({ type }) => type === 'tool_use').map(callOfBlock),
      isWhole: true,
    }),
    stream(text) {
      const events = eventsOf(text);
      const usage = {};
      for (const event of events) Object.assign(usage, event.message?.usage, event.usage);
      const inputOf = (index) =>
        events.map((event) => (event.index === index && event.delta?.partial_json) || '').join('');
      return {
        usage,
        text: events.map((event) => event.delta?.text ?? '').join(''),
        calls: events
          .filter((event) => event.content_block?.type === 'tool_use')
          .map(({ index, content_block: { id, name } }) => ({
            id,
            name,
            input: JSON.parse(inputOf(index)),
          })),
        isWhole: events.at(-1)?.type === 'message_stop',
      };
    },
  },
  chat: {
    json: (body) => ({
      usage: nativeUsage(body.usage),
      text: body.choices[0].message.content,
      calls: (body.choices[0].message.tool_calls ?? []).map(callOfChat),
      isWhole: true,
    }),
    stream(text) {
      const chunks = eventsOf(text.replace(/data: \[DONE\]\s*$/, ''));
      return {
        usage: nativeUsage(chunks.findLast((chunk) => chunk.usage != null)?.usage),
        text: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
        calls: joinedCalls(chunks).map(callOfChat),
        isWhole: /data: \[DONE\]\s*$/.test(text),
      };
    },
  },
};

function callOfBlock({ id, name, input }) {
  return { id, name, input };
}

function callOfChat({ id, function: { name, arguments: input } }) {
  return { id, name, input: JSON.parse(input) };
}

/** The tool calls of a stream in the chat format, whose arguments arrive in parts. */
function joinedCalls(chunks) {
  const calls = new Map();
  for (const part of chunks.flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
    const call = calls.get(part.index);
    if (call === undefined) calls.set(part.index, { ...part, function: { ...part.function } });
    else call.function.arguments += part.function.arguments ?? '';
  }
  return [...calls.values()];
}

function problemOf(answer, { usage, text, calls, isWhole }) {
  if (!isWhole) return 'the stream has no proper end';
  if (text !== answer.text)
    return `text of ${text.length} instead of ${answer.text.length} characters`;
  if (!isDeepStrictEqual(calls, answer.calls)) return 'other tool calls than the upstream sent';
  const { input_tokens: input, output_tokens: output } = answer.usage;
  if (usage?.input_tokens === input && usage.output_tokens === output) return undefined;
  return `usage ${JSON.stringify(usage)} instead of ${input} and ${output}`;
}

function nativeUsage(usage) {
  return { input_tokens: usage?.prompt_tokens, output_tokens: usage?.completion_tokens };
}

function eventsOf(text) {
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice('data: '.length)));
}

/** A response from its last usage to its end. Ids and times, which differ, come before it. */
function endOf(text) {
  return text.slice(text.lastIndexOf('"usage":{'));
}

function countOf(text, part) {
  let count = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length))
    count += 1;
  return count;
}

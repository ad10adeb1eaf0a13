/**
 * Conversations with models that bind their thinking to what precedes it, in the two translated
 * formats, before an upstream that checks each block.
 */

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { checkThinking } from '@gateway/upstream-simulator';
import type { JsonObject } from '@gateway/upstream-simulator';
import fc from 'fast-check';
import { PATHS, startTestGateway } from '../support/gateway.js';
import type { TestGateway } from '../support/gateway.js';

let gateway: TestGateway;
let apiKey: string;
beforeAll(async () => {
  gateway = await startTestGateway({ env: { CHAT_REASONING: 'thinking_blocks' } });
  ({ apiKey } = await gateway.createKey());
});
afterAll(() => gateway.stop());

type Format = 'chat.completions' | 'responses';
const NAMES = ['look_up', 'write_down', 'send_off'];

/** One request of an agent, and what its client asks for in this request only. */
interface Step {
  /** What the user says; undefined if the client only asks the model to go on. */
  readonly says: string | undefined;
  readonly choice: 'auto' | 'required' | 'named' | 'allowed' | 'none' | undefined;
  readonly wantsJson: boolean;
  /** What the client changed before this request. */
  readonly change: 'instructions' | 'tools' | 'no_tools' | undefined;
}

/** A client that sends back what it receives, and changes nothing that it sent unless told to. */
class Agent {
  readonly format: Format;
  readonly model: string;
  readonly history: JsonObject[] = [];
  instructions = 'Be brief.';
  tools = NAMES;
  changes = 0;

  constructor(format: Format, model: string) {
    this.format = format;
    this.model = model;
  }

  /** @returns the body that went upstream */
  async take(step: Step): Promise<JsonObject> {
    if (step.change !== undefined) this.#change(step.change);
    if (step.says !== undefined) this.history.push({ role: 'user', content: step.says });
    const body = this.format === 'responses' ? this.#response(step) : this.#completion(step);
    const answer = await fetch(`${gateway.url}${PATHS[this.format]}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: this.model, ...body }),
    });
    const text = await answer.text();
    expect([answer.status, text]).toEqual([200, expect.anything()]);
    this.#remember(JSON.parse(text) as JsonObject);
    const sent = gateway.simulator.journal.requests().at(-1)?.body;
    return JSON.parse(String(sent)) as JsonObject;
  }

  #change(change: Step['change']): void {
    this.changes += 1;
    if (change === 'instructions') this.instructions = `Rule ${String(this.changes)}.`;
    else this.tools = change === 'tools' ? [...NAMES, `tool_${String(this.changes)}`] : [];
  }

  #choice({ choice }: Step, wrap: (name: string) => JsonObject): unknown {
    const [name = '', other = ''] = this.tools;
    if (name === '' || choice === undefined) return undefined;
    if (choice === 'named') return wrap(name);
    if (choice !== 'allowed') return choice;
    const tools = [wrap(name), wrap(other)];
    return this.format === 'responses'
      ? { type: 'allowed_tools', mode: 'auto', tools }
      : { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools } };
  }

  #response(step: Step): JsonObject {
    return {
      instructions: this.instructions,
      input: this.history,
      tools: this.tools.map((name) => ({ type: 'function', name, parameters: { type: 'object' } })),
      tool_choice: this.#choice(step, (name) => ({ type: 'function', name })),
      text: step.wantsJson ? { format: { type: 'json_object' } } : undefined,
    };
  }

  #completion(step: Step): JsonObject {
    return {
      messages: [{ role: 'system', content: this.instructions }, ...this.history],
      tools: this.tools.map((name) => ({ type: 'function', function: { name } })),
      tool_choice: this.#choice(step, (name) => ({ type: 'function', function: { name } })),
      response_format: step.wantsJson ? { type: 'json_object' } : undefined,
    };
  }

  #remember(answer: JsonObject): void {
    if (this.format === 'responses') {
      for (const item of answer['output'] as JsonObject[]) {
        this.history.push(item);
        if (item['type'] !== 'function_call') continue;
        const { call_id } = item;
        this.history.push({ type: 'function_call_output', call_id, output: 'done' });
      }
      return;
    }
    const [{ message }] = answer['choices'] as [{ message: JsonObject }];
    this.history.push(message);
    for (const { id } of (message['tool_calls'] ?? []) as { id: string }[]) {
      this.history.push({ role: 'tool', tool_call_id: id, content: 'done' });
    }
  }
}

function thinkingIn(body: JsonObject): number {
  const messages = body['messages'] as { content: string | { type: string }[] }[];
  return messages
    .flatMap(({ content }) => (typeof content === 'string' ? [] : content))
    .filter(({ type }) => type === 'thinking').length;
}

const speech = fc.option(fc.constantFrom('Hello', 'Use look_up', 'Use send_off'), {
  nil: undefined,
});
const unchanged = fc.record<Step>({
  says: speech,
  choice: fc.constantFrom(undefined, 'auto', 'required', 'named', 'allowed', 'none'),
  wantsJson: fc.boolean(),
  change: fc.constant(undefined),
});
const changed = fc.record<Step>({
  says: speech,
  choice: fc.constantFrom(undefined, 'auto', 'required', 'named', 'allowed', 'none'),
  wantsJson: fc.boolean(),
  change: fc.constantFrom(undefined, undefined, 'instructions', 'tools', 'no_tools'),
});
const FIRST: Step = { says: 'Hello', choice: undefined, wantsJson: false, change: undefined };

describe.each<Format>(['responses', 'chat.completions'])('%s', (format) => {
  // F195: a model that binds its thinking; the client only appends, and the translation adds an
  // instruction in some requests: every block of thinking is accepted in every later request.
  it('keeps all thinking while the client only appends', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(unchanged, { minLength: 2, maxLength: 7 }), async (steps) => {
        const agent = new Agent(format, 'claude-opus-5-5');
        let answers = 0;
        for (const step of [FIRST, ...steps]) {
          const body = await agent.take(step);
          expect(checkThinking(body).dropped).toEqual([]);
          expect(thinkingIn(body)).toBe(answers);
          answers += 1;
        }
      }),
      { numRuns: 15 },
    );
  });

  // F196: the client changes its instructions or tools, or compacts its history: no error; only the
  // thinking from before the change is left out.
  it('serves clients that change what came before, and keeps the thinking after it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(changed, { minLength: 2, maxLength: 7 }), async (steps) => {
        const agent = new Agent(format, 'claude-fable-5-1');
        let answers = 0;
        let answersBeforeChange = 0;
        for (const step of [FIRST, ...steps]) {
          const body = await agent.take(step);
          if (step.change !== undefined) answersBeforeChange = answers;
          expect(checkThinking(body).dropped.length).toBeLessThanOrEqual(answersBeforeChange);
          expect(thinkingIn(body)).toBe(answers);
          answers += 1;
        }
      }),
      { numRuns: 15 },
    );
  });

  it('still gets what an added instruction asks for', async () => {
    const agent = new Agent(format, 'claude-opus-5-5');
    await agent.take({ ...FIRST, wantsJson: true });
    expect(JSON.stringify(agent.history)).toContain('{\\"answer\\":\\"simulated\\"');
    await agent.take(FIRST);
    expect(JSON.stringify(agent.history.at(-1))).not.toContain('{\\"answer');
  });

  // F197: thinking in the history of a request that cannot say what to do with it, such as one with
  // a forced call: the thinking is left out with a note.
  it('leaves out thinking where the request cannot say what to do with it', async () => {
    const agent = new Agent(format, 'claude-haiku-5-5');
    await agent.take(FIRST);
    const forced = { ...FIRST, choice: 'required' } as const;
    expect(thinkingIn(await agent.take(forced))).toBe(0);
    expect(thinkingIn(await agent.take(FIRST))).toBe(1);
  });
});

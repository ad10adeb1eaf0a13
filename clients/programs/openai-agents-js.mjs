/**
 * openai-agents for JavaScript, in both of its formats: a tool, an output type, a handoff and a
 * streamed run. With a model that checks what precedes its thinking: a forced tool, a handoff to
 * other instructions, hosted tools beside functions, and the tools that the SDK runs itself.
 */

import { equal, match, ok } from 'node:assert/strict';
import { Agent, applyPatchTool, codeInterpreterTool, fileSearchTool, run } from '@openai/agents';
import { shellTool, tool, webSearchTool } from '@openai/agents';
import { z } from 'zod';
import { chat, responses } from './openai-agents.mjs';

const Place = z.object({ city: z.string(), people: z.number().int() });
const weather = tool({
  name: 'get_weather',
  description: 'Weather',
  parameters: z.object({ city: z.string() }),
  execute: () => 'sunny',
});

for (const [form, provider] of Object.entries({ responses, chat })) {
  const reported = async (check, ...args) => report(`${form} ${check}`, await run(...args));
  const model = await provider.getModel('claude-opus-5');
  const asking = new Agent({ name: 'Asking', model, tools: [weather] });
  match((await reported('tool', asking, 'Call get_weather')).finalOutput, /sunny/);
  const typed = new Agent({ name: 'Typed', model, outputType: Place });
  Place.parse((await reported('outputType', typed, 'Hello')).finalOutput);
  const triage = new Agent({ name: 'Triage', model, handoffs: [typed] });
  const transferred = await reported('handoff', triage, 'Call transfer_to_Typed');
  Place.parse(transferred.finalOutput);
  const streamed = await run(new Agent({ name: 'Plain', model }), 'Hello', { stream: true });
  // The result is complete once its events were read.
  await Array.fromAsync(streamed);
  ok(streamed.finalOutput);
  report(`${form} streamed run`, streamed);

  const bound = await provider.getModel('claude-opus-5-5');
  const forced = new Agent({
    name: 'Forced',
    model: bound,
    tools: [weather],
    modelSettings: { toolChoice: 'required' },
  });
  match((await reported('forced tool', forced, 'Call get_weather')).finalOutput, /sunny/);
  const other = new Agent({ name: 'Other', instructions: 'Be brief.', model: bound });
  const first = new Agent({
    name: 'First',
    instructions: 'Hand off.',
    model: bound,
    handoffs: [other],
  });
  const second = await reported('handoff with other instructions', first, 'transfer_to_Other');
  equal(second.lastAgent, other);
}

const model = await responses.getModel('claude-opus-5-5');
const hosted = new Agent({
  name: 'Hosted',
  model,
  tools: [weather, webSearchTool(), codeInterpreterTool(), fileSearchTool('vs_1')],
});
const called = report('hosted tools beside a function', await run(hosted, 'Call get_weather'));
match(called.finalOutput, /sunny/);
const searched = report('web search beside a function', await run(hosted, 'search for Bern'));
match(searched.finalOutput, /The web is simulated/);

const commands = [];
const diffs = [];
const local = new Agent({
  name: 'Local',
  model,
  tools: [
    shellTool({
      shell: {
        async run(action) {
          commands.push(...action.commands);
          const outcome = { type: 'exit', exitCode: 0 };
          return { output: [{ stdout: 'done', stderr: '', outcome }] };
        },
      },
    }),
    applyPatchTool({
      editor: {
        async createFile({ path, diff }) {
          diffs.push([path, diff]);
        },
        async updateFile() {},
        async deleteFile() {},
      },
    }),
  ],
});
report('shell', await run(local, 'Do:\ntool:shell {"commands":["ls"]}'));
equal(commands.join(), 'ls');
const patch = { type: 'create_file', path: 'a.txt', diff: '+Hello' };
report('patch tool', await run(local, `Do:\ntool:apply_patch ${JSON.stringify(patch)}`));
equal(diffs.join(), 'a.txt,+Hello');

/** @returns the result */
function report(check, result) {
  const { inputTokens: input, outputTokens: output } = result.state.usage;
  console.log(JSON.stringify({ check, usage: { input, output } }));
  return result;
}

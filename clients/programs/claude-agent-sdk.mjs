/** Claude Agent SDK: a file written by the tool of Claude Code, and a second turn. */

import { equal } from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { query } from '@anthropic-ai/claude-agent-sdk';

const folder = resolve('work');
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);
const file = join(folder, 'greeting.txt');
const input = JSON.stringify({ file_path: file, content: 'Hello\n' });

await run(`Do this:\ntool:Write ${input}`);
equal(readFileSync(file, 'utf8'), 'Hello\n');
const usage = await run('And again', { continue: true });
console.log(JSON.stringify({ check: 'file tool and a second turn', usage }));

/** @returns the usage of the conversation so far */
async function run(prompt, more = {}) {
  const options = { model: 'claude-opus-5', permissionMode: 'acceptEdits', cwd: folder, ...more };
  const usage = { input: 0, output: 0 };
  for await (const message of query({ prompt, options })) {
    if (message.type !== 'result') continue;
    equal(message.subtype, 'success');
    for (const model of Object.values(message.modelUsage)) {
      usage.input +=
        model.inputTokens + model.cacheReadInputTokens + model.cacheCreationInputTokens;
      usage.output += model.outputTokens;
    }
  }
  return usage;
}

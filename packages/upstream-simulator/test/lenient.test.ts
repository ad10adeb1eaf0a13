/** Rules of the API that a simulator can be told not to apply. */

import { expect, it } from '@jest/globals';
import { RULE_NAMES, startUpstreamSimulator } from '../src/index.js';
import type { RuleName, UpstreamSimulatorOptions } from '../src/index.js';
import { send } from './format-requests.js';

async function answersOf(options: UpstreamSimulatorOptions, requests: readonly object[]) {
  const simulator = await startUpstreamSimulator(options);
  const answers: (string | undefined)[] = [];
  for (const request of requests) {
    const response = await send(simulator, request);
    answers.push((await response.json()).error?.message);
  }
  await simulator.close();
  return answers;
}

const valid = {
  model: 'claude-opus-5',
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hi' }],
};

it('a rule that the simulator is lenient about is not applied, and all others are', async () => {
  const requests = [
    { ...valid, seed: 1 },
    { ...valid, temperature: 0.5 },
  ];
  const sampling = '`temperature` is deprecated for this model.';
  const unknown = 'seed: Extra inputs are not permitted';
  expect(await answersOf({}, requests)).toEqual([unknown, sampling]);
  expect(await answersOf({ lenient: ['known-members'] }, requests)).toEqual([undefined, sampling]);
  expect(await answersOf({ lenient: ['model-sampling'] }, requests)).toEqual([unknown, undefined]);
});

it('a simulator that is lenient about every rule answers a request that breaks many', async () => {
  const broken = { seed: 1, thinking: { type: 'no' }, messages: [{ role: 'x', content: [{}] }] };
  expect(await answersOf({ lenient: RULE_NAMES }, [broken])).toEqual([undefined]);
});

it('a simulator is not started with a rule that does not exist', async () => {
  const lenient = ['blocks', 'blocs'] as RuleName[];
  await expect(startUpstreamSimulator({ lenient })).rejects.toThrow('no rule is called "blocs"');
});

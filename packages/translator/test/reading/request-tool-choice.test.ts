import { describe, expect, it } from '@jest/globals';
import { normalizeToolChoice } from '../../src/index.js';

describe('normalizeToolChoice', () => {
  it.each([
    [{ type: 'auto' }],
    [{ type: 'any', disable_parallel_tool_use: true }],
    [{ type: 'tool', name: 'f' }],
    [{ type: 'none' }],
    [{ type: 'auto', some_future_member: { a: 1 } }],
  ])('leaves the native %j untouched', (value) => {
    expect(normalizeToolChoice(value)).toEqual({ outcome: 'native' });
  });

  it.each([
    ['auto', { type: 'auto' }],
    ['none', { type: 'none' }],
    ['required', { type: 'any' }],
    ['any', { type: 'any' }],
    [{ type: 'required' }, { type: 'any' }],
    [
      { type: 'function', function: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'function', name: 'f' },
      { type: 'tool', name: 'f' },
    ],
    [
      { type: 'custom', custom: { name: 'f' } },
      { type: 'tool', name: 'f' },
    ],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } }, { type: 'none' }],
  ])('reads %j as %j', (value, toolChoice) => {
    expect(normalizeToolChoice(value)).toEqual({ outcome: 'normalized', toolChoice });
  });

  it.each([
    ['auto', 'auto'],
    ['required', 'any'],
  ])('reads allowed_tools of mode %s as %s, and names the tools', (mode, type) => {
    const tools = [
      { type: 'function', function: { name: 'f' } },
      { type: 'function', name: 'g' },
    ];
    const expected = { outcome: 'normalized', toolChoice: { type }, allowedTools: ['f', 'g'] };
    expect(normalizeToolChoice({ type: 'allowed_tools', allowed_tools: { mode, tools } })).toEqual(
      expected,
    );
    expect(normalizeToolChoice({ type: 'allowed_tools', mode, tools })).toEqual(expected);
  });

  it.each([
    [null, 'tool_choice'],
    [undefined, 'tool_choice'],
    [true, 'tool_choice'],
    [1, 'tool_choice'],
    ['', 'tool_choice'],
    ['AUTO', 'tool_choice'],
    [['auto'], 'tool_choice'],
    [{}, 'tool_choice.type'],
    [{ type: 'tool' }, 'tool_choice.name'],
    [{ type: 'tool', name: '' }, 'tool_choice.name'],
    [{ type: 'function', function: { name: 5 } }, 'tool_choice.function.name'],
    [{ type: 'custom', custom: {} }, 'tool_choice.custom.name'],
    [{ type: 'allowed_tools' }, 'tool_choice.mode'],
    [{ type: 'allowed_tools', allowed_tools: { mode: 'auto' } }, 'tool_choice.allowed_tools.tools'],
    [{ type: 'allowed_tools', mode: 'auto', tools: ['f'] }, 'tool_choice.tools[0]'],
  ])('refuses %j, naming %s', (value, param) => {
    expect(normalizeToolChoice(value)).toMatchObject({ outcome: 'refused', problem: { param } });
  });
});

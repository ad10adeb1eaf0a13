/**
 * The catalogue of models in the shape that Codex reads. Codex does not know the models of this
 * gateway. Without a description of a model it leaves out its patch tool, takes a small context
 * window for granted, and warns its user.
 *
 * Codex asks `GET {base_url}/models?client_version=…`. It ignores the whole catalogue if a required
 * member of one model is missing. The members are those of `ModelInfo` in
 * https://github.com/openai/codex/blob/main/codex-rs/protocol/src/openai_models.rs
 */

import { isDeprecated } from '@gateway/billing';
import type { EffortLevel, ModelPrice } from '@gateway/billing';

/** In the order of Codex's list of choices. */
const EFFORTS: Readonly<Record<EffortLevel, string>> = {
  low: 'The fewest tokens, for simple tasks',
  medium: 'A balance of tokens and care',
  high: 'Careful; the default of the model',
  xhigh: 'More exploration, for long tasks',
  max: 'As many tokens as it takes',
};

/**
 * Codex sends these at the beginning of each conversation, in place of the instructions for models
 * that it does not know. A user can replace them by `model_instructions_file` in `config.toml`.
 */
const BASE_INSTRUCTIONS = `\
You are a coding agent in Codex, a program in the terminal of the user. You work in their folder,
with their files and commands.

- Finish the task before you yield: find out what you need, make the changes, and check them. Stop
  at a plan only if the user asks for one.
- Read a file before you change it. Keep to the style and the structure of the code around. Change
  what the task needs, and nothing else.
- Edit files with apply_patch. Search with rg, if it is there. Run independent commands in parallel.
- Follow AGENTS.md files: each applies to its folder and those below it, and a deeper one takes
  precedence. What the user says takes precedence over all of them.
- Never undo changes that you did not make. Do not commit, push, delete or install anything unless
  the task asks for it.
- After a change, run the tests, the linter or the build of the project. If something fails for a
  reason that has nothing to do with the task, say so and leave it.
- Before a longer step, say in one sentence what you do. At the end, say briefly what you changed,
  what you checked and what is left. Name files by their paths, with line numbers where they help.
`;

/** Part of a tool's output that Codex keeps; the value that it has for its own models. */
const OUTPUT_TOKENS = 10_000;

/**
 * @param models - In the order in which the user is to see them.
 * @param atMs - Milliseconds since the epoch. A model whose retirement is announced at this time
 * still works, but is not offered.
 */
export function codexModels(models: readonly ModelPrice[], atMs: number) {
  return {
    models: models.map((price, index) => {
      const { id, displayName, contextWindow, traits } = price;
      const efforts = (Object.keys(EFFORTS) as EffortLevel[]).filter((effort) =>
        traits.effort.includes(effort),
      );
      return {
        slug: id,
        display_name: displayName,
        description: null,
        // Without a level, Codex lists the model with the effort `none`.
        ...(efforts.includes('high') ? { default_reasoning_level: 'high' } : {}),
        supported_reasoning_levels: efforts.map((effort) => ({
          effort,
          description: EFFORTS[effort],
        })),
        shell_type: 'unified_exec',
        visibility: isDeprecated(price, atMs) ? 'hide' : 'list',
        supported_in_api: true,
        priority: index,
        upgrade: null,
        base_instructions: BASE_INSTRUCTIONS,
        supports_reasoning_summaries: traits.thinkingOn !== undefined,
        support_verbosity: false,
        default_verbosity: null,
        apply_patch_tool_type: 'freeform',
        truncation_policy: { mode: 'tokens', limit: OUTPUT_TOKENS },
        supports_parallel_tool_calls: true,
        context_window: contextWindow,
        experimental_supported_tools: [],
        input_modalities: ['text', 'image'],
      };
    }),
  };
}

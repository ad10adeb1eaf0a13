/** A context of answers in the Responses API, for tests that say nothing about it. */
export const RESPONSES_CONTEXT = {
  model: 'm',
  created: 0,
  tools: new Map(),
  showsSummaries: false,
  settings: {
    max_output_tokens: null,
    metadata: {},
    parallel_tool_calls: true,
    reasoning: { effort: null, summary: null },
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    top_p: null,
  },
} as const;

/** A context of chat completions with thinking. */
export const THINKING_CONTEXT = {
  model: 'm',
  includeUsage: false,
  legacyFunctions: false,
  reasoning: 'reasoning_content',
  created: 0,
} as const;

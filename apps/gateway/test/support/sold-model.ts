/** A model of a price table of the tests' own, with rates in USD per million tokens. */
export function soldModel(id: string, rate_in: string, rate_out: string) {
  return {
    id,
    display_name: id,
    rate_in,
    rate_out,
    max_output_tokens: 64_000,
    context_window: 200_000,
    traits: {
      sampling: 'accepted',
      forced_tool_choice: 'accepted',
      effort: [],
      thinking_off: 'omit',
    },
  };
}

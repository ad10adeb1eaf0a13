/** Every stop reason of the Anthropic SDK in `package.json` (`StopReason`, `BetaStopReason`). */
export const STOP_REASONS = [
  'end_turn',
  'max_tokens',
  'stop_sequence',
  'tool_use',
  'pause_turn',
  'compaction',
  'refusal',
  'model_context_window_exceeded',
] as const;

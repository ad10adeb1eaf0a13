/** What one upstream model accepts, as far as translation must respect it. */

export type EffortLevel = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelTraits {
  /** Whether `temperature` and `top_p` may be sent. Models after Opus 4.6 refuse them. */
  readonly sampling: 'accepted' | 'refused';
  /** Whether `tool_choice` of type `any` and `tool` may be sent. */
  readonly forcedToolChoice: 'accepted' | 'refused';
  /** Levels of `output_config.effort`; empty when the model has no effort control. */
  readonly effort: readonly EffortLevel[];
  /** How thinking is turned off: it is off when omitted, by `thinking: {type: "disabled"}`, or it cannot be. */
  readonly thinkingOff: 'omit' | 'disabled' | 'never';
}

/** The properties of an upstream model that the translation depends on. */

export type EffortLevel = 'low' | 'medium' | 'high' | 'xhigh' | 'max';

export interface ModelTraits {
  /**
   * Whether the model accepts `temperature` and `top_p`. Models after generation 4.6 refuse them.
   */
  readonly sampling: 'accepted' | 'refused';
  /** Whether the model accepts a `tool_choice` of type `any` or `tool`. */
  readonly forcedToolChoice: 'accepted' | 'refused';
  /** The levels of `output_config.effort`; empty when the model has no effort control. */
  readonly effort: readonly EffortLevel[];
  /**
   * How to turn thinking off: omit the member, or send a `thinking` of type `disabled` or
   * `between_tools`; or thinking cannot be turned off.
   */
  readonly thinkingOff: 'omit' | 'disabled' | 'between_tools' | 'never';
  /**
   * How to turn thinking on: it is on by default, or send `thinking: {type: "adaptive"}`. If
   * absent, requests do not turn it on.
   */
  readonly thinkingOn?: 'default' | 'adaptive' | undefined;
  /**
   * Where the model accepts system prompts. `first`: only in `system`. `anywhere`: also as a
   * message of role `system` directly after a user message. Default: `first`.
   */
  readonly systemMessages?: 'anywhere' | 'first' | undefined;
  /** Whether the model accepts `output_config.format` and strict tools. Default: `refused`. */
  readonly structuredOutputs?: 'accepted' | 'refused' | undefined;
  /**
   * Whether the signature of a thinking block binds it to the system prompt, the tools and the
   * messages before it. The model then refuses a replay after a change of those, unless the request
   * contains `thinking.block_binding`. Default: false.
   */
  readonly bindsThinking?: boolean | undefined;
}

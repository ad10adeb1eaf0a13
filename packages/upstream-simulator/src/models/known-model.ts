/** The facts about one model that `npm run models` writes. */
export interface KnownModel {
  readonly id: string;
  /** Dated snapshots. */
  readonly aliases: readonly string[];
  readonly displayName: string;
  readonly line?: string;
  readonly createdAt: string;
  readonly deprecatedAt?: string;
  readonly retiresAt?: string;
  readonly verifiedOnly: boolean;
  readonly maxOutputTokens: number;
  readonly contextWindow: number;
  readonly traits: {
    readonly sampling: string;
    readonly forcedToolChoice: string;
    readonly effort: readonly string[];
    readonly thinkingOff: string;
    readonly thinkingOn?: string;
    readonly systemMessages: string;
    readonly structuredOutputs: string;
    readonly bindsThinking: boolean;
  };
}

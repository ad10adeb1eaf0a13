import { JsonSkimmer } from '../wire/json-skimmer.js';
import { stringOf } from '../wire/raw-json.js';
import type { UsageReading } from '../wire/usage.js';
import { readUsage } from '../wire/usage-reading.js';

export interface SkimmedMessage {
  readonly usage: UsageReading;
  readonly messageId: string | undefined;
  /** The model that completed the message. */
  readonly model: string | undefined;
}

export interface MessageSkimmer {
  /** Takes the next bytes of the body, split anywhere. */
  push(chunk: Uint8Array): void;
  /** Call once, at the end of the body. @returns undefined if it was not a whole JSON object */
  end(): SkimmedMessage | undefined;
}

/**
 * Reads the usage of a native message that is too large to keep, while its bytes arrive. Content is
 * skipped, so the memory that this takes does not depend on the size of the message.
 */
export function createMessageSkimmer(): MessageSkimmer {
  const skimmer = new JsonSkimmer();
  return {
    push(chunk) {
      skimmer.push(chunk, 0, chunk.length);
    },
    end() {
      const message = skimmer.end();
      if (message === undefined) return undefined;
      const { id, model, usage } = message;
      return {
        usage: readUsage(usage),
        messageId: stringOf(id) || undefined,
        model: stringOf(model) || undefined,
      };
    },
  };
}

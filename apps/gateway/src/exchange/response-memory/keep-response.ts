/** Keeps the response of one exchange, once it is charged. */

import type { FinishedResponse } from '@gateway/translator';
import type { Logger } from 'pino';
import type { ByteBudget } from '../../base/byte-budget.js';
import { reasonOf } from '../../base/error-code.js';
import type { TranslationContext } from '../translation-context.js';
import type { ResponseMemory, ResponseOwner } from './response-memory.js';

export interface ResponseKeeping {
  readonly memory: ResponseMemory;
  /** The memory of this process for conversations whose responses are still being made. */
  readonly pending: ByteBudget;
  /** Whether chat clients get thinking, which is then kept for them. */
  readonly hasChatThinking: boolean;
}

export interface Keeping {
  /** Says in its settings whether the response is kept. */
  readonly translation: TranslationContext | undefined;
  /** Call it with the response, once it is charged. Never rejects. Absent: nothing is kept. */
  readonly keep: ((response: FinishedResponse) => Promise<void>) | undefined;
  /** Releases the memory of the conversation. Call it when the exchange is over. */
  readonly release: () => void;
}

/** The ids that a response, or thinking, can be kept under. The upstream chooses them. */
const KEEPABLE_ID = /^(resp|chat)_[\w-]{1,200}$/;

/** @param prepared.conversation - See `KeptResponse`. `undefined`: the response is not kept. */
export function startKeeping(
  prepared: {
    readonly translation: TranslationContext | undefined;
    readonly conversation: Uint8Array | undefined;
  },
  owner: ResponseOwner,
  { keeping, log }: { readonly keeping: ResponseKeeping | undefined; readonly log: Logger },
): Keeping {
  const { translation, conversation } = prepared;
  if (keeping === undefined || conversation === undefined) return notKept(translation);
  const room = keeping.pending.open(owner.accountId);
  if (room.resize(conversation.length) !== 'reserved') return notKept(withoutStore(translation));
  return {
    translation,
    async keep({ id, body }) {
      if (!KEEPABLE_ID.test(id)) return;
      const kept = { conversation, response: Buffer.from(body) };
      try {
        const outcome = await keeping.memory.remember(owner, id, kept);
        if (outcome === 'no_room') log.debug('there was no room to keep a response');
      } catch (error) {
        log.warn({ reason: reasonOf(error) }, 'a response could not be kept');
      }
    },
    release: () => {
      room.release();
    },
  };
}

function notKept(translation: TranslationContext | undefined): Keeping {
  return { translation, keep: undefined, release: () => undefined };
}

function withoutStore(translation: TranslationContext | undefined): TranslationContext | undefined {
  if (translation?.format !== 'responses') return translation;
  const { response } = translation;
  const settings = { ...response.settings, store: false };
  return { ...translation, response: { ...response, settings } };
}

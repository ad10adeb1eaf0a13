/** `POST /v1/chat/completions`: the chat format, translated to messages and back. */

import type { RequestHandler, Response } from 'express';
import type { Note } from '@gateway/translator';
import { chatFormat } from '../relay/chat-format.js';
import type { Services } from '../services.js';
import { exchangeRoute } from './exchange.js';

const CALL = {
  operation: 'messages',
  query: '',
  headers: { 'anthropic-version': '2023-06-01' },
} as const;
const MAX_NOTES_CHARS = 1024;

export function chatCompletionsRoute(services: Services): RequestHandler {
  return exchangeRoute(
    {
      endpoint: 'chat.completions',
      dialect: 'chat.completions',
      checkHeaders: () => undefined,
      callOf: () => CALL,
      formatOf(chat, res) {
        if (chat === undefined) throw new Error('a chat request was not translated');
        setNotes(res, chat.notes);
        return chatFormat(chat.response, { created: Math.floor(services.now() / 1000) });
      },
    },
    services,
  );
}

/**
 * Names what the translation could not carry over. In a header, because plain clients ignore
 * headers.
 */
function setNotes(res: Response, notes: readonly Note[]): void {
  if (notes.length === 0) return;
  const text = notes.map((note) => `${note.path} ${note.reason}`).join(', ');
  res.setHeader(
    'x-gateway-translation-notes',
    text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_NOTES_CHARS),
  );
}

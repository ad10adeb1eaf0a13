/** `POST /v1/chat/completions`: the chat format, translated to messages and back. */

import { isUtf8 } from 'node:buffer';
import type { RequestHandler, Response } from 'express';
import { translateRequest } from '@gateway/translator';
import { scanTopLevel } from '@gateway/translator/native';
import type { Note } from '@gateway/translator';
import { chatFormat } from '../relay/chat-format.js';
import type { Refusal } from '../refusal.js';
import type { Services } from '../services.js';
import { RequestBody } from '../upstream/request-body.js';
import { exchangeRoute } from './exchange.js';
import type { Preparation } from './exchange.js';
import { modelNotFound } from './models.js';

const UPSTREAM_HEADERS = { 'anthropic-version': '2023-06-01' } as const;
const MAX_NOTES_CHARS = 1024;

export function chatCompletionsRoute(services: Services): RequestHandler {
  return exchangeRoute(
    {
      endpoint: 'chat.completions',
      dialect: 'chat.completions',
      isCharged: true,
      checkHeaders: () => undefined,
      prepare: (body, _req, res) => prepareChat(body, res, services),
    },
    services,
  );
}

function prepareChat(body: Buffer, res: Response, services: Services): Preparation {
  const scan = scanTopLevel(body, { isUtf8 });
  if (scan.outcome === 'refused')
    return invalid({ message: scan.message, param: scan.member ?? null });
  const chat: unknown = JSON.parse(body.toString());
  const model = modelOf(chat);
  if (model === undefined) {
    return invalid({ message: 'model: must be a string', param: 'model' });
  }
  const price = services.prices.find(model);
  if (price === undefined) return { outcome: 'refused', refusal: modelNotFound(model) };
  const translation = translateRequest(chat, {
    model: price.id,
    traits: price.traits,
    maxOutputTokens: price.maxOutputTokens,
  });
  if (translation.outcome === 'refused') return invalid(translation.problem);
  tellNotes(res, translation.notes);
  return {
    outcome: 'prepared',
    price,
    upstream: {
      path: '/v1/messages',
      headers: UPSTREAM_HEADERS,
      body: new RequestBody(translation.body),
    },
    format: chatFormat(translation.response, { created: Math.floor(services.now() / 1000) }),
  };
}

function modelOf(chat: unknown): string | undefined {
  const model =
    typeof chat === 'object' && chat !== null && 'model' in chat ? chat.model : undefined;
  return typeof model === 'string' ? model : undefined;
}

/** Names what the translation could not carry over. A header, because plain clients ignore headers. */
function tellNotes(res: Response, notes: readonly Note[]): void {
  if (notes.length === 0) return;
  const text = notes.map((note) => `${note.path} ${note.reason}`).join(', ');
  res.setHeader(
    'x-gateway-translation-notes',
    text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_NOTES_CHARS),
  );
}

function invalid(problem: {
  readonly message: string;
  readonly param: string | null;
  readonly code?: string | null;
}): Preparation {
  const refusal: Refusal = { status: 400, type: 'invalid_request_error', ...problem };
  return { outcome: 'refused', refusal };
}

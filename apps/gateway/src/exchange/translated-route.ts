/** The endpoints whose requests are translated to messages, and their responses back. */

import type { RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { Note } from '@gateway/translator';
import { declare } from '../endpoints/endpoint.js';
import type { ResponseFormat } from '../http/response-format.js';
import type { ExchangeParts } from './exchange-parts.js';
import {
  EVENT_STREAM,
  chatResponse,
  messages,
  responsesRequest,
  responsesResponse,
} from './exchange-schemas.js';
import { exchangeRoute } from './exchange.js';
import type { TranslatedFormat, TranslationContext } from './translation-context.js';
import { chatFormat } from './relay/chat-format.js';
import { inputTokensFormat, responsesFormat } from './relay/responses-format.js';

const VERSION = { 'anthropic-version': '2023-06-01' };
const DIALECTS = {
  'chat.completions': 'chat.completions',
  responses: 'responses',
  input_tokens: 'responses',
} as const;
const MAX_NOTES_CHARS = 1024;

export const createChatCompletion = declare(
  {
    method: 'post',
    path: '/v1/chat/completions',
    id: 'createChatCompletion',
    summary: 'A message, in the chat-completions format',
    credential: 'x-api-key',
    body: messages,
    result: chatResponse,
    alsoAs: EVENT_STREAM,
  },
  (parts: ExchangeParts) => translatedRoute('chat.completions', parts),
);

export const createResponse = declare(
  {
    method: 'post',
    path: '/v1/responses',
    id: 'createResponse',
    summary: 'A message, in the format of the Responses API',
    credential: 'x-api-key',
    body: responsesRequest,
    result: responsesResponse,
    alsoAs: EVENT_STREAM,
  },
  (parts: ExchangeParts) => translatedRoute('responses', parts),
);

export const countInputTokens = declare(
  {
    method: 'post',
    path: '/v1/responses/input_tokens',
    id: 'countInputTokens',
    summary: 'How many input tokens a request of the Responses API has, free of charge',
    credential: 'x-api-key',
    body: responsesRequest.omit({ stream: true }),
    result: z.looseObject({ object: z.literal('response.input_tokens'), input_tokens: z.int() }),
  },
  (parts: ExchangeParts) => translatedRoute('input_tokens', parts),
);

function translatedRoute(format: TranslatedFormat, parts: ExchangeParts): RequestHandler {
  return exchangeRoute(
    {
      endpoint: format,
      dialect: DIALECTS[format],
      operation: format === 'input_tokens' ? 'count_tokens' : 'messages',
      checkHeaders: () => undefined,
      callOf: (_req, translation) => ({
        query: '',
        headers: translation?.betas.length
          ? { ...VERSION, 'anthropic-beta': translation.betas.join(',') }
          : VERSION,
      }),
      formatOf(translation, res) {
        if (translation === undefined) throw new Error('a request was not translated');
        setNotes(res, translation.notes);
        return formatOf(translation, Math.floor(parts.now() / 1000));
      },
    },
    parts,
  );
}

/** @param created - Unix seconds. */
function formatOf(translation: TranslationContext, created: number): ResponseFormat {
  switch (translation.format) {
    case 'chat.completions':
      return chatFormat(translation.response, { created });
    case 'responses':
      return responsesFormat(translation.response, { created });
    case 'input_tokens':
      return inputTokensFormat;
  }
}

/**
 * Names the parts that could not be translated unchanged, in a header, so that the body has only
 * what its format defines.
 */
function setNotes(res: Response, notes: readonly Note[]): void {
  if (notes.length === 0) return;
  const text = notes.map((note) => `${note.path} ${note.reason}`).join(', ');
  res.setHeader(
    'x-gateway-translation-notes',
    text.replace(/[^\x20-\x7e]/g, '?').slice(0, MAX_NOTES_CHARS),
  );
}

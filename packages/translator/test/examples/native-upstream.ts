import { nativeSchemas, optionsOf } from '@gateway/translator';
import { answerChat } from '@gateway/translator/fetch';

/** Answers `POST /v1/chat/completions` with a model behind Anthropic's Messages API. */
export function chatCompletions(request: Request): Promise<Response> {
  return answerChat(request, {
    ...optionsOf('claude-sonnet-5')!,
    jsonSchema: nativeSchemas,
    reasoning: 'reasoning_content',
    send: ({ body, headers, signal }) =>
      fetch('https://api.anthropic.com/v1/messages', {
        method: 'POST',
        headers: { ...headers, 'x-api-key': 'sk-ant-…' },
        body,
        signal,
      }),
    onEnd(end) {
      if (end.outcome === 'failed') console.error(end.cause, end.error.message);
      else if (end.usage.outcome === 'invalid') console.error(end.usage.reason);
      else console.log(end.messageId, end.usage.usage.inputTokens, end.usage.usage.outputTokens);
    },
  });
}

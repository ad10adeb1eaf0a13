/**
 * The effort of single turns. A request that changes its effort would void the cached prefix of its
 * conversation, so the first effort stays, and a system message has that of the turn.
 *
 * https://platform.claude.com/docs/en/build-with-claude/effort
 */

import type { NativeMessage, NativeRequest } from '../../chat-client/request/native-request.js';
import type { EffortLevel } from '../../chat-client/request/traits.js';

/** The beta of system messages with an `output_config`. */
const TURN_EFFORT = 'mid-conversation-output-config-2026-07-01';

/** Sets the effort of the next answer. */
export function setLastEffort(messages: NativeMessage[], effort: EffortLevel): void {
  const last = messages.at(-1);
  if (last?.role === 'system') last.output_config = { effort };
  else messages.push({ role: 'system', content: [], output_config: { effort } });
}

/**
 * Leaves out efforts that are those of the request.
 *
 * @returns the betas that the request then needs
 */
export function finishEfforts(request: NativeRequest): string[] {
  const { messages, output_config: ofRequest } = request;
  let hasAny = false;
  let hasEmpty = false;
  for (const message of messages) {
    if (message.role !== 'system' || !message.output_config) continue;
    if (message.output_config.effort !== ofRequest?.effort) hasAny = true;
    else {
      message.output_config = undefined;
      hasEmpty ||= message.content.length === 0;
    }
  }
  if (hasEmpty) request.messages = messages.filter((message) => !isEmpty(message));
  return hasAny ? [TURN_EFFORT] : [];
}

function isEmpty(message: NativeMessage): boolean {
  return message.role === 'system' && message.content.length === 0 && !message.output_config;
}

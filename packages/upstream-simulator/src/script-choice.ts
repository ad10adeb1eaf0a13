/** Chooses the script of each request: queued, by rule, or sent by the client. */

import type { IncomingMessage } from 'node:http';
import type { JsonObject } from './message/message.js';
import { lastUserText } from './reply.js';
import { readScript } from './message/script.js';
import type { ScriptedReply } from './message/script.js';

export interface ScriptChoice {
  /** Uses this reply for the next request. Each call adds one to the queue. */
  add(reply: ScriptedReply): void;
  /** Uses this reply for all requests that match `when`. */
  addRule(when: (request: JsonObject) => boolean, reply: ScriptedReply): void;
  /**
   * Returns the script of this request, or an empty one if there is none. A queued script is
   * removed from the queue.
   */
  choose(req: IncomingMessage, request: JsonObject): ScriptedReply;
  clear(): void;
}

export interface ClientScripts {
  readonly allowScriptHeader?: boolean;
  readonly allowScriptText?: boolean;
}

export function createScriptChoice(options: ClientScripts): ScriptChoice {
  let queue: ScriptedReply[] = [];
  let rules: { when: (request: JsonObject) => boolean; reply: ScriptedReply }[] = [];
  return {
    add(reply) {
      queue.push(reply);
    },
    addRule(when, reply) {
      rules.push({ when, reply });
    },
    choose(req, request) {
      return (
        queue.shift() ??
        rules.find(({ when }) => when(request))?.reply ??
        scriptOfClient(req, request, options)
      );
    },
    clear() {
      queue = [];
      rules = [];
    },
  };
}

function scriptOfClient(
  req: IncomingMessage,
  request: JsonObject,
  { allowScriptHeader, allowScriptText }: ClientScripts,
): ScriptedReply {
  const header = req.headers['x-simulator-script'];
  const inHeader =
    allowScriptHeader === true && typeof header === 'string'
      ? readScript(header, 'header')
      : undefined;
  const inText = allowScriptText === true ? readScript(lastUserText(request), 'text') : undefined;
  return inHeader ?? inText ?? {};
}

/**
 * The turns of a chat, in the order of the native format, which alternates between user and
 * assistant, and starts and ends with the user. Turns that a chat lacks are added.
 */

import type { Place } from '../../reading/place.js';
import type { Additions } from '../../wire/additions.js';
import { append } from '../../wire/lists.js';
import { type Call, pairResults, type Result } from './calls-and-results.js';
import type {
  Block,
  NativeMessage,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from './native-request.js';

/** The text of the user turns that the native format requires and that the chat does not have. */
export const OPENING = 'Continue the conversation.';
export const CLOSING = 'Continue.';

/**
 * Consecutive messages of one role. Only a user turn has results; only an assistant turn has
 * thinking and calls. Its blocks are the thinking, the content and the calls at its end.
 */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly results: Result[];
  readonly thinking: ThinkingBlock[];
  /** If thinking stands between the text and the calls of an answer, all of its blocks. */
  readonly content: Block[];
  readonly callsAtEnd: ToolUseBlock[];
  /** All calls, for their results. */
  readonly calls: Call[];
  /** System messages between the user's messages and the next answer. */
  readonly system: TextBlock[];
}

export class Turns {
  readonly #list: Place;
  readonly #system: TextBlock[][] = [];
  readonly #turns: Turn[] = [];

  /** @param list - The messages of the chat, for notes. */
  constructor(list: Place) {
    this.#list = list;
  }

  /** The last turn, if it has this role, or else a new one. */
  of(role: Turn['role']): Turn {
    const last = this.#turns.at(-1);
    if (last?.role === role) return last;
    const lists = { results: [], thinking: [], content: [], callsAtEnd: [], calls: [], system: [] };
    const turn: Turn = { role, ...lists };
    this.#turns.push(turn);
    return turn;
  }

  /** The user turn to which a message belongs. */
  forUser(message: Place): Turn {
    const turn = this.of('user');
    if (turn.system.length > 0) message.note('rewritten', 'sent before system');
    return turn;
  }

  /** The assistant turn that follows a user turn, which may say what was added to it before. */
  forAssistant(added: Additions | undefined): Turn {
    if (this.#turns.length === 0) this.#sayForUser(OPENING, 'first');
    if (added) this.#repeat(added);
    return this.of('assistant');
  }

  /** @param isMessage - Whether the model accepts system messages after the first answer. */
  addSystem(message: Place, blocks: TextBlock[], isMessage: boolean): void {
    const turns = this.#turns;
    if (!turns.some(({ role }) => role === 'assistant')) {
      if (turns.length > 0) message.note('rewritten', 'sent first');
      this.#system.push(blocks);
      return;
    }
    const turn = this.of('user');
    if (isMessage) {
      append(turn.system, blocks);
      return;
    }
    message.note('rewritten', 'sent as user');
    for (const block of blocks) turn.content.push({ ...block, text: inUserTurn(block.text) });
  }

  /** Call once, after the last message. @returns the text of the user turn that it added */
  close(): string | undefined {
    const turns = this.#turns;
    if (turns.length === 0) append(this.of('user').content, this.#lastSystem());
    for (const { results, content, system } of turns) {
      if (system.length === 0 || results.length + content.length > 0) continue;
      // A system message must follow a user message.
      content.push({ type: 'text', text: CLOSING });
      this.#list.note('rewritten', 'a user turn was added');
    }
    // Older models continue a final assistant turn, and newer ones refuse it. In the chat format
    // that turn is history, and the model writes a new message.
    if (turns.at(-1)?.role !== 'assistant') return undefined;
    this.#sayForUser(CLOSING, 'last');
    return CLOSING;
  }

  system(): TextBlock[] {
    return this.#system.flat();
  }

  calledTools(): ReadonlySet<string> {
    return new Set(this.#turns.flatMap(({ calls }) => calls.map(({ block }) => block.name)));
  }

  messages(): NativeMessage[] {
    let pending: readonly Call[] = [];
    return this.#turns.flatMap(
      ({ role, results, thinking, content, callsAtEnd, calls, system }): NativeMessage[] => {
        const answers = pairResults(pending, results);
        pending = calls;
        const said = [...answers, ...thinking, ...content, ...callsAtEnd];
        const turn: NativeMessage = { role, content: said };
        return system.length > 0 ? [turn, { role: 'system', content: system }] : [turn];
      },
    );
  }

  /** Adds what an earlier translation added before the answer that follows. */
  #repeat({ added_user: user, added_system: instruction }: Additions): void {
    if (user && this.#turns.at(-1)?.role === 'assistant')
      this.of('user').content.push({ type: 'text', text: user });
    if (instruction && this.#turns.at(-1)?.role === 'user')
      this.of('user').system.push({ type: 'text', text: instruction });
  }

  #sayForUser(text: string, where: 'first' | 'last'): void {
    this.of('user').content.push({ type: 'text', text });
    this.#list.note('rewritten', `a user turn was added ${where}`);
  }

  /** A chat that consists of system messages asks for an answer to the last one. */
  #lastSystem(): TextBlock[] {
    const blocks =
      this.#system.pop() ?? this.#list.refuse('at least one message must have content');
    this.#list.note('rewritten', 'the last system message is sent as user');
    return blocks;
  }
}

/** Marks the text of a system message within a user turn. */
export function inUserTurn(text: string): string {
  return `<system_message>\n${text}\n</system_message>`;
}

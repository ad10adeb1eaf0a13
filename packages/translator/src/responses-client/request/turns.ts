/**
 * Builds native turns from items. Turns alternate, start and end with the user, and each call is
 * answered in the turn after its own, wherever after the call the client put its output.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use
 */

import {
  type Call,
  type Result,
  resultBlock,
} from '../../chat-client/request/calls-and-results.js';
import { CLOSING, inUserTurn, OPENING } from '../../chat-client/request/turns.js';
import {
  type Block,
  type ContentBlock,
  isThinking,
  type NativeMessage,
  type TextBlock,
  type ThinkingBlock,
} from '../../chat-client/request/native-request.js';
import { LEVELS } from '../../chat-client/request/reasoning.js';
import type { EffortLevel, ModelTraits } from '../../chat-client/request/traits.js';
import { isUse, type ServerBlock } from '../../wire/server-block.js';
import { type Place, quote } from '../../reading/place.js';
import type { Additions } from '../../wire/additions.js';
import { append } from '../../wire/lists.js';

/** Consecutive items of one role. Outputs of calls are not blocks of a turn: see {@link Call}. */
interface Turn {
  readonly role: 'user' | 'assistant';
  /** In the order of the items. */
  readonly blocks: Block[];
  readonly calls: Call[];
  /** System messages between the user's items and the next answer. */
  readonly system: TextBlock[];
  /** The effort of the next answer, if it is not that of the request. */
  effort: EffortLevel | undefined;
  /** Where the client wrote the thinking that the turn ends with so far. */
  lastThinking: Place[];
  /** `torn` if a search after it was left out; `lost` if more thinking followed. */
  thinking: 'none' | 'whole' | 'torn' | 'lost';
}

/** The calls with one id, in order. */
interface EqualCalls {
  readonly calls: { readonly call: Call; readonly turn: Turn }[];
  /** The call that gets the next output. The last call gets all outputs that are left over. */
  next: number;
}

export class Turns {
  readonly #input: Place;
  readonly #systemMessages: ModelTraits['systemMessages'];
  readonly #turns: Turn[] = [];
  readonly #callsOf = new Map<string, EqualCalls>();
  /** The last items, if they are searches whose blocks may follow. */
  #searches: Place[] = [];
  /** Whether there are results of searches that a text can cite. */
  #hasResults = false;
  /** The effort of the answers that follow. */
  #effort: EffortLevel | undefined;
  /** See {@link Additions}. */
  firstEffort: EffortLevel | undefined;

  /** @param input - For notes about turns that the client did not write. */
  constructor(input: Place, { systemMessages }: ModelTraits) {
    this.#input = input;
    this.#systemMessages = systemMessages;
  }

  get isEmpty(): boolean {
    return this.#turns.length === 0;
  }

  /** Whether there are searches with their results. */
  get hasSearches(): boolean {
    return this.#hasResults;
  }

  get hasAnswer(): boolean {
    return this.#turns.some(({ role }) => role === 'assistant');
  }

  /** Adds content of the user. */
  hear(blocks: readonly ContentBlock[], place: Place): void {
    this.#leaveOutSearches();
    const turn = this.#turnOf('user');
    if (turn.system.length > 0) place.note('rewritten', 'sent before system');
    append(turn.blocks, blocks);
  }

  /**
   * Adds a system message after an answer, where it does not change the cached beginning of the
   * conversation: as a message after the user's turn, or as text within that turn if the model
   * accepts no such messages.
   */
  instruct(blocks: readonly TextBlock[], place: Place): void {
    this.#leaveOutSearches();
    const turn = this.#turnOf('user');
    if (this.#systemMessages === 'anywhere') {
      append(turn.system, blocks);
      return;
    }
    place.note('rewritten', 'sent as user');
    for (const block of blocks) turn.blocks.push({ ...block, text: inUserTurn(block.text) });
  }

  /** Sets the effort of all answers that follow. */
  configure(effort: EffortLevel): void {
    this.#leaveOutSearches();
    this.#turnOf('user').effort = effort;
    this.#effort = effort;
  }

  /** Whether the conversation sets the effort itself. */
  get isConfigured(): boolean {
    return this.#effort !== undefined;
  }

  /** Adds text of the assistant. */
  say(blocks: readonly TextBlock[], place: Place): void {
    this.#leaveOutSearches();
    const turn = this.#turnOf('assistant');
    if (!this.#hasResults) leaveOutCitations(blocks, place);
    append(turn.blocks, blocks);
    turn.lastThinking = [];
  }

  /** Adds what an earlier translation added before the answer that follows. */
  repeat(additions: Additions): void {
    const { added_user: user, added_system: instruction } = additions;
    if (user && this.#turns.at(-1)?.role === 'assistant') {
      this.#turnOf('user').blocks.push({ type: 'text', text: user });
    }
    const turn = this.#turns.at(-1);
    if (instruction && turn?.role === 'user') turn.system.push({ type: 'text', text: instruction });
    const isLevel = (level?: string) => LEVELS.find((known) => known === level);
    this.firstEffort ??= isLevel(additions.first_effort);
    const effort = isLevel(additions.added_effort);
    if (effort && turn?.role === 'user') turn.effort = effort;
  }

  /** A search of the upstream's. It is sent if its blocks follow, before any other item. */
  search(place: Place): void {
    this.#searches.push(place);
  }

  /** Adds the blocks of searches. */
  addServerBlocks(blocks: readonly ServerBlock[]): void {
    this.#searches.splice(0, blocks.filter(isUse).length);
    this.#leaveOutSearches();
    const turn = this.#turnOf('assistant');
    append(turn.blocks, blocks);
    turn.lastThinking = [];
    this.#hasResults = true;
  }

  #leaveOutSearches(): void {
    if (this.#searches.length === 0) return;
    for (const place of this.#searches) place.note('dropped', 'its result was not sent back');
    this.#searches = [];
    const turn = this.#turns.at(-1);
    if (turn?.thinking === 'whole') turn.thinking = 'torn';
  }

  /**
   * Adds thinking. The upstream accepts the thinking of an answer only with the search between it,
   * so without the search none is sent.
   */
  think(block: ThinkingBlock, place: Place): void {
    this.#leaveOutSearches();
    const turn = this.#turnOf('assistant');
    if (turn.thinking === 'torn') {
      const others = turn.blocks.filter((other) => !isThinking(other));
      turn.blocks.length = 0;
      append(turn.blocks, others);
      turn.lastThinking = [];
      turn.thinking = 'lost';
    }
    if (turn.thinking === 'lost') {
      place.note('dropped', 'a search between the thinking of this answer is not sent');
      return;
    }
    turn.thinking = 'whole';
    turn.blocks.push(block);
    turn.lastThinking.push(place);
  }

  call(call: Call): void {
    this.#leaveOutSearches();
    const turn = this.#turnOf('assistant');
    turn.blocks.push(call.block);
    turn.calls.push(call);
    turn.lastThinking = [];
    const equal = this.#callsOf.get(call.key);
    if (equal) equal.calls.push({ call, turn });
    else this.#callsOf.set(call.key, { calls: [{ call, turn }], next: 0 });
  }

  answer(result: Result): void {
    const equal = this.#callsOf.get(result.key);
    if (!equal) {
      const id = result.reference;
      return id.refuse(`there is no call before it with the id ${quote(id.value)}`);
    }
    const index = Math.min(equal.next, equal.calls.length - 1);
    equal.next = index + 1;
    const answered = equal.calls[index];
    answered?.call.results.push(result);
    // The items that follow are no longer part of the turn with the call.
    if (answered?.turn === this.#turns.at(-1)) this.#turnOf('user');
  }

  /** The native turns. Refuses a call without an output. */
  finish(): { readonly messages: NativeMessage[]; readonly closing: string | undefined } {
    this.#leaveOutSearches();
    this.#dropLastThinking();
    // Older models continue a final assistant turn, and newer ones refuse it. Here that turn is
    // history, and the model writes a new message.
    const closing = this.#turns.at(-1)?.role === 'assistant' ? CLOSING : undefined;
    if (closing) this.#speakForUser(closing, 'last');
    let pending: readonly Call[] = [];
    const messages = this.#turns.flatMap((turn): NativeMessage[] => {
      const { role, blocks, calls, system, effort } = turn;
      const content = [...pending.map(outputBlock), ...blocks];
      pending = calls;
      if (system.length === 0 && !effort) return [{ role, content }];
      if (content.length === 0) {
        // A system message must follow a user message.
        content.push({ type: 'text', text: CLOSING });
        this.#input.note('rewritten', 'a user turn was added');
      }
      return [
        { role, content },
        { role: 'system', content: system, ...(effort && { output_config: { effort } }) },
      ];
    });
    return { messages, closing };
  }

  #turnOf(role: Turn['role']): Turn {
    if (role === 'user') this.#dropLastThinking();
    const last = this.#turns.at(-1);
    if (last?.role === role) return last;
    if (!last && role === 'assistant') this.#speakForUser(OPENING, 'first');
    const lists = { blocks: [], calls: [], system: [], lastThinking: [] };
    const effort = role === 'user' ? this.#effort : undefined;
    const turn: Turn = { role, ...lists, effort, thinking: 'none' };
    this.#turns.push(turn);
    return turn;
  }

  /** The upstream refuses a turn that ends with thinking. */
  #dropLastThinking(): void {
    const turn = this.#turns.at(-1);
    if (!turn) return;
    for (const place of turn.lastThinking.splice(0)) {
      turn.blocks.pop();
      place.note('dropped', 'neither text nor a call follows it');
    }
    if (turn.role === 'assistant' && turn.blocks.length === 0) this.#turns.pop();
  }

  #speakForUser(text: string, where: 'first' | 'last'): void {
    this.#turnOf('user').blocks.push({ type: 'text', text });
    this.#input.note('rewritten', `a user turn was put ${where}`);
  }
}

function leaveOutCitations(blocks: readonly TextBlock[], place: Place): void {
  let hasAny = false;
  for (const block of blocks) {
    hasAny ||= block.citations !== undefined;
    delete block.citations;
  }
  if (hasAny) place.note('dropped', 'the citations name no search before them');
}

function outputBlock(call: Call): Block {
  if (call.results.length > 0) return resultBlock(call);
  return call.place.refuse('must be followed by an output with its call_id');
}

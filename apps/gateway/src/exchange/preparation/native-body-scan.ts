/**
 * Scans the body of a native request once, and collects what the whole body says: the models that
 * it names, its cache points, the facts that bound its charge, and the first member that is
 * forbidden on the shared account.
 */

import { isUtf8 } from 'node:buffer';
import { scanTopLevel } from '@gateway/translator/native';
import type { JsonScan, JsonShape, JsonSpan } from '@gateway/translator/native';
import type { PricedFeature } from '../../config/variables.js';
import { ChargeFindingsCollector } from './charge-bound.js';
import type { ChargeFindings } from './charge-bound.js';
import { DECIDING_MEMBERS, MAX_ITEMS } from './deciding-members.js';
import type { JudgedMember, MemberOf } from './deciding-members.js';
import { SHARED_ACCOUNT, findMemberProblem } from './judged-members.js';
import type { NamedSpan } from '../../upstream/upstream.js';
import { COUNT_RULE, isCount, isEmptyList, isGiven, readScalar } from './native-fields.js';
import {
  SKIPPED,
  findTypeProblem,
  isReportedModel,
  shapeOfEverything,
} from './shared-account-rules.js';
import type { Path, Place } from './shared-account-rules.js';

/**
 * A model that may write a part of the response. `model` is `undefined` if the request leaves the
 * choice to the provider (`"fallbacks": "default"`), or if it cannot be read.
 */
export type NamedModel = NamedSpan;

export interface ScannedBody {
  readonly scan: JsonScan;
  /** The first problem inside the body's members for which the gateway must refuse the request. */
  readonly problem: string | undefined;
  readonly models: readonly NamedModel[];
  readonly findings: ChargeFindings;
}

const MAX_CACHE_POINTS = 4;
/** The provider accepts three fallbacks. */
const MAX_MODELS = 20;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const NO_BODY = new Uint8Array(0);

/** Builds the shapes once. Scans run one after another and share the state of this object. */
export class NativeBodyScan {
  readonly #allow: ReadonlySet<PricedFeature>;
  readonly #shape: JsonShape;
  #body: Uint8Array = NO_BODY;
  #cachePoints = 0;
  #cacheType: string | undefined;
  #problem: string | undefined;
  #models: NamedModel[] = [];
  /** The depths of the entries of `fallbacks` that are being scanned and have named their model. */
  readonly #namedEntries = new Set<number>();
  #collector = new ChargeFindingsCollector();

  constructor(allow: ReadonlySet<PricedFeature>) {
    this.#allow = allow;
    this.#shape = this.#shapeOfBody(this.#shapeOfEverything());
  }

  run(body: Uint8Array, maxValues: number): ScannedBody {
    this.#body = body;
    this.#cachePoints = 0;
    this.#cacheType = undefined;
    this.#problem = undefined;
    this.#models = [];
    this.#namedEntries.clear();
    this.#collector = new ChargeFindingsCollector();
    const scan = scanTopLevel(body, { shape: this.#shape, isUtf8, maxValues, mayRepeat: true });
    this.#body = NO_BODY;
    if (this.#problem === undefined && this.#cachePoints > MAX_CACHE_POINTS) {
      this.#problem = `cache_control: at most ${String(MAX_CACHE_POINTS)} cache points may be set, found ${String(this.#cachePoints)}`;
    }
    const findings = this.#collector.findings();
    return { scan, problem: this.#problem, models: this.#models, findings };
  }

  #complain(path: Path, complaint: string): void {
    this.#problem ??= `${shortened(path)}: ${complaint}`;
  }

  #isGiven(span: JsonSpan): boolean {
    return isGiven({ body: this.#body, span });
  }

  #isText({ start }: JsonSpan): boolean {
    return this.#body[start] === QUOTE;
  }

  #read(span: JsonSpan): unknown {
    return readScalar({ body: this.#body, span });
  }

  #nameModel(span: JsonSpan, path: Path): void {
    this.#addModel(String(this.#read(span)), path, span);
  }

  #addModel(model: string | undefined, path: Path, span?: JsonSpan): void {
    if (this.#models.length < MAX_MODELS) this.#models.push({ path: shortened(path), model, span });
    else this.#complain(path, `a request may name at most ${String(MAX_MODELS)} models`);
  }

  #shapeOfBody(everything: JsonShape): JsonShape {
    const mcpServers: JsonShape = {
      ...everything,
      onValue: (span, path) => {
        this.#noteServers(span, path);
      },
    };
    const betas: JsonShape = {
      ...everything,
      onValue: (span) => {
        if (this.#isGiven(span)) this.#collector.onBetas();
      },
    };
    const members = new Map<string, JsonShape>([
      ['tool_choice', shapeOfToolChoice(everything)],
      // Free text about the user.
      ['metadata', SKIPPED],
      ['stop_sequences', this.#shapeOfStopSequences()],
      ['fallbacks', this.#shapeOfFallbacks(everything)],
      ['mcp_servers', mcpServers],
      // The API reads betas from a header only. Other servers in front of it may read them here.
      ['betas', betas],
      ['anthropic_beta', betas],
    ]);
    for (const name of DECIDING_MEMBERS.root) {
      const shape = members.get(name) ?? everything.member?.(name);
      members.set(name, { ...shape, isUnique: true });
    }
    return { member: (name) => members.get(name) ?? everything.member?.(name) };
  }

  #shapeOfEverything(): JsonShape {
    return shapeOfEverything({
      onType: (type, place) => {
        this.#noteType(type, place);
      },
      onToolType: (span, path) => {
        // What is no text is no type that this version knows.
        if (this.#isText(span) || !this.#isGiven(span)) return;
        this.#noteType('', { path, of: 'tool' });
      },
      onCacheType: (type) => {
        this.#cacheType = type;
      },
      onCacheControl: (span, path) => {
        const type = this.#cacheType;
        this.#cacheType = undefined;
        if (!this.#isGiven(span)) return;
        this.#cachePoints += 1;
        if (type !== 'ephemeral') this.#complain(path, 'must be an object with type "ephemeral"');
      },
      onAddress: (span, path) => {
        if (!this.#isGiven(span)) return;
        // Files that the code execution tool made, which the client sends back as history.
        if (path.at(-1) === 'file_id' && this.#allow.has('code_execution')) return;
        this.#complain(path, SHARED_ACCOUNT);
      },
      onModel: (span, path) => {
        if (this.#isText(span) && !isReportedModel(path)) this.#nameModel(span, path);
      },
      onRated: (span, path) => {
        const isOfRoot = path.length === 1;
        const name = path.at(-1) as JudgedMember;
        if (name === 'speed' && (isOfRoot || this.#isText(span))) this.#noteSpeed(span);
        // The caller judges those of the root. Elsewhere, only a text can be the member that
        // is meant: a tool of an MCP server may be called `speed`, and its settings are an object.
        if (!isOfRoot && this.#isText(span)) this.#judge(name, span, path);
      },
      onSource: (path) => {
        this.#collector.onSource(path);
      },
      onMaxUses: (span, path) => {
        this.#collector.onMaxUses(this.#read(span), path);
      },
      onToolEnd: (path) => {
        this.#collector.onToolEnd(path);
      },
    });
  }

  #shapeOfStopSequences(): JsonShape {
    return {
      maxItems: MAX_ITEMS,
      item: {
        onValue: (span, path) => {
          if (!this.#isText(span)) this.#complain(path.slice(0, 1), 'must be an array of strings');
        },
      },
    };
  }

  #noteSpeed(span: JsonSpan): void {
    if (this.#isGiven(span)) this.#collector.onSpeed();
  }

  #noteType(type: string, place: Place): void {
    this.#collector.onType(type, place);
    const problem = findTypeProblem(type, place, this.#allow);
    if (problem !== undefined) this.#complain(place.path, problem);
  }

  #noteServers(span: JsonSpan, path: Path): void {
    const found = { body: this.#body, span };
    if (isGiven(found) && !isEmptyList(found)) this.#collector.onServersOfTools(path);
  }

  #judge(name: JudgedMember, span: JsonSpan, path: Path): void {
    const problem = findMemberProblem(name, { body: this.#body, span }, this.#allow);
    if (problem !== undefined) this.#complain(path, problem);
  }

  #shapeOfFallbacks(everything: JsonShape): JsonShape {
    const ofEntry = new Map<string, JsonShape>();
    const entry: JsonShape = {
      ...everything,
      member: (name) => ofEntry.get(name) ?? everything.member?.(name),
      onValue: (span, path) => {
        const isNamed = this.#namedEntries.delete(path.length);
        // An entry that is only the id of a model.
        if (this.#isText(span)) this.#nameModel(span, path);
        else if (!isNamed) this.#addModel(undefined, path);
      },
    };
    const fallbacks: JsonShape = {
      ...everything,
      item: entry,
      onValue: (span, path) => {
        const isList = this.#body[span.start] === OPEN_BRACKET;
        if (!isList && this.#isGiven(span)) this.#addModel(undefined, path);
      },
    };
    for (const name of DECIDING_MEMBERS.fallback) {
      const shape = name === 'fallbacks' ? fallbacks : everything.member?.(name);
      const onValue = (span: JsonSpan, path: Path): void => {
        shape?.onValue?.(span, path);
        this.#noteOfFallback(name, span, path);
      };
      ofEntry.set(name, { ...shape, onValue, isUnique: true });
    }
    return fallbacks;
  }

  #noteOfFallback(name: MemberOf<'fallback'>, span: JsonSpan, path: Path): void {
    switch (name) {
      case 'model':
        if (this.#isText(span)) this.#namedEntries.add(path.length - 1);
        return;
      case 'max_tokens': {
        const tokens = this.#read(span);
        if (isCount(tokens)) this.#collector.onFallbackTokens(tokens);
        else if (this.#isGiven(span)) this.#complain(path, COUNT_RULE);
        return;
      }
      case 'tools':
        return;
      case 'speed':
        this.#noteSpeed(span);
        break;
      case 'mcp_servers':
        this.#noteServers(span, path);
        break;
      default:
    }
    this.#judge(name, span, path);
  }
}

/** `tool_choice` has rules of its own; only models are looked for. */
function shapeOfToolChoice(everything: JsonShape): JsonShape {
  const toolChoice: JsonShape = {
    member: (name) => (name === 'model' ? everything.member?.(name) : toolChoice),
    get item() {
      return toolChoice;
    },
  };
  return toolChoice;
}

function shortened(path: Path): string {
  return path.join('.').slice(0, 300);
}

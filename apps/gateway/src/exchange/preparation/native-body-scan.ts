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
import { isGiven, readScalar } from './native-fields.js';
import {
  JUDGED_MEMBERS,
  MAX_ITEMS,
  SHARED_ACCOUNT,
  findMemberProblem,
  findTypeProblem,
  isNeutral,
  isReportedModel,
  shapeOfEverything,
} from './shared-account-rules.js';
import type { Path } from './shared-account-rules.js';

/** A model that may write a part of the response. */
export interface NamedModel {
  /** Where the request names it: `model`, or for instance `fallbacks.0.model`. */
  readonly path: string;
  /** `undefined` if the request leaves the choice to the provider (`"fallbacks": "default"`). */
  readonly model: string | undefined;
}

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
const NO_BODY = new Uint8Array(0);

/** Builds the shapes once. Scans run one after another and share the state of this object. */
export class NativeBodyScan {
  readonly #allow: ReadonlySet<PricedFeature>;
  readonly #shape: JsonShape;
  #body: Uint8Array = NO_BODY;
  #cachePoints = 0;
  #problem: string | undefined;
  #models: NamedModel[] = [];
  #collector = new ChargeFindingsCollector();

  constructor(allow: ReadonlySet<PricedFeature>) {
    this.#allow = allow;
    this.#shape = this.#shapeOfBody(this.#shapeOfEverything());
  }

  run(body: Uint8Array, maxValues: number): ScannedBody {
    this.#body = body;
    this.#cachePoints = 0;
    this.#problem = undefined;
    this.#models = [];
    this.#collector = new ChargeFindingsCollector();
    const scan = scanTopLevel(body, { shape: this.#shape, isUtf8, maxValues });
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
    const model = this.#read(span);
    if (typeof model !== 'string') this.#complain(path, 'is not the id of a model');
    else if (this.#models.length < MAX_MODELS) this.#models.push({ path: shortened(path), model });
    else this.#complain(path, `a request may name at most ${String(MAX_MODELS)} models`);
  }

  #shapeOfBody(everything: JsonShape): JsonShape {
    const fallbacks = this.#shapeOfFallbacks(everything);
    const stopSequences = this.#shapeOfStopSequences();
    const mcpServers = this.#shapeOfServers(everything);
    /** `tool_choice` has rules of its own; only models are looked for. */
    const toolChoice: JsonShape = {
      member: (name) => (name === 'model' ? everything.member?.(name) : toolChoice),
    };
    return {
      member(name) {
        switch (name) {
          case 'tool_choice':
            return toolChoice;
          // Free text about the user.
          case 'metadata':
            return undefined;
          case 'fallbacks':
            return fallbacks;
          case 'stop_sequences':
            return stopSequences;
          case 'mcp_servers':
            return mcpServers;
          default:
            return everything.member?.(name);
        }
      },
    };
  }

  #shapeOfEverything(): JsonShape {
    return shapeOfEverything({
      onType: (type, place) => {
        this.#collector.onType(type, place);
        const problem = findTypeProblem(type, place, this.#allow);
        if (problem !== undefined) this.#complain(place.path, problem);
      },
      onCacheControl: ({ span, type }, path) => {
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
        const name = String(path.at(-1));
        if (name === 'speed' && (isOfRoot || this.#isText(span))) this.#noteSpeed(span);
        // `findRootProblem` judges those of the root. Elsewhere, only a text can be the member that
        // is meant: a tool of an MCP server may be called `speed`, and its settings are an object.
        if (!isOfRoot && this.#isText(span)) this.#judge(name, span, path);
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

  #noteServers(span: JsonSpan, path: Path): void {
    const found = { body: this.#body, span };
    if (isGiven(found) && !isNeutral('mcp_servers', found)) this.#collector.onServersOfTools(path);
  }

  #judge(name: string, span: JsonSpan, path: Path): void {
    const problem = findMemberProblem(name, { body: this.#body, span }, this.#allow);
    if (problem !== undefined) this.#complain(path, problem);
  }

  #shapeOfFallbacks(everything: JsonShape): JsonShape {
    const maxTokens: JsonShape = {
      onValue: (span) => {
        this.#collector.onFallbackTokens(this.#read(span));
      },
    };
    const members = new Map([['max_tokens', maxTokens]]);
    for (const name of JUDGED_MEMBERS) {
      const onValue = (span: JsonSpan, path: Path): void => {
        if (name === 'speed') this.#noteSpeed(span);
        if (name === 'mcp_servers') this.#noteServers(span, path);
        this.#judge(name, span, path);
      };
      members.set(name, { ...everything, onValue });
    }
    return {
      ...everything,
      item: {
        ...everything,
        member: (name) => members.get(name) ?? everything.member?.(name),
        // An entry that is only the id of a model.
        onValue: (span, path) => {
          if (this.#isText(span)) this.#nameModel(span, path);
        },
      },
      onValue: (span, path) => {
        if (this.#isText(span)) this.#models.push({ path: path.join('.'), model: undefined });
      },
    };
  }

  #shapeOfServers(everything: JsonShape): JsonShape {
    return {
      ...everything,
      onValue: (span, path) => {
        this.#noteServers(span, path);
      },
    };
  }
}

function shortened(path: Path): string {
  return path.join('.').slice(0, 300);
}

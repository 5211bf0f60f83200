/**
 * What each line of a batch asks for, kept until it is answered: the answers come in another order, and some do not name
 * a model. Lines are found again by their custom ids.
 */
import { MODEL_NAME_LENGTH_MAX } from '../../contract/gateway/requests.ts';
import { sha256Hex } from '../../platform/hash.ts';

/** What some lines of a batch ask for. */
export interface LineAsk {
  model: string;
  /** What the request could incur without a rate. */
  notIncluded: readonly string[];
}

/** Plain data, to be stored. At 50,000 lines it has about 500 KB. */
export interface LineAsks {
  /** The first is of all lines that no other has. */
  asks: LineAsk[];
  /** Of each further ask: the marks of its lines, one after the other. Lines of the last text ask for something else. */
  lines: string[];
}

/** More than that is not kept: nobody knows then what the line asked for. */
const ASKS_MAX = 20;
/** Of a custom id's hash, with base 36: of 50,000 ids two have the same mark in one of three million batches. */
const MARK_LENGTH = 10;
const MARKS = 36n ** BigInt(MARK_LENGTH);

export class LineAsksWriter {
  readonly #asks = new Map<string, { ask: LineAsk; marks: string[] }>();
  readonly #others: string[] = [];

  async add(customId: string, ask: LineAsk): Promise<void> {
    const key = JSON.stringify([ask.model, ask.notIncluded]);
    if (!this.#asks.has(key) && this.#asks.size < ASKS_MAX && ask.model.length <= MODEL_NAME_LENGTH_MAX)
      this.#asks.set(key, { ask, marks: [] });
    const [first] = this.#asks.keys();
    if (key !== first) (this.#asks.get(key)?.marks ?? this.#others).push(await markOf(customId));
  }

  written(): LineAsks {
    const kept = [...this.#asks.values()];
    return {
      asks: kept.map(({ ask }) => ask),
      lines: [...kept.slice(1).map(({ marks }) => marks), this.#others].map((marks) => marks.join('')),
    };
  }
}

export class LineAsksReader {
  readonly #asks: readonly (LineAsk | undefined)[];
  readonly #byMark = new Map<string, number>();

  constructor({ asks, lines }: LineAsks) {
    this.#asks = asks;
    for (const [index, marks] of lines.entries())
      for (let at = 0; at < marks.length; at += MARK_LENGTH)
        this.#byMark.set(marks.slice(at, at + MARK_LENGTH), index + 1);
  }

  /** `undefined` if it is not known. */
  async of(customId: string): Promise<LineAsk | undefined> {
    const index = this.#byMark.size === 0 ? 0 : (this.#byMark.get(await markOf(customId)) ?? 0);
    return this.#asks[index];
  }
}

async function markOf(customId: string): Promise<string> {
  const hash = BigInt(`0x${(await sha256Hex(customId)).slice(0, 16)}`);
  return (hash % MARKS).toString(36).padStart(MARK_LENGTH, '0');
}

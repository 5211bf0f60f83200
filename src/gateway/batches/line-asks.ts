/**
 * The asks of a batch's lines, kept until the lines are answered: the answers come in another order, and some name no
 * model. A line is found again by its custom id.
 */
import { MODEL_NAME_LENGTH_MAX } from '../../contract/gateway/requests.ts';
import { sha256Hex } from '../../platform/hash.ts';

/** The features that some lines of a batch ask for. */
export interface LineAsk {
  model: string;
  /** Uses without a rate that the request could incur. */
  notIncluded: readonly string[];
}

/** Plain data, to be stored. At 50,000 lines it has about 500 KB. */
export interface LineAsks {
  /** The first entry applies to each line that no other entry names. */
  asks: LineAsk[];
  /** The marks of the lines of each further ask, concatenated. Lines of the last text ask for something else. */
  lines: string[];
}

/** Further asks are not kept: the ask of such a line is unknown. */
const ASKS_MAX = 20;
/**
 * Characters of a custom id's hash, in base 36: two of 50,000 ids have the same mark in one of three million batches.
 */
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
    if (key !== first) (this.#asks.get(key)?.marks ?? this.#others).push(await hashCustomId(customId));
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

  /** `undefined` if the ask is not known. */
  async of(customId: string): Promise<LineAsk | undefined> {
    const index = this.#byMark.size === 0 ? 0 : (this.#byMark.get(await hashCustomId(customId)) ?? 0);
    return this.#asks[index];
  }
}

async function hashCustomId(customId: string): Promise<string> {
  const hash = BigInt(`0x${(await sha256Hex(customId)).slice(0, 16)}`);
  return (hash % MARKS).toString(36).padStart(MARK_LENGTH, '0');
}

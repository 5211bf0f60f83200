/**
 * Pages that wait for D1 in memory, in the order in which they came. Their customers keep the changes, and wait for the
 * answer, until D1 has them or the projector has stored them. A projector that is gone loses nothing: its customers
 * hand over again.
 */
import type { CustomerKey } from '../../src/domain/ids.ts';
import type { HandOver } from '../../src/objects/projector-commands.ts';

/** Characters of pages in memory. An object has 128 MB, and a character takes two bytes at most. */
const GATHERED_LENGTH_MAX = 16_000_000;

interface GatheredPage {
  handOver: HandOver;
  answer: () => void;
  refuse: (error: unknown) => void;
}

/** Whole pages, at least one. */
type GatheredPart = [GatheredPage, ...GatheredPage[]];

export class GatheredPages {
  readonly #pages = new Set<GatheredPage>();
  #length = 0;

  get isEmpty(): boolean {
    return this.#pages.size === 0;
  }

  hasRoomFor({ page }: HandOver): boolean {
    return this.#length + page.length <= GATHERED_LENGTH_MAX;
  }

  /** Resolves when D1 has the page, or the projector has stored it. */
  add(handOver: HandOver): Promise<void> {
    this.#length += handOver.page.length;
    return new Promise((answer, refuse) => this.#pages.add({ handOver, answer, refuse }));
  }

  /** The pages that wait now, as parts for one transaction each. A page that is no longer there when its turn comes is left out. */
  *parts(changesMax: number, lengthMax: number): Generator<GatheredPart> {
    let waiting = [...this.#pages];
    for (let [first, ...rest] = waiting; first !== undefined; [first, ...rest] = waiting) {
      const part: GatheredPart = [first];
      let [changes, length] = [first.handOver.changes, first.handOver.page.length];
      for (const page of rest) {
        changes += page.handOver.changes;
        length += page.handOver.page.length;
        if (changes > changesMax || length > lengthMax) break;
        part.push(page);
      }
      yield part;
      waiting = waiting.slice(part.length).filter((page) => this.#pages.has(page));
    }
  }

  /** Removes the pages and answers their customers. */
  answer(pages: Iterable<GatheredPage>): void {
    for (const page of pages) {
      this.#remove(page);
      page.answer();
    }
  }

  /** Stores all pages with `store`, and answers their customers; if that fails, they keep their changes. */
  moveTo(store: (handOvers: HandOver[]) => void): void {
    const pages = [...this.#pages];
    try {
      store(pages.map(({ handOver }) => handOver));
      this.answer(pages);
    } catch (error) {
      for (const page of pages) {
        this.#remove(page);
        page.refuse(error);
      }
    }
  }

  erase({ organizationId, customerId }: CustomerKey): void {
    const pages = [...this.#pages];
    this.answer(
      pages.filter(({ handOver }) => handOver.organizationId === organizationId && handOver.customerId === customerId),
    );
  }

  /** When the oldest change of the oldest page was made; `null` if there is no page. */
  oldestMs(): number | null {
    for (const { handOver } of this.#pages) return handOver.sinceMs;
    return null;
  }

  #remove(page: GatheredPage): void {
    if (this.#pages.delete(page)) this.#length -= page.handOver.page.length;
  }
}

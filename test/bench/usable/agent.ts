/**
 * An agent as a coding tool is one: instructions and tools that stay, a conversation that grows with each turn and is
 * summed up when it has grown by a half, marks for the cache that move on, thinking.
 */
import type { Random } from '../../crash/random.ts';
import type { Json } from '../../vendors/prompt.ts';
import { type Instructions, instructionsText, MODEL } from './vendor.ts';

const MAX_TOKENS = 32_000;
/** The part of the prompt. */
const SYSTEM_PERCENT = 10;
const TOOLS_PERCENT = 20;
const GROWTH_PERCENT = 1;
const SUMMED_UP_AT_PERCENT = 150;
const TOOLS = 20;
const CACHED_PERCENT = 95;
/** Most answers are calls of a tool, and some write a file. */
const OUTPUTS = { fewest: 100, most: 1_000, long: 6_000, longPercent: 4 };
const WORDS =
  'const value = await read(path); if (!value) return null; // the file is not there yet, so nothing is known\n';
const EPHEMERAL = { cache_control: { type: 'ephemeral' } };

interface Message {
  role: 'user' | 'assistant';
  content: Json[];
}

export class Agent {
  readonly #random: Random;
  readonly #promptBytes: number;
  readonly #system: Json[];
  readonly #tools: Json[];
  #messages: Message[] = [];
  #bytes = 0;
  /** The output of the requested turn. */
  #outputTokens = 0;
  /** The last turn's request: it stays in the conversation. */
  #asked: Json = {};

  constructor(random: Random, promptBytes: number) {
    this.#random = random;
    this.#promptBytes = promptBytes;
    this.#system = [{ type: 'text', text: this.#text(SYSTEM_PERCENT), ...EPHEMERAL }];
    this.#tools = Array.from({ length: TOOLS }, (_, index) => ({
      name: `tool_${index}`,
      description: this.#text(TOOLS_PERCENT / TOOLS),
      input_schema: { type: 'object', properties: { path: { type: 'string' } } },
    }));
    this.#begin();
  }

  /** The body of the turn, which the vendor answers as it says. */
  turn(marker: string, durationMs: number): string {
    const instructions: Instructions = {
      marker,
      outputTokens: this.#outputTokens,
      cachedPercent: CACHED_PERCENT,
      durationMs,
    };
    this.#asked = { type: 'text', text: instructionsText(instructions) };
    const messages = this.#messages.map(({ role, content }, index) => ({
      role,
      content: index === this.#messages.length - 1 ? [...content, { ...this.#asked, ...EPHEMERAL }] : content,
    }));
    return JSON.stringify({
      model: `anthropic/${MODEL}`,
      max_tokens: MAX_TOKENS,
      stream: true,
      thinking: { type: 'adaptive' },
      system: this.#system,
      tools: this.#tools,
      messages,
    });
  }

  /** Continues with a tool's result. */
  answered(): void {
    const id = `toolu_${this.#messages.length}`;
    const said = { type: 'text', text: this.#text(GROWTH_PERCENT / 2) };
    const called = { type: 'tool_use', id, name: 'tool_0', input: { path: `src/${id}.ts` } };
    const found = { type: 'tool_result', tool_use_id: id, content: this.#text(GROWTH_PERCENT / 2) };
    this.#messages.at(-1)?.content.push(this.#asked);
    this.#messages.push({ role: 'assistant', content: [said, called] }, { role: 'user', content: [found] });
    this.#draw();
    this.#bytes += (this.#promptBytes * GROWTH_PERCENT) / 100;
    if (this.#bytes > (this.#promptBytes * SUMMED_UP_AT_PERCENT) / 100) this.#begin();
  }

  #begin(): void {
    const text = this.#text(100 - SYSTEM_PERCENT - TOOLS_PERCENT);
    this.#messages = [{ role: 'user', content: [{ type: 'text', text }] }];
    this.#bytes = this.#promptBytes;
    this.#draw();
  }

  #draw(): void {
    const { fewest, most, long, longPercent } = OUTPUTS;
    const limit = this.#random.chance(longPercent / 100) ? long : most;
    this.#outputTokens = fewest + this.#random.below(limit - fewest);
  }

  /** So much of the prompt. No two are the same. */
  #text(percent: number): string {
    const length = Math.ceil((this.#promptBytes * percent) / 100);
    const begin = `${this.#random.below(1e9)} `;
    return (begin + WORDS.repeat(Math.ceil(length / WORDS.length))).slice(0, Math.max(begin.length, length));
  }
}

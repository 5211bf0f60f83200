/**
 * A figure that makes no sense changes no other figure and takes nothing back, and no reported figure is counted lower,
 * in any order.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atBound, type UnclearFigure } from '../../src/domain/unclear-usage.ts';
import { excessiveParts, takeUsage, type Usage } from '../../src/domain/usage.ts';
import { readUsage, StreamUsage, type VendorUsage } from '../../src/vendors/usage.ts';
import { rateCard } from '../support/rate-cards.ts';

const sane = fc.nat({ max: 100_000 });
const odd = fc.oneof(
  fc.constantFrom('', '7', 'many', true, {}, [], [3], -1, -0.5, 1e13),
  fc.record({ toString: fc.constant(1) }),
  fc.double({ min: -1e9, max: -0.001, noNaN: true }),
);

/** The places of the figures in an answer, and our figure that each equals or is a part of. */
const FORMS = {
  chat: {
    whole: (usage: object) => ({ model: 'm', choices: [{ message: {}, finish_reason: 'stop' }], usage }),
    event: (usage: object) => ({ model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage }),
    places: {
      prompt_tokens: ['inputTokens'],
      completion_tokens: ['responseTokens'],
      cached_tokens: ['cachedInputTokens'],
      cache_creation_tokens: ['cacheWriteInputTokens'],
      num_search_queries: ['searches'],
      prompt_audio_seconds: ['audioSeconds'],
    },
  },
  messages: {
    whole: (usage: object) => ({ type: 'message', model: 'm', content: [{ type: 'text' }], stop_reason: 'end', usage }),
    event: (usage: object) => ({ type: 'message_delta', delta: {}, usage }),
    places: {
      input_tokens: ['inputTokens'],
      output_tokens: ['responseTokens'],
      // Anthropic's prompt is the sum of three.
      cache_read_input_tokens: ['cachedInputTokens', 'inputTokens'],
      cache_creation_input_tokens: ['cacheWriteInputTokens', 'inputTokens'],
    },
  },
  generateContent: {
    whole: (usageMetadata: object) => ({ candidates: [{ finishReason: 'STOP' }], usageMetadata }),
    event: (usageMetadata: object) => ({ candidates: [{ finishReason: 'STOP' }], usageMetadata }),
    places: {
      promptTokenCount: ['inputTokens'],
      candidatesTokenCount: ['responseTokens'],
      thoughtsTokenCount: ['reasoningTokens', 'responseTokens'],
      toolUsePromptTokenCount: ['inputTokens'],
    },
  },
} as const;
const MAIN = {
  chat: ['prompt_tokens', 'completion_tokens'],
  messages: ['input_tokens', 'output_tokens'],
  generateContent: ['promptTokenCount', 'candidatesTokenCount'],
} as const;
type Form = keyof typeof FORMS;
const FIGURES = ['inputTokens', 'cachedInputTokens', 'cacheWriteInputTokens', 'responseTokens'] as const;

const form = fc.constantFrom(...(Object.keys(FORMS) as Form[]));
const placesOf = (name: Form) => FORMS[name].places as unknown as Record<string, readonly UnclearFigure[]>;
/** Figures in some of the places, among them both wholes; the parts are within them. */
const reported = form.chain((name) =>
  fc
    .record(Object.fromEntries(Object.keys(placesOf(name)).map((place) => [place, sane])), {
      requiredKeys: [...MAIN[name]],
    })
    .map((figures) => ({ name, usage: fitted(name, figures as Record<string, number>) })),
);

/** In a chat, cache reads and writes are parts of the prompt. */
function fitted(name: Form, figures: Record<string, number>): Record<string, number> {
  if (name !== 'chat') return figures;
  const { prompt_tokens: prompt = 0, cached_tokens: cached = 0, cache_creation_tokens: written = 0 } = figures;
  return { ...figures, prompt_tokens: prompt + cached + written };
}

describe('one odd figure', () => {
  test('is named, and changes no figure that it is no part of', () => {
    fc.assert(
      fc.property(reported, fc.nat(), odd, ({ name, usage }, at, figure) => {
        const places = Object.keys(usage);
        const place = places[at % places.length] as string;
        const before = readUsage(FORMS[name].whole(usage)) as VendorUsage;
        const after = readUsage(FORMS[name].whole({ ...usage, [place]: figure })) as VendorUsage;
        const touched = placesOf(name)[place] ?? [];
        expect(after.unclear).toEqual(expect.arrayContaining([touched[0]]));
        for (const each of FIGURES) {
          // A whole that the prompt does not prove is at least its parts, and a part of an unclear whole stays.
          if (!touched.includes(each)) expect([each, after[each]]).toEqual([each, before[each]]);
        }
        expect(excessiveParts(after)).toBeNull();
      }),
      { numRuns: 2_000 },
    );
  });

  test('at its bound counts no less than what the others prove, and the usage fits together', () => {
    const card = rateCard({ input: 2n, cachedInput: 1n, cacheWrite: 3n, output: 10n });
    fc.assert(
      fc.property(reported, fc.nat(), odd, sane, sane, ({ name, usage }, at, figure, inputTokens, outputTokens) => {
        const places = Object.keys(usage);
        const body = FORMS[name].whole({ ...usage, [places[at % places.length] as string]: figure });
        const read = readUsage(body) as VendorUsage;
        const known = takeUsage(read).usage;
        const bound = { inputTokens, outputTokens, uses: {}, promptTokens: 0 };
        const filled = atBound(known, read, bound, card) as Usage;
        expect(excessiveParts(filled)).toBeNull();
        expect(filled.inputTokens).toBe(
          read.unclear?.includes('inputTokens') ? Math.max(known.inputTokens, inputTokens) : known.inputTokens,
        );
        expect(filled.responseTokens).toBe(
          read.unclear?.includes('responseTokens')
            ? Math.max(known.responseTokens, outputTokens)
            : known.responseTokens,
        );
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('totals of a stream', () => {
  const totalsSoFar = fc.array(fc.dictionary(fc.nat({ max: 6 }).map(String), sane), { maxLength: 5 });
  test('count the highest of each, in any order, odd ones and empty ones among them', () => {
    fc.assert(
      fc.property(reported, totalsSoFar, fc.array(odd, { maxLength: 2 }), ({ name, usage }, lower, odds) => {
        const places = Object.keys(usage);
        const totals = lower.map((picked) =>
          Object.fromEntries(
            Object.entries(picked).map(([index, value]) => {
              const place = places[Number(index) % places.length] as string;
              return [place, Math.min(value, usage[place] ?? 0)];
            }),
          ),
        );
        const first = places[0] as string;
        const all = [usage, ...totals, {}, ...odds.map((value) => ({ [first]: value }))];
        const read = (usages: object[]) => {
          const stream = new StreamUsage();
          for (const each of usages) stream.read({ data: JSON.stringify(FORMS[name].event(each)) });
          return stream.usage();
        };
        const expected = readUsage(FORMS[name].whole(usage)) as VendorUsage;
        for (const order of [all, all.toReversed()]) {
          const found = read(order);
          for (const figure of FIGURES) expect([figure, found?.[figure]]).toEqual([figure, expected[figure]]);
          expect(found?.unclear !== undefined).toBe(odds.length > 0);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

test('a total alone is split, and never exceeded', () => {
  fc.assert(
    fc.property(sane, sane, sane, sane, (total, promptTokens, writtenTokens, outputTokens) => {
      const read = readUsage(FORMS.chat.whole({ total_tokens: total })) as VendorUsage;
      const bound = { inputTokens: 1, outputTokens, uses: {}, promptTokens, writtenTokens };
      const card = rateCard({ input: 2n, output: 10n });
      const { inputTokens, responseTokens } = atBound(takeUsage(read).usage, read, bound, card) as Usage;
      expect(inputTokens + responseTokens).toBe(total);
      expect(responseTokens).toBeLessThanOrEqual(outputTokens);
      expect(responseTokens).toBeGreaterThanOrEqual(Math.min(total, outputTokens, writtenTokens));
    }),
  );
});

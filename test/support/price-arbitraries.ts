/**
 * Random prices with any dimensions, and random usage that fits them or does not.
 */
import fc from 'fast-check';
import { COMPONENTS, type Rate, type RateCard, ratePurpose } from '../../src/domain/price.ts';
import { SERVICE_TIERS, SPEEDS, takeUsage, type Usage } from '../../src/domain/usage.ts';

const REGIONS = ['eu', 'us', 'global'] as const;

const when = fc.record(
  {
    promptTokensAbove: fc.constantFrom(100, 5_000),
    serviceTier: fc.constantFrom(...SERVICE_TIERS),
    region: fc.constantFrom('eu', 'us'),
    speed: fc.constantFrom(...SPEEDS),
  },
  { requiredKeys: [] },
);
const rate: fc.Arbitrary<Rate> = fc.record(
  {
    component: fc.constantFrom(...COMPONENTS),
    nanoUsdPerMillion: fc.bigInt({ min: 0n, max: 10n ** 12n }).map(String),
    when,
  },
  { requiredKeys: ['component', 'nanoUsdPerMillion'] },
);
const standard = COMPONENTS.map((component): Rate => ({ component, nanoUsdPerMillion: '1000000007' }));
export const card: fc.Arbitrary<RateCard> = fc
  .record(
    {
      // Often all of them: otherwise the cost of hardly any usage would be known.
      some: fc.oneof(fc.constant(standard), fc.subarray(standard)),
      others: fc.uniqueArray(rate, { maxLength: 40, selector: ratePurpose }),
      billedAsWhole: fc.subarray(['imageInput' as const, 'cachedImageInput' as const]),
      regionalPercent: fc.constantFrom(100, 110),
      region: fc.constantFrom(...REGIONS),
    },
    { requiredKeys: ['some', 'others'] },
  )
  .map(({ some, others, ...more }) => ({
    snapshotId: 'a/b@1',
    provider: 'a',
    modelKey: 'a/b',
    rates: [...some, ...others.filter((other) => !some.some((known) => ratePurpose(known) === ratePurpose(other)))],
    ...more,
  }));

/** Mostly none: under other conditions the cost is seldom known. */
const seldom = <T>(values: readonly T[]) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: fc.constantFrom(...values) });

const count = fc.nat({ max: 10_000 });
const part = fc.nat({ max: 500 });
/** Details that are not larger than their whole. */
export const usage: fc.Arbitrary<Usage> = fc
  .record({
    text: count,
    cachedText: part,
    write: part,
    write1h: part,
    write12h: part,
    audio: part,
    cachedAudio: part,
    image: part,
    cachedImage: part,
    answer: count,
    audioOutput: part,
    imageOutput: part,
    searches: part,
    fileSearch: part,
    codeMinutes: part,
    images: part,
    characters: count,
    audioSeconds: part,
    serviceTier: seldom(SERVICE_TIERS),
    region: seldom(REGIONS),
    speed: seldom(SPEEDS),
    isCachedSplitSaid: fc.boolean(),
  })
  .map((of) => {
    const cachedInputTokens = of.cachedText + of.cachedAudio + of.cachedImage;
    const cacheWriteInputTokens = of.write + of.write1h + of.write12h;
    return takeUsage({
      inputTokens: of.text + of.audio + of.image + cachedInputTokens + cacheWriteInputTokens,
      cachedInputTokens,
      cacheWriteInputTokens,
      cacheWrite1hInputTokens: of.write1h,
      cacheWrite12hInputTokens: of.write12h,
      audioInputTokens: of.audio + of.cachedAudio,
      imageInputTokens: of.image + of.cachedImage,
      ...(of.isCachedSplitSaid && { cachedAudioInputTokens: of.cachedAudio, cachedImageInputTokens: of.cachedImage }),
      responseTokens: of.answer + of.audioOutput + of.imageOutput,
      audioOutputTokens: of.audioOutput,
      imageOutputTokens: of.imageOutput,
      searches: of.searches,
      toolUses: { fileSearch: of.fileSearch, codeMinutes: of.codeMinutes },
      images: of.images,
      characters: of.characters,
      audioSeconds: of.audioSeconds,
      serviceTier: of.serviceTier,
      region: of.region,
      speed: of.speed,
    }).usage;
  });
export const mode = fc.constantFrom('standard' as const, 'batch' as const);

/**
 * The profiles of the demo organization's customers: the number of their calls, with models, features and times.
 */
import { asCustomerId, type CustomerId } from '../domain/ids.ts';
import type { MeterSlot } from '../domain/meters.ts';

export interface ModelUse {
  provider: string;
  model: string;
  tier: 'standard' | 'premium';
  weight: number;
}

export interface FeatureUse {
  feature: string;
  weight: number;
  /** Tokens of a typical call. */
  inputTokens: number;
  outputTokens: number;
  /** Share of the prompt that is read from the cache. */
  cachedShare: number;
  /** Share of the calls that search. */
  searchShare: number;
  /** Share of the calls with a compressed prompt. */
  compressedShare: number;
}

export interface DemoCustomer {
  customerId: CustomerId;
  name: string;
  planId: 'free' | 'pro' | 'scale';
  /** Days since the customer's first call. */
  cameDaysAgo: number;
  /** Calls of a typical working day at the end of the history. */
  callsPerDay: number;
  /** Share of them on a Saturday or Sunday. */
  weekendShare: number;
  /** Calls at the start of the history, as a share of those at the end. */
  startShare: number;
  /** Busiest hour (UTC). */
  busiestHour: number;
  users: number;
  features: readonly FeatureUse[];
  models: readonly ModelUse[];
  failureShare: number;
  /** A day with many times the usual calls of one feature. */
  spike?: { daysAgo: number; factor: number; feature: string };
  /** A day on which a vendor was down. */
  outage?: { daysAgo: number; provider: string };
  credits: readonly {
    daysAgo: number;
    kind: 'USD' | MeterSlot;
    amount: number;
    reference: string;
    expiresInDays?: number;
  }[];
  meters: readonly { slot: MeterSlot; perDay: number; amount: number; feature: string }[];
  upgrade?: { daysAgo: number; planId: 'pro' | 'scale' };
}

const LUNA: ModelUse = { provider: 'openai', model: 'openai/gpt-6-luna', tier: 'standard', weight: 5 };
const FLASH: ModelUse = { provider: 'google', model: 'google/gemini-3.8-flash', tier: 'standard', weight: 3 };
const HAIKU: ModelUse = { provider: 'anthropic', model: 'anthropic/claude-haiku-5-5', tier: 'standard', weight: 3 };
const OPUS: ModelUse = { provider: 'anthropic', model: 'anthropic/claude-opus-5-5', tier: 'premium', weight: 2 };
const SOL: ModelUse = { provider: 'openai', model: 'openai/gpt-6-sol', tier: 'premium', weight: 2 };
/** Models that end, so that the radar has something to show. */
const MINI: ModelUse = { provider: 'openai', model: 'openai/gpt-4o-mini', tier: 'standard', weight: 2 };
const SONNET: ModelUse = { provider: 'anthropic', model: 'anthropic/claude-sonnet-4-5', tier: 'premium', weight: 1 };
const ARGON: ModelUse = { provider: 'google', model: 'google/gemini-4-argon', tier: 'premium', weight: 1 };

const CHAT: FeatureUse = {
  feature: 'chat',
  weight: 6,
  inputTokens: 2_400,
  outputTokens: 420,
  cachedShare: 0.45,
  searchShare: 0,
  compressedShare: 0,
};
const SUMMARIES: FeatureUse = {
  feature: 'summaries',
  weight: 3,
  inputTokens: 9_000,
  outputTokens: 650,
  cachedShare: 0.1,
  searchShare: 0,
  compressedShare: 0.6,
};
const RESEARCH: FeatureUse = {
  feature: 'research',
  weight: 1,
  inputTokens: 14_000,
  outputTokens: 1_900,
  cachedShare: 0.2,
  searchShare: 0.8,
  compressedShare: 0.2,
};
const SUPPORT: FeatureUse = {
  feature: 'support',
  weight: 4,
  inputTokens: 3_600,
  outputTokens: 300,
  cachedShare: 0.6,
  searchShare: 0.1,
  compressedShare: 0,
};
const CONTRACTS: FeatureUse = {
  feature: 'contracts',
  weight: 2,
  inputTokens: 26_000,
  outputTokens: 1_400,
  cachedShare: 0.5,
  searchShare: 0,
  compressedShare: 0.4,
};

const USUAL = { weekendShare: 0.25, startShare: 0.6, busiestHour: 13, failureShare: 0.015, credits: [], meters: [] };

export const DEMO_CUSTOMERS: readonly DemoCustomer[] = [
  {
    ...USUAL,
    customerId: asCustomerId('brightpath-learning'),
    name: 'Brightpath Learning',
    planId: 'scale',
    cameDaysAgo: 60,
    callsPerDay: 62,
    weekendShare: 0.55,
    busiestHour: 16,
    users: 24,
    features: [CHAT, SUMMARIES],
    models: [LUNA, FLASH, OPUS],
    credits: [
      { daysAgo: 59, kind: 'USD', amount: 250, reference: 'invoice 1042' },
      { daysAgo: 24, kind: 'USD', amount: 250, reference: 'invoice 1107' },
      { daysAgo: 58, kind: 'CUSTOM1', amount: 2_000, reference: 'page pack', expiresInDays: 90 },
    ],
    meters: [
      { slot: 'CUSTOM1', perDay: 6, amount: 18, feature: 'worksheets' },
      { slot: 'AGENTIC_API', perDay: 8, amount: 12, feature: 'tutor tools' },
    ],
  },
  {
    ...USUAL,
    customerId: asCustomerId('northwind-legal'),
    name: 'Northwind Legal',
    planId: 'scale',
    cameDaysAgo: 60,
    callsPerDay: 34,
    weekendShare: 0.08,
    users: 12,
    features: [CONTRACTS, RESEARCH],
    models: [OPUS, SOL, HAIKU],
    credits: [{ daysAgo: 57, kind: 'USD', amount: 400, reference: 'annual prepayment' }],
    meters: [{ slot: 'CUSTOM1', perDay: 4, amount: 35, feature: 'scans' }],
    spike: { daysAgo: 9, factor: 6, feature: 'contracts' },
  },
  {
    ...USUAL,
    customerId: asCustomerId('meridian-health'),
    name: 'Meridian Health',
    planId: 'pro',
    cameDaysAgo: 60,
    callsPerDay: 40,
    weekendShare: 0.7,
    users: 31,
    features: [SUPPORT, SUMMARIES],
    models: [HAIKU, LUNA, SOL],
    outage: { daysAgo: 21, provider: 'anthropic' },
  },
  {
    ...USUAL,
    customerId: asCustomerId('atlas-freight'),
    name: 'Atlas Freight',
    planId: 'pro',
    cameDaysAgo: 60,
    callsPerDay: 26,
    weekendShare: 0.4,
    busiestHour: 8,
    users: 9,
    features: [SUPPORT, CHAT],
    models: [LUNA, FLASH, MINI],
  },
  {
    ...USUAL,
    customerId: asCustomerId('pixel-forge'),
    name: 'Pixel Forge Studio',
    planId: 'pro',
    cameDaysAgo: 48,
    callsPerDay: 22,
    startShare: 0.2,
    busiestHour: 19,
    users: 6,
    features: [CHAT, RESEARCH],
    models: [SOL, ARGON, LUNA],
    spike: { daysAgo: 30, factor: 4, feature: 'research' },
  },
  {
    ...USUAL,
    customerId: asCustomerId('solstice-travel'),
    name: 'Solstice Travel',
    planId: 'pro',
    cameDaysAgo: 60,
    callsPerDay: 18,
    weekendShare: 1.3,
    users: 8,
    features: [CHAT, RESEARCH],
    models: [FLASH, ARGON, MINI],
  },
  {
    ...USUAL,
    customerId: asCustomerId('quill-and-co'),
    name: 'Quill & Co',
    planId: 'free',
    cameDaysAgo: 52,
    callsPerDay: 9,
    startShare: 0.15,
    users: 3,
    features: [SUMMARIES, CHAT],
    models: [LUNA, HAIKU, SOL],
    upgrade: { daysAgo: 26, planId: 'pro' },
  },
  {
    ...USUAL,
    customerId: asCustomerId('harbor-insurance'),
    name: 'Harbor Insurance',
    planId: 'pro',
    cameDaysAgo: 33,
    callsPerDay: 15,
    startShare: 0.4,
    users: 14,
    features: [SUPPORT, CONTRACTS],
    models: [HAIKU, OPUS, SONNET],
    failureShare: 0.03,
  },
  {
    ...USUAL,
    customerId: asCustomerId('tiny-tools'),
    name: 'Tiny Tools',
    planId: 'free',
    cameDaysAgo: 41,
    callsPerDay: 3,
    startShare: 1,
    users: 1,
    features: [CHAT],
    models: [LUNA],
  },
];

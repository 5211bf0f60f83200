/**
 * The figures of a denial, in answers and in errors, and their sentences.
 *
 * They are as of the moment at which the call was denied.
 */

import { z } from 'zod';
import { ALSO_MAX, type RecordedDenial } from '../domain/denial.ts';
import { METER_NAMES } from '../domain/meters.ts';
import { NANO_PER_USD, type NanoUsd, usd, usdFromNano } from '../domain/money.ts';
import type { Complete } from './complete.ts';
import { instant } from './fields.ts';

const BlockingLimit = z.object({
  meter: z.enum(METER_NAMES).describe('The meter that is used up, or has too little left'),
  limit: z.number().nullable().describe("The plan's limit of the meter; null if it is unlimited"),
  used: z.number().describe('What ended and open calls have taken of the meter'),
  resetsAt: instant.nullable().describe('When the meter renews; null if it does not'),
});

/** The limits that block a call besides the named one. */
export const AlsoBlocking = z
  .array(BlockingLimit)
  .max(ALSO_MAX)
  .optional()
  .describe('The other limits that block the call and renew no later; absent if there are none');

/** The needed and the available amount. */
export const DenialSums = z.object({
  also: AlsoBlocking,
  neededUsd: z
    .number()
    .optional()
    .describe('What must be available for the call, in USD; present if credit would have paid'),
  availableUsd: z
    .number()
    .optional()
    .describe('The available balance: without holds and without charges that are not settled'),
  heldUsd: z.number().optional().describe('What open calls and batches hold of the balance'),
  openCalls: z.number().int().optional().describe('Calls in progress, which may give back what they hold'),
  openBatches: z.number().int().optional().describe('Batches that hold something; absent if there are none'),
  resetsAt: instant
    .nullable()
    .optional()
    .describe('When the usage period ends and the meter renews; null if it does not'),
  maxTokensThatPass: z
    .number()
    .int()
    .nullable()
    .optional()
    .describe(
      'The output tokens of an answer with which this call would pass; null if no number would, or it is unknown',
    ),
});

/** For a refusal: includes the meter. */
export const DenialFigures = z.object({
  meter: z.enum(METER_NAMES).optional().describe('The meter that is used up'),
  limit: z.number().nullable().optional().describe("The plan's limit of the meter; null if it is unlimited"),
  used: z.number().optional().describe('What ended and open calls have taken of the meter'),
  ...DenialSums.shape,
});

export type DenialFigures = z.infer<typeof DenialFigures>;

export function presentSums({ also, money, open, resetsAtMs }: RecordedDenial): Complete<z.infer<typeof DenialSums>> {
  return {
    also: also?.map(({ resetsAtMs: atMs, ...limit }) => ({ ...limit, resetsAt: resetTime(atMs) })),
    neededUsd: money && usdFromNano(BigInt(money.neededNanoUsd)),
    availableUsd: money && usdFromNano(BigInt(money.availableNanoUsd)),
    heldUsd: money && usdFromNano(BigInt(money.heldNanoUsd)),
    openCalls: open?.calls,
    openBatches: open?.batches || undefined,
    resetsAt: resetsAtMs === undefined ? undefined : resetTime(resetsAtMs),
    maxTokensThatPass: money?.maxTokensThatPass,
  };
}

function resetTime(atMs: number | null): string | null {
  return atMs === null ? null : new Date(atMs).toISOString();
}

const NO_METER = { meter: undefined, limit: undefined, used: undefined };

export function presentFigures(denial: RecordedDenial): Complete<DenialFigures> {
  const { meter, limit, used } = denial;
  return { ...(meter ? { meter, limit, used } : NO_METER), ...presentSums(denial) };
}

/**
 * `The call needs $1.06, and $0.617 is available; 3 open calls hold $2.10. With at most 3,400 output tokens it would
 * pass.` Empty if there is no amount to state.
 */
export function sumsSentence(denial: DenialFigures): string {
  const others = denial.also?.flatMap(allowanceSentence) ?? [];
  return [...moneySentences(denial, NOW), ...allowanceSentence(denial), ...others].join(' ');
}

/** The same for a call that was denied before, whose allowance is described elsewhere. */
export function pastSumsSentence(denial: DenialFigures): string {
  return moneySentences(denial, THEN).join(' ');
}

const NOW = { needs: 'needs', is: 'is', holds: 'holds', hold: 'hold', pass: 'would pass' };
const THEN: typeof NOW = { needs: 'needed', is: 'was', holds: 'held', hold: 'held', pass: 'would have passed' };

function moneySentences(
  { neededUsd, availableUsd = 0, heldUsd = 0, openCalls = 0, openBatches = 0, maxTokensThatPass }: DenialFigures,
  { needs, is, holds, hold, pass }: typeof NOW,
): string[] {
  if (neededUsd === undefined) return [];
  // The needed amount is never rounded down, and the available one never up.
  const needed = neededUsd > 0 ? usd(exactNanoUsd(neededUsd), 'up') : 'credit';
  const available = usd(exactNanoUsd(availableUsd), availableUsd < 0 ? 'up' : 'down');
  const holders = [
    ...(openCalls > 0 ? [counted(openCalls, 'open call', 'open calls')] : []),
    ...(openBatches > 0 ? [counted(openBatches, 'batch', 'batches')] : []),
  ];
  const verb = openCalls + openBatches === 1 ? holds : hold;
  const held =
    heldUsd > 0 && holders.length > 0 ? `; ${holders.join(' and ')} ${verb} ${usd(exactNanoUsd(heldUsd))}` : '';
  return [
    `The call ${needs} ${needed}, and ${available} ${is} available${held}.`,
    ...(maxTokensThatPass == null
      ? []
      : [`With at most ${maxTokensThatPass.toLocaleString('en')} output tokens it ${pass}.`]),
  ];
}

function allowanceSentence({ meter, limit, used, openCalls = 0, resetsAt }: DenialFigures): string[] {
  if (meter === undefined || limit == null || used === undefined) return [];
  // A plan without the meter has no amount that could be used up or renewed.
  if (limit === 0 && !resetsAt) return [];
  const open = openCalls > 0 ? `, with what ${counted(openCalls, 'open call reserves', 'open calls reserve')}` : '';
  const renews = resetsAt ? `; they renew on ${resetsAt.slice(0, 10)} at ${resetsAt.slice(11, 16)} UTC` : '';
  return [`${meter}: ${used.toLocaleString('en')} of ${limit.toLocaleString('en')} are used${open}${renews}.`];
}

function counted(count: number, one: string, many: string): string {
  return `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
}

/** The exact amount of the JSON number. */
function exactNanoUsd(amountUsd: number): NanoUsd {
  return BigInt(Math.round(amountUsd * Number(NANO_PER_USD)));
}

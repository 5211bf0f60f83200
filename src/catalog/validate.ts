/**
 * Validates a catalog before it is used: names are unique, replacements exist, dates are valid and in order, prices are
 * exact.
 *
 * `readCatalogDocument` checks the shape and facts of any value, `validateCatalog` the facts of a document with a valid
 * shape. Every problem names the model and the field. Nothing is repaired.
 */
import type { z } from 'zod';
import { CatalogDocument } from '../contract/catalog.ts';
import { ratePurpose } from '../domain/price.ts';
import { utcDay } from '../platform/time.ts';
import { type CatalogModel, type CatalogPricing, type CatalogRates, modelKeyOf, type Transition } from './model.ts';
import { buildRates, type ListedPrice } from './prices.ts';

export interface Problem {
  /** `provider/model`, or the path in the document if there is none; empty for the document itself. */
  modelKey: string;
  field: string;
  message: string;
}

export interface CatalogFacts {
  models: readonly CatalogModel[];
  transitions?: readonly Transition[] | undefined;
}

type Finding = Omit<Problem, 'modelKey'>;

/** Maximum number of decimals of a price: a nano-USD. */
const PRICE_DECIMALS = 9;

/** Returns the document in `raw`, or `null` with all problems. */
export function readCatalogDocument(raw: unknown): { document: CatalogDocument | null; problems: Problem[] } {
  const parsed = CatalogDocument.safeParse(raw);
  if (!parsed.success)
    return { document: null, problems: parsed.error.issues.flatMap((issue) => shapeProblems(issue, raw)) };
  const problems = validateCatalog(parsed.data);
  return { document: problems.length > 0 ? null : parsed.data, problems };
}

export function validateCatalog({ models, transitions = [] }: CatalogFacts): Problem[] {
  const names = indexNames(models);
  return [
    ...nameProblems(models),
    ...models.flatMap((model) => {
      const findings = [
        ...lifecycleFindings(model, names),
        ...dateFindings(model),
        ...priceFindings(model.pricing),
        ...channelFindings(model),
      ];
      return findings.map((finding) => ({ modelKey: modelKeyOf(model), ...finding }));
    }),
    ...transitions.flatMap((transition) =>
      transitionFindings(transition, names).map((finding) => ({ modelKey: modelKeyOf(transition), ...finding })),
    ),
  ];
}

/** A schema issue, with the model's key instead of its index. One problem for each unknown member. */
function shapeProblems(issue: z.core.$ZodIssue, raw: unknown): Problem[] {
  const list = Array.isArray(raw) ? raw : ((raw as { models?: unknown } | null)?.models as unknown);
  const [top, index, ...inside] = issue.path;
  const entry =
    top === 'models' && typeof index === 'number' && Array.isArray(list) ? (list[index] as unknown) : undefined;
  const modelKey = top === 'models' && typeof index === 'number' ? keyOfAnything(entry, index) : '';
  const path = modelKey === '' ? issue.path : inside;
  const members = issue.code === 'unrecognized_keys' ? issue.keys : [undefined];
  return members.map((member) => ({
    modelKey,
    field: [...path, ...(member === undefined ? [] : [member])].map(String).join('.'),
    message: member === undefined ? issue.message : 'is unknown',
  }));
}

function keyOfAnything(entry: unknown, index: number): string {
  const { provider, model } = (entry ?? {}) as Partial<Record<string, unknown>>;
  return typeof provider === 'string' && typeof model === 'string' ? `${provider}/${model}` : `models.${index}`;
}

/** Models by `provider/name`, for their own names and their aliases. */
function indexNames(models: readonly CatalogModel[]): Map<string, CatalogModel> {
  const names = new Map<string, CatalogModel>();
  for (const model of models) for (const alias of model.aliases) names.set(`${model.provider}/${alias}`, model);
  for (const model of models) names.set(modelKeyOf(model), model);
  return names;
}

/** A name must identify one model across providers and case, because a call is priced by the name alone. */
function nameProblems(models: readonly CatalogModel[]): Problem[] {
  const problems: Problem[] = [];
  const taken = new Map<string, string>();
  const claim = (model: CatalogModel, field: string, name: string) => {
    const owner = taken.get(name.toLowerCase());
    if (owner === undefined) taken.set(name.toLowerCase(), modelKeyOf(model));
    else problems.push({ modelKey: modelKeyOf(model), field, message: `${name} is also a name of ${owner}` });
  };
  for (const model of models) claim(model, 'model', model.model);
  for (const model of models) {
    for (const alias of model.aliases) claim(model, 'aliases', alias);
    const { preferredAlias } = model;
    if (preferredAlias !== undefined && !model.aliases.includes(preferredAlias)) {
      problems.push({
        modelKey: modelKeyOf(model),
        field: 'preferredAlias',
        message: `${preferredAlias} is not among the aliases`,
      });
    }
  }
  return problems;
}

function lifecycleFindings(model: CatalogModel, names: Map<string, CatalogModel>): Finding[] {
  const { status, replacement, replacementResolvesTo, replacementExternal, ...lifecycle } = model.lifecycle;
  const findings: Finding[] = [];
  const add = (field: string, message: string) => findings.push({ field: `lifecycle.${field}`, message });

  const target = replacement === undefined ? undefined : names.get(replacement);
  if (replacement !== undefined && !target && !replacementExternal) {
    add('replacement', `${replacement} is not in the catalog, nor marked as replacementExternal`);
  }
  if (target === model) add('replacement', 'a model cannot replace itself');
  if (replacement === undefined && lifecycle.replacementEvidence)
    add('replacementEvidence', 'there is no replacement that it is evidence of');
  if (replacementResolvesTo !== undefined && (!target || modelKeyOf(target) !== replacementResolvesTo)) {
    add('replacementResolvesTo', `${replacement ?? 'no replacement'} does not resolve to ${replacementResolvesTo}`);
  }
  for (const alternative of lifecycle.replacementAlternatives ?? []) {
    if (!names.has(alternative)) add('replacementAlternatives', `${alternative} is not in the catalog`);
  }
  const suggested = lifecycle.suggestedReplacement;
  if (suggested !== undefined && !names.has(suggested))
    add('suggestedReplacement', `${suggested} is not in the catalog`);

  if (status === 'RETIRED' && lifecycle.shutdownAt === undefined) add('shutdownAt', 'is required of a RETIRED model');
  if (status === 'DEPRECATED' && lifecycle.shutdownAt === undefined && lifecycle.announcedAt === undefined) {
    add('announcedAt', 'announcedAt or shutdownAt is required of a DEPRECATED model');
  }
  return findings;
}

function dateFindings({ releasedAt, lifecycle, pricing, availability, migrationNotes = [] }: CatalogModel): Finding[] {
  const { announcedAt, shutdownAt, earliestShutdownAt } = lifecycle;
  const dates: [string, string | undefined][] = [
    ['releasedAt', releasedAt],
    ['lifecycle.announcedAt', announcedAt],
    ['lifecycle.shutdownAt', shutdownAt],
    ['lifecycle.earliestShutdownAt', earliestShutdownAt],
    ['lifecycle.source.checkedAt', lifecycle.source.checkedAt],
    ['lifecycle.replacementEvidence.source.checkedAt', lifecycle.replacementEvidence?.source.checkedAt],
    ['availability.source.checkedAt', availability?.source.checkedAt],
    ...migrationNotes.map(({ source }, index): [string, string] => [
      `migrationNotes.${index}.source.checkedAt`,
      source.checkedAt,
    ]),
    ...(pricing?.scheduled ?? []).map(({ from }, index): [string, string] => [`pricing.scheduled.${index}.from`, from]),
  ];
  const later: [string, string | undefined, string, string | undefined][] = [
    ['lifecycle.announcedAt', announcedAt, 'releasedAt', releasedAt],
    ['lifecycle.shutdownAt', shutdownAt, 'releasedAt', releasedAt],
    ['lifecycle.earliestShutdownAt', earliestShutdownAt, 'releasedAt', releasedAt],
    ['lifecycle.shutdownAt', shutdownAt, 'lifecycle.announcedAt', announcedAt],
  ];
  return [
    ...dates.flatMap(([field, date]) => (date === undefined || isRealDay(date) ? [] : [notADay(field, date)])),
    ...later.flatMap(([field, date, beforeField, before]) =>
      date !== undefined && before !== undefined && date < before
        ? [{ field, message: `${date} is before ${beforeField}, ${before}` }]
        : [],
    ),
  ];
}

function channelFindings({ channels = [] }: CatalogModel): Finding[] {
  return channels.flatMap(({ channel, pricing, lifecycle }, index) => {
    const at = `channels.${index}`;
    const { announcedAt, shutdownAt, source } = lifecycle ?? {};
    const dates = Object.entries({ announcedAt, shutdownAt, 'source.checkedAt': source?.checkedAt });
    return [
      ...(channels.findIndex((other) => other.channel === channel) === index
        ? []
        : [{ field: `${at}.channel`, message: `${channel} is listed twice` }]),
      ...(pricing || lifecycle ? [] : [{ field: at, message: 'says neither a price nor dates' }]),
      ...dates.flatMap(([field, date]) =>
        date === undefined || isRealDay(date) ? [] : [notADay(`${at}.lifecycle.${field}`, date)],
      ),
      ...priceFindings(pricing).map(({ field, message }) => ({ field: `${at}.${field}`, message })),
    ];
  });
}

function priceFindings(pricing: CatalogPricing | undefined): Finding[] {
  if (!pricing) return [];
  const { tiers = [], scheduled = [], components: _listed, ...rest } = pricing;
  const { batchMultiplier: _share, regionalMultiplier: _regional, source: _source, ...base } = rest;
  const findings = ratesFindings('pricing', base);
  tiers.forEach(({ inputTokensAbove, assumption: _assumption, ...rates }, index) => {
    const field = `pricing.tiers.${index}`;
    findings.push(...ratesFindings(field, rates));
    const before = tiers[index - 1]?.inputTokensAbove ?? 0;
    if (!(inputTokensAbove > before))
      findings.push({ field: `${field}.inputTokensAbove`, message: `must be above ${before}` });
  });
  if (findings.length === 0) findings.push(...componentFindings('pricing', pricing));
  let inForce: CatalogRates = base;
  scheduled.forEach(({ from, components, ...change }, index) => {
    const field = `pricing.scheduled.${index}`;
    inForce = { ...inForce, ...change };
    findings.push(...amountFindings(field, change), ...cacheFindings(field, inForce));
    if (components && findings.length === 0)
      findings.push(...componentFindings(field, { ...pricing, ...inForce, components }));
    const before = scheduled[index - 1]?.from;
    if (before !== undefined && from <= before)
      findings.push({ field: `${field}.from`, message: `must be after ${before}` });
    if (Object.keys(change).length === 0 && !components) findings.push({ field, message: 'changes no rate' });
  });
  return findings;
}

function ratesFindings(field: string, rates: CatalogRates): Finding[] {
  return [...amountFindings(field, rates), ...cacheFindings(field, rates)];
}

function amountFindings(field: string, rates: Partial<CatalogRates>): Finding[] {
  return Object.entries(rates).flatMap(([rate, amount]) => {
    const message = amountRule(amount);
    return message === null ? [] : [{ field: `${field}.${rate}`, message }];
  });
}

/** A price has a rate, and only one for each component under the same conditions. */
function componentFindings(field: string, pricing: ListedPrice): Finding[] {
  const rates = buildRates(pricing);
  if (rates.length === 0) return [{ field, message: 'has no rate' }];
  const seen = new Set<string>();
  return rates.flatMap((rate) => {
    const purpose = ratePurpose(rate);
    if (!seen.has(purpose)) {
      seen.add(purpose);
      return [];
    }
    return [{ field: `${field}.components`, message: `${rate.component} has another rate under the same conditions` }];
  });
}

function amountRule(amount: number): string | null {
  if (!Number.isFinite(amount) || amount < 0) return 'must be a number that is not negative';
  return Number(amount.toFixed(PRICE_DECIMALS)) === amount ? null : `must have at most ${PRICE_DECIMALS} decimals`;
}

function cacheFindings(field: string, { inputUsdPerMillion, cachedInputUsdPerMillion }: CatalogRates): Finding[] {
  if (cachedInputUsdPerMillion === undefined || inputUsdPerMillion === undefined) return [];
  if (cachedInputUsdPerMillion <= inputUsdPerMillion) return [];
  const message = `${cachedInputUsdPerMillion} is above the input rate, ${inputUsdPerMillion}`;
  return [{ field: `${field}.cachedInputUsdPerMillion`, message }];
}

function transitionFindings(transition: Transition, names: Map<string, CatalogModel>): Finding[] {
  const { from, to, date, replacement, replacementEvidence, source } = transition;
  const findings: Finding[] = [];
  const add = (field: string, message: string) => findings.push({ field: `transitions.${field}`, message });
  const model = names.get(modelKeyOf(transition));
  if (!model) add('model', 'is not in the catalog');
  if (from === to) add('to', `must be another status than ${from}`);
  for (const [field, day] of [
    ['date', date],
    ['source.checkedAt', source.checkedAt],
    ['replacementEvidence.source.checkedAt', replacementEvidence?.source.checkedAt],
  ] as const) {
    if (day !== undefined && !isRealDay(day)) findings.push(notADay(`transitions.${field}`, day));
  }
  if (replacement !== undefined && !names.has(replacement) && !model?.lifecycle.replacementExternal) {
    add('replacement', `${replacement} is not in the catalog, nor marked as replacementExternal`);
  }
  return findings;
}

/** Whether a day exists: `2026-02-29` has the right form but does not. */
function isRealDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && utcDay(ms) === day;
}

function notADay(field: string, day: string): Finding {
  return { field, message: `${day} is not a day of the calendar` };
}

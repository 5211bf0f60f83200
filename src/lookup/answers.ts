/**
 * The lookup's answers in the contract's shape: discovery, the light decision, the full inspection.
 */

import { z } from 'zod';
import type { Catalog } from '../catalog/model.ts';
import { modelKeyOf } from '../catalog/model.ts';
import type { LookupPolicy } from '../catalog/ranking.ts';
import type { Resolution } from '../catalog/resolution.ts';
import {
  ACTIONS,
  CAPABILITIES,
  type FullResolution,
  LIFECYCLE_STATUSES,
  type LightResolution,
  LOOKUP_PATH,
  LookupQuery,
  PROVIDERS,
  PURPOSES,
  RESPONSES,
} from '../contract/model-lookup.ts';
import { DAY_MS } from '../platform/time.ts';

const SCHEMA_VERSION = 1;

/** The facts in an answer about its catalog and the day for which it holds. */
export interface Provenance {
  catalog: Catalog;
  /** The problem of the catalog in use, or of reading the reviews; `null` if there is none. */
  problem: string | null;
  /** UTC day for which the answer holds, as YYYY-MM-DD. */
  day: string;
}

function validUntilMs(day: string): number {
  return Date.parse(day) + DAY_MS;
}

export function presentLight(resolution: Resolution, policy: LookupPolicy, provenance: Provenance): LightResolution {
  return {
    ...presentCommon(resolution, provenance),
    response: 'light',
    requested: { modelKey: resolution.requested.modelKey },
    degraded: provenance.problem !== null,
    automation: { autoApplyRecommended: isAutoApply(resolution, policy, provenance) },
  };
}

export function presentFull(resolution: Resolution, policy: LookupPolicy, provenance: Provenance): FullResolution {
  const { requested, match, pricing } = resolution;
  const warnings = [...(provenance.problem === null ? [] : [provenance.problem]), ...resolution.warnings];
  const { minimumContext, minimumOutput, endpoint, ...always } = policy;
  return {
    ...presentCommon(resolution, provenance),
    requested: { modelKey: requested.modelKey, provider: requested.provider, model: requested.model },
    ...(match && {
      match: {
        matchedModelKey: match.matchedModelKey,
        strategy: match.strategy,
        ...(match.score !== undefined && { score: match.score }),
      },
    }),
    ...(pricing && {
      pricing: {
        snapshotId: pricing.card.snapshotId,
        ...pricing.text,
        ...(pricing.blendedUsdPerMillion !== undefined && { blendedUsdPerMillion: pricing.blendedUsdPerMillion }),
      },
    }),
    equivalents: resolution.equivalents,
    variants: resolution.variants,
    alternatives: resolution.alternatives,
    excludedCandidates: resolution.excluded,
    policy: {
      ...always,
      ...(minimumContext !== undefined && { minimumContext }),
      ...(minimumOutput !== undefined && { minimumOutput }),
      ...(endpoint !== undefined && { endpoint }),
    },
    scoringVersion: resolution.scoringVersion,
    degraded: provenance.problem !== null,
    warnings,
    automation: {
      canResolveWithoutServiceAccount: true,
      autoApplyRecommended: isAutoApply(resolution, policy, provenance),
      note: automationNote(resolution, policy, provenance),
    },
  };
}

export function presentDiscovery({ catalog, day }: Provenance): object {
  const { properties = {} } = z.toJSONSchema(LookupQuery, { io: 'output', unrepresentable: 'any' });
  const parameters = Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', ...(schema as object) }));
  const { minimumContext: _c, minimumOutput: _o, endpoint: _e, ...defaults } = LookupQuery.parse({});
  return {
    schemaVersion: SCHEMA_VERSION,
    catalogVersion: catalog.version,
    generatedAt: generatedAt(catalog, day),
    purposes: PURPOSES,
    responses: RESPONSES,
    defaults,
    parameters,
    providers: PROVIDERS,
    capabilities: CAPABILITIES,
    endpoints: [`GET ${LOOKUP_PATH}`, `GET ${LOOKUP_PATH}/{provider}/{model}`, `GET ${LOOKUP_PATH}/{modelKey}`],
    lifecycle: {
      statuses: LIFECYCLE_STATUSES,
      actions: ACTIONS,
      transitions: catalog.transitions.map((transition) => ({ ...transition, scheduled: transition.date > day })),
    },
  };
}

function presentCommon(resolution: Resolution, { catalog, day }: Provenance) {
  const { model, status, action, providerReplacementModelKey, recommendedModelKey, recommendationSource, decisionId } =
    resolution;
  const keyGuidance = adviseKey(resolution);
  const { announcedAt, shutdownAt, source } = model?.lifecycle ?? {};
  return {
    schemaVersion: SCHEMA_VERSION as 1,
    catalogVersion: catalog.version,
    lifecycle: {
      status,
      ...(announcedAt !== undefined && { announcedAt }),
      ...(shutdownAt !== undefined && { shutdownAt }),
      ...(source && { source }),
    },
    action,
    ...(keyGuidance && { keyGuidance }),
    ...(recommendedModelKey !== null && { recommendedModelKey }),
    ...(providerReplacementModelKey !== null && { providerReplacementModelKey }),
    recommendationSource,
    decisionId,
    generatedAt: generatedAt(catalog, day, resolution.review?.reviewedAtMs),
    validUntil: new Date(validUntilMs(day)).toISOString(),
  };
}

/**
 * The latest of the day's start, the catalog's publication and the review, so that an answer changes only with them.
 */
function generatedAt(catalog: Catalog, day: string, reviewedAtMs = 0): string {
  return new Date(Math.max(Date.parse(day), catalog.publishedAtMs, reviewedAtMs)).toISOString();
}

function adviseKey({ requested, model, preferredAlias, status }: Resolution): FullResolution['keyGuidance'] {
  if (!model || preferredAlias === null) return undefined;
  const preferredModelKey = `${requested.provider}/${preferredAlias}`;
  const shouldUpdate = requested.modelKey !== preferredModelKey && status !== 'RETIRED';
  return {
    requestedModelKey: requested.modelKey,
    preferredModelKey,
    resolvedModelKey: modelKeyOf(model),
    relationship: 'provider_alias',
    confidence: 'provider_verified',
    shouldUpdate,
    note: shouldUpdate
      ? `${preferredModelKey} is the provider's shorter name of the same model`
      : status === 'RETIRED'
        ? 'the model is retired under every name'
        : 'the requested key is the preferred one',
  };
}

function isAutoApply(resolution: Resolution, policy: LookupPolicy, { problem }: Provenance): boolean {
  return policy.allowAutoApply && problem === null && resolution.safeToApply;
}

function automationNote(resolution: Resolution, policy: LookupPolicy, provenance: Provenance): string {
  if (!policy.allowAutoApply)
    return 'advice only; allowAutoApply=true asks for an evaluation, and nothing is ever applied';
  if (provenance.problem !== null) return 'not recommended while the service is degraded';
  if (isAutoApply(resolution, policy, provenance))
    return "the provider's live replacement is inside every bound and compatible";
  if (resolution.action !== 'REPLACE') return `the action is ${resolution.action}, so there is nothing to apply`;
  return 'not recommended: the replacement is not authoritative, not comparable, or outside a bound; see warnings';
}

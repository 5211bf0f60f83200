/**
 * The facts that a caller should know before a swap, as warnings of the lookup: weak evidence, the provider's
 * conditions for requests to the replacement, the accounts that may use a model, and the changes.
 */
import type { Replacement } from './lifecycle.ts';
import { type CatalogModel, modelKeyOf } from './model.ts';

/** The warnings about the requested model, the provider's replacement and `recommended`, each model once. */
export function swapWarnings(
  source: CatalogModel,
  replacement: Replacement | null,
  recommended: CatalogModel | null,
): string[] {
  const models = new Set([source, replacement?.model, replacement?.live?.model, recommended]);
  return [
    ...(replacement ? replacementConditions(source, replacement) : []),
    ...[...models].flatMap((model) => (model ? listMigrationNotes(model) : [])),
  ];
}

/** Whether only the caller's own limits prevent the provider's replacement. */
export function isUnconditional({ lifecycle }: CatalogModel): boolean {
  return lifecycle.replacementNote === undefined && lifecycle.replacementEvidence?.confidence !== 'secondary';
}

function replacementConditions({ lifecycle }: CatalogModel, { modelKey }: Replacement): string[] {
  const { replacementNote, replacementEvidence } = lifecycle;
  return [
    ...(replacementEvidence?.confidence === 'secondary'
      ? [`that ${modelKey} is the official replacement rests on secondary evidence: ${replacementEvidence.source.url}`]
      : []),
    ...(replacementNote === undefined ? [] : [`official replacement ${modelKey}: ${replacementNote}`]),
  ];
}

function listMigrationNotes(model: CatalogModel): string[] {
  const { availability, migrationNotes = [] } = model;
  const notes = [...(availability ? [availability.note] : []), ...migrationNotes.map(({ note }) => note)];
  return notes.map((note) => `${modelKeyOf(model)}: ${note}`);
}

/**
 * The catalog that is bundled with the Worker.
 */
import type { Catalog, CatalogModel, Transition } from './model.ts';
import models from './models.json' with { type: 'json' };
import transitions from './transitions.json' with { type: 'json' };

const VERSION = '2026-11-27';

export const BUILT_IN_CATALOG: Catalog = {
  version: VERSION,
  publishedAtMs: Date.parse(VERSION),
  models: models as CatalogModel[],
  transitions: transitions as Transition[],
};

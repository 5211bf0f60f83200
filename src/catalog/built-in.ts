/**
 * The catalog that is bundled with the Worker.
 */
import type { Catalog, CatalogModel, Transition } from './model.ts';
import models from './models.json' with { type: 'json' };
import transitions from './transitions.json' with { type: 'json' };

export const BUILT_IN_CATALOG: Catalog = {
  version: '2026-11-20',
  publishedAtMs: Date.UTC(2026, 10, 20),
  models: models as CatalogModel[],
  transitions: transitions as Transition[],
};

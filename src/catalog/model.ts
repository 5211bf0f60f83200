/**
 * The shape of the model catalog: facts about real models, each with its source.
 *
 * The facts themselves are described in `src/contract/catalog.ts`, because operators publish them. Prices are in USD
 * per million tokens as vendors publish them; `prices.ts` turns them into exact rates. An absent capability, limit or
 * price means unknown, never none. `README.md` beside this file describes the data and the origin of each field.
 */
import type { CatalogModel, Transition } from '../contract/catalog.ts';

export type {
  CatalogModel,
  CatalogPricing,
  CatalogRates,
  Lifecycle,
  Provider,
  Transition,
} from '../contract/catalog.ts';

export interface Catalog {
  /** Date-like label of the release. */
  version: string;
  publishedAtMs: number;
  models: readonly CatalogModel[];
  /** Lifecycle changes, past and announced, by date. */
  transitions: readonly Transition[];
  /** In use because the published catalog, which may differ, cannot be read. */
  standsIn?: true;
  /** Unconfirmed shutdown dates from a deployment's lists, by the key of the model. */
  reportedEnds?: ReadonlyMap<string, readonly ReportedEnd[]>;
}

/** A shutdown date that sources name and the catalog lacks, or has with another day. */
export interface ReportedEnd {
  modelKey: string;
  /** Day of the shutdown. */
  shutdownAt: string;
  /** The catalog's own date. */
  ours: string | null;
  /** The names of the sources, the newest first. */
  reportedBy: string[];
}

/** `provider/model`: the name of a model in every answer. */
export function modelKeyOf(model: Pick<CatalogModel, 'provider' | 'model'>): string {
  return `${model.provider}/${model.model}`;
}

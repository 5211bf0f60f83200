/**
 * The shape of the model catalog: facts about real models, each with its source.
 *
 * The facts themselves are described in `src/contract/catalog.ts`, because operators publish them. Prices are in USD
 * per million tokens as vendors publish them; `prices.ts` turns them into exact rates. An absent capability, limit or
 * price means unknown, never none. The data and how each field was derived are described in `README.md` beside this
 * file.
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
  /** In use because the published catalog, which may say otherwise, cannot be read. */
  standsIn?: true;
  /** What a deployment's lists say of ends, and nobody has confirmed, by the key of the model. */
  reportedEnds?: ReadonlyMap<string, readonly ReportedEnd[]>;
}

/** An end that sources name, and the catalog does not have, or has on another day. */
export interface ReportedEnd {
  modelKey: string;
  /** Day of the shutdown. */
  shutdownAt: string;
  /** The catalog's own. */
  ours: string | null;
  /** As each source is named, the newest first. */
  reportedBy: string[];
}

/** `provider/model`: the name of a model in every answer. */
export function modelKeyOf(model: Pick<CatalogModel, 'provider' | 'model'>): string {
  return `${model.provider}/${model.model}`;
}

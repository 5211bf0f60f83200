/**
 * Resolves the model that a line of a batch names to the vendor's own name. A batch runs at one vendor, so a line whose
 * model is at another cannot run.
 *
 * `service/<mapping>` means the first model of the mapping that is at the vendor, not retired, and open to the API key.
 * A bare name that the catalog does not know passes unchanged, because the vendor may know it.
 */
import type { Catalog } from '../../catalog/model.ts';
import type { OrganizationConfig } from '../../config/credentials.ts';
import { MODEL_NAME_LENGTH_MAX } from '../../contract/gateway/requests.ts';
import type { Caller } from '../../metering/caller.ts';
import { keyModelLimit, type ModelLimit } from '../../metering/key-limits.ts';
import { candidatesFor, type NamedModel } from '../../metering/model-names.ts';
import { BoundedMap } from '../../platform/bounded-map.ts';
import { modelNotFound } from '../models.ts';
import { BATCH_VENDOR } from '../pass-through.ts';
import { retiredAt } from '../retired.ts';

/** The vendor's name, or the rule that the line breaks. */
export type LineModel = { model: string } | { rule: string };

/** The most names whose meaning is remembered; most files name a few. */
const NAMES_MAX = 1_000;

export class LineModels {
  readonly #organization: OrganizationConfig;
  readonly #limit: ModelLimit | null;
  readonly #catalog: Catalog;
  readonly #nowMs: number;
  readonly #known = new BoundedMap<string, LineModel>(NAMES_MAX);

  constructor(caller: Pick<Caller, 'organization' | 'limits'>, catalog: Catalog, nowMs: number) {
    this.#organization = caller.organization;
    this.#limit = keyModelLimit(caller, catalog, nowMs);
    this.#catalog = catalog;
    this.#nowMs = nowMs;
  }

  of(name: string): LineModel {
    if (name.length > MODEL_NAME_LENGTH_MAX)
      return { rule: `names a model with more than ${MODEL_NAME_LENGTH_MAX} characters` };
    const model = this.#known.get(name) ?? this.#find(name);
    this.#known.set(name, model);
    return model;
  }

  #find(name: string): LineModel {
    const candidates = candidatesFor(this.#organization, this.#catalog, name, this.#nowMs);
    // A batch is not downgraded: its lines run as they are.
    const named = candidates.filter(({ onDowngrade }) => !onDowngrade);
    const atVendor = named.filter(({ provider }) => provider === BATCH_VENDOR);
    const closed = atVendor.map((one) => this.#closedRule(name, one));
    const there = atVendor.filter((_, index) => closed[index] === null);
    const retired = there.map((one) => retiredAt(this.#organization, this.#catalog, one, this.#nowMs));
    const found = there.find((_, index) => retired[index] === null);
    if (found) return { model: found.model };
    if (there.length === 0 && closed[0]) return closed[0];
    if (retired[0]) return { rule: `cannot run: ${retired[0].refusal.message}` };
    if (named.length > 0) {
      const elsewhere = [...new Set(named.map(({ provider }) => provider))].join(', ');
      return {
        rule: `cannot run: the model ${JSON.stringify(name)} is at ${elsewhere}, and batches run at ${BATCH_VENDOR}`,
      };
    }
    if (name.includes('/')) return { rule: `cannot run: ${modelNotFound(name).refusal.message}` };
    return this.#closedRule(name, { provider: BATCH_VENDOR, model: name }) ?? { model: name };
  }

  /** The rule that a line breaks if the API key does not open its model. */
  #closedRule(name: string, model: NamedModel): { rule: string } | null {
    if (!this.#limit || this.#limit.open.allows(name, model)) return null;
    return { rule: `cannot run: ${this.#limit.refuse(name, 'file').refusal.message}` };
  }
}

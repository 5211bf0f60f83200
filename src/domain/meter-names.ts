/**
 * The name of a meter for people: the same on every page, in sentences about events, and in the widget.
 *
 * The plan names its custom meters. The operator API, its documents and the command line use the names of the fields.
 */
import { METERS, type MeterName } from './meters.ts';
import type { Plan } from './plan.ts';

const NAMES: Readonly<Record<MeterName, string>> = {
  standardCalls: 'Standard calls',
  premiumCalls: 'Premium calls',
  standardTokens: 'Standard tokens',
  premiumTokens: 'Premium tokens',
  searches: 'Searches',
  audioSeconds: 'Audio seconds',
  agenticApi: 'Agentic API',
  customMeter1: 'Custom meter 1',
  customMeter2: 'Custom meter 2',
};

/** What names a meter: a plan, or the label that a plan gave to it. */
type Naming = Pick<Plan, 'customMeters'> | string | null | undefined;

/** The plan's label of a custom meter; `null` for other meters, and if the plan has no label of its own. */
export function meterLabel(plan: Pick<Plan, 'customMeters'>, meter: MeterName): string | null {
  const { slot } = METERS[meter];
  const label = slot === null ? undefined : plan.customMeters[slot]?.label;
  return label === undefined || label === slot ? null : label;
}

/** The name as a heading: the label, or else the name that the meter has under every plan. */
export function meterTitle(meter: MeterName, naming?: Naming): string {
  const label = naming && typeof naming === 'object' ? meterLabel(naming, meter) : naming;
  return !label || label === METERS[meter].slot ? NAMES[meter] : label;
}

/** The name inside a sentence: the product's own names lose their capital letter, a label stays as it is. */
export function meterInText(meter: MeterName, naming?: Naming): string {
  const title = meterTitle(meter, naming);
  return title === NAMES[meter] ? title.charAt(0).toLowerCase() + title.slice(1) : title;
}

/**
 * Asks for the usage of a stream if its caller did not, unless the vendor refuses the field.
 *
 * After a refusal that names `stream_options`, the vendor is asked once more without it. If that helps, the vendor is
 * not asked for the usage again.
 */
import { BoundedMap } from '../platform/bounded-map.ts';
import { remember } from '../platform/isolate-memory.ts';
import type { PassingResult, WholeResult } from '../vendors/request.ts';

/** The most vendors, each of one organization, that an isolate remembers to refuse the field. */
const REFUSING_VENDORS_MAX = 1_000;

const refusing = remember(() => new BoundedMap<string, true>(REFUSING_VENDORS_MAX));

/** A vendor's result, and whether it was asked for the usage of a stream whose caller did not ask for it. */
export interface AskedResult {
  result: WholeResult | PassingResult;
  addsUsage: boolean;
}

/** `send` makes the request; `vendor` names the vendor of an organization. */
export async function askedForUsage(
  vendor: string,
  addsUsage: boolean,
  send: (asksUsage: boolean) => Promise<AskedResult['result']>,
): Promise<AskedResult> {
  if (!addsUsage || refusing.value.has(vendor)) return { result: await send(false), addsUsage: false };
  const result = await send(true);
  if (!refusesField(result)) return { result, addsUsage: true };
  const again = await send(false);
  if (again.kind === 'passing' || (again.kind === 'answer' && again.ok)) refusing.value.set(vendor, true);
  return { result: again, addsUsage: false };
}

function refusesField(result: AskedResult['result']): boolean {
  if (result.kind !== 'answer' || (result.status !== 400 && result.status !== 422)) return false;
  return typeof result.body === 'string' && result.body.includes('stream_options');
}

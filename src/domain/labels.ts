/**
 * The labels of a call or an increment: the customer's user who asked, and the purpose. They travel together from the
 * request to the record, and decide nothing.
 */

export interface Labels {
  customerUserId?: string | undefined;
  customerUserName?: string | undefined;
  customerUserEmail?: string | undefined;
  feature?: string | undefined;
  tags?: string[] | undefined;
}

const LABELS: Record<keyof Labels, true> = {
  customerUserId: true,
  customerUserName: true,
  customerUserEmail: true,
  feature: true,
  tags: true,
};
const NAMES = Object.keys(LABELS) as (keyof Labels)[];

/** Splits the labels off a request. The type of the rest has none, so that a caller can check that it used everything. */
export function takeLabels<Fields extends Labels>(
  fields: Fields,
): { labels: Required<Labels>; rest: Omit<Fields, keyof Labels> } {
  const rest: Partial<Fields> = { ...fields };
  for (const name of NAMES) delete rest[name];
  const labels = Object.fromEntries(NAMES.map((name) => [name, fields[name]]));
  return { labels: labels as unknown as Required<Labels>, rest: rest as Omit<Fields, keyof Labels> };
}

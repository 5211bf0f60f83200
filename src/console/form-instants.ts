/**
 * The times of a filter, `from` and `to`: as a form's fields show them, in UTC without zone and seconds, and as the contract
 * takes them.
 */

type Asked = Record<string, string | undefined>;

const NAMES = ['from', 'to'] as const;

/** Those that are typed in a form, as instants. */
export function instantsOf(asked: Asked): Record<string, string> {
  const instants = NAMES.flatMap((name) => {
    const value = asked[name] ?? '';
    return /^\d{4}-\d\d-\d\dT\d\d:\d\d$/.test(value) ? [[name, `${value}:00Z`] as const] : [];
  });
  return Object.fromEntries(instants);
}

/** An instant as a form's field shows it. */
export function instantFields(asked: Asked): Record<string, string> {
  const fields = NAMES.flatMap((name) => {
    const atMs = Date.parse(instantsOf(asked)[name] ?? asked[name] ?? '');
    return Number.isNaN(atMs)
      ? []
      : [[name, new Date(atMs).toISOString().slice(0, 'yyyy-mm-ddThh:mm'.length)] as const];
  });
  return Object.fromEntries(fields);
}

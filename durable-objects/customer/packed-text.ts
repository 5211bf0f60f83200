/**
 * JSON texts that differ little from each other, packed: a text is stored as its differences from a similar one, its form.
 *
 * A packed text is `1:`, the form's id, and a line for each value that is not what the form leads to expect. It gives the
 * same text again, byte for byte; a text that it would not give again is not packed. The number is the version of this
 * format: a later one keeps the reader of each version before. No JSON text begins like that.
 *
 * Texts come from `JSON.stringify`, which writes no space between values and no line break in one.
 */

/** A text that others are compared with, and the id of its call, in whose place another text has the id of its own. */
export interface Form {
  id: number;
  callId: string;
  madeAtMs: number;
  text: Parsed;
  /** What each value of another text follows from. */
  sources: readonly Source[];
}

/** The values of a text, and what stands before each of them and after the last. */
interface Parsed {
  values: readonly string[];
  between: readonly string[];
}

/**
 * What a value is expected to be: that of the form; the id of the call; that at an earlier place; or what follows from the
 * values before it, as an answer has them: a meter's `used` and `ratio` from what remains, nano-USD from USD.
 */
type Source = 'form' | 'call' | number | keyof typeof DERIVED;

const DERIVED = {
  used: (before: readonly string[]) => String(numberAt(before, -1) - numberAt(before, -2)),
  ratio: (before: readonly string[]) => String(numberAt(before, -4) / numberAt(before, -3)),
  nano: (before: readonly string[]) => `"${Math.round(numberAt(before, -1) * 1e9)}"`,
};

const PACKED = /^1:(\d+)(?:\n|$)/;
const VALUE = /"[^"\\]*(?:\\.[^"\\]*)*":?|-?\d[\d.eE+-]*|true|false|null/g;
const ISO_TIME = /^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"$/;
/** A shorter value is not looked for at earlier places: it is the same by chance. */
const REPEATED_LENGTH_MIN = 3;

export function parseText(text: string): Parsed {
  const values: string[] = [];
  const between: string[] = [];
  let from = 0;
  for (const { 0: token, index } of text.matchAll(VALUE)) {
    if (token.endsWith('":')) continue;
    between.push(text.slice(from, index));
    values.push(token);
    from = index + token.length;
  }
  between.push(text.slice(from));
  return { values, between };
}

export function buildForm({ text, ...form }: Omit<Form, 'text' | 'sources'> & { text: string }): Form {
  const parsed = parseText(text);
  return {
    ...form,
    text: parsed,
    sources: parsed.values.map((_, place) => sourceAt(parsed.values, place, form.callId)),
  };
}

function sourceAt(values: readonly string[], place: number, callId: string): Source {
  const value = values[place] ?? '';
  if (value === JSON.stringify(callId)) return 'call';
  const before = values.slice(0, place);
  for (const [name, derive] of Object.entries(DERIVED)) {
    if (derive(before) === value) return name as keyof typeof DERIVED;
  }
  const isWord = value === 'true' || value === 'false' || value === 'null';
  const earlier = isWord || value.length < REPEATED_LENGTH_MIN ? -1 : before.indexOf(value);
  return earlier < 0 ? 'form' : earlier;
}

/** The packed text; `null` if the form has other members. */
export function packText(form: Form, { values, between }: Parsed, callId: string): string | null {
  if (between.length !== form.text.between.length) return null;
  if (!between.every((piece, place) => piece === form.text.between[place])) return null;
  let packed = `1:${form.id}`;
  let next = 0;
  for (const [place, value] of values.entries()) {
    if (value === expected(form, values, place, callId)) continue;
    packed += `\n${(place - next).toString(36)}${change(value, form.text.values[place] ?? '')}`;
    next = place + 1;
  }
  return packed;
}

/** The id of the form that a packed text needs; `null` if the text is not packed. */
export function formIdOf(packed: string): number | null {
  const id = PACKED.exec(packed)?.[1];
  return id === undefined ? null : Number(id);
}

export function unpackText(form: Form, packed: string, callId: string): string {
  const changed = new Map<number, string>();
  let next = 0;
  for (const line of packed.split('\n').slice(1)) {
    const { 0: sign, index } = /[=@]/.exec(line) ?? { 0: '', index: 0 };
    const place = next + Number.parseInt(line.slice(0, index), 36);
    changed.set(place, sign + line.slice(index + 1));
    next = place + 1;
  }
  const values: string[] = [];
  for (const [place, own] of form.text.values.entries()) {
    const change = changed.get(place);
    values.push(change === undefined ? expected(form, values, place, callId) : changedTo(change, own));
  }
  const { between } = form.text;
  return between.map((piece, place) => piece + (values[place] ?? '')).join('');
}

/** What the value at a place is expected to be, by those before it. */
function expected({ sources, text }: Form, values: readonly string[], place: number, callId: string): string {
  const source = sources[place] ?? 'form';
  if (source === 'form') return text.values[place] ?? '';
  if (source === 'call') return JSON.stringify(callId);
  if (typeof source === 'number') return values[source] ?? '';
  return DERIVED[source](values.slice(Math.max(0, place - 4), place));
}

/** A time as its distance from the form's, any other value as it is. */
function change(value: string, own: string): string {
  const distance = ISO_TIME.test(value) && ISO_TIME.test(own) ? timeIn(value) - timeIn(own) : Number.NaN;
  const written = `@${distance.toString(36)}`;
  // A text of this form may be no time, as the 30th of February is none.
  return Number.isNaN(distance) || changedTo(written, own) !== value ? `=${value}` : written;
}

function changedTo(change: string, own: string): string {
  const written = change.slice(1);
  if (change.startsWith('=')) return written;
  return JSON.stringify(new Date(timeIn(own) + Number.parseInt(written, 36)).toISOString());
}

const timeIn = (value: string) => Date.parse(JSON.parse(value) as string);

/** The number at a place from the end; no number if there is none. */
function numberAt(values: readonly string[], place: number): number {
  const value = values.at(place);
  return value === undefined || !/^[-\d]/.test(value) ? Number.NaN : Number(value);
}

/**
 * The submitted form: its fields as they were typed, and the idempotency key of the submission.
 *
 * A form that is submitted twice with the same content has the same idempotency key, so it takes effect once. Other
 * content of the same page, after a step back in the browser, has another key.
 */
import type { z } from 'zod';
import { type Detail as Broken, brokenRules, type Refusal } from '../contract/errors.ts';
import type { Operation } from '../contract/operations.ts';
import { canonicalJson } from '../domain/canonical.ts';
import type { OperatorRequest } from '../operator/change.ts';
import { keySpaceOf } from '../operator/identity.ts';
import { sha256Hex } from '../platform/hash.ts';
import type { FormState } from '../ui/form.tsx';
import type { ConsoleContext, Fields, Submitted } from './context.ts';

const NONCE = /^[\w-]{8,64}$/;
/** Digits of the content's hash in the idempotency key. */
const HASH_DIGITS = 24;

/** Reads the fields of a form. Line ends become `\n`. */
export async function submittedIn(data: FormData): Promise<Submitted & { csrf: string }> {
  // Without a prototype, because a field may have any name.
  const fields: Fields = Object.create(null);
  const files: Record<string, string> = Object.create(null);
  for (const name of new Set(data.keys())) {
    const values = data.getAll(name) as (string | File)[];
    const texts = values.filter((item) => typeof item === 'string').map((text) => text.replaceAll('\r\n', '\n'));
    if (texts.length > 0) fields[name] = texts.length === 1 ? (texts[0] ?? '') : texts;
    const file = values.find((item) => typeof item !== 'string');
    if (file && file.size > 0) files[name] = await file.text();
  }
  const nonce = text(fields, 'nonce');
  return { fields, files, csrf: text(fields, 'csrf'), nonce: NONCE.test(nonce) ? nonce : crypto.randomUUID() };
}

/** The text of a field, trimmed; empty where there is none. */
export function text(fields: Fields, name: string): string {
  const value = fields[name];
  return (typeof value === 'string' ? value : (value?.[0] ?? '')).trim();
}

/** The text of a field, or nothing where it is empty. */
export function optionalText(fields: Fields, name: string): string | undefined {
  return text(fields, name) || undefined;
}

export function texts(fields: Fields, name: string): string[] {
  const value = fields[name];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

/** The lines that are not empty. */
export function lines(fields: Fields, name: string): string[] {
  return text(fields, name)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** A number as people type it (`1,000`); the text where it is not a number; `undefined` where the field is empty. */
export function typedNumber(fields: Fields, name: string): number | string | undefined {
  const typed = text(fields, name);
  if (typed === '') return undefined;
  const number = Number(typed.replaceAll(/(?<=\d)[,_ ](?=\d{3}(\D|$))/g, ''));
  return Number.isNaN(number) ? typed : number;
}

export function isChecked(fields: Fields, name: string): boolean {
  return text(fields, name) === 'on';
}

/**
 * A change by the operator who is signed in. PUT and PATCH set a value and need no key: a repeated submission sets it
 * again, because it may have changed since. Other changes have the idempotency key of the submission.
 */
export async function operatorRequest(
  c: ConsoleContext,
  { operationId, method }: Pick<Operation, 'operationId' | 'method'>,
  input: unknown,
): Promise<OperatorRequest> {
  const repeatable = method === 'PUT' || method === 'PATCH';
  const { operator, by } = c.get('session');
  return {
    env: c.env,
    actor: operator.name,
    correlationId: c.get('correlationId'),
    idempotencyKey: repeatable ? null : await submissionKey(c.get('submitted'), input),
    operationId: by === 'access' ? keySpaceOf(operationId, operator) : operationId,
    input,
  };
}

async function submissionKey({ nonce }: Submitted, input: unknown): Promise<string> {
  const hash = await sha256Hex(canonicalJson(input));
  return `console-${nonce}-${hash.slice(0, HASH_DIGITS)}`;
}

/** Validates the fields with a schema. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): { ok: true; value: z.output<Schema> } | { ok: false; details: Broken[] } {
  const parsed = schema.safeParse(input);
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, details: brokenRules(parsed.error) };
}

/** The state of a form that is shown again with its errors. */
export function wrong(c: ConsoleContext, details: readonly Broken[]): FormState {
  return { values: c.get('submitted').fields, details };
}

/** A refusal's details, each with its field; the whole message where there are none. */
export function detailsOf({ message, members }: Refusal): Broken[] {
  const listed = members?.details ?? [];
  if (listed.length > 0) return [...listed];
  const [, path, rule] = /^([A-Za-z][\w.]*): (.+)$/s.exec(message) ?? [];
  return [path !== undefined && rule !== undefined ? { path, message: rule } : { path: '', message }];
}

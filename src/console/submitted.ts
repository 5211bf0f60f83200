/**
 * The submitted form: its fields exactly as submitted, and the id of the submission.
 */
import type { z } from 'zod';
import { type Detail as Broken, brokenRules } from '../contract/errors.ts';
import type { Fields, Submitted } from './context.ts';

const NONCE = /^[\w-]{8,64}$/;

/** Reads the fields of a form. Line breaks become `\n`. */
export async function submittedIn(data: FormData): Promise<Submitted & { csrf: string }> {
  // The object has no prototype, because a field may have any name.
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

/** The text of a field, trimmed; empty if there is none. */
export function text(fields: Fields, name: string): string {
  const value = fields[name];
  return (typeof value === 'string' ? value : (value?.[0] ?? '')).trim();
}

/** The text of a field, or nothing if it is empty. */
export function optionalText(fields: Fields, name: string): string | undefined {
  return text(fields, name) || undefined;
}

export function texts(fields: Fields, name: string): string[] {
  const value = fields[name];
  return value === undefined ? [] : typeof value === 'string' ? [value] : value;
}

/** The lines of a field, without empty ones. */
export function lines(fields: Fields, name: string): string[] {
  return text(fields, name)
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The number of a field; `undefined` if the field is empty. */
export function typedNumber(fields: Fields, name: string): number | string | undefined {
  const typed = text(fields, name);
  return typed === '' ? undefined : numberIn(typed);
}

/** The number in a text such as `1,000`; the text itself if it is no number. */
export function numberIn(typed: string): number | string {
  const number = Number(typed.replaceAll(/(?<=\d)[,_ ](?=\d{3}(\D|$))/g, ''));
  return Number.isNaN(number) ? typed : number;
}

export function isChecked(fields: Fields, name: string): boolean {
  return text(fields, name) === 'on';
}

/** Validates the fields with a schema. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
): { ok: true; value: z.output<Schema> } | { ok: false; details: Broken[] } {
  const parsed = schema.safeParse(input);
  return parsed.success ? { ok: true, value: parsed.data } : { ok: false, details: brokenRules(parsed.error) };
}

/**
 * The flags of a command, made from the contract's schemas: `defaultPlanId` is `--default-plan-id`, and the contract's
 * description is its help. Lists are comma-separated or repeated; `null` clears a nullable field. Nested structures are
 * passed as a JSON document instead.
 */
import type { z } from 'zod';
import { type InputField, inputFields } from '../contract/input-fields.ts';
import { UsageError } from './usage-error.ts';

export interface Flag {
  name: string;
  /** The field that the flag sets. */
  field: string;
  kind: InputField['kind'];
  nullable: boolean;
  required: boolean;
  help: string;
}

export function buildFlags(schema: z.ZodType | undefined): Flag[] {
  if (!schema) return [];
  return inputFields(schema).map(({ path, kind, nullable, required, choices, description }) => {
    const values = kind === 'boolean' ? ['true', 'false'] : choices;
    const help = [description, values && `(${values.join(', ')})`, required && '(required)'].filter(Boolean).join(' ');
    return { name: kebab(path), field: path, kind, nullable, required, help };
  });
}

/** The options for `parseArgs`. */
export function parseOptions(flags: Flag[]): Record<string, { type: 'string'; multiple: boolean }> {
  return Object.fromEntries(flags.map(({ name, kind }) => [name, { type: 'string', multiple: isList(kind) }]));
}

/** The fields that the command line sets. Throws if one is missing or invalid. */
export function readFlags(flags: Flag[], values: Record<string, unknown>): Record<string, unknown> {
  const missing = flags.filter(({ name, required }) => required && values[name] === undefined);
  if (missing.length > 0) throw new UsageError(`${missing.map(({ name }) => `--${name}`).join(', ')} is required`);
  const given = flags.filter(({ name }) => values[name] !== undefined);
  return Object.fromEntries(given.map((flag) => [flag.field, readFlag(flag, values[flag.name])]));
}

function readFlag({ name, kind, nullable }: Flag, value: unknown): unknown {
  if (nullable && value === 'null') return null;
  if (isList(kind)) {
    const parts = (value as string[])
      .flatMap((part) => part.split(','))
      .map((part) => part.trim())
      .filter(Boolean);
    if (nullable && parts.length === 1 && parts[0] === 'null') return null;
    return kind === 'list' ? parts : parts.map((part) => parseNumberFlag(name, part));
  }
  if (kind === 'text') return value;
  if (kind === 'boolean') {
    if (value !== 'true' && value !== 'false') throw new UsageError(`--${name} must be true or false`);
    return value === 'true';
  }
  return parseNumberFlag(name, value);
}

const isList = (kind: Flag['kind']) => kind === 'list' || kind === 'numbers';

function parseNumberFlag(name: string, value: unknown): number {
  const number = Number(value);
  if (value === '' || !Number.isFinite(number)) throw new UsageError(`--${name} must be a number`);
  return number;
}

function kebab(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

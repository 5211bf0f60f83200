/**
 * What travels, typed from the contract's own schemas: nothing here is written by hand, and nothing is left at run
 * time.
 *
 * The published declarations must not need zod, so the build (`src/cli/client-types.ts`) writes the same names out as
 * plain interfaces; `test/unit/client-types.test.ts` proves the two equal.
 */
import type { z } from 'zod';
import type { Transition } from '../contract/catalog.ts';
import type { FullResolution, LightResolution, LookupQuery } from '../contract/model-lookup.ts';
import type { Operation, operations } from '../contract/operations.ts';

type Operations = typeof operations;

/** Operations with an API key's security. */
type KeyedId = {
  [Id in keyof Operations]: Operations[Id]['security']['kind'] extends 'apiKey' ? Id : never;
}[keyof Operations];

type Flat<T> = { [K in keyof T]: T[K] };

type ParamsOf<O> = O extends { params: infer Schema extends z.ZodType } ? z.input<Schema> : unknown;

/** A query is sent as text and coerced: which members may be absent is the input's matter, their types the output's. */
type QueryOf<O> = O extends { query: infer Schema extends z.ZodObject } ? Sendable<Schema> : unknown;
type Sendable<Schema extends z.ZodObject> = {
  [K in keyof z.input<Schema>]: K extends keyof z.output<Schema>
    ? Exclude<z.output<Schema>[K], undefined> | AbsentIn<z.input<Schema>, K>
    : never;
};
/** `undefined` where the member may be absent: what is undefined is not sent. */
type AbsentIn<T, K extends keyof T> = Partial<Pick<T, K>> extends Pick<T, K> ? undefined : never;

/** Without the preprocessing that takes other spellings, and without the deprecated name of the key. */
type BodyOf<O> = O extends { body: infer Schema extends z.ZodType }
  ? Omit<z.input<Strict<Schema>>, 'idempotency'>
  : unknown;
type Strict<Schema> = Schema extends z.ZodPreprocess<infer Inner> ? Inner : Schema;

/** What each operation is asked with: path, query and body in one object. */
export type Inputs = {
  [Id in KeyedId]: Flat<ParamsOf<Operations[Id]> & QueryOf<Operations[Id]> & BodyOf<Operations[Id]>>;
};

/** What each operation answers: the `data` of its envelope. */
export type Answers = {
  [Id in KeyedId]: Operations[Id] extends infer O extends Operation ? z.output<O['data']> : never;
};

export type BeginCallInput = Inputs['beginCall'];
export type BeginCallData = Answers['beginCall'];
export type EndCallInput = Inputs['endCall'];
export type EndCallData = Answers['endCall'];
export type Allowed = BeginCallData['allowed'];
export type Hints = BeginCallData['entitlementHints'];

/** Every parameter may be left to its default. */
export type LookUpQuery = {
  [K in keyof z.output<typeof LookupQuery>]?: z.output<typeof LookupQuery>[K] | undefined;
};
export type FullModelResolution = FullResolution;
export type LightModelResolution = LightResolution;
export type ModelTransition = Transition;

/**
 * The types of requests and responses, inferred from the contract's schemas. None of them is written by hand, and none
 * exists at run time.
 *
 * The published declarations must not depend on zod, so the build (`src/cli/client-types.ts`) writes the same types as
 * plain interfaces; `test/unit/client-types.test.ts` proves both equal.
 */
import type { z } from 'zod';
import type { Transition } from '../contract/catalog.ts';
import type { FullResolution, LightResolution, LookupQuery } from '../contract/model-lookup.ts';
import type { Operation, operations } from '../contract/operations.ts';
import type { CallId, CustomerId, KeyId, OrganizationId } from '../domain/ids.ts';

type Operations = typeof operations;

/** Operations that take an API key. */
type KeyedId = {
  [Id in keyof Operations]: Operations[Id]['security']['kind'] extends 'apiKey' ? Id : never;
}[keyof Operations];

type Flat<T> = { [K in keyof T]: T[K] };

type ParamsOf<O> = O extends { params: infer Schema extends z.ZodType } ? z.input<Schema> : unknown;

/**
 * A query is sent as text and coerced: the schema's input decides whether a member is optional, its output decides the
 * type.
 */
type QueryOf<O> = O extends { query: infer Schema extends z.ZodObject } ? Sendable<Schema> : unknown;
type Sendable<Schema extends z.ZodObject> = {
  [K in keyof z.input<Schema>]: K extends keyof z.output<Schema>
    ? Unbranded<Exclude<z.output<Schema>[K], undefined>> | AbsentIn<z.input<Schema>, K>
    : never;
};
/** Ids are plain text to the client. */
type Unbranded<T> = T extends OrganizationId | CustomerId | CallId | KeyId
  ? string
  : T extends object
    ? { [K in keyof T]: Unbranded<T[K]> }
    : T;
/** `undefined` if the member is optional: undefined members are not sent. */
type AbsentIn<T, K extends keyof T> = Partial<Pick<T, K>> extends Pick<T, K> ? undefined : never;

/**
 * The body without the preprocessing that accepts other spellings, and without the deprecated name of the idempotency
 * key.
 */
type BodyOf<O> = O extends { body: infer Schema extends z.ZodType }
  ? Omit<z.input<Strict<Schema>>, 'idempotency'>
  : unknown;
type Strict<Schema> = Schema extends z.ZodPreprocess<infer Inner> ? Inner : Schema;

/** The input of each operation: path, query and body in one object. */
export type Inputs = {
  [Id in KeyedId]: Flat<ParamsOf<Operations[Id]> & QueryOf<Operations[Id]> & BodyOf<Operations[Id]>>;
};

/** The answer of each operation: `data` of its envelope. */
export type Answers = {
  [Id in KeyedId]: Operations[Id] extends infer O extends Operation ? Unbranded<z.output<O['data']>> : never;
};

export type BeginCallInput = Inputs['beginCall'];
export type BeginCallData = Answers['beginCall'];
export type EndCallInput = Inputs['endCall'];
export type EndCallData = Answers['endCall'];
export type Allowed = BeginCallData['allowed'];
export type Hints = BeginCallData['entitlementHints'];

/** Query of the model lookup; every parameter is optional. */
export type LookUpQuery = {
  [K in keyof z.output<typeof LookupQuery>]?: z.output<typeof LookupQuery>[K] | undefined;
};
export type FullModelResolution = FullResolution;
export type LightModelResolution = LightResolution;
export type ModelTransition = Transition;

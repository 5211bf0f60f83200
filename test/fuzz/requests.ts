/**
 * Generates requests from the contract's tables of operations: most are invalid somewhere, some are valid.
 */

import { MEDIA_TYPE } from '../../src/contract/envelope.ts';
import { gatewayOperations } from '../../src/contract/gateway/operations.ts';
import { LOOKUP_PATH, LookupQuery } from '../../src/contract/model-lookup.ts';
import { type Operation, operations } from '../../src/contract/operations.ts';
import type { Random } from '../crash/random.ts';
import { bodyText, HOSTILE_TEXTS, hostileText, hostileValue } from './hostile.ts';
import { brokenValue, type Pools, readShape, validValue } from './values.ts';

export interface FuzzRequest {
  /** The operation for which it is made; `lookup`, or `none` if it is for no route. */
  operationId: string;
  kind: 'metering' | 'operator' | 'gateway' | 'lookup' | 'none';
  method: string;
  /** With the query, as it travels. */
  path: string;
  /** Names and values in turn, so that a name may come twice. */
  headers: string[];
  body: Buffer | null;
}

/** The identities of requests, and the data that they meet. */
export interface Targets {
  /** A live key with all server scopes; others with fewer, or that are no longer valid. */
  apiKey: string;
  otherKeys: readonly string[];
  operatorToken: string;
  pools: Pools;
}

type Entry = Pick<Operation, 'operationId' | 'method' | 'path'> &
  Partial<Operation> & { kind: FuzzRequest['kind']; form?: true };

const entries: readonly Entry[] = [
  ...Object.values<Operation>(operations).map((operation): Entry => {
    return { ...operation, kind: operation.security.kind === 'operator' ? 'operator' : 'metering' };
  }),
  ...Object.values(gatewayOperations).map((operation): Entry => ({ ...operation, kind: 'gateway' }) as Entry),
];
const lookup: Entry = {
  operationId: 'lookup',
  method: 'GET',
  path: `${LOOKUP_PATH}/{modelKey}`,
  kind: 'lookup',
  query: LookupQuery as never,
};
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'];
const RAW_PATHS = [
  '/',
  '//',
  '/%',
  '/%zz',
  '/call_begin/',
  '/CALL_BEGIN',
  '/calls/',
  '/calls/%ff',
  '/calls/..%2fx',
  '/v1',
  '/operator',
  '/.env',
];
const LONG_PATH = 6_000;

const FORM_TYPE = 'multipart/form-data; boundary=part';
const FORM = Buffer.from(
  ['--part', 'Content-Disposition: form-data; name="purpose"', '', 'batch', '--part--', ''].join('\r\n'),
);

/** Shares of the changes to requests. */
const BREAK_BODY = 0.6;
const BREAK_PATH = 0.25;
const BREAK_HEADERS = 0.3;
const BREAK_BYTES = 0.06;

export function fuzzRequest(random: Random, targets: Targets): FuzzRequest {
  const entry = random.chance(0.08) ? lookup : random.pick(entries);
  if (random.chance(0.01)) return stray(random, targets);
  const pools = entry.kind === 'operator' ? targets.pools : { ...targets.pools, org: ['none'] };
  return {
    operationId: entry.operationId,
    kind: entry.kind,
    method: random.chance(0.02) ? random.pick(METHODS) : entry.method,
    path: fillPath(entry, random, pools) + queryOf(entry, random, pools),
    ...payloadOf(entry, random, targets, pools),
  };
}

function stray(random: Random, targets: Targets): FuzzRequest {
  const path = random.chance(0.8) ? random.pick(RAW_PATHS) : `/${'x'.repeat(LONG_PATH)}`;
  const headers = ['Authorization', `Bearer ${targets.apiKey}`, 'Accept', MEDIA_TYPE];
  return { operationId: 'none', kind: 'none', method: random.pick(METHODS), path, headers, body: null };
}

function fillPath({ path, params }: Entry, random: Random, pools: Pools): string {
  const shape = params ? (readShape(params).properties ?? {}) : {};
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (random.chance(BREAK_PATH)) return encoded(random.chance(0.05) ? 'p'.repeat(LONG_PATH) : hostileText(random));
    if (name === 'modelKey' && random.chance(0.5)) return String(validValue({}, random, { '': pools.modelKey ?? [] }));
    return encoded(String(validValue(shape[name] ?? { type: 'string' }, random, pools, name)));
  });
}

function queryOf({ query }: Entry, random: Random, pools: Pools): string {
  if (!query || random.chance(0.3)) return random.chance(0.02) ? '?%ff=%&&=&a[]=1&__proto__=x' : '';
  const value = validValue(readShape(query), random, pools) as Record<string, unknown>;
  const members = Object.entries(value ?? {}).map(([name, member]) => [
    name,
    typeof member === 'object' ? JSON.stringify(member) : String(member),
  ]);
  for (let broken = random.below(3); broken > 0; broken -= 1) {
    const names = Object.keys(readShape(query).properties ?? {});
    members.push([
      random.chance(0.8) && names.length > 0 ? random.pick(names) : hostileText(random),
      hostileText(random),
    ]);
  }
  return `?${members.map(([name, member]) => `${encoded(name ?? '')}=${encoded(member ?? '')}`).join('&')}`;
}

/** Percent-encoded, even if the text is not well-formed. */
function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    return '%ED%A0%80';
  }
}

function payloadOf(
  entry: Entry,
  random: Random,
  targets: Targets,
  pools: Pools,
): { headers: string[]; body: Buffer | null } {
  const headers: string[] = [];
  const add = (name: string, value: string) => headers.push(name, value);
  const bearer =
    entry.kind === 'operator'
      ? targets.operatorToken
      : random.chance(0.9)
        ? targets.apiKey
        : random.pick(targets.otherKeys);
  const broken = random.chance(BREAK_HEADERS);
  if (entry.kind !== 'lookup' && !(broken && random.chance(0.1))) {
    if (entry.kind !== 'operator' && random.chance(0.1)) add('x-api-key', bearer);
    else add('Authorization', `Bearer ${bearer}`);
  }
  if (!(broken && random.chance(0.1))) add('Accept', MEDIA_TYPE);
  if (entry.method === 'POST' && random.chance(0.5)) {
    add(
      'Idempotency-Key',
      random.chance(0.7)
        ? String(random.pick(targets.pools.idempotencyKey ?? ['key']))
        : headerText(hostileText(random)),
    );
  }
  const body = drawBody(entry, random, pools);
  if (body)
    add(
      'Content-Type',
      broken && random.chance(0.3)
        ? random.pick(['text/plain', 'application/xml', '', 'application/json; charset=utf-16'])
        : entry.form
          ? FORM_TYPE
          : 'application/json',
    );
  if (broken) breakHeaders(headers, random);
  return { headers, body };
}

function breakHeaders(headers: string[], random: Random): void {
  const name = random.pick([
    'Authorization',
    'Accept',
    'Content-Type',
    'Idempotency-Key',
    'x-usage-correlation-id',
    'x-api-key',
    'If-None-Match',
    'Origin',
  ]);
  switch (random.below(4)) {
    case 0:
      headers.push(name, headerText(hostileText(random)));
      return;
    case 1: // twice
      for (const value of ['one', 'two']) headers.push(name, value);
      return;
    case 2:
      headers.push(
        random.pick(['x-usage-customer-id', 'Content-Encoding', 'x-usage-sdk', 'x-forwarded-for', 'Range']),
        headerText(hostileText(random)),
      );
      return;
    default:
      headers.push(name, 'h'.repeat(random.pick([300, 4_000])));
  }
}

/** The characters that a header can carry. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e\xa0-\xff]/g, '?');
}

function drawBody(entry: Entry, random: Random, pools: Pools): Buffer | null {
  if (entry.form && !entry.body)
    return random.chance(0.1) ? null : random.chance(BREAK_BYTES) ? brokenBytes(FORM, random) : FORM;
  if (!entry.body) return random.chance(0.02) ? Buffer.from('{}') : null;
  if (random.chance(0.02)) return null;
  let value = validValue(readShape(entry.body), random, pools);
  if (random.chance(BREAK_BODY))
    for (let times = 1 + random.below(3); times > 0; times -= 1) value = brokenValue(value, random);
  if (random.chance(0.02))
    value = { ...(value as object), metadata: hostileValue(random), customer: hostileValue(random) };
  const bytes = entry.form ? encodeForm(value) : Buffer.from(bodyText(value));
  return random.chance(BREAK_BYTES) ? brokenBytes(bytes, random) : bytes;
}

/** The fields as parts of a form; file fields get some bytes. */
function encodeForm(value: unknown): Buffer {
  const fields = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  const parts = fields.flatMap(([name, field]) =>
    (Array.isArray(field) ? field : [field]).map((one) => {
      const file = /^(?:file|image|mask)$/.test(name) ? '; filename="a.wav"' : '';
      const text = typeof one === 'string' ? one : JSON.stringify(one);
      return `--part\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${text}\r\n`;
    }),
  );
  return Buffer.from(`${parts.join('')}--part--\r\n`);
}

function brokenBytes(bytes: Buffer, random: Random): Buffer {
  switch (random.below(6)) {
    case 0:
      return bytes.subarray(0, random.below(bytes.length + 1));
    case 1: {
      const copy = Buffer.from(bytes);
      if (copy.length > 0) copy[random.below(copy.length)] = 0xff;
      return copy;
    }
    case 2:
      return Buffer.concat([bytes, bytes]);
    case 3:
      return Buffer.from(`﻿${bytes.toString()}`);
    case 4:
      return Buffer.from(random.pick(HOSTILE_TEXTS), 'latin1');
    default:
      return Buffer.concat([bytes, Buffer.alloc(random.pick([70_000, 310_000]), 0x20)]);
  }
}

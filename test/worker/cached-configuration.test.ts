/**
 * Promise: once its configuration is cached, a call through the gateway asks nothing of D1 and KV in the Worker's
 * isolate, whatever customer it is for and whatever its answer looks like; it sends its begin and its end to the
 * customer's object, and only a key of the caller's own needs another object.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Env } from '../../src/env.ts';
import { HOUR_MS } from '../../src/platform/time.ts';
import { ask, completion, mockVendor, newTenant, usage, vendor } from '../support/gateway.ts';
import { bindings } from '../support/worker.ts';

mockVendor();
// However slow the machine is, nothing that is cached grows old.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

/** The bindings, noting each call of a method of a database, of KV, or of a namespace of objects that calls use. */
function watched(): { env: Env; asked: string[] } {
  const asked: string[] = [];
  const noting = <Binding extends object>(name: string, binding: Binding): Binding =>
    new Proxy(binding, {
      get(target, method) {
        const value: unknown = Reflect.get(target, method, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          asked.push(`${name}.${String(method)}`);
          return Reflect.apply(value, target, args);
        };
      },
    });
  const names = Object.keys(bindings).filter((name): name is 'DB' | 'KV' | 'CUSTOMERS' =>
    /^(?:DB(?:_\d+)?|KV|CUSTOMERS|CALL_DIRECTORY|PROJECTORS)$/.test(name),
  );
  const stores = Object.fromEntries(names.map((name) => [name, noting(name, bindings[name])]));
  return { env: { ...bindings, ...stores, CONFIG_TTL_MS: HOUR_MS }, asked };
}

const chunk = (more: object) =>
  `data: ${JSON.stringify({ object: 'chat.completion.chunk', model: 'gpt-5.2', choices: [], ...more })}\n\n`;
const STREAM = `${chunk({ choices: [{ index: 0, delta: { content: 'hi' } }] })}${chunk({
  choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
})}${chunk({ usage })}data: [DONE]\n\n`;

const CUSTOMER = 'CUSTOMERS.getByName';
const CLAIM = 'CALL_DIRECTORY.getByName';
const KEY = { 'Idempotency-Key': 'once' };

const REQUESTS: Record<string, { body?: object; headers?: Record<string, string>; asks: string[] }> = {
  'the same request': { asks: [CUSTOMER, CUSTOMER] },
  'a stream': { body: { stream: true }, asks: [CUSTOMER, CUSTOMER] },
  'a new customer': { headers: { 'x-usage-customer-id': 'newcomer' }, asks: [CUSTOMER, CUSTOMER] },
  "a request under its caller's key": { headers: KEY, asks: [CLAIM, CUSTOMER, CUSTOMER] },
  'its retry': { headers: KEY, asks: [CLAIM, CUSTOMER, CLAIM] },
};

test('a call needs nothing of D1 and KV in the Worker once its configuration is cached', async () => {
  vendor.answers = (_url, body) =>
    body.stream === true
      ? new Response(STREAM, { headers: { 'Content-Type': 'text/event-stream' } })
      : Response.json(completion(body.model));
  const { key } = await newTenant();
  const { env, asked } = watched();
  const call = async (body: object = {}, headers?: Record<string, string>) => {
    asked.length = 0;
    const { response, rest } = await ask(key, body, env, undefined, headers);
    const text = await response.text();
    await rest();
    return { status: response.status, text, asked: [...asked] };
  };
  const first = await call();
  expect(first.asked.map((method) => method.split('.')[0])).toEqual(expect.arrayContaining(['DB', 'KV']));
  for (const [name, { body, headers, asks }] of Object.entries(REQUESTS)) {
    const made = await call(body, headers);
    expect([made.status, made.asked], `${name}: ${made.text}`).toEqual([200, asks]);
  }
});

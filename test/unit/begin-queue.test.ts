/**
 * Promise: as many begins wait in an isolate as its bound says, and one more is refused before it is read; a few start in
 * each turn of the event loop; the wait for a vendor is not in the queue.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { admitBegin, beginQueue, inBeginQueue } from '../../src/admission/begin-queue.ts';
import { callsUnderWay, countUnderWay } from '../../src/admission/calls-under-way.ts';
import { asCustomerId, asOrganizationId } from '../../src/domain/ids.ts';
import { forgetAll } from '../../src/platform/isolate-memory.ts';

const WAITING_MAX = 2_048;
const CUSTOMERS = 10;

beforeEach(forgetAll);

const customer = (index: number) => ({
  organizationId: asOrganizationId('org'),
  customerId: asCustomerId(`customer-${index % CUSTOMERS}`),
});

/** Begins of several customers whose objects answer when `answer` is called. */
function begin(count: number) {
  const { promise, resolve } = Promise.withResolvers<{ ok: true }>();
  const begun = Array.from({ length: count }, (_, index) =>
    inBeginQueue(customer(index), (timed) => timed(() => promise)),
  );
  return { begun: Promise.all(begun), answer: () => resolve({ ok: true }) };
}

test('a begin beyond the bound of the isolate is refused before it is read, whoever its customer is', async () => {
  const { begun, answer } = begin(WAITING_MAX);
  expect(await admitBegin()).toMatchObject({
    ok: false,
    refusal: { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 },
  });
  let asked = 0;
  const one = await inBeginQueue(customer(1), async () => {
    asked += 1;
    return { ok: true };
  });
  expect(one).toMatchObject({ ok: false, refusal: { code: 'SERVICE_UNAVAILABLE' } });
  expect(asked).toBe(0);
  answer();
  expect((await begun).every(({ ok }) => ok)).toBe(true);
  expect(await admitBegin()).toBeNull();
});

test('a begin leaves the queue when its object has answered, also with an error', async () => {
  const { begun, answer } = begin(1);
  expect(beginQueue(Date.now())).toMatchObject({ waiting: 1, oldestMs: expect.any(Number), refusedAtMs: null });
  answer();
  await begun;
  const broken = inBeginQueue(customer(0), (timed) => timed(() => Promise.reject(new Error('the object is away'))));
  await expect(broken).rejects.toThrow('away');
  expect(beginQueue(Date.now())).toEqual({ waiting: 0, oldestMs: null, refusedAtMs: null });
});

describe('while more vendors answer than can be read at once', () => {
  const MANY = 65;
  beforeEach(() => {
    for (let call = 0; call < MANY; call += 1) countUnderWay(new Promise(() => undefined));
  });

  test('begins start a few in a turn, first come first, and other events have their turn between', async () => {
    const started: (number | 'other')[] = [];
    const begins = Array.from({ length: 10 }, (_, index) => admitBegin().then(() => started.push(index)));
    const other = new Promise<void>((resolve) => void setTimeout(resolve, 0)).then(() => started.push('other'));
    expect(beginQueue(Date.now()).waiting).toBe(10);
    await Promise.all([...begins, other]);
    expect(started.filter((one) => one !== 'other')).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(started.indexOf('other')).toBeLessThanOrEqual(8);
    expect(beginQueue(Date.now()).waiting).toBe(0);
  });

  test('a begin beyond the bound of those that wait for their turn is refused at once', async () => {
    const begins = Array.from({ length: WAITING_MAX }, () => admitBegin());
    expect(await admitBegin()).toMatchObject({ ok: false, refusal: { code: 'SERVICE_UNAVAILABLE' } });
    expect(new Set(await Promise.all(begins))).toEqual(new Set([null]));
  });
});

test('no begin waits for its turn while few calls are under way, and none does after they have ended', async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const calls = Array.from({ length: 65 }, () => promise);
  for (const call of calls) countUnderWay(call);
  expect(callsUnderWay()).toBe(65);
  resolve();
  await Promise.all(calls);
  expect(callsUnderWay()).toBe(0);
  const order: string[] = [];
  const begins = Array.from({ length: 100 }, () => admitBegin().then(() => order.push('begin')));
  const other = new Promise<void>((later) => void setTimeout(later, 0)).then(() => order.push('other'));
  await Promise.all([...begins, other]);
  expect(order.at(-1)).toBe('other');
});

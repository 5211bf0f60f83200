/**
 * Promise: as many begins wait in an isolate as its bound says, and one more is refused before it is read; the wait for
 * a vendor is not in the queue.
 */
import { beforeEach, expect, test } from 'vitest';
import { beginQueue, inBeginQueue, refuseBegin } from '../../src/admission/begin-queue.ts';
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
  expect(refuseBegin()).toMatchObject({ ok: false, refusal: { code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 } });
  let asked = 0;
  const one = await inBeginQueue(customer(1), async () => {
    asked += 1;
    return { ok: true };
  });
  expect(one).toMatchObject({ ok: false, refusal: { code: 'SERVICE_UNAVAILABLE' } });
  expect(asked).toBe(0);
  answer();
  expect((await begun).every(({ ok }) => ok)).toBe(true);
  expect(refuseBegin()).toBeNull();
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

/**
 * A request to a vendor outlives its caller by a bounded time, whenever the caller left.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Presence, READ_ON_MS } from '../../src/vendors/presence.ts';
import { requestVendor, type VendorResult } from '../../src/vendors/request.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A caller that can leave. */
function caller() {
  const controller = new AbortController();
  return { presence: new Presence(controller.signal), leave: () => controller.abort() };
}

/** A request that the vendor answers after some time, with its result and time. */
function asked(presence: Presence, vendorMs: number, timeoutMs = 600_000) {
  const outcome: { result?: VendorResult; afterMs?: number } = {};
  const startMs = Date.now();
  const fetcher = (_url: string, { signal }: RequestInit) =>
    new Promise<Response>((resolve, reject) => {
      const timer = setTimeout(() => resolve(Response.json({ answer: 42 }) as never), vendorMs);
      signal?.addEventListener('abort', () => {
        clearTimeout(timer);
        reject(new Error('aborted'));
      });
    });
  const request = { url: 'https://vendor.example', method: 'POST', headers: {}, responseType: 'text' } as const;
  void requestVendor({ ...request, timeoutMs, presence }, fetcher).then((result) => {
    Object.assign(outcome, { result, afterMs: Date.now() - startMs });
  });
  return outcome;
}

test('a caller that stays gets its answer, however long the vendor takes', async () => {
  const { presence } = caller();
  const outcome = asked(presence, 500_000);
  await vi.advanceTimersByTimeAsync(500_000);
  expect(outcome).toMatchObject({ result: { kind: 'answer' }, afterMs: 500_000 });
  expect([presence.hasLeft, presence.readOnMs]).toEqual([false, READ_ON_MS]);
});

test('the time limit holds for a caller that stays', async () => {
  const outcome = asked(caller().presence, 60_000, 30_000);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(outcome).toMatchObject({ result: { kind: 'timeout' }, afterMs: 30_000 });
});

describe('after its caller has left, the vendor', () => {
  test('is waited for, and its answer counts', async () => {
    const { presence, leave } = caller();
    const outcome = asked(presence, 10_000 + READ_ON_MS - 1);
    await vi.advanceTimersByTimeAsync(10_000);
    leave();
    await vi.advanceTimersByTimeAsync(READ_ON_MS);
    expect(outcome).toMatchObject({ result: { kind: 'answer' } });
  });

  test('is given up when the time is over', async () => {
    const { presence, leave } = caller();
    const outcome = asked(presence, 600_000);
    await vi.advanceTimersByTimeAsync(10_000);
    leave();
    await vi.advanceTimersByTimeAsync(READ_ON_MS - 1);
    expect(outcome).toEqual({});
    await vi.advanceTimersByTimeAsync(1);
    expect(outcome).toEqual({ result: { kind: 'left' }, afterMs: 10_000 + READ_ON_MS });
  });

  test('is asked by a caller that left before: it is waited for as long', async () => {
    const outcome = asked(new Presence(AbortSignal.abort()), 600_000);
    await vi.advanceTimersByTimeAsync(READ_ON_MS);
    expect(outcome).toEqual({ result: { kind: 'left' }, afterMs: READ_ON_MS });
  });

  test('is not given more time by a second request', async () => {
    const { presence, leave } = caller();
    asked(presence, 15_000);
    await vi.advanceTimersByTimeAsync(5_000);
    leave();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(presence.readOnMs).toBe(READ_ON_MS - 10_000);
    const second = asked(presence, 600_000);
    await vi.advanceTimersByTimeAsync(READ_ON_MS);
    expect(second).toEqual({ result: { kind: 'left' }, afterMs: READ_ON_MS - 10_000 });
  });
});

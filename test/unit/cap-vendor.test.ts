/**
 * The cap suite's vendor keeps to the bound that it gets, and its log matches its bills.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type CapVendor, type Instructions, startCapVendor, type VendorEntry, writePrompt } from '../cap/vendor.ts';

let vendor: CapVendor;
beforeAll(async () => {
  vendor = await startCapVendor();
});
afterAll(() => vendor.close());

let serial = 0;

/** Sends a request; returns its result, and the vendor's log of it. */
async function ask(
  instructions: Partial<Instructions>,
  body: object = {},
  signal: AbortSignal | null = null,
): Promise<{ status: number; text: string; entry: () => VendorEntry | undefined }> {
  serial += 1;
  const marker = `m-${serial}`;
  const content = writePrompt({ marker, outputTokens: 10, durationMs: 1, ...instructions });
  const entry = () => vendor.log.find((each) => each.marker === marker);
  try {
    const response = await fetch(`${vendor.baseUrl}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify({ messages: [{ role: 'user', content }], ...body }),
      signal,
    });
    return { status: response.status, text: await response.text(), entry };
  } catch {
    return { status: 0, text: '', entry };
  }
}

const STREAM = { stream: true, stream_options: { include_usage: true } };

test('a plain answer has what was wanted, at most the bound, and is billed so', async () => {
  const whole = await ask({});
  expect(JSON.parse(whole.text)).toMatchObject({
    choices: [{ finish_reason: 'stop' }],
    usage: { prompt_tokens: 100, completion_tokens: 10 },
  });
  expect(whole.entry()).toMatchObject({ outcome: 'answered', outputTokens: 10, outputTokensMax: null });
  const bounded = await ask({}, { max_tokens: 7 });
  expect(JSON.parse(bounded.text)).toMatchObject({
    choices: [{ finish_reason: 'length' }],
    usage: { completion_tokens: 7 },
  });
  expect(bounded.entry()).toMatchObject({ outcome: 'answered', outputTokens: 7, outputTokensMax: 7 });
});

test('a stream has an event for each token, and its usage at the end', async () => {
  const { text, entry } = await ask({}, { ...STREAM, max_completion_tokens: 7 });
  expect(text.match(/"content":/g)).toHaveLength(7);
  expect(text).toContain('"completion_tokens":7');
  expect(text.endsWith('data: [DONE]\n\n')).toBe(true);
  expect(entry()).toMatchObject({ outcome: 'answered', outputTokens: 7 });
});

test('a stream that is left is billed as far as it was made', async () => {
  const { entry } = await ask({ outputTokens: 10_000, durationMs: 5_000 }, STREAM, AbortSignal.timeout(200));
  const { outcome, outputTokens = 0 } = entry() ?? {};
  expect(outcome).toBe('unfinished');
  expect(outputTokens).toBeGreaterThan(0);
  expect(outputTokens).toBeLessThan(10_000);
});

test('a refusal is not billed, and a broken answer is', async () => {
  const refused = await ask({ fault: '429' });
  expect(refused.status).toBe(429);
  expect(refused.entry()).toMatchObject({ outcome: 'refused', inputTokens: 0, outputTokens: 0 });
  const cut = await ask({ fault: 'cut' }, STREAM);
  expect(cut.text).toBe('');
  expect(cut.entry()).toMatchObject({ outcome: 'unfinished', outputTokens: 5 });
});

test('a vendor that exceeds its bound says so', async () => {
  const { entry } = await ask({ fault: 'beyond' }, { max_tokens: 100 });
  expect(entry()).toMatchObject({ outcome: 'answered', outputTokens: 110, outputTokensMax: 100 });
});

test('every prompt has the same length', () => {
  const lengths = [1, 12_345].map((outputTokens) => writePrompt({ marker: 'm', outputTokens, durationMs: 1 }).length);
  expect(lengths).toEqual([400, 400]);
});

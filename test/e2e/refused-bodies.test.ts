/**
 * Promise: the sender of a body that is too large gets the refusal, and not a connection that is reset.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DRAIN_BYTES_MAX } from '../../src/platform/bytes.ts';
import { swept } from '../support/sweep.ts';
import { type GatewayTenant, gatewayOn, type Setting } from './gateway-tenant.ts';
import { type LocalServer, preparedState, startPrepared } from './local-server.ts';

const MIB = 1024 * 1024;
const TRIES = swept(8, 5);
/** How Node's fetch says that the connection was closed. */
const CLOSED = /EPIPE|ECONNRESET|other side closed/;

let setting: Setting<LocalServer>;
let tenant: GatewayTenant;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'callmeter-bodies-'));
  // A server of its own: one with the memory of many files reads bodies of this size slowly.
  setting = await gatewayOn(await startPrepared(await preparedState()));
  tenant = await setting.tenant();
});
afterAll(async () => {
  await setting.stop();
  await setting.server.stop();
  await rm(folder, { recursive: true });
});

const bearerHeaders = (token: string) => ({
  Authorization: `Bearer ${token}`,
  'Content-Type': 'application/json',
  Accept: 'application/vnd.service.v1+json',
});

/** The status; or, if the connection was closed before an answer came, the reason. */
async function withFetch(path: string, body: BodyInit, token = tenant.key): Promise<number | string> {
  try {
    const init = { method: 'POST', headers: bearerHeaders(token), body, duplex: 'half' };
    const response = await fetch(`${setting.server.url}${path}`, init as RequestInit);
    expect(await response.json()).toHaveProperty('error.code');
    return response.status;
  } catch (error) {
    return String((error as Error).cause ?? error);
  }
}

async function withCurl(path: string, file: string): Promise<number | string> {
  const headers = Object.entries(bearerHeaders(tenant.key)).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const args = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', ...headers, '--data-binary', `@${file}`];
  try {
    return Number((await promisify(execFile)('curl', [...args, `${setting.server.url}${path}`])).stdout);
  } catch (error) {
    return String((error as { stderr?: string }).stderr ?? error);
  }
}

/** A stream says no length. Its pieces are large: a test should not take longer to send than the server to read. */
function withoutLength(body: Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array> {
  let sent = 0;
  return new ReadableStream({
    pull(controller) {
      controller.enqueue(body.subarray(sent, sent + MIB));
      sent += MIB;
      if (sent >= body.length) controller.close();
    },
  });
}

describe.each([
  ['/v1/chat/completions', 40],
  ['/v1/batches', 40],
  ['/call_begin', 5],
  ['/samples', 5],
  ['/call', 40],
] as const)('a body for %s', (path, mebibytes) => {
  test(`of ${mebibytes} MiB is answered 413, every time`, async () => {
    const body = new Uint8Array(mebibytes * MIB).fill(32);
    const file = join(folder, `${mebibytes}`);
    await writeFile(file, body);
    const seen: Record<string, (number | string)[]> = { fetch: [], streamed: [], curl: [] };
    for (let each = 0; each < TRIES; each += 1) {
      seen.fetch?.push(await withFetch(path, body));
      seen.streamed?.push(await withFetch(path, withoutLength(body)));
      seen.curl?.push(await withCurl(path, file));
    }
    const all = Array<number>(TRIES).fill(413);
    expect(seen).toEqual({ fetch: all, streamed: all, curl: all });
  });
});

test('a body beyond what is drained is answered, or finds the connection closed, and others are served', async () => {
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += MIB;
      controller.enqueue(new Uint8Array(MIB).fill(32));
      // Only a server that reads for ever comes here.
      if (sent > 4 * DRAIN_BYTES_MAX) controller.close();
    },
  });
  const answered = await withFetch('/call_begin', endless);
  expect([413, expect.stringMatching(CLOSED)]).toContainEqual(answered);
  // The buffers of both ends take some bytes beyond the bound.
  expect(sent).toBeLessThan(DRAIN_BYTES_MAX + 64 * MIB);
  expect((await tenant.api.send('beginCall', { body: { customerId: 'a' } })).status).toBe(200);
});

test("a stranger's body is answered 401 if it is small, and is not read on if it is large", async () => {
  const stranger = 'utk-nobody';
  for (let each = 0; each < TRIES; each += 1)
    expect(await withFetch('/v1/chat/completions', new Uint8Array(MIB - 1).fill(32), stranger)).toBe(401);
  const large = await withFetch('/v1/chat/completions', new Uint8Array(40 * MIB).fill(32), stranger);
  expect([401, expect.stringMatching(CLOSED)]).toContainEqual(large);
});

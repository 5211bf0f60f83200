/**
 * Promise: the verification names every object of the archive that is not as it was written, and nothing else.
 */
import { beforeEach, describe, expect, test } from 'vitest';
import { type Manifest, readManifest, writeManifest } from '../../src/history/archive/manifest.ts';
import { runArchive } from '../../src/history/archive/run.ts';
import { Sha256 } from '../../src/platform/sha256.ts';
import type { Tenant } from '../support/api.ts';
import { bucket, daysLater, newTenant, today, used } from '../support/archive.ts';
import { bindings, operator } from '../support/worker.ts';

let tenant: Tenant;
let manifest: Manifest;
let key: string;

beforeEach(async () => {
  const { objects } = await bucket.list();
  if (objects.length > 0) await bucket.delete(objects.map((object) => object.key));
  await bindings.DB.prepare('DELETE FROM history_days').run();
  tenant = await newTenant();
  await used(tenant, 'ann', ['a', 'b']);
  await runArchive(bindings, daysLater(12));
  const found = await readManifest(bindings, today(tenant));
  if (!found) throw new Error('the day is archived');
  manifest = found;
  key = `${tenant.organizationId}/${manifest.day}/${manifest.object}`;
});

const verify = async (cursor?: string) =>
  (await operator.send('verifyArchive', cursor === undefined ? {} : { query: { cursor } })).data;

/** Follows the pages; the problems by object. */
async function problems(): Promise<[string, string][]> {
  const found: [string, string][] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page = await verify(cursor);
    found.push(...page.problems.map(({ object, problem }): [string, string] => [object, problem]));
    cursor = page.nextCursor;
  }
  return found;
}

test('an archive as it was written has no problems, and all its rows', async () => {
  expect(await verify()).toEqual({
    days: 1,
    rows: 4,
    bytes: manifest.bytes,
    problems: [],
    at: manifest.day,
    nextCursor: null,
  });
});

test('the list has each day with its rows', async () => {
  const { items } = (await operator.send('listArchive')).data;
  expect(items).toEqual([
    { organizationId: tenant.organizationId, day: manifest.day, rows: 4, archivedAt: expect.any(String) },
  ]);
});

describe('a problem is named', () => {
  test('if a byte is flipped, wherever it is', async () => {
    const whole = new Uint8Array(await ((await bucket.get(key))?.arrayBuffer() ?? new ArrayBuffer()));
    for (const at of [3, Math.floor(whole.length / 2), whole.length - 1]) {
      const bytes = whole.slice();
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await bucket.put(key, bytes);
      expect(await problems()).toEqual([[key, 'DAMAGED']]);
    }
  });

  test('if bytes are missing or added', async () => {
    const whole = new Uint8Array(await ((await bucket.get(key))?.arrayBuffer() ?? new ArrayBuffer()));
    for (const bytes of [whole.slice(0, -1), new Uint8Array([...whole, 0])]) {
      await bucket.put(key, bytes);
      expect(await problems()).toEqual([[key, 'DAMAGED']]);
    }
  });

  test('if the object is gone, or the manifest, or both', async () => {
    const manifestKey = key.replace(manifest.object, 'manifest.json');
    await bucket.delete(key);
    expect(await problems()).toEqual([[key, 'MISSING']]);
    await bucket.delete(manifestKey);
    const folder = (await bucket.list()).objects.map((object) => object.key);
    await bucket.delete(folder);
    expect(await problems()).toEqual([[manifestKey, 'MISSING']]);
  });

  test('if no manifest names an object', async () => {
    await bucket.put(key.replace(manifest.object, 'other.ndjson.gz'), 'x');
    await bucket.put(`${crypto.randomUUID()}/2026-01-02/lonely.ndjson.gz`, 'x');
    expect((await problems()).map(([object, problem]) => [object.split('/')[2], problem]).sort()).toEqual([
      ['lonely.ndjson.gz', 'NO_MANIFEST'],
      ['other.ndjson.gz', 'NO_MANIFEST'],
    ]);
  });

  test.each([
    ['rows of the whole', (m: Manifest) => ({ ...m, rows: m.rows + 1 })],
    [
      'rows of a member',
      (m: Manifest) => ({ ...m, members: m.members.map((one) => ({ ...one, rows: one.rows + 1 })) }),
    ],
    ['bytes', (m: Manifest) => ({ ...m, bytes: m.bytes + 1 })],
    ['hash', (m: Manifest) => ({ ...m, sha256: m.sha256.replace(/^./, (c) => (c === '0' ? '1' : '0')) })],
  ])('where the manifest has other %s', async (_, change) => {
    await writeManifest(bindings, today(tenant), change(manifest));
    expect(await problems()).toEqual([[key, 'DAMAGED']]);
  });

  test('if the manifest cannot be read', async () => {
    await bucket.put(key.replace(manifest.object, 'manifest.json'), '{}');
    expect((await problems()).map(([, problem]) => problem)).toContain('DAMAGED');
  });
});

describe('pages', () => {
  test('go on within an object, with its hash so far', async () => {
    const [first] = manifest.members;
    const bytes = new Uint8Array(
      await ((
        await bucket.get(key, { range: { offset: 0, length: manifest.members[1]?.offset ?? 0 } })
      )?.arrayBuffer() ?? new ArrayBuffer()),
    );
    const sha256 = new Sha256();
    sha256.update(bytes);
    const { organizationId, dayMs } = today(tenant);
    const place = [null, [organizationId, dayMs, manifest.object, 1, first?.rows, sha256.state()]];
    const cursor = btoa(JSON.stringify(place)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    expect(await verify(cursor)).toMatchObject({
      days: 1,
      rows: 4 - (first?.rows ?? 0),
      problems: [],
      nextCursor: null,
    });
    const wrong = btoa(JSON.stringify([null, [...(place[1] ?? []).slice(0, 5), new Sha256().state()]]))
      .replaceAll('+', '-')
      .replaceAll('/', '_')
      .replaceAll('=', '');
    expect((await verify(wrong)).problems).toHaveLength(1);
  });

  test.each(['x', 'W10', 'bnVsbA', 'WzFd'])('refuse the cursor %s', async (cursor) => {
    const { status, refusal } = await operator.send('verifyArchive', { query: { cursor } });
    expect([status, refusal.code]).toEqual([400, 'BAD_REQUEST']);
  });
});

/**
 * The objects that a vendor keeps for a key that two organizations have: lists show each organization its own, even if
 * pages of the other's come first, and the record goes with a deleted object.
 */

import { createExecutionContext, waitOnExecutionContext } from 'cloudflare:test';
import { expect, test } from 'vitest';
import { createApp } from '../../src/app.ts';
import { BASE_URL, mockVendor, newTenant, vendor } from '../support/gateway.ts';
import { bindings, operator } from '../support/worker.ts';

mockVendor();

const app = createApp();

async function ask(key: string, path: string, method = 'GET', body?: object) {
  const context = createExecutionContext();
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await app.request(`/v1/${path}`, init, bindings, context);
  // biome-ignore lint/suspicious/noExplicitAny: tests look into it freely
  const answer: any = await response.json();
  await waitOnExecutionContext(context);
  return { status: response.status, answer };
}

/** Two tenants with one key. */
async function holders() {
  const tenants = await Promise.all([newTenant(), newTenant()]);
  const apiKey = `sk-${crypto.randomUUID()}`;
  for (const { organizationId: org } of tenants) {
    const params = { org, provider: 'openai' };
    expect((await operator.send('setVendor', { params, body: { apiKey, baseUrl: BASE_URL } })).status).toBe(200);
  }
  return tenants;
}

/** Makes a file of parts, which has this id at the vendor. */
async function makeFile(key: string, id: string) {
  const answers = vendor.answers;
  vendor.answers = (url) =>
    Response.json(url.endsWith('/complete') ? { id: 'upload_1', file: { id } } : { id: 'upload_1' });
  await ask(key, 'uploads', 'POST', { filename: 'a', purpose: 'batch', bytes: 1, mime_type: 'text/plain' });
  expect((await ask(key, 'uploads/upload_1/complete', 'POST', { part_ids: ['p'] })).status).toBe(200);
  vendor.answers = answers;
}

test('a page of a list has what is the own, looked for behind pages of the other', async () => {
  const [mine, others] = await holders();
  await makeFile(mine.key, 'file-mine');
  await makeFile(others.key, 'file-other');
  const asked: string[] = [];
  vendor.answers = (url) => {
    asked.push(new URL(url).search);
    const after = new URL(url).searchParams.get('after');
    const data =
      after === null ? ['file-other', 'file-before'] : after === 'file-before' ? ['file-mine', 'file-x'] : [];
    const ids = data.map((id) => ({ id, object: 'file' }));
    return Response.json({
      object: 'list',
      data: ids,
      first_id: data[0],
      last_id: data.at(-1),
      has_more: ids.length > 0,
    });
  };
  const first = await ask(mine.key, 'files?limit=2&order=asc');
  expect(first).toMatchObject({
    status: 200,
    answer: { data: [{ id: 'file-mine' }], first_id: 'file-mine', last_id: 'file-mine', has_more: true },
  });
  expect(asked).toEqual(['?limit=2&order=asc', '?limit=2&order=asc&after=file-before']);
  expect((await ask(others.key, 'files')).answer.data).toEqual([{ id: 'file-other', object: 'file' }]);
});

test('what was deleted is asked for no more, and what the vendor did not delete stays', async () => {
  const [mine] = await holders();
  await makeFile(mine.key, 'file-mine');
  vendor.answers = () => Response.json({ error: { message: 'busy' } }, { status: 503 });
  expect((await ask(mine.key, 'files/file-mine', 'DELETE')).status).toBe(503);
  vendor.answers = () => Response.json({ id: 'file-mine', deleted: true });
  expect((await ask(mine.key, 'files/file-mine', 'DELETE')).status).toBe(200);
  vendor.answers = () => Response.json({ id: 'file-mine' });
  expect((await ask(mine.key, 'files/file-mine')).status).toBe(404);
});

test('a key is shared from the moment on at which another organization has it, and no more when it has another', async () => {
  const [mine, others] = await holders();
  vendor.answers = () => Response.json({ id: 'file-before' });
  expect((await ask(mine.key, 'files/file-before')).status).toBe(404);
  const params = { org: others.organizationId, provider: 'openai' };
  const apiKey = `sk-${crypto.randomUUID()}`;
  await operator.send('setVendor', { params, body: { apiKey, baseUrl: BASE_URL } });
  expect((await ask(mine.key, 'files/file-before')).status).toBe(200);
});

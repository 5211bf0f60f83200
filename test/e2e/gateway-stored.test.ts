/**
 * Promise: what the vendor `openai` keeps is reached with OpenAI's SDK, changed only in base URL and key: responses by
 * their ids, and files that come in parts. A batch whose file came in parts is judged when it begins.
 */
import { BadRequestError, NotFoundError, toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startTrialVendor, type TrialVendor } from '../../src/cli/vendor/server.ts';
import { type GatewayTenant, type Setting, startGateway } from './gateway-tenant.ts';

const MODEL = 'gpt-6-luna';
const PROMPT = 'What is the capital of France?';

let setting: Setting;
let vendor: TrialVendor;
let tenant: GatewayTenant;
beforeAll(async () => {
  [setting, vendor] = await Promise.all([startGateway(), startTrialVendor({ port: 0 })]);
  tenant = await setting.tenant(undefined, []);
  const params = { org: tenant.organizationId, provider: 'openai' };
  const body = { apiKey: `sk-${'k'.repeat(20)}`, baseUrl: `${vendor.url}/v1` };
  expect((await setting.server.operator.send('setVendor', { params, body })).status).toBe(200);
});
afterAll(async () => {
  await setting.stop();
  await vendor.stop();
});

describe('a response', () => {
  test('is read by its id, streamed once more, listed with its input, cancelled and deleted; only its making is a call', async () => {
    const { openai } = tenant;
    const made = await openai.responses.create({ model: MODEL, input: PROMPT });
    const read = await openai.responses.retrieve(made.id);
    expect(read).toMatchObject({ id: made.id, output: made.output, usage: made.usage });

    const types: string[] = [];
    const stream = await openai.responses.retrieve(made.id, { stream: true, starting_after: 0 });
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['response.completed']);

    const items = await openai.responses.inputItems.list(made.id, { limit: 20, order: 'asc' });
    expect(items.data).toMatchObject([{ role: 'user', content: [{ type: 'input_text', text: PROMPT }] }]);
    expect((await openai.responses.cancel(made.id)).id).toBe(made.id);
    await openai.responses.delete(made.id);
    await expect(openai.responses.retrieve(made.id)).rejects.toThrow(NotFoundError);
    expect((await tenant.settled('default')).recentCalls).toHaveLength(1);
  });

  test('whose id is none is not asked for', async () => {
    for (const id of ['..', '%2e%2e', 'a%2Fb', 'a%20b', `r${'x'.repeat(200)}`]) {
      const { status } = await tenant.send(`/v1/responses/${id}/input_items`, { method: 'GET' });
      expect(status, id).toBe(404);
    }
  });
});

const lineOf = (custom_id: string, body: object) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
const good = (custom_id: string) => lineOf(custom_id, { model: MODEL, messages: [{ role: 'user', content: 'x' }] });

/** Uploads the text in parts that are cut anywhere, also inside of a line. */
async function uploadInParts(text: string, partBytes: number): Promise<string> {
  const { openai } = tenant;
  const bytes = Buffer.from(text);
  const upload = await openai.uploads.create({
    filename: 'input.jsonl',
    purpose: 'batch',
    bytes: bytes.length,
    mime_type: 'text/jsonl',
  });
  expect(upload.status).toBe('pending');
  const part_ids: string[] = [];
  for (let at = 0; at < bytes.length; at += partBytes) {
    const data = await toFile(bytes.subarray(at, at + partBytes), 'part');
    part_ids.push((await openai.uploads.parts.create(upload.id, { data })).id);
  }
  const { status, file } = await openai.uploads.complete(upload.id, { part_ids });
  expect(status).toBe('completed');
  return file?.id ?? '';
}

const beginBatch = (input_file_id: string) =>
  tenant.openai.batches.create({ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' });

describe('a file that comes in parts', () => {
  test('is whole at the vendor, and a batch of it begins', async () => {
    const text = [good('a'), good('b')].join('\n');
    const id = await uploadInParts(text, 50);
    expect(await (await tenant.openai.files.content(id)).text()).toBe(text);
    expect(await beginBatch(id)).toMatchObject({ object: 'batch', input_file_id: id });
  });

  test.each([
    ['is no JSON', '{"custom_id":'],
    ['names no model', lineOf('b', { messages: [] })],
    ['must not have background', lineOf('b', { model: MODEL, messages: [], background: true })],
    ['must have a url of', good('b').replace('/v1/chat/completions', '/v1/videos')],
  ])('with a line that %s is refused as a batch, and the vendor begins none', async (rule, line) => {
    const id = await uploadInParts([good('a'), line, good('c')].join('\n'), 70);
    const before = (await tenant.openai.batches.list()).data.length;
    const refused = await beginBatch(id).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(BadRequestError);
    expect(refused).toMatchObject({
      param: 'input_file_id',
      message: expect.stringContaining(`line 2 of the input file ${rule}`),
    });
    expect((await tenant.openai.batches.list()).data).toHaveLength(before);
  });

  test('can be given up, and has no more parts then', async () => {
    const { uploads } = tenant.openai;
    const upload = await uploads.create({ filename: 'a', purpose: 'batch', bytes: 1, mime_type: 'text/plain' });
    expect(await uploads.cancel(upload.id)).toMatchObject({ id: upload.id, status: 'cancelled' });
    const data = await toFile(Buffer.from('x'), 'part');
    await expect(uploads.parts.create(upload.id, { data })).rejects.toThrow(NotFoundError);
  });
});

/**
 * Promise: objects that the vendor `openai` keeps are reached with OpenAI's SDK, changed only in base URL and key:
 * responses by their ids, and files that come in parts. A batch whose file came in parts is judged when it begins. If
 * two organizations have the same key, each reaches only its own objects.
 */
import OpenAI, { BadRequestError, NotFoundError, toFile } from 'openai';
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

const batchLine = (custom_id: string, body: object) =>
  JSON.stringify({ custom_id, method: 'POST', url: '/v1/chat/completions', body });
const good = (custom_id: string) => batchLine(custom_id, { model: MODEL, messages: [{ role: 'user', content: 'x' }] });

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
    ['names no model', batchLine('b', { messages: [] })],
    ['must not have background', batchLine('b', { model: MODEL, messages: [], background: true })],
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

describe('one key of two organizations', () => {
  const shared = `sk-${'s'.repeat(20)}`;
  const holder = async (apiKey: string) => {
    const made = await setting.tenant(undefined, []);
    const params = { org: made.organizationId, provider: 'openai' };
    const body = { apiKey, baseUrl: `${vendor.url}/v1` };
    expect((await setting.server.operator.send('setVendor', { params, body })).status).toBe(200);
    return made;
  };
  let mine: GatewayTenant['openai'];
  let others: GatewayTenant['openai'];
  beforeAll(async () => {
    [mine, others] = (await Promise.all([holder(shared), holder(shared)])).map(({ openai }) => openai) as [
      GatewayTenant['openai'],
      GatewayTenant['openai'],
    ];
  });

  const uploadFile = (openai: GatewayTenant['openai'], text: string, purpose: 'batch' | 'user_data' = 'batch') =>
    toFile(Buffer.from(text), 'a.jsonl').then((file) => openai.files.create({ file, purpose }));
  const createBatch = (openai: GatewayTenant['openai'], input_file_id: string) =>
    openai.batches.create({ input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' });

  test('shows each what it made, and nothing of the other is listed, read, cancelled, completed or deleted', async () => {
    const file = await uploadFile(mine, good('a'));
    const batch = await createBatch(mine, file.id);
    const response = await mine.responses.create({ model: MODEL, input: PROMPT });
    const upload = await mine.uploads.create({ filename: 'a', purpose: 'batch', bytes: 1, mime_type: 'text/plain' });
    const part = await toFile(Buffer.from('x'), 'part');
    const attempts: Record<string, () => PromiseLike<unknown>> = {
      'read file': () => others.files.retrieve(file.id),
      'read content': () => others.files.content(file.id),
      'delete file': () => others.files.delete(file.id),
      'read batch': () => others.batches.retrieve(batch.id),
      'cancel batch': () => others.batches.cancel(batch.id),
      'read response': () => others.responses.retrieve(response.id),
      'list input': () => others.responses.inputItems.list(response.id),
      'cancel response': () => others.responses.cancel(response.id),
      'delete response': () => others.responses.delete(response.id),
      'follow response': () =>
        others.responses.create({ model: MODEL, input: PROMPT, previous_response_id: response.id }),
      'name file': () =>
        others.responses.create({
          model: MODEL,
          input: [{ role: 'user', content: [{ type: 'input_file', file_id: file.id }] }],
        }),
      'add part': () => others.uploads.parts.create(upload.id, { data: part }),
      'complete upload': () => others.uploads.complete(upload.id, { part_ids: ['p'] }),
      'cancel upload': () => others.uploads.cancel(upload.id),
    };
    for (const [name, attempt] of Object.entries(attempts)) {
      const error = await Promise.resolve(attempt()).catch((thrown: unknown) => thrown);
      expect(error, name).toBeInstanceOf(NotFoundError);
    }
    expect((await others.files.list()).data).toEqual([]);
    expect((await others.batches.list()).data).toEqual([]);
    await expect(createBatch(others, file.id)).rejects.toThrow('no such input file');
    const naming = batchLine('a', {
      model: MODEL,
      messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file.id } }] }],
    });
    await expect(createBatch(others, (await uploadFile(others, naming)).id)).rejects.toThrow(`names ${file.id}`);

    expect((await mine.files.list()).data.map(({ id }) => id)).toEqual([file.id]);
    expect((await mine.batches.list()).data.map(({ id }) => id)).toEqual([batch.id]);
    expect((await mine.responses.retrieve(response.id)).id).toBe(response.id);
    expect((await mine.uploads.parts.create(upload.id, { data: part })).id).toBeTruthy();
    let output: string | undefined;
    await expect.poll(async () => (output = (await mine.batches.retrieve(batch.id)).output_file_id)).toBeTruthy();
    expect(await (await mine.files.content(output ?? '')).text()).toContain('"custom_id":"a"');
    await expect(others.files.content(output ?? '')).rejects.toThrow(NotFoundError);
    expect((await mine.files.delete(file.id)).deleted).toBe(true);
  });

  test('hides what was made before there was a record, which a single holder of a key reaches', async () => {
    const direct = new OpenAI({ apiKey: shared, baseURL: `${vendor.url}/v1` });
    const { id } = await uploadFile(direct, 'from before', 'user_data');
    for (const openai of [mine, others]) {
      await expect(openai.files.retrieve(id)).rejects.toThrow(NotFoundError);
      expect((await openai.files.list()).data.map((file) => file.id)).not.toContain(id);
    }
    const single = (await holder(`sk-${'1'.repeat(20)}`)).openai;
    expect((await single.files.retrieve(id)).id).toBe(id);
    expect((await single.files.list()).data.map((file) => file.id)).toContain(id);
  });
});

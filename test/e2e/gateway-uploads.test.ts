/**
 * Promise: a batch's file of real size passes through a server that does not hold it, and a file with a broken line is
 * never kept by the vendor.
 */
import type { IncomingMessage } from 'node:http';
import { BadRequestError, toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { residentMiB, workerdProcesses } from '../bench/process.ts';
import { failureBody } from '../vendors/answers.ts';
import { type Loopback, serveOnLoopback } from '../vendors/loopback.ts';
import { type GatewayTenant, gatewayOn, type Setting } from './gateway-tenant.ts';
import { type LocalServer, preparedState, startPrepared, until } from './local-server.ts';

const LINES = 50_000;
const MIB = 1024 * 1024;
const REFUSED_KEY = `sk-refused-${'k'.repeat(20)}`;
const SAMPLE_MS = 100;
/** Far less than the file; only a part and a line of it are held, and the rest is garbage that nobody has collected. */
const MORE_MIB_MAX = 60;

interface Upload {
  bytes: number;
  /** The form came to its regular end. */
  whole: boolean;
}

/** A vendor that keeps of files how large they were. It shows the file that the test says. */
interface FileVendor extends Loopback {
  uploads: Upload[];
  content: Buffer;
}

let setting: Setting<LocalServer>;
let vendor: FileVendor;
let tenant: GatewayTenant;
beforeAll(async () => {
  // A server of its own: its memory is measured.
  const server = await startPrepared(await preparedState());
  [setting, vendor] = await Promise.all([gatewayOn(server), startFileVendor()]);
  tenant = await setting.tenant();
  await setVendor(tenant, `sk-${'k'.repeat(20)}`);
});
afterAll(async () => {
  await setting.stop();
  await setting.server.stop();
  await vendor.close();
});

async function setVendor({ organizationId }: GatewayTenant, apiKey: string): Promise<void> {
  const params = { org: organizationId, provider: 'openai' };
  const body = { apiKey, baseUrl: `${vendor.url}/v1` };
  expect((await setting.server.operator.send('setVendor', { params, body })).status).toBe(200);
}

async function startFileVendor(): Promise<FileVendor> {
  const loopback = await serveOnLoopback(async (request, response) => {
    const answer = (body: object) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.url?.endsWith('/content')) return void response.writeHead(200).end(vendor.content);
    // Before it has read anything.
    if (request.headers.authorization === `Bearer ${REFUSED_KEY}`) {
      const refused = JSON.stringify(failureBody('openai', 401));
      return void response.writeHead(401, { 'content-type': 'application/json' }).end(refused);
    }
    if (request.url !== '/v1/files') return void request.resume().on('end', () => answer(BATCH));
    const upload = await receive(request);
    vendor.uploads.push(upload);
    if (upload.whole) answer({ id: 'file_1', object: 'file', bytes: upload.bytes, purpose: 'batch' });
  });
  return { ...loopback, uploads: [], content: Buffer.alloc(0) };
}

const BATCH = { id: 'batch_1', object: 'batch', status: 'validating', input_file_id: 'file_1' };

async function receive(request: IncomingMessage): Promise<Upload> {
  let bytes = 0;
  try {
    for await (const chunk of request) bytes += (chunk as Buffer).length;
  } catch {
    // The other side has closed the connection.
  }
  return { bytes, whole: request.complete };
}

const line = (index: number, model = 'gpt-4o-mini') =>
  JSON.stringify({
    custom_id: `line-${index}`,
    method: 'POST',
    url: '/v1/chat/completions',
    body: {
      model,
      max_completion_tokens: 10,
      messages: [{ role: 'user', content: `${index} `.padEnd(1_150, 'wörd ') }],
    },
  });

const batchLines = (model?: string) => Array.from({ length: LINES }, (_, index) => line(index, model));
const ALL = batchLines();

/** The result of the work, and the most memory that the server's process took meanwhile. */
async function watched<T>(work: () => Promise<T>): Promise<{ result: T; peakMiB: number }> {
  const [pid] = await workerdProcesses();
  if (pid === undefined) throw new Error('workerd does not run');
  let peakMiB = await residentMiB(pid);
  let sampling = Promise.resolve();
  const timer = setInterval(() => {
    sampling = sampling.then(async () => {
      peakMiB = Math.max(peakMiB, await residentMiB(pid));
    });
  }, SAMPLE_MS);
  try {
    return { result: await work(), peakMiB };
  } finally {
    clearInterval(timer);
    await sampling;
  }
}

const upload = async (content: Buffer, from = tenant) =>
  from.openai.files.create({ file: await toFile(content, 'input.jsonl'), purpose: 'batch' });

test('a batch of 50,000 lines is uploaded, and begun, in memory that does not grow with it', async () => {
  const small = Buffer.from(line(0));
  for (let time = 0; time < 5; time += 1) await upload(small);
  const content = Buffer.from(ALL.join('\n'));
  expect(content.length).toBeGreaterThan(60 * MIB);
  const before = await watched(() => upload(small));
  const large = await watched(() => upload(content));
  expect(large.result).toMatchObject({ id: 'file_1', object: 'file' });
  const { bytes, whole } = vendor.uploads.at(-1) as Upload;
  expect([bytes > content.length, whole]).toEqual([true, true]);
  vendor.content = content;
  const begun = await watched(() =>
    tenant.openai.batches.create({
      input_file_id: 'file_1',
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
    }),
  );
  expect(begun.result).toMatchObject({ id: 'batch_1' });
  expect(large.peakMiB - before.peakMiB).toBeLessThan(MORE_MIB_MAX);
  expect(begun.peakMiB - before.peakMiB).toBeLessThan(MORE_MIB_MAX);
});

test('the models of 50,000 lines are replaced in memory that does not grow with the file', async () => {
  const params = { org: tenant.organizationId };
  const body = { standard: ['openai/gpt-4o-mini'], premium: [] };
  expect((await setting.server.operator.send('setModels', { params, body })).status).toBe(200);
  const content = Buffer.from(batchLines('service/standard').join('\n'));
  const small = Buffer.from(line(0, 'service/standard'));
  // Until the mapping is in effect.
  await until(() =>
    upload(small).then(
      () => true,
      () => false,
    ),
  );
  const before = await watched(() => upload(small));
  const large = await watched(() => upload(content));
  const { bytes, whole } = vendor.uploads.at(-1) as Upload;
  const around = (vendor.uploads.at(-2) as Upload).bytes - Buffer.byteLength(line(0));
  expect([bytes, whole]).toEqual([around + Buffer.byteLength(ALL.join('\n')), true]);
  expect(large.peakMiB - before.peakMiB).toBeLessThan(MORE_MIB_MAX);
});

test('a file whose line 40,000 is broken is refused with that number, and the vendor does not get all of it', async () => {
  const lines = [...ALL];
  lines[39_999] = '{"custom_id":';
  const content = Buffer.from(lines.join('\n'));
  // The other parts of a form besides its file.
  await upload(Buffer.from(line(0)));
  const around = (vendor.uploads.at(-1) as Upload).bytes - Buffer.byteLength(line(0));
  const file = await toFile(content, 'input.jsonl');
  for (const [form, bytesMax] of [
    [{ purpose: 'batch', file }, content.length],
    // Known to be a batch at the end of its form alone, which does not come.
    [{ file, purpose: 'batch' }, content.length + around],
    [{ purpose: 'batch', file }, content.length],
  ] as const) {
    const before = vendor.uploads.length;
    const error = await tenant.openai.files.create(form).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).toMatchObject({ param: 'file', message: '400 line 40000 of the file is no JSON' });
    await until(() => vendor.uploads.length > before);
    const { bytes, whole } = vendor.uploads.at(-1) as Upload;
    expect([bytes > 0, bytes < bytesMax, whole]).toEqual([true, true, false]);
  }
});

test('a file whose sender leaves does not look whole to the vendor', async () => {
  const before = vendor.uploads.length;
  const controller = new AbortController();
  const boundary = 'b';
  const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n`;
  let sent = 0;
  const body = new ReadableStream<Uint8Array>({
    pull(streamed) {
      if (sent === 0) streamed.enqueue(Buffer.from(head));
      if (sent < 5_000) streamed.enqueue(Buffer.from(`${line(sent)}\n`));
      else controller.abort();
      sent += 1;
    },
  });
  const request = {
    method: 'POST',
    headers: { Authorization: `Bearer ${tenant.key}`, 'Content-Type': `multipart/form-data; boundary=${boundary}` },
    body,
    duplex: 'half',
    signal: controller.signal,
  };
  await expect(fetch(`${setting.server.url}/v1/files`, request as RequestInit)).rejects.toThrow('abort');
  await until(() => vendor.uploads.length > before);
  expect(vendor.uploads.at(-1)).toMatchObject({ whole: false });
});

test('a refusal that comes before the file was read reaches its sender', async () => {
  const content = Buffer.from(ALL.slice(0, LINES / 2).join('\n'));
  const [none, refused] = await Promise.all([setting.tenant(undefined, ['google']), setting.tenant()]);
  await setVendor(refused, REFUSED_KEY);
  for (let time = 0; time < 3; time += 1) {
    expect(await upload(content, none).catch((error) => error)).toMatchObject({ code: 'VENDOR_NOT_CONFIGURED' });
    expect(await upload(content, refused).catch((error) => error)).toMatchObject({ code: 'invalid_api_key' });
  }
});

/**
 * Promise: the Worker that starts is the one of today's sources. A bundle is made anew when they change, and an earlier one
 * is used again only if it was made of the same.
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { bundle } from '../../src/cli/bundle.ts';
import { PROJECT_DIR } from '../../src/cli/server.ts';

/** The folder of made files that git ignores; wrangler finds its configuration from here. */
const MADE = join(PROJECT_DIR, 'dist');

let folder: string;
/** The classes that wrangler.toml names, without which wrangler bundles nothing. */
let classes: string;
beforeAll(async () => {
  const configuration = await readFile(join(PROJECT_DIR, 'wrangler.toml'), 'utf8');
  const names = new Set([...configuration.matchAll(/class_name = "(\w+)"/g)].map(([, name]) => name));
  classes = [...names].map((name) => `export class ${name} {}`).join('\n');
  await mkdir(MADE, { recursive: true });
  folder = await mkdtemp(join(MADE, 'bundled-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function write(source: string): Promise<string> {
  const script = join(folder, 'worker.ts');
  await writeFile(script, `${source}\n${classes}`);
  return script;
}

const worker = (text: string) => `export default { fetch: () => new Response('${text}') };`;

async function bundled(source: string): Promise<string> {
  const script = await write(source);
  await bundle(folder, { script, folder: 'made' });
  return readFile(join(folder, 'made', 'worker.js'), 'utf8');
}

test('each change of a source is in the bundle, and what it was before is bundled as before', async () => {
  const first = await bundled(worker('first'));
  expect(first).toContain('first');
  const second = await bundled(worker('second'));
  expect(second).toContain('second');
  expect(second).not.toContain('first');
  expect(await bundled(worker('first'))).toBe(first);
});

test('a source that changes while it is bundled is bundled anew when it is as before', async () => {
  const script = await write(worker('before'));
  const running = bundle(folder, { script, folder: 'made' });
  // The sources are read at the start, and by wrangler a second later.
  await new Promise((resolve) => setTimeout(resolve, 400));
  await write(worker('meanwhile'));
  await running;
  const again = await bundled(worker('before'));
  expect([again.includes('before'), again.includes('meanwhile')]).toEqual([true, false]);
});

test('a source that cannot be bundled is refused with the reason, and leaves no bundle', async () => {
  await expect(bundled("import './nowhere.ts';")).rejects.toThrow(/bundling the Worker failed:[\s\S]*nowhere/);
  await expect(bundled("import './nowhere.ts';")).rejects.toThrow(/bundling the Worker failed/);
});
